import { ByteWriter } from './bytes.ts';
import type { Attribute } from './contents.ts';
import { COMPAT_EXACT_TARGET, EIATTR } from './info.ts';
import { readsBlockZ } from './make-code.ts';
import type { KernelCode, Tool } from './make-input.ts';
import type { Target } from './make-target.ts';

/* Attributes as ptxas 13.0.88 states them, in its order. */

/** Codes of the order in which a kernel's attributes stand, up to sm_89 and from sm_90 on. */
const MIDDLE = [
  0x2b, 0x1b, 0x4c, 0x0f, 0x5f, 0x31, 0x29, 0x28, 0x44, 0x4a, 0x40, 0x39, 0x38, 0x46, 0x1c, 0x34, 0x04,
];
const ORDER = [0x36, 0x37, 0x35, 0x0a, 0x19, 0x17, ...MIDDLE, 0x10, 0x05, 0x1e];
const LATER_ORDER = [0x5b, 0x37, 0x17, 0x3f, 0x3e, 0x3d, 0x50, ...MIDDLE, 0x10, 0x05, 0x1e, 0x19, 0x0a, 0x36];

const CODE = {
  blockZ: 0x04,
  mostThreads: 0x05,
  externs: 0x0f,
  systemCalls: 0x46,
  threads: 0x10,
  mostRegisters: 0x1b,
  stack: 0x1e,
  grouped: 0x28,
  masks: 0x29,
  warpWide: 0x31,
  before: 0x35,
  workarounds: 0x36,
  api: 0x37,
  sparse: 0x50,
  mercury: 0x5f,
  initial: 0x4a,
} as const;

/** The version of the CUDA API whose files ptxas 13.0.88 writes. */
export const API = 130;
const UNLIMITED_REGISTERS = 255;
const NO_REGISTER = 0xffffffff;

const flag = (code: number): Attribute => ({ format: 1, code, value: 0 });
const byte = (code: number, value: number): Attribute => ({ format: 2, code, value });
const half = (code: number, value: number): Attribute => ({ format: 3, code, value });
function numbers(code: number, list: readonly number[]): Attribute {
  const w = new ByteWriter(4 * list.length);
  for (const n of list) w.u32(n);
  return { format: 4, code, value: 0, bytes: w.done() };
}

/** What a kernel's attributes refer to by symbol index. */
export interface KernelSymbols {
  readonly constants: number;
  readonly externs: readonly number[];
}

/** Size of a kernel's parameters in bytes. */
export const parameterBytes = (k: KernelCode): number =>
  k.params.reduce((n, p) => Math.max(n, p.offset + p.size), 0);

/** The attributes of a kernel. @throws RangeError if a parameter is larger than an attribute can state */
export function kernelAttributes(t: Target, k: KernelCode, s: KernelSymbols): Attribute[] {
  const list: Attribute[] = [
    numbers(CODE.api, [API]),
    half(CODE.mostRegisters, k.mostRegisters ?? UNLIMITED_REGISTERS),
    half(CODE.mercury, t.later ? 0x101 : 0),
    ...[...k.params.entries()].reverse().map(([ordinal, p]) => parameter(ordinal, p)),
    ...(k.attributes ?? []),
  ];
  const bytes = parameterBytes(k);
  if (bytes > 0) {
    list.push(numbers(EIATTR.parameterBank, [s.constants, t.parameterBase | (bytes << 16)]));
    list.push(half(EIATTR.parameterBytes, bytes));
  }
  if (t.workarounds !== null) list.push(numbers(CODE.workarounds, [t.workarounds]));
  if (t.marked) list.push(flag(CODE.before));
  if (t.later) list.push(half(CODE.sparse, 0));
  if (t.mercury) list.push(byte(CODE.initial, 0));
  if (k.barriers > 0) list.push(byte(EIATTR.barriers, k.barriers));
  if (s.externs.length > 0) list.push(numbers(CODE.externs, s.externs));
  if (k.systemCalls !== undefined && k.systemCalls.length > 0)
    list.push(numbers(CODE.systemCalls, k.systemCalls));
  if (k.warpWide.length > 0) list.push(numbers(CODE.warpWide, k.warpWide));
  if (k.grouped.length > 0) {
    list.push(
      numbers(
        CODE.masks,
        k.grouped.map((g) => (g.mask < 0 ? NO_REGISTER : g.mask)),
      ),
    );
    list.push(
      numbers(
        CODE.grouped,
        k.grouped.map((g) => g.at),
      ),
    );
  }
  if (k.exits.length > 0) list.push(numbers(EIATTR.exits, k.exits));
  if (k.branches.length > 0)
    list.push(
      numbers(
        EIATTR.branches,
        k.branches.flatMap((b) => [b.at, 0, b.targets.length, ...b.targets]),
      ),
    );
  if (!t.later && readsBlockZ(k.code)) list.push(flag(CODE.blockZ));
  if (k.required !== undefined) list.push(numbers(CODE.threads, three(k.required)));
  if (k.most !== undefined) list.push(numbers(CODE.mostThreads, three(k.most)));
  if (k.divergent) list.push(numbers(CODE.stack, [0]));
  const order = t.later ? LATER_ORDER : ORDER;
  const rank = (a: Attribute): number =>
    order.includes(a.code) ? order.indexOf(a.code) : order.indexOf(EIATTR.exits) - 0.5;
  return list
    .map((a, k) => ({ a, k }))
    .sort((x, y) => rank(x.a) - rank(y.a) || x.k - y.k)
    .map((x) => x.a);
}

const three = (sizes: readonly number[]): number[] => [sizes[0] ?? 1, sizes[1] ?? 1, sizes[2] ?? 1];

/** Largest size of a parameter: an attribute has 14 bits for it. */
const MOST_PARAMETER_BYTES = 2 ** 14 - 1;
/** The other bits of a parameter's size: it is in a constant bank, and has no alignment of its own. */
const IN_BANK = 0x1f000;

function parameter(ordinal: number, p: { readonly offset: number; readonly size: number }): Attribute {
  if (p.size > MOST_PARAMETER_BYTES)
    throw new RangeError(
      `parameter ${ordinal} has ${p.size} bytes; at most ${MOST_PARAMETER_BYTES} can be stated`,
    );
  return numbers(EIATTR.parameter, [0, ordinal | (p.offset << 16), (p.size << 18) | IN_BANK]);
}

/** The attributes of the file. `symbolOf` gives the symbols of a kernel and its functions, by section order. */
export function fileAttributes(
  kernels: readonly KernelCode[],
  symbolOf: (name: string) => number,
): Attribute[] {
  const of = (code: number, name: string, n: number): Attribute => numbers(code, [symbolOf(name), n]);
  const bySymbol = [...kernels].sort((a, b) => symbolOf(a.name) - symbolOf(b.name));
  return [
    ...[...kernels]
      .reverse()
      .flatMap((k) => [
        of(EIATTR.registers, k.name, k.registers),
        ...[...(k.functions ?? [])].reverse().map((f) => of(EIATTR.frameBytes, f.name, f.frameBytes)),
        of(EIATTR.frameBytes, k.name, k.frameBytes),
      ]),
    ...bySymbol.map((k) => of(EIATTR.leastStackBytes, k.name, k.stackBytes ?? k.frameBytes)),
  ];
}

/** Attributes of `.nv.compat`. */
export const compatAttributes = (t: Target, other: ReadonlyMap<number, number>): Attribute[] => [
  ...[byte(COMPAT_EXACT_TARGET, t.exact ? 1 : 0), ...USUAL_COMPAT].map((a) => ({
    ...a,
    value: other.get(a.code) ?? a.value,
  })),
  numbers(FEATURES, [other.get(FEATURES) ?? t.features, 0]),
];
const FEATURES = 0x0b;
const USUAL_COMPAT = [byte(0x02, 1), byte(0x05, 5), half(0x07, 0x101), byte(0x03, 0), byte(0x06, 1)];

/** The content of the note about who made the file: a header of offsets in the texts that follow. */
export function toolNote(t: Tool): Uint8Array {
  const texts = new ByteWriter();
  const offsets = ['', t.name, t.version, t.build, t.options].map((text) => {
    const at = texts.length;
    texts.cstring(text);
    return at;
  });
  const w = new ByteWriter();
  w.u32(NOTE_VERSION);
  for (const at of offsets) w.u32(at);
  w.some(texts.done());
  w.zeros(-w.length & 3);
  return w.done();
}
const NOTE_VERSION = 2;
