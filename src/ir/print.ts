import { Mod, type Opcode, OpFlag, type Slot, slotWidth } from './opcode.ts';
import { Kind, NO_REG, type Operand, PT, type Reg, RZ, regIndex, regName, sameOperand } from './operand.ts';
import type { Block, Fn, Instr, Param, Program, Variable } from './program.ts';

/** Options for printing Ori text. */
export interface PrintOptions {
  /** Print `; n` location references. Default true. */
  readonly locs?: boolean;
  /** Print counts of blocks. Default true. */
  readonly counts?: boolean;
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

/** Text of one operand in a slot of `width` bits. */
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
    case Kind.Text:
      return JSON.stringify(o.sym);
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
  // Trailing sources may be omitted only if every omittable destination is, because parsing restores destinations
  // first.
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
      out.push((op.flags & OpFlag.Phi) !== 0 ? printPhiOperands(rest) : list(rest));
      break;
    }
    out.push(printOperand(ins.src[i], width, slot.bank === 'p'));
  }
  return out.length === 0 ? printMnemonic(op, mods) : `${printMnemonic(op, mods)} ${out.join(', ')}`;
}

/** A destination, with its value if the guard is false: `R5 else R4`. */
function printResult(ins: Instr, i: number): string {
  const otherwise = i < ins.otherwise.length ? ins.otherwise[i] : NO_REG;
  const name = ins.dst[i] === NO_REG ? '_' : regName(ins.dst[i]);
  return otherwise === NO_REG ? name : `${name} else ${regName(otherwise)}`;
}

/** Operands of a phi: `{BB1: R2, BB3: R4}`. */
function printPhiOperands(operands: readonly string[]): string {
  const pairs: string[] = [];
  for (let i = 0; i + 1 < operands.length; i += 2) pairs.push(`${operands[i]}: ${operands[i + 1]}`);
  return `{${pairs.join(', ')}}`;
}

/** First index from which every slot to the end is optional. */
function droppableFrom(slots: readonly Slot[]): number {
  let i = slots.length;
  while (i > 0 && slots[i - 1].optional && !slots[i - 1].variadic) i--;
  return i;
}

/** An instruction with its guard in a separate column: `  @!P3 BRA BB4`. */
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
  `  .${kind} ${p.type} ${p.name} size ${p.size} align ${p.align} at ${p.offset}${p.reg === NO_REG ? '' : ` reg ${regName(p.reg)}`}${p.array ? ' array' : ''}${p.ptr === '' ? '' : ` ptr ${p.ptr}`}${p.pointeeAlign === 0 ? '' : ` pointee ${p.pointeeAlign}`}`;

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

/** Least `regCount` and `blockCount` for the registers and blocks that occur in a function. */
export function maxima(fn: Pick<Fn, 'params' | 'returns' | 'blocks'>): { regs: number; blocks: number } {
  let regs = 0;
  let blocks = 0;
  for (const p of fn.params) regs = Math.max(regs, needed(p.reg));
  for (const p of fn.returns) regs = Math.max(regs, needed(p.reg));
  // Every print, hash and check of a function calls this, so the operand lists are traversed without iterators.
  for (let k = 0; k < fn.blocks.length; k++) {
    const { id, ins } = fn.blocks[k];
    if (id >= blocks) blocks = id + 1;
    for (let i = 0; i < ins.length; i++) {
      const { guard, dst, src, otherwise } = ins[i];
      let n = needed(guard);
      if (n > regs) regs = n;
      for (let j = 0; j < dst.length; j++) if ((n = needed(dst[j])) > regs) regs = n;
      for (let j = 0; j < src.length; j++) if ((n = needed(src[j].reg)) > regs) regs = n;
      for (let j = 0; j < otherwise.length; j++) if ((n = needed(otherwise[j])) > regs) regs = n;
    }
  }
  return { regs, blocks };
}

/** Least `regCount` for a register. */
const needed = (r: Reg): number => (r === NO_REG ? 0 : regIndex(r) + 1);

/** Text of one function: of its machine code, if it has some, which only people read. */
export function printFn(fn: Fn, opts: PrintOptions = {}): string {
  const out: string[] = [`.${fn.kind} ${fn.name}`];
  if (fn.attrs.linkage !== '') out.push(`  .linkage ${fn.attrs.linkage}`);
  if (fn.attrs.noreturn) out.push('  .noreturn');
  for (const p of fn.returns) out.push(printParam('return', p));
  for (const p of fn.params) out.push(printParam('param', p));
  for (const d of fn.attrs.directives) out.push(`  .directive ${JSON.stringify(d)}`);
  for (const d of fn.attrs.pragmas) out.push(`  .pragma BB${d.block} ${JSON.stringify(d.text)}`);
  if (opts.counts !== false) for (const n of fn.attrs.counts) out.push(`  .count BB${n.block} ${n.count}`);
  for (const v of fn.variables) out.push(printVariable(v, '  '));
  for (let i = 0; i < fn.tables.length; i++)
    out.push(`  .table T${i} ${fn.tables[i].map((b) => `BB${b}`).join(' ')}`);
  const max = maxima(fn);
  if (fn.regCount !== max.regs) out.push(`  .regs ${fn.regCount}`);
  if (fn.blockCount !== max.blocks) out.push(`  .blocks ${fn.blockCount}`);
  out.push('{');
  if (fn.code === undefined) for (const b of fn.blocks) printBlock(b, opts, out);
  else out.push(...fn.code.lines());
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
  for (const a of p.aliases) out.push(`.alias ${a.name} ${a.of}`);
  for (const s of p.skipped) out.push(`.skipped ${s.name} ${JSON.stringify(s.why)}`);
  for (const fn of p.functions) out.push(printFn(fn, opts));
  if (opts.locs !== false)
    for (let i = 1; i < p.locs.length; i++) {
      const l = p.locs[i];
      out.push(`.loc ${i} ${l.line} ${l.file} ${l.srcLine} ${l.srcColumn}`);
    }
  return `${out.join('\n')}\n`;
}
