import { isPhi } from '../../ir/flow.ts';
import { NO_REG, RegFile, regFile } from '../../ir/operand.ts';
import type { Instr } from '../../ir/program.ts';
import type { PassContext } from '../pass.ts';

/** What is asked about one block. */
export interface Question {
  /** Which of the four phases asks, from 0. */
  readonly run: number;
  /** What the phase gives the only block of a loop: 22 in the first run, 100 later, unless HoistLoopInvBudget or HoistCBOMode differ. */
  readonly budget: number;
  /** Whether the loop has a single block. */
  readonly alone: boolean;
  /** Whether another loop is around it. */
  readonly inner: boolean;
  /** The blocks that close the loop share its budget: how many there are, or 1 for another block. */
  readonly latches: number;
  /** Weights of the header and of the other blocks of the loop. */
  readonly header: number;
  readonly body: number;
  /** Whether all that is invariant may run without the loop. */
  readonly safe: boolean;
}

/** Numbers of the score (reference passes-c): points of an invariant by what it is, by safety, in the first run and later. */
const POINTS = {
  safe: { light: [60, 150], slow: 5 },
  unsafe: { light: [12, 30], slow: 1 },
} as const;
/** Weights of instructions in a loop. */
const WEIGHT = { light: 1, other: 30 };
/** Budget of the last run, times the others'; the divisor of inner loops if knob 380 is unset; that of a body. */
const LAST_RUN = 3;
const LAST_RUN_SCALE = 100;
const INNER_DIVISOR = 10;
const BODY_DIVISOR = 3;
const BUDGET = 10;
/** From this mode on, the budget of a loop of one block is greater: in the first run and later. */
const WIDE_MODE = 2;
const WIDE = [200, 300] as const;

/** Does it only set predicates, or nothing that is issued? The page calls it a no-op. */
const isLight = (x: Instr): boolean =>
  isPhi(x) || x.dst.every((r) => r === NO_REG || regFile(r) === RegFile.P || regFile(r) === RegFile.UP);

/** Results whose time is not fixed, which a scoreboard tracks. */
const slowResults = (x: Instr): number =>
  x.op.unit === 'lsu' || x.op.unit === 'xu' || x.op.unit === 'fp64'
    ? x.dst.filter((r) => r !== NO_REG).length
    : 0;

/** Latency classes up to 4 count once, others twice; of the slow ones only doubles have such a class. */
const penaltyOf = (x: Instr): number => slowResults(x) * (x.op.unit === 'fp64' ? 1 : 2);

/** The weight of instructions in the score. */
export const weightOf = (ins: Iterable<Instr>): number => {
  let sum = 0;
  for (const x of ins) sum += isLight(x) ? WEIGHT.light : WEIGHT.other;
  return sum;
};

/** May anything leave a loop that holds others? Its blocks behind the header may weigh less than a multiple of the header. */
export const isSmallNest = ({ header, body }: Pick<Question, 'header' | 'body'>, ctx: PassContext): boolean =>
  body < header * Number(ctx.knob('MaxMidHeaderSizeRateForAggressiveHoist'));

/** How much hoisting out of a block may cost. */
export function hoistBudget(q: Question, ctx: PassContext): number {
  let budget = Number(ctx.knob('HoistBudget') ?? BUDGET);
  const wide = Number(ctx.knob('HoistCBOMode') ?? 0) >= WIDE_MODE;
  if (q.alone)
    budget = Number(ctx.knob('HoistLoopInvBudget') ?? (wide ? WIDE[q.run === 0 ? 0 : 1] : q.budget));
  if (q.run === LAST_RUN) budget *= LAST_RUN_SCALE;
  budget /= q.latches;
  return q.inner ? budget / Number(ctx.knob('Knob380') ?? INNER_DIVISOR) : budget;
}

/**
 * Is hoisting the invariants of a block worth it? Their points times the budget must reach the penalty of the slow results in the block,
 * for as much as the block, or the loop, weighs.
 */
export function isWorthHoisting(
  block: readonly Instr[],
  isInvariant: (at: number) => boolean,
  q: Question,
  ctx: PassContext,
): boolean {
  const points = q.safe ? POINTS.safe : POINTS.unsafe;
  const light = points.light[q.run === 0 ? 0 : 1];
  let score = 0;
  let penalty = 0;
  block.forEach((x, at) => {
    penalty += penaltyOf(x);
    if (isInvariant(at)) score += isLight(x) ? light : 1 + points.slow * slowResults(x);
  });
  const size = q.run === 0 ? points.slow * block.length : q.body / BODY_DIVISOR + q.header;
  return size > 0 && (score * hoistBudget(q, ctx)) / (points.slow * size) >= penalty;
}
