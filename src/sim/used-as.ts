import { addressesIn } from '../ir/foreign-text.ts';
import { modOf, OpFlag, type Space } from '../ir/opcode.ts';
import { Kind, NO_REG, type Operand, type Reg, regIndex, regWidth } from '../ir/operand.ts';
import type { Fn, Instr } from '../ir/program.ts';
import { FOREIGN } from '../isa/build-foreign.ts';
import { BITS, factorOf } from './matrix-names.ts';

/** What a kernel uses the values as that it finds. */
export interface UsedAs {
  /** Byte offsets of parameters that it uses as addresses. */
  readonly parameters: ReadonlySet<number>;
  /** Bytes of parts of parameters, 4 or 8, by offset, that it uses as floats. */
  readonly floatParameters: ReadonlyMap<number, number>;
  /** Addresses of 8-byte words in memory that it uses as addresses. */
  readonly words: ReadonlySet<number>;
  /** Parameters among them that it only ever adds to others. */
  readonly offsets: ReadonlySet<number>;
  /** Type of the elements of matrices that it multiplies, which are narrower than a word; null if it multiplies none. */
  readonly elements: string | null;
  /** Pages of memory from which it loads floats, and doubles. */
  readonly floats: ReadonlySet<number>;
  readonly doubles: ReadonlySet<number>;
}

/** Spaces that may hold pointers stored by the host. */
const SPACES_OF_POINTERS: ReadonlySet<Space | null> = new Set<Space>(['generic', 'global', 'const']);

/** The operands of an instruction from which addresses are made. */
const addressOperands = (i: Instr): readonly Operand[] =>
  (i.op.primitive === FOREIGN
    ? addressesIn(i.src[0].sym).map((a) => i.src[a.src + 1])
    : i.src.filter((o) => o.kind === Kind.Addr)
  ).filter((o) => o.reg !== NO_REG);

/**
 * By address of an access: the sources whose values reach it through copies, sums, selections and conversions. A
 * flow-insensitive walk.
 *
 * @param sourceOf the source from which a destination of an instruction gets its value, or null
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
 * Byte offsets of the kernel's parameters that are used as addresses, and which of them are only ever added to others: each address that
 * they reach is reached by one that stands before them.
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

/** Loads of 64-bit words from memory that are used as addresses. */
export const pointerLoads = (fn: Fn): Set<Instr> => {
  const addresses = reachingAddresses(fn, (i) =>
    // Not from a constant bank: parameter words are examined separately.
    i.op.primitive === 'load' &&
    i.src[0].kind === Kind.Addr &&
    SPACES_OF_POINTERS.has(i.op.space) &&
    modOf(i.op, i.mods, 'type') === 'B64'
      ? i
      : null,
  );
  return new Set(addresses.flatMap((a) => [...a]));
};

/** Type of the elements of matrices that functions multiply, of the first that is narrower than a word; null if they multiply none. */
export function matrixElements(functions: readonly Fn[]): string | null {
  for (const fn of functions)
    for (const b of fn.blocks)
      for (const i of b.ins) {
        const type = i.op.primitive === FOREIGN ? factorOf(i.src[0].sym.split(' ', 1)[0]) : null;
        if (type !== null && BITS[type] < 32) return type;
      }
  return null;
}

/** By register index: whether an operation on floats reads it. */
function floats(fn: Fn): (r: Reg) => boolean {
  const read = new Set<number>();
  for (const b of fn.blocks)
    for (const i of b.ins)
      if (i.op.class === 'float') for (const o of i.src) if (o.reg !== NO_REG) read.add(regIndex(o.reg));
  return (r) => r !== NO_REG && read.has(regIndex(r));
}

/** Loads from memory whose results operations on floats read. */
export function floatLoads(fn: Fn): Set<Instr> {
  const isFloat = floats(fn);
  const out = new Set<Instr>();
  for (const b of fn.blocks)
    for (const i of b.ins)
      if (i.op.primitive === 'load' && i.src[0].kind === Kind.Addr && i.dst.some(isFloat)) out.add(i);
  return out;
}

/** Bytes of the floats among the kernel's parameters that operations on floats read, 4 or 8, by offset. */
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
