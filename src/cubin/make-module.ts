import { aligned, ByteWriter } from './bytes.ts';
import { INSTRUCTION_BYTES } from './code-size.ts';
import type { KernelCode, ModuleVariable } from './make-input.ts';

/* The variables of a module: their sections, their places, and the bank of addresses. */

const ADDRESS_BYTES = 8;

/** The section of a variable. */
export const sectionOf = (v: ModuleVariable): string =>
  v.space === 'const' ? '.nv.constant3' : v.bytes === null ? '.nv.global' : '.nv.global.init';

/**
 * The place of each variable in its section, by name. Where none is given it is ptxas': larger alignments first, then smaller sizes. Of
 * equal ones ptxas keeps no order that follows from their declarations; here it is that of the list.
 */
export function placesOf(variables: readonly ModuleVariable[]): Map<string, number> {
  const places = new Map<string, number>();
  for (const section of new Set(variables.map(sectionOf))) {
    const list = variables.filter((v) => sectionOf(v) === section);
    let end = 0;
    for (const v of [...list].sort((a, b) => b.align - a.align || a.size - b.size)) {
      const at = v.offset ?? aligned(end, v.align);
      places.set(v.name, at);
      end = Math.max(end, at + v.size);
    }
  }
  return places;
}

/** Variables in ptxas' order: those that the host may name come first. */
const inOrder = (variables: readonly ModuleVariable[]): ModuleVariable[] => [
  ...variables.filter((v) => v.visible === true),
  ...variables.filter((v) => v.visible !== true),
];

/** Functions of the driver that kernels call. */
export const externsOf = (kernels: readonly KernelCode[]): string[] => [
  ...new Set(kernels.flatMap((k) => k.calls ?? [])),
];

/** What constant bank 4 holds the addresses of, in its order: functions that the first kernel calls, variables, and other functions. */
export const bankSymbols = (
  kernels: readonly KernelCode[],
  variables: readonly ModuleVariable[],
): string[] => [
  ...new Set([
    ...externsOf(kernels.slice(0, 1)),
    ...inOrder(variables).flatMap((v) => (v.space === 'global' ? [v.name] : [])),
    ...externsOf(kernels),
  ]),
];

/** Byte offset of each address in constant bank 4, by the name of the variable or function. */
export const addressOffsets = (
  kernels: readonly Pick<KernelCode, 'calls'>[],
  variables: readonly ModuleVariable[],
): Map<string, number> =>
  new Map(
    bankSymbols(kernels as readonly KernelCode[], variables).map((name, k) => [name, ADDRESS_BYTES * k]),
  );

/** Sections and variables in the order in which ptxas makes them. */
export function creation(
  kernels: readonly KernelCode[],
  variables: readonly ModuleVariable[],
): (string | ModuleVariable)[] {
  const out: (string | ModuleVariable)[] = [];
  const made = new Set<string>();
  const section = (name: string): void => {
    if (!made.has(name)) out.push(name);
    made.add(name);
  };
  if (externsOf(kernels).length > 0) section('.nv.constant4');
  for (const v of inOrder(variables)) {
    section(sectionOf(v));
    out.push(v);
    if (v.space === 'global') section('.nv.constant4');
  }
  return out;
}

/** The largest alignment of some variables. */
export const mostAlign = (list: readonly ModuleVariable[]): number =>
  list.reduce((most, v) => Math.max(most, v.align), 1);

/** Size of the memory that some variables of one section take. */
export const extentOf = (list: readonly ModuleVariable[], places: ReadonlyMap<string, number>): number =>
  list.reduce((end, v) => Math.max(end, places.get(v.name)! + v.size), 0);

/** The bytes of such variables. Relocations without addends find what they add to in them. */
export function bytesOf(list: readonly ModuleVariable[], places: ReadonlyMap<string, number>): Uint8Array {
  const w = new ByteWriter();
  w.zeros(extentOf(list, places));
  const bytes = w.done();
  for (const v of list) if (v.bytes !== null) bytes.set(v.bytes.subarray(0, v.size), places.get(v.name)!);
  return bytes;
}

/** @throws RangeError if names are used twice or are missing, or if numbers are not what instructions and attributes can state */
export function checkInput(kernels: readonly KernelCode[], variables: readonly ModuleVariable[]): void {
  if (kernels.length === 0)
    throw new RangeError('a cubin is asked for without a kernel; at least one is needed');
  const names = new Set<string>();
  for (const { name } of [...kernels, ...kernels.flatMap((k) => k.functions ?? []), ...variables]) {
    if (names.has(name)) throw new RangeError(`two kernels, functions or variables are called ${name}`);
    names.add(name);
  }
  const known = (user: string, symbol: string): void => {
    if (!names.has(symbol))
      throw new RangeError(`${user} refers to ${symbol}, which is no variable of the module`);
  };
  for (const k of kernels) {
    for (const r of k.relocations) known(`kernel ${k.name}`, r.symbol);
    checkKernel(k);
  }
  for (const v of variables) for (const a of v.addresses ?? []) known(`variable ${v.name}`, a.symbol);
  checkPlaces(variables);
}

const [MOST_REGISTERS, MOST_BARRIERS] = [255, 16];

function checkKernel(k: KernelCode): void {
  const limit = (what: string, n: number, most: number): void => {
    if (!(n >= 0 && n <= most))
      throw new RangeError(`kernel ${k.name} has ${n} ${what}; at most ${most} are possible`);
  };
  limit('registers', k.registers, MOST_REGISTERS);
  limit('barriers', k.barriers, MOST_BARRIERS);
  const places = [
    ...k.exits,
    ...k.warpWide,
    ...k.grouped.map((g) => g.at),
    ...k.branches.flatMap((b) => [b.at, ...b.targets]),
    ...k.relocations.map((r) => r.at),
  ];
  for (const at of places)
    if (!(at >= 0 && at < k.code.length) || at % INSTRUCTION_BYTES !== 0)
      throw new RangeError(
        `kernel ${k.name} has no instruction at ${at} in its ${k.code.length} bytes of code`,
      );
}

function checkPlaces(variables: readonly ModuleVariable[]): void {
  const places = placesOf(variables);
  const bySection = [...variables].sort((a, b) => places.get(a.name)! - places.get(b.name)!);
  const ends = new Map<string, { readonly name: string; readonly end: number }>();
  for (const v of bySection) {
    const at = places.get(v.name)!;
    if (at % v.align !== 0)
      throw new RangeError(`variable ${v.name} is at ${at}, not aligned to ${v.align} bytes`);
    if ((v.bytes?.length ?? 0) > v.size)
      throw new RangeError(`variable ${v.name} begins as more than its ${v.size} bytes`);
    const before = ends.get(sectionOf(v));
    if (before !== undefined && before.end > at)
      throw new RangeError(`variable ${v.name} is at ${at}, within variable ${before.name}`);
    ends.set(sectionOf(v), { name: v.name, end: at + v.size });
  }
}
