import { Env, type Service, setDefault } from 'durable-rest/program';

setDefault(Env, 'DATABASE_URL', 'sqlite:data/nursery.db');
// The feed of changes is part of this interface.
setDefault(Env, 'CHANGE_FEED', 'on');

/** The name, the version and the interface of the program. */
export const service: Service = {
  name: 'nursery',
  title: 'Nursery',
  version: '1.0.0',
  interface: {
    version: '1.0.0',
    description: 'Varieties of a nursery: where they are planted, their photos and their sales.',
    license: 'MIT',
  },
  example: { path: '/varieties', body: { name: 'Monstera deliciosa' } },
};
