import { toOperands } from '../../ir/edit.ts';
import { Mod } from '../../ir/opcode.ts';
import { imm, immPair, NO_REG, type Operand, PT, RZ, reg, withOperandMods } from '../../ir/operand.ts';
import { AND } from '../../ir/truth-tables.ts';
import { Unsupported } from '../../ir/unsupported.ts';
import type { PtxInstr } from '../ast.ts';
import { type Handler, typeOf } from './arith.ts';
import type { FnLower } from './function.ts';
import { has, type PtxType, typesOf } from './types.ts';

const ROUND: Readonly<Record<string, string>> = { rn: 'RN', rz: 'RZ', rm: 'RM', rp: 'RP' };
const neg = (o: Operand): Operand => withOperandMods(o, o.mods ^ Mod.Neg);
const abs = (o: Operand): Operand => withOperandMods(o, Mod.Abs);
const rounding = (i: PtxInstr): string => ROUND[i.mods.find((m) => ROUND[m] !== undefined) ?? 'rn'];

/** Rounding modifier of a sum or product; CONTRACT if the instruction states none, so that it may be fused (PTX ISA 9.0, 9.7.3). */
const contractible = (i: PtxInstr): string =>
  i.mods.some((m) => ROUND[m] !== undefined) ? rounding(i) : 'CONTRACT';

/** Ori modifiers of an f32 operation. */
function mods32(i: PtxInstr, rnd: string): string[] {
  const m = [rnd];
  if (has(i, 'ftz')) m.push('FTZ');
  if (has(i, 'sat')) m.push('SAT');
  return m;
}

/** Ori modifiers of a packed half operation. */
function modsHalf(i: PtxInstr, t: PtxType): string[] {
  const m = [t.name.startsWith('bf') ? 'BF16' : 'F16'];
  if (has(i, 'ftz')) m.push('FTZ');
  if (has(i, 'sat')) m.push('SAT');
  if (has(i, 'relu')) m.push('RELU');
  if (has(i, 'NaN')) m.push('NAN');
  if (has(i, 'xorsign')) m.push('XORSIGN');
  return m;
}

/** The type of all operands. @throws Unsupported for mixed-precision forms and other types */
function oneType(i: PtxInstr): PtxType {
  const all = typesOf(i.mods);
  if (all.length > 1) throw new Unsupported('its types are mixed');
  const t = typeOf(i);
  if (t.kind === 'other') throw new Unsupported();
  return t;
}

const add: Handler = (f, i) => {
  const t = oneType(i);
  const a = f.src(i.operands[1], t.bits);
  const b = f.src(i.operands[2], t.bits);
  const d = f.dst(i.operands[0], t.bits).reg;
  const c = i.opcode === 'sub' ? neg(b) : b;
  const rnd = contractible(i);
  if (t.kind === 'half') f.emit('HADD2', [rnd, ...modsHalf(i, t)], [d], [a, c]);
  else if (t.bits === 64) f.emit('DADD', [rnd], [d], [a, c]);
  else f.emit('FADD', mods32(i, rnd), [d], [a, c]);
};

const mul: Handler = (f, i) => {
  const t = oneType(i);
  const src = [f.src(i.operands[1], t.bits), f.src(i.operands[2], t.bits)];
  const d = f.dst(i.operands[0], t.bits).reg;
  const rnd = contractible(i);
  if (t.kind === 'half') f.emit('HMUL2', [rnd, ...modsHalf(i, t)], [d], src);
  else if (t.bits === 64) f.emit('DMUL', [rnd], [d], src);
  else f.emit('FMUL', mods32(i, rnd), [d], src);
};

const fma: Handler = (f, i) => {
  const t = oneType(i);
  const src = toOperands([1, 2, 3], (k) => f.src(i.operands[k], t.bits));
  const d = f.dst(i.operands[0], t.bits).reg;
  if (has(i, 'oob')) throw new Unsupported();
  if (t.kind === 'half') f.emit('HFMA2', modsHalf(i, t), [d], src);
  else if (t.bits === 64) f.emit('DFMA', [rounding(i)], [d], src);
  else f.emit('FFMA', mods32(i, rounding(i)), [d], src);
};

const div: Handler = (f, i) => {
  const t = oneType(i);
  const src = [f.src(i.operands[1], t.bits), f.src(i.operands[2], t.bits)];
  const d = f.dst(i.operands[0], t.bits).reg;
  if (t.bits === 64) return f.emit('DDIV', [rounding(i)], [d], src);
  const mode = has(i, 'approx') ? 'APPROX' : has(i, 'full') ? 'FULL' : rounding(i);
  f.emit('FDIV', has(i, 'ftz') ? [mode, 'FTZ'] : [mode], [d], src);
};

const APPROX: Readonly<Record<string, string>> = {
  rcp: 'RCP',
  sqrt: 'SQRT',
  rsqrt: 'RSQ',
  sin: 'SIN',
  cos: 'COS',
  lg2: 'LG2',
  ex2: 'EX2',
  tanh: 'TANH',
};

const unary: Handler = (f, i) => {
  const t = oneType(i);
  const a = f.src(i.operands[1], t.bits);
  const d = f.dst(i.operands[0], t.bits).reg;
  const ftz = has(i, 'ftz') ? ['FTZ'] : [];
  const op = i.opcode;
  if (t.kind === 'half') {
    if (op !== 'tanh' && op !== 'ex2') throw new Unsupported();
    return f.emit('HTANH2', [op.toUpperCase(), t.name.startsWith('bf') ? 'BF16' : 'F16', ...ftz], [d], [a]);
  }
  if (t.bits === 64) {
    if (op === 'sqrt') return f.emit('DSQRT', [rounding(i)], [d], [a]);
    if (op === 'rcp' && !has(i, 'approx')) return f.emit('DRCP', [rounding(i)], [d], [a]);
    if (op === 'rcp' || op === 'rsqrt') return f.emit('MUFU_D', [APPROX[op], ...ftz], [d], [a]);
    throw new Unsupported();
  }
  if (!has(i, 'approx') && op === 'sqrt') return f.emit('FSQRT', [rounding(i), ...ftz], [d], [a]);
  if (!has(i, 'approx') && op === 'rcp') return f.emit('FRCP', [rounding(i), ...ftz], [d], [a]);
  f.emit('MUFU', [APPROX[op], ...ftz], [d], [a]);
};

const minmax: Handler = (f, i) => {
  const t = oneType(i);
  if (i.operands.length > 3) throw new Unsupported('it has three sources');
  const src = [f.src(i.operands[1], t.bits), f.src(i.operands[2], t.bits)];
  // XORSIGN compares magnitudes itself and needs the signs of the sources.
  if (has(i, 'abs') && !has(i, 'xorsign')) src.forEach((s, k) => (src[k] = abs(s)));
  const d = f.dst(i.operands[0], t.bits).reg;
  const op = i.opcode.toUpperCase();
  if (t.kind === 'half') return f.emit('HMNMX2', [op, ...modsHalf(i, t)], [d], src);
  if (t.bits === 64) return f.emit('DMNMX', [op], [d], src);
  const m = [op];
  if (has(i, 'ftz')) m.push('FTZ');
  if (has(i, 'NaN')) m.push('NAN');
  if (has(i, 'xorsign')) m.push('XORSIGN');
  f.emit('FMNMX', m, [d], src);
};

/** Sign bits of halves. */
const SIGN: Readonly<Record<string, number>> = {
  f16: 0x8000,
  bf16: 0x8000,
  f16x2: 0x80008000 | 0,
  bf16x2: 0x80008000 | 0,
};

/**
 * Negation and absolute value: an addition of -0 with a source modifier, so that flushing and NaNs are those of the adder. Halves without
 * `.ftz` have their sign bits changed instead. The high half of a scalar stays zero, since -0 + 0 is 0.
 */
const absNeg: Handler = (f, i) => {
  const t = typeOf(i);
  const a = f.src(i.operands[1], t.bits);
  const d = f.dst(i.operands[0], t.bits).reg;
  if (t.kind === 'half') {
    const sign = SIGN[t.name];
    if (has(i, 'ftz')) {
      if (t.name.startsWith('bf')) throw new Unsupported('bf16 is never flushed');
      f.emit('HADD2', ['F16', 'FTZ'], [d], [i.opcode === 'neg' ? neg(a) : abs(a), imm(sign)]);
    } else if (i.opcode === 'neg') f.emit('LOP3', [], [d], [a, imm(sign), RZ, imm(0x3c)]);
    else f.emit('LOP3', [], [d], [a, imm(~sign & (t.bits === 16 ? 0xffff : -1)), RZ, imm(AND)]);
    return;
  }
  const x = i.opcode === 'neg' ? neg(a) : abs(a);
  if (t.bits === 64) f.emit('DADD', [], [d], [x, immPair(0, 0x80000000)]);
  else f.emit('FADD', has(i, 'ftz') ? ['FTZ'] : [], [d], [x, imm(0x80000000)]);
};

const copysign: Handler = (f, i) => {
  const t = typeOf(i);
  const d = f.dst(i.operands[0], t.bits).reg;
  // The sign of a and the other bits of b: (a & ~c) | (b & c) with c = 0x7f...f.
  const mask = t.bits === 64 ? immPair(-1, 0x7fffffff) : imm(0x7fffffff);
  f.emit(
    'LOP3',
    [t.bits === 64 ? '64' : 'B32'],
    [d],
    [f.src(i.operands[1], t.bits), f.src(i.operands[2], t.bits), mask, imm(0xd8)],
  );
};

const testp: Handler = (f, i) => {
  const t = typeOf(i);
  const a = f.src(i.operands[1], t.bits);
  const d = f.dst(i.operands[0], 1).reg;
  const op = t.bits === 64 ? 'DSETP' : 'FSETP';
  const inf = t.bits === 64 ? immPair(0, 0x7ff00000) : imm(0x7f800000);
  const smallest = t.bits === 64 ? immPair(0, 0x00100000) : imm(0x00800000);
  const set = (cmp: string, x: Operand, y: Operand, c: Operand, into = d, bool = 'AND') =>
    f.emit(op, [cmp, bool], [into, NO_REG], [x, y, c]);
  switch (i.mods[0]) {
    case 'finite':
      return set('LT', abs(a), inf, PT);
    case 'infinite':
      return set('EQ', abs(a), inf, PT);
    case 'number':
      return set('NUM', a, a, PT);
    case 'notanumber':
      return set('NAN', a, a, PT);
    case 'normal': {
      // Zeros are normal too (PTX ISA 9.0, testp).
      const [large, either] = [f.tempPred(), f.tempPred()];
      set('GE', abs(a), smallest, PT, large);
      set('EQ', a, RZ, reg(large), either, 'OR');
      return set('LT', abs(a), inf, reg(either));
    }
    default: {
      const small = f.tempPred();
      set('LT', abs(a), smallest, PT, small);
      return set('NE', a, RZ, reg(small));
    }
  }
};

/** Handlers by opcode: families of floats, and the float forms of families that integers have too. */
export const floatHandlers: Readonly<Record<string, Handler>> = {
  add,
  sub: add,
  mul,
  fma,
  mad: fma,
  div,
  rcp: unary,
  sqrt: unary,
  rsqrt: unary,
  sin: unary,
  cos: unary,
  lg2: unary,
  ex2: unary,
  tanh: unary,
  min: minmax,
  max: minmax,
  abs: absNeg,
  neg: absNeg,
  copysign,
  testp,
};

/** Modifiers of HSETP2 and HSET2 other than the relation. @param bool operation with the third source */
export const halfCompare = (i: PtxInstr, t: PtxType, bool: string): string[] => [
  t.name.startsWith('bf') ? 'BF16' : 'F16',
  bool,
  ...(has(i, 'ftz') ? ['FTZ'] : []),
  ...(t.name.endsWith('x2') ? ['PACKED'] : []),
];

/**
 * Emits a comparison `p = (a cmp b) bool c`, `q = !(a cmp b) bool c` for `setp`, `set` and `slct`.
 * @param t type of a and b
 * @param cmp relation as in PTX
 */
export function compare(
  f: FnLower,
  i: PtxInstr,
  t: PtxType,
  cmp: string,
  a: Operand,
  b: Operand,
  p: number,
  q: number,
  c: Operand,
  bool: string,
): void {
  const CMP: Readonly<Record<string, string>> = { lo: 'LT', ls: 'LE', hi: 'GT', hs: 'GE' };
  const name = CMP[cmp] ?? cmp.toUpperCase();
  if (t.kind === 'half') return f.emit('HSETP2', [name, ...halfCompare(i, t, bool)], [p, q], [a, b, c]);
  if (t.kind === 'float') {
    if (t.bits === 64) return f.emit('DSETP', [name, bool], [p, q], [a, b, c]);
    return f.emit('FSETP', [name, bool, ...(has(i, 'ftz') ? ['FTZ'] : [])], [p, q], [a, b, c]);
  }
  const sign = t.kind === 'signed' && CMP[cmp] === undefined ? 'S' : 'U';
  const x = t.bits < 32 && sign === 'S' ? f.signed(a, t.bits) : a;
  const y = t.bits < 32 && sign === 'S' ? f.signed(b, t.bits) : b;
  f.emit('ISETP', [name, `${sign}${t.bits === 64 ? 64 : 32}`, bool], [p, q], [x, y, c]);
}
