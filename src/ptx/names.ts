/**
 * Interned names of one text: an open-addressing hash table whose keys are byte ranges of the text. Names are
 * compared byte by byte with their first occurrence, so only new names become strings.
 */
export class Names {
  /** Name by number. */
  readonly strings: string[] = [];
  private readonly bytes: Uint8Array;
  private readonly text: string;
  private starts = new Int32Array(256);
  private lengths = new Int32Array(256);
  private hashes = new Int32Array(256);
  /** Number of a name plus 1; 0: free. The size is a power of two, of which at most half is used. */
  private table = new Int32Array(512);

  constructor(bytes: Uint8Array, text: string) {
    this.bytes = bytes;
    this.text = text;
  }

  /**
   * The number of the name at offsets `from` (inclusive) to `to` (exclusive); a new name gets the next number.
   *
   * @param hash any function of its characters
   */
  intern(from: number, to: number, hash: number): number {
    const { bytes, table } = this;
    const mask = table.length - 1;
    const length = to - from;
    let slot = (hash ^ (hash >>> 15)) & mask;
    for (let entry = table[slot]; entry !== 0; entry = table[slot]) {
      const id = entry - 1;
      if (this.hashes[id] === hash && this.lengths[id] === length) {
        const start = this.starts[id];
        let k = 0;
        while (k < length && bytes[start + k] === bytes[from + k]) k++;
        if (k === length) return id;
      }
      slot = (slot + 1) & mask;
    }
    const id = this.strings.length;
    this.strings.push(this.text.slice(from, to));
    if (id === this.starts.length) this.grow();
    this.starts[id] = from;
    this.lengths[id] = length;
    this.hashes[id] = hash;
    if (this.table === table) table[slot] = id + 1;
    else this.place(id, hash);
    return id;
  }

  private grow(): void {
    const size = this.starts.length * 2;
    const widen = (a: Int32Array): Int32Array<ArrayBuffer> => {
      const b = new Int32Array(size);
      b.set(a);
      return b;
    };
    const count = this.starts.length;
    this.starts = widen(this.starts);
    this.lengths = widen(this.lengths);
    this.hashes = widen(this.hashes);
    this.table = new Int32Array(size * 2);
    for (let id = 0; id < count; id++) this.place(id, this.hashes[id]);
  }

  private place(id: number, hash: number): void {
    const mask = this.table.length - 1;
    let slot = (hash ^ (hash >>> 15)) & mask;
    while (this.table[slot] !== 0) slot = (slot + 1) & mask;
    this.table[slot] = id + 1;
  }
}
