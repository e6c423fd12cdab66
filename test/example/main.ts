import { AppModule } from '../../src/app.module.js';
import { EXAMPLE_MODULES } from './example.js';

// The program with the example's modules, as if src/app.module.ts had them.

const own = Reflect.getMetadata('imports', AppModule) as readonly unknown[];
Reflect.defineMetadata('imports', [...own, ...EXAMPLE_MODULES], AppModule);
await import('../../src/main.js');
