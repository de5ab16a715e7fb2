import type { Draft, Ins } from '../ir/draft/index.ts';
import { copyOf, movesOf } from '../ir/moves.ts';
import type { Isa } from '../ir/opcode.ts';
import type { PassContext } from '../passes/pass.ts';
import type { RoundWeights } from '../spec/plan.ts';
import type { EditStep, RoundsEnd, RoundWork, Stretch } from './edits.ts';

/**
 * The weights of changes; rounds end if the changes of one weigh less than `least` (seed 001, phase 37). A removed instruction or a cheap
 * copy weighs `least` (or `full`, if that is less), so that a round of nothing else still counts. Any other changed or added instruction
 * weighs `full`.
 */
export function roundCost(least: number, weights: RoundWeights, isa: Isa): Stretch['cost'] {
  const moves = movesOf(isa);
  const { full, cheap, 'many-uses': many } = weights;
  const isCheap = (d: Draft, n: Ins): boolean => {
    const x = d.at(n);
    return cheap.includes(x.op.name) && copyOf(moves, x) !== null && d.useCount(x.dst[0]) <= many;
  };
  const low = Math.min(full, least);
  return { least, of: (d, n, isThere) => (!isThere || isCheap(d, n) ? low : full) };
}

/**
 * Emits remarks on what limited the steps of a phase: spent budgets, and why their rounds ended.
 * @returns a text for each round that did something
 */
export function tellRounds(
  ctx: PassContext,
  steps: readonly EditStep[],
  rounds: readonly (readonly RoundWork[])[],
  end: RoundsEnd,
  knob: string | null,
): readonly string[] {
  for (const { name, budget, cutShort } of steps)
    if (budget && cutShort?.() === true)
      ctx.remark('missed', 'rounds-cut', `${name} could do more, but ${budget} is spent`);
  if (end === 'used-up') ctx.remark('missed', 'rounds', `work remains after ${rounds.length} rounds`);
  else if (end !== 'done')
    ctx.remark(
      'missed',
      'rounds-cheap',
      `work remains after ${rounds.length} rounds: the last one had a cost of ${end.cost}, less than ${knob} requires`,
    );
  return rounds.flatMap((r, k) => (r.length === 0 ? [] : [`round ${k + 1}: ${r.map(workText).join(', ')}`]));
}

function workText({ step, changed, removed }: RoundWork): string {
  const parts = [
    ...(changed > 0 ? [`${changed} changed`] : []),
    ...(removed > 0 ? [`${removed} removed`] : []),
  ];
  return `${step.name} ${parts.join(', ')}`;
}
