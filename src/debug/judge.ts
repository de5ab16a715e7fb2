import type { Program } from '../ir/program.ts';
import type { PtxModule } from '../ptx/ast.ts';
import { paramBase } from '../read.ts';
import { type OpenComparison, sameOpenWorld } from '../sim/open-world.ts';
import type { Plan } from '../spec/plan.ts';

/** A program as it was read, and the plan that makes something wrong of it. */
export interface Subject {
  readonly program: Program;
  /** The module that it was lowered from; null for Ori text. */
  readonly module: PtxModule | null;
  readonly plan: Plan;
}

/** What is said of a program. */
export interface Verdict {
  /** `unclear`: it cannot be told, so that this program proves nothing. */
  readonly state: 'good' | 'bad' | 'unclear';
  /** Names the kind of failure; two with one kind are taken for the same. '' for what is good. */
  readonly kind: string;
  /** For people. */
  readonly text: string;
  /** More of it, line by line. */
  readonly notes?: readonly string[];
}

export const GOOD: Verdict = { state: 'good', kind: '', text: '' };

/** Says whether a program that phases made of a subject does what it should. */
export interface Judge {
  /** What it goes by, as in `good by WHAT`. */
  readonly what: string;
  /** It compares with the input, which is good by itself. */
  readonly comparesInput?: boolean;
  readonly judge: (subject: Subject, after: Program) => Verdict | Promise<Verdict>;
}

/** A message without the numbers that differ from run to run, or from program to smaller program. */
export const kindOfMessage = (message: string): string =>
  message.split('\n')[0].replace(/0x[0-9a-f]+|\d+/gi, '#');

/** Behind the kind of what was found with one warp or thread, since the results of more hang on their order. */
export const RACED = ', with one warp or thread';

/** What differs in an open world, as a kind: addresses, bytes and seeds aside. */
function kindOfDifference(text: string, raced: boolean): string {
  const said = text.replace(/^seed \d+: /, '');
  const kind = /^before: /.test(said)
    ? kindOfMessage(said)
    : /^ends before/.test(said)
      ? 'does not end'
      : /^block, warp/.test(said)
        ? 'threads end otherwise'
        : 'memory differs';
  return raced ? `${kind}${RACED}` : kind;
}

/** Compares every kernel with what it was before any phase, in open worlds (`sameOpenWorld`). */
export const openWorlds: Judge = openWorldsWithin(null);

/**
 * The same for what becomes of a program that is made smaller: a candidate may take no longer than the program did, since one that runs
 * into the budget takes long and proves little.
 */
export async function openWorldsAsLongAs(subject: Subject, after: Program): Promise<Judge> {
  let executed = 0;
  let partial = false;
  await openWorldsWithin(null, (r) => {
    executed = Math.max(executed, r.executed);
    partial ||= r.partial;
  }).judge(subject, after);
  return partial ? openWorlds : openWorldsWithin(Math.max(executed, LEAST_BUDGET));
}

/** Warp instructions that any candidate may take. */
const LEAST_BUDGET = 2000;

/** @param budget warp instructions of a run, beyond which nothing can be told; null: as many as a check takes */
function openWorldsWithin(budget: number | null, tell: (r: OpenComparison) => void = () => {}): Judge {
  const judge: Judge['judge'] = ({ program, plan }, after) => {
    const limits = plan.backend.facts.limits as { 'threads-per-sm'?: number } | undefined;
    const threadsPerSm = limits?.['threads-per-sm'];
    for (const { kind, name } of program.functions) {
      if (kind !== 'entry') continue;
      if (after.functions.every((f) => f.name !== name))
        return { state: 'bad', kind: 'kernel is gone', text: `${name} is gone` };
      const r = sameOpenWorld(program, after, name, paramBase(plan), {
        threadsPerSm,
        ...(budget !== null && { budget }),
      });
      tell(r);
      if (budget !== null && r.partial)
        return {
          state: 'unclear',
          kind: '',
          text: `${name} takes longer than the program that it was made of`,
        };
      if (r.same) continue;
      const [first] = r.differences;
      return { state: 'bad', kind: kindOfDifference(first, r.raced), text: `${name}: ${first}` };
    }
    return GOOD;
  };
  return { what: 'open worlds', comparesInput: true, judge };
}
