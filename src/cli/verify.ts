import { targetName } from '../cubin/functions.ts';
import type { Fn, Program } from '../ir/program.ts';
import { baseTarget } from '../read.ts';
import { loadShipped } from '../spec/node.ts';
import { oneCubin } from './cubin-file.ts';
import { readText } from './files.ts';
import { planFor, programFor } from './input.ts';
import { liftedOf, machineFor } from './lifted.ts';
import { Progress } from './progress.ts';
import { CliExit, failWith, out } from './ui.ts';
import { levelsOf, madeBy } from './verify-code.ts';
import { type Finding, findingOf, type VerifyOptions } from './verify-finding.ts';
import { report, writeLaunch } from './verify-text.ts';

/** `orrery verify`. */
export async function verify(file: string, cubin: string | undefined, o: VerifyOptions): Promise<void> {
  const levels = levelsOf(cubin, o);
  const specs = await loadShipped();
  const text = readText(file);
  const codes =
    cubin === undefined ? madeBy(file, text, levels, o) : [{ name: cubin, elf: oneCubin(cubin, o.sm).elf }];
  const target = targetName(codes[0].elf);
  const plan = await planFor({ sm: baseTarget(target) }, target, specs);
  const { program } = programFor(file, text, plan);
  const machine = await machineFor(target);
  const kernels = program.functions.filter(
    (f) => f.kind === 'entry' && (o.kernel === undefined || f.name === o.kernel),
  );
  if (kernels.length === 0)
    failWith(
      o.kernel === undefined ? `${file} has no kernel` : `${file} has no kernel '${o.kernel}'`,
      ...program.functions.filter((f) => f.kind === 'entry').map((f) => `it has ${f.name}`),
    );
  const progress = new Progress();
  const found: Finding[] = [];
  for (const code of codes)
    for (const kernel of kernels) {
      progress.update(`${code.name}: ${kernel.name}`);
      const lifted = whyNot(program, kernel) ?? liftedOf(code, machine, plan, program, kernel.name);
      found.push(
        typeof lifted === 'string'
          ? { code: code.name, kernel: kernel.name, verdict: 'not compared', notes: [], why: lifted }
          : findingOf(code.name, lifted, kernel, program, plan, o, (world) =>
              progress.update(`${code.name}: ${kernel.name}: ${world}`),
            ),
      );
    }
  progress.done();
  const launch = o.launch === undefined ? null : writeLaunch(o.launch, file, found);
  if (o.json === true)
    out(
      JSON.stringify(
        {
          version: 1,
          file,
          target,
          launch,
          findings: found.map(({ launch: shows, ...f }) => ({ ...f, confirmed: shows !== undefined })),
        },
        null,
        2,
      ),
    );
  else report(file, target, found, launch);
  if (found.some((f) => f.verdict !== 'equal')) throw new CliExit(1);
}

/** Why a kernel cannot be compared in made-up memory; null if it can. */
function whyNot(program: Program, kernel: Fn): string | null {
  for (const fn of [kernel, ...program.functions.filter((f) => f.kind === 'func')])
    for (const b of fn.blocks)
      for (const x of b.ins) {
        const at = `line ${program.locs[x.loc]?.line ?? 0}`;
        if (x.op.name === 'CALL' && x.src[0].sym === '')
          return `it calls a function by a pointer, which made-up memory does not hold (${at})`;
        if (x.op.name.startsWith('FOREIGN'))
          return `an instruction is carried without a meaning: ${x.src[0].sym} (${at})`;
      }
  return null;
}
