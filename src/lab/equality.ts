import { inexactness } from '../engine/inexact.ts';
import type { Program } from '../ir/program.ts';
import { judgeKernel } from '../judge/judge.ts';
import { percentRun } from '../judge/reached.ts';
import { paramBase } from '../read.ts';
import type { Plan } from '../spec/plan.ts';
import type { KernelMeasure, MeasureOptions } from './measure.ts';

/** A finding on whether a kernel still behaves as before, and how it was determined. */
export interface Equality {
  readonly ok: boolean;
  readonly by: 'unchanged' | 'launch' | 'open world' | 'ptxas';
  /** For a kernel that differs, the difference; otherwise limits of the finding ('as far as the budget went'), or ''. */
  readonly note: string;
  /** For a kernel that was compared in open worlds and not all of whose blocks ran: percent of its blocks that ran. */
  readonly ran?: number;
}

/**
 * Compares a kernel with its version before any phase: by its launches if any of them states expected results, otherwise in open worlds.
 *
 * @param input the module as lowered
 * @param last the module after all phases
 * @param measured the kernel in `last`, whose launches have already run
 * @param tell called before each open world
 */
export function equalityOf(
  input: Program,
  last: Program,
  measured: KernelMeasure,
  plan: Plan,
  tell?: MeasureOptions['tell'],
): Equality {
  return withInexactness(comparison(input, last, measured, plan, tell), plan, input);
}

/** Adds to a finding the changes of results that the plan's knobs permit rules to make. Unchanged kernels are exempt. */
export function withInexactness(found: Equality, plan: Plan, input: Program): Equality {
  if (found.by === 'unchanged') return found;
  const inexact = inexactness(plan, input).map((n) => (found.ok ? `although ${n}` : n));
  return { ...found, note: [...(found.note === '' ? [] : [found.note]), ...inexact].join('; ') };
}

/** Like `equalityOf`, but without notes on inexact rules, so that plans with the same code share the finding. */
export function comparison(
  input: Program,
  last: Program,
  measured: KernelMeasure,
  plan: Plan,
  tell?: MeasureOptions['tell'],
): Equality {
  const bad = measured.launches.find((l) => !l.ok);
  if (bad !== undefined) return { ok: false, by: 'launch', note: `${bad.file}: ${bad.why}` };
  const expecting = measured.launches.filter((l) => l.expects);
  if (expecting.length > 0)
    return {
      ok: true,
      by: 'launch',
      note: [...new Set(expecting.map((l) => l.tolerance))].filter((t) => t !== '').join(', '),
    };
  if (input === last) return { ok: true, by: 'unchanged', note: '' };
  const r = judgeKernel(input, last, measured.kernel, paramBase(plan), {
    inexact: inexactness(plan, input).length > 0,
    goOn: (world) => {
      tell?.(`${world}: ${measured.kernel}`);
      return true;
    },
  });
  const limits = [
    ...(r.partial ? ['as far as the budget went'] : []),
    ...(r.approximate ? ['within the tolerance of fused products'] : []),
    ...(r.raced ? ['with fewer threads or one lane at a time, since its result depends on their order'] : []),
  ];
  const { reached } = r;
  return {
    ok: r.same,
    by: 'open world',
    note: r.same ? limits.join(', ') : (r.differences[0] ?? ''),
    ...(r.same && reached.blocks < reached.allBlocks && { ran: percentRun(reached) }),
  };
}

/** A kernel not all of whose blocks ran, and the percent of its blocks that ran. */
export interface PartlyRun {
  readonly kernel: string;
  readonly ran: number;
}

/** Text that follows the number of equal kernels and says which of them were compared only in part; '' if all ran in full. */
export function unreachedWords(kernels: readonly PartlyRun[]): string {
  if (kernels.length === 0) return '';
  const worst = kernels.reduce((a, b) => (b.ran < a.ran ? b : a));
  const which = kernels.length > 1 ? 'worst: ' : '';
  return `${kernels.length} of them left blocks unrun (${which}${worst.kernel}, ${worst.ran} % of its blocks ran)`;
}
