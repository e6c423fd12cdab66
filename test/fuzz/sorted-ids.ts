/** Ids in their order. */
export class SortedIds {
  private readonly ids: bigint[] = [];

  add(id: bigint): void {
    this.ids.splice(this.placeOf(id), 0, id);
  }

  delete(id: bigint): void {
    const place = this.placeOf(id);
    if (this.ids[place] === id) this.ids.splice(place, 1);
  }

  /** At most so many ids after this one, or the first ones. */
  after(id: bigint | undefined, count: number): bigint[] {
    const begin = id === undefined ? 0 : this.placeOf(id + 1n);
    return this.ids.slice(begin, begin + count);
  }

  /** How many ids are less. */
  private placeOf(id: bigint): number {
    let low = 0;
    let high = this.ids.length;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if ((this.ids[middle] ?? id) < id) low = middle + 1;
      else high = middle;
    }
    return low;
  }
}
