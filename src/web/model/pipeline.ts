import type { PhaseRow } from '../recording.ts';

/** A row of the list of phases: the head of a stage, a phase, or a fold of phases that changed nothing. */
export type PipelineRow =
  | { readonly kind: 'stage'; readonly stage: number; readonly phases: number; readonly changed: number }
  | { readonly kind: 'phase'; readonly at: number }
  | { readonly kind: 'fold'; readonly from: number; readonly to: number; readonly skipped: number };

/** Names of the stages of the phase table, from the comments that head them (pipelines/phases.yaml). */
export const STAGES: Readonly<Record<number, string>> = {
  1: 'Set-up',
  2: 'Early optimization',
  3: 'Middle optimization',
  4: 'Late optimization',
  5: 'Scheduling, registers',
  6: 'Layout, encoding',
  7: 'Workers and hooks',
};

export const changes = (p: PhaseRow): boolean => p.program !== null;

/** Minimum number of unchanged phases for a fold. */
const FOLDED_FROM = 2;

/**
 * The rows of the list of phases.
 *
 * @param wanted phases that are never folded: the selected one, search results, a moved one
 * @param open indices of phases whose folds are open
 * @param only whether to show only wanted phases
 */
export function pipelineRows(
  phases: readonly PhaseRow[],
  wanted: (p: PhaseRow, at: number) => boolean,
  open: ReadonlySet<number>,
  only: boolean,
): PipelineRow[] {
  const out: PipelineRow[] = [];
  let stage = -1;
  const heads = headsOf(phases);
  for (let i = 0; i < phases.length; ) {
    const p = phases[i];
    if (heads.has(i)) {
      stage = p.stage;
      const own = phases.filter((x) => x.stage === stage);
      out.push({ kind: 'stage', stage, phases: own.length, changed: own.filter(changes).length });
    }
    if (wanted(p, i)) {
      out.push({ kind: 'phase', at: i++ });
      continue;
    }
    let end = i;
    while (end < phases.length && !wanted(phases[end], end) && !(end > i && heads.has(end))) end++;
    if (!only) fold(out, phases, i, end, open);
    i = end;
  }
  // A search shows no stage without results.
  return only ? out.filter((r, i) => r.kind !== 'stage' || out[i + 1]?.kind === 'phase') : out;
}

/** Stage of the rows that the table lists last, although orders run them anywhere. */
const WORKERS = 7;

/**
 * Indices at which stages begin. Phases out of sequence, such as moved ones, begin none: stages are taken from a longest subsequence of
 * phases with ascending stages.
 */
function headsOf(phases: readonly PhaseRow[]): ReadonlySet<number> {
  // By stage: the longest subsequence that ends in it, as the indices where stages begin.
  const best: { length: number; heads: readonly number[] }[] = Array.from({ length: WORKERS }, () => ({
    length: 0,
    heads: [],
  }));
  phases.forEach(({ stage }, i) => {
    if (stage >= WORKERS || stage < 0) return;
    let from = best[stage];
    let begins = from.length === 0;
    for (const b of best.slice(0, stage)) if (b.length > from.length) [from, begins] = [b, true];
    best[stage] = { length: from.length + 1, heads: begins ? [...from.heads, i] : from.heads };
  });
  return new Set(best.reduce((x, y) => (y.length > x.length ? y : x)).heads);
}

function fold(
  out: PipelineRow[],
  phases: readonly PhaseRow[],
  from: number,
  to: number,
  open: ReadonlySet<number>,
): void {
  const shown = open.has(from) || to - from < FOLDED_FROM;
  if (to - from >= FOLDED_FROM) {
    const skipped = phases.slice(from, to).filter((p) => !p.ran).length;
    out.push({ kind: 'fold', from, to, skipped });
  }
  if (shown) for (let i = from; i < to; i++) out.push({ kind: 'phase', at: i });
}
