import type { Journal, PhaseRecord } from './journal.ts';
import type { PhaseMemory } from './memory.ts';

/*
 * Reports about phases in the wording of ptxas, built from a journal. Source of the texts, numbers and thresholds: seed 004, per-phase
 * timing and memory reporting, timing record format, phase dispatch loop.
 */

const KB = 1024;
/** The largest size printed in KB. */
const MOST_KB = 10_485_760;

/**
 * A size: bytes below 1024, KB up to 10,485,760 bytes, MB above, with three decimals except for bytes. (One example
 * line of the source shows whole KB; its table of thresholds and the other example have three decimals. This follows
 * the table.)
 */
export function sizeText(bytes: number): string {
  if (bytes < KB) return `${bytes} B`;
  return bytes <= MOST_KB ? `${(bytes / KB).toFixed(3)} KB` : `${(bytes / (KB * KB)).toFixed(3)} MB`;
}

/** Indentation before the name of a phase; the source mentions it, but not its width. */
const INDENT = '  ';
/** The title of the line for all phases. */
export const SUMMARY = 'All Phases Summary';

/**
 * The memory line of a phase, or of all phases together (`SUMMARY`). The percentage is the leaked share of the freeable bytes, which agrees
 * with the numbers of the source's example.
 */
export function memoryLine(name: string, m: PhaseMemory): string {
  const share = m.freeable === 0 ? 0 : Math.round((100 * m.leaked) / m.freeable);
  const indent = name === SUMMARY ? '' : INDENT;
  return `${indent}${name}  ::  [Total ${sizeText(m.total)}]  [Freeable ${sizeText(m.freeable)}]  [Freeable Leaked ${sizeText(m.leaked)}] (${share}%)`;
}

/** The line for the memory of all snapshots that the run holds. */
export const poolLine = (bytes: number): string => `[Pool Consumption = ${sizeText(bytes)}]`;

const NOTHING: PhaseMemory = { total: 0, freeable: 0, leaked: 0 };

/** The memory line of one phase, whether it ran or not. */
export const phaseLine = (r: PhaseRecord): string => memoryLine(r.phase.id, r.memory ?? NOTHING);

/** The lines after the last phase; empty if the run did not track memory. */
export const summaryLines = ({ memory }: Journal): string[] =>
  memory === null ? [] : [memoryLine(SUMMARY, memory.summary), poolLine(memory.pool)];

/** The whole report of a run that tracked memory. */
export const memoryReport = (j: Journal): string[] => [...j.records.map(phaseLine), ...summaryLines(j)];

/** The line printed before a phase runs. */
export const beforeLine = (phase: { readonly id: string }): string => `Before ${phase.id}`;
/** The line printed after a phase runs. */
export const afterLine = (phase: { readonly id: string }): string => `After ${phase.id}`;

/** A timing record of one phase. */
export interface TimingRecord {
  /** Seed number of the phase; -1 for the sentinel, and for phases without a number. */
  readonly index: number;
  /** Name of the phase; a number in the sentinel. */
  readonly name: string | number;
  /** Nanoseconds. The unit is our choice; the source does not state it. */
  readonly time: number;
  /** The effective optimization level of the phase. */
  readonly flags: number;
}

/**
 * Value in the first record instead of a name: 0x2030007. The source also gives a decimal, 33,739,079, which is a
 * different number.
 */
export const TIMING_SENTINEL = 0x2030007;

/** The sentinel, then a record for every phase, whether it ran or not. */
export const timingRecords = (j: Journal): TimingRecord[] => [
  { index: -1, name: TIMING_SENTINEL, time: 0, flags: 0 },
  ...j.records.map((r) => ({
    index: r.phase.index ?? -1,
    name: r.phase.id,
    time: Math.round(r.ms * 1e6),
    flags: r.level,
  })),
];
