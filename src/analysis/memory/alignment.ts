import { isPhi } from '../../ir/flow.ts';
import { OpFlag } from '../../ir/opcode.ts';
import { immValue, Kind, NO_REG, type Operand, type Reg, regIndex } from '../../ir/operand.ts';
import type { Fn, Instr } from '../../ir/program.ts';
import type { Graph, Node } from '../../isa/lang/graph.ts';
import { defaultValue } from '../../isa/reference.ts';
import { defUseOf } from '../values/defuse.ts';
import { instructionGraph } from '../values/linear.ts';
import { isAddressConversion } from './provenance.ts';

/** The `known` lowest bits of a value, which equal those of `value` in every execution; `value` has no other bits. */
export interface LowBits {
  readonly known: number;
  readonly value: number;
}

/** Alignments by declaration: powers of two in bytes; 1 if nothing is known. */
export interface Declared {
  /** Alignment of a variable's address. */
  variable(name: string): number;
  /** Alignment of the memory that the 64-bit word at a byte of constant bank 0 points to. */
  pointee(offset: number): number;
}

/** Maximum number of bits that are tracked. Accesses need four (16 bytes); the others are for values that are shifted right later. */
const MOST = 12;
const MASK = (1 << MOST) - 1;

const UNKNOWN: LowBits = { known: 0, value: 0 };
/** No value yet: the top of the lattice, which any value may still lower. Compared by identity. */
const NO_VALUE: LowBits = { known: MOST, value: -1 };

/** The low bits of a constant. */
const constant = (value: bigint): LowBits => ({ known: MOST, value: Number(value & BigInt(MASK)) });
/** A multiple of a power of two. */
const multipleOf = (power: number): LowBits => ({ known: Math.min(MOST, Math.log2(power)), value: 0 });

const first = (known: number, value: number): LowBits =>
  known <= 0 ? UNKNOWN : { known: Math.min(known, MOST), value: value & ((1 << Math.min(known, MOST)) - 1) };

/** Number of zeros below the lowest one; `MOST` for zero. */
const trailingZeros = (v: number): number => (v === 0 ? MOST : 31 - Math.clz32(v & -v));

/** Is the sum of a value and a constant a multiple of `bytes`, a power of two? */
export const isMultiple = ({ known, value }: LowBits, offset: number, bytes: number): boolean =>
  1 << known >= bytes && ((value + offset) & (bytes - 1)) === 0;

/**
 * The known low bits of the addresses of a function. A value is followed backwards through sums, products, shifts, bit operations,
 * extensions, selections and phis, by the meanings of the opcodes. Declared alignments are the starting points; everything else that is
 * not computed here (memory, special registers, parameters in registers) is unknown. Phis are solved optimistically, so that an
 * induction variable with a step of 16 keeps its alignment.
 *
 * A register's bits are computed on first use. They are lowered at most `MOST` times, so the cost is linear in the computations that an
 * address depends on.
 *
 * Conversions between a space and generic addresses keep the bits: what is aligned in its space may be accessed with that alignment
 * through its generic address (PTX ISA 9.0, 6.4.1 and 9.7.9: both are aligned to the access).
 */
export class Alignments {
  private readonly fn: Fn;
  private readonly declared: Declared;
  private readonly bits = new Map<number, LowBits>();

  constructor(fn: Fn, declared: Declared) {
    this.fn = fn;
    this.declared = declared;
  }

  /** Low bits of the base of an address operand: of its register and its symbol, without its constant offset. */
  baseBits(o: Operand): LowBits {
    const symbol = o.sym === '' ? constant(0n) : multipleOf(this.declared.variable(o.sym));
    return o.reg === NO_REG ? symbol : sum(symbol, this.ofRegister(o.reg), 1);
  }

  private ofRegister(r: Reg): LowBits {
    const i = regIndex(r);
    if (!this.bits.has(i)) this.solve(i);
    return this.bits.get(i)!;
  }

  /** Computes a register together with everything that it depends on. */
  private solve(root: number): void {
    const { bits } = this;
    const du = defUseOf(this.fn);
    const readers = new Map<number, number[]>([[root, []]]);
    const found = [root];
    bits.set(root, NO_VALUE);
    for (let k = 0; k < found.length; k++) {
      const r = found[k];
      const read = (o: Reg): void => {
        if (o === NO_REG) return;
        const i = regIndex(o);
        if (!bits.has(i)) {
          bits.set(i, NO_VALUE);
          found.push(i);
          readers.set(i, []);
        }
        readers.get(i)?.push(r);
      };
      for (let e = du.defStart[r]; e < du.defStart[r + 1]; e++) {
        const x = du.ins[du.defs[e]];
        if (!isFollowed(x)) continue;
        for (const o of x.src) if (o.kind === Kind.Reg) read(o.reg);
        for (const o of x.otherwise) read(o);
      }
    }
    // The registers found last are closest to the inputs, so they are computed first.
    const work = found.slice();
    const waits = new Set(work);
    for (let r = work.pop(); r !== undefined; r = work.pop()) {
      waits.delete(r);
      const now = this.definedAs(r);
      const old = bits.get(r)!;
      if (isSame(old, now)) continue;
      bits.set(r, now);
      for (const u of readers.get(r) ?? [])
        if (!waits.has(u)) {
          waits.add(u);
          work.push(u);
        }
    }
    // A value that depends only on itself is never computed.
    for (const r of found) if (bits.get(r) === NO_VALUE) bits.set(r, UNKNOWN);
  }

  /** The bits that all definitions of a register have in common, as far as they are known now. */
  private definedAs(r: number): LowBits {
    const du = defUseOf(this.fn);
    if (du.entry[r] === 1 || du.defStart[r] === du.defStart[r + 1]) return UNKNOWN;
    let v = NO_VALUE;
    for (let e = du.defStart[r]; e < du.defStart[r + 1]; e++) {
      const x = du.ins[du.defs[e]];
      const k = x.dst.findIndex((d) => d !== NO_REG && regIndex(d) === r);
      // Outside SSA a false guard keeps the old value.
      if (x.guard !== NO_REG && x.otherwise.length === 0) return UNKNOWN;
      v = common(v, this.result(x, k));
      if (x.otherwise.length > 0 && x.otherwise[k] !== NO_REG) v = common(v, this.held(x.otherwise[k]));
    }
    return v;
  }

  private held(r: Reg): LowBits {
    return this.bits.get(regIndex(r)) ?? UNKNOWN;
  }

  private result(x: Instr, k: number): LowBits {
    if (isPhi(x)) {
      let v = NO_VALUE;
      for (let i = 1; i < x.src.length; i += 2) v = common(v, this.operand(x.src[i], 64));
      return v;
    }
    if (isAddressConversion(x)) return this.operand(x.src[0], 64);
    if (!isFollowed(x)) return this.loaded(x, k);
    const g = instructionGraph(x);
    return k < g.dsts.length ? this.node(x, g, g.dsts[k], []) : UNKNOWN;
  }

  /** The alignment of a pointer that is loaded from the kernel's parameters. */
  private loaded({ op, mods, src }: Instr, k: number): LowBits {
    const [o] = src;
    if (op.primitive !== 'load' || o.kind !== Kind.CBank || o.reg !== NO_REG || o.hi !== 0) return UNKNOWN;
    const type = op.groupByName.get('type');
    if (type === undefined || type.values[(mods >>> type.shift) & type.mask].type !== 'b64') return UNKNOWN;
    return multipleOf(this.declared.pointee(o.lo + 8 * k));
  }

  private operand(o: Operand, width: number): LowBits {
    switch (o.kind) {
      case Kind.Reg:
        return o.reg === NO_REG || o.mods !== 0 ? UNKNOWN : this.held(o.reg);
      case Kind.Imm:
        return constant(immValue(o, width));
      case Kind.Sym:
        return sum(multipleOf(this.declared.variable(o.sym)), constant(BigInt(o.lo)), 1);
      case Kind.CBank:
        return o.reg === NO_REG && o.hi === 0 && width === 64
          ? multipleOf(this.declared.pointee(o.lo))
          : UNKNOWN;
      default:
        return UNKNOWN;
    }
  }

  /** The low bits of source `i`; its modifiers are part of the graph. */
  private source(x: Instr, i: number, width: number): LowBits {
    if (i >= x.src.length) return constant(defaultValue(x.op.srcs[i], width));
    const o = x.src[i];
    return o.kind === Kind.Reg && o.reg !== NO_REG ? this.held(o.reg) : this.operand(o, width);
  }

  private node(x: Instr, g: Graph, at: number, known: LowBits[]): LowBits {
    known[at] ??= cut(this.nodeBits(x, g, g.nodes[at], known), g.nodes[at].width);
    return known[at];
  }

  private nodeBits(x: Instr, g: Graph, n: Node, known: LowBits[]): LowBits {
    if (n.fmt !== '') return UNKNOWN;
    const arg = (i: number): LowBits => this.node(x, g, n.args[i], known);
    switch (n.op) {
      case 'const':
        return constant(n.value);
      case 'src':
        return this.source(x, n.n, n.width);
      case 'add':
        return sum(arg(0), arg(1), 1);
      case 'sub':
        return sum(arg(0), arg(1), -1);
      case 'mul':
        return product(arg(0), arg(1));
      case 'not':
        return sum(constant(-1n), arg(0), -1);
      case 'and':
        return bitwise(0xc0, arg(0), arg(1), UNKNOWN);
      case 'or':
        return bitwise(0xfc, arg(0), arg(1), UNKNOWN);
      case 'xor':
        return bitwise(0x3c, arg(0), arg(1), UNKNOWN);
      case 'lop3':
        return bitwise(n.n, arg(0), arg(1), arg(2));
      case 'shl':
      case 'lshr':
      case 'ashr':
        return shifted(n.op, arg(0), amountOf(x, g.nodes[n.args[1]]));
      case 'zext':
      case 'sext':
        return arg(0);
      case 'extract':
        return shifted('lshr', arg(0), n.n);
      case 'concat':
        return arg(1);
      case 'ite':
        return common(arg(1), arg(2));
      default:
        return UNKNOWN;
    }
  }
}

/** Is the result computed from operands alone, by a known meaning, or as a copy of one of them? */
const isFollowed = (x: Instr): boolean =>
  isPhi(x) || isAddressConversion(x) || ((x.op.flags & OpFlag.Pure) !== 0 && x.op.means !== null);

/** The amount of a shift if it is constant, else -1. */
function amountOf(x: Instr, n: Node): number {
  if (n.op === 'const') return Number(n.value);
  if (n.op !== 'src' || n.n >= x.src.length || x.src[n.n].kind !== Kind.Imm) return -1;
  return Number(immValue(x.src[n.n], n.width));
}

const isSame = (a: LowBits, b: LowBits): boolean => a.known === b.known && a.value === b.value;

/** The bits that both values have in common. */
function common(a: LowBits, b: LowBits): LowBits {
  if (a === NO_VALUE) return b;
  if (b === NO_VALUE) return a;
  return first(Math.min(a.known, b.known, trailingZeros(a.value ^ b.value)), a.value);
}

function sum(a: LowBits, b: LowBits, sign: number): LowBits {
  if (a === NO_VALUE || b === NO_VALUE) return NO_VALUE;
  return first(Math.min(a.known, b.known), a.value + sign * b.value);
}

/** (a + 2^j x)(b + 2^k y) = ab + 2^j x b + 2^k y a + 2^(j+k) xy. */
function product(a: LowBits, b: LowBits): LowBits {
  if (a === NO_VALUE || b === NO_VALUE) return NO_VALUE;
  const known = Math.min(
    a.known + trailingZeros(b.value),
    b.known + trailingZeros(a.value),
    a.known + b.known,
  );
  return first(known, Math.imul(a.value, b.value));
}

/** @param by the amount if it is constant, else -1 */
function shifted(op: Node['op'], a: LowBits, by: number): LowBits {
  if (a === NO_VALUE) return NO_VALUE;
  if (op === 'shl') {
    if (by < 0) return first(Math.min(a.known, trailingZeros(a.value)), 0);
    return by >= MOST ? first(MOST, 0) : first(a.known + by, a.value << by);
  }
  return by < 0 ? UNKNOWN : first(a.known - by, a.value >> Math.min(by, 31));
}

const cut = (a: LowBits, width: number): LowBits =>
  a.known <= width || a === NO_VALUE ? a : first(width, a.value);

/** The bits below the first one that the truth table leaves open. Bit 4a+2b+c of the table is the result. */
function bitwise(table: number, a: LowBits, b: LowBits, c: LowBits): LowBits {
  if (a === NO_VALUE || b === NO_VALUE || c === NO_VALUE) return NO_VALUE;
  let value = 0;
  for (let i = 0; i < MOST; i++) {
    const [p, q, r] = [at(a, i), at(b, i), at(c, i)];
    let outcomes = 0;
    for (let k = 0; k < 8; k++)
      if (agrees(p, k >> 2) && agrees(q, (k >> 1) & 1) && agrees(r, k & 1))
        outcomes |= 1 << ((table >> k) & 1);
    if (outcomes === 3) return first(i, value);
    if (outcomes === 2) value |= 1 << i;
  }
  return first(MOST, value);
}

/** A bit: 0 or 1, or -1 if it is not known. */
const at = (a: LowBits, i: number): number => (i < a.known ? (a.value >> i) & 1 : -1);
const agrees = (bit: number, with_: number): boolean => bit < 0 || bit === with_;
