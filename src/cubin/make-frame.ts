import { ByteWriter } from './bytes.ts';
import type { InnerFunction, KernelCode } from './make-input.ts';

/*
 * Call frame information (DWARF 3), as ptxas 13.0.88 writes it: for each kernel and each function within one a common entry with the
 * registers that are known on entry, and a description that says where the stack pointer is set up.
 */

/** Instructions of call frames. */
const CFA = { advance: 0x04, same: 0x08, register: 0x09, define: 0x0c, valueExpression: 0x16 } as const;
/** Operations of expressions: an address, a register with an offset, a sum. */
const OP = { address: 0x03, registerAndOffset: 0x92, plus: 0x22 } as const;
/** Number of general register `r` in call frames; the return address has that of R256. */
const general = (r: number): number => 0x5000000 + r;
const RETURN_ADDRESS = general(256);
const NO_RETURN = 0xffffffff;
const [STACK_POINTER, ZERO] = [1, 255];
const [CODE_UNIT, DATA_UNIT, VERSION] = [4, -4, 3];
/** Advances wrap at this many units. */
const MOST_UNITS = 2 ** 30;
const ENTRY_ALIGN = 8;
const IS_COMMON = 0xffffffff;

/** A place in the frame section that takes an address in the kernel's code. */
export interface FramePlace {
  readonly offset: number;
  readonly kernel: number;
  /** Offset in the kernel's code. */
  readonly addend: number;
}

/** The frame section. `places` are in the order of their relocations. */
export interface Frames {
  readonly bytes: Uint8Array;
  readonly places: readonly FramePlace[];
}

/** Where a kernel's frame is set up, as offsets in its code. */
export interface Setup {
  /** End of the first instruction, if it sets the stack pointer for the whole kernel. */
  readonly first: number | null;
  /** Where the frame is complete. */
  readonly ready: number;
  /** The last exit. */
  readonly last: number;
}

/** Writes the frame section. */
export function framesOf(
  kernels: readonly KernelCode[],
  sizes: readonly number[],
  setups: readonly Setup[],
): Frames {
  const w = new ByteWriter();
  const places: FramePlace[][] = [];
  kernels.forEach((k, kernel) => {
    const [starts, sums]: [FramePlace[], FramePlace[]] = [[], []];
    const description = (common: number, at: number, size: number, body: (b: ByteWriter) => void): void => {
      entry(w, common, (b, base) => {
        starts.push({ offset: base + b.length, kernel, addend: at });
        b.u64(at);
        b.u64(size);
        body(b);
      });
    };
    const inner = k.functions ?? [];
    const common = w.length;
    entry(w, IS_COMMON, (b) => {
      commonPart(b, NO_RETURN);
    });
    description(common, 0, sizes[kernel], (b) => setup(b, setups[kernel], k.frameBytes));
    for (const f of inner) {
      const own = w.length;
      entry(w, IS_COMMON, (b, base) => {
        commonPart(b, RETURN_ADDRESS);
        b.u8(CFA.same);
        b.uleb(general(f.returnRegister));
        b.u8(CFA.valueExpression);
        b.uleb(RETURN_ADDRESS);
        b.u8(16);
        b.u8(OP.address);
        sums.push({ offset: base + b.length, kernel, addend: 0 });
        b.u64(0);
        b.u8(OP.registerAndOffset);
        b.uleb(general(f.returnRegister));
        b.u8(0);
        b.u8(OP.plus);
      });
      description(own, f.at, f.size, (b) => moved(b, f));
    }
    places.push([...starts.reverse(), ...sums.reverse()]);
  });
  return { bytes: w.done(), places: places.reverse().flat() };
}

/** Writes an entry in the format of 64 bits. `body` is given the offset of its buffer in the section. */
function entry(w: ByteWriter, common: number, body: (b: ByteWriter, base: number) => void): void {
  const HEAD = 12;
  const b = new ByteWriter();
  const base = w.length + HEAD;
  b.u32(common);
  b.u32(common === IS_COMMON ? IS_COMMON : 0);
  body(b, base);
  b.zeros(-(HEAD + b.length) & (ENTRY_ALIGN - 1));
  w.u32(IS_COMMON);
  w.u64(b.length);
  w.some(b.done());
}

function commonPart(b: ByteWriter, returns: number): void {
  b.u8(VERSION);
  b.u8(0);
  b.uleb(CODE_UNIT);
  b.sleb(DATA_UNIT);
  b.uleb(returns);
  define(b, 0);
  for (const r of [ZERO, STACK_POINTER]) {
    b.u8(CFA.same);
    b.uleb(general(r));
  }
}

function define(b: ByteWriter, offset: number): void {
  b.u8(CFA.define);
  b.uleb(general(STACK_POINTER));
  b.uleb(offset);
}

function advance(b: ByteWriter, from: number, to: number): void {
  b.u8(CFA.advance);
  b.u32(((((to - from) / CODE_UNIT) % MOST_UNITS) + MOST_UNITS) % MOST_UNITS);
}

function setup(b: ByteWriter, { first, ready, last }: Setup, frameBytes: number): void {
  if (first !== null) {
    advance(b, 0, first);
    advance(b, first, ready);
    define(b, frameBytes);
    advance(b, ready, last);
  } else if (last < ready) {
    advance(b, 0, last);
    advance(b, last, ready);
    define(b, frameBytes);
  } else {
    advance(b, 0, ready);
    define(b, frameBytes);
    advance(b, ready, last);
  }
}

function moved(b: ByteWriter, f: InnerFunction): void {
  if (f.returnMoved === undefined) return;
  advance(b, 0, f.returnMoved.at);
  b.u8(CFA.register);
  b.uleb(general(f.returnRegister));
  b.uleb(general(f.returnMoved.register));
}
