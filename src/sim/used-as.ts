import { addressesIn } from '../ir/foreign-text.ts';
import { modOf, OpFlag, type Space } from '../ir/opcode.ts';
import { Kind, NO_REG, type Operand, type Reg, regIndex, regWidth } from '../ir/operand.ts';
import type { Fn, Instr } from '../ir/program.ts';
import { FOREIGN } from '../isa/build-foreign.ts';
import { BITS, factorOf } from './matrix-names.ts';

/** How a kernel uses the values that it reads from parameters and memory. */
export interface UsedAs {
  /** Byte offsets of the parameters used as addresses. */
  readonly parameters: ReadonlySet<number>;
  /** Parts of parameters used as floats: their size in bytes, 4 or 8, by byte offset. */
  readonly floatParameters: ReadonlyMap<number, number>;
  /** Addresses of 8-byte words in memory whose values are used as addresses. */
  readonly words: ReadonlySet<number>;
  /** The parameters among `parameters` that are only ever added to other addresses. */
  readonly offsets: ReadonlySet<number>;
  /** Element type of the matrix factors, if narrower than a word; null if the kernel multiplies no such matrices. */
  readonly elements: string | null;
  /** Pages of memory from which floats are loaded, and from which doubles are. */
  readonly floats: ReadonlySet<number>;
  readonly doubles: ReadonlySet<number>;
}

/** Spaces that may hold pointers stored by the host. */
const SPACES_OF_POINTERS: ReadonlySet<Space | null> = new Set<Space>(['generic', 'global', 'const']);

/** The address operands of an instruction, as far as they are registers. */
const addressOperands = (i: Instr): readonly Operand[] =>
  (i.op.primitive === FOREIGN
    ? addressesIn(i.src[0].sym).map((a) => i.src[a.src + 1])
    : i.src.filter((o) => o.kind === Kind.Addr)
  ).filter((o) => o.reg !== NO_REG);

/**
 * For each address operand: the sources whose values reach it through copies, sums, selects and conversions, by a flow-insensitive
 * propagation.
 *
 * @param sourceOf the source that a destination of an instruction gets its value from; null for none
 */
function reachingAddresses<T>(fn: Fn, sourceOf: (i: Instr, dst: number) => T | null): ReadonlySet<T>[] {
  // carries[r]: sources whose value may flow into register r.
  const carries = new Map<number, Set<T>>();
  const readers = new Map<number, Instr[]>();
  const work: number[] = [];
  const add = (r: Reg, sources: Iterable<T>): void => {
    const at = regIndex(r);
    const known = carries.get(at) ?? new Set<T>();
    const before = known.size;
    for (const x of sources) known.add(x);
    if (known.size === before) return;
    carries.set(at, known);
    work.push(at);
  };
  for (const b of fn.blocks)
    for (const i of b.ins) {
      if ((i.op.flags & OpFlag.HandsAddressOn) !== 0)
        for (const o of i.src)
          if (o.reg !== NO_REG) {
            const list = readers.get(regIndex(o.reg));
            if (list === undefined) readers.set(regIndex(o.reg), [i]);
            else list.push(i);
          }
      i.dst.forEach((r, k) => {
        const s = r === NO_REG ? null : sourceOf(i, k);
        if (s !== null) add(r, [s]);
      });
    }
  for (let at = work.pop(); at !== undefined; at = work.pop())
    for (const i of readers.get(at) ?? []) for (const r of i.dst) if (r !== NO_REG) add(r, carries.get(at)!);
  const out = new Set<ReadonlySet<T>>();
  for (const b of fn.blocks)
    for (const i of b.ins)
      for (const o of addressOperands(i)) {
        const sources = carries.get(regIndex(o.reg));
        if (sources !== undefined) out.add(sources);
      }
  return [...out];
}

/**
 * Byte offsets of the kernel's parameters that are used as addresses (`all`). Those in `added` are only ever added to others: every address
 * that they reach is also reached by a parameter with a lower offset.
 */
export function pointerOffsets(
  fn: Fn,
  paramBase: number,
): { all: ReadonlySet<number>; added: ReadonlySet<number> } {
  const addresses = reachingAddresses(fn, (i, k) =>
    i.op.primitive === 'load' && i.src[0].kind === Kind.CBank && i.src[0].reg === NO_REG
      ? i.src[0].lo - paramBase + 8 * k
      : null,
  );
  const all = new Set(addresses.flatMap((a) => [...a]));
  const bases = new Set(addresses.map((a) => Math.min(...a)));
  return { all, added: new Set([...all].filter((x) => !bases.has(x))) };
}

/** The 64-bit loads whose results are used as addresses. */
export const pointerLoads = (fn: Fn): Set<Instr> => {
  const addresses = reachingAddresses(fn, (i) =>
    // Not from a constant bank: parameter words are analyzed separately.
    i.op.primitive === 'load' &&
    i.src[0].kind === Kind.Addr &&
    SPACES_OF_POINTERS.has(i.op.space) &&
    modOf(i.op, i.mods, 'type') === 'B64'
      ? i
      : null,
  );
  return new Set(addresses.flatMap((a) => [...a]));
};

/** Element type of the first matrix product whose elements are narrower than a word; null if the functions have none. */
export function matrixElements(functions: readonly Fn[]): string | null {
  for (const fn of functions)
    for (const b of fn.blocks)
      for (const i of b.ins) {
        const type = i.op.primitive === FOREIGN ? factorOf(i.src[0].sym.split(' ', 1)[0]) : null;
        if (type !== null && BITS[type] < 32) return type;
      }
  return null;
}

/** Tests whether a floating-point operation reads a register. */
function floats(fn: Fn): (r: Reg) => boolean {
  const read = new Set<number>();
  for (const b of fn.blocks)
    for (const i of b.ins)
      if (i.op.class === 'float') for (const o of i.src) if (o.reg !== NO_REG) read.add(regIndex(o.reg));
  return (r) => r !== NO_REG && read.has(regIndex(r));
}

/** Loads from memory whose results are read by floating-point operations. */
export function floatLoads(fn: Fn): Set<Instr> {
  const isFloat = floats(fn);
  const out = new Set<Instr>();
  for (const b of fn.blocks)
    for (const i of b.ins)
      if (i.op.primitive === 'load' && i.src[0].kind === Kind.Addr && i.dst.some(isFloat)) out.add(i);
  return out;
}

/** Parts of the kernel's parameters that floating-point operations read: their size in bytes, 4 or 8, by byte offset. */
export function floatOffsets(fn: Fn, paramBase: number): Map<number, number> {
  const isFloat = floats(fn);
  const out = new Map<number, number>();
  for (const b of fn.blocks)
    for (const i of b.ins) {
      const [o] = i.src;
      if (i.op.primitive !== 'load' || o.kind !== Kind.CBank || o.reg !== NO_REG) continue;
      i.dst.forEach((r, k) => {
        const bytes = r === NO_REG ? 0 : regWidth(r) / 8;
        if (isFloat(r)) out.set(o.lo - paramBase + bytes * k, bytes);
      });
    }
  return out;
}
