import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { host, runPipeline } from '../src/engine/pipeline.ts';
import type { Program } from '../src/ir/program.ts';
import { verifyMessage, verifyProgram } from '../src/ir/verify.ts';
import { lowerPtx } from '../src/ptx/lower/index.ts';
import { parsePtx } from '../src/ptx/parse.ts';
import { runLaunch } from '../src/sim/launch.ts';
import { loadShipped, makePlan } from '../src/spec/node.ts';
import { loadLaunch } from '../src/spec/node-launch.ts';
import type { Plan } from '../src/spec/plan.ts';

/*
 * Every test kernel gives what the host computed: as lowered, and after every phase that changed it, at every level, for
 * every target it was compiled for, in both shipped orders.
 */
const root = fileURLToPath(new URL('./kernels/', import.meta.url));
const SMS = ['sm_75', 'sm_80', 'sm_90'];
const LEVELS = [0, 1, 2, 3, 4, 5];
const ORDERS = ['seed', 'binary'];
const specs = await loadShipped();
const plans = new Map<string, Plan>();
for (const sm of SMS)
  for (const order of ORDERS)
    for (const level of LEVELS) {
      const { plan, diagnostics } = await makePlan(
        { level, sm, order, recipe: null, knobSets: [], set: [], disable: [] },
        host,
        specs,
      );
      expect(diagnostics).toEqual([]);
      plans.set(`${sm} ${order} ${level}`, plan!);
    }

const kernels = readdirSync(root, { withFileTypes: true })
  .filter((d) => d.isDirectory() && readdirSync(`${root}${d.name}`).some((f) => /^launch.*\.yaml$/.test(f)))
  .map((d) => d.name);

describe.each(kernels)('%s', (name) => {
  const dir = `${root}${name}/`;
  const launches = readdirSync(dir).filter((f) => /^launch.*\.yaml$/.test(f));
  const targets = SMS.filter((sm) => existsSync(`${dir}${name}.${sm}.ptx`));

  it.each(targets)('is right on %s after every phase, at every level, in both orders', async (sm) => {
    const text = readFileSync(`${dir}${name}.${sm}.ptx`, 'utf8');
    const base = Number(plans.get(`${sm} seed 3`)!.backend.facts['param-base']);
    const { isa } = plans.get(`${sm} seed 3`)!;
    const { module, diagnostics } = parsePtx(text, `${name}.${sm}.ptx`);
    expect(diagnostics).toEqual([]);
    const lowered = lowerPtx(module, { isa, paramBase: base, sm });
    expect(lowered.diagnostics).toEqual([]);
    expect(verifyProgram(lowered.program).map(verifyMessage)).toEqual([]);
    // Snapshots that several levels and orders share are run once: passes give the same object where nothing changed.
    const snapshots = new Map<Program, string>([[lowered.program, 'as lowered']]);
    const seen = new Set<string>();
    for (const order of ORDERS)
      for (const level of LEVELS) {
        const journal = runPipeline(lowered.program, plans.get(`${sm} ${order} ${level}`)!, {
          verify: order === 'binary' && level === 3,
        });
        const changes = journal.records.filter((r) => r.blocksChanged > 0);
        const key = changes.map((r) => `${r.phase.id}:${r.instructionsAfter}:${r.blocksChanged}`).join(' ');
        if (seen.has(key)) continue;
        seen.add(key);
        for (const r of changes) snapshots.set(r.program, `-O${level} ${order} after ${r.phase.id}`);
      }
    for (const file of launches) {
      const launch = await loadLaunch(`${dir}${file}`);
      for (const [program, when] of snapshots) {
        const r = runLaunch(program, isa, launch, base, { budget: 5_000_000 });
        expect({ file, when, status: r.status, error: r.error, first: r.mismatches[0] }).toEqual({
          file,
          when,
          status: 'ok',
          error: null,
          first: undefined,
        });
      }
    }
  });
});
