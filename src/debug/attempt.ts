import type { PrefixCache } from '../engine/cache.ts';
import type { PhaseRecord } from '../engine/journal.ts';
import { type PipelineOptions, runPipeline } from '../engine/pipeline.ts';
import { type Where, whereOf } from '../engine/where.ts';
import { DiagnosticError } from '../ir/diagnostic.ts';
import type { Program } from '../ir/program.ts';
import { GOOD, type Judge, kindOfMessage, type Subject, type Verdict } from './judge.ts';

/** The result of a run that may have failed before its end. */
export interface Attempt {
  /** Records of the completed phases. */
  readonly records: readonly PhaseRecord[];
  /** The program after the last of them. */
  readonly last: Program;
  /** The failure that stopped the run; GOOD if it completed. */
  readonly fault: Verdict;
  /** Where the run stopped; null if it completed, or the failure was not in a phase. */
  readonly where: Where | null;
  /** The error that was thrown; null if the run completed. */
  readonly error: unknown;
}

/** Runs a plan. Errors thrown by a pass or by the verifier are returned as a failure. */
export function attempt(
  { program, plan }: Subject,
  opts: Pick<PipelineOptions, 'until' | 'verify' | 'rewriteLimit' | 'onRuleHit'> = {},
  cache?: Kept,
): Attempt {
  const records: PhaseRecord[] = [];
  try {
    runPipeline(program, plan, {
      ...opts,
      ...(cache !== undefined && { cache: cache.of, inputKey: cache.key }),
      onPhase: (r) => void records.push(r),
    });
  } catch (e) {
    return {
      records,
      last: records.at(-1)?.program ?? program,
      fault: faultOf(e),
      where: whereOf(e),
      error: e,
    };
  }
  return { records, last: records.at(-1)?.program ?? program, fault: GOOD, where: null, error: null };
}

/** The verdict for an error that a run threw. */
export function faultOf(e: unknown): Verdict {
  const invalid = e instanceof DiagnosticError;
  const [d] = invalid ? e.diagnostics : [];
  const message = d !== undefined ? d.message : e instanceof Error ? e.message : String(e);
  const what = invalid ? (d?.code === 'phase-fault' ? 'invalid program' : 'error') : 'internal fault';
  const where = whereOf(e);
  const at =
    where === null ? '' : ` in phase ${where.phase}${where.fn === null ? '' : `, function ${where.fn}`}`;
  // The message lacks the verifier's finding; it is the first note.
  const note = invalid && d?.code === 'phase-fault' ? (d.notes?.[0] ?? '') : '';
  return {
    state: 'bad',
    kind: `${what}: ${kindOfMessage(`${message} ${note.replace(/^.*?: /, '')}`)}`,
    // Some messages already name the phase.
    text: `${what}${where !== null && message.includes(`phase ${where.phase}`) ? '' : at}: ${message}${note === '' ? '' : ` (${note})`}`,
    notes: d?.code === 'rules-diverge' ? (d.notes ?? []) : [],
  };
}

/** A cache of phase results for runs of one program under several plans. */
export interface Kept {
  readonly of: PrefixCache;
  /** Key of the program in the cache. */
  readonly key: string;
}

/** Runs the whole plan and judges the result; a failed run is a bad verdict. */
export async function outcome(
  subject: Subject,
  judge: Judge,
  verify: boolean,
  cache?: Kept,
): Promise<Verdict> {
  const a = attempt(subject, { verify }, cache);
  return a.fault.state === 'good' ? judge.judge(subject, a.last) : a.fault;
}
