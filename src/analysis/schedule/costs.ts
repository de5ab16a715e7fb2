import { type Opcode, slotWidth } from '../../ir/opcode.ts';
import type { Instr } from '../../ir/program.ts';

/**
 * Cost of an instruction by the back end's table `costs`: cycles for which one warp occupies its unit of one
 * sub-partition. The table names units (`alu: 2`), and opcodes that expand into several instructions (`IDIV: 70`,
 * `IDIV_64: 160`). Other 64-bit integer operations count as two instructions.
 */
export type Costs = Readonly<Record<string, number>>;

/** Cost of an opcode with modifiers; 1 if the table has neither the opcode nor its unit. */
export function costOf(op: Opcode, mods: number, costs: Costs): number {
  const slot = op.dsts[0] ?? op.srcs[0];
  const wide = slot !== undefined && slotWidth(op, mods, slot) === 64;
  const own = wide ? (costs[`${op.name}_64`] ?? costs[op.name]) : costs[op.name];
  if (own !== undefined) return own;
  const unit = costs[op.unit] ?? 1;
  return wide && op.unit === 'alu' ? 2 * unit : unit;
}

/** Cost of an instruction: see `costOf`. */
export const instrCost = (i: Instr, costs: Costs): number => costOf(i.op, i.mods, costs);
