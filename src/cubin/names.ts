import { BinaryError, Bytes } from './bytes.ts';

/** Names may overlap (`text` is the end of `.text`), but in no honest table do they total this many times its bytes. */
const MOST_SHARING = 64;

/** A string table: NUL-terminated texts, identified by their offsets. */
export class NameTable {
  readonly bytes: Uint8Array;
  private readonly offsets = new Map<string, number>([['', 0]]);
  private readonly nameAt = new Map<number, string>();
  private read = 0;

  /** @param strings the texts in order, if the table consists of such from its second byte on */
  constructor(bytes: Uint8Array, strings: readonly string[]) {
    this.bytes = bytes;
    const encoder = new TextEncoder();
    let at = 1;
    for (const s of strings) {
      if (!this.offsets.has(s)) this.offsets.set(s, at);
      at += encoder.encode(s).length + 1;
    }
  }

  /** Offset of the first occurrence of a name; 0, the empty name, if the table lacks it. */
  offsetOf(name: string): number {
    return this.offsets.get(name) ?? 0;
  }

  /** The name at an offset. @throws BinaryError if there is none */
  at(offset: number): string {
    const known = this.nameAt.get(offset);
    if (known !== undefined) return known;
    if (offset === 0 && this.bytes.length === 0) return '';
    if (offset >= this.bytes.length)
      throw new BinaryError('a name begins past the end of the string table', offset);
    const b = new Bytes(this.bytes);
    b.at = offset;
    const name = b.cstring();
    this.read += b.at - offset;
    if (this.read > MOST_SHARING * this.bytes.length)
      throw new BinaryError('the names in a string table overlap', offset);
    this.nameAt.set(offset, name);
    return name;
  }
}

/** Gives the string table in a section. */
export type NameTables = (section: number) => NameTable;
