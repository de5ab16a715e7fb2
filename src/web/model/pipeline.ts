import type { PhaseRow } from '../recording.ts';

/** What the list of phases shows: the head of a stage, a phase, or phases that changed nothing, folded. */
export type PipelineRow =
  | { readonly kind: 'stage'; readonly stage: number; readonly phases: number; readonly changed: number }
  | { readonly kind: 'phase'; readonly at: number }
  | { readonly kind: 'fold'; readonly from: number; readonly to: number; readonly skipped: number };

/** Stages of the table of phases, by the comments that head them (pipelines/phases.yaml). */
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

/** Phases that changed nothing are folded from this many on. */
const FOLDED_FROM = 2;

/**
 * The rows of a list of phases.
 *
 * @param wanted phases that are never folded: the selected one, what a search found, a moved one
 * @param open places of phases whose folds are open
 * @param only show nothing but what is wanted
 */
export function pipelineRows(
  phases: readonly PhaseRow[],
  wanted: (p: PhaseRow, at: number) => boolean,
  open: ReadonlySet<number>,
  only: boolean,
): PipelineRow[] {
  const out: PipelineRow[] = [];
  let stage = -1;
  for (let i = 0; i < phases.length; ) {
    const p = phases[i];
    // A few rows of the list of late stages stand earlier in an order: they are shown with their neighbours.
    if (p.stage > stage && p.stage < 7) {
      stage = p.stage;
      const own = phases.filter((x) => x.stage === stage);
      out.push({ kind: 'stage', stage, phases: own.length, changed: own.filter(changes).length });
    }
    if (wanted(p, i)) {
      out.push({ kind: 'phase', at: i++ });
      continue;
    }
    let end = i;
    while (end < phases.length && !wanted(phases[end], end) && !(end > i && heads(phases[end], stage))) end++;
    if (!only) fold(out, phases, i, end, open);
    i = end;
  }
  return out;
}

const heads = (p: PhaseRow, stage: number): boolean => p.stage > stage && p.stage < 7;

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
