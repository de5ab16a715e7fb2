import type { Program } from '../ir/program.ts';
import { judgeKernel } from '../judge/judge.ts';
import { percentRun } from '../judge/reached.ts';
import { paramBase } from '../read.ts';
import type { Plan } from '../spec/plan.ts';
import type { RulesSpec } from '../spec/types.generated.ts';
import type { KernelMeasure } from './measure.ts';

/** Whether a kernel still behaves as before, and how that was determined. */
export interface Equality {
  readonly ok: boolean;
  readonly by: 'unchanged' | 'launch' | 'open world' | 'ptxas';
  /** The difference; for an equal kernel the limits of the finding ('as far as the budget went'), or ''. */
  readonly note: string;
  /** Of a kernel that was compared in open worlds and did not run in full: how much did, in percent of its blocks. */
  readonly ran?: number;
}

/**
 * Compares a kernel with its version before any phase: by its launches if any of them expects
 * something, else in open worlds.
 *
 * @param input the module as it was lowered
 * @param measured the kernel of `last`, whose launches have already run
 */
export function equalityOf(input: Program, last: Program, measured: KernelMeasure, plan: Plan): Equality {
  return withInexactness(comparison(input, last, measured, plan), plan);
}

/** A finding with what the plan's knobs let rules change, which equal code of several plans does not tell. */
export function withInexactness(found: Equality, plan: Plan): Equality {
  if (found.by === 'unchanged') return found;
  const inexact = inexactness(plan).map((n) => (found.ok ? `although ${n}` : n));
  return { ...found, note: [...(found.note === '' ? [] : [found.note]), ...inexact].join('; ') };
}

/** What `equalityOf` finds, whatever the plan's knobs are. */
export function comparison(input: Program, last: Program, measured: KernelMeasure, plan: Plan): Equality {
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

/** A kernel that did not run in full, and how much of it did, in percent of its blocks. */
export interface PartlyRun {
  readonly kernel: string;
  readonly ran: number;
}

/** What findings that kernels are equal leave open, in words that go on behind their number; '' where all ran in full. */
export function unreachedWords(kernels: readonly PartlyRun[]): string {
  if (kernels.length === 0) return '';
  const worst = kernels.reduce((a, b) => (b.ran < a.ran ? b : a));
  const those =
    kernels.length === 1 ? '1 of them only where it' : `${kernels.length} of them only where they`;
  return `${those} ran: of ${worst.kernel} ${worst.ran} % of the blocks${kernels.length > 1 ? ', the least' : ''}`;
}

const KNOB = /\bknob\(\s*(\w+)\s*\)/g;

/** Enabled knobs that activate rules which declare that they change results, and the declared changes. */
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

/** Knobs that let rules change results, set or not. */
export const inexactKnobs = (plan: Plan): ReadonlySet<string> =>
  new Set(
    [...plan.rules.values()].flatMap(({ data }) => {
      const { when = '', rules } = data as unknown as RulesSpec.Rules;
      return rules.some((r) => r.inexact !== undefined) ? [...when.matchAll(KNOB)].map((m) => m[1]) : [];
    }),
  );
