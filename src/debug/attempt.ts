import type { PrefixCache } from '../engine/cache.ts';
import type { PhaseRecord } from '../engine/journal.ts';
import { type PipelineOptions, runPipeline } from '../engine/pipeline.ts';
import { type Where, whereOf } from '../engine/where.ts';
import { DiagnosticError } from '../ir/diagnostic.ts';
import type { Program } from '../ir/program.ts';
import { GOOD, type Judge, kindOfMessage, type Subject, type Verdict } from './judge.ts';

/** A run of a plan that may have stopped midway. */
export interface Attempt {
  /** Records of the completed phases. */
  readonly records: readonly PhaseRecord[];
  /** The program after the last of them. */
  readonly last: Program;
  /** What stopped the run; GOOD if nothing did. */
  readonly fault: Verdict;
  /** Where it stopped. */
  readonly where: Where | null;
  /** The error thrown. */
  readonly error: unknown;
}

/** Runs a plan; a pass that throws, or a program that the verifier rejects, is a failure like any other. */
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

/** A failure of the run itself. */
export function faultOf(e: unknown): Verdict {
  const invalid = e instanceof DiagnosticError;
  const [d] = invalid ? e.diagnostics : [];
  const message = d !== undefined ? d.message : e instanceof Error ? e.message : String(e);
  const what = invalid ? (d?.code === 'phase-fault' ? 'invalid program' : 'error') : 'internal fault';
  const where = whereOf(e);
  const at =
    where === null ? '' : ` in phase ${where.phase}${where.fn === null ? '' : `, function ${where.fn}`}`;
  // The first note contains the verifier's finding, which the message lacks.
  const note = invalid && d?.code === 'phase-fault' ? (d.notes?.[0] ?? '') : '';
  return {
    state: 'bad',
    kind: `${what}: ${kindOfMessage(`${message} ${note.replace(/^.*?: /, '')}`)}`,
    // Some messages contain the place themselves.
    text: `${what}${where !== null && message.includes(`phase ${where.phase}`) ? '' : at}: ${message}${note === '' ? '' : ` (${note})`}`,
    notes: d?.code === 'rules-diverge' ? (d.notes ?? []) : [],
  };
}

/** Where the results of phases are kept, for runs of one program by several plans. */
export interface Kept {
  readonly of: PrefixCache;
  /** Identifies the program. */
  readonly key: string;
}

/** Runs the whole plan and judges the result. */
export async function outcome(
  subject: Subject,
  judge: Judge,
  verify: boolean,
  cache?: Kept,
): Promise<Verdict> {
  const a = attempt(subject, { verify }, cache);
  return a.fault.state === 'good' ? judge.judge(subject, a.last) : a.fault;
}
