/*
 * Constants of the ELF format (System V ABI, ELF-64) and of NVIDIA's extensions, seen in cubins of ptxas 13.0.88 for sm_75 to sm_120.
 */

export const SHT = {
  null: 0,
  progbits: 1,
  symtab: 2,
  strtab: 3,
  rela: 4,
  note: 7,
  nobits: 8,
  rel: 9,
  info: 0x70000000,
  callGraph: 0x70000001,
  relocationAction: 0x7000000b,
  laterRela: 0x70000082,
  laterInfo: 0x70000083,
  laterSymtab: 0x70000085,
  compat: 0x70000086,
} as const;

export const SHF = { write: 1, alloc: 2, execute: 4, info: 0x40 } as const;

/** e_machine of CUDA. */
export const EM_CUDA = 190;
export const ELF_HEADER_BYTES = 64;
export const SECTION_HEADER_BYTES = 64;
export const SEGMENT_BYTES = 56;
