import { type Launch, type LaunchResult, paramBase, readLaunch } from '../../core.ts';
import type { Program } from '../../ir/program.ts';
import type { Counters } from '../../sim/counters.ts';
import { bufferTexts, compareBuffers, runLaunch } from '../../sim/launch.ts';
import type { BufferRow, LaunchRow, SimulateAsk, Simulated } from '../protocol.ts';
import type { Session } from './session.ts';

/** Maximum number of elements of a buffer that are shown. */
const SHOWN = 256;
/** Budget of a run on a page in warp instructions: a minute on a fast machine. */
const BUDGET = 50_000_000;

/**
 * Runs a launch before and after the plan.
 *
 * @throws DiagnosticError with the faults of the source or the launch
 */
export function simulateSource(session: Session, { source, launch: text, data }: SimulateAsk): Simulated {
  const { journal, plan } = session.ran(source);
  const launch = readLaunch(text, session.data.shipped, (name) => data[name] ?? null, 'launch.yaml');
  const run = (p: Program): LaunchResult =>
    runLaunch(p, plan.isa, launch, paramBase(plan), { counters: true, budget: BUDGET });
  const [before, after] = [run(journal.input), run(journal.last)];
  const names =
    journal.input.functions.find((f) => f.name === launch.kernel)?.params.map((p) => p.name) ?? [];
  const row = (r: LaunchResult) => launchRow(r, launch, names);
  return {
    kernel: launch.kernel,
    lowered: row(before),
    optimized: row(after),
    same:
      before.status === after.status &&
      before.buffers.every((b, i) => sameBytes(b, after.buffers[i] ?? null)),
  };
}

const sameBytes = (a: Uint8Array | null, b: Uint8Array | null): boolean =>
  a === b || (a !== null && b !== null && a.length === b.length && a.every((v, i) => v === b[i]));

function launchRow(r: LaunchResult, launch: Launch, names: readonly string[]): LaunchRow {
  return {
    status: r.status,
    error: r.error,
    buffers: launch.params.flatMap((p, k): BufferRow[] => {
      const after = r.buffers[k];
      if (p.kind !== 'buffer' || after === null || after === undefined) return [];
      return [
        {
          param: k,
          name: names[k] ?? '',
          type: p.type,
          length: p.length,
          before: bufferTexts(p.bytes, p.type, SHOWN),
          after: bufferTexts(after, p.type, SHOWN),
          expected: p.expect === null ? null : bufferTexts(p.expect, p.type, SHOWN),
          wrong: p.expect === null ? 0 : compareBuffers(k, p.type, p.expect, after, p.tolerance).count,
        },
      ];
    }),
    counters: r.counters === null ? [] : counterRows(r.counters),
    blocks: r.counters?.blocks ?? {},
    output: r.output,
  };
}

const counterRows = (c: Counters): { name: string; value: number }[] => [
  { name: 'warp instructions', value: c.warpInstructions },
  { name: 'thread instructions', value: c.threadInstructions },
  { name: 'divergent branches', value: c.divergentBranches },
  { name: 'waits at barriers', value: c.barrierWaits },
  ...Object.entries(c.transactions).map(([space, value]) => ({ name: `transactions, ${space}`, value })),
  ...Object.entries(c.byUnit).map(([unit, { warp }]) => ({
    name: `warp instructions, ${unit}`,
    value: warp,
  })),
];
