import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { expect, it } from 'vitest';
import { MemoryCache } from '../../src/engine/memory-cache.ts';
import { host, runPipeline } from '../../src/engine/pipeline.ts';
import type { Program } from '../../src/ir/program.ts';
import { verifyMessage, verifyProgram } from '../../src/ir/verify.ts';
import { emitPtx } from '../../src/ptx/emit/index.ts';
import { type PtxDoc, PtxTable } from '../../src/ptx/emit/table.ts';
import { lowerPtx } from '../../src/ptx/lower/index.ts';
import { parsePtx } from '../../src/ptx/parse.ts';
import { runLaunch } from '../../src/sim/launch.ts';
import { loadShipped, makePlan } from '../../src/spec/node.ts';
import { loadLaunch } from '../../src/spec/node-launch.ts';
import type { Plan } from '../../src/spec/plan.ts';
import { runs } from './size.ts';

const root = fileURLToPath(new URL('../kernels/', import.meta.url));
const kernels = readdirSync(root, { withFileTypes: true })
  .filter((d) => d.isDirectory() && readdirSync(`${root}${d.name}`).some((f) => /^launch.*\.yaml$/.test(f)))
  .map((d) => d.name);

/** The default level and order, and all others, of which each kernel takes the next few. */
const DEFAULT = { order: 'binary', level: 3 };
const OTHERS = ['seed', 'binary']
  .flatMap((order) => [0, 1, 2, 3, 4, 5].map((level) => ({ order, level })))
  .filter((o) => o.order !== DEFAULT.order || o.level !== DEFAULT.level);

const specs = await loadShipped();
const table = new PtxTable(specs.ptx!.data as unknown as PtxDoc);

async function planOf(sm: string, order: string, level: number): Promise<Plan> {
  const { plan, diagnostics } = await makePlan(
    { level, sm, order, knobSets: [], set: [], disable: [] },
    host,
    specs,
  );
  expect(diagnostics).toEqual([]);
  return plan!;
}

/** The target for which every snapshot is run; PTX for the other targets differs little. */
const EVERY_SNAPSHOT = 'sm_80';

/** Kernels for which a second run of the default changes the operations, and why. */
const NOT_AT_REST: Readonly<Record<string, string>> = {
  interpreter:
    'leaving SSA (phase 73) joins copies in the order of its names, which are others in the output',
  'late-cleaning':
    'loops that are unrolled in part run once; that their new bounds say so, only phase 22 of the next run finds, once they are folded',
  'matmul-tiled':
    'phase 69 computes sums again where registers are short, which phase 49 of the next run finds in common',
  'warp-vote':
    'phases behind 29 make a vote read a chosen bit; that its extension changes nothing, only phase 29 of the next run finds',
};

/** Number of occurrences of each operation with its modifiers. */
function operationsOf(program: Program): Record<string, number> {
  const counts: Record<string, number> = {};
  for (const { blocks } of program.functions)
    for (const b of blocks)
      for (const { op, mods } of b.ins)
        counts[`${op.name} ${mods}`] = (counts[`${op.name} ${mods}`] ?? 0) + 1;
  return counts;
}

/**
 * Declares the tests that every kernel gives what the host computed: as lowered, after every phase that changed it (for all but one target
 * only after the last phase, unless ORRERY_TEST_SIZE is above 1), and read back from the PTX written then. Each kernel runs at the default
 * level and order, and at `few` of the eleven others, which rotate from kernel to kernel; ORRERY_TEST_SIZE multiplies `few`, and 11 is all.
 * On one target, a second run of the default must not change the operations, except for the kernels of `NOT_AT_REST`.
 */
export function kernelsAreRight(sm: string, few: number): void {
  const plans = new Map<string, Promise<Plan>>();
  const cached = (order: string, level: number): Promise<Plan> => {
    const key = `${order} ${level}`;
    let p = plans.get(key);
    if (p === undefined) plans.set(key, (p = planOf(sm, order, level)));
    return p;
  };
  const count = Math.min(OTHERS.length, runs(few));
  const withTarget = kernels.filter((name) => existsSync(`${root}${name}/${name}.${sm}.ptx`));

  it.each(withTarget)(`%s is right on ${sm}`, async (name) => {
    const dir = `${root}${name}/`;
    const { isa, backend } = await cached(DEFAULT.order, DEFAULT.level);
    const base = Number(backend.facts['param-base']);
    const file = `${name}.${sm}.ptx`;
    const { module, diagnostics } = parsePtx(readFileSync(dir + file, 'utf8'), file);
    expect(diagnostics).toEqual([]);
    const lowered = lowerPtx(module, { isa, paramBase: base, sm });
    expect(lowered.diagnostics).toEqual([]);
    expect(verifyProgram(lowered.program).map(verifyMessage)).toEqual([]);
    const everyOne =
      sm === EVERY_SNAPSHOT || runs(1) > 1 || !existsSync(`${dir}${name}.${EVERY_SNAPSHOT}.ptx`);
    // Snapshots shared by several levels and orders are run once: passes return the same object if nothing changed.
    const snapshots = new Map<Program, string>([[lowered.program, 'as lowered']]);
    const seen = new Set<string>();
    const written = new Set<string>();
    const cache = new MemoryCache();
    let byDefault = lowered.program;
    const first = withTarget.indexOf(name) * count;
    const others = Array.from({ length: count }, (_, n) => OTHERS[(first + n) % OTHERS.length]);
    for (const { order, level } of [DEFAULT, ...others]) {
      const verify =
        order === DEFAULT.order &&
        level === DEFAULT.level &&
        (sm === 'sm_80' || withTarget.indexOf(name) % 4 === 0);
      const plan = await cached(order, level);
      const journal = runPipeline(lowered.program, plan, { verify, inputKey: name, cache });
      if (order === DEFAULT.order && level === DEFAULT.level) byDefault = journal.last;
      const changes = journal.records.filter((r) => r.blocksChanged > 0);
      const key = changes.map((r) => `${r.phase.id}:${r.instructionsAfter}:${r.blocksChanged}`).join(' ');
      if (seen.has(key)) continue;
      seen.add(key);
      for (const r of everyOne ? changes : changes.slice(-1))
        snapshots.set(r.program, `-O${level} ${order} after ${r.phase.id}`);
      const out = emitPtx(journal.last, { table, paramBase: base, module });
      expect(out.diagnostics).toEqual([]);
      if (written.has(out.text)) continue;
      written.add(out.text);
      const read = lowerPtx(parsePtx(out.text, file).module, { isa, paramBase: base, sm }).program;
      expect(read.skipped).toEqual([]);
      snapshots.set(read, `-O${level} ${order} read back`);
    }
    if (sm === EVERY_SNAPSHOT) {
      const again = runPipeline(byDefault, await cached(DEFAULT.order, DEFAULT.level)).last;
      if (NOT_AT_REST[name] === undefined) expect(operationsOf(again)).toEqual(operationsOf(byDefault));
      else expect(operationsOf(again)).not.toEqual(operationsOf(byDefault));
    }
    for (const launchFile of readdirSync(dir).filter((f) => /^launch.*\.yaml$/.test(f))) {
      const launch = await loadLaunch(dir + launchFile);
      for (const [program, when] of snapshots) {
        const r = runLaunch(program, isa, launch, base, { budget: 5_000_000 });
        expect({ launchFile, when, status: r.status, error: r.error, first: r.mismatches[0] }).toEqual({
          launchFile,
          when,
          status: 'ok',
          error: null,
          first: undefined,
        });
      }
      // The same at the default, with random schedules of warps and diverged lanes.
      const r = runLaunch(byDefault, isa, launch, base, { budget: 5_000_000, schedule: first + 1 });
      expect({ launchFile, status: r.status, error: r.error, first: r.mismatches[0] }).toEqual({
        launchFile,
        status: 'ok',
        error: null,
        first: undefined,
      });
    }
  });
}
