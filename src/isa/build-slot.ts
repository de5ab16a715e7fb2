import { didYouMean } from '../ir/diagnostic.ts';
import { type KindSet, Mod, type ModGroup, type Slot } from '../ir/opcode.ts';
import { imm, immOf, Kind, type Operand, PF, PT } from '../ir/operand.ts';
import type { Report } from './build-report.ts';

const bit = (kind: number): KindSet => 1 << kind;

/** Splits a text at commas outside of parentheses; parts are trimmed. */
export function splitOperands(text: string): string[] {
  const out: string[] = [];
  let depth = 0;
  let from = 0;
  for (let i = 0; i <= text.length; i++) {
    const c = text[i];
    if (c === '(') depth++;
    else if (c === ')') depth--;
    else if ((c === ',' && depth === 0) || i === text.length) {
      const s = text.slice(from, i).trim();
      if (s !== '') out.push(s);
      from = i + 1;
    }
  }
  return out;
}

const SLOT = /^(\w+):([\w()|]+)([?*]*)(?:\/([-|~!]+))?$/;

/** Types of operands besides `r` and `x` with a width: what each accepts, and its register bank and width if it has them. */
const TYPES: Readonly<
  Record<
    string,
    { readonly bank?: Slot['bank']; readonly width?: number; readonly kinds: readonly Operand['kind'][] }
  >
> = {
  p: { bank: 'p', width: 1, kinds: [Kind.Reg, Kind.Imm] },
  b: { bank: 'b', width: 32, kinds: [Kind.Reg] },
  imm: { width: 32, kinds: [Kind.Imm] },
  cbank: { kinds: [Kind.CBank] },
  addr: { kinds: [Kind.Addr] },
  label: { kinds: [Kind.Label] },
  sym: { kinds: [Kind.Sym] },
  table: { kinds: [Kind.Table] },
  any: { bank: 'any', kinds: [Kind.Reg, Kind.Imm, Kind.Sym, Kind.CBank] },
  value: { bank: 'any', kinds: [Kind.Reg] },
  place: { bank: 'any', kinds: [Kind.Reg, Kind.Sym] },
  text: { kinds: [Kind.Text] },
};

/** Types that are suggested for a misspelt one; a single letter is near to anything. */
const SUGGESTED = ['r32', 'r64', 'x32', 'x64', ...Object.keys(TYPES).filter((t) => t !== 'b')];

/**
 * Builds one operand of a form, from a text such as `b:r32?/-|`.
 * @param source whether it is a source; only sources have defaults
 * @param report receives faults
 */
export function buildSlot(
  text: string,
  source: boolean,
  groups: ReadonlyMap<string, ModGroup>,
  defaults: Readonly<Record<string, number | boolean>>,
  report: Report,
): Slot {
  const m = SLOT.exec(text);
  const slot = {
    name: text,
    bank: 'none' as Slot['bank'],
    width: 0,
    widthFrom: null as string | null,
    kinds: 0,
  };
  if (m === null) {
    report(`operand '${text}' is not of the form name:type[?][*][/modifiers]`);
    return slotOf(slot, 0, false, false, null);
  }
  slot.name = m[1];
  for (const type of m[2].split('|')) {
    const t = /^([rx])(?:(\d+)|\((\w+)\))$/.exec(type);
    if (t !== null) {
      slot.bank = 'r';
      slot.kinds |= bit(Kind.Reg) | (t[1] === 'x' ? bit(Kind.Imm) | bit(Kind.CBank) : 0);
      if (t[2] !== undefined) slot.width = Number(t[2]);
      else if (groups.has(t[3])) slot.widthFrom = t[3];
      else report(`operand ${m[1]} takes its width from '${t[3]}', which is not a modifier group`);
      continue;
    }
    const known = Object.hasOwn(TYPES, type) ? TYPES[type] : undefined;
    if (known === undefined) {
      report(`operand ${m[1]} has unknown type '${type}'`, didYouMean(type, SUGGESTED));
      continue;
    }
    slot.bank = known.bank ?? slot.bank;
    slot.width = known.width ?? slot.width;
    for (const kind of known.kinds) slot.kinds |= bit(kind);
  }
  let mods = 0;
  for (const c of m[4] ?? '') mods |= c === '-' ? Mod.Neg : c === '|' ? Mod.Abs : Mod.Not;
  let fallback: Operand | null = null;
  if (source && m[1] in defaults) {
    const v = defaults[m[1]];
    fallback = typeof v === 'boolean' ? (v ? PT : PF) : slot.width === 64 ? immOf(BigInt(v), 64) : imm(v);
  }
  return slotOf(slot, mods, m[3].includes('?'), m[3].includes('*'), fallback);
}

/** Makes a slot; the only constructor, so that all objects have the same hidden class. */
const slotOf = (
  { name, bank, width, widthFrom, kinds }: Pick<Slot, 'name' | 'bank' | 'width' | 'widthFrom' | 'kinds'>,
  mods: number,
  optional: boolean,
  variadic: boolean,
  fallback: Operand | null,
): Slot => ({ name, bank, width, widthFrom, kinds, mods, optional, variadic, default: fallback });
