import { type Diagnostic, nearest } from './diagnostic.ts';
import { type Isa, Mod, type Opcode, OpFlag, type Slot, type Space, slotWidth } from './opcode.ts';
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
  regIndex,
  regName,
  regOf,
  sameOperand,
  sym,
  table,
  withOperandMods,
} from './operand.ts';
import {
  type Block,
  type Fn,
  type Instr,
  instr,
  type Loc,
  NONE,
  newShape,
  type Param,
  type Program,
  type Variable,
} from './program.ts';

/*
 * Ori text: line oriented, one instruction a line, and `parseProgram(printProgram(p))` equals `p`.
 *
 *     .program "saxpy.ptx" version 9.0 target sm_80 address 64
 *     .entry saxpy
 *       .param u32 n size 4 align 4 at 0
 *     {
 *     BB0:
 *           LDC R1, c[0x0][0x160]            ; 1
 *           ISETP.GE P2, R1, 0x40            ; 2
 *       @P2 BRA BB3                          ; 3
 *     ...
 *     }
 *
 * `; n` names entry n of the location table. Optional trailing operands that hold their default are left out.
 */

// ---------------------------------------------------------------------------------------------- printing

export interface PrintOptions {
  /** Print `; n` location references. Default true. */
  readonly locs?: boolean;
}

/** Default of an optional source: PT in predicate slots, RZ elsewhere, unless the opcode says otherwise. */
export function defaultOperand(slot: Slot): Operand {
  return slot.default ?? (slot.bank === 'p' ? PT : RZ);
}

/** `-5`, `0x1f`, `0xffffffff00000000`: the shortest readable form that parses back. */
function constant(lo: number, hi: number, width: number): string {
  if (width > 32) {
    const v = (BigInt(hi) << 32n) | BigInt(lo >>> 0);
    return v >= -1024n && v <= 1024n ? String(v) : `0x${BigInt.asUintN(64, v).toString(16)}`;
  }
  return lo >= -1024 && lo <= 1024 ? String(lo) : `0x${(lo >>> 0).toString(16)}`;
}

const offset = (n: number): string => (n < 0 ? `-0x${(-n).toString(16)}` : `+0x${n.toString(16)}`);

/** Text of one operand as it stands in a slot of `width` bits. */
export function printOperand(o: Operand, width: number, predicate: boolean): string {
  let s: string;
  switch (o.kind) {
    case Kind.Reg:
      s = regName(o.reg);
      break;
    case Kind.Imm:
      if (predicate) return ((o.lo & 1) === 1) !== ((o.mods & Mod.Not) !== 0) ? 'PT' : '!PT';
      if (o.mods === 0) return o.lo === 0 && o.hi === 0 ? 'RZ' : constant(o.lo, o.hi, width);
      s = `(${constant(o.lo, o.hi, width)})`;
      break;
    case Kind.CBank:
      s = `c[0x${o.hi.toString(16)}][${o.reg === NO_REG ? `0x${(o.lo >>> 0).toString(16)}` : regName(o.reg) + offset(o.lo)}]`;
      break;
    case Kind.Addr: {
      const parts = [o.sym, o.reg === NO_REG ? '' : regName(o.reg)].filter((p) => p !== '').join('+');
      return `[${parts === '' ? `0x${(o.lo >>> 0).toString(16)}` : o.lo === 0 ? parts : parts + offset(o.lo)}]`;
    }
    case Kind.Label:
      return `BB${o.lo}`;
    case Kind.Sym:
      return `&${o.sym}${o.lo === 0 ? '' : offset(o.lo)}`;
    default:
      return `T${o.lo}`;
  }
  if ((o.mods & Mod.Abs) !== 0) s = `|${s}|`;
  if ((o.mods & Mod.Not) !== 0) s = `${predicate ? '!' : '~'}${s}`;
  if ((o.mods & Mod.Neg) !== 0) s = `-${s}`;
  return s;
}

/** Opcode with its modifiers: `IMAD.HI.U32`. */
export function printMnemonic(op: Opcode, mods: number): string {
  let s = op.name;
  for (const g of op.groups) {
    const i = (mods >>> g.shift) & g.mask;
    if (i !== 0 || g.required) s += `.${g.values[i].name}`;
  }
  return s;
}

const list = (items: readonly string[]): string => (items.length === 1 ? items[0] : `{${items.join(', ')}}`);

/** One instruction without guard column, location and padding: `IADD3 R1, R2, -R3`. */
export function printInstr(ins: Instr): string {
  const { op, mods } = ins;
  const out: string[] = [];
  const nd = op.dsts.length;
  const ns = op.srcs.length;
  let dstEnd = nd;
  if (nd > 0 && !op.dsts[nd - 1].variadic) {
    while (dstEnd > 0 && op.dsts[dstEnd - 1].optional && ins.dst[dstEnd - 1] === NO_REG) dstEnd--;
  }
  // Trailing sources may be left out only when every droppable destination is, because parsing restores
  // destinations first.
  const allDropped = dstEnd === nd || droppableFrom(op.dsts) >= dstEnd;
  let srcEnd = ns;
  if (ns > 0 && !op.srcs[ns - 1].variadic && allDropped) {
    const canDropDst = droppableFrom(op.dsts) < nd;
    if (!canDropDst || dstEnd === droppableFrom(op.dsts)) {
      while (
        srcEnd > 0 &&
        op.srcs[srcEnd - 1].optional &&
        srcEnd <= ins.src.length &&
        sameOperand(ins.src[srcEnd - 1], defaultOperand(op.srcs[srcEnd - 1]))
      )
        srcEnd--;
    }
  }
  for (let i = 0; i < dstEnd; i++) {
    if (op.dsts[i].variadic) {
      out.push(list(ins.dst.slice(i).map((_, k) => printResult(ins, i + k))));
      break;
    }
    out.push(printResult(ins, i));
  }
  for (let i = 0; i < srcEnd; i++) {
    const slot = op.srcs[i];
    const width = slotWidth(op, mods, slot) || 64;
    if (slot.variadic) {
      if (slot.optional && ins.src.length <= i) break;
      const rest = ins.src.slice(i).map((o) => printOperand(o, width, slot.bank === 'p'));
      out.push((op.flags & OpFlag.Phi) !== 0 ? printWays(rest) : list(rest));
      break;
    }
    out.push(printOperand(ins.src[i], width, slot.bank === 'p'));
  }
  return out.length === 0 ? printMnemonic(op, mods) : `${printMnemonic(op, mods)} ${out.join(', ')}`;
}

/** A destination, with the value it has where the guard is false: `R5 else R4`. */
function printResult(ins: Instr, i: number): string {
  const otherwise = i < ins.otherwise.length ? ins.otherwise[i] : NO_REG;
  const name = ins.dst[i] === NO_REG ? '_' : regName(ins.dst[i]);
  return otherwise === NO_REG ? name : `${name} else ${regName(otherwise)}`;
}

/** Operands of a phi: `{BB1: R2, BB3: R4}`. */
function printWays(operands: readonly string[]): string {
  const ways: string[] = [];
  for (let i = 0; i + 1 < operands.length; i += 2) ways.push(`${operands[i]}: ${operands[i + 1]}`);
  return `{${ways.join(', ')}}`;
}

/** First index from which every slot to the end is optional. */
function droppableFrom(slots: readonly Slot[]): number {
  let i = slots.length;
  while (i > 0 && slots[i - 1].optional && !slots[i - 1].variadic) i--;
  return i;
}

/** An instruction with its guard in a column of its own: `  @!P3 BRA BB4`. */
export function printGuarded(ins: Instr): string {
  const g = ins.guard === NO_REG ? '' : `@${ins.guardNot ? '!' : ''}${regName(ins.guard)}`;
  return `${g.padStart(6)} ${printInstr(ins)}`;
}

function printBlock(b: Block, opts: PrintOptions, out: string[]): void {
  out.push(`BB${b.id}${b.name === '' ? '' : ` "${b.name}"`}:`);
  for (const ins of b.ins) {
    const s = printGuarded(ins);
    out.push(opts.locs !== false && ins.loc !== 0 ? `${s.padEnd(56)} ; ${ins.loc}` : s);
  }
}

const printParam = (kind: string, p: Param): string =>
  `  .${kind} ${p.type} ${p.name} size ${p.size} align ${p.align} at ${p.offset}${p.reg === NO_REG ? '' : ` reg ${regName(p.reg)}`}${p.array ? ' array' : ''}${p.ptr === '' ? '' : ` ptr ${p.ptr}`}`;

function printVariable(v: Variable, indent: string): string {
  let s = `${indent}.var ${v.space} ${v.type} ${v.name} size ${v.size} align ${v.align}`;
  if (v.linkage !== '') s += ` linkage ${v.linkage}`;
  if (v.attrs.length > 0) s += ` attrs ${JSON.stringify(v.attrs)}`;
  if (v.init !== null) s += ` init ${hexOf(v.init)}`;
  for (const r of v.relocs)
    s += ` reloc ${r.at} ${r.bytes} ${r.symbol} ${r.addend} ${r.generic ? 'generic' : 'plain'} ${r.byte}`;
  return s;
}

function hexOf(bytes: Uint8Array): string {
  let s = '0x';
  for (const b of bytes) s += (b < 16 ? '0' : '') + b.toString(16);
  return s;
}

function maxima(fn: Pick<Fn, 'params' | 'returns' | 'blocks'>): { regs: number; blocks: number } {
  let regs = 0;
  let blocks = 0;
  const see = (r: Reg) => {
    if (r !== NO_REG && regIndex(r) >= regs) regs = regIndex(r) + 1;
  };
  for (const p of [...fn.params, ...fn.returns]) see(p.reg);
  for (const b of fn.blocks) {
    if (b.id >= blocks) blocks = b.id + 1;
    for (const ins of b.ins) {
      see(ins.guard);
      for (const d of ins.dst) see(d);
      for (const o of ins.src) see(o.reg);
      for (const r of ins.otherwise) see(r);
    }
  }
  return { regs, blocks };
}

/** Text of one function. */
export function printFn(fn: Fn, opts: PrintOptions = {}): string {
  const out: string[] = [`.${fn.kind} ${fn.name}`];
  if (fn.attrs.linkage !== '') out.push(`  .linkage ${fn.attrs.linkage}`);
  if (fn.attrs.noreturn) out.push('  .noreturn');
  for (const p of fn.returns) out.push(printParam('return', p));
  for (const p of fn.params) out.push(printParam('param', p));
  for (const d of fn.attrs.directives) out.push(`  .directive ${JSON.stringify(d)}`);
  for (const d of fn.attrs.pragmas) out.push(`  .pragma BB${d.block} ${JSON.stringify(d.text)}`);
  for (const v of fn.variables) out.push(printVariable(v, '  '));
  for (let i = 0; i < fn.tables.length; i++)
    out.push(`  .table T${i} ${fn.tables[i].map((b) => `BB${b}`).join(' ')}`);
  const max = maxima(fn);
  if (fn.regCount !== max.regs) out.push(`  .regs ${fn.regCount}`);
  if (fn.blockCount !== max.blocks) out.push(`  .blocks ${fn.blockCount}`);
  out.push('{');
  for (const b of fn.blocks) printBlock(b, opts, out);
  out.push('}');
  return out.join('\n');
}

/** Text of a whole snapshot; `parseProgram` reads it back. */
export function printProgram(p: Program, opts: PrintOptions = {}): string {
  const out = [
    `.program ${JSON.stringify(p.name)} version ${p.version} target ${p.target} address ${p.addressSize}`,
  ];
  for (const f of p.files) out.push(`.file ${f.index} ${JSON.stringify(f.name)}`);
  for (const v of p.variables) out.push(printVariable(v, ''));
  for (const t of p.prototypes) {
    out.push(`.prototype ${t.name}${t.noreturn ? ' noreturn' : ''}`);
    for (const r of t.returns) out.push(printParam('return', r));
    for (const r of t.params) out.push(printParam('param', r));
  }
  for (const s of p.skipped) out.push(`.skipped ${s.name} ${JSON.stringify(s.why)}`);
  for (const fn of p.functions) out.push(printFn(fn, opts));
  if (opts.locs !== false)
    for (let i = 1; i < p.locs.length; i++) {
      const l = p.locs[i];
      out.push(`.loc ${i} ${l.line} ${l.file} ${l.srcLine} ${l.srcColumn}`);
    }
  return `${out.join('\n')}\n`;
}

// ---------------------------------------------------------------------------------------------- parsing

class TextError extends Error {
  readonly at: number;
  readonly length: number;
  readonly notes: readonly string[];
  constructor(message: string, at: number, length = 1, notes: readonly string[] = []) {
    super(message);
    this.at = at;
    this.length = length;
    this.notes = notes;
  }
}

const WORD = /[\w$%.]+/y;
const NUMBER = /-?(0x[0-9a-fA-F]+|\d+)/y;

/** A cursor over one line. */
class Cursor {
  readonly text: string;
  at: number;
  constructor(text: string, at = 0) {
    this.text = text;
    this.at = at;
  }
  skip(): void {
    while (this.text[this.at] === ' ' || this.text[this.at] === '\t') this.at++;
  }
  done(): boolean {
    this.skip();
    return this.at >= this.text.length || this.text[this.at] === ';';
  }
  peek(c: string): boolean {
    this.skip();
    return this.text.startsWith(c, this.at);
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
    return Number(this.big(what));
  }
  big(what: string): bigint {
    this.skip();
    NUMBER.lastIndex = this.at;
    const m = NUMBER.exec(this.text);
    if (m === null) throw new TextError(`expected ${what}`, this.at);
    this.at = NUMBER.lastIndex;
    return m[0].startsWith('-') ? -BigInt(m[0].slice(1)) : BigInt(m[0]);
  }
  json<T>(what: string): T {
    this.skip();
    const open = this.text[this.at];
    const end = open === '"' ? this.endOfString(this.at) : open === '[' ? this.endOfArray(this.at) : this.at;
    try {
      const v = JSON.parse(this.text.slice(this.at, end)) as T;
      this.at = end;
      return v;
    } catch {
      throw new TextError(`expected ${what}`, this.at);
    }
  }
  private endOfString(from: number): number {
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

function takeReg(c: Cursor): Reg {
  c.skip();
  const start = c.at;
  const w = c.word('a register');
  const r = regOf(w);
  if (r === NO_REG)
    throw new TextError(`'${w}' is no register`, start, w.length, [
      'registers are R, RD, P, UR, URD, UP, RQ or B and a number',
    ]);
  return r;
}

function takeAddress(c: Cursor): Operand {
  let base = NO_REG;
  let name = '';
  let off = 0;
  do {
    c.skip();
    if (/[-\d]/.test(c.text[c.at] ?? '')) off += c.number('an offset');
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
  if (c.peek('-') && !/^-(0x|\d)/.test(c.text.slice(c.at, c.at + 3))) {
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
  if (c.take('(')) {
    const o = takeBare(c, predicate, width);
    c.expect(')');
    return o;
  }
  if (c.take('&')) {
    c.skip();
    const start = c.at;
    const name = /[,\s}]/.test(c.text[c.at] ?? ',') ? '' : c.word('a symbol');
    const o = c.peek('+') || c.peek('-') ? (c.take('+'), c.number('an offset')) : 0;
    if (name === '' && c.at !== start) throw new TextError('expected a symbol', start);
    return sym(name, o);
  }
  if (c.peek('c[')) {
    c.expect('c[');
    const bank = c.number('a constant bank');
    c.expect(']');
    c.expect('[');
    const a = takeAddress(c);
    return cbank(bank, a.lo, a.reg);
  }
  if (/[-\d]/.test(c.text[c.at] ?? '')) {
    const v = c.big('a constant');
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
  throw new TextError(`'${w}' is no operand`, start, w.length);
}

function takeMnemonic(c: Cursor, isa: Isa): { op: Opcode; mods: number } {
  c.skip();
  const start = c.at;
  const word = c.word('an opcode');
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

function parseInstrLine(c: Cursor, isa: Isa): Instr {
  let guard = NO_REG;
  let guardNot = false;
  if (c.take('@')) {
    guardNot = c.take('!');
    guard = takeReg(c);
    if (!isPredReg(guard)) throw new TextError('a guard is a predicate register', c.at);
  }
  const { op, mods } = takeMnemonic(c, isa);
  // The slot of the i-th written operand depends on how many were left out, so they are counted first.
  const start = c.at;
  let count = 0;
  if (!c.done()) {
    let depth = 0;
    count = 1;
    for (let i = c.at; i < c.text.length && c.text[i] !== ';'; i++) {
      const ch = c.text[i];
      if (ch === '{') depth++;
      else if (ch === '}') depth--;
      else if (ch === ',' && depth === 0) count++;
    }
  }
  c.at = start;
  const nd = op.dsts.length;
  const ns = op.srcs.length;
  let missing = nd + ns - count;
  let dsts = nd;
  while (missing > 0 && dsts > 0 && op.dsts[dsts - 1].optional && !op.dsts[dsts - 1].variadic) {
    dsts--;
    missing--;
  }
  let srcs = ns;
  while (missing > 0 && srcs > 0 && op.srcs[srcs - 1].optional) {
    srcs--;
    missing--;
  }
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

function parseParam(c: Cursor): Param {
  const type = c.word('a type');
  const name = c.word('a name');
  c.expect('size');
  const size = c.number('a size');
  c.expect('align');
  const align = c.number('an alignment');
  c.expect('at');
  const at = c.number('an offset');
  const r = c.take('reg ') ? takeReg(c) : NO_REG;
  const array = c.take('array');
  const ptr = c.take('ptr ') ? c.word('a space') : '';
  return { name, type, size, align, offset: at, reg: r, array, ptr };
}

function parseVariable(c: Cursor): Variable {
  const space = c.word('a space') as Space;
  const type = c.word('a type');
  const name = c.word('a name');
  c.expect('size');
  const size = c.number('a size');
  c.expect('align');
  const align = c.number('an alignment');
  const linkage = (c.take('linkage ') ? c.word('a linkage') : '') as Variable['linkage'];
  const attrs = c.take('attrs ') ? c.json<string[]>('a list of attributes') : [];
  let init: Uint8Array | null = null;
  if (c.take('init ')) {
    const hex = c.word('bytes in hexadecimal').slice(2);
    init = new Uint8Array(hex.length / 2);
    for (let i = 0; i < init.length; i++) init[i] = Number.parseInt(hex.slice(2 * i, 2 * i + 2), 16);
  }
  const relocs: Variable['relocs'][number][] = [];
  while (c.take('reloc ')) {
    const at = c.number('an offset');
    const bytes = c.number('a size');
    const symbol = c.word('a symbol');
    const addend = c.number('an addend');
    const generic = c.word("'generic' or 'plain'") === 'generic';
    relocs.push({ at, bytes, symbol, addend, generic, byte: c.number('a byte or -1') });
  }
  return { name, space, type, size, align, linkage, init, relocs, attrs };
}

interface Draft {
  name: string;
  kind: Fn['kind'];
  params: Param[];
  returns: Param[];
  blocks: { id: number; name: string; ins: Instr[] }[];
  regs: number;
  blockCount: number;
  variables: Variable[];
  tables: number[][];
  directives: string[];
  pragmas: { block: number; text: string }[];
  linkage: Fn['attrs']['linkage'];
  noreturn: boolean;
}

function finish(d: Draft): Fn {
  const max = maxima(d);
  return {
    name: d.name,
    kind: d.kind,
    params: d.params,
    returns: d.returns,
    blocks: d.blocks,
    regCount: Math.max(d.regs, max.regs),
    blockCount: Math.max(d.blockCount, max.blocks),
    variables: d.variables,
    tables: d.tables,
    attrs: { directives: d.directives, pragmas: d.pragmas, linkage: d.linkage, noreturn: d.noreturn },
    shape: newShape(),
  };
}

/**
 * Reads Ori text.
 * @param file name for messages
 * @returns the program and every error found (the program then lacks the lines in error)
 */
export function parseProgram(
  text: string,
  isa: Isa,
  file = '<ori>',
): { program: Program; diagnostics: Diagnostic[] } {
  const diagnostics: Diagnostic[] = [];
  const functions: Fn[] = [];
  const variables: Variable[] = [];
  const prototypes: { name: string; params: Param[]; returns: Param[]; noreturn: boolean }[] = [];
  const locs: Loc[] = [{ line: 0, file: 0, srcLine: 0, srcColumn: 0 }];
  const files: { index: number; name: string }[] = [];
  const skipped: { name: string; why: string[] }[] = [];
  let head = { name: file, version: '9.0', target: 'sm_75', addressSize: 64 as 32 | 64 };
  let fn: Draft | null = null;
  let proto: (typeof prototypes)[number] | null = null;
  let body = false;

  const lineOf = (c: Cursor): void => {
    if (c.done()) return;
    if (body && fn !== null) {
      if (c.take('}')) {
        functions.push(finish(fn));
        fn = null;
        body = false;
        return;
      }
      const m = /^\s*BB(\d+)(?: "([^"]*)")?:/.exec(c.text);
      if (m !== null) {
        fn.blocks.push({ id: Number(m[1]), name: m[2] ?? '', ins: [] });
        return;
      }
      if (fn.blocks.length === 0) fn.blocks.push({ id: 0, name: '', ins: [] });
      fn.blocks[fn.blocks.length - 1].ins.push(parseInstrLine(c, isa));
      return;
    }
    if (c.take('{')) {
      if (fn === null) throw new TextError("'{' outside a function", c.at - 1);
      body = true;
      return;
    }
    const start = c.at;
    const word = c.word('a directive');
    const target = fn ?? proto;
    switch (word) {
      case '.program': {
        const name = c.json<string>('a quoted name');
        c.expect('version');
        const version = c.word('a version');
        c.expect('target');
        const t = c.word('a target');
        c.expect('address');
        head = { name, version, target: t, addressSize: c.number('32 or 64') === 32 ? 32 : 64 };
        return;
      }
      case '.file':
        files.push({ index: c.number('a file index'), name: c.json<string>('a quoted name') });
        return;
      case '.loc': {
        const i = c.number('an index');
        locs[i] = {
          line: c.number('a line'),
          file: c.number('a file'),
          srcLine: c.number('a line'),
          srcColumn: c.number('a column'),
        };
        return;
      }
      case '.skipped':
        skipped.push({ name: c.word('a name'), why: c.json<string[]>('a list of reasons') });
        return;
      case '.prototype':
        proto = { name: c.word('a name'), params: [], returns: [], noreturn: c.take('noreturn') };
        prototypes.push(proto);
        fn = null;
        return;
      case '.entry':
      case '.func':
        proto = null;
        fn = {
          name: c.word('a function name'),
          kind: word === '.entry' ? 'entry' : 'func',
          params: [],
          returns: [],
          blocks: [],
          regs: 0,
          blockCount: 0,
          variables: [],
          tables: [],
          directives: [],
          pragmas: [],
          linkage: '',
          noreturn: false,
        };
        return;
      case '.var':
        (fn === null ? variables : fn.variables).push(parseVariable(c));
        return;
    }
    if (target !== null) {
      if (word === '.param') return void target.params.push(parseParam(c));
      if (word === '.return') return void target.returns.push(parseParam(c));
    }
    if (fn !== null)
      switch (word) {
        case '.linkage':
          fn.linkage = c.word('a linkage') as Draft['linkage'];
          return;
        case '.noreturn':
          fn.noreturn = true;
          return;
        case '.directive':
          fn.directives.push(c.json<string>('a quoted directive'));
          return;
        case '.pragma':
          fn.pragmas.push({
            block: Number(c.word('a block').slice(2)),
            text: c.json<string>('a quoted pragma'),
          });
          return;
        case '.regs':
          fn.regs = c.number('a count');
          return;
        case '.blocks':
          fn.blockCount = c.number('a count');
          return;
        case '.table': {
          c.word('a table');
          const ids: number[] = [];
          while (!c.done()) ids.push(Number(c.word('a block').slice(2)));
          fn.tables.push(ids);
          return;
        }
      }
    const near = nearest(word, [
      '.program',
      '.file',
      '.loc',
      '.prototype',
      '.entry',
      '.func',
      '.var',
      '.param',
      '.return',
      '.linkage',
      '.directive',
      '.pragma',
      '.regs',
      '.blocks',
      '.table',
      '.skipped',
    ]);
    throw new TextError(
      `'${word}' is not expected here`,
      start,
      word.length,
      near.length > 0 ? [`did you mean ${near[0]}?`] : [],
    );
  };

  const lines = text.split('\n');
  for (let n = 0; n < lines.length; n++) {
    const raw = lines[n].endsWith('\r') ? lines[n].slice(0, -1) : lines[n];
    try {
      lineOf(new Cursor(raw));
    } catch (e) {
      if (!(e instanceof TextError)) throw e;
      diagnostics.push({
        severity: 'error',
        code: 'ori-syntax',
        message: e.message,
        file,
        line: n + 1,
        column: e.at + 1,
        length: e.length,
        notes: e.notes,
      });
    }
  }
  if (fn !== null)
    diagnostics.push({
      severity: 'error',
      code: 'ori-syntax',
      message: `function '${(fn as Draft).name}' is not closed by '}'`,
      file,
      line: lines.length,
      column: 1,
      length: 1,
    });
  for (let i = 0; i < locs.length; i++) locs[i] ??= locs[0];
  return {
    program: { ...head, functions, variables, prototypes, locs, files, skipped },
    diagnostics,
  };
}

/** Reads the text of one function (a program that holds just it). Throws on any error. For tests and rules. */
export function parseFn(text: string, isa: Isa): Fn {
  const src = /^\s*\.(entry|func)\b/m.test(text) ? text : `.entry test\n{\n${text}\n}`;
  const { program, diagnostics } = parseProgram(src, isa);
  if (diagnostics.length > 0)
    throw new Error(diagnostics.map((d) => `${d.line}:${d.column}: ${d.message}`).join('\n'));
  return program.functions[0];
}
