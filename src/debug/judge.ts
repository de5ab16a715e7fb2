import { inexactness } from '../engine/inexact.ts';
import type { Program } from '../ir/program.ts';
import { type Judgement, judgeKernel } from '../judge/judge.ts';
import type { PtxModule } from '../ptx/ast.ts';
import { paramBase } from '../read.ts';
import type { Plan } from '../spec/plan.ts';

/** A program as read, and the plan that breaks it. */
export interface Subject {
  readonly program: Program;
  /** The module from which it was lowered; null for Ori text. */
  readonly module: PtxModule | null;
  readonly plan: Plan;
}

/** The result of judging a program. */
export interface Verdict {
  /** `unclear`: the program could not be judged, so it shows nothing. */
  readonly state: 'good' | 'bad' | 'unclear';
  /** The kind of failure; failures of equal kind count as the same. '' if the program is good. */
  readonly kind: string;
  /** A message for the user. */
  readonly text: string;
  /** Additional lines. */
  readonly notes?: readonly string[];
}

/** The verdict on a correct program. */
export const GOOD: Verdict = { state: 'good', kind: '', text: '' };

/** Decides whether a program that phases produced from a subject is correct. */
export interface Judge {
  /** The criterion, as in `good by WHAT`. */
  readonly what: string;
  /** True if it compares with the input, which then is good by definition. */
  readonly comparesInput?: boolean;
  readonly judge: (subject: Subject, after: Program) => Verdict | Promise<Verdict>;
}

/** The first line of a message with numbers replaced by `#`, because they differ between runs and between a program and a smaller one. */
export const kindOfMessage = (message: string): string =>
  message.split('\n')[0].replace(/0x[0-9a-f]+|\d+/gi, '#');

/**
 * Suffix of the kind if the fault was found with fewer threads or lane by lane, because the result with all threads depends on their order.
 */
export const RACED = ' when run with fewer threads or one lane at a time';

/** The judge that compares every kernel with its version before any phase, in open worlds (`judgeKernel`). */
export const openWorlds: Judge = openWorldsWithin(null);

/**
 * Like `openWorlds`, for reducing a program: a candidate must not run longer than the original did, because one that exhausts the budget
 * takes long and shows little.
 */
export async function openWorldsAsLongAs(subject: Subject, after: Program): Promise<Judge> {
  let executed = 0;
  let partial = false;
  await openWorldsWithin(null, (r) => {
    executed = Math.max(executed, r.longest);
    partial ||= r.partial;
  }).judge(subject, after);
  return partial ? openWorlds : openWorldsWithin(Math.max(executed, LEAST_BUDGET));
}

/** Minimum budget of a candidate, in warp instructions. */
const LEAST_BUDGET = 2000;

/** @param budget maximum warp instructions of a run, beyond which the verdict is unclear; null: the default of checks */
function openWorldsWithin(budget: number | null, tell: (r: Judgement) => void = () => {}): Judge {
  const judge: Judge['judge'] = ({ program, plan }, after) => {
    const limits = plan.backend.facts.limits as { 'threads-per-sm'?: number } | undefined;
    const threadsPerSm = limits?.['threads-per-sm'];
    const inexact = inexactness(plan, program).length > 0;
    for (const { kind, name } of program.functions) {
      if (kind !== 'entry') continue;
      if (after.functions.every((f) => f.name !== name))
        return { state: 'bad', kind: 'kernel is gone', text: `${name} is gone` };
      const r = judgeKernel(program, after, name, paramBase(plan), {
        threadsPerSm,
        inexact,
        ...(budget !== null && { budget }),
      });
      tell(r);
      if (budget !== null && r.partial)
        return {
          state: 'unclear',
          kind: '',
          text: `${name} takes longer than the original program`,
        };
      if (r.same) continue;
      const [first] = r.differences;
      return { state: 'bad', kind: `${r.kind}${r.raced ? RACED : ''}`, text: `${name}: ${first}` };
    }
    return GOOD;
  };
  return { what: 'open worlds', comparesInput: true, judge };
}
