import { TextError } from '../ir/text-error.ts';
import type {
  Alias,
  Atom,
  Condition,
  Field,
  Form,
  Operand,
  RegisterFile,
  Sign,
  Suffix,
  Term,
} from './forms.ts';
import {
  type AtomText,
  type ConditionText,
  type ModifierText,
  type OperandText,
  parseCondition,
  parseModifier,
  parseOperands,
  parsePlace,
  type SignText,
  type SuffixText,
  type TermText,
} from './language.ts';
import type { FormRow, LayoutRow } from './rows.ts';
import { lengthOf, type MutableWord, type Place, setBits } from './word.ts';

/** Definitions of a family that its rows refer to. */
export interface Context {
  readonly registers: ReadonlyMap<string, RegisterFile>;
  readonly values: ReadonlyMap<string, readonly (string | null)[]>;
  readonly layouts: ReadonlyMap<string, LayoutRow>;
  /** Prefixes of addresses that the vendor's text omits. */
  readonly hides: ReadonlySet<string>;
}

/** Bit positions of register operands with a bit in the reuse mask, in the order of those bits; a layout may override them. */
const REUSE_AT: readonly number[] = [24, 32, 64];
/** Bit ranges (from, to) of opcode and guard, and of the control word. */
const RESERVED: readonly [number, number][] = [
  [0, 16],
  [105, 126],
];

const keyOf = (p: Place): string => p.map((b) => `${b.at}+${b.length}`).join('/');

/** Collects the fields of a form; each place is one field. */
class Fields {
  readonly list: {
    name: string;
    place: Place;
    bits: number;
    signed: boolean;
    names?: readonly (string | null)[];
    when?: Condition;
    otherwise: number;
    conditions: (Condition | undefined)[];
  }[] = [];
  private readonly byPlace = new Map<string, number>();
  private readonly byName = new Map<string, number>();

  add(name: string, place: Place, names?: readonly (string | null)[], signed = false): number {
    const known = this.byPlace.get(keyOf(place));
    if (known !== undefined) return known;
    const bits = lengthOf(place);
    const k = this.list.push({ name, place, bits, signed, names, otherwise: 0, conditions: [] }) - 1;
    this.byPlace.set(keyOf(place), k);
    if (!this.byName.has(name)) this.byName.set(name, k);
    return k;
  }
  /** Inner fields, created when something refers to them. */
  readonly inner = new Map<string, () => number>();

  /** Index of a modifier or inner field. @throws TextError if there is none of this name */
  named(name: string): number {
    const k = this.byName.get(name) ?? this.inner.get(name)?.();
    if (k === undefined) throw new TextError(`there is no modifier '${name}' here`);
    return k;
  }
}

/** Builds the form of a row in one of its layouts; '' for a row without layouts. @throws TextError */
export function buildForm(rowName: string, row: FormRow, layoutName: string, c: Context): Form {
  if (row.opcode === undefined) throw new TextError('the opcode is missing');
  if (row.pipe === undefined) throw new TextError('the pipe is missing');
  const fields = new Fields();
  const layout = layoutName === '' ? undefined : c.layouts.get(layoutName);
  if (layoutName !== '' && layout === undefined) throw new TextError(`there is no layout '${layoutName}'`);
  const texts = (list: FormRow['modifiers']): [string, ModifierText][] =>
    Object.entries(list ?? {}).map(([name, m]) => [name, parseModifier(String(m))]);
  const [modifierTexts, innerTexts] = [texts(row.modifiers), texts(row.inner)];
  const add = (name: string, m: ModifierText): number => fields.add(name, m.place, namesFor(name, m, c));
  const condition = (k: number, m: ModifierText): number => {
    if (m.when === undefined) return k;
    const field = fields.list[k];
    field.conditions.push(conditionOf(m.when, fields));
    field.otherwise = m.otherwise === undefined ? 0 : valueNamed(field, m.otherwise);
    return k;
  };
  for (const [name, m] of innerTexts) fields.inner.set(name, () => condition(add(name, m), m));
  const modifiers = modifierTexts.map(([name, m]) => add(name, m));
  modifierTexts.forEach(([, m], k) => condition(modifiers[k], m));
  const operandTexts = operandsOf(row, layout, c);
  const operands = operandTexts.map((o) => buildOperand(o, fields, c));
  for (const f of fields.list)
    if (f.conditions.length > 0 && f.conditions.every((x) => x !== undefined)) {
      const all = f.conditions as Condition[];
      f.when = all.length === 1 ? all[0] : (v) => all.some((x) => x(v));
    }
  const opcode = layout === undefined ? row.opcode : row.opcode | (layout.code << 9);
  const { mask, value } = fixedBits(fields.list, opcode, { ...layout?.set, ...row.set });
  checkModifiers(modifiers.map((k) => fields.list[k]));
  return {
    name: row.name ?? rowName,
    row: rowName,
    layout: layoutName,
    opcode,
    mask,
    value,
    fields: fields.list.map(({ conditions, ...f }): Field => f),
    modifiers,
    operands,
    guard: row.guard ?? 'P',
    aliases: (row.aliases ?? []).flatMap((a) => aliasOf(a, layoutName, operands, fields, c)),
    pipe: row.pipe,
  };
}

function namesFor(name: string, m: ModifierText, c: Context): readonly (string | null)[] {
  const count = 2 ** lengthOf(m.place);
  let names = m.names;
  if (m.list !== undefined) {
    names = c.values.get(m.list);
    if (names === undefined) throw new TextError(`there is no list of values '${m.list}'`);
  }
  if (names === undefined) {
    if (count !== 2) throw new TextError(`the modifier ${name} has ${count} values and no names for them`);
    return ['', name];
  }
  if (names.length > count)
    throw new TextError(`the modifier ${name} has ${names.length} names for ${count} values`);
  return Array.from({ length: count }, (_, k) => names[k] ?? null);
}

/** The operands of a row, with those that the layout places filled in. */
function operandsOf(row: FormRow, layout: LayoutRow | undefined, c: Context): OperandText[] {
  const bits = (file: string): number | undefined => c.registers.get(file)?.bits;
  return parseOperands(row.operands ?? '', bits).map((o) => {
    if (o.slot === undefined) return { ...o, reuse: row.reuse?.[o.name] };
    const text = layout?.slots[o.slot];
    if (text === undefined)
      throw new TextError(`the operand '${o.slot}' has no place: no layout gives it one`);
    // `R32 @B` adds the row's signs for place B; `imm` is replaced by the row's `immediate`.
    const placed = text
      .replace(/^imm$/, () => {
        if (row.immediate === undefined)
          throw new TextError(`a layout has an immediate, and 'immediate' is missing`);
        return row.immediate;
      })
      .replace(/\s*@(\w)$/, (_, at: string) => signsAt(row, at));
    const [own] = parseOperands(`${o.slot}:${placed}`, bits);
    return { ...o, ...own, name: o.name, glued: o.glued, slot: undefined, reuse: layout?.reuse?.[o.slot] };
  });
}

/** The row's signs for a place. A key of `signs` may list several places, one letter each. */
function signsAt(row: FormRow, at: string): string {
  const found = Object.entries(row.signs ?? {}).find(([places]) => places.includes(at));
  return found === undefined ? '' : ` ${found[1]}`;
}

const testsOf = (c: ConditionText, fields: Fields): Condition[] =>
  c.tests.map((t) => {
    const k = fields.named(t.field);
    const wanted = t.value === null ? null : valueNamed(fields.list[k], t.value);
    return (v) => (wanted === null ? v[k] !== 0 : v[k] === wanted) !== t.not;
  });

/** Compiles a condition to a test of field values. @throws TextError if it refers to an unknown field or value */
export function conditionOf(c: ConditionText, fields: Fields): Condition {
  const tests = testsOf(c, fields);
  if (tests.length === 1) return tests[0];
  return c.any ? (v) => tests.some((t) => t(v)) : (v) => tests.every((t) => t(v));
}

/** The value of a field with a given name or number. @throws TextError if there is none */
function valueNamed(
  field: { readonly name: string; readonly names?: readonly (string | null)[] },
  name: string,
): number {
  const k = field.names?.indexOf(name === '_' ? '' : name) ?? -1;
  if (k >= 0) return k;
  if (/^\d+$/.test(name)) return Number(name);
  throw new TextError(`${field.name} has no value '${name}'`);
}

function buildOperand(o: OperandText, fields: Fields, c: Context): Operand {
  const when = o.when === undefined ? undefined : conditionOf(o.when, fields);
  const before = fields.list.length;
  const used: Used[] = [];
  const atom = (a: AtomText, own?: Condition): Atom => {
    const built = buildAtom(a, o, fields, c);
    used.push(
      { field: built.field, kind: a.kind, inverted: a.inverted },
      ...built.signs.map((s) => ({ field: s.field, kind: 'sign' as const })),
    );
    const both =
      when === undefined ? own : own === undefined ? when : (v: readonly number[]) => when(v) && own(v);
    const high = built.high === undefined ? [] : [built.high];
    for (const k of [built.field, ...high, ...built.signs.map((s) => s.field)])
      fields.list[k].conditions.push(both);
    return built;
  };
  const term = (t: TermText): Term => {
    const own = t.when === undefined ? undefined : conditionOf(t.when, fields);
    return { atom: atom(t.atom, own), ...(own !== undefined && { when: own }) };
  };
  const signs = o.signs.map((s) => buildSign(s, o.name, fields));
  for (const s of signs) {
    used.push({ field: s.field, kind: 'sign' });
    fields.list[s.field].conditions.push(when);
  }
  const built: Operand = {
    name: o.name,
    glued: o.glued,
    ...(o.literal !== undefined && { literal: o.literal }),
    ...(o.atom !== undefined && { atom: atom(o.atom) }),
    ...(o.prefix !== undefined && {
      prefix: { word: o.prefix.word, term: term(o.prefix.term), hidden: c.hides.has(o.prefix.word) },
    }),
    ...(o.terms !== undefined && { terms: o.terms.map(term) }),
    signs,
    suffixes: o.suffixes.map((s) => buildSuffix(s, fields)),
    ...(when !== undefined && { when }),
    ...(o.hidden !== undefined && { hidden: nothing(used, o.hidden === '0' ? '' : o.hidden, c) }),
  };
  if (when !== undefined)
    for (const { field, value } of nothing(used, o.otherwise ?? '', c))
      if (field >= before || fields.list[field].conditions.length === 1) fields.list[field].otherwise = value;
  return built;
}

interface Used {
  readonly field: number;
  readonly kind: AtomText['kind'] | 'sign';
  readonly inverted?: boolean;
}

/** Bits of an absent operand: those of `text`, or by default PT, RZ or 0. */
function nothing(used: readonly Used[], text: string, c: Context): { field: number; value: number }[] {
  const not = text.startsWith('!') || text.startsWith('~');
  return used.map(({ field, kind, inverted }) => {
    if (kind === 'sign') return { field, value: not ? 1 : 0 };
    const number = /^!?(\d+)$/.exec(text);
    if (number !== null) return { field, value: Number(number[1]) };
    const constant = c.registers.get(kind)?.constant ?? 0;
    return {
      field,
      value: inverted === true ? 2 ** (c.registers.get(kind)?.bits ?? 0) - 1 - constant : constant,
    };
  });
}

function buildAtom(a: AtomText, { name, reuse: own }: OperandText, fields: Fields, c: Context): Atom {
  let names: readonly (string | null)[] | undefined;
  if (a.values !== undefined) {
    names = c.values.get(a.values);
    if (names === undefined) throw new TextError(`there is no list of values '${a.values}'`);
  } else if (
    !['u', 's', 'd', 'f64', 'f32', 'f16', 'bf16', 'pc', 'set'].includes(a.kind) &&
    !c.registers.has(a.kind)
  )
    throw new TextError(`there are no registers '${a.kind}'`);
  // A JavaScript number does not hold 64 bits, so such a field is split into halves.
  const wide = a.kind === 'u' && lengthOf(a.place) === 64 && a.place.length === 1;
  const [{ at }] = a.place;
  const field = fields.add(
    name,
    wide ? [{ at, length: 32 }] : a.place,
    names,
    a.kind === 's' || a.kind === 'pc',
  );
  const reuse = a.kind === 'R' && a.place.length === 1 ? REUSE_AT.indexOf(a.place[0].at) : -1;
  return {
    kind: a.kind,
    field,
    ...(wide && { high: fields.add(`${name}.high`, [{ at: at + 32, length: 32 }]) }),
    scale: a.scale,
    inverted: a.inverted,
    signs: a.signs.map((s) => buildSign(s, name, fields)),
    suffixes: a.suffixes.map((s) => buildSuffix(s, fields)),
    reuse: a.kind === 'R' && own !== undefined ? own : reuse < 0 ? null : reuse,
  };
}

const buildSign = (s: SignText, name: string, fields: Fields): Sign => ({
  sign: s.sign,
  field: fields.add(`${name}.${s.sign}`, [{ at: s.at, length: 1 }]),
  ...(s.invertIf !== undefined && { invertIf: fields.named(s.invertIf) }),
});

const buildSuffix = (s: SuffixText, fields: Fields): Suffix => ({
  ...(s.field !== undefined ? { field: fields.named(s.field) } : { text: s.text }),
  ...(s.when !== undefined && { when: conditionOf(s.when, fields) }),
});

/**
 * Mask and value of the bits outside of all fields: the opcode, bits that the row sets, and zeros. @throws TextError if fields share a bit
 */
function fixedBits(
  fields: readonly { readonly name: string; readonly place: Place }[],
  opcode: number,
  set: Readonly<Record<string, number>>,
): { mask: MutableWord; value: MutableWord } {
  const owner = new Array<string>(128).fill('');
  for (const [from, to] of RESERVED) owner.fill('opcode, guard or control', from, to);
  for (const f of fields)
    for (const { at, length } of f.place)
      for (let k = at; k < at + length; k++) {
        if (owner[k] !== '') throw new TextError(`bit ${k} belongs to ${owner[k]} and to ${f.name}`);
        owner[k] = f.name;
      }
  const mask: MutableWord = [0, 0, 0, 0];
  const value: MutableWord = [0, 0, 0, 0];
  owner.forEach((o, k) => void (o === '' && setBits(mask, [{ at: k, length: 1 }], 1)));
  setBits(mask, [{ at: 0, length: 12 }], 0xfff);
  setBits(value, [{ at: 0, length: 12 }], opcode);
  for (const [text, number] of Object.entries(set)) {
    const place = parsePlace(text);
    for (const { at, length } of place)
      for (let k = at; k < at + length; k++)
        if (owner[k] !== '') throw new TextError(`bit ${k} is set, and belongs to ${owner[k]}`);
    if (number >= 2 ** lengthOf(place)) throw new TextError(`${number} does not fit into '${text}'`);
    setBits(value, place, number);
  }
  return { mask, value };
}

/** Suffixes are parsed in order, so an optional one must not share a name with a later one. @throws TextError otherwise */
function checkModifiers(
  list: readonly { readonly name: string; readonly names?: readonly (string | null)[] }[],
): void {
  list.forEach((a, k) => {
    if (a.names?.includes('') !== true) return;
    for (const b of list.slice(k + 1)) {
      const same = a.names.find((n) => n !== '' && n !== null && b.names?.includes(n));
      if (same !== undefined) throw new TextError(`${a.name} and ${b.name} both have a value '${same}'`);
      if (b.names?.includes('') !== true) return;
    }
  });
}

/** Parses an alias such as `MOV in RRR RRI when a=RZ & !X`; empty if it does not apply to this layout. */
function aliasOf(
  text: string,
  layout: string,
  operands: readonly Operand[],
  fields: Fields,
  c: Context,
): Alias[] {
  const m = /^(\S+)(?: in ((?:\S+ )*?\S+))? when (.*)$/.exec(text.trim());
  if (m === null) throw new TextError(`'${text}' is not an alias: expected MOV in RRR RRI when a=RZ & !X`);
  if (m[2] !== undefined && !m[2].split(' ').includes(layout)) return [];
  const tests = m[3].split('&').map((t) => aliasTest(t.trim(), operands, fields, c));
  return [{ name: m[1], when: (v) => tests.every((t) => t(v)) }];
}

/** A test of an alias: `a=RZ`, `b=1`, `b!=0x10000`, `b=2^n` (a power of two), or a condition on modifiers. */
function aliasTest(text: string, operands: readonly Operand[], fields: Fields, c: Context): Condition {
  const m = /^(\w+)(!?)=(\S+)$/.exec(text);
  const operand = operands.find((o) => o.name === m?.[1]);
  if (m === null || operand === undefined) return conditionOf(parseCondition(text), fields);
  const { atom } = operand;
  if (atom === undefined) return () => false;
  const k = atom.field;
  const wanted = m[2] === '';
  if (m[3] === '2^n') return (v) => (v[k] > 0 && Number.isInteger(Math.log2(v[k]))) === wanted;
  if (/^(0x)?[0-9a-f]+$/.test(m[3])) return (v) => (v[k] === Number(m[3])) === wanted;
  const file = c.registers.get(atom.kind);
  const plain = (v: readonly number[]): boolean => atom.signs.every((s) => v[s.field] === 0);
  return (v) => (file !== undefined && v[k] === file.constant && plain(v)) === wanted;
}
