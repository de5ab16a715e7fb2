import { aligned, BinaryError, Bytes, hex, Parts } from './bytes.ts';
import { ELF_HEADER_BYTES, EM_CUDA, SECTION_HEADER_BYTES, SEGMENT_BYTES, SHF, SHT } from './codes.ts';
import { type Content, parseContent } from './contents.ts';
import type { Elf, Section, Segment } from './elf.ts';
import { NameTable } from './names.ts';
import { type Layout, layoutOf, nameTables } from './write.ts';

/** True if a file starts with the ELF magic number. */
export const isElf = (bytes: Uint8Array): boolean =>
  bytes.length >= 4 && bytes[0] === 0x7f && bytes[1] === 0x45 && bytes[2] === 0x4c && bytes[3] === 0x46;

/** Sections may share bytes, but in no honest file do they total this many times its bytes. */
const MOST_OVERLAP = 4;

/** A row of the section table. */
export interface RawSection {
  readonly name: string;
  readonly nameAt: number;
  readonly type: number;
  readonly flags: number;
  readonly address: number;
  readonly offset: number;
  readonly size: number;
  readonly link: number;
  readonly info: number;
  readonly align: number;
  readonly entrySize: number;
  /** Its bytes in the file. */
  readonly bytes: Uint8Array;
}

interface RawElf {
  readonly header: Elf['header'];
  readonly names: number;
  readonly sections: readonly RawSection[];
  readonly sectionTableAt: number;
  readonly segmentTableAt: number;
  readonly segments: readonly Segment[];
}

/** Reads the header and tables of any 64-bit little-endian ELF file, with section contents as bytes. @throws BinaryError */
export function readRawElf(bytes: Uint8Array): RawElf {
  if (!isElf(bytes)) throw new BinaryError('it is not an ELF file', 0);
  const b = new Bytes(bytes);
  if (bytes.length < ELF_HEADER_BYTES) throw truncated('the header', ELF_HEADER_BYTES, bytes);
  if (bytes[4] !== 2 || bytes[5] !== 1) throw new BinaryError('it is no 64-bit little-endian ELF file', 4);
  b.at = 4;
  const ident = b.some(12);
  const [type, machine, version, entry] = [b.u16(), b.u16(), b.u32(), b.u64()];
  const [segmentTableAt, sectionTableAt, flags] = [b.u64(), b.u64(), b.u32()];
  const [, segmentBytes, segmentCount] = [b.u16(), b.u16(), b.u16()];
  const [sectionBytes, count, names] = [b.u16(), b.u16(), b.u16()];
  if (count > 0 && sectionBytes !== SECTION_HEADER_BYTES)
    throw new BinaryError(`section headers of ${sectionBytes} bytes; they have ${SECTION_HEADER_BYTES}`, 58);
  if (segmentCount > 0 && segmentBytes !== SEGMENT_BYTES)
    throw new BinaryError(`program headers of ${segmentBytes} bytes; they have ${SEGMENT_BYTES}`, 54);
  const header = { ident, type, machine, version, entry, flags };
  const segments = readSegments(bytes, segmentTableAt, segmentCount);
  const sections = readSections(bytes, sectionTableAt, count, names);
  return { header, names, sections, sectionTableAt, segmentTableAt, segments };
}

const truncated = (what: string, end: number, bytes: Uint8Array): BinaryError =>
  new BinaryError(
    `${what} ends at byte ${hex(end)}, and the file at ${hex(bytes.length)}: it is cut off or damaged`,
    bytes.length,
  );

function readSegments(bytes: Uint8Array, at: number, count: number): Segment[] {
  const end = at + count * SEGMENT_BYTES;
  if (count > 0 && end > bytes.length) throw truncated('the table of program headers', end, bytes);
  const b = new Bytes(bytes);
  b.at = at;
  return Array.from({ length: count }, () => {
    const [type, flags, offset, virtualAddress] = [b.u32(), b.u32(), b.u64(), b.u64()];
    const [physicalAddress, fileBytes, memoryBytes, align] = [b.u64(), b.u64(), b.u64(), b.u64()];
    return { type, flags, offset, virtualAddress, physicalAddress, fileBytes, memoryBytes, align };
  });
}

function readSections(bytes: Uint8Array, at: number, count: number, names: number): RawSection[] {
  const tableEnd = at + count * SECTION_HEADER_BYTES;
  if (tableEnd > bytes.length) throw truncated('the section table', tableEnd, bytes);
  const b = new Bytes(bytes);
  b.at = at;
  const rows = Array.from({ length: count }, (_, k) => {
    const [name, type, flags, address] = [b.u32(), b.u32(), b.u64(), b.u64()];
    const [offset, size, link, info, align, entrySize] = [
      b.u64(),
      b.u64(),
      b.u32(),
      b.u32(),
      b.u64(),
      b.u64(),
    ];
    const filled = type === SHT.nobits || type === SHT.null ? 0 : size;
    if (offset + filled > bytes.length && type !== SHT.nobits && type !== SHT.null)
      throw truncated(`section ${k}`, offset + filled, bytes);
    const content = bytes.subarray(offset, offset + filled);
    return { nameAt: name, type, flags, address, offset, size, link, info, align, entrySize, bytes: content };
  });
  const sum = rows.reduce((n, r) => n + r.bytes.length, 0);
  if (sum > MOST_OVERLAP * bytes.length) throw new BinaryError('its sections overlap', at);
  const table = new NameTable(rows[names]?.bytes ?? new Uint8Array(), []);
  return rows.map((r) => ({ ...r, name: r.type === SHT.null ? '' : table.at(r.nameAt) }));
}

/**
 * Parses a cubin so that `writeElf` reproduces its bytes.
 *
 * @throws BinaryError if it is not a cubin, or is truncated or damaged
 */
export function readCubin(bytes: Uint8Array): Elf {
  const raw = readRawElf(bytes);
  if (raw.header.machine !== EM_CUDA)
    throw new BinaryError(
      `it is an ELF file for machine ${raw.header.machine}, not for CUDA (${EM_CUDA})`,
      18,
    );
  for (const [k, s] of raw.sections.entries())
    if (s.link >= raw.sections.length || ((s.flags & SHF.info) !== 0 && s.info >= raw.sections.length))
      throw new BinaryError(`section ${k} (${s.name}) refers to a section that is not there`, 0);
  const sections = contentsOf(raw);
  const shared = placedBy(raw, sections);
  return withExceptions(bytes, raw, { header: raw.header, names: raw.names, sections: shared });
}

/** Parses the contents of sections. String tables come first, because symbols refer to them. */
function contentsOf(raw: RawElf): Section[] {
  const sections = raw.sections.map(({ bytes, nameAt: at, offset, size, ...s }): Section => {
    const content: Content =
      s.type === SHT.null
        ? { kind: 'none' }
        : s.type === SHT.nobits
          ? { kind: 'reserved', size }
          : { kind: 'bytes', bytes };
    return { ...s, content };
  });
  const parts = new Parts();
  const parse = (k: number, names: ReturnType<typeof nameTables>): void => {
    const s = sections[k];
    if (s.content.kind === 'bytes')
      sections[k] = { ...s, content: parseContent(s, s.content.bytes, names, parts) };
  };
  sections.forEach((s, k) => void (s.type === SHT.strtab && parse(k, nameTables([]))));
  const names = nameTables(sections);
  sections.forEach((s, k) => void (s.type !== SHT.strtab && parse(k, names)));
  const own = names(raw.names);
  return sections.map((s, k) => {
    const at = raw.sections[k].nameAt;
    return own.offsetOf(s.name) === at ? s : { ...s, nameAt: at };
  });
}

/** Adds to each section what the layout rules do not imply: slack after it, a section whose bytes it shares, or an explicit offset. */
function placedBy(raw: RawElf, sections: readonly Section[]): Section[] {
  const out = [...sections];
  const twins = new Map<string, number>();
  let end = ELF_HEADER_BYTES;
  let last = -1;
  raw.sections.forEach((r, k) => {
    if (r.type === SHT.null) {
      if (r.offset !== 0) out[k] = { ...out[k], offset: r.offset };
      return;
    }
    const wanted = aligned(end, r.align);
    const key = `${r.offset} ${r.bytes.length}`;
    const twin = twins.get(key);
    if (twin === undefined) twins.set(key, k);
    if (r.offset === wanted) end = r.offset + r.bytes.length;
    else if (twin !== undefined && r.bytes.length > 0) {
      out[k] = { ...out[k], sharesWith: twin };
      return;
    } else if (last >= 0 && r.offset > end && aligned(r.offset, r.align) === r.offset) {
      out[last] = { ...out[last], slack: r.offset - end };
      end = r.offset + r.bytes.length;
    } else {
      out[k] = { ...out[k], offset: r.offset };
      end = r.offset + r.bytes.length;
    }
    last = k;
  });
  return out;
}

/** Adds whatever the writer's rules would not reproduce. */
function withExceptions(bytes: Uint8Array, raw: RawElf, elf: Elf): Elf {
  const contents = raw.sections.map((s) => s.bytes);
  let whole = elf;
  const layout = (): Layout => layoutOf(whole, contents);
  if (layout().sectionTableAt !== raw.sectionTableAt)
    whole = { ...whole, sectionTableAt: raw.sectionTableAt };
  if (layout().segmentTableAt !== raw.segmentTableAt)
    whole = { ...whole, segmentTableAt: raw.segmentTableAt };
  const derived = layout().segments;
  const same =
    derived.length === raw.segments.length &&
    derived.every((s, k) =>
      Object.entries(s).every(([key, v]) => raw.segments[k][key as keyof Segment] === v),
    );
  if (!same) whole = { ...whole, segments: raw.segments };
  if (layout().size !== bytes.length) whole = { ...whole, size: bytes.length };
  const strays = straysOf(bytes, whole, layout());
  return strays.length > 0 ? { ...whole, strays } : whole;
}

/** Non-zero bytes outside of all parts. */
function straysOf(bytes: Uint8Array, elf: Elf, l: Layout): { offset: number; bytes: Uint8Array }[] {
  const parts = [
    [0, ELF_HEADER_BYTES],
    [l.sectionTableAt, l.sectionTableAt + SECTION_HEADER_BYTES * elf.sections.length],
    [l.segmentTableAt, l.segmentTableAt + SEGMENT_BYTES * l.segments.length],
    ...l.placed.map((p) => [p.offset, p.offset + p.bytes.length]),
    [bytes.length, bytes.length],
  ].sort((a, b) => a[0] - b[0]);
  const strays: { offset: number; bytes: Uint8Array }[] = [];
  let end = 0;
  for (const [from, to] of parts) {
    const gap = bytes.subarray(end, from);
    if (from > end && gap.some((b) => b !== 0)) strays.push({ offset: end, bytes: gap });
    end = Math.max(end, to);
  }
  return strays;
}
