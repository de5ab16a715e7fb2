/*
 * What an ELF file for a GPU consists of (System V ABI, ELF-64), as parts that a reader takes apart and a writer puts together.
 */

import type { Content } from './contents.ts';

/** The header, without what follows from the other parts. */
export interface ElfHeader {
  /** e_ident: bytes 4 to 15 (class, byte order, version, OS ABI, its version, padding). */
  readonly ident: Uint8Array;
  readonly type: number;
  readonly machine: number;
  readonly version: number;
  readonly entry: number;
  readonly flags: number;
}

export interface Section {
  readonly name: string;
  /** Where the name stands in the table of names, if not at its first occurrence. */
  readonly nameAt?: number;
  readonly type: number;
  readonly flags: number;
  readonly address: number;
  readonly link: number;
  readonly info: number;
  readonly align: number;
  readonly entrySize: number;
  readonly content: Content;
  /** Zero bytes behind the content that belong to no section. From sm_90 on ptxas leaves room for names that it dropped. */
  readonly slack?: number;
  /** The section whose bytes these are too. From sm_100 on two sections hold the PTX. */
  readonly sharesWith?: number;
  /** Where the content stands in the file, if no rule says so. */
  readonly offset?: number;
}

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

/** An ELF file in parts. Everything else about it is derived: offsets, sizes, tables of names, program headers. */
export interface Elf {
  readonly header: ElfHeader;
  /** In the order of the section table; the first is the null section. */
  readonly sections: readonly Section[];
  /** Which section holds the names of sections. */
  readonly names: number;
  /** Program headers, where they are not those that follow from the sections (see segments.ts). */
  readonly segments?: readonly Segment[];
  /** Where section and program headers stand in the file, if not behind the sections. */
  readonly sectionTableAt?: number;
  readonly segmentTableAt?: number;
  /** Bytes that belong to no part, if they are not zero. */
  readonly strays?: readonly { readonly offset: number; readonly bytes: Uint8Array }[];
  /** Bytes of the file, if it does not end with the last part. */
  readonly size?: number;
}

/** Number of the architecture in the header of a cubin: 80 for sm_80. */
export const smNumber = (h: Pick<ElfHeader, 'flags'>): number => (h.flags >> 8) & 0xff;
