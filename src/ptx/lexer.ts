/**
 * Tokens of PTX (PTX ISA 9.0, chapter 4). The lexer keeps no token list: it holds one token and moves on, so that a
 * file of any size costs one pass and no memory.
 */
export const Tok = {
  End: 0,
  /** Identifier, register or label: `foo`, `%r1`, `$L__BB0_1`, `%tid.x` is Ident Directive. */
  Ident: 1,
  /** A dot and what follows: `.global`, `.shared::cta`, `.m16n8k16`. */
  Dot: 2,
  Int: 3,
  Float: 4,
  String: 5,
  Punct: 6,
} as const;

const ID_START = 1;
const ID_PART = 2;
const DIGIT = 4;
const SPACE = 8;
const CLASS = new Uint8Array(256);
for (let c = 0; c < 128; c++) {
  const s = String.fromCharCode(c);
  if (/[A-Za-z_$%]/.test(s)) CLASS[c] |= ID_START;
  if (/[A-Za-z0-9_$]/.test(s)) CLASS[c] |= ID_PART;
  if (/[0-9]/.test(s)) CLASS[c] |= DIGIT;
  if (/[ \t\r\n\f\v]/.test(s)) CLASS[c] |= SPACE;
}

export class Lexer {
  readonly text: string;
  /** Kind of the current token. */
  kind: number = Tok.End;
  /** Its text, interned; of Dot without the dot, of String without the quotes. */
  value = '';
  start = 0;
  end = 0;
  /** Line of `start`, from 1, and offset of that line's first character. */
  line = 1;
  lineStart = 0;
  /** Integer value; `unsigned` if it had the suffix U. */
  int = 0n;
  unsigned = false;
  /** Bits and width of a float. */
  floatBits = 0n;
  floatWidth: 32 | 64 = 64;
  /** The token follows the one before it without a gap. */
  glued = false;
  private pos = 0;
  private readonly interned = new Map<string, string>();

  constructor(text: string) {
    this.text = text;
    this.next();
  }

  get column(): number {
    return this.start - this.lineStart + 1;
  }

  is(punct: string): boolean {
    return this.kind === Tok.Punct && this.value === punct;
  }

  /** Moves to the next token. */
  next(): void {
    const { text } = this;
    let p = this.pos;
    const from = p;
    for (;;) {
      const c = text.charCodeAt(p);
      if (c === 10) {
        p++;
        this.line++;
        this.lineStart = p;
      } else if (c < 128 && (CLASS[c] & SPACE) !== 0) p++;
      else if (c === 47 && text.charCodeAt(p + 1) === 47) {
        const e = text.indexOf('\n', p);
        p = e < 0 ? text.length : e;
      } else if (c === 47 && text.charCodeAt(p + 1) === 42) {
        const e = text.indexOf('*/', p + 2);
        const stop = e < 0 ? text.length : e + 2;
        for (; p < stop; p++)
          if (text.charCodeAt(p) === 10) {
            this.line++;
            this.lineStart = p + 1;
          }
      } else break;
    }
    this.glued = p === from;
    this.start = p;
    if (p >= text.length) {
      this.kind = Tok.End;
      this.value = '';
      this.end = this.pos = p;
      return;
    }
    const c = text.charCodeAt(p);
    const cls = c < 128 ? CLASS[c] : 0;
    if ((cls & ID_START) !== 0) {
      p = this.word(p + 1);
      this.kind = Tok.Ident;
      this.value = this.intern(this.start, p);
    } else if ((cls & DIGIT) !== 0) p = this.number(p);
    else if (c === 46) {
      const d = text.charCodeAt(p + 1);
      if (d < 128 && (CLASS[d] & (ID_START | DIGIT)) !== 0) {
        p = this.word(p + 1);
        // `.shared::cta`, `.L2::128B`, `.mbarrier::complete_tx::bytes`
        while (text.charCodeAt(p) === 58 && text.charCodeAt(p + 1) === 58) p = this.word(p + 2);
        this.kind = Tok.Dot;
        this.value = this.intern(this.start + 1, p);
      } else {
        this.punct(p, ++p);
      }
    } else if (c === 34) {
      const e = text.indexOf('"', p + 1);
      const stop = e < 0 ? text.length : e;
      this.kind = Tok.String;
      this.value = text.slice(p + 1, stop);
      p = Math.min(text.length, stop + 1);
    } else {
      const two = text.slice(p, p + 2);
      this.punct(p, (p += /^(<<|>>|<=|>=|==|!=|&&|\|\|)$/.test(two) ? 2 : 1));
    }
    this.end = this.pos = p;
  }

  private punct(from: number, to: number): void {
    this.kind = Tok.Punct;
    this.value = this.intern(from, to);
  }

  private word(p: number): number {
    const { text } = this;
    for (;;) {
      const c = text.charCodeAt(p);
      if (c < 128 && (CLASS[c] & ID_PART) !== 0) p++;
      else return p;
    }
  }

  private intern(from: number, to: number): string {
    const s = this.text.slice(from, to);
    const known = this.interned.get(s);
    if (known !== undefined) return known;
    this.interned.set(s, s);
    return s;
  }

  private number(p: number): number {
    const { text } = this;
    const c1 = text.charCodeAt(p + 1) | 32;
    if (text.charCodeAt(p) === 48 && (c1 === 102 || c1 === 100)) {
      const digits = c1 === 102 ? 8 : 16;
      const hex = text.slice(p + 2, p + 2 + digits);
      if (hex.length === digits && /^[0-9a-fA-F]+$/.test(hex)) {
        this.kind = Tok.Float;
        this.floatBits = BigInt(`0x${hex}`);
        this.floatWidth = c1 === 102 ? 32 : 64;
        return p + 2 + digits;
      }
    }
    let q = p;
    if (text.charCodeAt(p) === 48 && c1 === 120) {
      q = p + 2;
      while (/[0-9a-fA-F]/.test(text[q] ?? '')) q++;
      this.int = q > p + 2 ? BigInt(text.slice(p, q)) : 0n;
    } else if (text.charCodeAt(p) === 48 && c1 === 98 && /[01]/.test(text[p + 2] ?? '')) {
      q = p + 2;
      while (/[01]/.test(text[q] ?? '')) q++;
      this.int = BigInt(text.slice(p, q));
    } else {
      while ((CLASS[text.charCodeAt(q) & 127] & DIGIT) !== 0 && q < text.length) q++;
      const dot = text.charCodeAt(q) === 46 && (CLASS[text.charCodeAt(q + 1) & 127] & DIGIT) !== 0;
      const exp = (text.charCodeAt(q) | 32) === 101 && /^[eE][-+]?[0-9]/.test(text.slice(q, q + 3));
      if (dot || exp) {
        if (dot) {
          q++;
          while ((CLASS[text.charCodeAt(q) & 127] & DIGIT) !== 0 && q < text.length) q++;
        }
        if (/^[eE][-+]?[0-9]/.test(text.slice(q, q + 3))) {
          q += 2;
          while ((CLASS[text.charCodeAt(q) & 127] & DIGIT) !== 0 && q < text.length) q++;
        }
        this.kind = Tok.Float;
        this.floatBits = doubleBits(Number(text.slice(p, q)));
        this.floatWidth = 64;
        return q;
      }
      const s = text.slice(p, q);
      const octal = s.length > 1 && s[0] === '0' && /^[0-7]+$/.test(s);
      this.int = q - p < 10 && !octal ? BigInt(Number(s)) : BigInt(octal ? `0o${s.slice(1)}` : s);
    }
    this.unsigned = (text.charCodeAt(q) | 32) === 117;
    if (this.unsigned) q++;
    this.kind = Tok.Int;
    return q;
  }
}

const view = new DataView(new ArrayBuffer(8));

/** Bit pattern of a double. */
export function doubleBits(v: number): bigint {
  view.setFloat64(0, v);
  return view.getBigUint64(0);
}
