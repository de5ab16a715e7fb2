// `npm run bench`: measures costs on this machine.
//
//     npm run bench                                    everything, over the test kernels
//     npm run bench -- --corpus FOLDER... [--ptxas]    whole files: ours against ptxas, by file and in one process
//     npm run bench -- --phases [--write]              each phase, in nanoseconds per instruction; --write updates src/passes/COST.md
//     npm run bench -- --scale [SHAPE]                 how costs grow: modules, folders, sweeps and clients of many sizes
//     npm run bench -- --contribution [--ptxas] [--write]    what kernels lose without each phase; --write updates CONTRIBUTION.md

import { join } from 'node:path';
import { Command } from 'commander';
import { DiagnosticError, renderDiagnostic } from '../ir/diagnostic.ts';
import { ROOT } from '../spec/node-cache.ts';
import { benchContribution } from './bench-contribution.ts';
import { benchCorpus } from './bench-corpus.ts';
import { benchPhases } from './bench-phases.ts';
import { benchScale } from './bench-scale.ts';

const values = new Command('npm run bench --')
  .description('what things cost here and now; without options everything, over the test kernels')
  .option('--corpus <folder...>', 'whole files: by file and in one process')
  .option('--ptxas', 'and ptxas over the same files')
  .option('--phases', 'each phase, in nanoseconds an instruction')
  .option('--contribution', 'what the test kernels lose without each phase')
  .option(
    '--scale [shape]',
    'how cost grows with modules, folders, sweeps and clients; of all shapes, or of those so named',
  )
  .option(
    '--write',
    'with --phases: renew src/passes/COST.md; with --contribution: src/passes/CONTRIBUTION.md',
  )
  .allowExcessArguments(false)
  .parse()
  .opts<{
    corpus?: string[];
    ptxas?: true;
    phases?: true;
    contribution?: true;
    scale?: string | true;
    write?: true;
  }>();
const [ptxas, write] = [values.ptxas === true, values.write === true];
const say = (s: string) => process.stdout.write(`${s}\n`);

async function run(): Promise<void> {
  if (values.corpus !== undefined) await benchCorpus(values.corpus, ptxas, say);
  else if (values.scale !== undefined) await benchScale(values.scale, say);
  else if (values.contribution === true) await benchContribution(write, ptxas, say);
  else if (values.phases === true) await benchPhases(write, say);
  else {
    await import('./bench-engine.ts');
    say('');
    await benchPhases(write, say);
    say('');
    await benchCorpus([join(ROOT, 'test', 'kernels')], ptxas, say);
  }
}

try {
  await run();
} catch (e) {
  if (!(e instanceof DiagnosticError)) throw e;
  for (const d of e.diagnostics) process.stderr.write(`${renderDiagnostic(d)}\n`);
  process.exitCode = 1;
}
