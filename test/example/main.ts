import { AppModule } from '../../src/app.module.js';
import { schema } from '../../src/schema.js';
import { EXAMPLE_MODULES, EXAMPLE_SCHEMA } from './example.js';

// The program with the example's modules, as if src/app.module.ts and src/schema.ts had them.

const own = Reflect.getMetadata('imports', AppModule) as readonly unknown[];
Reflect.defineMetadata('imports', [...own, ...EXAMPLE_MODULES], AppModule);
Object.assign(schema, {
  entities: [...schema.entities, ...EXAMPLE_SCHEMA.entities],
  migrations: [...schema.migrations, ...EXAMPLE_SCHEMA.migrations],
});
await import('../../src/main.js');
