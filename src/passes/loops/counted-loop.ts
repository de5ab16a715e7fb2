import { conditionOf } from '../../analysis/values/condition.ts';
import { constantOf, isLeaf } from '../../analysis/values/form-arithmetic.ts';
import { type LinearForm, linearForm } from '../../analysis/values/linear.ts';
import type { BlockNo, Draft, Ins } from '../../ir/draft/index.ts';
import { immOf, Kind, NO_REG, type Operand, type Reg, regWidth } from '../../ir/operand.ts';
import type { Instr } from '../../ir/program.ts';
import type { BottomTested, Refusal } from './unroll-shape.ts';

/** The relation of a counter to its bound while the loop continues. */
export type Relation = 'LT' | 'LE' | 'GT' | 'GE' | 'NE';

/**
 * A loop that continues while `counter relation bound`, where `step` is added to the counter once per iteration and
 * the bound does not change. The counter's start, and whether it wraps, are not known.
 */
export interface CountedLoop {
  /** The comparison, in the latch. */
  readonly test: Ins;
  readonly counter: Reg;
  readonly bound: Operand;
  readonly step: bigint;
  readonly relation: Relation;
  readonly signed: boolean;
  readonly width: 32 | 64;
}

const no = (name: string, why: string): Refusal => ({ name, why });

/** Finds the counter, step and bound of a loop, outside SSA; otherwise the reason why there are none. */
export function countedLoop(d: Draft, loop: BottomTested): CountedLoop | Refusal {
  const { latch, header } = loop;
  const branch = d.at(d.terminator(latch));
  const test = lastDefinition(d, latch, branch.guard);
  if (test < 0) return no('counter', 'its test is computed elsewhere, or under a guard');
  const comparison = comparisonOf(d.at(test), branch.guard);
  if (comparison === null) return no('counter', 'its test is not just a comparison of two integers');
  const jumpsBack = d.blockById(branch.src[0].lo) === header;
  // Whether the loop continues if the comparison holds.
  const holds = comparison.holds === (branch.guardNot !== jumpsBack);
  const changes = (f: LinearForm): boolean =>
    f.terms.length > 0 && definitions(d, loop, f.terms[0].operand.reg).length > 0;
  const { a, b } = comparison;
  if (changes(a) && changes(b)) return no('limit', 'both sides of its test change in the loop');
  if (!changes(a) && !changes(b)) return no('counter', 'neither side of its test changes in the loop');
  const [count, limit] = changes(a) ? [a, b] : [b, a];
  const { width } = count;
  const counter = count.terms[0].operand.reg;
  if ((width !== 32 && width !== 64) || regWidth(counter) !== width)
    return no('counter-class', 'its test reads the counter with a different width');
  const value = constantOf(limit);
  const bound = value === null ? limit.terms[0].operand : immOf(value, width);
  const relation = relationOf(comparison.test, holds, changes(a));
  const step = stepOf(d, loop, counter, width);
  if (step === null) return no('counter', 'its counter does not change by a constant once per iteration');
  // Towards the bound; for inequality, either direction will do.
  const up = relation === 'LT' || relation === 'LE';
  if (relation === 'EQ' || (relation !== 'NE' && step > 0n !== up))
    return no('direction', 'its counter does not move towards the bound');
  return {
    test,
    counter,
    bound,
    step,
    relation,
    signed: comparison.test === 'slt',
    width,
  };
}

interface Comparison {
  readonly test: 'eq' | 'ult' | 'slt';
  readonly a: LinearForm;
  readonly b: LinearForm;
  /** Whether the predicate is true if the comparison holds. */
  readonly holds: boolean;
}

/** The meaning of a predicate, if that is one comparison of two registers, or of one with a constant. */
function comparisonOf(x: Instr, predicate: Reg): Comparison | null {
  if (x.guard !== NO_REG) return null;
  const said = conditionOf(x, x.dst.indexOf(predicate));
  const c = said?.kind === 'not' ? said.of : said;
  if (c?.kind !== 'compare') return null;
  return [c.a, c.b].every((f) => isLeaf(f) || constantOf(f) !== null) ? { ...c, holds: c === said } : null;
}

/** The same test as a relation of counter to bound, whichever side of the comparison the counter is on. */
function relationOf(test: Comparison['test'], holds: boolean, counterFirst: boolean): Relation | 'EQ' {
  if (test === 'eq') return holds ? 'EQ' : 'NE';
  if (counterFirst) return holds ? 'LT' : 'GE';
  return holds ? 'GT' : 'LE';
}

/** The last instruction of a block that writes the register, -1 if there is none. */
function lastDefinition(d: Draft, b: BlockNo, r: Reg): Ins {
  let found = -1;
  for (let n = d.first(b); n >= 0; n = d.next(n)) if (d.at(n).dst.includes(r)) found = n;
  return found;
}

const definitions = (d: Draft, loop: BottomTested, r: Reg): Ins[] =>
  d.definitions(r).filter((n) => loop.blocks.includes(d.block(n)));

/** The constant added to the register once per iteration; null if anything else changes it. */
function stepOf(d: Draft, loop: BottomTested, r: Reg, width: number): bigint | null {
  const [n, ...others] = definitions(d, loop, r);
  const x = d.at(n);
  const b = d.block(n);
  // In a loop with one latch, only these two blocks certainly run once per iteration.
  if (others.length > 0 || (b !== loop.latch && b !== loop.header) || x.guard !== NO_REG) return null;
  const sum = linearForm(x, x.dst.indexOf(r));
  if (sum === null || sum.width !== width || sum.terms.length !== 1) return null;
  const [{ operand, coefficient, bits }] = sum.terms;
  if (operand.kind !== Kind.Reg || operand.reg !== r || coefficient !== 1n || bits !== width) return null;
  const signed = BigInt.asIntN(width, sum.constant);
  return signed === 0n ? null : signed;
}
