/** What the OpenAPI document calls the security scheme of bearer tokens. */
export const BEARER = 'bearer';
