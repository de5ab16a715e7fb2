// Compares our machine code with that of ptxas over the launches of the test kernels: machine instructions that warps execute, the stalls
// of their control words, instructions of the kernel, and registers. Prints the table of src/codegen/README.md: geometric means of the
// ratios of ours to those of ptxas, for the target that it is given or sm_80; with --launches the ratios of each launch. Kernels that have
// no machine code yet are left out.
import { readdirSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { machineRunner } from '../cli/machine/machine-runner.ts';
import { cubinOf, ptxasPresent } from '../cli/optimize/ptxas-run.ts';
import { compiledKernels, cubinFrom, RECIPE } from '../codegen/module.ts';
import { codePasses } from '../codegen/passes.ts';
import { readCubin } from '../cubin/read.ts';
import { writeElf } from '../cubin/write.ts';
import { runPipeline } from '../engine/pipeline.ts';
import { loadModules, lowerModule } from '../lab/kernels.ts';
import type { Machine } from '../machine/forms.ts';
import { functionWords } from '../machine/listing.ts';
import { mostShared } from '../read.ts';
import { loadShipped, ROOT } from '../spec/node.ts';
import { fitLaunch, loadLaunch } from '../spec/node-launch.ts';
import { loadMachine } from '../spec/node-machine.ts';
import { loadSelection } from '../spec/node-selection.ts';
import { shippedPlan } from './shipped-plan.ts';

const LEVELS = [0, 1, 3] as const;
const COLUMNS = ['executed', 'stalls', 'instructions', 'registers'] as const;

/** Instructions of a kernel without what fills its code up, and its registers. */
function sizeOf(cubin: Uint8Array, kernel: string, machine: Machine): [number, number] {
  const own = functionWords(readCubin(cubin), machine).find((f) => f.fn.name === kernel)!;
  const rows = [...own.code].map((c) => c.instruction?.form.row);
  const last = rows.findLastIndex((row) => row !== 'NOP');
  return [last, own.fn.registers ?? 0];
}

async function compared(sm: string): Promise<{ name: string; level: number; ratios: number[] }[]> {
  const specs = await loadShipped();
  const plan = await shippedPlan(specs, sm, { recipes: [RECIPE] });
  const machine = await loadMachine(sm);
  if (machine === null) throw new Error(`the machine code of ${sm} is not known`);
  const passes = codePasses({ sm, machine, selection: await loadSelection() });
  const run = machineRunner();
  const rows: { name: string; level: number; ratios: number[] }[] = [];
  for (const m of await loadModules([`test/kernels/*/*.${sm}.ptx`], ROOT)) {
    const { program } = lowerModule(m, plan);
    const { last } = runPipeline(program, plan, { snapshots: 'ends', codePasses: passes });
    const made = compiledKernels(last);
    const done = made.flatMap((k) => ('code' in k ? [k] : []));
    if (done.length < made.length) continue;
    const ours = cubinFrom(last, sm, done);
    const theirs = LEVELS.map((level) => {
      const elf = cubinOf(m.text, [`-arch=${sm}`, `-O${level}`]);
      if (typeof elf === 'string') throw new Error(elf);
      return writeElf(elf);
    });
    const folder = join(ROOT, dirname(m.file));
    for (const name of readdirSync(folder).filter((f) => /^launch.*\.yaml$/.test(f))) {
      const launch = await loadLaunch(join(folder, name));
      await fitLaunch(launch, program, mostShared(plan));
      const figures = async (cubin: Uint8Array): Promise<number[]> => {
        const r = await run({ cubin, target: sm, input: program, plan, launch, budget: 200_000_000 });
        if (r === null || r.why !== '')
          throw new Error(`${name} of ${launch.kernel}: ${r?.why ?? 'not run'}`);
        return [r.executed, r.stalls, ...sizeOf(cubin, launch.kernel, machine)];
      };
      const own = await figures(ours);
      for (const [k, level] of LEVELS.entries()) {
        const other = await figures(theirs[k]);
        rows.push({ name: launch.kernel, level, ratios: own.map((x, i) => x / other[i]) });
      }
    }
  }
  return rows;
}

if (!ptxasPresent()) throw new Error('there is no ptxas on PATH');
const rows = await compared(process.argv.find((a) => a.startsWith('sm_')) ?? 'sm_80');
const shown = (ratios: readonly number[]): string => ratios.map((x) => x.toFixed(2)).join(' | ');
console.log(`| ptxas | ${COLUMNS.join(' | ')} |\n|---|${COLUMNS.map(() => '---:|').join('')}`);
for (const level of LEVELS) {
  const own = rows.filter((r) => r.level === level);
  const means = COLUMNS.map((_, i) =>
    Math.exp(own.reduce((n, r) => n + Math.log(r.ratios[i]), 0) / own.length),
  );
  console.log(`| -O${level} | ${shown(means)} |`);
}
console.log(`${rows.length / LEVELS.length} launches`);
if (process.argv.includes('--launches'))
  for (const r of rows) console.log(`${r.name} -O${r.level}: ${shown(r.ratios)}`);
