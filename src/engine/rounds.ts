import type { Draft, Ins } from '../ir/draft/index.ts';
import { copyOf, movesOf } from '../ir/moves.ts';
import type { Isa } from '../ir/opcode.ts';
import type { PassContext } from '../passes/pass.ts';
import type { EditStep, RoundsEnd, RoundWork, Stretch } from './edits.ts';

/** A copied value with more uses than this costs as much as any other instruction (seed 001, phase 37). */
const MANY_USES = 4;

/**
 * Rounds that go on while they are worth it (seed 001, phase 37): a changed or added instruction costs 1. A copy whose
 * value has few uses costs `least`, and so does a removed instruction, so that a round of nothing else still counts.
 */
export function roundCost(least: number, isa: Isa): Stretch['cost'] {
  const moves = movesOf(isa);
  const isCheap = (d: Draft, n: Ins): boolean =>
    copyOf(moves, d.at(n)) !== null && d.useCount(d.at(n).dst[0]) <= MANY_USES;
  const copy = Math.min(1, least);
  return { least, of: (d, n, isThere) => (!isThere || isCheap(d, n) ? copy : 1) };
}

/**
 * Reports what kept the steps of a phase from more, and why their rounds ended.
 * @returns what they did in each round
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
  if (end === 'used-up')
    ctx.remark('missed', 'rounds', `something is left to do after ${rounds.length} rounds`);
  else if (end !== 'done')
    ctx.remark(
      'missed',
      'rounds-cheap',
      `something is left to do after ${rounds.length} rounds: the last one cost ${end.cost}, and ${knob} asks for more`,
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
