import { Mod, type Opcode, slotWidth } from '../ir/opcode.ts';
import * as floats from './floats.ts';
import * as ints from './ints.ts';
import { type Expr, MeaningError } from './lang.ts';
import { isConstantSlot, meaningOf, modifierStyle } from './meaning.ts';

/** Register storage of one warp: all views lie over one buffer. */
export interface LaneRegs {
  readonly i32: Int32Array;
  readonly f32: Float32Array;
  readonly f64: Float64Array;
  /** Predicates, one mask of 32 lanes each. */
  readonly p: Int32Array;
}

/**
 * Carries out one instruction for the lanes of `mask`. `o[k]`, `o[k + 1]`, ... are places of the destinations, then of the
 * sources: 32-bit values at `i32[place + lane]`, 64-bit values at `i32[place + 2 * lane]` (low word first), predicates
 * at `p[place]`.
 */
export type LaneFn = (r: LaneRegs, o: Int32Array, k: number, mask: number) => void;

/** What a lane function is specialised for. */
export interface LaneKey {
  readonly op: Opcode;
  readonly mods: number;
  /** `Mod` bits of each source. */
  readonly srcMods: readonly number[];
  /** Bit i: destination i is wanted. */
  readonly wanted: number;
  /** Values of constant-only sources, by source index; null elsewhere. */
  readonly consts: readonly (number | null)[];
}

type Value =
  | { readonly t: 'i'; readonly js: string; readonly w: number }
  | { readonly t: 'l'; readonly lo: string; readonly hi: string; readonly from?: 's' | 'u' }
  | { readonly t: 'b'; readonly js: string; readonly c?: boolean }
  | { readonly t: 'f'; readonly js: string }
  | { readonly t: 'd'; readonly js: string }
  | { readonly t: 'h'; readonly js: string; readonly fmt: string }
  | { readonly t: 'num'; readonly v: bigint }
  | { readonly t: 'sym'; readonly name: string };

const cache = new Map<string, LaneFn>();

/** The generated function for a specialisation; the same one for equal keys. */
export function compileLane(key: LaneKey): LaneFn {
  const id = `${key.op.name}|${key.mods}|${key.srcMods.join(',')}|${key.wanted}|${key.consts.join(',')}`;
  let fn = cache.get(id);
  if (fn === undefined) {
    fn = new Function('rt', 'ri', `return ${new Generator(key).source()}`)(floats, ints) as LaneFn;
    cache.set(id, fn);
  }
  return fn;
}

/** Source text of the generated function, for tests and curious readers. */
export const laneSource = (key: LaneKey): string => new Generator(key).source();

class Generator {
  private readonly key: LaneKey;
  private readonly lines: string[] = [];
  private readonly head: string[] = [];
  private readonly env = new Map<string, Value>();
  private temps = 0;
  /** Operand index by name, for reads of float views. */
  private readonly operandAt = new Map<string, number>();

  constructor(key: LaneKey) {
    this.key = key;
  }

  source(): string {
    const { op, mods, wanted } = this.key;
    const nd = op.dsts.length;
    for (const g of op.groups)
      this.env.set(g.name, { t: 'sym', name: g.values[(mods >>> g.shift) & g.mask].name });
    op.srcs.forEach((s, k) => this.operandAt.set(s.name, k));
    const dstIndex = new Map(op.dsts.map((d, k) => [d.name, k]));
    const stores: string[] = [];
    const tail: string[] = [];
    for (const a of meaningOf(op)) {
      const k = dstIndex.get(a.name);
      if (k !== undefined && (wanted & (1 << k)) === 0) continue;
      const v = this.expr(a.value);
      if (k === undefined) {
        this.env.set(a.name, this.name(v));
        continue;
      }
      const slot = op.dsts[k];
      const width = slotWidth(op, mods, slot);
      this.head.push(`const D${k}=o[k+${k}];`);
      if (slot.bank === 'p') {
        this.head.push(`let q${k}=0;`);
        const named = this.name(v);
        stores.push(`q${k}|=(${this.bool(named)}?1:0)<<l;`);
        tail.push(`P[D${k}]=P[D${k}]&~mask|q${k}&mask;`);
      } else stores.push(this.store(`D${k}`, this.name(v), width));
      this.env.set(a.name, this.name(v));
    }
    for (let k = 0; k < op.srcs.length; k++)
      if (!isConstantSlot(op.srcs[k])) this.head.push(`const S${k}=o[k+${nd + k}];`);
    const body = [...this.lines, ...stores].join('');
    return `function(r,o,k,mask){const I=r.i32,F=r.f32,G=r.f64,P=r.p;${this.head.join('')}${this.preds()}if(mask===-1){for(let l=0;l<32;l++){${body}}}else{for(let m=mask,l;m!==0;m&=m-1){l=31-Math.clz32(m&-m);${body}}}${tail.join('')}}`;
  }

  private preds(): string {
    return this.key.op.srcs.map((s, k) => (s.bank === 'p' ? `const p${k}=P[S${k}];` : '')).join('');
  }

  private temp(js: string): string {
    const t = `t${this.temps++}`;
    this.lines.push(`const ${t}=${js};`);
    return t;
  }

  /** Gives a value a name, so that it is computed once. */
  private name(v: Value): Value {
    switch (v.t) {
      case 'l':
        return { t: 'l', lo: this.simple(v.lo), hi: this.simple(v.hi), from: v.from };
      case 'i':
      case 'f':
      case 'd':
      case 'h':
        return { ...v, js: this.simple(v.js) };
      case 'b':
        return v.c !== undefined ? v : { ...v, js: this.simple(v.js) };
      default:
        return v;
    }
  }

  private simple(js: string): string {
    return /^-?\w+$/.test(js) ? js : this.temp(js);
  }

  private store(d: string, v: Value, width: number): string {
    if (width === 64) {
      if (v.t === 'd')
        return `if(${v.js}===${v.js})G[(${d}>>1)+l]=${v.js};else{I[${d}+2*l]=0;I[${d}+2*l+1]=0x7ff80000;}`;
      const l = this.long(v);
      return `I[${d}+2*l]=${l.lo};I[${d}+2*l+1]=${l.hi};`;
    }
    if (v.t === 'f') return `if(${v.js}===${v.js})F[${d}+l]=${v.js};else I[${d}+l]=0x7fffffff;`;
    if (v.t === 'h') return `I[${d}+l]=rt.numberToHalf(${v.js},'${v.fmt}');`;
    return `I[${d}+l]=${this.int(v, 32)};`;
  }

  // ---------------------------------------------------------------- operands

  private operand(k: number): Value {
    const { op, mods, srcMods, consts } = this.key;
    const slot = op.srcs[k];
    if (isConstantSlot(slot)) return { t: 'num', v: BigInt((consts[k] ?? 0) >>> 0) };
    const m = srcMods[k] ?? 0;
    if (slot.bank === 'p') return { t: 'b', js: (m & Mod.Not) !== 0 ? `(~p${k}>>>l&1)` : `(p${k}>>>l&1)` };
    const width = slotWidth(op, mods, slot);
    const style = modifierStyle(
      op,
      (g) => (this.env.get(g) as { name?: string } | undefined)?.name ?? null,
      width,
    );
    if (width === 64) {
      let lo = this.temp(`I[S${k}+2*l]`);
      let hi = this.temp(`I[S${k}+2*l+1]`);
      if (style === 'f64') {
        if ((m & Mod.Abs) !== 0) hi = this.temp(`${hi}&0x7fffffff`);
        if ((m & Mod.Neg) !== 0) hi = this.temp(`${hi}^0x80000000`);
      } else {
        if ((m & Mod.Not) !== 0) [lo, hi] = [this.temp(`~${lo}`), this.temp(`~${hi}`)];
        if ((m & Mod.Neg) !== 0) [lo, hi] = [this.temp(`-${lo}|0`), this.temp(`~${hi}+(${lo}===0?1:0)|0`)];
      }
      return { t: 'l', lo, hi };
    }
    let js = this.temp(`I[S${k}+l]`);
    const sign = style === 'half2' ? '0x80008000' : style === 'half' ? '0x8000' : '0x80000000';
    if (style === 'integer') {
      if ((m & Mod.Not) !== 0) js = this.temp(`~${js}`);
      if ((m & Mod.Neg) !== 0) js = this.temp(`-${js}|0`);
    } else {
      if ((m & Mod.Abs) !== 0) js = this.temp(`${js}&~${sign}`);
      if ((m & Mod.Neg) !== 0) js = this.temp(`${js}^${sign}`);
    }
    return { t: 'i', js, w: 32 };
  }

  /** An operand read as a number through a float view; null if the expression is no operand. */
  private floatOperand(e: Expr, width: 32 | 64): string | null {
    if (e.k !== 'id' || this.env.get(e.name)?.t === 'sym') return null;
    const k = this.operandAt.get(e.name);
    if (k === undefined) return null;
    const m = this.key.srcMods[k] ?? 0;
    let js = width === 64 ? `G[(S${k}>>1)+l]` : `F[S${k}+l]`;
    if ((m & Mod.Abs) !== 0) js = `Math.abs(${js})`;
    if ((m & Mod.Neg) !== 0) js = `-${js}`;
    return this.temp(js);
  }

  // ---------------------------------------------------------------- coercions

  private int(v: Value, w: number): string {
    if (v.t === 'num') return String(Number(BigInt.asIntN(32, w < 32 ? BigInt.asUintN(w, v.v) : v.v)));
    if (v.t === 'i') return v.js;
    if (v.t === 'b') return `(${v.js}?1:0)`;
    if (v.t === 'l') return v.lo;
    if (v.t === 'f') return `rt.f32ToBits(${v.js})`;
    throw new MeaningError(`a value of kind '${v.t}' stands where ${w} bits are expected`);
  }

  private long(v: Value): { lo: string; hi: string; from?: 's' | 'u' } {
    if (v.t === 'l') return v;
    if (v.t === 'num')
      return {
        lo: String(Number(BigInt.asIntN(32, v.v))),
        hi: String(Number(BigInt.asIntN(32, v.v >> 32n))),
      };
    if (v.t === 'i') return { lo: v.js, hi: '0', from: 'u' };
    if (v.t === 'b') return { lo: `(${v.js}?1:0)`, hi: '0' };
    throw new MeaningError(`a value of kind '${v.t}' stands where 64 bits are expected`);
  }

  private bool(v: Value): string {
    if (v.t === 'b') return v.js;
    throw new MeaningError(`a value of kind '${v.t}' stands where a truth value is expected`);
  }

  private widthOf(v: Value): number {
    return v.t === 'l' || v.t === 'd' ? 64 : v.t === 'i' ? v.w : v.t === 'b' ? 1 : 32;
  }

  private f(e: Expr): string {
    const direct = this.floatOperand(e, 32);
    if (direct !== null) return direct;
    const v = this.expr(e);
    if (v.t === 'f' || v.t === 'd' || v.t === 'h') return v.js;
    return `rt.bitsToF32(${this.int(v, 32)})`;
  }

  private d(e: Expr): string {
    const direct = this.floatOperand(e, 64);
    if (direct !== null) return direct;
    const v = this.expr(e);
    if (v.t === 'd' || v.t === 'f') return v.js;
    const l = this.long(v);
    return `rt.valueOf(${l.lo},${l.hi},'F64')`;
  }

  private sym(e: Expr): string {
    const v = this.expr(e);
    if (v.t === 'sym') return v.name;
    throw new MeaningError('a modifier is expected');
  }

  /** A flag argument: a boolean group, or true/false. */
  private flag(e: Expr): boolean {
    const v = this.expr(e);
    if (v.t === 'sym') return v.name !== 'NONE';
    if (v.t === 'b' && v.c !== undefined) return v.c;
    throw new MeaningError('a flag is expected');
  }

  private constant(e: Expr): number {
    const v = this.expr(e);
    if (v.t === 'num') return Number(v.v);
    throw new MeaningError('a constant is expected');
  }

  // ---------------------------------------------------------------- expressions

  private expr(e: Expr): Value {
    switch (e.k) {
      case 'num':
        return { t: 'num', v: e.v };
      case 'id': {
        if (e.name === 'true' || e.name === 'false') return { t: 'b', js: e.name, c: e.name === 'true' };
        const known = this.env.get(e.name);
        if (known !== undefined) return known;
        const k = this.operandAt.get(e.name);
        if (k === undefined) return { t: 'sym', name: e.name };
        const v = this.operand(k);
        if (v.t !== 'num') this.env.set(e.name, v);
        return v;
      }
      case 'un':
        return this.unary(e.op, this.expr(e.a));
      case 'bin':
        return this.binary(e.op, e.a, e.b);
      case 'cond': {
        const c = this.expr(e.c);
        if (c.t === 'b' && c.c !== undefined) return this.expr(c.c ? e.a : e.b);
        const cond = this.simple(this.bool(c));
        const a = this.expr(e.a);
        const b = this.expr(e.b);
        if (a.t === 'l' || b.t === 'l') {
          const x = this.long(a);
          const y = this.long(b);
          return { t: 'l', lo: `(${cond}?${x.lo}:${y.lo})`, hi: `(${cond}?${x.hi}:${y.hi})` };
        }
        if (a.t === 'b') return { t: 'b', js: `(${cond}?${a.js}:${this.bool(b)})` };
        const w = a.t === 'num' ? this.widthOf(b) : this.widthOf(a);
        return { t: 'i', js: `(${cond}?${this.int(a, w)}:${this.int(b, w)})`, w };
      }
      default:
        return this.call(e.fn, e.args);
    }
  }

  private unary(op: string, a: Value): Value {
    if (op === '!')
      return a.t === 'b' && a.c !== undefined
        ? { t: 'b', js: String(!a.c), c: !a.c }
        : { t: 'b', js: `!(${this.bool(a)})` };
    if (a.t === 'l') {
      const x = this.name(a) as { lo: string; hi: string };
      return op === '~'
        ? { t: 'l', lo: `~${x.lo}`, hi: `~${x.hi}` }
        : { t: 'l', lo: `(-${x.lo}|0)`, hi: `(~${x.hi}+(${x.lo}===0?1:0)|0)` };
    }
    return op === '~'
      ? { t: 'i', js: `~${this.int(a, 32)}`, w: 32 }
      : { t: 'i', js: `(-${this.int(a, 32)}|0)`, w: 32 };
  }

  private binary(op: string, ea: Expr, eb: Expr): Value {
    if (op === '&&' || op === '||') {
      const a = this.expr(ea);
      if (a.t === 'b' && a.c !== undefined) return a.c === (op === '&&') ? this.expr(eb) : a;
      const b = this.expr(eb);
      if (b.t === 'b' && b.c !== undefined) return b.c === (op === '&&') ? a : b;
      return { t: 'b', js: `(${this.bool(a)}${op}${this.bool(b)})` };
    }
    const a = this.expr(ea);
    const b = this.expr(eb);
    if (op === '==' || op === '!=') return this.equal(a, b, op === '==');
    if (a.t === 'num' && b.t === 'num') {
      const v =
        op === '+'
          ? a.v + b.v
          : op === '-'
            ? a.v - b.v
            : op === '*'
              ? a.v * b.v
              : op === '&'
                ? a.v & b.v
                : op === '|'
                  ? a.v | b.v
                  : a.v ^ b.v;
      return { t: 'num', v };
    }
    if (a.t === 'l' || b.t === 'l') return this.longBinary(op, this.long(a), this.long(b));
    const w = Math.max(a.t === 'num' ? 0 : this.widthOf(a), b.t === 'num' ? 0 : this.widthOf(b));
    const x = this.int(a, w);
    const y = this.int(b, w);
    const js = op === '*' ? `Math.imul(${x},${y})` : `(${x}${op}${y}|0)`;
    return w < 32
      ? { t: 'i', js: `(${js}&${2 ** w - 1})`, w }
      : { t: 'i', js: op === '&' || op === '|' || op === '^' ? `(${x}${op}${y})` : js, w: 32 };
  }

  private equal(a: Value, b: Value, eq: boolean): Value {
    if (a.t === 'sym' && b.t === 'sym') {
      const c = (a.name === b.name) === eq;
      return { t: 'b', js: String(c), c };
    }
    const op = eq ? '===' : '!==';
    if (a.t === 'b' || b.t === 'b') {
      if (b.t === 'b' && b.c !== undefined && a.t === 'b')
        return b.c === eq ? a : { t: 'b', js: `!(${a.js})` };
      return { t: 'b', js: `(!${this.bool(a)})${op}(!${this.bool(b)})` };
    }
    if (a.t === 'l' || b.t === 'l') {
      const x = this.long(a);
      const y = this.long(b);
      return {
        t: 'b',
        js: eq ? `(${x.lo}===${y.lo}&&${x.hi}===${y.hi})` : `(${x.lo}!==${y.lo}||${x.hi}!==${y.hi})`,
      };
    }
    return { t: 'b', js: `(${this.int(a, 32)}${op}${this.int(b, 32)})` };
  }

  private longBinary(
    op: string,
    a0: { lo: string; hi: string; from?: 's' | 'u' },
    b0: { lo: string; hi: string; from?: 's' | 'u' },
  ): Value {
    const a = { lo: this.simple(a0.lo), hi: this.simple(a0.hi) };
    const b = { lo: this.simple(b0.lo), hi: this.simple(b0.hi) };
    switch (op) {
      case '+': {
        const lo = this.temp(`${a.lo}+${b.lo}|0`);
        return { t: 'l', lo, hi: `(${a.hi}+${b.hi}+((${lo}>>>0)<(${a.lo}>>>0)?1:0)|0)` };
      }
      case '-': {
        const lo = this.temp(`${a.lo}-${b.lo}|0`);
        return { t: 'l', lo, hi: `(${a.hi}-${b.hi}-((${a.lo}>>>0)<(${b.lo}>>>0)?1:0)|0)` };
      }
      case '*': {
        const lo = this.temp(`Math.imul(${a.lo},${b.lo})`);
        if (a0.from === 's' && b0.from === 's') return { t: 'l', lo, hi: `ri.smulh(${a.lo},${b.lo})` };
        if (a0.from === 'u' && b0.from === 'u') return { t: 'l', lo, hi: `ri.umulh(${a.lo},${b.lo})` };
        return {
          t: 'l',
          lo,
          hi: `(ri.umulh(${a.lo},${b.lo})+Math.imul(${a.lo},${b.hi})+Math.imul(${a.hi},${b.lo})|0)`,
        };
      }
      default:
        return { t: 'l', lo: `(${a.lo}${op}${b.lo})`, hi: `(${a.hi}${op}${b.hi})` };
    }
  }

  private shift(fn: string, ev: Expr, en: Expr): Value {
    const v = this.name(this.expr(ev));
    const nv = this.expr(en);
    if (v.t === 'num' && nv.t === 'num')
      return { t: 'num', v: fn === 'shl' ? BigInt.asUintN(64, v.v << nv.v) : v.v >> nv.v };
    const n = this.simple(this.int(nv.t === 'l' ? { t: 'i', js: nv.lo, w: 32 } : nv, 32));
    if (v.t === 'l') {
      const big = `(${n}>>>0)`;
      if (fn === 'shl')
        return {
          t: 'l',
          lo: `(${big}<32?${v.lo}<<${n}:0)`,
          hi: `(${n}===0?${v.hi}:${big}<32?${v.hi}<<${n}|${v.lo}>>>(32-${n}):${big}<64?${v.lo}<<(${n}-32):0)`,
        };
      const sh = fn === 'ashr' ? '>>' : '>>>';
      const fill = fn === 'ashr' ? `(${v.hi}>>31)` : '0';
      return {
        t: 'l',
        lo: `(${n}===0?${v.lo}:${big}<32?${v.lo}>>>${n}|${v.hi}<<(32-${n}):${big}<64?${v.hi}${sh}(${n}-32)|0:${fill})`,
        hi: `(${big}<32?${v.hi}${sh}${n}|0:${fill})`,
      };
    }
    const x = this.int(v, 32);
    if (nv.t === 'num') {
      const c = Number(nv.v);
      if (fn === 'shl') return { t: 'i', js: c > 31 ? '0' : `(${x}<<${c})`, w: 32 };
      if (fn === 'lshr') return { t: 'i', js: c > 31 ? '0' : `(${x}>>>${c}|0)`, w: 32 };
      return { t: 'i', js: `(${x}>>${Math.min(c, 31)})`, w: 32 };
    }
    if (fn === 'shl') return { t: 'i', js: `((${n}>>>0)>31?0:${x}<<${n})`, w: 32 };
    if (fn === 'lshr') return { t: 'i', js: `((${n}>>>0)>31?0:${x}>>>${n}|0)`, w: 32 };
    return { t: 'i', js: `(${x}>>((${n}>>>0)>31?31:${n}))`, w: 32 };
  }

  /** a < b. */
  private less(a: Value, b: Value, signed: boolean): Value {
    if (a.t === 'l' || b.t === 'l') {
      const x = this.name({ t: 'l', ...this.long(a) }) as { lo: string; hi: string };
      const y = this.name({ t: 'l', ...this.long(b) }) as { lo: string; hi: string };
      const u = signed ? '' : '>>>0';
      return { t: 'b', js: `(${x.hi}===${y.hi}?(${x.lo}>>>0)<(${y.lo}>>>0):(${x.hi}${u})<(${y.hi}${u}))` };
    }
    const x = this.int(a, 32);
    const y = this.int(b, 32);
    return { t: 'b', js: signed ? `(${x}<${y})` : `((${x}>>>0)<(${y}>>>0))` };
  }

  private call(fn: string, args: readonly Expr[]): Value {
    const at = (k: number) => this.expr(args[k]);
    const str = (k: number) => `'${this.sym(args[k])}'`;
    const flag = (k: number) => String(this.flag(args[k]));
    switch (fn) {
      case 'width':
        return { t: 'num', v: BigInt(this.widthOf(at(0))) };
      case 'signed': {
        const c = this.sym(args[0])[0] === 'S';
        return { t: 'b', js: String(c), c };
      }
      case 'ext': {
        const signed = at(2);
        return this.extend(at(0), this.constant(args[1]), signed.t === 'b' && signed.c === true);
      }
      case 'zext':
      case 'resize':
        return this.extend(at(0), this.constant(args[1]), false);
      case 'sext':
        return this.extend(at(0), this.constant(args[1]), true);
      case 'trunc': {
        const w = this.constant(args[1]);
        const v = at(0);
        const js = this.int(v.t === 'l' ? { t: 'i', js: v.lo, w: 32 } : v, 32);
        return w === 64 ? v : { t: 'i', js: w < 32 ? `(${js}&${2 ** w - 1})` : js, w };
      }
      case 'extract': {
        const v = at(0);
        const hi = this.constant(args[1]);
        const lo = this.constant(args[2]);
        if (v.t === 'l') {
          if (lo === 32 && hi === 63) return { t: 'i', js: v.hi, w: 32 };
          if (lo === 0 && hi === 31) return { t: 'i', js: v.lo, w: 32 };
          throw new MeaningError('extract of 64 bits takes one word');
        }
        const w = hi - lo + 1;
        return { t: 'i', js: `(${this.int(v, 32)}>>>${lo}&${2 ** w - 1})`, w };
      }
      case 'concat':
        return { t: 'l', lo: this.int(at(1), 32), hi: this.int(at(0), 32) };
      case 'bit': {
        const v = at(0);
        const k = this.constant(args[1]);
        return {
          t: 'b',
          js: `((${v.t === 'l' ? (k > 31 ? v.hi : v.lo) : this.int(v, 32)}>>>${k & 31}&1)===1)`,
        };
      }
      case 'fill': {
        const b = this.bool(at(0));
        const js = b === 'true' ? '-1' : b === 'false' ? '0' : `(${b}?-1:0)`;
        return this.constant(args[1]) === 64 ? { t: 'l', lo: js, hi: js } : { t: 'i', js, w: 32 };
      }
      case 'shl':
      case 'lshr':
      case 'ashr':
        return this.shift(fn, args[0], args[1]);
      case 'lt': {
        const s = at(2);
        return this.less(this.name(at(0)), this.name(at(1)), s.t === 'b' && s.c === true);
      }
      case 'slt':
        return this.less(at(0), at(1), true);
      case 'ult':
        return this.less(at(0), at(1), false);
      case 'uge':
        return { t: 'b', js: `!${(this.less(at(0), at(1), false) as { js: string }).js}` };
      case 'umin': {
        const x = this.simple(this.int(at(0), 32));
        const y = this.simple(this.int(at(1), 32));
        return { t: 'i', js: `((${x}>>>0)<(${y}>>>0)?${x}:${y})`, w: 32 };
      }
      case 'carry': {
        const a = at(0);
        const b = at(1);
        const c = this.simple(this.int(at(2), 1));
        if (a.t === 'l' || b.t === 'l') {
          const x = this.name({ t: 'l', ...this.long(a) }) as { lo: string; hi: string };
          const y = this.name({ t: 'l', ...this.long(b) }) as { lo: string; hi: string };
          const low = this.temp(`(${x.lo}>>>0)+(${y.lo}>>>0)+${c}>4294967295?1:0`);
          return { t: 'b', js: `((${x.hi}>>>0)+(${y.hi}>>>0)+${low}>4294967295)` };
        }
        return { t: 'b', js: `((${this.int(a, 32)}>>>0)+(${this.int(b, 32)}>>>0)+${c}>4294967295)` };
      }
      case 'mulhi': {
        const s = at(2);
        const signed = s.t === 'b' && s.c === true;
        const a = at(0);
        const b = at(1);
        if (a.t === 'l' || b.t === 'l') {
          const x = this.long(a);
          const y = this.long(b);
          const lo = this.temp(`ri.mulhi64(${x.lo},${x.hi},${y.lo},${y.hi},${signed})`);
          return { t: 'l', lo, hi: this.temp('ri.high') };
        }
        return { t: 'i', js: `ri.${signed ? 's' : 'u'}mulh(${this.int(a, 32)},${this.int(b, 32)})`, w: 32 };
      }
      case 'udiv':
      case 'sdiv':
      case 'urem':
      case 'srem': {
        const a = at(0);
        const b = at(1);
        if (a.t === 'l' || b.t === 'l') {
          const x = this.long(a);
          const y = this.long(b);
          const lo = this.temp(`ri.div64(${x.lo},${x.hi},${y.lo},${y.hi},'${fn}')`);
          return { t: 'l', lo, hi: this.temp('ri.high') };
        }
        return { t: 'i', js: `ri.${fn}(${this.int(a, 32)},${this.int(b, 32)})`, w: 32 };
      }
      case 'popc':
      case 'clz': {
        const v = at(0);
        return {
          t: 'i',
          js:
            v.t === 'l'
              ? `ri.${fn}64(${v.lo},${v.hi})`
              : fn === 'clz'
                ? `Math.clz32(${this.int(v, 32)})`
                : `ri.popc(${this.int(v, 32)})`,
          w: 32,
        };
      }
      case 'brev': {
        const v = at(0);
        return v.t === 'l'
          ? { t: 'l', lo: `ri.brev(${v.hi})`, hi: `ri.brev(${v.lo})` }
          : { t: 'i', js: `ri.brev(${this.int(v, 32)})`, w: 32 };
      }
      case 'lop3': {
        const lut = this.constant(args[3]);
        const [a, b, c] = [this.name(at(0)), this.name(at(1)), this.name(at(2))];
        if (a.t === 'b' || b.t === 'b') {
          const w = (v: Value) => this.simple(`(${this.bool(v)}?-1:0)`);
          return { t: 'b', js: `((${logic(lut, w(a), w(b), w(c))}&1)===1)` };
        }
        if (a.t === 'l' || b.t === 'l' || c.t === 'l') {
          const [x, y, z] = [this.long(a), this.long(b), this.long(c)];
          return { t: 'l', lo: logic(lut, x.lo, y.lo, z.lo), hi: logic(lut, x.hi, y.hi, z.hi) };
        }
        return { t: 'i', js: logic(lut, this.int(a, 32), this.int(b, 32), this.int(c, 32)), w: 32 };
      }
      case 'prmt':
        return {
          t: 'i',
          js: `ri.prmt(${this.int(at(0), 32)},${this.int(at(1), 32)},${this.int(at(2), 32)},${str(3)})`,
          w: 32,
        };

      case 'fin': {
        const type = this.sym(args[1]);
        if (type === 'F64') return { t: 'd', js: this.d(args[0]) };
        if (type === 'F32') {
          const js = this.f(args[0]);
          return { t: 'f', js: this.flag(args[2]) ? `rt.ftz32(${js})` : js };
        }
        return { t: 'h', js: `rt.halfToNumber(${this.int(at(0), 32)}&0xffff,'${type}')`, fmt: type };
      }
      case 'fsat': {
        const v = at(0);
        if (v.t !== 'f' && v.t !== 'd' && v.t !== 'h')
          throw new MeaningError('fsat of a value that is no float');
        let js = v.js;
        if (this.flag(args[3])) js = `rt.sat(${js})`;
        if (this.flag(args[2]) && v.t === 'f') js = `rt.ftz32(${js})`;
        return { ...v, js };
      }
      case 'fadd':
      case 'fmul':
      case 'ffma':
      case 'fdiv':
      case 'fsqrt': {
        const mode = this.sym(args[args.length - 1]);
        const x = args.slice(0, -1).map((a) => this.f(a));
        if (mode === 'RN' && fn === 'fadd') return { t: 'f', js: `Math.fround(${x[0]}+${x[1]})` };
        if (mode === 'RN' && fn === 'fmul') return { t: 'f', js: `Math.fround(${x[0]}*${x[1]})` };
        return { t: 'f', js: `rt.${fn}(${x.join(',')},'${mode}')` };
      }
      case 'dadd':
      case 'dmul':
      case 'dfma':
      case 'ddiv':
      case 'dsqrt': {
        const mode = this.sym(args[args.length - 1]);
        const x = args.slice(0, -1).map((a) => this.d(a));
        if (mode === 'RN' && fn === 'dadd') return { t: 'd', js: `${x[0]}+${x[1]}` };
        if (mode === 'RN' && fn === 'dmul') return { t: 'd', js: `${x[0]}*${x[1]}` };
        return { t: 'd', js: `rt.${fn}(${x.join(',')},'${mode}')` };
      }
      case 'fround': {
        const v = at(0);
        if (v.t !== 'f' && v.t !== 'd' && v.t !== 'h')
          throw new MeaningError('fround of a value that is no float');
        return { ...v, js: `rt.integral(${v.js},${str(2)})` };
      }
      case 'fminmax': {
        const type = this.sym(args[2]);
        const x = type === 'F64' ? [this.d(args[0]), this.d(args[1])] : [this.f(args[0]), this.f(args[1])];
        return {
          t: type === 'F64' ? 'd' : 'f',
          js: `rt.minmax(${x[0]},${x[1]},${this.sym(args[3]) === 'MAX'},${flag(4)},${flag(5)})`,
        };
      }
      case 'fcmp': {
        const wide = this.sym(args[3]) === 'F64';
        const [x, y] = wide ? [this.d(args[0]), this.d(args[1])] : [this.f(args[0]), this.f(args[1])];
        const cmp = this.sym(args[2]);
        const plain: Readonly<Record<string, string>> = {
          EQ: '===',
          LT: '<',
          LE: '<=',
          GT: '>',
          GE: '>=',
          NEU: '!==',
        };
        return {
          t: 'b',
          js: plain[cmp] !== undefined ? `(${x}${plain[cmp]}${y})` : `rt.compareF(${x},${y},'${cmp}')`,
        };
      }
      case 'fapprox':
        return { t: 'f', js: `rt.approx(${this.f(args[0])},${str(1)})` };
      case 'dapprox':
        return { t: 'd', js: `rt.dapprox(${this.d(args[0])},${str(1)})` };
      case 'hadd2':
      case 'hmul2':
        return {
          t: 'i',
          js: `rt.${fn}(${this.int(at(0), 32)},${this.int(at(1), 32)},${str(2)},${flag(3)},${flag(4)})`,
          w: 32,
        };
      case 'hfma2':
        return {
          t: 'i',
          js: `rt.hfma2(${this.int(at(0), 32)},${this.int(at(1), 32)},${this.int(at(2), 32)},${str(3)},${flag(4)},${flag(5)},${flag(6)})`,
          w: 32,
        };
      case 'hminmax2':
        return {
          t: 'i',
          js: `rt.hminmax2(${this.int(at(0), 32)},${this.int(at(1), 32)},${str(2)},${str(3)},${flag(4)},${flag(5)},${flag(6)})`,
          w: 32,
        };
      case 'hcmp':
        return {
          t: 'b',
          js: `rt.hcmp(${this.int(at(0), 32)},${this.int(at(1), 32)},${str(2)},${str(3)},${flag(4)})`,
        };
      case 'happrox2':
        return { t: 'i', js: `rt.happrox2(${this.int(at(0), 32)},${str(1)},${str(2)},${flag(3)})`, w: 32 };
      case 'f2f':
        return this.converted(
          `rt.f2f(${this.words(at(0))},${str(1)},${str(2)},${str(3)},${flag(4)},${flag(5)},${flag(6)})`,
          this.sym(args[1]),
        );
      case 'f2fp':
        return {
          t: 'i',
          js: `rt.f2fp(${this.int(at(0), 32)},${this.int(at(1), 32)},${str(2)},${str(3)},${flag(4)},${flag(5)})`,
          w: 32,
        };
      case 'f2i':
        return this.converted(
          `rt.f2i(${this.words(at(0))},${str(1)},${str(2)},${str(3)},${flag(4)})`,
          this.sym(args[1]),
        );
      case 'i2f':
        return this.converted(
          `rt.i2f(${this.words(at(0))},${str(1)},${str(2)},${str(3)},${flag(4)})`,
          this.sym(args[1]),
        );
      case 'i2i':
        return this.converted(
          `rt.i2i(${this.words(at(0))},${str(1)},${str(2)},${flag(3)})`,
          this.sym(args[1]),
        );
      default:
        throw new MeaningError(`unknown function '${fn}'`);
    }
  }

  private words(v: Value): string {
    return v.t === 'l' ? `${v.lo},${v.hi}` : `${this.int(v, 32)},0`;
  }

  private converted(js: string, dt: string): Value {
    const lo = this.temp(js);
    return dt.endsWith('64') ? { t: 'l', lo, hi: this.temp('rt.hiWord') } : { t: 'i', js: lo, w: 32 };
  }

  private extend(v: Value, w: number, signed: boolean): Value {
    if (v.t === 'num') return w === 64 ? { t: 'l', ...this.long(v) } : { t: 'i', js: this.int(v, w), w };
    if (v.t === 'l') return w === 64 ? v : { t: 'i', js: v.lo, w: 32 };
    const from = this.widthOf(v);
    const x = this.int(v, from);
    const full = from < 32 && signed ? `(${x}<<${32 - from}>>${32 - from})` : x;
    if (w <= 32) return { t: 'i', js: full, w };
    const lo = this.simple(full);
    return { t: 'l', lo, hi: signed ? `(${lo}>>31)` : '0', from: signed ? 's' : 'u' };
  }
}

/** Two-input functions by their four table bits (bit 2a + b). */
const TWO: readonly ((a: string, b: string) => string)[] = [
  () => '0',
  (a, b) => `~(${a}|${b})`,
  (a, b) => `(~${a}&${b})`,
  (a) => `~${a}`,
  (a, b) => `(${a}&~${b})`,
  (_a, b) => `~${b}`,
  (a, b) => `(${a}^${b})`,
  (a, b) => `~(${a}&${b})`,
  (a, b) => `(${a}&${b})`,
  (a, b) => `~(${a}^${b})`,
  (_a, b) => b,
  (a, b) => `(~${a}|${b})`,
  (a) => a,
  (a, b) => `(${a}|~${b})`,
  (a, b) => `(${a}|${b})`,
  () => '-1',
];

/** Expression of a three-input table: by cases of c. */
function logic(lut: number, a: string, b: string, c: string): string {
  let on = 0;
  let off = 0;
  for (let k = 0; k < 4; k++) {
    on |= ((lut >> (2 * k + 1)) & 1) << k;
    off |= ((lut >> (2 * k)) & 1) << k;
  }
  const x = TWO[on](a, b);
  const y = TWO[off](a, b);
  if (on === off) return `(${x})`;
  if (on === 0) return `(${y}&~${c})`;
  if (off === 0) return `(${x}&${c})`;
  if (on === (~off & 15)) return `(${y}^${c})`;
  return `(${x}&${c}|${y}&~${c})`;
}
