import type { Client } from './client.js';

/** The items of one name, by address. */
type Addresses<Item> = Map<string, Item[]>;

/**
 * A queue that serves names in turn, the addresses of each name in turn, and the items of an address
 * in their order.
 *
 * The items are in arrays. A set that is never empty would keep former items alive until the next
 * major garbage collection, since V8 links each former table of a set to the next one.
 */
export class FairQueue<Item> {
  private readonly names = new Map<string, Addresses<Item>>();

  get isEmpty(): boolean {
    return this.names.size === 0;
  }

  push({ name, address }: Client, item: Item): void {
    const addresses = this.names.get(name) ?? new Map<string, Item[]>();
    const items = addresses.get(address) ?? [];
    this.names.set(name, addresses);
    addresses.set(address, items);
    items.push(item);
  }

  /** Takes the next item; undefined if there is none. */
  shift(): Item | undefined {
    for (const [name, addresses] of this.names) {
      for (const [address, items] of addresses) {
        const item = items.shift();
        moveToEnd(addresses, address, items.length === 0);
        moveToEnd(this.names, name, addresses.size === 0);
        return item;
      }
    }
    return undefined;
  }

  delete({ name, address }: Client, item: Item): void {
    const addresses = this.names.get(name);
    const items = addresses?.get(address);
    const index = items?.indexOf(item) ?? -1;
    if (index === -1) return;
    items?.splice(index, 1);
    if (items?.length === 0) addresses?.delete(address);
    if (addresses?.size === 0) this.names.delete(name);
  }
}

/** Moves the first entry, which was served, to the end, or deletes it once it is empty. */
function moveToEnd<Value>(entries: Map<string, Value>, key: string, isEmpty: boolean): void {
  const value = entries.get(key);
  if (value === undefined || (entries.size === 1 && !isEmpty)) return;
  entries.delete(key);
  if (!isEmpty) entries.set(key, value);
}
