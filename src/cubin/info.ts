import { Bytes, hex } from './bytes.ts';
import type { Attribute } from './contents.ts';

/*
 * Attributes of files and functions (EIATTR), which tell the driver what a kernel needs. Codes, names and layouts are those seen in cubins
 * of ptxas 13.0.88 and shown by the public tools of the CUDA toolkit; unlisted attributes are kept and shown as they are.
 */

/** Layout of an attribute's bytes. */
type Shape =
  | 'flag'
  | 'number'
  /** A function, given by symbol index, and a number. */
  | 'function number'
  /** Offsets of instructions in the function's code. */
  | 'offsets'
  | 'numbers'
  | 'parameter'
  /** The constant section that holds the parameters, their offset in it, and their size in bytes. */
  | 'bank'
  | 'symbols'
  /** For each indirect branch: its offset, a zero, the number of its targets, and their offsets. */
  | 'branches';

interface Kind {
  readonly name: string;
  readonly shape: Shape;
}

/** Names and layouts by code. */
const KINDS: ReadonlyMap<number, Kind> = new Map<number, Kind>([
  [0x04, { name: 'CTAIDZ_USED', shape: 'flag' }],
  [0x05, { name: 'MAX_THREADS', shape: 'numbers' }],
  [0x0a, { name: 'PARAM_CBANK', shape: 'bank' }],
  [0x0f, { name: 'EXTERNS', shape: 'symbols' }],
  [0x10, { name: 'REQNTID', shape: 'numbers' }],
  [0x11, { name: 'FRAME_SIZE', shape: 'function number' }],
  [0x12, { name: 'MIN_STACK_SIZE', shape: 'function number' }],
  [0x17, { name: 'KPARAM_INFO', shape: 'parameter' }],
  [0x19, { name: 'CBANK_PARAM_SIZE', shape: 'number' }],
  [0x1b, { name: 'MAXREG_COUNT', shape: 'number' }],
  [0x1c, { name: 'EXIT_INSTR_OFFSETS', shape: 'offsets' }],
  [0x1e, { name: 'CRS_STACK_SIZE', shape: 'number' }],
  [0x23, { name: 'MAX_STACK_SIZE', shape: 'function number' }],
  [0x28, { name: 'COOP_GROUP_INSTR_OFFSETS', shape: 'offsets' }],
  [0x29, { name: 'COOP_GROUP_MASK_REGIDS', shape: 'numbers' }],
  [0x2b, { name: 'WMMA_USED', shape: 'flag' }],
  [0x2f, { name: 'REGCOUNT', shape: 'function number' }],
  [0x31, { name: 'INT_WARP_WIDE_INSTR_OFFSETS', shape: 'offsets' }],
  [0x34, { name: 'INDIRECT_BRANCH_TARGETS', shape: 'branches' }],
  [0x36, { name: 'SW_WAR', shape: 'number' }],
  [0x37, { name: 'CUDA_API_VERSION', shape: 'number' }],
  [0x38, { name: 'NUM_MBARRIERS', shape: 'number' }],
  [0x39, { name: 'MBARRIER_INSTR_OFFSETS', shape: 'numbers' }],
  [0x3d, { name: 'CTA_PER_CLUSTER', shape: 'numbers' }],
  [0x3e, { name: 'EXPLICIT_CLUSTER', shape: 'flag' }],
  [0x44, { name: 'UNUSED_LOAD_BYTE_OFFSET', shape: 'numbers' }],
  [0x46, { name: 'SYSCALL_OFFSETS', shape: 'offsets' }],
  [0x4c, { name: 'NUM_BARRIERS', shape: 'number' }],
  [0x5b, { name: 'BLOCKS_ARE_CLUSTERS', shape: 'flag' }],
]);

/** Codes that this folder and its users look up. */
export const EIATTR = {
  parameterBank: 0x0a,
  frameBytes: 0x11,
  leastStackBytes: 0x12,
  parameter: 0x17,
  parameterBytes: 0x19,
  exits: 0x1c,
  registers: 0x2f,
  branches: 0x34,
  barriers: 0x4c,
} as const;

/** Code in `.nv.compat`: value 1 if the code runs on exactly this chip (`sm_90a`). */
export const COMPAT_EXACT_TARGET = 0x09;

/** A kernel parameter: its offset among the parameter bytes, and its size in bytes. */
export interface Parameter {
  readonly ordinal: number;
  readonly offset: number;
  readonly bytes: number;
}

/** A decoded attribute. Symbols are indices into the symbol table. */
export interface Described {
  readonly code: number;
  /** Null if the code is unknown. */
  readonly name: string | null;
  readonly symbols: readonly number[];
  readonly numbers: readonly number[];
  readonly parameter?: Parameter;
  /** True if the numbers are offsets of instructions. */
  readonly offsets: boolean;
}

const words = (b: Bytes): number[] => {
  const out: number[] = [];
  while (b.left >= 4) out.push(b.u32());
  return out;
};

/** Decodes an attribute. If its bytes do not have the layout of its code, they are given as plain numbers. */
export function describe(a: Attribute): Described {
  const kind = KINDS.get(a.code);
  const plain = { code: a.code, name: kind?.name ?? null, symbols: [], offsets: false };
  if (a.bytes === undefined) return { ...plain, numbers: a.format === 1 ? [] : [a.value] };
  const b = new Bytes(a.bytes);
  const size = a.bytes.length;
  switch (kind?.shape) {
    case 'function number':
      if (size === 8) return { ...plain, symbols: [b.u32()], numbers: [b.u32()] };
      break;
    case 'symbols':
      if (size % 4 === 0) return { ...plain, symbols: words(b), numbers: [] };
      break;
    case 'bank':
      if (size === 8) return { ...plain, symbols: [b.u32()], numbers: [b.u16(), b.u16()] };
      break;
    case 'parameter':
      if (size === 12) return { ...plain, numbers: [], parameter: parameterOf(a)! };
      break;
    case 'offsets':
    case 'branches':
      if (size % 4 === 0) return { ...plain, numbers: words(b), offsets: true };
  }
  if (size % 4 === 0) return { ...plain, numbers: words(b) };
  return { ...plain, numbers: [...a.bytes] };
}

/** The parameter in a KPARAM_INFO attribute; null for other attributes and layouts. */
export function parameterOf(a: Attribute): Parameter | null {
  if (a.code !== EIATTR.parameter || a.bytes?.length !== 12) return null;
  const b = new Bytes(a.bytes);
  b.u32();
  const [ordinal, offset] = [b.u16(), b.u16()];
  return { ordinal, offset, bytes: b.u32() >>> 18 };
}

/** Text of an attribute, e.g. `REGCOUNT saxpy 10`; `nameOf` gives the name of a symbol. */
export function attributeText(a: Attribute, nameOf: (symbol: number) => string): string {
  const d = describe(a);
  const p = d.parameter;
  const parts = [
    d.name ?? hex(a.code),
    ...d.symbols.map(nameOf),
    ...(p === undefined ? [] : [`${p.ordinal}: offset ${hex(p.offset)}, ${p.bytes} bytes`]),
    ...d.numbers.map((n) => (d.offsets || n > 0xffff ? hex(n) : String(n))),
  ];
  return parts.join(' ');
}
