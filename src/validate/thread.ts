import { isFixedRegister, isValue } from '../analysis/calls/effects.ts';
import { spaceOf } from '../analysis/memory/address.ts';
import {
  isBarrier,
  isCall,
  isOrdering,
  isStrong,
  MEMORY_OF,
  Mem,
  VISIBLE,
} from '../analysis/memory/memory-ops.ts';
import { chosen, hasMod, Lanes, modOf, OpFlag, slotWidth, srcSlot } from '../ir/opcode.ts';
import {
  immValue,
  Kind,
  NO_REG,
  type Operand,
  type Reg,
  RegFile,
  regFile,
  regName,
  regWidth,
} from '../ir/operand.ts';
import type { Fn, Instr, Program, Variable } from '../ir/program.ts';
import { Unsupported } from '../ir/unsupported.ts';
import { accessBytes, elementBytes } from '../isa/accesses.ts';
import { graphOf, isConstantSlot } from '../isa/meaning.ts';
import { defaultValue } from '../isa/reference.ts';
import { NARROW, type Symbols, symbolLeaf } from './symbols.ts';
import { ORDER, type Place, Trace } from './trace.ts';
import type { Values } from './values.ts';

/** A memory access as the hardware checks it: it faults if the address is invalid or not a multiple of `align`. */
export interface Access {
  readonly address: number;
  readonly bits: number;
  readonly bytes: number;
  readonly align: number;
  readonly guard: number;
}

/** A value that all lanes that get here must have in common, because the warp holds it, or decides on it, only once. */
export interface Claim {
  readonly value: number;
  /** The uniform register that is written; NO_REG for a branch. */
  readonly register: Reg;
  /** Condition under which control gets here. */
  readonly path: number;
  /**
   * A condition that all lanes must have in common too: whether the register is overwritten, because a lane elsewhere would lose its value.
   */
  readonly also: number;
}

/** Primitives that control convergence and have no effect that a thread can observe; YIELD is another. */
const CONVERGENCE: ReadonlySet<string> = new Set(['convergence', 'convergence-break']);

/** An opaque instruction, identified by text and operand values. */
interface Operation {
  /** The operation, without its operands. */
  readonly kind: string;
  /** Equal for equal operations on equal operands. */
  readonly key: string;
  readonly operands: readonly number[];
  /** Operand values by number of the source; holes for text, labels and call targets. */
  readonly bySource: readonly (number | undefined)[];
}

/** Symbolic execution of one thread: the effect of its instructions for unknown contents of registers and memory. */
export class Thread {
  readonly v: Values;
  readonly trace: Trace;
  readonly accesses: Access[] = [];
  readonly claims: Claim[] = [];
  /** Current values of registers. */
  registers = new Map<Reg, number>();
  /** Condition under which control gets here. */
  path: number;
  /** Condition under which the thread has already ended. */
  ended: number;
  private readonly symbols: Symbols;
  private readonly variables = new Map<string, Variable>();

  constructor(program: Program, fn: Fn, values: Values, symbols: Symbols) {
    this.v = values;
    this.path = values.yes;
    this.ended = values.no;
    this.symbols = symbols;
    this.trace = new Trace(values, symbols);
    for (const x of [...program.variables, ...fn.variables]) this.variables.set(x.name, x);
  }

  /** The guard of an instruction, simplified by the path condition. */
  guardOf(ins: Instr): number {
    if (ins.guard === NO_REG) return this.v.yes;
    const g = this.v.under(this.registers.get(ins.guard) ?? this.unset(ins.guard), this.path);
    return ins.guardNot ? this.v.negation(g) : g;
  }

  /** The value of a register that was never written. */
  unset(r: Reg): number {
    return this.v.atom(`unset ${regName(r)}`, regWidth(r));
  }

  private symbol(name: string): number {
    const leaf = symbolLeaf(this.v, name, this.variables.get(name), this.symbols);
    return this.v.at(leaf).width === 32 ? this.v.node('zext', 64, [leaf]) : leaf;
  }

  /** The value of an operand before its modifiers, simplified under the condition `c`. */
  operand(o: Operand, width: number, c: number): number {
    const { v } = this;
    switch (o.kind) {
      case Kind.Reg: {
        const x = v.given(this.registers.get(o.reg) ?? this.unset(o.reg), c);
        if (v.at(x).width !== width) throw new Unsupported(`${regName(o.reg)} is read as ${width} bits`);
        return x;
      }
      case Kind.Imm:
        return v.constant(immValue(o, width), width);
      case Kind.CBank:
        return this.constantBank(o, width, c);
      case Kind.Sym: {
        const sum = v.node('add', 64, [this.symbol(o.sym), v.constant(BigInt(o.lo), 64)]);
        return width === 64 ? sum : v.node('extract', width, [sum], { n: 0 });
      }
      default:
        throw new Unsupported('an operand without a value');
    }
  }

  private constantBank(o: Operand, width: number, c: number): number {
    if (width === 64)
      return this.v.node('concat', 64, [this.inBank(o, 4, 32, c), this.inBank(o, 0, 32, c)], { n: 32 });
    if (width > 64) throw new Unsupported(`a constant of ${width} bits`);
    return this.inBank(o, 0, width, c);
  }

  /** Reads at most 32 bits of a constant bank, `behind` bytes after the operand's offset. */
  private inBank(o: Operand, behind: number, width: number, c: number): number {
    const { v } = this;
    const at = o.lo + behind;
    if (o.reg !== NO_REG) {
      const index = v.given(this.registers.get(o.reg) ?? this.unset(o.reg), c);
      const place = v.node('add', v.at(index).width, [index, v.constant(BigInt(at), v.at(index).width)]);
      const found = v.leaf(`c[${o.hi}] at ${place}`, width);
      return v.isUniform(place) ? v.markUniform(found) : found;
    }
    const low = 8 * (at & 3);
    if (low + width > 32) throw new Unsupported('a constant that is not aligned');
    return v.node('extract', width, [v.markUniform(v.atom(`c[${o.hi}][${at & ~3}]`, 32))], { n: low });
  }

  private write(ins: Instr, k: number, value: number, guard: number): void {
    const r = ins.dst[k];
    if (r === NO_REG) return;
    if (this.v.at(value).width !== regWidth(r))
      throw new Unsupported(`${regName(r)} is written with another width`);
    if (isUniformFile(r)) {
      const path = this.v.both(this.path, guard);
      const also = this.registers.has(r) ? this.v.under(path, this.v.negation(this.ended)) : this.v.yes;
      this.claims.push({ value, register: r, path, also });
    }
    if (guard === this.v.yes) {
      this.registers.set(r, value);
      return;
    }
    const other = ins.otherwise.length > 0 ? (ins.otherwise[k] ?? NO_REG) : r;
    if (other === NO_REG) {
      this.registers.set(r, value);
      return;
    }
    const old = this.registers.get(other) ?? this.unset(other);
    const chosen = this.v.select(guard, value, old);
    this.registers.set(r, this.v.at(chosen).width === 1 ? this.v.under(chosen, this.path) : chosen);
  }

  /**
   * Executes an instruction other than a branch.
   *
   * @param taken the conjunction of path and guard
   */
  instruction(ins: Instr, taken: number, guard: number): void {
    const { op } = ins;
    if (op.means !== null) this.pure(ins, taken, guard);
    else if (CONVERGENCE.has(op.primitive ?? '') || op.name === 'YIELD') return;
    else if (isValue(ins) || isFixedRegister(ins)) this.unknown(ins, taken, guard);
    else if (op.primitive === 'load' && !isStrong(ins)) this.load(ins, taken, guard);
    else if (op.primitive === 'store' && !isStrong(ins)) this.store(ins, taken);
    else this.event(ins, taken, guard);
  }

  private pure(ins: Instr, taken: number, guard: number): void {
    const { op, mods, src } = ins;
    const widths = op.srcs.map((s) => slotWidth(op, mods, s));
    const consts = op.srcs.map((s, i) => {
      if (!isConstantSlot(s)) return null;
      return src[i] === undefined ? Number(BigInt.asIntN(32, defaultValue(s, widths[i]))) : src[i].lo;
    });
    const graph = graphOf({ op, mods, srcMods: src.map((o) => o.mods), consts });
    const given = op.srcs.map((s, i) =>
      src[i] === undefined
        ? this.v.constant(defaultValue(s, widths[i]), widths[i])
        : this.operand(src[i], widths[i], taken),
    );
    const at: number[] = [];
    for (const n of graph.nodes)
      at.push(
        n.op === 'src'
          ? given[n.n]
          : this.v.make(
              n,
              n.args.map((a) => at[a]),
            ),
      );
    const results = graph.dsts.map((d) => at[d]);
    results.forEach((x, k) => {
      this.write(ins, k, x, guard);
    });
  }

  /** Describes an instruction; the key is equal for equal operations on equal operands. */
  private operation(ins: Instr, taken: number): Operation {
    const operands: number[] = [];
    const bySource: (number | undefined)[] = [];
    const fixed: string[] = [];
    const said = (text: string): string => {
      fixed.push(text);
      return text;
    };
    const parts = ins.src.map((o, i) => {
      if (o.kind === Kind.Text || o.kind === Kind.Label || o.kind === Kind.Table)
        return said(`${o.kind}:${o.sym}:${o.lo}`);
      if (o.kind === Kind.Addr) {
        const x = this.address(o, 0, taken);
        operands.push(x);
        bySource[i] = x;
        fixed.push('[]');
        return `[${x}]`;
      }
      // A called function, or a prototype.
      if (o.kind === Kind.Sym && !this.variables.has(o.sym)) return said(`sym ${o.sym}+${o.lo}`);
      const width = o.reg === NO_REG ? widthOf(ins, i, o) : regWidth(o.reg);
      const x = this.operand(o, width, taken);
      operands.push(x);
      bySource[i] = x;
      fixed.push(`/${o.mods}`);
      return `${x}/${o.mods}`;
    });
    const name = `${ins.op.name} ${ins.mods}`;
    return { kind: `${name} ${fixed.join(' ')}`, key: `${name} ${parts.join(' ')}`, operands, bySource };
  }

  /** An opaque result: it depends on the operands alone. */
  private unknown(ins: Instr, taken: number, guard: number): void {
    const { key, operands, bySource } = this.operation(ins, taken);
    const { op, mods } = ins;
    const special = op.special.length > 0 ? `special ${chosen(op.groups[0], mods).name}` : null;
    ins.dst.forEach((r, k) => {
      if (r === NO_REG) return;
      const x = this.v.leaf(special ?? `${key} #${k}`, regWidth(r), operands.length === 0);
      if (this.agrees(ins, k, bySource)) this.v.markUniform(x);
      this.write(ins, k, x, guard);
    });
  }

  /** True if all lanes of a warp get the same result, according to the ISA's table or because all operands are uniform. */
  private agrees({ op, mods }: Instr, k: number, sources: readonly (number | undefined)[]): boolean {
    if (op.special.length > 0) {
      const { shift, mask } = op.groups[0];
      return (op.special[(mods >>> shift) & mask]?.level ?? Lanes.Varying) <= Lanes.Warp;
    }
    const rule = op.lanes.find(
      ({ dst, group, index }) =>
        (dst < 0 || dst === k) && (group === null || ((mods >>> group.shift) & group.mask) === index),
    );
    const alike = (x: number | undefined): boolean => x === undefined || this.v.isUniform(x);
    if (rule === undefined) return (op.flags & OpFlag.Pure) !== 0 && sources.every(alike);
    if (rule.level > Lanes.Warp || rule.from === 'memory') return false;
    return rule.from === 'operands' ? sources.every(alike) : rule.from.every((i) => alike(sources[i]));
  }

  // ------------------------------------------------------------------ memory

  /** The address in an operand: 32 bits wide for spaces with 32-bit addresses, otherwise 64. */
  private address(o: Operand, bits: number, c: number): number {
    const { v } = this;
    let sum = v.constant(BigInt(o.lo), 64);
    if (o.reg !== NO_REG) {
      const x = v.given(this.registers.get(o.reg) ?? this.unset(o.reg), c);
      if (v.at(x).width === 64) sum = v.node('add', 64, [x, sum]);
      else if (v.at(x).width === 32)
        sum = v.node('zext', 64, [v.node('add', 32, [x, v.constant(BigInt(o.lo), 32)])]);
      else throw new Unsupported('an address of another width');
    }
    if (o.sym !== '') sum = v.node('add', 64, [this.symbol(o.sym), sum]);
    return bits !== 0 && (bits & ~NARROW) === 0 ? v.node('extract', 32, [sum], { n: 0 }) : sum;
  }

  /**
   * Splits an access into elements, or into words of elements wider than 32 bits: for each its place, the number of the element, and its
   * lowest bit there.
   */
  private places(ins: Instr, c: number): { place: Place; element: number; low: number }[] {
    const [a] = ins.op.accesses;
    const bits = hasMod(ins.op, ins.mods, 'NC') ? Mem.Const : MEMORY_OF[a.space];
    const base = this.address(ins.src[a.src], bits, c);
    const width = this.v.at(base).width;
    const total = accessBytes(a, ins.mods);
    this.accesses.push({ address: base, bits, bytes: total, align: total, guard: c });
    return this.parts(ins).map(({ at, bytes, element, low }) => ({
      place: { bits, address: this.v.node('add', width, [base, this.v.constant(BigInt(at), width)]), bytes },
      element,
      low,
    }));
  }

  private parts(ins: Instr): { at: number; bytes: number; element: number; low: number }[] {
    const [a] = ins.op.accesses;
    const size = elementBytes(a, ins.mods);
    const total = accessBytes(a, ins.mods);
    if (size === 0) throw new Unsupported('an access of unknown size');
    const bytes = Math.min(size, 4);
    return Array.from({ length: total / bytes }, (_, i) => {
      const at = i * bytes;
      return { at, bytes, element: Math.floor(at / size), low: 8 * (at % size) };
    });
  }

  /** The value that each part of a load reads. */
  private loaded(ins: Instr, c: number): { x: number; bytes: number; element: number; low: number }[] {
    const o = ins.src[ins.op.accesses[0].src];
    if (o.kind === Kind.CBank)
      return this.parts(ins).map((p) => ({ ...p, x: this.inBank(o, p.at, 8 * p.bytes, c) }));
    return this.places(ins, c).map((p) => ({
      x: this.trace.load(p.place, c),
      bytes: p.place.bytes,
      element: p.element,
      low: p.low,
    }));
  }

  private load(ins: Instr, taken: number, guard: number): void {
    const { v } = this;
    const elements: number[] = [];
    for (const { x, bytes, element, low } of this.loaded(ins, taken))
      elements[element] =
        low === 0 ? x : v.node('concat', low + 8 * bytes, [x, elements[element]], { n: low });
    const signed = /^S\d/.test(modOf(ins.op, ins.mods, 'type'));
    elements.forEach((x, k) => {
      const r = ins.dst[k];
      if (r === undefined || r === NO_REG) return;
      const from = v.at(x).width;
      const wide = regWidth(r);
      const value = from >= wide ? x : v.node(signed ? 'sext' : 'zext', wide, [x], { n: signed ? from : 0 });
      this.write(ins, k, value, guard);
    });
  }

  private store(ins: Instr, taken: number): void {
    const { v } = this;
    const [a] = ins.op.accesses;
    for (const { place, element, low } of this.places(ins, taken)) {
      const o = ins.src[a.src + 1 + element];
      if (o === undefined) throw new Unsupported('a store without a value');
      const width = o.reg === NO_REG ? 8 * elementBytes(a, ins.mods) : regWidth(o.reg);
      const x = this.operand(o, Math.max(width, 8 * place.bytes), taken);
      const value = v.node('extract', 8 * place.bytes, [x], { n: low });
      this.trace.add({
        kind: `store ${place.bits} ${place.bytes}`,
        key: `store ${place.bits} ${place.bytes} ${place.address} ${value}`,
        bits: place.bits,
        guard: taken,
        operands: [place.address, value],
        convergent: false,
        store: { address: place.address, bytes: place.bytes, value },
      });
    }
  }

  /** Memory spaces, and `ORDER`, that an instruction other than a plain access touches. */
  private touched(ins: Instr): number {
    const { flags } = ins.op;
    if (isCall(ins)) return VISIBLE | Mem.Local | Mem.Const | Mem.Param | ORDER;
    let bits = 0;
    for (const a of ins.op.accesses) bits |= MEMORY_OF[a.space];
    if (ins.op.accesses.length === 0 && (flags & (OpFlag.ReadsMemory | OpFlag.WritesMemory)) !== 0)
      bits |= MEMORY_OF[spaceOf(ins)];
    if (isBarrier(ins) || isOrdering(ins)) bits |= VISIBLE;
    const placed = OpFlag.Convergent | OpFlag.Barrier | OpFlag.Volatile | OpFlag.SideEffect;
    if ((flags & placed) !== 0 || isStrong(ins) || bits === 0) bits |= ORDER;
    return bits;
  }

  private event(ins: Instr, taken: number, guard: number): void {
    const { kind, key, operands, bySource } = this.operation(ins, taken);
    const bits = this.touched(ins);
    const convergent = (ins.op.flags & OpFlag.Convergent) !== 0;
    const state = this.trace.stateKey({ bits }, taken);
    const name = `${key} after ${state}`;
    this.trace.add({ kind, key, bits, guard: taken, operands, convergent, store: null });
    ins.dst.forEach((r, k) => {
      if (r === NO_REG) return;
      if (regFile(r) === RegFile.B) return;
      const x = this.v.leaf(`${name} #${k}`, regWidth(r));
      if (this.agrees(ins, k, bySource)) this.v.markUniform(x);
      this.write(ins, k, x, guard);
    });
  }
}

/** True for registers that a warp has once instead of once per lane. */
export const isUniformFile = (r: Reg): boolean => {
  const file = regFile(r);
  return file === RegFile.UR || file === RegFile.URD || file === RegFile.UP;
};

/** Width of an operand that is not a register. */
function widthOf(ins: Instr, i: number, o: Operand): number {
  const slot = srcSlot(ins.op, i);
  const width = slot === undefined ? 0 : slotWidth(ins.op, ins.mods, slot);
  // If the slot has no width, the constant is taken in full.
  if (width === 0 && o.kind === Kind.CBank) throw new Unsupported('a constant of unknown size');
  return width === 0 ? 64 : width;
}
