import { BinaryError, Bytes } from './bytes.ts';

/** Names may overlap (`text` is the end of `.text`), but no honest table has names of this many times its bytes. */
const MOST_SHARING = 64;

/** A table of names: texts that end with a NUL, found by where they begin. */
export class NameTable {
  readonly bytes: Uint8Array;
  private readonly offsets = new Map<string, number>([['', 0]]);
  private readonly known = new Map<number, string>();
  private read = 0;

  /** @param strings the texts in their order, if the table consists of such from its second byte on */
  constructor(bytes: Uint8Array, strings: readonly string[]) {
    this.bytes = bytes;
    const encoder = new TextEncoder();
    let at = 1;
    for (const s of strings) {
      if (!this.offsets.has(s)) this.offsets.set(s, at);
      at += encoder.encode(s).length + 1;
    }
  }

  /** Where a name first begins; 0, the empty name, where it is none of the table's. */
  offsetOf(name: string): number {
    return this.offsets.get(name) ?? 0;
  }

  /** The name that begins at a place. Throws a BinaryError if there is none. */
  at(offset: number): string {
    const known = this.known.get(offset);
    if (known !== undefined) return known;
    if (offset === 0 && this.bytes.length === 0) return '';
    if (offset >= this.bytes.length)
      throw new BinaryError('a name begins behind the end of the table of names', offset);
    const b = new Bytes(this.bytes);
    b.at = offset;
    const name = b.cstring();
    this.read += b.at - offset;
    if (this.read > MOST_SHARING * this.bytes.length)
      throw new BinaryError('the names in a table of names overlap', offset);
    this.known.set(offset, name);
    return name;
  }
}

/** The table of names in a section. */
export type NameTables = (section: number) => NameTable;
