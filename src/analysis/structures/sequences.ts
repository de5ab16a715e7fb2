/**
 * Numbers sequences of integers: equal sequences get the same number, new ones the next. Hashes without building a
 * string.
 */
export class SequenceTable {
  private readonly heads = new Map<number, number>();
  /** By sequence number: the previous one with the same hash (-1: none), and where its items start. */
  private readonly others: number[] = [];
  private readonly start: number[] = [0];
  private readonly items: number[] = [];

  /** Number of different sequences. */
  get count(): number {
    return this.others.length;
  }

  /** The number of a sequence. */
  number(sequence: readonly number[]): number {
    const { items, start } = this;
    let hash = sequence.length;
    for (let i = 0; i < sequence.length; i++) hash = (Math.imul(hash, 31) + (sequence[i] | 0)) | 0;
    const head = this.heads.get(hash) ?? -1;
    for (let s = head; s >= 0; s = this.others[s]) {
      const from = start[s];
      if (start[s + 1] - from !== sequence.length) continue;
      let i = 0;
      while (i < sequence.length && items[from + i] === sequence[i]) i++;
      if (i === sequence.length) return s;
    }
    for (let i = 0; i < sequence.length; i++) items.push(sequence[i]);
    start.push(items.length);
    this.heads.set(hash, this.others.length);
    return this.others.push(head) - 1;
  }
}
