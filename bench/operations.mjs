/**
 * A request that a load sends many times, with another id in place of `{id}` each time.
 *
 * @typedef {object} Operation
 * @property {string} title
 * @property {string} method
 * @property {string} path
 * @property {string} [body]
 */

/** The tag of plants that were replaced; no other plant has it. */
export const REPLACED_TAG = 'outdoor';

const create = {
  title: 'creates',
  method: 'POST',
  path: '/plants',
  body: '{"id":{id},"name":"Monstera deliciosa","tag":"indoor"}',
};

/** @type {Record<string, Operation>} */
export const OPERATIONS = {
  create,
  createUntagged: { ...create, body: '{"id":{id},"name":"Monstera deliciosa"}' },
  createWithOwnTag: { ...create, body: '{"id":{id},"name":"Monstera deliciosa","tag":"{id}"}' },
  read: { title: 'reads by id', method: 'GET', path: '/plants/{id}' },
  page: { title: 'pages of 100', method: 'GET', path: '/plants?limit=100&after={id}' },
  replace: {
    title: 'replaces',
    method: 'PUT',
    path: '/plants/{id}',
    body: `{"name":"Monstera deliciosa","tag":"${REPLACED_TAG}"}`,
  },
  remove: { title: 'removes', method: 'DELETE', path: '/plants/{id}' },
};
