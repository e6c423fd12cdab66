// The schemas with which Fastify checks bodies and writes answers.
const id = { type: 'integer' };
const name = { type: 'string' };
const tag = { type: 'string' };

const plant = { type: 'object', properties: { name, tag } };
const storedPlant = { type: 'object', properties: { id, name, tag } };

export const CREATE = {
  body: { type: 'object', required: ['id', 'name'], properties: { id, name, tag } },
  response: { 200: plant },
};
export const REPLACE = {
  body: { type: 'object', required: ['name'], properties: { name, tag } },
  response: { 200: plant },
};
export const READ = { response: { 200: storedPlant } };
export const LIST = { response: { 200: { type: 'array', items: storedPlant } } };
