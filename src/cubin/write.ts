import { aligned, ByteWriter } from './bytes.ts';
import { ELF_HEADER_BYTES, SECTION_HEADER_BYTES, SEGMENT_BYTES, SHT } from './codes.ts';
import { encodeContent } from './contents.ts';
import type { Elf, Section, Segment } from './elf.ts';
import { NameTable, type NameTables } from './names.ts';
import { type Placed, segmentsOf } from './segments.ts';

/** Positions of all parts in the file. */
export interface Layout {
  /** For each section its offset and bytes, and its size, which for reserved memory has no bytes. */
  readonly placed: readonly (Placed & { readonly bytes: Uint8Array })[];
  readonly sectionTableAt: number;
  readonly segmentTableAt: number;
  readonly segments: readonly Segment[];
  /** Size of the file in bytes. */
  readonly size: number;
}

const MAGIC = [0x7f, 0x45, 0x4c, 0x46];
/** Alignment of section and program headers. */
const TABLE_ALIGN = 8;

/** The string tables among some sections, created on demand. */
export function nameTables(sections: readonly Section[]): NameTables {
  const tables = new Map<number, NameTable>();
  return (k) => {
    let table = tables.get(k);
    if (table === undefined) {
      const content = sections[k]?.content ?? { kind: 'none' };
      const bytes = encodeContent(content, 0, NO_NAMES);
      table = new NameTable(bytes, content.kind === 'strings' ? content.strings : []);
      tables.set(k, table);
    }
    return table;
  };
}
const NO_NAMES: NameTables = () => new NameTable(new Uint8Array(), []);

/**
 * Lays out a file: sections in order, each aligned, then the section headers, then the program headers.
 *
 * @param contents the bytes of each section, if known
 */
export function layoutOf(elf: Elf, contents?: readonly Uint8Array[]): Layout {
  const names = nameTables(elf.sections);
  const placed: (Placed & { bytes: Uint8Array })[] = [];
  let end = ELF_HEADER_BYTES;
  for (const [k, s] of elf.sections.entries()) {
    const { type, flags, align, content } = s;
    const bytes = contents?.[k] ?? encodeContent(content, s.link, names);
    const size = content.kind === 'reserved' ? content.size : bytes.length;
    if (type === SHT.null) placed.push({ type, flags, align, offset: s.offset ?? 0, size, bytes });
    else if (s.sharesWith !== undefined)
      placed.push({ type, flags, align, offset: placed[s.sharesWith].offset, size, bytes });
    else {
      const offset = s.offset ?? aligned(end, s.align);
      placed.push({ type, flags, align, offset, size, bytes });
      end = offset + bytes.length + (s.slack ?? 0);
    }
  }
  const sectionTableAt = elf.sectionTableAt ?? aligned(end, TABLE_ALIGN);
  const behind = sectionTableAt + SECTION_HEADER_BYTES * elf.sections.length;
  const segmentTableAt = elf.segmentTableAt ?? behind;
  const segments = elf.segments ?? segmentsOf(elf.header.flags, placed, segmentTableAt);
  const size = Math.max(end, behind, segmentTableAt + SEGMENT_BYTES * segments.length);
  return { placed, sectionTableAt, segmentTableAt, segments, size: elf.size ?? size };
}

/** Assembles the bytes of a file. */
export function writeElf(elf: Elf): Uint8Array {
  const layout = layoutOf(elf);
  const out = new Uint8Array(layout.size);
  for (const p of layout.placed) out.set(p.bytes, p.offset);
  for (const s of elf.strays ?? []) out.set(s.bytes, s.offset);
  out.set(sectionTable(elf, layout), layout.sectionTableAt);
  out.set(segmentTable(layout.segments), layout.segmentTableAt);
  out.set(elfHeader(elf, layout), 0);
  return out;
}

function elfHeader({ header: h, sections, names }: Elf, l: Layout): Uint8Array {
  const w = new ByteWriter();
  for (const b of MAGIC) w.u8(b);
  w.some(h.ident);
  w.u16(h.type);
  w.u16(h.machine);
  w.u32(h.version);
  w.u64(h.entry);
  w.u64(l.segmentTableAt);
  w.u64(l.sectionTableAt);
  w.u32(h.flags);
  w.u16(ELF_HEADER_BYTES);
  w.u16(SEGMENT_BYTES);
  w.u16(l.segments.length);
  w.u16(SECTION_HEADER_BYTES);
  w.u16(sections.length);
  w.u16(names);
  return w.done();
}

function sectionTable({ sections, names }: Elf, l: Layout): Uint8Array {
  const table = nameTables(sections)(names);
  const w = new ByteWriter();
  sections.forEach((s, k) => {
    w.u32(s.nameAt ?? table.offsetOf(s.name));
    w.u32(s.type);
    w.u64(s.flags);
    w.u64(s.address);
    w.u64(l.placed[k].offset);
    w.u64(l.placed[k].size);
    w.u32(s.link);
    w.u32(s.info);
    w.u64(s.align);
    w.u64(s.entrySize);
  });
  return w.done();
}

function segmentTable(segments: readonly Segment[]): Uint8Array {
  const w = new ByteWriter();
  for (const s of segments) {
    w.u32(s.type);
    w.u32(s.flags);
    for (const n of [s.offset, s.virtualAddress, s.physicalAddress, s.fileBytes, s.memoryBytes, s.align])
      w.u64(n);
  }
  return w.done();
}
