import type { Journal, PhaseRecord } from './journal.ts';
import type { PhaseMemory } from './memory.ts';

/*
 * The reports of ptxas about its phases, in its words, made of a journal. Source of the texts, numbers and thresholds: seed 004,
 * per-phase timing and memory reporting, timing record format, phase dispatch loop.
 */

const KB = 1024;
/** The last size that is told in KB. */
const MOST_KB = 10_485_760;

/**
 * A size: bytes below 1024, KB up to 10,485,760 bytes, MB above, with three decimals but for bytes. (The example line of the source
 * shows whole KB; its table of thresholds, and the other example, have three decimals. The table counts.)
 */
export function sizeText(bytes: number): string {
  if (bytes < KB) return `${bytes} B`;
  return bytes <= MOST_KB ? `${(bytes / KB).toFixed(3)} KB` : `${(bytes / (KB * KB)).toFixed(3)} MB`;
}

/** What stands before the name of a phase; the source says that there is something, not what. */
const INDENT = '  ';
/** The name of the line for all phases. */
export const SUMMARY = 'All Phases Summary';

/** Memory of a phase, or of all. The percentage is what of the freeable bytes is leaked: it fits the figures of the example. */
export function memoryLine(name: string, m: PhaseMemory): string {
  const share = m.freeable === 0 ? 0 : Math.round((100 * m.leaked) / m.freeable);
  const indent = name === SUMMARY ? '' : INDENT;
  return `${indent}${name}  ::  [Total ${sizeText(m.total)}]  [Freeable ${sizeText(m.freeable)}]  [Freeable Leaked ${sizeText(m.leaked)}] (${share}%)`;
}

/** What all snapshots that are held take. */
export const poolLine = (bytes: number): string => `[Pool Consumption = ${sizeText(bytes)}]`;

const NOTHING: PhaseMemory = { total: 0, freeable: 0, leaked: 0 };

/** The line of one phase, run or not. */
export const phaseLine = (r: PhaseRecord): string => memoryLine(r.phase.id, r.memory ?? NOTHING);

/** The lines after the last phase; none where the run kept no account of memory. */
export const summaryLines = ({ memory }: Journal): string[] =>
  memory === null ? [] : [memoryLine(SUMMARY, memory.summary), poolLine(memory.pool)];

/** The whole report of a run that kept an account of memory. */
export const memoryReport = (j: Journal): string[] => [...j.records.map(phaseLine), ...summaryLines(j)];

/** What is said before a phase runs. */
export const beforeLine = (phase: { readonly id: string }): string => `Before ${phase.id}`;
/** What is said after it. */
export const afterLine = (phase: { readonly id: string }): string => `After ${phase.id}`;

/** A record of the time of one phase. */
export interface TimingRecord {
  /** Seed number of the phase; -1 for the sentinel, and for phases without a number. */
  readonly index: number;
  /** Name of the phase; the sentinel has a number. */
  readonly name: string | number;
  /** Nanoseconds. The unit is ours: the source does not say it. */
  readonly time: number;
  /** The optimization level that the phase saw. */
  readonly flags: number;
}

/** What stands in the first record in place of a name: 0x2030007, of which the source gives a decimal, 33,739,079, that is another number. */
export const TIMING_SENTINEL = 0x2030007;

/** A record for every phase, run or not, behind the sentinel. */
export const timingRecords = (j: Journal): TimingRecord[] => [
  { index: -1, name: TIMING_SENTINEL, time: 0, flags: 0 },
  ...j.records.map((r) => ({
    index: r.phase.index ?? -1,
    name: r.phase.id,
    time: Math.round(r.ms * 1e6),
    flags: r.level,
  })),
];
