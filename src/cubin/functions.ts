import { SHT } from './codes.ts';
import type { Attribute, ElfSymbol } from './contents.ts';
import { type Elf, type Section, smNumber } from './elf.ts';
import { COMPAT_EXACT_TARGET, describe, EIATTR, type Parameter, parameterOf } from './info.ts';

/* The functions of a cubin: their code, and what attributes and constant banks say about them. */

/** A constant bank that a function can access; `size` is in bytes. */
export interface ConstantBank {
  readonly bank: number;
  readonly section: number;
  readonly size: number;
}

/** A named position in a function's code: a called function, or a slow path. */
export interface Label {
  readonly name: string;
  /** Byte offset from the beginning of the code. */
  readonly offset: number;
  readonly size: number;
}

/** A function of a cubin. */
export interface CubinFunction {
  readonly name: string;
  /** True if a host can launch it. */
  readonly entry: boolean;
  /** Indices of its section and its symbol. */
  readonly section: number;
  readonly symbol: number;
  /** Four 32-bit words per instruction. */
  readonly words: Uint32Array;
  readonly labels: readonly Label[];
  /** Null if no attribute states it. */
  readonly registers: number | null;
  readonly frameBytes: number | null;
  readonly barriers: number;
  /** Bytes of static shared memory, and of local memory. */
  readonly sharedBytes: number;
  readonly localBytes: number;
  /** Sorted by ordinal. */
  readonly parameters: readonly Parameter[];
  /** Offset of the parameters in constant bank 0, and their size in bytes. */
  readonly parameterBase: number | null;
  readonly parameterBytes: number | null;
  readonly constants: readonly ConstantBank[];
  readonly attributes: readonly Attribute[];
}

const STT_FUNCTION = 2;
/** Bit of a symbol's `other` field that marks kernels. */
const STO_ENTRY = 0x10;

const attributesOf = (s: Section | undefined): readonly Attribute[] =>
  s?.content.kind === 'attributes' ? s.content.attributes : [];

/** The symbol table of a cubin. */
export function symbolsOf(elf: Elf): readonly ElfSymbol[] {
  for (const s of elf.sections)
    if (s.type === SHT.symtab && s.content.kind === 'symbols') return s.content.symbols;
  return [];
}

/** Name of the target, e.g. `sm_90a`. From sm_90 on an attribute marks code that runs on exactly one chip. */
export function targetName(elf: Elf): string {
  const compat = attributesOf(elf.sections.find((s) => s.type === SHT.compat));
  const exact = compat.some((a) => a.code === COMPAT_EXACT_TARGET && a.value === 1);
  return `sm_${smNumber(elf.header)}${exact ? 'a' : ''}`;
}

/** The functions, in the order of their sections. */
export function functionsOf(elf: Elf): CubinFunction[] {
  const symbols = symbolsOf(elf);
  const byName = new Map(elf.sections.map((s, k) => [s.name, k]));
  const size = (name: string): number => {
    const c = elf.sections[byName.get(name) ?? 0].content;
    return c.kind === 'reserved' ? c.size : 0;
  };
  const perFile = perFunction(attributesOf(elf.sections[byName.get('.nv.info') ?? 0]));
  const labels = new Map<number, Label[]>();
  for (const s of symbols) {
    if (s.type !== STT_FUNCTION) continue;
    const list = labels.get(s.section) ?? [];
    list.push({ name: s.name, offset: s.value, size: s.size });
    labels.set(s.section, list);
  }
  const indices = new Map<string, number>();
  symbols.forEach((s, k) => void (s.type === STT_FUNCTION && indices.set(s.name, k)));
  const banks = new Map<string, ConstantBank[]>();
  elf.sections.forEach((s, section) => {
    const m = /^\.nv\.constant(\d+)(?:\.(.*))?$/s.exec(s.name);
    const bytes = s.content.kind === 'bytes' ? s.content.bytes.length : 0;
    if (m === null) return;
    const list = banks.get(m[2] ?? '') ?? [];
    list.push({ bank: Number(m[1]), section, size: bytes });
    banks.set(m[2] ?? '', list);
  });
  return elf.sections.flatMap((s, section): CubinFunction[] => {
    if (s.content.kind !== 'code') return [];
    const name = s.name.slice('.text.'.length);
    const symbol = indices.get(name) ?? -1;
    const attributes = attributesOf(elf.sections[byName.get(`.nv.info.${name}`) ?? 0]);
    const one = (code: number) => attributes.find((a) => a.code === code);
    const bank = one(EIATTR.parameterBank);
    return [
      {
        name,
        entry: symbol >= 0 && (symbols[symbol].other & STO_ENTRY) !== 0,
        section,
        symbol,
        words: s.content.words,
        labels: labels.get(section) ?? [],
        registers: perFile(EIATTR.registers, symbol),
        frameBytes: perFile(EIATTR.frameBytes, symbol),
        barriers: one(EIATTR.barriers)?.value ?? 0,
        sharedBytes: size(`.nv.shared.${name}`),
        localBytes: size(`.nv.local.${name}`),
        parameters: attributes.flatMap((a) => parameterOf(a) ?? []).sort((a, b) => a.ordinal - b.ordinal),
        parameterBase: bank === undefined ? null : (describe(bank).numbers[0] ?? null),
        parameterBytes: one(EIATTR.parameterBytes)?.value ?? null,
        constants: [...(banks.get('') ?? []), ...(banks.get(name) ?? [])].sort((a, b) => a.bank - b.bank),
        attributes,
      },
    ];
  });
}

/** Looks up file-level attributes by code and function symbol. */
function perFunction(attributes: readonly Attribute[]): (code: number, symbol: number) => number | null {
  const numberOf = new Map<string, number>();
  for (const a of attributes) {
    const { symbols, numbers } = describe(a);
    if (symbols.length === 1 && numbers.length === 1) numberOf.set(`${a.code} ${symbols[0]}`, numbers[0]);
  }
  return (code, symbol) => numberOf.get(`${code} ${symbol}`) ?? null;
}

/** Targets of a function's indirect branches, by byte offset of the branch. */
export function branchTargets(fn: CubinFunction): Map<number, number[]> {
  const out = new Map<number, number[]>();
  for (const a of fn.attributes) {
    const d = describe(a);
    if (d.code !== EIATTR.branches) continue;
    for (let k = 0; k + 3 <= d.numbers.length; ) {
      const [from, , count] = d.numbers.slice(k, k + 3);
      out.set(from, d.numbers.slice(k + 3, k + 3 + count));
      k += 3 + count;
    }
  }
  return out;
}
