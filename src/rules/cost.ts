import { type Costs, costOf, instrCost } from '../analysis/schedule/costs.ts';
import { FIRST_INPUT, TABLE_SOURCE } from '../ir/moves.ts';
import { type Opcode, OpFlag } from '../ir/opcode.ts';
import type { Instance, Rule, Source } from './rule.ts';

export { type Costs, costOf, instrCost };

const dying = new WeakMap<Rule, ReadonlySet<number>>();

/** Variables with a condition `uses(v) == 1`: they have no use outside the match, so that they die with the root. */
export function diesWith(rule: Rule): ReadonlySet<number> {
  const known = dying.get(rule);
  if (known !== undefined) return known;
  const out = new Set<number>();
  dying.set(rule, out);
  for (const e of rule.structural)
    if (
      e.k === 'binary' &&
      e.op === '==' &&
      e.a.k === 'call' &&
      e.a.fn === 'uses' &&
      e.b.k === 'int' &&
      e.b.value === 1n
    ) {
      const arg = e.a.args[0];
      if (arg?.k === 'name') out.add(rule.vars.findIndex((v) => v.name === arg.name));
    }
  return out;
}

/**
 * Cost in cycles of the instructions that a rewrite certainly removes (`left`), and of those that it creates (`right`). Inner lines are
 * removed only if a condition makes their results die with the root.
 */
export function costsOf(rule: Rule, instance: Instance, costs: Costs): { left: number; right: number } {
  const gone = diesWith(rule);
  let left = 0;
  rule.match.forEach((l, i) => {
    const root = i === rule.match.length - 1;
    const dies = root || l.dst.some((d) => d >= 0 && gone.has(d));
    if (l.op !== null && dies) left += costOf(l.op, instance.match[i], costs);
  });
  let right = 0;
  rule.rewrite.forEach((l, i) => {
    // A copy becomes dead when copy propagation replaces its uses.
    if (l.op !== null && !copies(l.op, l.src)) right += costOf(l.op, instance.rewrite[i], costs);
  });
  return { left, right };
}

/** Is a line a copy of its first source? An opcode with a truth table is one only with the table `FIRST_INPUT`. */
function copies(op: Opcode, src: readonly Source[]): boolean {
  if ((op.flags & OpFlag.Copies) === 0) return false;
  if ((op.flags & OpFlag.Table) === 0) return true;
  const table = src[TABLE_SOURCE];
  return table?.k === 'literal' && table.value === BigInt(FIRST_INPUT);
}
