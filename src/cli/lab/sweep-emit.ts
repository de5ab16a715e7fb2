import { join, relative, resolve, sep } from 'node:path';
import { fileWord, shellWord } from '../../ir/quote.ts';
import { githubWorkflow, MOST_MATRIX_JOBS } from '../../lab/emit/github.ts';
import { jobName, mergeCommand, type ShardedSweep } from '../../lab/emit/job.ts';
import { kubernetesJob } from '../../lab/emit/kubernetes.ts';
import { slurmScript } from '../../lab/emit/slurm.ts';
import { ROOT } from '../../spec/node-cache.ts';
import { writeWhole } from '../input/files.ts';
import type { CacheOptions } from '../optimize/cache.ts';
import { err, failWith, outExactly } from '../terminal/ui.ts';
import { loadSweep } from './sweep-setup.ts';

const ENGINES = ['slurm', 'k8s', 'github'] as const;
type Engine = (typeof ENGINES)[number];

/** Default number of shards. */
const USUAL_SHARDS = 8;

/** Options of `sweep --emit`. */
export interface EmitCommand extends CacheOptions {
  readonly emit: string;
  readonly shards?: string;
  readonly command?: string;
  readonly image?: string;
  readonly claim?: string;
  readonly output?: string;
}

/** `orrery sweep --emit`: writes the experiment as a job of a batch system, each shard a plain sweep. */
export async function emitSweep(file: string, stem: string, jobs: number, o: EmitCommand): Promise<void> {
  const engine = ENGINES.find((e) => e === o.emit);
  if (engine === undefined)
    return failWith(`--emit ${o.emit} is not known`, `it is one of ${ENGINES.join(', ')}`);
  if (engine !== 'k8s' && (o.image !== undefined || o.claim !== undefined))
    failWith(`--image and --claim are for --emit k8s, not for ${engine}`);
  const { cells } = await loadSweep(file);
  const sweep: ShardedSweep = {
    name: jobName(stem),
    file: fileFor(engine, file),
    stem,
    command: o.command ?? commandOf(engine),
    shards: shardsOf(engine, o.shards, cells.length),
    jobs,
    options: [
      ...(o.cache === undefined ? [] : [`--cache ${shellWord(o.cache)}`]),
      ...(o.cacheLimit === undefined ? [] : [`--cache-limit ${shellWord(o.cacheLimit)}`]),
    ].join(' '),
  };
  const text =
    engine === 'slurm'
      ? slurmScript(sweep, process.cwd())
      : engine === 'k8s'
        ? kubernetesJob(sweep, { image: o.image ?? 'orrery', claim: o.claim ?? 'orrery' })
        : githubWorkflow(sweep);
  if (o.output === undefined) return outExactly(text);
  writeWhole(o.output, text);
  const next = {
    slurm: [`sbatch --wait ${fileWord(o.output)}`, mergeCommand(sweep)],
    k8s: [
      `kubectl apply -f ${fileWord(o.output)}`,
      `kubectl wait --for=condition=complete --timeout=24h job/${sweep.name}`,
      mergeCommand(sweep),
    ],
    github: ['commit it under .github/workflows and run it; it joins the shards itself'],
  };
  err([`${sweep.shards} shards of ${cells.length} cells: ${o.output}`, ...next[engine]].join('\n  '));
}

/** Only Slurm sees the folder of this machine; elsewhere paths are relative to another folder with the same contents. */
function fileFor(engine: Engine, file: string): string {
  const path = relative('.', resolve(file)).split(sep).join('/');
  if (path.includes('\n'))
    failWith('the name of the experiment has a line break, which a job file cannot hold');
  if (engine !== 'slurm' && path.startsWith('../'))
    failWith(
      `${file} is not in this folder`,
      `${engine === 'k8s' ? 'the claim holds' : 'the checkout is'} a folder of its own: run this in the one that it is a copy of`,
    );
  if (engine === 'github' && path.includes('${{'))
    failWith(`${file} cannot be named in a workflow`, "'${{' begins an expression there");
  return path;
}

const commandOf = (engine: Engine): string =>
  ({
    slurm: `node ${shellWord(join(ROOT, 'bin', 'orrery.js'))}`,
    k8s: 'orrery',
    github: 'npx orrery',
  })[engine];

function shardsOf(engine: Engine, text: string | undefined, cells: number): number {
  const n = text === undefined ? Math.min(USUAL_SHARDS, cells) : Number(text);
  if (!Number.isSafeInteger(n) || n < 1)
    failWith(`--shards ${text} is not a number of shards`, 'it is a whole number from 1 up');
  if (n > cells) failWith(`--shards ${n} are more than the ${cells} cells of the experiment`);
  if (engine === 'github' && n > MOST_MATRIX_JOBS)
    failWith(`--shards ${n} are more than the ${MOST_MATRIX_JOBS} jobs that a matrix may make`);
  return n;
}
