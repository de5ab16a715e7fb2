// `npm run bench`: what things cost here and now.
//
//     npm run bench                                    everything, over the test kernels
//     npm run bench -- --corpus FOLDER... [--ptxas]    whole files: ours against ptxas, by file and in one process
//     npm run bench -- --phases [--write]              each phase, in nanoseconds an instruction; --write renews src/passes/COST.md

import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { ROOT } from '../spec/node-cache.ts';
import { benchCorpus } from './bench-corpus.ts';
import { benchPhases } from './bench-phases.ts';

const { values } = parseArgs({
  options: {
    corpus: { type: 'string', multiple: true },
    ptxas: { type: 'boolean', default: false },
    phases: { type: 'boolean', default: false },
    write: { type: 'boolean', default: false },
  },
});
const say = (s: string) => process.stdout.write(`${s}\n`);

if (values.corpus !== undefined) await benchCorpus(values.corpus, values.ptxas, say);
else if (values.phases) await benchPhases(values.write, say);
else {
  await import('./bench-engine.ts');
  say('');
  await benchPhases(values.write, say);
  say('');
  await benchCorpus([join(ROOT, 'test', 'kernels')], values.ptxas, say);
}
