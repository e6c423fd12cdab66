import { ServerResponse } from 'node:http';
import { findDefaultHeader } from './default-headers.js';
import { discardRest, isBodyIncomplete, writeLast } from './early-answer.js';
import type { FastRequest } from './request-class.js';
import { countUnsent } from './send-stream.js';

type ResponseClass = typeof ServerResponse<FastRequest>;

/** Makes the class of the responses of a server. */
export function createResponseClass(): ResponseClass {
  return class ExpressResponse extends ServerResponse<FastRequest> {
    private isEnding = false;

    override writeHead(status: number, ...rest: unknown[]): this {
      const { req } = this;
      const { defaultHeaders } = req.state;
      if (isBodyIncomplete(req) || req.hasSmallChunks) this.setHeader('Connection', 'close');
      // Writing a list takes Node half the time of setting each header.
      if (rest.length === 0 && this.getHeaderNames().length === 0) {
        return super.writeHead(status, defaultHeaders);
      }
      for (let index = 0; index < defaultHeaders.length; index += 2) {
        const name = defaultHeaders[index] ?? '';
        const value = defaultHeaders[index + 1] ?? '';
        if (!this.hasHeader(name)) this.setHeader(name, value);
      }
      return super.writeHead(status, ...(rest as []));
    }

    /** A middleware such as `compression` looks for the type of the answer. */
    override getHeader(name: string): number | string | string[] | undefined {
      return super.getHeader(name) ?? findDefaultHeader(this.req.state.defaultHeaders, name);
    }

    override write(...args: unknown[]): boolean {
      const isTaken = super.write(...(args as [string]));
      countUnsent(this);
      return isTaken;
    }

    override end(...rest: unknown[]): this {
      if (!isBodyIncomplete(this.req)) {
        super.end(...(rest as []));
        countUnsent(this);
        return this;
      }
      // A further call has no effect.
      if (!this.isEnding) this.endEarly(rest);
      return this;
    }

    /** Ends an answer before the end of its request, and thereby its connection. */
    private endEarly(rest: unknown[]): void {
      this.isEnding = true;
      const callback = rest.find((value) => typeof value === 'function');
      const [data, encoding] = rest.filter((value) => value !== callback);
      writeLast(this, data as string | undefined, encoding as BufferEncoding | undefined);
      void discardRest(this.req).then(() => super.end(callback as (() => void) | undefined));
    }
  };
}
