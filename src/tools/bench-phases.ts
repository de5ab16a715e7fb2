import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { table } from '../cli/terminal/table.ts';
import { countInstructions } from '../engine/journal.ts';
import { runPipeline } from '../engine/pipeline.ts';
import { kernelFiles } from '../lab/files.ts';
import { lowerPtx } from '../ptx/lower/index.ts';
import { parsePtx } from '../ptx/parse.ts';
import { paramBase } from '../read.ts';
import { loadShipped, ROOT } from '../spec/node.ts';
import { shippedPlan } from './shipped-plan.ts';

/** Number of runs over all kernels, and how many of them are warm-ups that do not count for the median. */
const RUNS = 8;
const WARM_UP = 3;

/** The cost of one phase, in nanoseconds per input instruction. */
interface PhaseCost {
  readonly phase: string;
  /** The cost over all kernels in the first run of this process, and the median of the warm runs. */
  readonly cold: number;
  readonly warm: number;
  /** The fraction of instructions in programs that it changed. */
  readonly changed: number;
}

/**
 * Prints the cost of each phase over the test kernels for one target.
 * @param write true to update src/passes/COST.md too
 */
export async function benchPhases(write: boolean, say: (line: string) => void): Promise<void> {
  const costs = await costsOfPhases();
  const sum = (f: (c: PhaseCost) => number): number => costs.reduce((t, c) => t + f(c), 0);
  const rows = costs.map((c) => [
    c.phase,
    c.cold.toFixed(0),
    c.warm.toFixed(0),
    `${(100 * c.changed).toFixed(0)} %`,
  ]);
  rows.push(['all', sum((c) => c.cold).toFixed(0), sum((c) => c.warm).toFixed(0), '']);
  say('phase by phase, ns for each instruction it is given (cold: first run of the process)');
  say(
    table(
      [['  phase', 'cold', 'warm', 'changed'], ...rows.map(([p, ...rest]) => [`  ${p}`, ...rest])],
      'lrrr',
    ),
  );
  if (!write) return;
  const page = join(ROOT, 'src', 'passes', 'COST.md');
  const lines = rows.map((r) => `| ${r.join(' | ')} |`);
  const old = readFileSync(page, 'utf8');
  const [head] = old.split(MARK);
  writeFileSync(
    page,
    `${head}${MARK}\n| phase | cold | warm | changed |\n|---|---:|---:|---:|\n${lines.join('\n')}\n`,
  );
}
const MARK = '<!-- table -->';

async function costsOfPhases(): Promise<PhaseCost[]> {
  const specs = await loadShipped();
  const plan = await shippedPlan(specs, 'sm_80');
  const texts = kernelFiles([join(ROOT, 'test', 'kernels')])
    .filter((f) => f.endsWith('.sm_80.ptx'))
    .map((f) => readFileSync(f, 'utf8'));
  const phases = plan.phases.filter((p) => p.steps.length > 0).map((p) => p.id);
  const times = new Map(phases.map((p) => [p, [] as number[]]));
  const given = new Map(phases.map((p) => [p, 0]));
  const changed = new Map(phases.map((p) => [p, 0]));
  for (let run = 0; run < RUNS; run++) {
    const ms = new Map(phases.map((p) => [p, 0]));
    for (const text of texts) {
      const { program } = lowerPtx(parsePtx(text, 'k.ptx').module, {
        isa: plan.isa,
        paramBase: paramBase(plan),
        sm: 'sm_80',
      });
      let n = countInstructions(program);
      for (const r of runPipeline(program, plan).records) {
        if (!ms.has(r.phase.id)) continue;
        ms.set(r.phase.id, ms.get(r.phase.id)! + r.ms);
        if (run === 0) {
          given.set(r.phase.id, given.get(r.phase.id)! + n);
          if (r.blocksChanged > 0) changed.set(r.phase.id, changed.get(r.phase.id)! + n);
        }
        n = countInstructions(r.program);
      }
    }
    for (const [p, t] of ms) times.get(p)!.push((t * 1e6) / given.get(p)!);
  }
  return phases.map((phase) => {
    const t = times.get(phase)!;
    const warm = t.slice(WARM_UP).sort((a, b) => a - b);
    return {
      phase,
      cold: t[0],
      warm: warm[warm.length >> 1],
      changed: changed.get(phase)! / given.get(phase)!,
    };
  });
}
