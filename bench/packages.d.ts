// The used parts of packages that only bench/package.json has. The types of the project are checked
// without these packages.

declare module 'autocannon' {
  interface Request {
    path?: string;
    body?: string;
  }
  interface Options {
    url: string;
    connections: number;
    /** In seconds. */
    duration: number;
    method: string;
    headers: Record<string, string>;
    /** `setupRequest` is called before each request. */
    requests: { setupRequest: (request: Request) => Request }[];
  }
  interface Run extends Promise<{ errors: number }> {
    on(
      event: 'response',
      listener: (connection: { destroy(): void }, status: number) => void,
    ): void;
  }
  export default function autocannon(options: Options): Run;
}

declare module 'undici' {
  interface Request {
    method: 'POST';
    path: string;
    headers: Record<string, string>;
    body: string;
  }
  interface Handler {
    onRequestStart(): void;
    onResponseStart(controller: unknown, status: number): void;
    onResponseEnd(): void;
    onResponseError(): void;
  }
  export class Pool {
    constructor(origin: string, options: { connections: number });
    dispatch(request: Request, handler: Handler): void;
    destroy(): Promise<void>;
  }
}
