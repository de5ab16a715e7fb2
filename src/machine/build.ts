import { baseTarget } from '../ir/target.ts';
import { TextError } from '../ir/text-error.ts';
import { buildForm, type Context } from './build-form.ts';
import type { Form, Machine, RegisterFile } from './forms.ts';
import { namesOf } from './language.ts';
import type { FamilyRow, FileRow, FormRow, LayoutRow, TimingRow } from './rows.ts';
import { timingOf } from './timing.ts';

/** A mistake in a row of a family. */
export interface FormFault {
  readonly family: string;
  /** Path of keys to the mistake. */
  readonly path: readonly string[];
  readonly message: string;
}

/** A family with everything that it inherits. */
interface Whole {
  readonly registers: Record<string, FileRow>;
  readonly values: Record<string, string | Readonly<Record<string, string>>>;
  readonly layouts: Record<string, LayoutRow>;
  readonly driver: Record<string, number>;
  /** Rows, each with the family that defines it. */
  readonly forms: Map<string, { readonly row: FormRow; readonly family: string }>;
  hides: readonly string[];
  timing: TimingRow;
}

/** Targets of all families, sorted by number. */
export const machineTargets = (families: ReadonlyMap<string, FamilyRow>): string[] =>
  [...families.values()].flatMap((f) => f.sms).sort((a, b) => Number(a.slice(3)) - Number(b.slice(3)));

/**
 * Builds the forms of a target. Rows with mistakes are left out and reported in `faults`.
 *
 * @param families all families, by name
 * @param sm `sm_90` or `sm_90a`
 * @throws TextError if no family has the target, or a family extends itself or an unknown one
 */
export function buildMachine(
  families: ReadonlyMap<string, FamilyRow>,
  sm: string,
): { machine: Machine; faults: FormFault[] } {
  const family = [...families.values()].find((f) => f.sms.includes(baseTarget(sm)));
  if (family === undefined) throw new TextError(`no family of pipelines/machine has the target ${sm}`);
  const whole = wholeFamily(families, family, new Set());
  const faults: FormFault[] = [];
  const registers = registersOf(whole.registers);
  const values = new Map<string, readonly (string | null)[]>();
  for (const [name, list] of Object.entries(whole.values)) values.set(name, listOf(list));
  const context: Context = {
    registers,
    values,
    layouts: new Map(Object.entries(whole.layouts)),
    hides: new Set(whole.hides),
  };
  const forms: Form[] = [];
  for (const [name, { row, family: own }] of whole.forms)
    for (const layout of row.layouts?.split(/\s+/) ?? [''])
      try {
        forms.push(buildForm(name, row, layout, context));
      } catch (e) {
        if (!(e instanceof TextError)) throw e;
        faults.push({ family: own, path: ['forms', name], message: e.message });
      }
  faults.push(...ambiguities(forms).map((f) => ({ ...f, family: family.name })));
  const machine: Machine = {
    timing: timingOf(whole.timing),
    family: family.name,
    sm,
    registers,
    driver: new Map(Object.entries(whole.driver)),
    forms,
    byOpcode: group(forms, (f) => f.opcode),
    byName: group(
      [...forms].sort((a, b) => b.name.length - a.name.length),
      (f) => f.name.split('.')[0],
    ),
  };
  return { machine, faults };
}

function wholeFamily(
  families: ReadonlyMap<string, FamilyRow>,
  family: FamilyRow,
  above: ReadonlySet<string>,
): Whole {
  if (above.has(family.name)) throw new TextError(`the family ${family.name} extends itself`);
  const base = family.extends === undefined ? undefined : families.get(family.extends);
  if (family.extends !== undefined && base === undefined)
    throw new TextError(`${family.name} extends ${family.extends}, which is not a family`);
  const whole: Whole =
    base === undefined
      ? { registers: {}, values: {}, layouts: {}, driver: {}, forms: new Map(), hides: [], timing: {} }
      : wholeFamily(families, base, new Set([...above, family.name]));
  Object.assign(whole.registers, family.registers);
  Object.assign(whole.values, family.values);
  Object.assign(whole.layouts, family.layouts);
  Object.assign(whole.driver, family.driver);
  whole.hides = family.hides ?? whole.hides;
  whole.timing = { ...whole.timing, ...family.timing };
  for (const [name, row] of Object.entries(family.forms)) {
    const before = whole.forms.get(name)?.row;
    if (row === null) whole.forms.delete(name);
    else whole.forms.set(name, { row: { ...before, ...row }, family: family.name });
  }
  return whole;
}

const registersOf = (rows: Readonly<Record<string, FileRow>>): Map<string, RegisterFile> =>
  new Map(
    Object.entries(rows).map(([name, r]) => [
      name,
      { bits: r.bits, constant: r.constant ?? null, letter: r.letter ?? '' },
    ]),
  );

function listOf(list: string | Readonly<Record<string, string>>): (string | null)[] {
  if (typeof list === 'string') return namesOf(list.trim().split(/\s+/));
  const { otherwise, ...named } = list;
  const names: (string | null)[] = [];
  for (const [value, name] of Object.entries(named)) names[Number(value)] = namesOf([name])[0];
  return Array.from(names, (n, k) => n ?? (otherwise === undefined ? null : `${otherwise}${k}`));
}

/** Pairs of forms that match a common word. */
function ambiguities(forms: readonly Form[]): Omit<FormFault, 'family'>[] {
  const faults: Omit<FormFault, 'family'>[] = [];
  for (const list of group(forms, (f) => f.opcode).values())
    list.forEach((a, k) => {
      for (const b of list.slice(k + 1))
        if (a.mask.every((m, i) => ((a.value[i] ^ b.value[i]) & m & b.mask[i]) === 0))
          faults.push({
            path: ['forms', b.row],
            message: `${b.name} ${b.layout} and ${a.name} ${a.layout} have no fixed bit in which they differ`,
          });
    });
  return faults;
}

function group<T, K>(list: readonly T[], key: (x: T) => K): Map<K, T[]> {
  const out = new Map<K, T[]>();
  for (const x of list) {
    const own = out.get(key(x));
    if (own === undefined) out.set(key(x), [x]);
    else own.push(x);
  }
  return out;
}
