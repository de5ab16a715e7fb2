import type { Program } from '../ir/program.ts';
import { judgeKernel } from '../judge/judge.ts';
import { percentRun } from '../judge/reached.ts';
import { paramBase } from '../read.ts';
import type { Plan } from '../spec/plan.ts';
import type { RulesSpec } from '../spec/types.generated.ts';
import type { KernelMeasure } from './measure.ts';

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
 */
export function equalityOf(input: Program, last: Program, measured: KernelMeasure, plan: Plan): Equality {
  return withInexactness(comparison(input, last, measured, plan), plan);
}

/** Adds to a finding the changes of results that the plan's knobs permit rules to make. Unchanged kernels are exempt. */
export function withInexactness(found: Equality, plan: Plan): Equality {
  if (found.by === 'unchanged') return found;
  const inexact = inexactness(plan).map((n) => (found.ok ? `although ${n}` : n));
  return { ...found, note: [...(found.note === '' ? [] : [found.note]), ...inexact].join('; ') };
}

/** Like `equalityOf`, but without notes on inexact rules, so that plans with the same code share the finding. */
export function comparison(input: Program, last: Program, measured: KernelMeasure, plan: Plan): Equality {
  const bad = measured.launches.find((l) => !l.ok);
  if (bad !== undefined) return { ok: false, by: 'launch', note: `${bad.file}: ${bad.why}` };
  if (measured.launches.some((l) => l.expects)) return { ok: true, by: 'launch', note: '' };
  if (input === last) return { ok: true, by: 'unchanged', note: '' };
  const r = judgeKernel(input, last, measured.kernel, paramBase(plan));
  const limits = [
    ...(r.partial ? ['as far as the budget went'] : []),
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
  const those =
    kernels.length === 1 ? '1 of them only where it' : `${kernels.length} of them only where they`;
  return `${those} ran: of ${worst.kernel} ${worst.ran} % of the blocks${kernels.length > 1 ? ', the least' : ''}`;
}

const KNOB = /\bknob\(\s*(\w+)\s*\)/g;

/** For each active rule group with inexact rules: a text with the knobs that enable it and the declared changes of results. */
function inexactness(plan: Plan): string[] {
  return [...plan.rules.values()].flatMap(({ data }) => {
    const { when = '', rules } = data as unknown as RulesSpec.Rules;
    const on = [...when.matchAll(KNOB)].map((m) => m[1]).filter((k) => Boolean(plan.knobs.get(k)?.value));
    const how = new Set(rules.flatMap((r) => r.inexact ?? []));
    return on.length === 0 || how.size === 0
      ? []
      : [`knob ${on.join(', ')} lets rules change results: ${[...how].join('; ')}`];
  });
}

/** Knobs that enable rules which change results, whether they are set or not. */
export const inexactKnobs = (plan: Plan): ReadonlySet<string> =>
  new Set(
    [...plan.rules.values()].flatMap(({ data }) => {
      const { when = '', rules } = data as unknown as RulesSpec.Rules;
      return rules.some((r) => r.inexact !== undefined) ? [...when.matchAll(KNOB)].map((m) => m[1]) : [];
    }),
  );
