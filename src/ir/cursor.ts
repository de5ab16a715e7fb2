import { TextError } from './text-error.ts';

const WORD = /[\w$%.]+/y;
const NUMBER = /-?(0x[0-9a-fA-F]+|\d+)/y;

/** The value of a text that `Cursor.digits` returned, rounded if it exceeds 53 bits. */
export const numberOf = (digits: string): number =>
  (digits.startsWith('-') ? -Number(digits.slice(1)) : Number(digits)) || 0;

/** The exact value of a text that `Cursor.digits` returned. */
export const bigOf = (digits: string): bigint =>
  digits.startsWith('-') ? -BigInt(digits.slice(1)) : BigInt(digits);

const SPACE = 32;
const TAB = 9;
const SEMICOLON = 59;

/**
 * A cursor over one line. Methods that consume a token skip blanks before it. Those that return the token throw a
 * `TextError` if there is another one; `what` describes the expected token in the message.
 */
export class Cursor {
  readonly text: string;
  at: number;
  constructor(text: string, at = 0) {
    this.text = text;
    this.at = at;
  }
  skip(): void {
    for (; ; this.at++) {
      const c = this.text.charCodeAt(this.at);
      if (c !== SPACE && c !== TAB) return;
    }
  }
  /** At the end of the line, or at a comment? */
  done(): boolean {
    this.skip();
    return this.at >= this.text.length || this.text.charCodeAt(this.at) === SEMICOLON;
  }
  peek(c: string): boolean {
    this.skip();
    return (
      this.text.charCodeAt(this.at) === c.charCodeAt(0) &&
      (c.length === 1 || this.text.startsWith(c, this.at))
    );
  }
  take(c: string): boolean {
    if (!this.peek(c)) return false;
    this.at += c.length;
    return true;
  }
  expect(c: string): void {
    if (!this.take(c)) throw new TextError(`expected '${c}'`, this.at);
  }
  word(what: string): string {
    this.skip();
    WORD.lastIndex = this.at;
    const m = WORD.exec(this.text);
    if (m === null) throw new TextError(`expected ${what}`, this.at);
    this.at = WORD.lastIndex;
    return m[0];
  }
  number(what: string): number {
    return numberOf(this.digits(what));
  }
  /** An exact non-negative integer. */
  natural(what: string): number {
    const { at } = this;
    const n = this.number(what);
    if (!Number.isSafeInteger(n) || n < 0) throw new TextError(`expected ${what} from 0 to 2^53 - 1`, at);
    return n;
  }
  /** An exact integer. */
  integer(what: string): number {
    const { at } = this;
    const n = this.number(what);
    if (!Number.isSafeInteger(n)) throw new TextError(`expected ${what} of at most 53 bits`, at);
    return n;
  }
  /** A byte offset that fits a signed or unsigned 32-bit integer. */
  offset(): number {
    const { at } = this;
    const n = this.number('an offset');
    if (n < -(2 ** 31) || n >= 2 ** 32) throw new TextError('the offset does not fit 32 bits', at);
    return n;
  }
  /** The id of a block: the 4 of `BB4`. */
  blockId(): number {
    this.skip();
    const { at } = this;
    const m = /^BB(\d+)$/.exec(this.word('a block'));
    if (m === null) throw new TextError('expected a block', at);
    return Number(m[1]);
  }
  /** An identifier: a word that does not begin with a digit or a dot. */
  name(what: string): string {
    this.skip();
    const { at } = this;
    const word = this.word(what);
    if (!/^[A-Za-z_$%]/.test(word)) throw new TextError(`expected ${what}`, at, word.length);
    return word;
  }
  /** One of the given words. */
  oneOf<T extends string>(what: string, words: readonly T[]): T {
    this.skip();
    const { at } = this;
    const word = this.word(what);
    const known = words.find((w) => w === word);
    if (known === undefined)
      throw new TextError(`expected ${what}`, at, word.length, [`one of ${words.join(', ')}`]);
    return known;
  }
  /** The text of an integer. */
  digits(what: string): string {
    this.skip();
    NUMBER.lastIndex = this.at;
    const m = NUMBER.exec(this.text);
    if (m === null) throw new TextError(`expected ${what}`, this.at);
    this.at = NUMBER.lastIndex;
    return m[0];
  }
  /** A JSON string. */
  quoted(what: string): string {
    const { at } = this;
    const v = this.json(what);
    if (typeof v !== 'string') throw new TextError(`expected ${what}`, at);
    return v;
  }
  /** A JSON array of strings. */
  quotedList(what: string): string[] {
    const { at } = this;
    const v = this.json(what);
    if (!Array.isArray(v) || v.some((x) => typeof x !== 'string'))
      throw new TextError(`expected ${what}`, at);
    return v as string[];
  }
  private json(what: string): unknown {
    this.skip();
    const open = this.text[this.at];
    const end = open === '"' ? this.endOfString(this.at) : open === '[' ? this.endOfArray(this.at) : this.at;
    try {
      const v: unknown = JSON.parse(this.text.slice(this.at, end));
      this.at = end;
      return v;
    } catch {
      throw new TextError(`expected ${what}`, this.at);
    }
  }
  /** Position after the string that begins at `from`. */
  endOfString(from: number): number {
    let i = from + 1;
    while (i < this.text.length && this.text[i] !== '"') i += this.text[i] === '\\' ? 2 : 1;
    return i + 1;
  }
  private endOfArray(from: number): number {
    let i = from + 1;
    while (i < this.text.length && this.text[i] !== ']') {
      i = this.text[i] === '"' ? this.endOfString(i) : i + 1;
    }
    return i + 1;
  }
}
