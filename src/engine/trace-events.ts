import { largestOf } from '../ir/append.ts';
import type { Journal } from './journal.ts';

/** A time span of a command outside its phases. */
export interface Span {
  readonly name: string;
  /** Milliseconds of `now`. */
  readonly began: number;
  readonly ms: number;
}

/** An event of the trace event format. */
export interface TraceEvent {
  readonly name: string;
  /** X: a span; C: counters; M: a name. */
  readonly ph: 'X' | 'C' | 'M';
  readonly pid: number;
  readonly tid: number;
  /** Microseconds. */
  readonly ts?: number;
  readonly dur?: number;
  readonly cat?: string;
  readonly args: Readonly<Record<string, string | number | boolean>>;
}

/** A file of the trace event format, as `chrome://tracing` and Perfetto read it. */
export interface Trace {
  readonly traceEvents: readonly TraceEvent[];
  readonly displayTimeUnit: 'ms';
  readonly otherData: Readonly<Record<string, string>>;
}

const PID = 1;
const TID = 1;
/** Whole nanoseconds, so that rounding does not make consecutive spans overlap. */
const nanos = (ms: number): number => Math.round(ms * 1e6);
/** Start and length in microseconds. */
const stretch = (from: number, ms: number): { ts: number; dur: number } => ({
  ts: nanos(from) / 1000,
  dur: (nanos(from + ms) - nanos(from)) / 1000,
});

/**
 * Converts a journal to a trace: a span for each phase that ran, nested in one span for all phases, and counters of instructions and, if
 * the run tracked it, of memory. Format: Trace Event Format (Google), with complete, counter and metadata events; times are relative to the
 * first span.
 *
 * @param spans other time spans of the same clock; a span must precede those that it contains
 */
export function traceOf(j: Journal, spans: readonly Span[] = []): Trace {
  const zero = -largestOf(
    spans.map((s) => -s.began),
    -j.began,
  );
  const last = j.records.at(-1);
  const all: Span = { name: 'phases', began: j.began, ms: last === undefined ? 0 : last.began + last.ms };
  const events: TraceEvent[] = [
    { name: 'process_name', ph: 'M', pid: PID, tid: TID, args: { name: 'orrery' } },
    { name: 'thread_name', ph: 'M', pid: PID, tid: TID, args: { name: j.input.name } },
  ];
  for (const s of [...spans, all])
    events.push({
      name: s.name,
      ph: 'X',
      pid: PID,
      tid: TID,
      ...stretch(s.began - zero, s.ms),
      cat: 'step',
      args: {},
    });
  let pool = 0;
  const counters = (ms: number, instructions: number): void => {
    const { ts } = stretch(j.began - zero + ms, 0);
    events.push({ name: 'instructions', ph: 'C', pid: PID, tid: TID, ts, args: { instructions } });
    if (j.memory !== null)
      events.push({ name: 'memory of new objects', ph: 'C', pid: PID, tid: TID, ts, args: { bytes: pool } });
  };
  if (j.records.length > 0) counters(0, j.records[0].instructionsBefore);
  for (const r of j.records) {
    if (r.outcome !== 'ran') continue;
    events.push({
      name: r.phase.id,
      ph: 'X',
      pid: PID,
      tid: TID,
      ...stretch(j.began - zero + r.began, r.ms),
      cat: r.phase.category,
      args: {
        ...(r.phase.index !== null && { index: r.phase.index }),
        position: r.phase.position,
        level: r.level,
        cached: r.cached,
        functionsChanged: r.functionsChanged,
        blocksChanged: r.blocksChanged,
        instructionsBefore: r.instructionsBefore,
        instructionsAfter: r.instructionsAfter,
      },
    });
    pool += r.memory?.total ?? 0;
    if (r.blocksChanged > 0) counters(r.began + r.ms, r.instructionsAfter);
  }
  const { plan } = j;
  return {
    traceEvents: events,
    displayTimeUnit: 'ms',
    otherData: {
      program: j.input.name,
      plan: plan.hash,
      order: plan.order,
      sm: plan.sm,
      level: `${plan.level}`,
    },
  };
}
