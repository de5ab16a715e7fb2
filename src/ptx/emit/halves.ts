import { hasMod, type Opcode, OpFlag, type Slot } from '../../ir/opcode.ts';
import { Kind, NO_REG, type Operand, type Reg, RegFile, regFile, regIndex } from '../../ir/operand.ts';
import type { Fn, Instr } from '../../ir/program.ts';
import { guardOf } from './expand.ts';
import type { PtxTable } from './table.ts';
import type { Writer } from './writer.ts';

/**
 * Registers of which only the low half is live become 16-bit registers in PTX, and operations on pairs whose high half is dead become
 * scalar operations. ptxas can select halves of registers itself and pack two scalar operations into one, but it does not see them through
 * masks, shifts and prmt (ptxas 13.0.88: a product and a sum of two pairs that are split and packed again take one machine instruction with
 * 16-bit registers, and eight with words).
 *
 *     LOP3 R4, R1, 0xffff, 0, 0xc0        mov.b32 {%rh4, %h0}, %r1;
 *     SHR.U32 R5, R1, 16                  mov.b32 {%h1, %rh5}, %r1;
 *     HMUL2.BF16 R6, R4, R2        ->     mul.bf16 %rh6, %rh4, %h2;      (with %h2 from {%h2, %h3} = %r2)
 *     HMUL2.BF16 R7, R5, R2               mul.bf16 %rh7, %rh5, %h4;
 *     PRMT R8, R6, 0x5410, R7             mov.b32 %r8, {%rh6, %rh7};
 */
export class Halves {
  /** Whether the function has any 16-bit register. */
  readonly any: boolean;
  private readonly is: Uint8Array;
  /** Result of `pairRegisters`, computed on first use. */
  private pairs: Uint8Array | null = null;
  private readonly fn: Fn;
  private readonly table: PtxTable;

  constructor(fn: Fn, table: PtxTable) {
    this.fn = fn;
    this.table = table;
    this.is = halfRegisters(fn, table);
    this.any = this.is.includes(1);
  }

  /** Is it a word whose only uses are arithmetic on pairs? */
  isPair(r: Reg): boolean {
    if (r === NO_REG || regFile(r) !== RegFile.R) return false;
    this.pairs ??= pairRegisters(this.fn, this.table);
    return this.pairs[regIndex(r)] === 1;
  }

  /** Is it a 16-bit register in PTX? */
  has(r: Reg): boolean {
    return r !== NO_REG && regFile(r) === RegFile.R && this.is[regIndex(r)] === 1;
  }

  /** Is it an operation on pairs that is written as a scalar operation? */
  isScalar(x: Instr): boolean {
    return this.table.isLanewise(x.op) && this.has(x.dst[0]);
  }

  /** Is the instruction written with 16-bit operands? */
  readsHalves(x: Instr): boolean {
    if (this.isScalar(x)) return true;
    const low = this.table.readsLowHalves(x.op, x.mods);
    return low && x.src.some((o) => o.kind === Kind.Reg && this.has(o.reg));
  }

  /** Writes an instruction that splits or packs pairs, if it involves a 16-bit register. Returns false, and writes nothing, otherwise. */
  writePair(w: Writer, x: Instr): boolean {
    const pair = pairOf(x);
    if (pair === null || x.dst[0] === NO_REG) return false;
    const { low, high } = pair;
    const touched = this.has(x.dst[0]) || [low, high].some((p) => p !== null && !p.upper && this.has(p.reg));
    if (!touched) return false;
    const guard = guardOf(w, x);
    const d = w.name(x.dst[0]);
    if (this.has(x.dst[0])) {
      if (low !== null && !this.has(low.reg)) w.takeHalf(d, w.name(low.reg), low.upper, guard);
      else w.line(`${guard}mov.b16 ${d}, ${low === null ? '0' : w.name(low.reg)}`);
    } else w.line(`${guard}mov.b32 ${d}, {${this.halfOf(w, low)}, ${this.halfOf(w, high)}}`);
    return true;
  }

  private halfOf(w: Writer, p: Part | null): string {
    if (p === null) {
      const zero = w.temp('h');
      w.line(`mov.b16 ${zero}, 0`);
      return zero;
    }
    return this.has(p.reg) ? w.name(p.reg) : w.halfOf(w.name(p.reg), p.upper);
  }
}

/** One half of a register. */
interface Part {
  readonly reg: Reg;
  readonly upper: boolean;
}

/** The halves that a result consists of; null for zeros. */
interface Pair {
  readonly low: Part | null;
  readonly high: Part | null;
}

const plain = (o: Operand): boolean => o.kind === Kind.Reg && o.mods === 0 && regFile(o.reg) === RegFile.R;
const isConstant = (o: Operand, value: number): boolean => o.kind === Kind.Imm && o.lo >>> 0 === value;

/** The halves that make up the result of an instruction; null if it does more than move halves. */
function pairOf(x: Instr): Pair | null {
  const [a, b, c, d] = x.src;
  switch (x.op.primitive ?? x.op.name) {
    case 'LOP3':
      // a & 0xffff, in either order.
      if (!isConstant(d ?? b, 0xc0)) return null;
      if (plain(a) && isConstant(b, 0xffff)) return { low: { reg: a.reg, upper: false }, high: null };
      return plain(b) && isConstant(a, 0xffff) ? { low: { reg: b.reg, upper: false }, high: null } : null;
    case 'SHR':
      return plain(a) && isConstant(b, 16) && hasMod(x.op, x.mods, 'U32')
        ? { low: { reg: a.reg, upper: true }, high: null }
        : null;
    case 'SHL':
      return plain(a) && isConstant(b, 16) && hasMod(x.op, x.mods, 'B32')
        ? { low: null, high: { reg: a.reg, upper: false } }
        : null;
    case 'PRMT': {
      if (b.kind !== Kind.Imm || !hasMod(x.op, x.mods, 'IDX')) return null;
      const low = selected(b.lo & 0xff, a, c);
      const high = selected((b.lo >>> 8) & 0xff, a, c);
      return low === undefined || high === undefined ? null : { low, high };
    }
    default:
      return null;
  }
}

/** The half that two byte selectors of prmt take from {c, a}: null for zeros, undefined if they do not take an aligned half. */
function selected(selectors: number, a: Operand, c: Operand): Part | null | undefined {
  const [first, second] = [selectors & 0xf, selectors >>> 4];
  // Bit 3 of a selector replicates the sign of the byte.
  if (first >= 8 || second >= 8 || first >>> 2 !== second >>> 2) return undefined;
  const o = first < 4 ? a : c;
  if (o.kind === Kind.Imm && o.lo === 0) return null;
  if ((first & 1) !== 0 || second !== first + 1) return undefined;
  return plain(o) ? { reg: o.reg, upper: (first & 2) !== 0 } : undefined;
}

/** By register index: 1 for registers of which only the low half is ever read, and that are connected with arithmetic on halves. */
function halfRegisters(fn: Fn, table: PtxTable): Uint8Array {
  const is = new Uint8Array(fn.regCount);
  const ins = fn.blocks.flatMap((b) => b.ins);
  if (!ins.some((x) => table.isArithmeticOnHalves(x.op, x.mods) || loadsHalves(x))) return is;
  const read = new Uint8Array(fn.regCount);
  for (const x of ins) for (const o of x.src) if (o.reg !== NO_REG) read[regIndex(o.reg)] = 1;
  // Registers without uses stay words.
  for (const x of ins)
    for (const r of x.dst) if (r !== NO_REG && regFile(r) === RegFile.R) is[regIndex(r)] = read[regIndex(r)];
  const drop = (r: Reg): boolean => {
    if (r === NO_REG || regFile(r) !== RegFile.R || is[regIndex(r)] === 0) return false;
    is[regIndex(r)] = 0;
    return true;
  };
  for (const p of [...fn.params, ...fn.returns]) drop(p.reg);
  const has = (r: Reg): boolean => r !== NO_REG && regFile(r) === RegFile.R && is[regIndex(r)] === 1;
  // Constraints of single instructions are applied first; those between registers are propagated by `settle`.
  for (const x of ins) {
    // Registers in addresses, and results computed from symbols, are words.
    for (const o of x.src) if (o.kind !== Kind.Reg) drop(o.reg);
    if (x.src.some((o) => o.kind === Kind.Sym)) for (const r of x.dst) drop(r);
    if (table.isLanewise(x.op)) continue;
    const pair = pairOf(x);
    if (pair !== null) {
      for (const p of [pair.low, pair.high]) if (p?.upper) drop(p.reg);
      continue;
    }
    const low = table.readsLowHalves(x.op, x.mods);
    x.src.forEach((o, k) => {
      if (
        !(low && o.kind === Kind.Reg) &&
        !isHalf(x.op, x.mods, x.op.srcs[Math.min(k, x.op.srcs.length - 1)])
      )
        drop(o.reg);
    });
    x.dst.forEach((r, k) => {
      if (!table.givesHalf(x.op) && !isHalf(x.op, x.mods, x.op.dsts[Math.min(k, x.op.dsts.length - 1)]))
        drop(r);
    });
  }
  const settle = (): void => {
    for (let changed = true; changed; ) {
      changed = false;
      for (const x of ins) {
        if (table.isLanewise(x.op) && !has(x.dst[0])) for (const o of x.src) if (drop(o.reg)) changed = true;
        for (const all of vectorsOf(x)) if (!all.every(has)) for (const r of all) if (drop(r)) changed = true;
      }
    }
  };
  settle();
  const wanted = near(ins, table, has, fn.regCount);
  for (let r = 0; r < is.length; r++) is[r] &= wanted[r];
  settle();
  return is;
}

/** By register index: 1 for words whose only uses are arithmetic on pairs. */
function pairRegisters(fn: Fn, table: PtxTable): Uint8Array {
  const pairs = new Uint8Array(fn.regCount);
  const others = new Uint8Array(fn.regCount);
  for (const p of fn.returns) if (p.reg !== NO_REG) others[regIndex(p.reg)] = 1;
  for (const b of fn.blocks)
    for (const x of b.ins) {
      const reads = table.isLanewise(x.op) && table.isArithmeticOnHalves(x.op, x.mods) ? pairs : others;
      for (const o of x.src) if (o.reg !== NO_REG) reads[regIndex(o.reg)] = 1;
    }
  return pairs.map((is, r) => (others[r] === 1 ? 0 : is));
}

/**
 * By register index: 1 for operands and results of arithmetic on halves, and for registers that moves, selects and vectors connect with
 * them. Also for elements of loaded vectors that become upper halves, as bf16 that is widened to f32 does: with words, ptxas splits the
 * vector first.
 */
function near(
  ins: readonly Instr[],
  table: PtxTable,
  has: (r: Reg) => boolean,
  regCount: number,
): Uint8Array {
  const wanted = new Uint8Array(regCount);
  const all = (x: Instr): Reg[] => [...x.dst, ...x.src.map((o) => o.reg)].filter(has);
  for (const x of ins)
    if (table.isArithmeticOnHalves(x.op, x.mods)) for (const r of all(x)) wanted[regIndex(r)] = 1;
  const inVector = new Set(ins.flatMap((x) => (loadsHalves(x) ? x.dst : [])));
  for (const x of ins) {
    const raised = pairOf(x);
    if (raised?.low !== null || raised.high === null) continue;
    const { reg } = raised.high;
    if (has(reg) && inVector.has(reg)) wanted[regIndex(reg)] = 1;
  }
  for (let changed = true; changed; ) {
    changed = false;
    for (const x of ins) {
      for (const group of table.isLanewise(x.op) ? [all(x)] : vectorsOf(x)) {
        if (!group.some((r) => wanted[regIndex(r)] === 1)) continue;
        for (const r of group)
          if (wanted[regIndex(r)] === 0) {
            wanted[regIndex(r)] = 1;
            changed = true;
          }
      }
    }
  }
  return wanted;
}

/** Does it load a vector of halves? */
const loadsHalves = (x: Instr): boolean =>
  (x.op.flags & OpFlag.ReadsMemory) !== 0 && x.dst.length > 1 && isHalf(x.op, x.mods, x.op.dsts.at(-1));

/** The vectors of an instruction. PTX requires the registers of a vector to have the same size. */
function vectorsOf(x: Instr): Reg[][] {
  const dst = x.dst.filter((r) => r !== NO_REG);
  const src = x.src.flatMap((o) => (o.kind === Kind.Reg ? [o.reg] : []));
  return [
    ...(x.op.dsts.at(-1)?.variadic === true && dst.length > 1 ? [dst] : []),
    ...(x.op.srcs.at(-1)?.variadic === true && src.length > 1 ? [src] : []),
  ];
}

const HALF_TYPES: ReadonlySet<string> = new Set(['f16', 'bf16', 'u16', 's16', 'b16']);

/** Is the operand of a 16-bit type that PTX holds in a 16-bit register? Operands of atomics are not. */
export function isHalf(op: Opcode, mods: number, slot: Slot | undefined): boolean {
  if (slot === undefined || slot.widthFrom === null) return false;
  const memory = op.flags & (OpFlag.ReadsMemory | OpFlag.WritesMemory);
  if (memory === (OpFlag.ReadsMemory | OpFlag.WritesMemory)) return false;
  const g = op.groupByName.get(slot.widthFrom)!;
  return HALF_TYPES.has(g.values[(mods >>> g.shift) & g.mask].type ?? '');
}

/** Adapts a line written for words to 16-bit registers: moves instead of conversions, and scalar operations if `scalar`. */
export function withHalves(line: string, scalar: boolean): string {
  let text = line
    .replace(/\bcvt\.u16\.u32 (%r?h\d+), (%r?h\d+);/, 'mov.b16 $1, $2;')
    .replace(/\bcvt\.u32\.u16 (%r?h\d+), (%r?h\d+);/, 'mov.b16 $1, $2;');
  if (scalar)
    text = text
      .replace(/\.(b?f16)x2\b/g, '.$1')
      .replace(/\b(selp|mov)\.b32 (%r?h)/, '$1.b16 $2')
      .replace(/\b(mov\.b16 %h\d+, 0x)([0-9a-f]{4})\2;/, '$1$2;');
  return text;
}
