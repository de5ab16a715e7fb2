/** A sweep in parts, as a batch engine is to run it. */
export interface ShardedSweep {
  /** Name of the job: what the engines all take, see `jobName`. */
  readonly name: string;
  /** The experiment, as the command in `command` is to be told it. */
  readonly file: string;
  /** Beginning of the names of what the sweep writes. */
  readonly stem: string;
  /** How orrery is called, in words of a POSIX shell. */
  readonly command: string;
  readonly shards: number;
  /** Worker threads of each shard. */
  readonly jobs: number;
  /** Further options of each shard, in words of a POSIX shell; '' for none. */
  readonly options: string;
}

/** A text as one word of a POSIX shell (POSIX.1-2017, Shell Command Language, 2.2.2). */
export const shellWord = (s: string): string =>
  /^[\w@%+=:,./-]+$/.test(s) ? s : `'${s.replaceAll("'", "'\\''")}'`;

/** Longest name of a Kubernetes object whose pods get names from it (RFC 1123 label: 63, less what the index and a hash take). */
const LONGEST_NAME = 45;

/** A name that Slurm, Kubernetes and GitHub take: letters in lower case, digits and `-`, as RFC 1123 has labels. */
export const jobName = (text: string): string =>
  text
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, '-')
    .slice(0, LONGEST_NAME)
    .replace(/^-+|-+$/g, '') || 'sweep';

/** The command of one shard; `shard` is its number from 1, in words that stand between double quotes of a shell. */
export const shardCommand = (s: ShardedSweep, shard: string): string =>
  [
    `${s.command} sweep ${shellWord(s.file)} --shard "${shard}/${s.shards}"`,
    ...(s.jobs === 1 ? [] : [`-j ${s.jobs}`]),
    ...(s.options === '' ? [] : [s.options]),
  ].join(' ');

/** File that a shard writes; `shard` is its number from 1, in whatever way it is written. */
export const shardFile = (s: ShardedSweep, shard: string): string =>
  `${s.stem}.results.${shard}-of-${s.shards}.jsonl`;

/** The command that joins the shards. */
export const mergeCommand = (s: ShardedSweep): string =>
  // The pattern is for the shell, what is before it is not.
  `${s.command} merge ${shellWord(s.file)} ${shellWord(`${s.stem}.results.`)}*-of-${s.shards}.jsonl`;
