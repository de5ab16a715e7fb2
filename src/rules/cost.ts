import { FIRST_INPUT, TABLE_SOURCE } from '../ir/moves.ts';
import { type Opcode, OpFlag, slotWidth } from '../ir/opcode.ts';
import type { Instr } from '../ir/program.ts';
import type { Instance, Rule, Source } from './rule.ts';

/**
 * Cost of an instruction by the back end's table `costs`: cycles in which its unit of one sub-partition is taken by one warp.
 * The table names units (`alu: 2`), and opcodes that expand into several instructions (`IDIV: 70`, `IDIV_64: 160`). Other
 * integer operations on 64 bits are made of two.
 */
export type Costs = Readonly<Record<string, number>>;

export function costOf(op: Opcode, mods: number, costs: Costs): number {
  const slot = op.dsts[0] ?? op.srcs[0];
  const wide = slot !== undefined && slotWidth(op, mods, slot) === 64;
  const own = wide ? (costs[`${op.name}_64`] ?? costs[op.name]) : costs[op.name];
  if (own !== undefined) return own;
  const unit = costs[op.unit] ?? 1;
  return wide && op.unit === 'alu' ? 2 * unit : unit;
}

export const instrCost = (i: Instr, costs: Costs): number => costOf(i.op, i.mods, costs);

const dying = new WeakMap<Rule, ReadonlySet<number>>();

/** Variables that, by the rule's own condition, have no use outside the match. */
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

/** Cost of what a rewrite removes for certain, and of what it makes. */
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
    // A copy disappears when its users read the original.
    if (l.op !== null && !copies(l.op, l.src)) right += costOf(l.op, instance.rewrite[i], costs);
  });
  return { left, right };
}

/** Is what a line computes its first source? Of a function given by a table, the table must say so. */
function copies(op: Opcode, src: readonly Source[]): boolean {
  if ((op.flags & OpFlag.Copies) === 0) return false;
  if ((op.flags & OpFlag.Table) === 0) return true;
  const table = src[TABLE_SOURCE];
  return table?.k === 'literal' && table.value === BigInt(FIRST_INPUT);
}
