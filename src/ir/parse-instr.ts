import { bigOf, type Cursor, numberOf } from './cursor.ts';
import { nearest } from './diagnostic.ts';
import { type Isa, Mod, type Opcode, OpFlag, type Slot, slotWidth } from './opcode.ts';
import {
  addr,
  cbank,
  imm,
  immPair,
  isPredReg,
  Kind,
  label,
  NO_REG,
  type Operand,
  PT,
  type Reg,
  RZ,
  reg,
  regOf,
  sym,
  table,
  text,
  withOperandMods,
} from './operand.ts';
import { defaultOperand } from './print.ts';
import { type Instr, instr, NONE } from './program.ts';
import { TextError } from './text-error.ts';

/** A register. @throws TextError */
export function takeReg(c: Cursor): Reg {
  c.skip();
  const start = c.at;
  const w = c.word('a register');
  const r = regOf(w);
  if (r === NO_REG)
    throw new TextError(`'${w}' is not a register`, start, w.length, [
      'registers are R, RD, P, UR, URD, UP, RQ or B and a number',
    ]);
  return r;
}

const MINUS = 45;
/** Maximum number of digits of a constant, including leading zeros: converting a million digits takes long. */
const MOST_DIGITS = 80;
const isDigit = (code: number): boolean => code >= 48 && code <= 57;

function takeAddress(c: Cursor): Operand {
  let base = NO_REG;
  let name = '';
  let off = 0;
  do {
    c.skip();
    const first = c.text.charCodeAt(c.at);
    if (isDigit(first) || first === MINUS) off += c.offset();
    else {
      const w = c.word('a register, symbol or offset');
      const r = regOf(w);
      if (r !== NO_REG) base = r;
      else name = w;
    }
  } while (c.take('+') || c.peek('-'));
  c.expect(']');
  return addr(base, off | 0, name);
}

function takeOperand(c: Cursor, slot: Slot | undefined, width: number): Operand {
  c.skip();
  const predicate = slot?.bank === 'p';
  let mods = 0;
  if (c.peek('-') && !isDigit(c.text.charCodeAt(c.at + 1))) {
    c.at++;
    mods |= Mod.Neg;
  }
  if (c.take('~') || c.take('!')) mods |= Mod.Not;
  const bars = c.take('|');
  if (bars) mods |= Mod.Abs;
  const o = takeBare(c, predicate, width);
  if (bars) c.expect('|');
  if (predicate && o.kind === Kind.Imm) return (o.lo & 1) === ((mods & Mod.Not) !== 0 ? 0 : 1) ? PT : imm(0);
  return mods === 0 ? o : withOperandMods(o, mods);
}

function takeBare(c: Cursor, predicate: boolean, width: number): Operand {
  if (c.take('[')) return takeAddress(c);
  if (c.peek('"')) {
    const start = c.at;
    const how = c.quoted('a text');
    // It is written to PTX verbatim, followed by a semicolon.
    if (/[\n\r;]|\/\*/.test(how))
      throw new TextError('expected the text of one instruction', start, c.at - start);
    return text(how);
  }
  if (c.take('(')) {
    // Parentheses contain only a constant and do not nest.
    if (c.peek('(')) throw new TextError('expected a constant', c.at);
    const o = takeBare(c, predicate, width);
    c.expect(')');
    return o;
  }
  if (c.take('&')) {
    c.skip();
    const start = c.at;
    const name = /[,\s}]/.test(c.text[c.at] ?? ',') ? '' : c.word('a symbol');
    const o = c.peek('+') || c.peek('-') ? (c.take('+'), c.offset()) : 0;
    if (name === '' && c.at !== start) throw new TextError('expected a symbol', start);
    return sym(name, o);
  }
  if (c.peek('c[')) {
    c.expect('c[');
    const bank = c.natural('a constant bank');
    c.expect(']');
    c.expect('[');
    const a = takeAddress(c);
    return cbank(bank, a.lo, a.reg);
  }
  const first = c.text.charCodeAt(c.at);
  if (isDigit(first) || first === MINUS) {
    const digits = c.digits('a constant');
    // Nine characters fit 32 bits in any base, with or without a sign, and a number is ten times as fast as a BigInt.
    if (digits.length < 10) {
      const n = numberOf(digits);
      return width <= 32 ? imm(n) : immPair(n, n < 0 ? -1 : 0);
    }
    if (digits.length > MOST_DIGITS) throw new TextError('constant of more than 64 bits', c.at);
    const v = bigOf(digits);
    if (v < -(1n << 63n) || v >= 1n << 64n) throw new TextError('constant of more than 64 bits', c.at);
    if (width <= 32) {
      if (v < -(1n << 31n) || v >= 1n << 32n)
        throw new TextError(`constant does not fit ${width} bits`, c.at);
      return imm(Number(BigInt.asIntN(32, v)));
    }
    return immPair(Number(BigInt.asIntN(32, v)), Number(BigInt.asIntN(32, v >> 32n)));
  }
  const start = c.at;
  const w = c.word('an operand');
  if (w === 'RZ') return RZ;
  if (w === 'PT') return PT;
  const r = regOf(w);
  if (r !== NO_REG) return reg(r);
  let m = /^BB(\d+)$/.exec(w);
  if (m !== null) return label(Number(m[1]));
  m = /^T(\d+)$/.exec(w);
  if (m !== null) return table(Number(m[1]));
  throw new TextError(`'${w}' is not an operand`, start, w.length);
}

/** An opcode with its modifiers. */
interface Mnemonic {
  readonly op: Opcode;
  readonly mods: number;
}

/** Cache of parsed mnemonics by instruction set; a text has few different ones. */
const parsedMnemonics = new WeakMap<Isa, Map<string, Mnemonic>>();
const MOST_KNOWN = 4096;

function takeMnemonic(c: Cursor, isa: Isa): Mnemonic {
  c.skip();
  const start = c.at;
  const word = c.word('an opcode');
  let cache = parsedMnemonics.get(isa);
  if (cache === undefined || cache.size >= MOST_KNOWN) parsedMnemonics.set(isa, (cache = new Map()));
  let m = cache.get(word);
  if (m === undefined) cache.set(word, (m = mnemonicOf(word, start, isa)));
  return m;
}

/**
 * How many destinations and sources of an opcode are written where there are `count` operands: optional trailing ones may be absent.
 * @returns also the number of operands that are missing; below 0 for excess ones
 */
export function writtenOperands(
  op: Opcode,
  count: number,
): { readonly dsts: number; readonly srcs: number; readonly missing: number } {
  let dsts = op.dsts.length;
  let srcs = op.srcs.length;
  let missing = dsts + srcs - count;
  while (missing > 0 && dsts > 0 && op.dsts[dsts - 1].optional && !op.dsts[dsts - 1].variadic) {
    dsts--;
    missing--;
  }
  while (missing > 0 && srcs > 0 && op.srcs[srcs - 1].optional) {
    srcs--;
    missing--;
  }
  return { dsts, srcs, missing };
}

/** @param start index of the word in its line, for errors @throws TextError */
function mnemonicOf(word: string, start: number, isa: Isa): Mnemonic {
  const parts = word.split('.');
  const op = isa.byName.get(parts[0]);
  if (op === undefined) {
    const near = nearest(parts[0], isa.byName.keys());
    throw new TextError(
      `unknown opcode '${parts[0]}'`,
      start,
      parts[0].length,
      near.length > 0 ? [`did you mean ${near.join(', ')}?`] : [],
    );
  }
  let mods = 0;
  let group = 0;
  for (let i = 1; i < parts.length; ) {
    let found = false;
    for (; group < op.groups.length && !found; group++) {
      const g = op.groups[group];
      for (let n = 2; n >= 1 && !found; n--) {
        const name = parts.slice(i, i + n).join('.');
        const k = g.values.findIndex((v) => v.name === name);
        if (k >= 0 && i + n <= parts.length) {
          mods = ((mods & ~(g.mask << g.shift)) | (k << g.shift)) >>> 0;
          i += n;
          found = true;
        }
      }
    }
    if (!found) {
      const all = op.groups.flatMap((g) => g.values.map((v) => v.name)).filter((v) => v !== 'NONE');
      throw new TextError(`${op.name} has no modifier '.${parts[i]}' here`, start, word.length, [
        all.length > 0 ? `in this order: ${all.join(', ')}` : 'it has no modifiers',
      ]);
    }
  }
  return { op, mods };
}

/** One instruction with its guard and location. @throws TextError */
export function parseInstr(c: Cursor, isa: Isa): Instr {
  let guard = NO_REG;
  let guardNot = false;
  if (c.take('@')) {
    guardNot = c.take('!');
    guard = takeReg(c);
    if (!isPredReg(guard)) throw new TextError('a guard is a predicate register', c.at);
  }
  const { op, mods } = takeMnemonic(c, isa);
  // The slot of the i-th written operand depends on how many were omitted, so they are counted first.
  const start = c.at;
  let count = 0;
  if (!c.done()) {
    let depth = 0;
    count = 1;
    for (let i = c.at; i < c.text.length && c.text[i] !== ';'; i++) {
      const ch = c.text[i];
      if (ch === '"') i = c.endOfString(i) - 1;
      else if (ch === '{') depth++;
      else if (ch === '}') depth--;
      else if (ch === ',' && depth === 0) count++;
    }
  }
  c.at = start;
  const nd = op.dsts.length;
  const ns = op.srcs.length;
  const { dsts, srcs, missing } = writtenOperands(op, count);
  if (missing !== 0 && !(count === 0 && nd + ns === 0))
    throw new TextError(
      `${op.name} takes ${nd + ns} operands (${[...op.dsts, ...op.srcs].map((s) => s.name).join(', ')}), found ${count}`,
      start,
    );
  const dst: Reg[] = [];
  const src: Operand[] = [];
  const otherwise: Reg[] = [];
  const phi = (op.flags & OpFlag.Phi) !== 0;
  for (let i = 0; i < dsts + srcs; i++) {
    if (i > 0) c.expect(',');
    const slot = i < dsts ? op.dsts[i] : op.srcs[i - dsts];
    const width = slotWidth(op, mods, slot) || 64;
    const one = () => {
      if (i >= dsts) {
        src.push(takeOperand(c, slot, width));
        if (!phi) return;
        c.expect(':');
        src.push(takeOperand(c, slot, width));
        return;
      }
      if (c.peek('_')) {
        c.at++;
        dst.push(NO_REG);
      } else dst.push(takeReg(c));
      if (!c.take('else ')) return;
      while (otherwise.length < dst.length - 1) otherwise.push(NO_REG);
      otherwise.push(takeReg(c));
    };
    if (slot.variadic && c.take('{')) {
      if (!c.take('}')) {
        do one();
        while (c.take(','));
        c.expect('}');
      }
    } else one();
  }
  for (let i = dsts; i < nd; i++) dst.push(NO_REG);
  for (let i = srcs; i < ns; i++) if (!op.srcs[i].variadic) src.push(defaultOperand(op.srcs[i]));
  let loc = 0;
  if (!c.done()) throw new TextError('unexpected text after the instruction', c.at, c.text.length - c.at);
  if (c.take(';') && !(c.skip(), c.at >= c.text.length)) {
    const m = /^\d+/.exec(c.text.slice(c.at));
    if (m !== null) loc = Number(m[0]);
  }
  if (otherwise.length > 0 && guard === NO_REG)
    throw new TextError("'else' names the value under a false guard, and there is no guard", start);
  while (otherwise.length > 0 && otherwise.length < dst.length) otherwise.push(NO_REG);
  return instr(op, mods, dst, src, loc, guard, guardNot, otherwise.length > 0 ? otherwise : NONE);
}
