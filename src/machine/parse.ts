import { type Control, NO_BARRIER } from './control.ts';
import { allowed, decode, type Instruction } from './decode.ts';
import { encode } from './encode.ts';
import { parseFloatText } from './floats.ts';
import type { Atom, Form, Machine, Operand, Sign, Suffix, Term } from './forms.ts';
import { instructionText, isFloat, signText, WORD_BYTES } from './text.ts';

/*
 * Parses the text of text.ts. Names may be missing and operands may depend on modifiers, so this is a backtracking parser: it tries what
 * fits part by part, and accepts values whose text equals the given one.
 */

/** Values of the fields by index; undefined if not determined yet. */
type Values = readonly (number | undefined)[];

/** A partial parse: the values determined so far, and the remaining text. */
interface Step {
  readonly values: Values;
  readonly rest: string;
  /** Reuse-mask bits of the registers parsed so far. */
  readonly reuse: number;
}

/** Control part of an instruction without one: no wait, no barrier, no stall. */
export const NO_CONTROL: Control = {
  stall: 0,
  yield: false,
  write: NO_BARRIER,
  read: NO_BARRIER,
  wait: 0,
  reuse: 0,
};

const REUSE = '.reuse';
/** Maximum number of combinations tried for fields that the text does not show. */
const MOST_HIDDEN = 256;

/**
 * Parses the text of `instructionText`; null for any other text.
 *
 * @param at address of the instruction, to which code addresses are relative
 * @param control control part of the instruction; its reuse mask is taken from the text
 */
export function parseInstruction(
  machine: Machine,
  text: string,
  at: number,
  control: Control = NO_CONTROL,
): Instruction | null {
  const m = /^(?:@(!?)(U?P)(\d+|T) )?([A-Z0-9]+)/.exec(text);
  if (m === null) return null;
  const [, not, file, number, word] = m;
  const body = file === undefined ? text : text.slice(text.indexOf(' ') + 1);
  for (const form of machine.byName.get(word) ?? []) {
    if (file !== undefined && file !== form.guard) continue;
    const constant = machine.registers.get(form.guard)?.constant ?? 0;
    const guard = number === undefined || number === 'T' ? constant : Number(number);
    for (const { values, reuse } of parseBody(machine, form, body, at)) {
      const i = { form, values, guard, guardNot: not === '!', control: { ...control, reuse } };
      // A number that overflows its field would be decoded as another one.
      const whole = decode(machine, encode(i));
      if (whole?.form === form && instructionText(machine, whole, at) === text) return whole;
    }
  }
  return null;
}

/** Values of a form that may have this text, except for the guard. */
function* parseBody(
  machine: Machine,
  form: Form,
  body: string,
  at: number,
): Generator<{ values: number[]; reuse: number }> {
  if (!body.startsWith(form.name)) return;
  const space = body.indexOf(' ');
  const head = (space < 0 ? body : body.slice(0, space)).slice(form.name.length);
  const operands = space < 0 ? [] : body.slice(space + 1).split(', ');
  const reader = new Reader(machine, form, at);
  const start: Step = { values: form.fields.map(() => undefined), rest: head, reuse: 0 };
  for (const s of reader.suffixes(
    form.modifiers.map((field) => ({ field })),
    start,
  ))
    if (s.rest === '')
      for (const t of reader.operands(form.operands, operands, s))
        for (const values of reader.completed(t.values)) yield { values, reuse: t.reuse };
}

/** Consumes `.reuse` after a register. */
const reused = (a: Atom, s: Step): Step =>
  a.reuse !== null && s.rest.startsWith(REUSE)
    ? { ...s, reuse: s.reuse | (1 << a.reuse), rest: s.rest.slice(REUSE.length) }
    : s;

class Reader {
  private readonly machine: Machine;
  private readonly form: Form;
  private readonly at: number;

  constructor(machine: Machine, form: Form, at: number) {
    this.machine = machine;
    this.form = form;
    this.at = at;
  }

  /** Sets a field; null if it already has another value. */
  private with(s: Step, field: number, value: number, rest = s.rest): Step | null {
    const known = s.values[field];
    if (known !== undefined) return known === value ? { ...s, rest } : null;
    const values = [...s.values];
    values[field] = value;
    return { ...s, values, rest };
  }

  /** Parses suffixes such as `.FTZ.RN`. Each may be missing if its field has an unnamed value or is irrelevant. */
  *suffixes(list: readonly Suffix[], s: Step): Generator<Step> {
    if (list.length === 0) return yield s;
    const [{ field, text, when }, ...others] = list;
    if (field === undefined) {
      if (s.rest.startsWith(`.${text}`))
        yield* this.suffixes(others, { ...s, rest: s.rest.slice(text!.length + 1) });
      if (when !== undefined) yield* this.suffixes(others, s);
      return;
    }
    const { names, otherwise } = this.form.fields[field];
    for (const [value, name] of names!.entries()) {
      if (name === null || !(name === '' || s.rest.startsWith(`.${name}`))) continue;
      const next = this.with(s, field, value, name === '' ? s.rest : s.rest.slice(name.length + 1));
      if (next !== null) yield* this.suffixes(others, next);
    }
    // An absent part leaves its field undetermined or at its neutral value.
    if (when !== undefined) yield* this.suffixes(others, s);
    if (names![otherwise] === '') return;
    const absent = this.form.fields[field].when === undefined ? null : this.with(s, field, otherwise);
    if (absent !== null) yield* this.suffixes(others, absent);
  }

  /** Parses operands in order; optional ones may be absent. */
  *operands(list: readonly Operand[], texts: readonly string[], s: Step): Generator<Step> {
    if (list.length < texts.length) return;
    if (list.length === 0) return yield s;
    const [o, ...others] = list;
    if (texts.length > 0)
      for (const t of this.operand(o, { ...s, rest: texts[0] }))
        if (t.rest === '') yield* this.operands(others, texts.slice(1), t);
    if (o.when !== undefined) yield* this.operands(others, texts, s);
  }

  private *operand(o: Operand, s: Step): Generator<Step> {
    if (o.literal !== undefined) {
      if (s.rest === o.literal) yield { ...s, rest: '' };
    } else if (o.atom !== undefined) yield* this.atom(o.atom, s);
    else
      for (const [signed, before, after] of this.signed(o.signs, s)) {
        if (!s.rest.startsWith(before)) continue;
        for (const t of this.address(o, { ...signed, rest: s.rest.slice(before.length) }))
          for (const u of this.suffixes(o.suffixes, t)) if (u.rest === after) yield { ...u, rest: '' };
      }
  }

  /** Parses an address such as `desc[UR4][R2.64+0x10]`. */
  private *address(o: Operand, s: Step): Generator<Step> {
    const m = /^(?:([a-z]+)\[([^\]]*)\])?(?:\[([^\]]*)\])?(.*)$/s.exec(s.rest);
    if (m === null) return;
    const [, word, prefix, inner, rest] = m;
    if (word !== o.prefix?.word && (word !== undefined || o.prefix?.term.when === undefined)) return;
    const before = word === undefined ? [s] : this.all(o.prefix!.term.atom, { ...s, rest: prefix });
    for (const t of before)
      for (const u of this.terms(o.terms ?? [], inner === undefined ? [] : inner.split('+'), t))
        yield { ...u, rest };
  }

  /** Parses an atom that must use up the text. */
  private *all(a: Atom, s: Step): Generator<Step> {
    for (const t of this.atom(a, s)) if (t.rest === '') yield t;
  }

  private *terms(list: readonly Term[], texts: readonly string[], s: Step): Generator<Step> {
    if (list.length < texts.length) return;
    if (list.length === 0) return yield s;
    const [first, ...others] = list;
    if (texts.length > 0)
      for (const t of this.all(first.atom, { ...s, rest: texts[0] }))
        yield* this.terms(others, texts.slice(1), t);
    if (first.when !== undefined) yield* this.terms(others, texts, s);
  }

  /** Parses an atom such as `-|R3|.H0_H0`. */
  private *atom(a: Atom, s: Step): Generator<Step> {
    for (const [signed, before, after] of this.signed(a.signs, s)) {
      if (!s.rest.startsWith(before)) continue;
      for (const t of this.value(a, { ...signed, rest: s.rest.slice(before.length) }))
        if (t.rest.startsWith(after))
          yield* this.suffixes(a.suffixes, reused(a, { ...t, rest: t.rest.slice(after.length) }));
    }
  }

  /** All settings of the signs, each with the text that it puts before and after the value. */
  private *signed(signs: readonly Sign[], s: Step): Generator<[Step, string, string]> {
    for (let bits = 0; bits < 2 ** signs.length; bits++) {
      let step: Step | null = s;
      signs.forEach(({ field }, k) => {
        if (step !== null) step = this.with(step, field, (bits >> k) & 1);
      });
      if (step === null) continue;
      const values = (step as Step).values.map((v) => v ?? 0);
      const [before, after] = signText(signs, { values }, ' ').split(' ');
      yield [step, before, after];
    }
  }

  /** Parses the value of an atom at the beginning of the text. */
  private *value(a: Atom, s: Step): Generator<Step> {
    const field = this.form.fields[a.field];
    const set = (value: number, length: number): Step[] => {
      const raw = a.inverted ? 2 ** field.bits - 1 - value : value;
      const next = this.with(s, a.field, raw, s.rest.slice(length));
      return next === null ? [] : [next];
    };
    if (a.kind === 'enum') {
      for (const [value, name] of field.names!.entries())
        if (name !== null && s.rest.startsWith(name)) yield* set(value, name.length);
    } else if (isFloat(a.kind)) {
      const [text] = /^(?:[+-]INF|0x[0-9a-f]+|-?\d+(?:\.\d+)?(?:e[+-]?\d+)?)/.exec(s.rest) ?? [''];
      const bits = parseFloatText(a.kind, text);
      if (bits !== null) yield* set(bits, text.length);
    } else if (a.kind === 'set') {
      const m = /^\{([\d,]*)\}/.exec(s.rest);
      if (m !== null)
        yield* set(m[1] === '' ? 0 : m[1].split(',').reduce((n, k) => n + 2 ** Number(k), 0), m[0].length);
    } else if (['u', 's', 'd', 'pc'].includes(a.kind)) yield* this.number(a, s, set);
    else {
      const m = new RegExp(`^${a.kind}(\\d+|[A-Z])`).exec(s.rest);
      if (m === null) return;
      const file = this.machine.registers.get(a.kind);
      const number = /\d/.test(m[1]) ? Number(m[1]) : m[1] === file?.letter ? file.constant : null;
      if (number !== null) yield* set(number, m[0].length);
    }
  }

  private *number(a: Atom, s: Step, set: (value: number, length: number) => Step[]): Generator<Step> {
    const m = (a.kind === 'd' ? /^-?\d+/ : /^-?0x[0-9a-f]+/).exec(s.rest);
    if (m === null) return;
    const [text] = m;
    if (a.high !== undefined) {
      const digits = text.slice(2).padStart(16, '0');
      const high = this.with(s, a.high, Number.parseInt(digits.slice(0, 8), 16), s.rest.slice(text.length));
      const both = high && this.with(high, a.field, Number.parseInt(digits.slice(8), 16));
      if (both) yield both;
      return;
    }
    const size = Number(text.replace('-', ''));
    const number = (text.startsWith('-') ? -size : size) - (a.kind === 'pc' ? this.at + WORD_BYTES : 0);
    if (Number.isInteger(number / a.scale)) yield* set(number / a.scale, text.length);
  }

  /** Completes the values with fields that the text does not show: neutral values first, then all that the form allows. */
  *completed(values: Values): Generator<number[]> {
    const open = values.flatMap((v, k) => (v === undefined ? [k] : []));
    const ranges = open.map((k) => {
      const { when, otherwise, bits } = this.form.fields[k];
      const all = Array.from({ length: 2 ** Math.min(bits, 8) }, (_, v) => v);
      return when === undefined ? all : [otherwise, ...all.filter((v) => v !== otherwise)];
    });
    const combinations = Math.min(
      MOST_HIDDEN,
      ranges.reduce((n, r) => n * r.length, 1),
    );
    for (let c = 0; c < combinations; c++) {
      const all = values.map((v) => v ?? 0);
      let left = c;
      open.forEach((k, j) => {
        all[k] = ranges[j][left % ranges[j].length];
        left = Math.floor(left / ranges[j].length);
      });
      if (allowed(this.form, all, 0)) yield all;
    }
  }
}
