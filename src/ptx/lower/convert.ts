import { FIRST_INPUT } from '../../ir/moves.ts';
import { imm, immPair, NO_REG, type Operand, PT, RZ, reg } from '../../ir/operand.ts';
import { Unsupported } from '../../ir/unsupported.ts';
import type { PtxInstr, PtxOperand } from '../ast.ts';
import { type Handler, isInt, typeOf } from './arith.ts';
import { compare, halfCompare } from './float.ts';
import type { FnLower } from './function.ts';
import { eightBit, isEightBit } from './narrow.ts';
import { has, lastType, type PtxType, sizeMod, typesOf } from './types.ts';

const ROUND: Readonly<Record<string, string>> = {
  rn: 'RN',
  rz: 'RZ',
  rm: 'RM',
  rp: 'RP',
  rna: 'RNA',
  rni: 'RN',
  rzi: 'RZ',
  rmi: 'RM',
  rpi: 'RP',
};

/** The name of an integer type in conversions; bit types count as unsigned. */
const intName = (t: PtxType): string => `${t.kind === 'signed' ? 'S' : 'U'}${t.bits}`;
const isFloat = (t: PtxType): boolean => t.kind === 'float' || t.kind === 'half' || t.name === 'tf32';

/** Stores a converted integer: extended to a wider register according to its sign, masked for a narrower one. */
function storeInt(f: FnLower, o: PtxOperand, t: PtxType, make: (d: number) => void): void {
  const d = f.dst(o, t.bits);
  if (d.bits === 64 && t.bits < 64) {
    const r = f.temp();
    make(r);
    f.emit('I2I', ['dt=S64', t.kind === 'signed' ? 'st=S32' : 'st=U32'], [d.reg], [reg(r)]);
  } else if (d.bits < 32 && t.kind === 'signed') {
    const r = f.temp();
    make(r);
    f.maskInto(d.reg, reg(r), d.bits);
  } else make(d.reg);
}

const cvt: Handler = (f, i) => {
  if (has(i, 'pack')) throw new Unsupported();
  if (isEightBit(i)) return eightBit(f, i);
  const types = typesOf(i.mods);
  if (types.length !== 2) throw new Unsupported();
  const [dt, st] = types;
  const rnd = ROUND[i.mods.find((m) => ROUND[m] !== undefined) ?? ''];
  const flags: string[] = [];
  if (has(i, 'ftz')) flags.push('FTZ');
  if (has(i, 'sat')) flags.push('SAT');
  if (has(i, 'relu')) flags.push('RELU');
  if (has(i, 'satfinite') || has(i, 'scaled::n2::ue8m0')) throw new Unsupported();
  if (dt.name.endsWith('x2')) {
    if (i.operands.length !== 3 || st.name !== 'f32' || (rnd !== 'RN' && rnd !== 'RZ'))
      throw new Unsupported();
    const fmt = dt.name === 'bf16x2' ? 'BF16' : 'F16';
    return f.emit(
      'F2FP',
      [fmt, rnd, ...flags.filter((x) => x !== 'FTZ')],
      [f.dst(i.operands[0], 32).reg],
      [f.src(i.operands[1], 32), f.src(i.operands[2], 32)],
    );
  }
  const a = f.src(i.operands[1], st.bits);
  if (isInt(dt) && isInt(st)) {
    storeInt(f, i.operands[0], dt, (d) =>
      f.emit('I2I', [`dt=${intName(dt)}`, `st=${intName(st)}`, ...flags], [d], [a]),
    );
  } else if (isInt(dt)) {
    storeInt(f, i.operands[0], dt, (d) =>
      f.emit(
        'F2I',
        [
          `dt=${intName(dt)}`,
          `st=${st.name.toUpperCase()}`,
          `rnd=${rnd ?? 'RZ'}`,
          ...flags.filter((x) => x === 'FTZ'),
        ],
        [d],
        [a],
      ),
    );
  } else if (isInt(st)) {
    f.emit(
      'I2F',
      [`dt=${dt.name.toUpperCase()}`, `st=${intName(st)}`, rnd ?? 'RN', ...flags.filter((x) => x === 'SAT')],
      [f.dst(i.operands[0], dt.bits).reg],
      [a],
    );
  } else if (isFloat(dt) && isFloat(st)) {
    const d = f.dst(i.operands[0], dt.bits).reg;
    const integral = i.mods.find((m) => /^r[nzmp]i$/.test(m));
    if (integral !== undefined && dt.name === st.name)
      f.emit('FRND', [dt.name.toUpperCase(), `rnd=${ROUND[integral]}`, ...flags], [d], [a]);
    else
      f.emit(
        'F2F',
        [`dt=${dt.name.toUpperCase()}`, `st=${st.name.toUpperCase()}`, rnd ?? 'RN', ...flags],
        [d],
        [a],
      );
  } else throw new Unsupported();
};

const BOOL: Readonly<Record<string, string>> = { and: 'AND', or: 'OR', xor: 'XOR' };

/** The destination registers of `p` or `p|q`; NO_REG for `_` or a missing second one. @param bits width of the first */
export function pairOf(f: FnLower, o: PtxOperand, bits: number): [number, number] {
  if (o.kind !== 'pair') return [f.dst(o, bits).reg, NO_REG];
  return [
    o.first.kind === 'sink' ? NO_REG : f.dst(o.first, bits).reg,
    o.second.kind === 'sink' ? NO_REG : f.dst(o.second, 1).reg,
  ];
}

const setp: Handler = (f, i) => {
  const t = typeOf(i);
  const bool = i.mods.find((m) => BOOL[m] !== undefined);
  const [p, q] = pairOf(f, i.operands[0], 1);
  const a = f.src(i.operands[1], t.bits);
  const b = f.src(i.operands[2], t.bits);
  compare(
    f,
    i,
    t,
    i.mods[0],
    a,
    b,
    p,
    q,
    i.operands.length > 3 ? f.pred(i.operands[3]) : PT,
    BOOL[bool ?? 'and'],
  );
};

/** The bit pattern of 1.0 in the format of a `set` result. */
const ONE: Readonly<Record<string, number>> = { f32: 0x3f800000, f16: 0x3c00, bf16: 0x3f80 };

const set: Handler = (f, i) => {
  const [dt, st] = typesOf(i.mods);
  if (dt === undefined || st === undefined) throw new Unsupported('it has not two types');
  const bool = i.mods.find((m) => BOOL[m] !== undefined);
  const a = f.src(i.operands[1], st.bits);
  const b = f.src(i.operands[2], st.bits);
  const c = i.operands.length > 3 ? f.pred(i.operands[3]) : PT;
  const d = f.dst(i.operands[0], dt.bits);
  if (st.kind === 'half') {
    // HSET2 gives 1.0 or a mask for each half; a 16-bit scalar result is the low half of such a pair (PTX ISA 9.0, 9.7.7).
    const packed = st.name.endsWith('x2');
    const integer = dt.kind === 'signed' || dt.kind === 'unsigned' || dt.kind === 'bits';
    if (packed && dt.bits !== 32) throw new Unsupported();
    if (dt.name === st.name || (integer && dt.bits === st.bits))
      return f.emit(
        'HSET2',
        [i.mods[0].toUpperCase(), ...halfCompare(i, st, BOOL[bool ?? 'and']), ...(integer ? [] : ['BF'])],
        [d.reg],
        [a, b, c],
      );
    if (packed) throw new Unsupported();
  }
  const p = f.tempPred();
  compare(f, i, st, i.mods[0], a, b, p, NO_REG, c, BOOL[bool ?? 'and']);
  const yes = ONE[dt.name] ?? (dt.bits === 16 ? 0xffff : -1);
  f.emit('SEL', [], [d.reg], [imm(yes), RZ, reg(p)]);
};

const selp: Handler = (f, i) => {
  const t = typeOf(i);
  f.emit(
    'SEL',
    [sizeMod(t.bits)],
    [f.dst(i.operands[0], t.bits).reg],
    [f.src(i.operands[1], t.bits), f.src(i.operands[2], t.bits), f.pred(i.operands[3])],
  );
};

const slct: Handler = (f, i) => {
  const [dt, ct] = typesOf(i.mods);
  const p = f.tempPred();
  compare(f, i, ct, 'ge', f.src(i.operands[3], ct.bits), RZ, p, NO_REG, PT, 'AND');
  f.emit(
    'SEL',
    [sizeMod(dt.bits)],
    [f.dst(i.operands[0], dt.bits).reg],
    [f.src(i.operands[1], dt.bits), f.src(i.operands[2], dt.bits), reg(p)],
  );
};

const mov: Handler = (f, i) => {
  const t = lastType(i.mods);
  if (t === null) throw new Unsupported();
  const [to, from] = i.operands;
  if (t.kind === 'pred') {
    f.emit('PLOP3', [], [f.dst(to, 1).reg], [f.pred(from), PT, PT, imm(FIRST_INPUT)]);
    return;
  }
  if (t.bits === 128) throw new Unsupported();
  if (i.mods.some((m) => /^v[248]$/.test(m))) return moveVector(f, i, t);
  if (to.kind === 'vector') return unpack(f, to.items, f.src(from, t.bits), t.bits);
  f.emit('MOV', [sizeMod(t.bits)], [f.dst(to, t.bits).reg], [f.src(from, t.bits)]);
};

/** `mov.v2`, `mov.v4`: all elements are read before the first is written. */
function moveVector(f: FnLower, i: PtxInstr, t: PtxType): void {
  const [to, from] = i.operands;
  if (to.kind !== 'vector' || from.kind !== 'vector' || to.items.length !== from.items.length)
    throw new Unsupported('its vectors differ in length');
  const size = [sizeMod(t.bits)];
  const values = from.items.map((o) => f.value('MOV', size, [f.src(o, t.bits)], t.bits));
  to.items.forEach((o, k) => {
    if (o.kind !== 'sink') f.emit('MOV', size, [f.dst(o, t.bits).reg], [values[k]]);
  });
}

/** Splits a value into equal parts, the low bits first. */
function unpack(f: FnLower, items: readonly PtxOperand[], a: Operand, bits: number): void {
  if (bits === 64) {
    const part = (o: PtxOperand) => (o.kind === 'sink' ? NO_REG : f.dst(o, 32).reg);
    if (items.length === 2)
      return f.emit(
        'UNPAIR',
        [],
        [part(items[0]), part(items[1])],
        [a.reg === NO_REG ? immPair(a.lo, a.hi) : a],
      );
    const [lo, hi] = [f.temp(), f.temp()];
    f.emit('UNPAIR', [], [lo, hi], [a]);
    const half = items.length / 2;
    unpack(f, items.slice(0, half), reg(lo), 32);
    return unpack(f, items.slice(half), reg(hi), 32);
  }
  const each = bits / items.length;
  // If an element is written to the register that holds the whole value, the elements are taken from a copy.
  const whole = items.some((o) => o.kind === 'reg' && f.find(o.name)?.reg === a.reg)
    ? f.value('MOV', [], [a])
    : a;
  items.forEach((o, k) => {
    if (o.kind === 'sink') return;
    const d = f.dst(o, each);
    if (k === 0) f.maskInto(d.reg, whole, each);
    else if (k === items.length - 1) f.emit('SHR', ['U32'], [d.reg], [whole, imm(k * each)]);
    else f.emit('BFE', ['U32'], [d.reg], [whole, imm(k * each), imm(each)]);
  });
}

const cvta: Handler = (f, i) => {
  const t = typeOf(i);
  const to = i.mods[0] === 'to';
  const space = i.mods[to ? 1 : 0].split('::');
  if (t.bits !== 64) throw new Unsupported('addresses of 32 bits');
  const d = f.dst(i.operands[0], 64).reg;
  // Generic addresses outside of all windows are those of global memory (PTX ISA 9.0, 6.4.1.1), so no conversion is needed.
  if (space[0] === 'global') return f.emit('MOV', ['64'], [d], [f.src(i.operands[1], 64)]);
  f.emit(
    'CVTA',
    [space[1] === 'cluster' ? 'CLUSTER' : space[0].toUpperCase(), ...(to ? ['TO'] : [])],
    [d],
    [f.src(i.operands[1], 64)],
  );
};

const isspacep: Handler = (f, i) => {
  const space = i.mods[0].split('::');
  f.emit(
    'QSPC',
    [space[1] === 'cluster' ? 'CLUSTER' : space[0].toUpperCase()],
    [f.dst(i.operands[0], 1).reg],
    [f.src(i.operands[1], 64)],
  );
};

/** Handlers by opcode: conversions, comparisons, selections and moves. */
export const convertHandlers: Readonly<Record<string, Handler>> = {
  cvt,
  setp,
  set,
  selp,
  slct,
  mov,
  cvta,
  isspacep,
};
