import type { Client } from './client.js';

/** The items of one name, by address. */
type Addresses<Item> = Map<string, Set<Item>>;

/**
 * A queue that serves names in turn, the addresses of each name in turn, and the items of an address
 * in their order.
 */
export class FairQueue<Item> {
  private readonly names = new Map<string, Addresses<Item>>();

  get isEmpty(): boolean {
    return this.names.size === 0;
  }

  has({ name, address }: Client): boolean {
    return this.names.get(name)?.has(address) ?? false;
  }

  push({ name, address }: Client, item: Item): void {
    const addresses = this.names.get(name) ?? new Map<string, Set<Item>>();
    const items = addresses.get(address) ?? new Set();
    this.names.set(name, addresses);
    addresses.set(address, items);
    items.add(item);
  }

  /** Takes the next item; undefined if there is none. */
  shift(): Item | undefined {
    for (const [name, addresses] of this.names) {
      for (const [address, items] of addresses) {
        for (const item of items) {
          this.delete({ name, address }, item);
          // The name and the address that were served move to the end.
          if (addresses.delete(address) && items.size > 0) addresses.set(address, items);
          if (this.names.delete(name) && addresses.size > 0) this.names.set(name, addresses);
          return item;
        }
      }
    }
    return undefined;
  }

  delete({ name, address }: Client, item: Item): void {
    const addresses = this.names.get(name);
    const items = addresses?.get(address);
    items?.delete(item);
    if (items?.size === 0) addresses?.delete(address);
    if (addresses?.size === 0) this.names.delete(name);
  }
}
