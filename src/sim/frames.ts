import { Kind, type Operand } from '../ir/operand.ts';
import type { Fn } from '../ir/program.ts';
import { type Code, decode } from './decode.ts';
import { lowest } from './masks.ts';
import type { Frame, Slab } from './state.ts';
import type { Symbols } from './symbols.ts';
import type { Watch } from './watch.ts';

/** Stack bytes of a thread if a launch does not set them: 64 times the CUDA driver's default. */
const DEFAULT_STACK = 1 << 16;
/** Least stack bytes of a call: ptxas 13.0.88 moves the stack pointer by 16 in a function that only saves its return address. */
const CALL_BYTES = 16;

/** Stack bytes in use when the current frame's local memory ends at byte `end` and calls are nested `depth` deep. */
export const stackUse = (end: number, depth: number): number => end + CALL_BYTES * depth;

/** The highest stack top among some lanes of a frame, in bytes from the start of the frame, rounded up to a multiple of 16. */
export function topOf(f: Frame, lanes: number): number {
  let top = f.code.localBytes;
  if (f.tops !== null) for (let r = lanes; r !== 0; r &= r - 1) top = Math.max(top, f.tops[lowest(r)]);
  return Math.ceil(top / 16) * 16;
}

/** Stack limit of a launch in bytes: the requested size, but at least enough to call each function of the program once. */
export function stackLimit(functions: readonly Fn[], requested = DEFAULT_STACK): number {
  let once = 0;
  for (const f of functions) once += stackUse(decode(f).localBytes, 1);
  return Math.max(requested, once);
}

/** Maximum number of free slabs kept for later frames. */
const MOST_FREE = 256;

/** Register slabs and images shared by consecutive runs, so that a short run does not pay for their allocation. */
export class FramePool {
  /** Initial register image of each function; each run writes its own symbols and parameters into it. */
  readonly images = new WeakMap<Code, Int32Array>();
  readonly free: Slab[] = [];

  give(slab: Slab): void {
    if (this.free.length < MOST_FREE) this.free.push(slab);
  }
}

/** Makes frames, with constants and symbols in their registers, and recycles them. */
export class Frames {
  private readonly symbols: Symbols;
  /** Constant bank 0. */
  private readonly bank: DataView;
  private readonly watch: Watch | null;
  private readonly unset: number;
  private readonly pool: FramePool;
  /** Functions whose pooled image already holds this run's values. */
  private readonly ready = new Set<Code>();
  private readonly inUse = new Set<Slab>();

  /** @param unset the value of registers that were never written */
  constructor(symbols: Symbols, bank: DataView, watch: Watch | null, unset: number, pool: FramePool) {
    this.unset = unset;
    this.pool = pool;
    this.symbols = symbols;
    this.bank = bank;
    this.watch = watch;
  }

  /** Initial register image of a function, with constants and symbols in place. */
  private imageOf(code: Code): Int32Array {
    let image = this.pool.images.get(code);
    if (image !== undefined && this.ready.has(code)) return image;
    // Pooled images hold zero in registers that were never written, so another `unset` value needs a new image.
    if (image === undefined || this.unset !== 0) image = code.imageWith(this.unset);
    for (const f of code.fixups) {
      const [lo, hi] = this.fixupValue(f.operand, f.wide, code);
      for (let l = 0; l < 32; l++)
        if (f.wide) {
          image[f.at + 2 * l] = lo;
          image[f.at + 2 * l + 1] = hi;
        } else image[f.at + l] = lo;
    }
    this.pool.images.set(code, image);
    this.ready.add(code);
    return image;
  }

  private fixupValue(o: Operand, wide: boolean, code: Code): [number, number] {
    if (o.kind === Kind.CBank) {
      const at = o.lo >>> 0;
      if (o.hi !== 0 || at + (wide ? 8 : 4) > this.bank.byteLength) return [0, 0];
      return [this.bank.getInt32(at, true), wide ? this.bank.getInt32(at + 4, true) : 0];
    }
    if (o.sym === '') return [0, 0];
    const a = this.symbols.addressOf(o.sym, code) + o.lo;
    return [a | 0, Math.floor(a / 4294967296) | 0];
  }

  /** Allocates a frame with initialised registers for a call of `code`. */
  make(code: Code, depth: number, localBase: number, onReturn: ((lanes: number) => void) | null): Frame {
    const image = this.imageOf(code);
    let slab = this.pool.free.pop();
    if (slab === undefined || slab.i32.length < code.words) {
      const buffer = new ArrayBuffer(Math.max(code.words, 2) * 4);
      const i32 = new Int32Array(buffer);
      slab = {
        i32,
        regs: { i32, f32: new Float32Array(buffer), f64: new Float64Array(buffer), p: new Int32Array(0) },
      };
    }
    slab.i32.set(image);
    this.inUse.add(slab);
    const params = new Uint8Array(code.paramBytes * 32);
    return {
      code,
      slab,
      regs: { i32: slab.i32, f32: slab.regs.f32, f64: slab.regs.f64, p: code.predImage.slice() },
      params,
      paramView: new DataView(params.buffer),
      depth,
      live: 0,
      localBase,
      onReturn,
      tops: null,
      seen: this.watch === null ? null : this.watch.seenIn(code),
    };
  }

  /** Takes back a frame that is no longer used. */
  release(f: Frame): void {
    this.inUse.delete(f.slab);
    this.pool.give(f.slab);
  }

  /** Takes back all frames, at the end of a run. */
  releaseAll(): void {
    for (const slab of this.inUse) this.pool.give(slab);
    this.inUse.clear();
    if (this.unset !== 0) for (const code of this.ready) this.pool.images.delete(code);
  }
}
