import type { Draft } from '../../ir/draft/index.ts';
import { isPhi } from '../../ir/flow.ts';
import { Kind, NO_REG, type Reg, regWidth } from '../../ir/operand.ts';
import type { Instr } from '../../ir/program.ts';
import type { Graph } from '../../isa/lang/graph.ts';
import { isValue } from '../calls/effects.ts';
import { type Condition, conditionOf, conditionOfNode } from './condition.ts';
import {
  circular,
  complement,
  everything,
  type IntervalSet,
  meet,
  NOTHING,
  shifted,
  union,
} from './interval-sets.ts';
import { formOfNode, instructionGraph, type LinearForm, linearForm } from './linear.ts';

/** A register as another one plus a constant. */
export interface Offset {
  /** Represents all registers that hold the same value as `root`. */
  readonly base: Reg;
  /** A register with the value of `base`, defined before the queried register. */
  readonly root: Reg;
  /** Modulo 2^width of the register. */
  readonly plus: bigint;
}

/** A predicate that is true exactly if a register holds certain values. */
export interface Truth extends Pick<Offset, 'base' | 'root'> {
  readonly width: number;
  readonly values: IntervalSet;
}

/** A table index as a function of a register: in pieces, each a sum or a constant. */
export interface Index extends Pick<Offset, 'base' | 'root'> {
  readonly width: number;
  readonly pieces: readonly {
    readonly values: IntervalSet;
    /** The register plus this, or just this. */
    readonly plus: bigint;
    readonly alone: boolean;
  }[];
}

/** Maximum number of definitions followed through sums of constants and compound conditions. */
const DEPTH = 16;

/**
 * What predicates imply about integer registers, in SSA: `ISETP.LT.U32 P4, R3, 4` with R3 = R2 - 10 means that R2 is in 10 ... 13, and
 * so does `P4 && !P5` if P5 means that R2 is 20. Everything is read from the meanings of opcodes.
 *
 * Registers that are computed in the same way count as one, because front ends extend a narrow selector again for each comparison.
 * Results refer to the draft at the time of the query and are cached: edits must not change values.
 */
export class Selectors {
  private readonly d: Draft;
  private readonly hasOneValue: (r: Reg) => boolean;
  private readonly truths = new Map<Reg, Truth | null>();
  private readonly offsets = new Map<Reg, Offset>();
  /** By operation and operands: the register found first. */
  private readonly alike = new Map<string, Reg>();

  /** @param hasOneValue is the register in SSA, so that its definition, if there is one, determines its value? */
  constructor(d: Draft, hasOneValue: (r: Reg) => boolean) {
    this.d = d;
    this.hasOneValue = hasOneValue;
  }

  /**
   * Does an instruction read and write only registers in SSA? If so, it gives the same result wherever its operands
   * are available.
   */
  isMovable(x: Instr): boolean {
    const is = (r: Reg): boolean => r === NO_REG || this.hasOneValue(r);
    return isValue(x) && x.dst.every(is) && x.src.every((o) => is(o.reg));
  }

  /** The register and its values for which a predicate is true; null if the condition is not of this form. */
  truthOf(p: Reg, depth = DEPTH): Truth | null {
    const known = this.truths.get(p);
    if (known !== undefined) return known;
    const n = this.d.def(p);
    const x = n < 0 ? null : this.d.at(n);
    let t: Truth | null = null;
    if (x !== null && x.guard === NO_REG && depth > 0) {
      const c = conditionOf(x, x.dst.indexOf(p));
      if (c !== null) t = this.ofCondition(c, depth - 1);
    }
    this.truths.set(p, t);
    return t;
  }

  /** A register in terms of the register that it is computed from by adding constants. */
  offsetOf(r: Reg): Offset {
    const known = this.offsets.get(r);
    if (known !== undefined) return known;
    const width = regWidth(r);
    let root = r;
    let plus = 0n;
    for (let depth = DEPTH; depth > 0; depth--) {
      const x = this.definition(root);
      const sum = x === null ? null : plainSum(linearForm(x, x.dst.indexOf(root)), width);
      if (sum === null) break;
      root = sum.reg;
      plus += sum.constant;
    }
    const out = { base: this.representative(root), root, plus: BigInt.asUintN(width, plus) };
    this.offsets.set(r, out);
    return out;
  }

  /**
   * A table index in terms of the register that it is computed from: a sum, or a selection between a sum and a
   * constant, such as a minimum; also the low word of such a 64-bit value.
   */
  indexOf(r: Reg): Index | null {
    const x = this.definition(r);
    if (x !== null) {
      const g = instructionGraph(x);
      const n = g.nodes[g.dsts[x.dst.indexOf(r)]];
      if (n.op === 'extract' && n.n === 0 && n.width === 32 && g.nodes[n.args[0]].op === 'src') {
        const whole = x.src[g.nodes[n.args[0]].n];
        const of = whole.kind === Kind.Reg && whole.mods === 0 ? this.indexOf(whole.reg) : null;
        return of !== null && of.width === 64 && isWithin(of, 1n << 32n) ? of : null;
      }
      if (n.op === 'ite') return this.choice(x, g, n.args);
    }
    const { base, root, plus } = this.offsetOf(r);
    const width = regWidth(r);
    if (this.d.defCount(root) > 1) return null;
    return { base, root, width, pieces: [{ values: everything(width), plus, alone: false }] };
  }

  private choice(x: Instr, g: Graph, [test, yes, no]: readonly number[]): Index | null {
    const c = conditionOfNode(x, g, test);
    const t = c === null ? null : this.ofCondition(c, DEPTH);
    if (t === null) return null;
    const pieces: Index['pieces'][number][] = [];
    for (const [node, values] of [
      [yes, t.values],
      [no, complement(t.values, t.width)],
    ] as const) {
      const f = formOfNode(x, g, node);
      if (f === null || f.width !== t.width) return null;
      const sum = plainSum(f, t.width);
      if (sum !== null) {
        const of = this.offsetOf(sum.reg);
        if (of.base !== t.base) return null;
        pieces.push({ values, plus: BigInt.asUintN(t.width, of.plus + sum.constant), alone: false });
      } else if (f.terms.length === 0) pieces.push({ values, plus: f.constant, alone: true });
      else return null;
    }
    return { base: t.base, root: t.root, width: t.width, pieces };
  }

  /** The unguarded definition by an operation that gives equal results for equal operands. */
  private definition(r: Reg): Instr | null {
    const n = this.hasOneValue(r) ? this.d.def(r) : -1;
    if (n < 0) return null;
    const x = this.d.at(n);
    return x.guard === NO_REG && !isPhi(x) && this.isMovable(x) ? x : null;
  }

  /** One of the registers that hold the same value, always the same one. */
  representative(r: Reg, depth = DEPTH): Reg {
    const x = depth > 0 ? this.definition(r) : null;
    if (x === null) return r;
    const operands = x.src.map((o) => {
      const of = o.reg === NO_REG ? NO_REG : this.representative(o.reg, depth >> 1);
      return `${o.kind},${of},${o.lo},${o.hi},${o.sym},${o.mods}`;
    });
    const key = `${x.op.id} ${x.mods} ${x.dst.indexOf(r)} ${operands.join(' ')}`;
    const first = this.alike.get(key);
    if (first !== undefined) return first;
    this.alike.set(key, r);
    return r;
  }

  private ofCondition(c: Condition, depth: number): Truth | null {
    switch (c.kind) {
      case 'known':
        return null;
      case 'predicate':
        return this.truthOf(c.reg, depth);
      case 'not': {
        const t = this.ofCondition(c.of, depth);
        return t === null ? null : { ...t, values: complement(t.values, t.width) };
      }
      case 'and':
      case 'or': {
        const a = this.ofCondition(c.a, depth);
        const b = a === null ? null : this.ofCondition(c.b, depth);
        if (a === null || b === null || a.base !== b.base) return null;
        const values = c.kind === 'and' ? meet(a.values, b.values) : union(a.values, b.values);
        return { ...a, values };
      }
      case 'compare':
        return this.ofComparison(c.test, c.a, c.b);
    }
  }

  private ofComparison(test: 'eq' | 'ult' | 'slt', a: LinearForm, b: LinearForm): Truth | null {
    const { width } = a;
    const left = plainSum(a, width);
    const right = plainSum(b, width);
    if ((left === null) === (right === null)) return null;
    const constant = left === null ? a : b;
    if (constant.terms.length > 0) return null;
    const k = constant.constant;
    const sum = (left ?? right)!;
    const { base, root, plus } = this.offsetOf(sum.reg);
    if (this.d.defCount(root) > 1) return null;
    const values = satisfying(test, k, left !== null, width);
    return { base, root, width, values: shifted(values, -(sum.constant + plus), width) };
  }
}

/** Is every index below a bound? */
const isWithin = ({ pieces, width }: Index, bound: bigint): boolean =>
  pieces.every(({ values, plus, alone }) =>
    alone ? plus < bound : shifted(values, plus, width).every(({ high }) => high < bound),
  );

/** One whole register of the form's width, once, plus a constant; null for any other form. */
function plainSum(f: LinearForm | null, width: number): { reg: Reg; constant: bigint } | null {
  if (f === null || f.width !== width || f.terms.length !== 1) return null;
  const [{ operand, coefficient, bits }] = f.terms;
  if (operand.kind !== Kind.Reg || coefficient !== 1n || bits !== width) return null;
  return regWidth(operand.reg) === width ? { reg: operand.reg, constant: f.constant } : null;
}

/** Values v with `v test k`, or with `k test v`. */
function satisfying(test: 'eq' | 'ult' | 'slt', k: bigint, onLeft: boolean, width: number): IntervalSet {
  if (test === 'eq') return [{ low: k, high: k }];
  const least = test === 'ult' ? 0n : -(1n << BigInt(width - 1));
  const most = least + (1n << BigInt(width)) - 1n;
  const bound = test === 'ult' ? k : BigInt.asIntN(width, k);
  if (onLeft) return bound === least ? NOTHING : circular(least, bound - 1n, width);
  return bound === most ? NOTHING : circular(bound + 1n, most, width);
}
