import type { Elf } from '../cubin/elf.ts';
import { type CubinFunction, symbolsOf } from '../cubin/functions.ts';
import type { Program, Variable } from '../ir/program.ts';
import type { Machine } from '../machine/forms.ts';
import { ADDRESSES, type Banks, LITERALS } from './banks.ts';

/* The variables of a lifted kernel. */

/** Name of the variable that represents all of a kernel's shared memory. */
export const SHARED = 'shared memory';
/** Shared memory reserved for the system from sm_90 on (measured). */
const RESERVED_SHARED = 0x400;
const FIRST_WITH_RESERVED = 90;

/** A variable without attributes. */
export function plainVariable(
  name: string,
  space: Variable['space'],
  size: number,
  align: number,
  init: Uint8Array | null,
): Variable {
  return { name, space, type: 'b8', size, align, linkage: '', init, relocs: [], attrs: [] };
}

/** The module's variables, with one variable for all shared memory and one for the literals. */
export function liftedVariables(
  elf: Elf,
  machine: Machine,
  module: Program,
  fn: CubinFunction,
  banks: Banks,
): Variable[] {
  const sm = Number(machine.sm.slice(3));
  const dynamic = module.variables.filter((v) => v.space === 'shared' && v.linkage === 'extern');
  const align = Math.max(16, ...dynamic.map((v) => v.align));
  const used = Math.max(fn.sharedBytes, sm >= FIRST_WITH_RESERVED ? RESERVED_SHARED : 0);
  const shared = Math.ceil(used / align) * align;
  const kept = module.variables
    .filter((v) => v.space !== 'shared')
    .map((v) => withCode(elf, module, v, banks));
  kept.push(plainVariable(SHARED, 'shared', shared, 16, null));
  if (banks.literals !== null)
    kept.push(plainVariable(LITERALS, 'global', banks.literals.length, 16, banks.literals));
  const { bytes, relocs } = banks.addressTable;
  if (bytes.length > 0) kept.push({ ...plainVariable(ADDRESSES, 'global', bytes.length, 16, bytes), relocs });
  return kept;
}

/** A variable with function pointers as in the cubin: offsets of descriptors among the literals, or code addresses. */
function withCode(elf: Elf, module: Program, v: Variable, banks: Banks): Variable {
  const variables = new Set(module.variables.map((x) => x.name));
  const own = v.relocs.filter((r) => !variables.has(r.symbol));
  if (own.length === 0) return v;
  const init = new Uint8Array(Math.max(v.size, v.init?.length ?? 0));
  if (v.init !== null) init.set(v.init);
  const given = initialBytes(elf, v.name);
  const view = new DataView(init.buffer);
  for (const r of own) {
    const pointer = banks.pointerTo(r.symbol);
    if (given !== null && r.at + r.bytes <= given.length)
      init.set(given.subarray(r.at, r.at + r.bytes), r.at);
    if (pointer !== undefined) view.setUint32(r.at, pointer + r.addend, true);
  }
  return { ...v, init, relocs: v.relocs.filter((r) => !own.includes(r)) };
}

/** The cubin's initial bytes of a variable; null if it has none. */
function initialBytes(elf: Elf, name: string): Uint8Array | null {
  const symbol = symbolsOf(elf).find((s) => s.name === name);
  const content = symbol === undefined ? undefined : elf.sections[symbol.section]?.content;
  return symbol === undefined || content?.kind !== 'bytes'
    ? null
    : content.bytes.subarray(symbol.value, symbol.value + symbol.size);
}
