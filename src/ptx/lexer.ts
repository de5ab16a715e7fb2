/**
 * Lexer for PTX (PTX ISA 9.0, chapter 4). It holds only the current token, in one pass over the text. Names are interned from their bytes,
 * so that a name with a million occurrences is one string, found without slicing.
 */
import { Names } from './names.ts';
import {
  AND_AND,
  BAD,
  COLON,
  DOT,
  END,
  EQUAL,
  FLOAT,
  GREATER_EQUAL,
  IDENT,
  INT,
  LESS_EQUAL,
  MINUS,
  NOT_EQUAL,
  OR_OR,
  PERCENT,
  PLUS,
  SHIFT_LEFT,
  SHIFT_RIGHT,
  STRING,
} from './tokens.ts';

const ID_START = 1;
const ID_PART = 2;
const DIGIT = 4;
const HEX = 8;
const MARK = 16;
const CLASS = new Uint8Array(128);
for (let c = 0; c < 128; c++) {
  const s = String.fromCharCode(c);
  if (/[A-Za-z_$%]/.test(s)) CLASS[c] |= ID_START;
  if (/[A-Za-z0-9_$]/.test(s)) CLASS[c] |= ID_PART;
  if (/[0-9]/.test(s)) CLASS[c] |= DIGIT;
  if (/[0-9a-fA-F]/.test(s)) CLASS[c] |= HEX;
  if (/[!%&()*+,\-/:;<=>?@[\]^{|}~]/.test(s)) CLASS[c] |= MARK;
}

const PAIRS: readonly (readonly [string, number])[] = [
  ['<<', SHIFT_LEFT],
  ['>>', SHIFT_RIGHT],
  ['<=', LESS_EQUAL],
  ['>=', GREATER_EQUAL],
  ['==', EQUAL],
  ['!=', NOT_EQUAL],
  ['&&', AND_AND],
  ['||', OR_OR],
];
/** First character of a pair + 128 * second -> kind; 0 for none. */
const PAIR = new Uint16Array(128 * 128);
for (const [s, kind] of PAIRS) PAIR[s.charCodeAt(0) + 128 * s.charCodeAt(1)] = kind;

/** Small integers, created once. */
const SMALL: readonly bigint[] = Array.from({ length: 1024 }, (_, i) => BigInt(i));

/** Called with each fault inside a token: offset, length, message, note. */
export type LexicalFault = (start: number, length: number, message: string, note?: string) => void;

/** The lexer; its fields describe the current token. Character codes are written as numbers: 46 is a dot. */
export class Lexer {
  readonly text: string;
  /** Kind of the current token. */
  kind: number = END;
  /** The name of an identifier, the contents of a string, a directive without its dot; '' for other tokens. */
  value = '';
  /** Number of the name in `names`, for identifiers and directives. */
  id = 0;
  start = 0;
  end = 0;
  /** Line of `start`, from 1, and offset of that line's first character. */
  line = 1;
  lineStart = 0;
  /** End of the previous token. */
  last = 0;
  /** Whether the identifier includes the modifiers after it. */
  dotted = false;
  /** Whether the token is the first of its line. */
  first = true;
  /** Integer value; `unsigned` if it had the suffix U. */
  int = 0n;
  unsigned = false;
  /** Bits and width of a float. */
  floatBits = 0n;
  floatWidth: 32 | 64 = 64;
  readonly names: Names;
  /** The characters of the text, with 127 for those outside ASCII, and zeros after the end. */
  private readonly bytes: Uint8Array;
  private readonly length: number;
  private readonly fault: LexicalFault;

  constructor(text: string, fault: LexicalFault) {
    this.text = text;
    this.length = text.length;
    this.fault = fault;
    this.bytes = asciiBytes(text);
    this.names = new Names(this.bytes, text);
    if (text.charCodeAt(0) === 0xfeff) this.end = 1;
    this.next();
  }

  get column(): number {
    return this.start - this.lineStart + 1;
  }

  /** The character directly after the token. */
  get after(): number {
    return this.bytes[this.end];
  }

  /**
   * Advances to the next token.
   *
   * @param form whether an identifier includes the modifiers that follow without a gap, as in `add.rn.f32`. At the start of a statement
   * this saves interning `add` first.
   */
  next(form = false): void {
    const { bytes } = this;
    let p = this.end;
    this.last = p;
    const line = this.line;
    let c = bytes[p];
    // Blanks and comments.
    for (;;) {
      if (c === 32 || c === 9 || c === 13) c = bytes[++p];
      else if (c === 10) {
        this.line++;
        this.lineStart = ++p;
        c = bytes[p];
      } else if (c === 47 && (bytes[p + 1] === 47 || bytes[p + 1] === 42)) {
        p = this.comment(p);
        c = bytes[p];
      } else if (c === 11 || c === 12 || (c === 0 && p < this.length)) c = bytes[++p];
      else if (c === 35 && this.isLineMarker(p)) {
        do c = bytes[++p];
        while (c !== 10 && c !== 0);
      } else break;
    }
    this.first = this.line !== line || this.last === 0;
    this.start = p;
    const cls = c < 128 ? CLASS[c] : 0;
    if ((cls & ID_START) !== 0 && (c !== PERCENT || (CLASS[bytes[p + 1]] & ID_PART) !== 0)) {
      let h = c;
      c = bytes[++p];
      while ((CLASS[c] & ID_PART) !== 0) {
        h = (Math.imul(h, 31) + c) | 0;
        c = bytes[++p];
      }
      this.dotted = form && c === 46;
      if (this.dotted) {
        this.takeForm(p, h);
        return;
      }
      this.kind = IDENT;
      this.id = this.names.intern(this.start, p, h);
      this.value = this.names.strings[this.id];
    } else if ((cls & MARK) !== 0) {
      const pair = PAIR[c + 128 * bytes[p + 1]];
      this.value = '';
      if (pair !== 0) {
        this.kind = pair;
        p += 2;
      } else {
        this.kind = c;
        p++;
      }
    } else if (c === 46) {
      p = this.directive(p + 1);
    } else if ((cls & DIGIT) !== 0) {
      this.value = '';
      p = this.number(p);
    } else if (c === 34) p = this.string(p);
    else if (c === 0) {
      this.kind = END;
      this.value = '';
    } else {
      this.kind = BAD;
      this.value = '';
      p++;
      // The second half of a surrogate pair belongs to its first.
      if ((this.text.charCodeAt(p) & 0xfc00) === 0xdc00) p++;
    }
    this.end = p;
  }

  /** Extends the current identifier by the modifiers that follow without a gap. */
  widen(): void {
    const { bytes } = this;
    let h = bytes[this.start];
    for (let p = this.start + 1; p < this.end; p++) h = (Math.imul(h, 31) + bytes[p]) | 0;
    this.takeForm(this.end, h);
  }

  /** Scans modifiers from `p` on. @param h hash of the identifier so far */
  private takeForm(p: number, h: number): void {
    const { bytes } = this;
    for (;;) {
      const c = bytes[p];
      if ((CLASS[c] & ID_PART) !== 0 || (c === 46 && (CLASS[bytes[p + 1]] & ID_PART) !== 0)) {
        h = (Math.imul(h, 31) + c) | 0;
        p++;
      } else if (c === COLON && bytes[p + 1] === COLON && (CLASS[bytes[p + 2]] & ID_PART) !== 0) p += 2;
      else break;
    }
    this.kind = IDENT;
    this.dotted = true;
    this.id = this.names.intern(this.start, p, h);
    this.value = this.names.strings[this.id];
    this.end = p;
  }

  /** Rescans the current token, which looks like a directive, as the number `.5`. */
  takeFraction(): void {
    this.end = this.decimal(this.start, this.start);
    this.value = '';
  }

  private comment(p: number): number {
    const { bytes } = this;
    if (bytes[p + 1] === 47) {
      p += 2;
      while (bytes[p] !== 10 && p < this.length) p++;
      return p;
    }
    const e = this.text.indexOf('*/', p + 2);
    if (e < 0) {
      this.fault(p, 2, "the comment is not closed by '*/'");
      return this.length;
    }
    for (; p < e; p++)
      if (bytes[p] === 10) {
        this.line++;
        this.lineStart = p + 1;
      }
    return e + 2;
  }

  /** Is this a line marker of a preprocessor, `# 12 "file"` or `#line 12 "file"`, which ptxas skips? */
  private isLineMarker(p: number): boolean {
    const { bytes } = this;
    for (let q = this.lineStart; q < p; q++) if (bytes[q] !== 32 && bytes[q] !== 9) return false;
    return /^#[ \t]*(line[ \t]|\d)/.test(this.text.slice(p, p + 40));
  }

  /** Scans a directive or modifier from `p`, after its dot: `.shared::cta`, `.L2::128B`, `.mbarrier::complete_tx::bytes`. */
  private directive(p: number): number {
    const { bytes } = this;
    const from = p;
    let h = 0;
    for (;;) {
      const c = bytes[p];
      if ((CLASS[c] & ID_PART) !== 0) {
        h = (Math.imul(h, 31) + c) | 0;
        p++;
      } else if (c === COLON && bytes[p + 1] === COLON && (CLASS[bytes[p + 2]] & ID_PART) !== 0) p += 2;
      else break;
    }
    this.kind = p > from ? DOT : BAD;
    this.id = this.names.intern(from, p, h);
    this.value = this.names.strings[this.id];
    return p;
  }

  private string(p: number): number {
    const { bytes } = this;
    let q = p + 1;
    while (bytes[q] !== 34 && bytes[q] !== 10 && q < this.length) q++;
    this.kind = STRING;
    this.value = this.text.slice(p + 1, q);
    if (bytes[q] === 34) return q + 1;
    this.fault(p, q - p, "the string is not closed by '\"' on its line");
    return q;
  }

  private number(p: number): number {
    const { bytes } = this;
    let c = bytes[p];
    let n = 0;
    let q = p;
    if (c === 48) {
      const second = bytes[p + 1] | 32;
      if (second === 102) return this.floatPattern(p, 8);
      if (second === 100) return this.floatPattern(p, 16);
      if (second === 120) return this.radix(p, p + 2, HEX, 'hexadecimal');
      if (second === 98) return this.radix(p, p + 2, DIGIT, 'binary');
    }
    while ((CLASS[c] & DIGIT) !== 0) {
      n = n * 10 + (c - 48);
      c = bytes[++q];
    }
    if (c === 46 || (c | 32) === 101) return this.decimal(p, q);
    if (bytes[p] === 48 && q > p + 1) return this.radix(p, p + 1, DIGIT, 'octal');
    return this.integer(p, q, q - p < 16 ? (n < 1024 ? SMALL[n] : BigInt(n)) : this.long(p, p, q, 10n));
  }

  /** Finishes an integer whose digits end at `q`: suffix, and check that no word follows. */
  private integer(p: number, q: number, value: bigint): number {
    this.kind = INT;
    this.int = value;
    this.unsigned = this.bytes[q] === 85;
    if (this.unsigned) q++;
    if ((CLASS[this.bytes[q]] & ID_PART) !== 0)
      return this.malformed(p, "the only suffix of an integer is 'U'");
    return q;
  }

  private radix(p: number, digits: number, cls: number, word: string): number {
    const { bytes } = this;
    let q = digits;
    let n = 0;
    const base = word === 'hexadecimal' ? 16 : word === 'octal' ? 8 : 2;
    for (; (CLASS[bytes[q]] & cls) !== 0; q++) {
      const c = bytes[q];
      const d = c < 58 ? c - 48 : (c | 32) - 87;
      if (d >= base) return this.malformed(p, `${word} digits are 0 to ${base - 1}`);
      n = n * base + d;
    }
    if (q === digits) return this.malformed(p, `${word} digits follow '${this.text.slice(p, digits)}'`);
    if (n <= Number.MAX_SAFE_INTEGER) return this.integer(p, q, n < 1024 ? SMALL[n] : BigInt(n));
    return this.integer(p, q, this.long(p, digits, q, BigInt(base)));
  }

  /**
   * The value of many digits modulo 2^64. As in ptxas 13.0.88, overflow is reported only if a digit follows when the top bit is set;
   * otherwise the upper bits are lost: 0x123456789abcdef0123 is 0x456789abcdef0123.
   */
  private long(p: number, from: number, to: number, base: bigint): bigint {
    let v = 0n;
    for (let q = from; q < to; q++) {
      if (v >= TOP_BIT) {
        this.fault(p, to - p, 'integer constant does not fit 64 bits');
        break;
      }
      const c = this.bytes[q];
      v = BigInt.asUintN(64, v * base + BigInt(c < 58 ? c - 48 : (c | 32) - 87));
    }
    return v;
  }

  /** Scans `0f3F800000` or `0d3FF0000000000000`. */
  private floatPattern(p: number, digits: 8 | 16): number {
    const { bytes } = this;
    let q = p + 2;
    let high = 0;
    let low = 0;
    for (; (CLASS[bytes[q]] & HEX) !== 0; q++) {
      const c = bytes[q];
      high = (high << 4) | (low >>> 28);
      low = (low << 4) | (c < 58 ? c - 48 : (c | 32) - 87);
    }
    if (q - p - 2 !== digits || (CLASS[bytes[q]] & ID_PART) !== 0)
      return this.malformed(p, `'${this.text.slice(p, p + 2)}' takes ${digits} hexadecimal digits`);
    this.kind = FLOAT;
    this.floatWidth = digits === 8 ? 32 : 64;
    this.floatBits =
      digits === 8 || high === 0 ? BigInt(low >>> 0) : (BigInt(high >>> 0) << 32n) | BigInt(low >>> 0);
    return q;
  }

  /** Scans a decimal floating-point literal that begins at `p` and whose integer part ends at `q`. */
  private decimal(p: number, q: number): number {
    const { bytes } = this;
    if (bytes[q] === 46) {
      q++;
      while ((CLASS[bytes[q]] & DIGIT) !== 0) q++;
    }
    if ((bytes[q] | 32) === 101) {
      let e = q + 1;
      if (bytes[e] === PLUS || bytes[e] === MINUS) e++;
      if ((CLASS[bytes[e]] & DIGIT) === 0) return this.malformed(p, 'an exponent needs digits');
      while ((CLASS[bytes[e]] & DIGIT) !== 0) e++;
      q = e;
    }
    if ((CLASS[bytes[q]] & ID_PART) !== 0) return this.malformed(p, 'a floating-point literal has no suffix');
    const v = Number(this.text.slice(p, q));
    if (v === Number.POSITIVE_INFINITY) this.fault(p, q - p, 'floating-point constant does not fit 64 bits');
    this.kind = FLOAT;
    this.floatBits = doubleBits(v);
    this.floatWidth = 64;
    return q;
  }

  /** Reports the word at `p` as a malformed number, and continues with zero. */
  private malformed(p: number, note: string): number {
    let q = p;
    while ((CLASS[this.bytes[q]] & ID_PART) !== 0) q++;
    this.fault(p, q - p, `malformed number '${this.text.slice(p, Math.min(q, p + 40))}'`, note);
    this.kind = INT;
    this.int = 0n;
    this.unsigned = false;
    return q;
  }
}

const TOP_BIT = 1n << 63n;

function asciiBytes(text: string): Uint8Array {
  const n = text.length;
  // Zeros after the end let the lexer look ahead.
  const bytes = new Uint8Array(n + 4);
  const { read, written } = new TextEncoder().encodeInto(text, bytes.subarray(0, n));
  if (read === n && written === n) return bytes;
  for (let i = 0; i < n; i++) {
    const c = text.charCodeAt(i);
    bytes[i] = c < 127 ? c : 127;
  }
  return bytes;
}

const view = new DataView(new ArrayBuffer(8));

/** The bit pattern of a double, unsigned. */
export function doubleBits(v: number): bigint {
  view.setFloat64(0, v);
  return view.getBigUint64(0);
}

/** The double with a bit pattern. */
export function doubleOf(bits: bigint): number {
  view.setBigUint64(0, bits);
  return view.getFloat64(0);
}
