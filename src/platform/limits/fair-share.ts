import type { Client } from './client.js';

/** The amount held for one name from one address. */
class AddressShare {
  amount = 0;
  /** Ordered by the time of their last update, oldest first. */
  readonly holdings = new Set<Holding>();
  /** The one that was updated last. */
  last: Holding | undefined;
}

class NameShare {
  amount = 0;
  readonly addresses = new Map<string, AddressShare>();
}

/**
 * A bound on the amount held for all clients together. Beyond it, the client that holds most loses
 * the holding that has waited longest for its next update, such as the next byte of a body.
 */
export class FairShare {
  private amount = 0;
  private readonly names = new Map<string, NameShare>();

  constructor(private readonly limit: number) {}

  /**
   * Begins to hold something for a client, with amount 0.
   *
   * @param drop is called when the holding has been dropped to keep the bound
   */
  hold(client: Client, drop: () => void): Holding {
    return new Holding(this, client, drop);
  }

  /** @param holding the one that has just changed, or got its next byte */
  update(holding: Holding, amount: number): void {
    const change = amount - holding.amount;
    // Most requests have no body, and a body may arrive in a hundred thousand pieces.
    if (change === 0 && (amount === 0 || holding.place?.last === holding)) return;
    const { client } = holding;
    const name = getOrAdd(this.names, client.name, () => new NameShare());
    const address = getOrAdd(name.addresses, client.address, () => new AddressShare());
    holding.amount = amount;
    this.amount += change;
    name.amount += change;
    address.amount += change;
    // Deleting and adding moves it to the end of the set.
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

/** Something held for one client, such as a partly received body. */
export class Holding {
  amount = 0;
  /** The share in which the amount was counted last. */
  place: AddressShare | undefined;

  constructor(
    private readonly share: FairShare,
    readonly client: Client,
    readonly drop: () => void,
  ) {}

  /**
   * Sets the amount after the client has sent or taken something. May drop this or another holding.
   */
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
