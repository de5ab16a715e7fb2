import { FIRST_INPUT } from '../../ir/moves.ts';
import { imm, immPair, NO_REG, type Operand, PT, reg } from '../../ir/operand.ts';
import { Unsupported } from '../../ir/unsupported.ts';
import type { PtxInstr, PtxOperand } from '../ast.ts';
import type { FnLower } from './function.ts';
import { type Handler, isInt } from './handler.ts';
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

/** Handlers by opcode: conversions and moves. */
export const convertHandlers: Readonly<Record<string, Handler>> = { cvt, mov };
