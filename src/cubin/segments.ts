import { aligned } from './bytes.ts';
import { SEGMENT_BYTES, SHF, SHT } from './codes.ts';
import { type Segment, smNumber } from './elf.ts';

/*
 * Program headers, as ptxas 13.0.88 derives them from sections: one for the headers themselves, and one for each run of sections with the
 * same access rights that are loaded into GPU memory.
 */

const PT = { load: 1, headers: 6 } as const;
const PF = { execute: 1, write: 2, read: 4 } as const;

/** A section and its position in the file. */
export interface Placed {
  readonly type: number;
  readonly flags: number;
  readonly offset: number;
  readonly size: number;
  readonly align: number;
}

/** First architecture whose code is separate from read-only data. */
const FIRST_APART = 90;
/** Section types from here on belong to the later compilation for sm_100 and up; they are not loaded. */
const LATER_TYPES = 0x70000008;

/** Derives the program headers of a cubin. `at` is their offset in the file. */
export function segmentsOf(flags: number, sections: readonly Placed[], at: number): Segment[] {
  const apart = smNumber({ flags }) >= FIRST_APART;
  const rights = (s: Placed): number =>
    PF.read |
    ((s.flags & SHF.write) !== 0 ? PF.write : 0) |
    (apart ? ((s.flags & SHF.execute) !== 0 ? PF.execute : 0) : (s.flags & SHF.write) !== 0 ? 0 : PF.execute);
  const runs: { flags: number; first: Placed; last: Placed; reserved: number }[] = [];
  for (const s of sections) {
    if ((s.flags & SHF.alloc) === 0 || (apart && s.type >= LATER_TYPES)) continue;
    const run = runs.at(-1);
    const reserve = (before: number): number =>
      s.type === SHT.nobits ? aligned(before, s.align) + s.size : before;
    if (run !== undefined && run.flags === rights(s)) {
      run.last = s;
      run.reserved = reserve(run.reserved);
    } else runs.push({ flags: rights(s), first: s, last: s, reserved: reserve(0) });
  }
  const loads = runs.map((r): Segment => {
    const end = r.last.offset + (r.last.type === SHT.nobits ? 0 : r.last.size);
    const fileBytes = end - r.first.offset;
    return segment(PT.load, r.flags, r.first.offset, fileBytes, fileBytes + r.reserved);
  });
  const own = PF.read | (apart ? 0 : PF.execute);
  const count = loads.length + 2;
  const headers = (type: number): Segment =>
    segment(type, own, at, count * SEGMENT_BYTES, count * SEGMENT_BYTES);
  return apart
    ? [headers(PT.headers), headers(PT.load), ...loads]
    : [headers(PT.headers), ...loads, headers(PT.load)];
}

const segment = (
  type: number,
  flags: number,
  offset: number,
  fileBytes: number,
  memoryBytes: number,
): Segment => ({
  type,
  flags,
  offset,
  virtualAddress: 0,
  physicalAddress: 0,
  fileBytes,
  memoryBytes,
  align: 8,
});
