import express from 'express';

export const PROXIES_RULE =
  'must be the number of reverse proxies in front, or a comma-separated list of their addresses or subnets';

interface Settings {
  set(name: string, value: unknown): unknown;
}

/** Takes the address of a client from `X-Forwarded-For` when one of these proxies sends it. */
export function trustProxies(app: Settings, proxies: string): void {
  if (proxies !== '') app.set('trust proxy', /^\d+$/.test(proxies) ? Number(proxies) : proxies);
}

/** Whether Express understands it. */
export function isProxyList(value: string): boolean {
  try {
    trustProxies(express(), value);
    return true;
  } catch {
    return false;
  }
}
