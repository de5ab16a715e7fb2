import { fileWord } from '../../ir/quote.ts';

/** A sweep that is split into shards for a batch system. */
export interface ShardedSweep {
  /** Name of the job, valid for all batch systems; see `jobName`. */
  readonly name: string;
  /** The experiment, as an argument for `command`. */
  readonly file: string;
  /** Prefix of the files that the sweep writes. */
  readonly stem: string;
  /** The orrery command, as words of a POSIX shell. */
  readonly command: string;
  readonly shards: number;
  /** Worker threads of each shard. */
  readonly jobs: number;
  /** Additional options of each shard, as words of a POSIX shell; '' for none. */
  readonly options: string;
}

/** Maximum length of the name of a Kubernetes object whose pods are named after it (RFC 1123 label: 63, minus the index and a hash). */
const LONGEST_NAME = 45;

/** A name valid for Slurm, Kubernetes and GitHub: lower-case letters, digits and `-`, as in RFC 1123 labels. */
export const jobName = (text: string): string =>
  text
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, '-')
    .slice(0, LONGEST_NAME)
    .replace(/^-+|-+$/g, '') || 'sweep';

/** The command of one shard; `shard` is its number from 1, as text inside double quotes of a shell. */
export const shardCommand = (s: ShardedSweep, shard: string): string =>
  [
    `${s.command} sweep ${fileWord(s.file)} --shard "${shard}/${s.shards}"`,
    ...(s.jobs === 1 ? [] : [`-j ${s.jobs}`]),
    ...(s.options === '' ? [] : [s.options]),
  ].join(' ');

/** The file that a shard writes; `shard` is its number from 1, in any notation. */
export const shardFile = (s: ShardedSweep, shard: string): string =>
  `${s.stem}.results.${shard}-of-${s.shards}.jsonl`;

/** The command that merges the shards. */
export const mergeCommand = (s: ShardedSweep): string =>
  // The shell must expand the pattern, but not what precedes it.
  `${s.command} merge ${fileWord(s.file)} ${fileWord(`${s.stem}.results.`)}*-of-${s.shards}.jsonl`;
