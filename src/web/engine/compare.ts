import { paramBase } from '../../core.ts';
import { inexactness } from '../../engine/inexact.ts';
import type { Program } from '../../ir/program.ts';
import { judgeKernel } from '../../judge/judge.ts';
import { improves, metricOf } from '../../lab/metrics.ts';
import { planDifferences } from '../../lab/plan-differences.ts';
import { functionsOf, staticValues } from '../../lab/statics.ts';
import { firstDifference } from '../../lab/why.ts';
import type { Plan } from '../../spec/plan.ts';
import type { Comparison, EqualRow, KernelComparison, MetricRow } from '../protocol.ts';
import type { Source } from '../recording.ts';
import type { Ran, Session } from './session.ts';

/**
 * Compares two plans over their programs: the differences between the plans, and their effect on each kernel that both programs have.
 *
 * @throws DiagnosticError with the faults of either source
 */
export function compareSources(session: Session, a: Source, b: Source): Comparison {
  const [x, y] = [session.row(a), session.row(b)];
  const [p, q] = [session.ran(a), session.ran(b)];
  const kernels = p.journal.last.functions.flatMap((f) => {
    const there = q.journal.last.functions.some((g) => g.kind === 'entry' && g.name === f.name);
    return f.kind === 'entry' && there ? [kernelOf(f.name, p, q)] : [];
  });
  return {
    a: x,
    b: y,
    rows: session.recorder.take(),
    differences: planDifferences(p.plan, q.plan),
    kernels,
  };
}

function kernelOf(kernel: string, p: Ran, q: Ran): KernelComparison {
  const [from, to] = [p.journal.last, q.journal.last];
  const [f, g] = [from, to].map((x) => x.functions.find((fn) => fn.name === kernel)!);
  const [a, b] = [staticValues(from, f, p.plan.backend), staticValues(to, g, q.plan.backend)];
  const names = new Set([...functionsOf(from, f), ...functionsOf(to, g)].map((fn) => fn.name));
  const why = firstDifference(p.journal, q.journal, names);
  return {
    kernel,
    metrics: Object.keys(a).flatMap((name) => metricRow(name, a[name], b[name])),
    first: why === null ? null : { phase: why.phase, a: why.a, b: why.b, because: why.because },
    equal: equalRow(from, to, kernel, q.plan),
  };
}

function metricRow(name: string, a: number, b: number): MetricRow[] {
  const m = metricOf(name);
  // A metric that is zero in both programs is not shown.
  if (m === undefined || (a === 0 && b === 0)) return [];
  const verdict = a === b ? 'same' : improves(m, a, b) ? 'helped' : 'HURT';
  return [{ name, title: m.title, unit: m.unit, a, b, verdict }];
}

/** Whether a kernel behaves alike in two programs. */
export function equalRow(before: Program, after: Program, kernel: string, plan: Plan): EqualRow {
  const r = judgeKernel(before, after, kernel, paramBase(plan), {
    inexact: inexactness(plan, before).length > 0,
  });
  const text = r.same
    ? `the same memory in open worlds, ${r.executed} warp instructions${r.partial ? ', as far as the budget went' : ''}${r.raced ? ', with one warp: its results depend on the order of threads' : ''}`
    : (r.differences[0] ?? 'it does something else');
  return { kernel, same: r.same, text };
}

/** For each kernel of a source, whether it behaves alike before and after the plan. */
export function equalRows(session: Session, source: Source): EqualRow[] {
  const { journal, plan } = session.ran(source);
  return journal.input.functions.flatMap((f) =>
    f.kind === 'entry' ? [equalRow(journal.input, journal.last, f.name, plan)] : [],
  );
}
