import { Kind, NO_REG, type Reg, regIndex } from '../ir/operand.ts';
import type { Fn, Program } from '../ir/program.ts';
import { findKernel, paramBank, placeVariables } from './launch.ts';
import { Machine, SimFault } from './machine.ts';
import { mix, OpenMemory } from './memory.ts';

export interface OpenOptions {
  readonly seed: number;
  readonly grid: readonly [number, number, number];
  readonly block: readonly [number, number, number];
  /** Most warp instructions. */
  readonly budget: number;
}

/** What one run in an open world left behind. */
export interface OpenResult {
  readonly status: 'done' | 'budget' | 'fault';
  readonly error: string;
  /** Everything that was written: page number -> bytes and which of them. */
  readonly memory: OpenMemory;
  /** Hashes of the stores of each warp, in order. */
  readonly logs: readonly (readonly number[])[];
  readonly executed: number;
}

/**
 * Byte offsets of the kernel's parameters that are used as addresses: followed from parameter loads through copies, sums,
 * selections and conversions to the address of an access. A flow-insensitive walk over the unoptimized function.
 */
export function pointerOffsets(fn: Fn, paramBase: number): Set<number> {
  // carries[r]: parameter offsets whose value may flow into register r.
  const carries = new Map<number, Set<number>>();
  const of = (r: Reg) => carries.get(regIndex(r));
  let changed = true;
  for (let round = 0; changed && round < 20; round++) {
    changed = false;
    const add = (r: Reg, s: Iterable<number>) => {
      let c = carries.get(regIndex(r));
      if (c === undefined) {
        c = new Set();
        carries.set(regIndex(r), c);
      }
      for (const x of s)
        if (!c.has(x)) {
          c.add(x);
          changed = true;
        }
    };
    for (const b of fn.blocks)
      for (const i of b.ins) {
        if (i.op.name === 'LDC' && i.src[0].kind === Kind.CBank && i.src[0].reg === NO_REG) {
          i.dst.forEach((r, k) => {
            if (r !== NO_REG) add(r, [i.src[0].lo - paramBase + 8 * k]);
          });
          continue;
        }
        if (!/^(MOV|IADD3|SEL|CVTA|LEA|IMAD_WIDE|PAIR|LOP3|IADDX)$/.test(i.op.name)) continue;
        for (const o of i.src)
          if (o.reg !== NO_REG && of(o.reg) !== undefined)
            for (const r of i.dst) if (r !== NO_REG) add(r, of(o.reg)!);
      }
  }
  const out = new Set<number>();
  for (const b of fn.blocks)
    for (const i of b.ins)
      for (const o of i.src)
        if (o.kind === Kind.Addr && o.reg !== NO_REG) for (const x of of(o.reg) ?? []) out.add(x);
  return out;
}

/** Distance of the bases of two pointer parameters. */
const FAR = 2 ** 36;

/** Parameter bytes of an open-world run: pointers far apart, everything else small. */
function openBank(kernel: Fn, pointers: ReadonlySet<number>, paramBase: number, seed: number): DataView {
  const bank = paramBank();
  const view = new DataView(bank.buffer);
  for (const p of kernel.params) {
    const at = paramBase + p.offset;
    if (p.type === 'f32' && !p.array) view.setFloat32(at, 1 + (mix(p.offset, seed) & 7) / 4, true);
    else if (p.type === 'f64' && !p.array) view.setFloat64(at, 1 + (mix(p.offset, seed) & 7) / 4, true);
    else if (p.array)
      for (let k = 0; k + 4 <= p.size; k += 4)
        view.setUint32(at + k, 1 + (mix(p.offset + k, seed) & 31), true);
    else if (p.size >= 4) view.setUint32(at, 1 + (mix(p.offset, seed) & 63), true);
    else view.setUint8(at, mix(p.offset, seed) & 15);
  }
  // Pointers inside by-value structs are pointers too.
  let n = 1;
  for (const offset of [...pointers].sort((a, b) => a - b))
    if (offset % 8 === 0 && kernel.params.some((p) => offset >= p.offset && offset + 8 <= p.offset + p.size))
      view.setBigUint64(paramBase + offset, BigInt(FAR * n++), true);
  return view;
}

/** Runs a kernel in an open world: every address exists, unwritten memory holds values hashed from the address. */
export function openWorld(
  program: Program,
  kernelName: string,
  pointers: ReadonlySet<number>,
  paramBase: number,
  opts: OpenOptions,
): OpenResult {
  const memory = new OpenMemory(opts.seed);
  let m: Machine | null = null;
  const result = (status: OpenResult['status'], error: string): OpenResult => {
    memory.flush();
    return { status, error, memory, logs: m?.logs ?? [], executed: m?.executed ?? 0 };
  };
  try {
    const kernel = findKernel(program, kernelName);
    m = new Machine(
      program,
      {
        grid: opts.grid,
        block: opts.block,
        dynamicShared: 4096,
        budget: opts.budget,
        counters: null,
        open: true,
        seed: opts.seed,
      },
      memory,
      openBank(kernel, pointers, paramBase, opts.seed),
    );
    let next = 2 ** 42;
    placeVariables(m, program, (v, bytes) => {
      const at = next;
      next += Math.ceil((bytes.length + 4096) / 4096) * 4096;
      if (v.init !== null) memory.init(at, bytes);
      return at;
    });
    return result(m.run(kernel), '');
  } catch (e) {
    if (e instanceof SimFault) return result('fault', e.message.split('\n')[0]);
    throw e;
  }
}

export interface OpenComparison {
  readonly same: boolean;
  /** Not every run ended within its budget; those were compared as far as they got. */
  readonly partial: boolean;
  /** Readable differences, at most ten. */
  readonly differences: readonly string[];
  readonly seeds: readonly number[];
  readonly executed: number;
}

export interface OpenCheckOptions {
  readonly seeds?: readonly number[];
  readonly budget?: number;
  readonly block?: readonly [number, number, number];
  readonly grid?: readonly [number, number, number];
}

/** Block size that the kernel states, within 64 threads, or one warp and a half. */
function blockOf(fn: Fn): [number, number, number] {
  for (const d of fn.attrs.directives) {
    const m = /^\.(reqntid|maxntid)\s+(\d+)(?:\s*,\s*(\d+))?(?:\s*,\s*(\d+))?/.exec(d);
    if (m !== null && m[1] === 'reqntid') return [Number(m[2]), Number(m[3] ?? 1), Number(m[4] ?? 1)];
  }
  return [64, 1, 1];
}

/**
 * Compares a kernel before and after in open worlds: same memory written, same end, for every seed. Runs that use up the
 * budget are compared by the stores of each warp as far as both got.
 *
 * @param paramBase offset of parameters in constant bank 0
 */
export function sameOpenWorld(
  before: Program,
  after: Program,
  kernel: string,
  paramBase: number,
  opts: OpenCheckOptions = {},
): OpenComparison {
  const fn = findKernel(before, kernel);
  const pointers = pointerOffsets(fn, paramBase);
  const seeds = opts.seeds ?? [1, 2];
  const differences: string[] = [];
  let partial = false;
  let executed = 0;
  for (const seed of seeds) {
    const o: OpenOptions = {
      seed,
      grid: opts.grid ?? [2, 1, 1],
      block: opts.block ?? blockOf(fn),
      budget: opts.budget ?? 300_000,
    };
    const a = openWorld(before, kernel, pointers, paramBase, o);
    const b = openWorld(after, kernel, pointers, paramBase, o);
    executed += a.executed + b.executed;
    const say = (s: string) => {
      if (differences.length < 10) differences.push(`seed ${seed}: ${s}`);
    };
    if (a.status === 'budget' || b.status === 'budget') {
      partial = true;
      const n = Math.min(a.logs.length, b.logs.length);
      for (let w = 0; w < n; w++) {
        const k = Math.min(a.logs[w].length, b.logs[w].length);
        for (let i = 0; i < k; i++)
          if (a.logs[w][i] !== b.logs[w][i]) {
            say(`store ${i} of warp ${w} differs`);
            break;
          }
      }
      continue;
    }
    if (a.status !== b.status || (a.status === 'fault' && a.error !== b.error)) {
      say(
        `before: ${a.status}${a.error === '' ? '' : ` (${a.error})`}; after: ${b.status}${b.error === '' ? '' : ` (${b.error})`}`,
      );
      continue;
    }
    compareWritten(a.memory, b.memory, say);
  }
  return { same: differences.length === 0, partial, differences, seeds, executed };
}

function compareWritten(a: OpenMemory, b: OpenMemory, say: (s: string) => void): void {
  const keys = new Set([...a.pages.keys(), ...b.pages.keys()]);
  for (const key of keys) {
    const p = a.pages.get(key);
    const q = b.pages.get(key);
    const size = 4096;
    for (let i = 0; i < size; i++) {
      const wp = p?.written[i] ?? 0;
      const wq = q?.written[i] ?? 0;
      if (wp === 0 && wq === 0) continue;
      if (wp !== wq) {
        say(`byte 0x${(key * size + i).toString(16)} is written only ${wp === 1 ? 'before' : 'after'}`);
        return;
      }
      if (p!.bytes[i] !== q!.bytes[i]) {
        say(`byte 0x${(key * size + i).toString(16)} is ${p!.bytes[i]} before and ${q!.bytes[i]} after`);
        return;
      }
    }
  }
}
