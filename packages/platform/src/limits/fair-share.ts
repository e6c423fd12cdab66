import type { Client } from './client.js';

/** The amount held for one client. */
class Share {
  amount = 0;
  /** Ordered by the time of their last change, oldest first. */
  readonly holdings = new Set<Holding>();
}

/**
 * A bound on the amount held for all clients together. Beyond it, the client that holds most loses
 * the holding that has waited longest for its next change, such as the growth of a body.
 */
export class FairShare {
  private amount = 0;
  private readonly shares = new Map<Client, Share>();

  constructor(private readonly limit: number) {}

  /**
   * Begins to hold something for a client, with amount 0.
   *
   * @param drop is called when the holding has been dropped to keep the bound
   */
  hold(client: Client, drop: () => void): Holding {
    return new Holding(this, client, drop);
  }

  update(holding: Holding, amount: number): void {
    const change = amount - holding.amount;
    if (change === 0) return;
    const share = this.shares.get(holding.client) ?? new Share();
    this.amount += change;
    share.amount += change;
    holding.amount = amount;
    // Deleting and adding moves it to the end of the set.
    share.holdings.delete(holding);
    if (amount > 0) share.holdings.add(holding);
    if (share.holdings.size > 0) this.shares.set(holding.client, share);
    else this.shares.delete(holding.client);
    while (this.amount > this.limit) this.dropOne();
  }

  private dropOne(): void {
    let largest: Share | undefined;
    for (const share of this.shares.values()) {
      if (share.amount > (largest?.amount ?? 0)) largest = share;
    }
    const [oldest] = largest?.holdings ?? [];
    oldest?.end();
    oldest?.drop();
  }
}

/** Something held for one client, such as a partly received body. */
export class Holding {
  amount = 0;

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
    this.update(0);
  }
}
