/**
 * The meaning language: what an opcode computes, as a list of `name = expression`, one a line.
 *
 * Values are bit vectors of a fixed width, truth values, or modifier names. `+ - * & | ^ ~ ?: == != && || !` work as in
 * C on bit vectors of one width (a literal takes the width of the other side). A modifier group's name stands for the
 * value chosen in the instruction: `part == HI`. Functions:
 *
 *   width(x)  signed(type)                             figures of operands and modifiers
 *   ext(x, w, s) zext sext trunc resize(x, w)          other widths; ext takes the sign from s
 *   extract(x, hi, lo) concat(hi, lo) bit(x, i) fill(b, w)
 *   shl lshr ashr(x, n)                                shifts; amounts of the width and more shift everything out
 *   lt slt ult uge umin(x, y)  lt(x, y, s)             comparisons; lt takes the sign from s
 *   mulhi(x, y, s) udiv sdiv urem srem carry(x, y, c)  carry: out of x + y + c
 *   popc clz brev lop3(x, y, z, lut) prmt(x, y, sel, mode)
 *   fin fsat fadd fmul ffma fdiv fsqrt fround fcmp fminmax fapprox, d..., h..., f2f f2fp f2i i2f i2i   floating point:
 *                                                      see `floats.ts` and `softfloat.ts` for each
 */
export type Expr =
  | { readonly k: 'num'; readonly v: bigint }
  | { readonly k: 'id'; readonly name: string }
  | { readonly k: 'call'; readonly fn: string; readonly args: readonly Expr[] }
  | { readonly k: 'un'; readonly op: string; readonly a: Expr }
  | { readonly k: 'bin'; readonly op: string; readonly a: Expr; readonly b: Expr }
  | { readonly k: 'cond'; readonly c: Expr; readonly a: Expr; readonly b: Expr };

export interface Assign {
  readonly name: string;
  readonly value: Expr;
}

/** A fault in a meaning: what and where in its text. */
export class MeaningError extends Error {}

const TOKEN = /\s*(0x[0-9a-fA-F]+|\d+\w*|[A-Za-z_]\w*|==|!=|&&|\|\||[-+*&|^~!?:(),=])/y;

const LEVEL: Readonly<Record<string, number>> = {
  '||': 1,
  '&&': 2,
  '|': 3,
  '^': 4,
  '&': 5,
  '==': 6,
  '!=': 6,
  '+': 7,
  '-': 7,
  '*': 8,
};

class Reader {
  private readonly tokens: string[] = [];
  private at = 0;

  constructor(text: string) {
    TOKEN.lastIndex = 0;
    for (let last = 0; last < text.trimEnd().length; last = TOKEN.lastIndex) {
      TOKEN.lastIndex = last;
      const m = TOKEN.exec(text);
      if (m === null) throw new MeaningError(`cannot read '${text.slice(last, last + 20)}'`);
      this.tokens.push(m[1]);
    }
  }

  get done(): boolean {
    return this.at >= this.tokens.length;
  }

  peek(): string {
    return this.tokens[this.at] ?? '';
  }

  next(): string {
    return this.tokens[this.at++] ?? '';
  }

  expect(t: string): void {
    const got = this.next();
    if (got !== t) throw new MeaningError(`expected '${t}', found '${got}'`);
  }

  expr(): Expr {
    const c = this.binary(1);
    if (this.peek() !== '?') return c;
    this.next();
    const a = this.expr();
    this.expect(':');
    return { k: 'cond', c, a, b: this.expr() };
  }

  private binary(level: number): Expr {
    let a = this.unary();
    for (;;) {
      const op = this.peek();
      const l = LEVEL[op];
      if (l === undefined || l < level) return a;
      this.next();
      a = { k: 'bin', op, a, b: this.binary(l + 1) };
    }
  }

  private unary(): Expr {
    const t = this.peek();
    if (t === '-' || t === '~' || t === '!') {
      this.next();
      return { k: 'un', op: t, a: this.unary() };
    }
    this.next();
    if (t === '(') {
      const e = this.expr();
      this.expect(')');
      return e;
    }
    if (/^(0x[0-9a-fA-F]+|\d+)$/.test(t)) return { k: 'num', v: BigInt(t) };
    if (!/^\w+$/.test(t)) throw new MeaningError(`unexpected '${t}'`);
    if (this.peek() !== '(') return { k: 'id', name: t };
    this.next();
    const args: Expr[] = [];
    while (this.peek() !== ')') {
      args.push(this.expr());
      if (this.peek() === ',') this.next();
      else if (this.peek() !== ')') throw new MeaningError(`expected ',' or ')', found '${this.peek()}'`);
    }
    this.next();
    return { k: 'call', fn: t, args };
  }
}

/** Reads one expression. Throws MeaningError. */
export function parseExpr(text: string): Expr {
  const r = new Reader(text);
  const e = r.expr();
  if (!r.done) throw new MeaningError(`unexpected '${r.peek()}' after the expression`);
  return e;
}

/** Reads a meaning. Throws MeaningError. */
export function parseMeaning(text: string): Assign[] {
  return text
    .split('\n')
    .filter((l) => l.trim() !== '')
    .map((line) => {
      const m = /^\s*(\w+)\s*=(?!=)(.*)$/.exec(line);
      if (m === null) throw new MeaningError(`expected 'name = expression', found '${line.trim()}'`);
      return { name: m[1], value: parseExpr(m[2]) };
    });
}
