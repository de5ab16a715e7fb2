/** A binary heap of integers: the smallest comes first. */
export class Heap {
  private readonly items: number[] = [];

  push(v: number): void {
    const { items } = this;
    let i = items.length;
    items.push(v);
    while (i > 0) {
      const up = (i - 1) >> 1;
      if (items[up] <= v) break;
      items[i] = items[up];
      i = up;
    }
    items[i] = v;
  }

  /** The smallest member, or -1 when empty. */
  pop(): number {
    const { items } = this;
    if (items.length === 0) return -1;
    const least = items[0];
    const v = items.pop()!;
    const n = items.length;
    if (n === 0) return least;
    let i = 0;
    for (;;) {
      let down = 2 * i + 1;
      if (down >= n) break;
      if (down + 1 < n && items[down + 1] < items[down]) down++;
      if (items[down] >= v) break;
      items[i] = items[down];
      i = down;
    }
    items[i] = v;
    return least;
  }
}
