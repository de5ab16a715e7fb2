import type { Diagnostic } from '../../ir/diagnostic.ts';
import { type Effect, effectOf, type Wanted } from './effect.ts';
import { type Fires, firesOf } from './fires.ts';
import { type Hint, hintsOf } from './hints.ts';
import { type KernelFigures, kernelFigures } from './kernels.ts';

/**
 * Work that takes too long between two keys. It runs on a thread of its own, over texts that the editor holds (`holdText`), and stops early
 * if nobody waits for it any more.
 */
export type Job =
  /** Everything that `orrery check` says of a file. */
  | { readonly kind: 'check'; readonly path: string }
  /** What the plan does to the kernels of a file. */
  | { readonly kind: 'kernels'; readonly path: string }
  /** What a spec, and each of its edits, does to the kernels of some folders. */
  | {
      readonly kind: 'effect';
      readonly path: string;
      readonly kernels: readonly string[];
      readonly base: string;
    }
  /** How often the rules of a group fire in the kernels of some folders. */
  | {
      readonly kind: 'fires';
      readonly path: string;
      readonly kernels: readonly string[];
      readonly base: string;
    }
  /** What is known of each line of a PTX text. */
  | { readonly kind: 'hints'; readonly path: string };

export interface Results {
  readonly check: readonly Diagnostic[];
  readonly kernels: readonly KernelFigures[];
  readonly effect: readonly Effect[];
  readonly fires: readonly Fires[];
  readonly hints: readonly Hint[];
}

export type ResultOf<J extends Job> = Results[J['kind']];

/** Checks a file of any kind, as `orrery check` does. */
export type Check = (path: string) => Promise<readonly Diagnostic[]>;

/**
 * Does a job. Faults of the input give an empty result: diagnostics report them.
 *
 * @param partial called with what is known so far
 */
export async function runJob(
  job: Job,
  check: Check,
  wanted: Wanted,
  partial: (result: unknown) => void,
): Promise<Results[Job['kind']]> {
  switch (job.kind) {
    case 'check':
      return check(job.path);
    case 'kernels':
      return kernelFigures(job.path);
    case 'effect':
      return effectOf(job.path, job.kernels, job.base, wanted, partial);
    case 'fires':
      return firesOf(job.path, job.kernels, job.base, wanted, partial);
    case 'hints':
      return hintsOf(job.path);
  }
}
