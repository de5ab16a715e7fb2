import type { Isa, ModGroup, Opcode } from '../../ir/opcode.ts';
import { type Pattern, parsePatterns } from './pattern.ts';
import { type Line, specialise, type Words } from './template.ts';

/** The document `pipelines/isa/ptx.yaml`, validated against its schema. */
export interface PtxDoc {
  readonly kind: 'ptx';
  readonly words: Words;
  readonly needs: Readonly<Record<string, Need>>;
  readonly halves: {
    /** Opcodes for which each half of the result depends only on the same half of the operands. */
    readonly lanewise: readonly string[];
    /** Opcodes that read only low halves, and the modifiers under which they do. */
    readonly low: Readonly<Record<string, Readonly<Record<string, string>>>>;
    /** Opcodes whose result is a half, in addition to those whose result is of a 16-bit type. */
    readonly results: readonly string[];
    /** Opcodes that compute with floating-point halves; conversions count only if they name a type of halves. */
    readonly arithmetic: readonly string[];
  };
  readonly opcodes: Readonly<Record<string, readonly RowSpec[]>>;
}

/** The first PTX version and the first target (80 for sm_80) that have an instruction. */
export interface Need {
  readonly version: string;
  readonly sm: number;
}

/** A row of the document; `pipelines/isa/ptx.yaml` describes the fields. */
export interface RowSpec {
  readonly mods?: Readonly<Record<string, string | readonly string[]>>;
  /** Number of the first target that has the row. */
  readonly from?: number;
  /** Whether lowering uses the row too. */
  readonly both?: true;
  readonly src?: string;
  readonly dst?: string;
  readonly ptx?: string;
  readonly why?: string;
  readonly by?: 'logic' | 'logic-test' | 'call' | 'foreign';
  readonly none?: string;
}

/** A row specialised for one choice of modifiers: the operands that it matches, and the lines to write. */
export interface Row {
  /** Null matches any operands. */
  readonly src: readonly Pattern[] | null;
  readonly dst: readonly Pattern[] | null;
  readonly lines: readonly Line[];
  /** Name of the function that writes it instead of `lines`, or ''. */
  readonly by: '' | 'logic' | 'logic-test' | 'call' | 'foreign';
  /** Why PTX cannot express it, or ''. */
  readonly none: string;
}

/** The table that states how each opcode is written in PTX. */
export class PtxTable {
  private readonly doc: PtxDoc;
  /** By opcode number, then by modifiers and target. */
  private readonly rowsByMods: Map<string, readonly Row[]>[] = [];

  /** By PTX opcode: combinations of modifiers, and the version and target that they need. */
  private readonly needs = new Map<string, { readonly parts: readonly string[]; readonly need: Need }[]>();

  private readonly lanewise: ReadonlySet<string>;
  private readonly arithmetic: ReadonlySet<string>;

  constructor(doc: PtxDoc) {
    this.doc = doc;
    this.lanewise = new Set(doc.halves.lanewise);
    this.arithmetic = new Set(doc.halves.arithmetic);
    for (const [name, need] of Object.entries(doc.needs)) {
      const [opcode, ...parts] = name.split('.');
      const all = this.needs.get(opcode) ?? [];
      this.needs.set(opcode, [...all, { parts, need }]);
    }
  }

  /** Does each half of the result depend only on the same half of the operands? */
  isLanewise(op: Opcode): boolean {
    return this.lanewise.has(op.name);
  }

  /** Does it read only low halves? */
  readsLowHalves(op: Opcode, mods: number): boolean {
    const want = this.doc.halves.low[op.name];
    return want !== undefined && fitsMods({ mods: want }, op, mods);
  }

  /** Is its result a half? */
  givesHalf(op: Opcode): boolean {
    return this.doc.halves.results.includes(op.name);
  }

  /** Does it compute with floating-point halves? */
  isArithmeticOnHalves(op: Opcode, mods: number): boolean {
    return (
      this.arithmetic.has(op.name) &&
      (this.isLanewise(op) ||
        this.givesHalf(op) ||
        this.readsLowHalves(op, mods) ||
        op.groups.some((g) => /^b?f16$/.test(g.values[(mods >>> g.shift) & g.mask].type ?? '')))
    );
  }

  /** The needs of all instructions in the table. */
  get allNeeds(): readonly Need[] {
    return Object.values(this.doc.needs);
  }

  /** Version and target that a PTX instruction needs; null if every target has it. */
  needOf(mnemonic: string): Need | null {
    const [opcode, ...mods] = mnemonic.split('.');
    const found = this.needs.get(opcode)?.find(({ parts }) => parts.every((x) => mods.includes(x)));
    return found?.need ?? null;
  }

  /**
   * The rows for an opcode under given modifiers, in the order of the document; empty for an opcode that the table lacks.
   *
   * @param sm number of the target: 80 for sm_80
   */
  rows(op: Opcode, mods: number, sm: number): readonly Row[] {
    this.rowsByMods[op.id] ??= new Map();
    const byMods = this.rowsByMods[op.id];
    const key = `${mods} ${sm}`;
    let rows = byMods.get(key);
    if (rows === undefined) {
      rows = (this.doc.opcodes[op.name] ?? [])
        .filter((r) => (r.from ?? 0) <= sm && fitsMods(r, op, mods))
        .map((r) => ({
          src: r.src === undefined ? null : parsePatterns(r.src),
          dst: r.dst === undefined ? null : parsePatterns(r.dst),
          lines: specialise(r.ptx ?? '', op, mods, this.doc.words),
          by: r.by ?? '',
          none: r.none ?? '',
        }));
      byMods.set(key, rows);
    }
    return rows;
  }
}

const chosen = (g: ModGroup, mods: number): string => g.values[(mods >>> g.shift) & g.mask].name;

function fitsMods(r: RowSpec, op: Opcode, mods: number): boolean {
  for (const [group, want] of Object.entries(r.mods ?? {})) {
    const g = op.groupByName.get(group);
    if (g === undefined) return false;
    const value = chosen(g, mods);
    if (typeof want === 'string' ? want !== value : !want.includes(value)) return false;
  }
  return true;
}

/** The faults of a table with respect to an instruction set, as messages: unknown names, opcodes without a row. */
export function checkPtxTable(doc: PtxDoc, isa: Isa): string[] {
  const faults: string[] = [];
  const { lanewise, low, results, arithmetic } = doc.halves;
  for (const name of [...lanewise, ...Object.keys(low), ...results, ...arithmetic])
    if (!isa.byName.has(name)) faults.push(`halves: ${name} is not an opcode`);
  for (const [name, mods] of Object.entries(low))
    for (const [group, value] of Object.entries(mods))
      if (
        !isa.byName
          .get(name)
          ?.groupByName.get(group)
          ?.values.some((v) => v.name === value)
      )
        faults.push(`halves: ${name} has no ${group} ${value}`);
  for (const [name, rows] of Object.entries(doc.opcodes)) {
    const op = isa.byName.get(name);
    if (op === undefined) {
      faults.push(`${name} is not an opcode`);
      continue;
    }
    for (const [k, r] of rows.entries()) {
      const fault = (what: string) => faults.push(`${name}, row ${k + 1}: ${what}`);
      for (const [group, want] of Object.entries(r.mods ?? {})) {
        const g = op.groupByName.get(group);
        if (g === undefined) fault(`there is no modifier group '${group}'`);
        else
          for (const v of typeof want === 'string' ? [want] : want)
            if (!g.values.some((x) => x.name === v)) fault(`'${group}' has no value '${v}'`);
      }
      for (const [side, text, slots] of [
        ['src', r.src, op.srcs],
        ['dst', r.dst, op.dsts],
      ] as const)
        if (text !== undefined && parsePatterns(text).length > slots.length)
          fault(`'${side}' has more items than ${name} has operands`);
      try {
        specialise(r.ptx ?? '', op, 0, doc.words);
      } catch (e) {
        fault((e as Error).message);
      }
    }
  }
  for (const op of isa.opcodes) if (doc.opcodes[op.name] === undefined) faults.push(`${op.name} has no row`);
  return faults;
}
