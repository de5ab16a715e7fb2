import { SHT } from '../cubin/codes.ts';
import type { Content, ElfSymbol, Relocation } from '../cubin/contents.ts';
import type { Elf, Section } from '../cubin/elf.ts';
import { type CubinFunction, symbolsOf } from '../cubin/functions.ts';
import { EIATTR } from '../cubin/info.ts';
import { memoPair } from '../ir/memo.ts';
import type { Program, Variable } from '../ir/program.ts';
import { Unsupported } from '../ir/unsupported.ts';
import { hexText } from '../machine/text.ts';

/*
 * What the driver takes from a cubin besides code: where a kernel begins, initial bytes of variables, what it enters into constant banks.
 * A lifted kernel has these from its module and from the rules that compilers follow. Where a cubin says something else, code that does
 * what the PTX does would not be what runs.
 */

const STT = { object: 1, function: 2 } as const;
/** Types of relocations: an address, and a generic one. */
const R_CUDA = { address: 2, generic: 4 } as const;
const ADDRESS_BYTES = 8;

/** Sections of one function, and the sections that hold variables. */
const OF_FUNCTION = /^\.nv\.(?:info|constant\d+|shared|local)\.(.+)$/s;
const VARIABLES = { global: /^\.nv\.global(?:\.init)?$/, const: /^\.nv\.constant3$/ } as const;
/** Sections that no code reads. */
const NOT_LOADED = /^\.(?:debug_|nv_debug_|nv\.merc\.|nv\.capmerc\.)/;
/** Constant banks that hold addresses: of functions, and of variables. */
const ADDRESS_BANKS = /^\.nv\.constant[24](?:\.|$)/;

/**
 * Checks that a cubin says of a kernel what lifting it assumes.
 *
 * @param module what the cubin was compiled from
 * @throws Unsupported if it does not
 */
export function checkAgreement(elf: Elf, kernel: CubinFunction, module: Program): void {
  const own = symbolsOf(elf)[kernel.symbol];
  if (own.section !== kernel.section || own.value !== 0)
    throw new Unsupported(`its symbol is not the beginning of the section .text.${kernel.name}`);
  checkParameters(kernel, module);
  const fault = moduleFault(elf, module);
  if (fault !== null) throw new Unsupported(fault);
}

/** What a cubin says otherwise than all kernels of a module assume; null if there is nothing. */
const moduleFault = memoPair((elf: Elf, module: Program): string | null => {
  const symbols = symbolsOf(elf);
  try {
    const places = unique('sections', elf.sections, (s) => s.name !== '');
    unique('symbols', symbols, (s) => s.name !== '' && (s.type === STT.object || s.type === STT.function));
    checkOwners(elf, places);
    const relocations = relocationsOf(elf);
    checkBanks(elf, relocations);
    checkVariables(elf, symbols, relocations, module);
    return null;
  } catch (e) {
    if (e instanceof Unsupported) return e.message;
    throw e;
  }
});

/** The driver copies as many bytes as a cubin says, to where it says. */
function checkParameters({ attributes, name, parameters }: CubinFunction, module: Program): void {
  for (const code of [EIATTR.parameterBank, EIATTR.parameterBytes])
    if (attributes.filter((a) => a.code === code).length > 1)
      throw new Unsupported('the cubin says twice where its parameters are');
  const formal = module.functions.find((f) => f.name === name)?.params ?? [];
  const isSame =
    formal.length === parameters.length &&
    parameters.every((p, k) => p.ordinal === k && p.bytes === formal[k].size);
  const inOrder = [...parameters].sort((a, b) => a.offset - b.offset);
  if (!isSame || inOrder.some((p, k) => k > 0 && p.offset < inOrder[k - 1].offset + inOrder[k - 1].bytes))
    throw new Unsupported('the cubin says other sizes or places of its parameters than the PTX');
}

/** Indices by name. */
function unique<T extends { readonly name: string }>(
  what: string,
  list: readonly T[],
  isMeant: (x: T) => boolean,
): ReadonlyMap<string, number> {
  const places = new Map<string, number>();
  list.forEach((x, k) => {
    if (!isMeant(x)) return;
    if (places.has(x.name)) throw new Unsupported(`two ${what} of the cubin are called ${x.name}`);
    places.set(x.name, k);
  });
  return places;
}

/** Sections of a function are found by their names here, and refer to its code as well. */
function checkOwners(elf: Elf, places: ReadonlyMap<string, number>): void {
  for (const s of elf.sections) {
    const name = OF_FUNCTION.exec(s.name)?.[1];
    if (name === undefined) continue;
    const isOfCode = elf.sections[s.info]?.content.kind === 'code';
    if ((places.get(`.text.${name}`) ?? 0) !== (isOfCode ? s.info : 0))
      throw new Unsupported(`the section ${s.name} belongs to other code than its name says`);
  }
}

/** Relocations by the section that they change, and their place there. */
type Relocations = ReadonlyMap<number, ReadonlyMap<number, Relocation>>;

function relocationsOf(elf: Elf): Relocations {
  const out = new Map<number, Map<number, Relocation>>();
  for (const s of elf.sections) {
    const to = elf.sections[s.info];
    if (to === undefined || NOT_LOADED.test(to.name)) continue;
    if (s.content.kind !== 'relocations') {
      if (s.type === SHT.rel || s.type === SHT.rela || s.type === SHT.laterRela)
        throw new Unsupported(`the relocations ${s.name} cannot be read`);
      continue;
    }
    const own = out.get(s.info) ?? new Map<number, Relocation>();
    out.set(s.info, own);
    // What is added to code is reported at its instruction.
    if (to.content.kind === 'code') continue;
    for (const r of s.content.relocations) {
      if (own.has(r.offset)) throw new Unsupported(`${to.name} is relocated twice at ${hexText(r.offset)}`);
      own.set(r.offset, r);
    }
  }
  return out;
}

const holdsVariables = ({ name }: Pick<Section, 'name'>): boolean =>
  Object.values(VARIABLES).some((v) => v.test(name));

/** Only addresses are entered into banks, and only into those of addresses. */
function checkBanks(elf: Elf, relocations: Relocations): void {
  for (const [index, list] of relocations) {
    const to = elf.sections[index];
    if (to.content.kind === 'code' || (to.content.kind === 'bytes' && holdsVariables(to))) continue;
    for (const [at, r] of list)
      if (!ADDRESS_BANKS.test(to.name) || r.type !== R_CUDA.address || at % ADDRESS_BYTES !== 0)
        throw new Unsupported(`what is added to ${to.name} at ${hexText(at)} is not known`);
  }
}

/** Variables have the initial bytes of the module, and do not overlap. */
function checkVariables(
  elf: Elf,
  symbols: readonly ElfSymbol[],
  relocations: Relocations,
  module: Program,
): void {
  checkApart(elf, symbols);
  const byName = new Map(symbols.flatMap((s) => (s.name !== '' && s.section !== 0 ? [[s.name, s]] : [])));
  const variables = new Map(module.variables.map((v) => [v.name, v.space]));
  for (const v of module.variables) {
    const s = byName.get(v.name);
    if (s === undefined || v.linkage === 'extern' || (v.space !== 'global' && v.space !== 'const')) continue;
    const section = elf.sections[s.section];
    if (s.type !== STT.object || section === undefined || !VARIABLES[v.space].test(section.name))
      throw new Unsupported(`the cubin has '${v.name}' in another memory than the PTX`);
    if (s.size !== v.size || s.value + s.size > bytesIn(section.content))
      throw new Unsupported(`'${v.name}' has another size in the cubin than in the PTX`);
    checkBytes(v, s, section, (at) => relocations.get(s.section)?.get(at), symbols, variables);
  }
}

const bytesIn = (c: Content): number =>
  c.kind === 'bytes' ? c.bytes.length : c.kind === 'reserved' ? c.size : 0;

function checkBytes(
  v: Variable,
  s: ElfSymbol,
  { content }: Section,
  relocationAt: (offset: number) => Relocation | undefined,
  symbols: readonly ElfSymbol[],
  variables: ReadonlyMap<string, Variable['space']>,
): void {
  const bytes = content.kind === 'bytes' ? content.bytes.subarray(s.value, s.value + s.size) : null;
  const view = bytes === null ? null : new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
  const addresses = new Map(v.relocs.map((r) => [r.at, r]));
  // Behind them there are zeros on both sides, which may be terabytes.
  const end = Math.max(bytes?.length ?? 0, v.init?.length ?? 0);
  // An address that begins before a variable may reach into it.
  for (let at = 1 - ADDRESS_BYTES; at < end; at++) {
    const here = `'${v.name}' begins with something else in the cubin than in the PTX, at byte ${at}`;
    const added = relocationAt(s.value + at);
    const address = addresses.get(at);
    if (address === undefined) {
      if (added !== undefined || (bytes?.[at] ?? 0) !== (v.init?.[at] ?? 0)) throw new Unsupported(here);
      continue;
    }
    at += address.bytes - 1;
    // Pointers to functions are taken from the cubin: they are places of its code.
    if (!variables.has(address.symbol)) continue;
    const isWhole = address.bytes === ADDRESS_BYTES && address.byte < 0;
    const inPlace = view === null || !isWhole ? 0n : view.getBigInt64(address.at, true);
    // The address of a global variable is its generic one.
    const isGlobal = variables.get(address.symbol) === 'global';
    const types: readonly number[] = isGlobal
      ? [R_CUDA.address, R_CUDA.generic]
      : [address.generic ? R_CUDA.generic : R_CUDA.address];
    const isSame =
      isWhole &&
      added !== undefined &&
      types.includes(added.type) &&
      symbols[added.symbol]?.name === address.symbol &&
      BigInt(added.addend ?? inPlace) === BigInt(address.addend);
    if (!isSame) throw new Unsupported(here);
  }
}

/** Variables are apart from each other in a lifted program. */
function checkApart(elf: Elf, symbols: readonly ElfSymbol[]): void {
  const placed = symbols
    .filter((s) => s.type === STT.object && holdsVariables(elf.sections[s.section] ?? { name: '' }))
    .sort((a, b) => a.section - b.section || a.value - b.value);
  for (const [k, s] of placed.entries()) {
    const next = placed[k + 1];
    if (next?.section === s.section && s.value + s.size > next.value)
      throw new Unsupported(`${s.name} and ${next.name} overlap in the cubin`);
  }
}
