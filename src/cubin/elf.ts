/*
 * The parts of an ELF file for a GPU (System V ABI, ELF-64), as read.ts parses and write.ts assembles them.
 */

import type { Content } from './contents.ts';

/** The ELF header, without fields that follow from the other parts. */
export interface ElfHeader {
  /** e_ident: bytes 4 to 15 (class, byte order, version, OS ABI, its version, padding). */
  readonly ident: Uint8Array;
  readonly type: number;
  readonly machine: number;
  readonly version: number;
  readonly entry: number;
  readonly flags: number;
}

/** A section: its header fields and its content. */
export interface Section {
  readonly name: string;
  /** Offset of the name in the string table, if not its first occurrence. */
  readonly nameAt?: number;
  readonly type: number;
  readonly flags: number;
  readonly address: number;
  readonly link: number;
  readonly info: number;
  readonly align: number;
  readonly entrySize: number;
  readonly content: Content;
  /** Zero bytes after the content that belong to no section. From sm_90 on ptxas leaves room for names that it dropped. */
  readonly slack?: number;
  /** Index of the section whose bytes it shares. From sm_100 on two sections hold the PTX. */
  readonly sharesWith?: number;
  /** Offset of the content in the file, if it does not follow from the layout rules. */
  readonly offset?: number;
}

/** A program header. */
export interface Segment {
  readonly type: number;
  readonly flags: number;
  readonly offset: number;
  readonly virtualAddress: number;
  readonly physicalAddress: number;
  readonly fileBytes: number;
  readonly memoryBytes: number;
  readonly align: number;
}

/** An ELF file in parts. Everything else is derived: offsets, sizes, string tables, program headers. */
export interface Elf {
  readonly header: ElfHeader;
  /** In the order of the section table; the first is the null section. */
  readonly sections: readonly Section[];
  /** Index of the section with the section names. */
  readonly names: number;
  /** Program headers, if they differ from those derived from the sections (see segments.ts). */
  readonly segments?: readonly Segment[];
  /** Offsets of section and program headers in the file, if not after the sections. */
  readonly sectionTableAt?: number;
  readonly segmentTableAt?: number;
  /** Non-zero bytes that belong to no part. */
  readonly strays?: readonly { readonly offset: number; readonly bytes: Uint8Array }[];
  /** Size of the file, if it does not end with the last part. */
  readonly size?: number;
}

/** Architecture number in the header of a cubin: 80 for sm_80. */
export const smNumber = (h: Pick<ElfHeader, 'flags'>): number => (h.flags >> 8) & 0xff;
