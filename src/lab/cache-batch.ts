import type { CachedPhase, CacheEntry, ReadLists } from '../engine/cache.ts';
import { Report } from '../engine/journal.ts';
import { weightOf } from '../engine/memory-cache.ts';
import type { Isa } from '../ir/opcode.ts';
import { checksum, PACK_VERSION, packPrograms, unpackPrograms } from '../ir/pack/index.ts';
import type { Program } from '../ir/program.ts';

/*
 * Serializes entries of a prefix cache:
 *
 *     'ORC', version of this format, version of packs, checksum of what follows, length of the JSON, JSON, pack of the snapshots
 *
 * Snapshots are packed together, so that shared parts are stored once. They are unpacked when one of them is first used.
 */

/** Version of the format. Increment it whenever old entries would be read incorrectly. */
const BATCH_VERSION = 1;
const MAGIC = [0x4f, 0x52, 0x43, BATCH_VERSION, PACK_VERSION];
const SUM = MAGIC.length;
const LENGTH = SUM + 4;
const BODY = LENGTH + 4;

type Row = ReadLists | StoredPhase;

type StoredPhase = Omit<CachedPhase, 'program' | 'reports'> & {
  /** Index in the pack; -1: the phase changed nothing. */
  readonly program: number;
  readonly reports: readonly string[];
};

/** An entry with its key and its weight in a `MemoryCache`. */
export type BatchEntry = readonly [key: string, entry: CacheEntry, weight: number];

/** Serializes entries. `isa` is the instruction set of all their programs. */
export function packBatch(entries: ReadonlyMap<string, CacheEntry>, isa: Isa): Uint8Array {
  const places = new Map<Program, number>();
  const placeOf = (p: Program): number => {
    let at = places.get(p);
    if (at === undefined) places.set(p, (at = places.size));
    return at;
  };
  const rows = [...entries].map(([key, e]): [string, Row, number] => [
    key,
    e.kind === 'reads' ? e : stored(e, placeOf),
    weightOf(e),
  ]);
  const json = new TextEncoder().encode(JSON.stringify(rows));
  const pack = packPrograms([...places.keys()], isa);
  const out = new Uint8Array(BODY + json.length + pack.length);
  out.set(MAGIC);
  out.set(json, BODY);
  out.set(pack, BODY + json.length);
  const view = new DataView(out.buffer);
  view.setUint32(LENGTH, json.length);
  view.setUint32(SUM, checksum(out.subarray(LENGTH)));
  return out;
}

function stored(e: CachedPhase, placeOf: (p: Program) => number): StoredPhase {
  const { program, reports, ...rest } = e;
  return {
    ...rest,
    program: program === null ? -1 : placeOf(program),
    reports: reports.map((r) => r.text),
  };
}

/** The entries of a batch; null if the bytes are damaged or have another format version. */
export function unpackBatch(bytes: Uint8Array, isa: Isa): BatchEntry[] | null {
  if (bytes.length < BODY || MAGIC.some((b, i) => bytes[i] !== b)) return null;
  const view = new DataView(bytes.buffer, bytes.byteOffset);
  if (view.getUint32(SUM) !== checksum(bytes.subarray(LENGTH))) return null;
  const pack = BODY + view.getUint32(LENGTH);
  const rows = JSON.parse(new TextDecoder().decode(bytes.subarray(BODY, pack))) as [string, Row, number][];
  let programs: readonly Program[] | null = null;
  const programAt = (i: number): Program => {
    programs ??= unpackPrograms(bytes.subarray(pack), isa);
    return programs[i];
  };
  return rows.map(([key, row, weight]) => [key, row.kind === 'reads' ? row : loaded(row, programAt), weight]);
}

/** A result whose program is unpacked on first use. */
function loaded(row: StoredPhase, programAt: (place: number) => Program): CachedPhase {
  const { program: place, reports, ...rest } = row;
  return {
    ...rest,
    reports: reports.map((text) => new Report(() => text)),
    get program() {
      return place < 0 ? null : programAt(place);
    },
  };
}
