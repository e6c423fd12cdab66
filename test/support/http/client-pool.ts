import type { HttpAnswer } from './answer.js';
import { HttpClient } from './client.js';
import type { HttpRequest } from './request.js';

/** Sends concurrent requests, each on a connection that no other request uses. */
export class ClientPool {
  private readonly idle: HttpClient[] = [];

  constructor(private readonly url: () => URL) {}

  readonly send = async (request: HttpRequest): Promise<HttpAnswer> => {
    const client = this.idle.pop() ?? new HttpClient(this.url());
    const answer = await client.send(request);
    this.idle.push(client);
    return answer;
  };

  close(): void {
    for (const client of this.idle) client.close();
  }
}
