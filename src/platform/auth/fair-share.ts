import type { Client } from './client.js';

/** What one client has of a share from one address. */
class AddressShare {
  amount = 0;
  /** That which has waited longest for its next byte comes first. */
  readonly holdings = new Set<Holding>();
  /** That which has got a byte last. */
  last: Holding | undefined;
}

class NameShare {
  amount = 0;
  readonly addresses = new Map<string, AddressShare>();
}

/**
 * A bound on what is held for all clients together. Beyond it the client that holds most loses what
 * has waited longest for its next byte.
 */
export class FairShare {
  private amount = 0;
  private readonly names = new Map<string, NameShare>();

  constructor(private readonly limit: number) {}

  /**
   * Begins to hold something for a client, of no amount so far.
   *
   * @param drop is called when it has to go: it is no longer held then
   */
  hold(client: Client, drop: () => void): Holding {
    return new Holding(this, client, drop);
  }

  /** @param holding what has just got its next byte */
  update(holding: Holding, amount: number): void {
    const change = amount - holding.amount;
    // A body may come in a hundred thousand pieces.
    if (change === 0 && holding.place?.last === holding) return;
    const { client } = holding;
    const name = getOrAdd(this.names, client.name, () => new NameShare());
    const address = getOrAdd(name.addresses, client.address, () => new AddressShare());
    holding.amount = amount;
    this.amount += change;
    name.amount += change;
    address.amount += change;
    // What is added again is the last of a set.
    address.holdings.delete(holding);
    if (amount > 0) address.holdings.add(holding);
    address.last = holding;
    holding.place = address;
    if (address.holdings.size === 0) name.addresses.delete(client.address);
    if (name.addresses.size === 0) this.names.delete(client.name);
    while (this.amount > this.limit) this.dropOne();
  }

  private dropOne(): void {
    const name = findLargest(this.names);
    const address = name && findLargest(name.addresses);
    for (const holding of address?.holdings ?? []) {
      holding.end();
      holding.drop();
      return;
    }
  }
}

/** What is held for one client, such as a body that has not come whole. */
export class Holding {
  amount = 0;
  /** Where it was counted last. */
  place: AddressShare | undefined;

  constructor(
    private readonly share: FairShare,
    readonly client: Client,
    readonly drop: () => void,
  ) {}

  /** Says how much it is now that its client has sent or taken something. May drop this or another. */
  update(amount: number): void {
    this.share.update(this, amount);
  }

  end(): void {
    if (this.amount > 0) this.share.update(this, 0);
  }
}

function getOrAdd<Value>(map: Map<string, Value>, key: string, make: () => Value): Value {
  const known = map.get(key);
  if (known !== undefined) return known;
  const made = make();
  map.set(key, made);
  return made;
}

function findLargest<Share extends { readonly amount: number }>(
  shares: ReadonlyMap<string, Share>,
): Share | undefined {
  let largest: Share | undefined;
  for (const share of shares.values()) {
    if (share.amount > (largest?.amount ?? 0)) largest = share;
  }
  return largest;
}
