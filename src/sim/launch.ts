import type { Isa } from '../ir/opcode.ts';
import { type Fn, ownName, type Program, type Variable } from '../ir/program.ts';
import { halfToNumber } from '../isa/floats.ts';
import { type Counters, newCounters } from './counters.ts';
import { SimFault } from './faults.ts';
import { Machine } from './machine.ts';
import { BufferMemory } from './memory.ts';

/** Element types of launch buffers and scalars, with their size in bytes. */
export const ELEMENT_BYTES: Readonly<Record<string, number>> = {
  s8: 1,
  u8: 1,
  b8: 1,
  s16: 2,
  u16: 2,
  b16: 2,
  f16: 2,
  bf16: 2,
  s32: 4,
  u32: 4,
  b32: 4,
  f32: 4,
  s64: 8,
  u64: 8,
  b64: 8,
  f64: 8,
};

/** One kernel parameter of a launch, with its data loaded. */
export type LaunchParam =
  | { readonly kind: 'scalar'; readonly type: string; readonly value: number | bigint }
  | {
      readonly kind: 'buffer';
      readonly type: string;
      readonly length: number;
      readonly bytes: Uint8Array;
      readonly expect: Uint8Array | null;
      /** Relative tolerance of the comparison; 0 means exact. */
      readonly tolerance: number;
    }
  | { readonly kind: 'bytes'; readonly bytes: Uint8Array };

/** A kernel, its grid, its arguments, and its expected results. */
export interface Launch {
  readonly name: string;
  readonly kernel: string;
  readonly grid: readonly [number, number, number];
  readonly block: readonly [number, number, number];
  /** Blocks of a cluster along x, y and z. Default: the kernel's `.reqnctapercluster`, otherwise 1. */
  readonly cluster?: readonly [number, number, number];
  readonly dynamicShared: number;
  /** Stack bytes of a thread. Default 65,536. */
  readonly stack?: number;
  readonly params: readonly LaunchParam[];
}

/** One element of a buffer that differs from the expected one. */
export interface Mismatch {
  readonly param: number;
  readonly index: number;
  readonly expected: string;
  readonly got: string;
}

/** How a launch ended, and what it left. */
export interface LaunchResult {
  readonly status: 'ok' | 'mismatch' | 'fault' | 'budget';
  /** The first differences, at most ten per buffer. */
  readonly mismatches: readonly Mismatch[];
  readonly mismatchCount: number;
  readonly error: string | null;
  /** Contents of the buffers after the run, by parameter; null for others. */
  readonly buffers: readonly (Uint8Array | null)[];
  readonly counters: Counters | null;
  readonly warpInstructions: number;
  readonly output: string;
}

/** Options of one run of a launch. */
export interface LaunchOptions {
  readonly counters?: boolean;
  /** Maximum number of warp instructions; an instruction that does the work of many is charged accordingly. Default 200 million. */
  readonly budget?: number;
  /** Stack bytes of a thread; overrides the launch. */
  readonly stack?: number;
  /** Seed of an adversarial schedule of warps and lanes; if absent, they take turns in a fixed order. */
  readonly schedule?: number;
}

/**
 * Maximum bytes of one buffer of a launch, of all its buffers together, and of all variables of its program. This keeps the memory in use,
 * with a copy for comparison, below one gigabyte.
 */
export const MOST_LOADED = 2 ** 28;

/** Budget, in warp instructions, of a launch that sets none. */
const DEFAULT_BUDGET = 200_000_000;

/** Bytes of constant bank 0: more than enough for 4 KiB of parameters and what precedes them. */
const BANK_BYTES = 0x10000;

/** An empty constant bank 0; kernel parameters go to the target's offset. */
export const paramBank = (): Uint8Array => new Uint8Array(BANK_BYTES);

function putScalar(view: DataView, at: number, size: number, type: string, value: number | bigint): void {
  if (type === 'f32') view.setFloat32(at, Number(value), true);
  else if (type === 'f64') view.setFloat64(at, Number(value), true);
  else {
    const v = BigInt.asUintN(64, typeof value === 'bigint' ? value : BigInt(Math.trunc(value)));
    for (let k = 0; k < size; k++) view.setUint8(at + k, Number((v >> BigInt(8 * k)) & 0xffn));
  }
}

/**
 * Why a launch cannot load the variables of a program: together they are larger than `MOST_LOADED`. Null if it can. Shared and local
 * variables do not count, since each block or thread has its own.
 */
export function tooManyBytes(program: Program): string | null {
  const loaded = program.variables.filter((v) => v.space === 'const' || v.space === 'global');
  const total = loaded.reduce((n, v) => n + v.size, 0);
  if (total <= MOST_LOADED) return null;
  const largest = loaded.reduce((a, b) => (b.size > a.size ? b : a));
  return `the variables of ${program.name} have ${total} bytes, ${largest.size} of them '${largest.name}': a launch loads at most ${MOST_LOADED}`;
}

/**
 * Places the module's variables in memory, enters their addresses in the machine's symbol table and applies their relocations.
 *
 * @param add places a variable with its initial bytes and returns its address
 */
export function placeVariables(m: Machine, program: Program, add: (v: Variable) => number): void {
  const placed: { v: Variable; at: number }[] = [];
  // Constants are contiguous: the addresses from the first to the last are the constant window.
  for (const space of ['const', 'global'])
    for (const v of program.variables) {
      if (v.space !== space) continue;
      const at = add(v);
      m.symbols.global.set(v.name, at);
      placed.push({ v, at });
      if (space === 'global') continue;
      if (m.constants.to === 0) m.constants.from = at;
      m.constants.to = at + Math.max(v.size, 1);
    }
  for (const { v, at } of placed)
    for (const r of v.relocs) {
      const known = m.symbols.global.get(r.symbol) ?? m.symbols.shared.get(r.symbol);
      const own = ownName(program, r.symbol);
      const fn = program.functions.findIndex((f) => f.name === own);
      const a = BigInt((known ?? (fn >= 0 ? 2 ** 47 + 16 * fn : 0)) + r.addend);
      for (let k = 0; k < r.bytes; k++) {
        const byte =
          r.byte >= 0
            ? k === 0
              ? Number((a >> BigInt(8 * r.byte)) & 0xffn)
              : 0
            : Number((a >> BigInt(8 * k)) & 0xffn);
        const to = m.global.place(at + r.at + k, 1, false);
        to.view.setUint8(to.at, byte);
      }
    }
}

/** Base of the first buffer if the kernel has 32-bit pointers: even the largest buffers of a launch then end below 4 GiB. */
const FIRST_NARROW = 2 ** 28;

/** First PTX version with `.address_size`; modules of earlier versions do not state their pointer size (PTX ISA 9.0, 11.1.3). */
const SAYS_ADDRESS_SIZE = [2, 3] as const;

/** Possible sizes in bytes of a pointer parameter of a program's kernels, the usual size first. */
export function pointerSizes({ version, addressSize }: Program): readonly number[] {
  const [major, minor] = version.split('.').map(Number);
  const [least, from] = SAYS_ADDRESS_SIZE;
  const silent = major < least || (major === least && minor < from);
  return silent ? [8, 4] : [addressSize / 8];
}

/** Finds a kernel by name. @throws SimFault that names the existing kernels if there is none */
export function findKernel(program: Program, name: string): Fn {
  const fn = program.functions.find((f) => f.name === name && f.kind === 'entry');
  if (fn !== undefined) return fn;
  const skipped = program.skipped.find((s) => s.name === name);
  if (skipped !== undefined)
    throw new SimFault(`kernel '${name}' was left out: ${skipped.why.join('; ')}`, 'kernel', name);
  throw new SimFault(
    `there is no kernel '${name}'; kernels are ${
      program.functions
        .filter((f) => f.kind === 'entry')
        .map((f) => f.name)
        .join(', ') || 'none'
    }`,
    'kernel',
    name,
  );
}

/**
 * Puts the parameters of a launch into the constant bank, and copies of its buffers into memory.
 *
 * @param sizes sizes that a pointer may have
 * @returns the buffers in memory, by parameter; null for other parameters
 * @throws SimFault if a parameter does not fit the kernel
 */
function giveParameters(
  kernel: Fn,
  launch: Launch,
  paramBase: number,
  sizes: readonly number[],
  memory: BufferMemory,
  bank: Uint8Array,
): (Uint8Array | null)[] {
  const view = new DataView(bank.buffer);
  return launch.params.map((p, k) => {
    const formal = kernel.params[k];
    const at = paramBase + formal.offset;
    if (p.kind === 'buffer') {
      const b = memory.add(`parameter ${k} (${formal.name})`, p.bytes.slice());
      if (!sizes.includes(formal.size))
        throw new SimFault(
          `parameter ${k} (${formal.name}) has ${formal.size} bytes, the launch gives a pointer of ${sizes[0]}`,
        );
      if (formal.size === 4) view.setUint32(at, b.base, true);
      else view.setBigUint64(at, BigInt(b.base), true);
      return b.bytes;
    }
    if (p.kind === 'bytes') {
      if (p.bytes.length > formal.size)
        throw new SimFault(`parameter ${k} has ${formal.size} bytes, the launch gives ${p.bytes.length}`);
      bank.set(p.bytes, at);
    } else {
      const size = ELEMENT_BYTES[p.type];
      if (size !== formal.size)
        throw new SimFault(
          `parameter ${k} (${formal.name}) has ${formal.size} bytes, the launch gives ${p.type}`,
        );
      putScalar(view, at, size, p.type, p.value);
    }
    return null;
  });
}

/**
 * Runs a launch in the simulator and compares the results with the expected ones. Faults are reported in the result, not thrown.
 *
 * @param paramBase offset of parameters in constant bank 0 for the program's target
 */
export function runLaunch(
  program: Program,
  _isa: Isa,
  launch: Launch,
  paramBase: number,
  opts: LaunchOptions = {},
): LaunchResult {
  const counters = opts.counters === true ? newCounters() : null;
  const budget = opts.budget ?? DEFAULT_BUDGET;
  const none = { mismatches: [], mismatchCount: 0, buffers: [], counters, warpInstructions: 0, output: '' };
  let m: Machine | null = null;
  try {
    const kernel = findKernel(program, launch.kernel);
    if (kernel.params.length !== launch.params.length)
      throw new SimFault(
        `kernel '${launch.kernel}' takes ${kernel.params.length} parameters, the launch gives ${launch.params.length}`,
      );
    const tooMany = tooManyBytes(program);
    if (tooMany !== null) throw new SimFault(tooMany);
    const narrow = launch.params.some((p, k) => p.kind === 'buffer' && kernel.params[k].size === 4);
    const memory = narrow ? new BufferMemory(FIRST_NARROW) : new BufferMemory();
    const bank = paramBank();
    const buffers = giveParameters(kernel, launch, paramBase, pointerSizes(program), memory, bank);
    m = new Machine(
      program,
      kernel,
      {
        grid: launch.grid,
        block: launch.block,
        cluster: launch.cluster,
        dynamicShared: launch.dynamicShared,
        budget,
        counters,
        open: false,
        seed: 0,
        stack: opts.stack ?? launch.stack,
        schedule: opts.schedule,
      },
      memory,
      new DataView(bank.buffer),
    );
    placeVariables(m, program, (v) => {
      const bytes = new Uint8Array(Math.max(v.size, 1));
      if (v.init !== null) bytes.set(v.init.subarray(0, bytes.length));
      return memory.add(v.name, bytes).base;
    });
    const end = m.run(kernel);
    const output = m.output.join('');
    if (end === 'budget')
      return {
        ...none,
        status: 'budget',
        buffers,
        error:
          m.executed === 0 && m.warps > budget
            ? `the grid has ${m.warps} warps, and each runs an instruction at least: more than the budget of ${budget}`
            : `the instruction budget of ${budget} is used up: the kernel may run forever`,
        warpInstructions: m.executed,
        output,
      };
    const mismatches: Mismatch[] = [];
    let count = 0;
    launch.params.forEach((p, k) => {
      if (p.kind !== 'buffer' || p.expect === null) return;
      const r = compareBuffers(k, p.type, p.expect, buffers[k]!, p.tolerance);
      count += r.count;
      mismatches.push(...r.first);
    });
    return {
      status: count === 0 ? 'ok' : 'mismatch',
      mismatches,
      mismatchCount: count,
      error: null,
      buffers,
      counters,
      warpInstructions: m.executed,
      output,
    };
  } catch (e) {
    if (!(e instanceof SimFault)) throw e;
    return {
      ...none,
      status: 'fault',
      error: e.message,
      warpInstructions: m?.executed ?? 0,
      output: m?.output.join('') ?? '',
    };
  }
}

/** Tolerances up to this one are for rounding in single precision: launches that ship have 1e-5 at most. */
const SAID_TOLERANCE = 1e-3;

/** The largest tolerance with which buffers of a launch are compared, in words; '' where none is large. */
export function largeTolerance({ params }: Launch): string {
  const most = Math.max(
    0,
    ...params.map((p) => (p.kind === 'buffer' && p.expect !== null ? p.tolerance : 0)),
  );
  return most > SAID_TOLERANCE ? `within a tolerance of ${most}` : '';
}

/** The same, for behind a verdict. */
export const toleranceText = (launch: Launch): string => largeTolerance(launch).replace(/^(?=.)/, ', ');

/** True if a launch states the expected contents of any buffer. */
export const expectsAnything = (launch: Launch): boolean =>
  launch.params.some((p) => p.kind === 'buffer' && p.expect !== null);

/**
 * Completes a launch so that it can judge a program: a launch without expected results takes them, and the printed output, from a run of a
 * reference program.
 *
 * @param before the reference program, correct by definition, for the same target
 * @returns `failed` if that program does not end normally, or leaves nothing to compare
 */
export function judging(
  launch: Launch,
  before: Program,
  isa: Isa,
  paramBase: number,
): { readonly launch: Launch; readonly output: string | null } | { readonly failed: string } {
  if (expectsAnything(launch)) return { launch, output: null };
  const r = runLaunch(before, isa, launch, paramBase);
  if (r.status !== 'ok') return { failed: `does not run before the phases: ${r.error}` };
  if (r.output === '' && launch.params.every((p) => p.kind !== 'buffer'))
    return { failed: 'has no buffer to compare' };
  const params = launch.params.map((p, k) => (p.kind === 'buffer' ? { ...p, expect: r.buffers[k]! } : p));
  return { launch: { ...launch, params }, output: r.output };
}

/** Element `i` of a buffer as a number or BigInt. */
function element(view: DataView, i: number, type: string): number | bigint {
  switch (type) {
    case 's8':
      return view.getInt8(i);
    case 'u8':
    case 'b8':
      return view.getUint8(i);
    case 's16':
      return view.getInt16(2 * i, true);
    case 'u16':
    case 'b16':
      return view.getUint16(2 * i, true);
    case 's32':
      return view.getInt32(4 * i, true);
    case 'u32':
    case 'b32':
      return view.getUint32(4 * i, true);
    case 's64':
      return view.getBigInt64(8 * i, true);
    case 'u64':
    case 'b64':
      return view.getBigUint64(8 * i, true);
    case 'f64':
      return view.getFloat64(8 * i, true);
    case 'f32':
      return view.getFloat32(4 * i, true);
    default:
      return halfToNumber(view.getUint16(2 * i, true), type);
  }
}

/** The first elements of a buffer, at most `most`, as text. */
export function bufferTexts(bytes: Uint8Array, type: string, most: number): string[] {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const n = Math.min(most, Math.floor(bytes.length / ELEMENT_BYTES[type]));
  return Array.from({ length: n }, (_, i) => String(element(view, i, type)));
}

/** Compares two buffers element by element, with a relative tolerance; NaN equals NaN. `first` holds at most ten differences. */
export function compareBuffers(
  param: number,
  type: string,
  expect: Uint8Array,
  got: Uint8Array,
  tolerance: number,
): { count: number; first: Mismatch[] } {
  const size = ELEMENT_BYTES[type];
  const a = new DataView(expect.buffer, expect.byteOffset, expect.byteLength);
  const b = new DataView(got.buffer, got.byteOffset, got.byteLength);
  const n = Math.floor(Math.min(expect.length, got.length) / size);
  const first: Mismatch[] = [];
  let count = 0;
  for (let i = 0; i < n; i++) {
    const x = element(a, i, type);
    const y = element(b, i, type);
    let same = x === y || (x !== x && y !== y);
    if (!same && tolerance > 0 && typeof x === 'number' && typeof y === 'number')
      same = Math.abs(x - y) <= tolerance * Math.max(Math.abs(x), Math.abs(y), Number.MIN_VALUE);
    if (same) continue;
    count++;
    if (first.length < 10) first.push({ param, index: i, expected: String(x), got: String(y) });
  }
  return { count, first };
}
