import type { Client } from './client.js';

/**
 * A queue that serves clients in turn, and the items of each client in their order.
 *
 * The items are in arrays. A set that is never empty would keep former items alive until the next
 * major garbage collection, since V8 links each former table of a set to the next one.
 */
export class FairQueue<Item> {
  private readonly clients = new Map<Client, Item[]>();

  get isEmpty(): boolean {
    return this.clients.size === 0;
  }

  push(client: Client, item: Item): void {
    const items = this.clients.get(client);
    if (items === undefined) this.clients.set(client, [item]);
    else items.push(item);
  }

  /** Takes the next item; undefined if there is none. */
  shift(): Item | undefined {
    for (const [client, items] of this.clients) {
      const item = items.shift();
      // The next turn belongs to another client.
      this.clients.delete(client);
      if (items.length > 0) this.clients.set(client, items);
      return item;
    }
    return undefined;
  }

  delete(client: Client, item: Item): void {
    const items = this.clients.get(client) ?? [];
    const index = items.indexOf(item);
    if (index !== -1) items.splice(index, 1);
    if (items.length === 0) this.clients.delete(client);
  }
}
