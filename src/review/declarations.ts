import { RowTable } from '../spec/entries.ts';
import type { Specs } from '../spec/specs.ts';
import type { KnobsSpec } from '../spec/types.generated.ts';
import { type Change, ON_PLANS, onNothing } from './changes.ts';
import { canonical, type DataChange, dataChanges, isTexts, valueText } from './data-diff.ts';
import { Places } from './places.ts';

/*
 * Declarations in the tables of knobs and phases that are not part of plans. They determine what may be set, read and
 * moved, and may change without affecting any shipped plan.
 */

/** Keys of the catalog that are only for readers. */
const TEXTS: ReadonlySet<string> = new Set(['effect', 'source', 'conflict', 'note']);

/** Declarations in a row of the phase table; steps and gates are reported with the plans that run them. */
const DECLARED = [
  'requires',
  'provides',
  'destroys',
  'required',
  'knobs',
  'facts',
  'ruleBudget',
  'hook',
  'progress',
] as const;

/** The elements that only one of two lists of names has. */
function onlyText({ before = [], after = [] }: DataChange): string {
  if (!isTexts(before) || !isTexts(after)) return '';
  const only = (word: string, a: readonly string[], b: readonly string[]) => {
    const own = a.filter((x) => !b.includes(x));
    return own.length === 0 ? [] : [`${word} ${own.join(', ')}`];
  };
  return [...only('new:', after, before), ...only('gone:', before, after)].join('; ');
}

/**
 * Knobs that were added or removed, and changes in the catalog to the others: type, range, readers, default.
 *
 * @param told names of knobs whose value in some plan is already reported
 */
export function catalogChanges(base: Specs, head: Specs, told: ReadonlySet<string>): Change[] {
  const rowsOf = (s: Specs) => s.knobs.data.knobs as Readonly<Record<string, KnobsSpec.Knob>>;
  const [a, b] = [rowsOf(base), rowsOf(head)];
  const places = new Places(base, head);
  return [...new Set([...Object.keys(a), ...Object.keys(b)])].flatMap((name) =>
    dataChanges(a[name], b[name], [name])
      .filter((c) => !TEXTS.has(c.path[1]) && !(c.path[1] === 'default' && told.has(name)))
      .map((c) => ({
        kind: 'knob',
        name: c.path.join('.'),
        before: c.path.length === 1 && c.before !== undefined ? 'there' : valueText(c.before),
        after: c.path.length === 1 && c.after !== undefined ? 'new' : valueText(c.after),
        note: onlyText(c),
        ...places.of(
          b[name] && { file: head.knobs.file, path: ['knobs', ...c.path] },
          a[name] && { file: base.knobs.file, path: ['knobs', ...c.path] },
        ),
        where: [],
        alarm: false,
        acts: onNothing('no plan that ships is another by it'),
      })),
  );
}

/** Declarations of which only checks of orders know. */
const CHECKED: ReadonlySet<string> = new Set(['requires', 'provides', 'destroys', 'required']);

/**
 * Changed declarations in rows of the phase table. A property that a phase no longer requires is no longer checked.
 *
 * @param differing plans that are others than before
 */
export function declarationChanges(base: Specs, head: Specs, differing: readonly string[] = []): Change[] {
  const rowsOf = (s: Specs) => {
    const table = new RowTable(s.phases);
    return new Map(table.rows.map((row, i) => [table.ids[i], { row, i }] as const));
  };
  const [a, b] = [rowsOf(base), rowsOf(head)];
  const places = new Places(base, head);
  return [...b].flatMap(([id, { row, i }]) => {
    const was = a.get(id)?.row;
    if (was === undefined) return [];
    return DECLARED.flatMap((key) =>
      dataChanges(was[key], row[key], [key]).map((c): Change => {
        const less = key === 'requires' && onlyText(c).includes('gone:');
        return {
          kind: 'phase',
          name: `${id}.${key}`,
          before: valueText(c.before),
          after: valueText(c.after),
          note: [onlyText(c), ...(less ? ['what is gone is not checked any more'] : [])].join('; '),
          ...places.of(
            { file: head.phases.file, path: ['phases', i, ...(row[key] === undefined ? [] : [key])] },
            undefined,
          ),
          where: CHECKED.has(key) ? [] : differing,
          alarm: less,
          acts: CHECKED.has(key)
            ? onNothing('it says what is checked of orders, and every order that ships passes')
            : ON_PLANS,
        };
      }),
    );
  });
}

/**
 * Changes to what a group of rules states for all of its rules: condition, owners, tables.
 *
 * @param whereOf plans in which a group is another than before
 * @param provedAgain the new verdicts of the rules with a changed table, by the name of their group
 */
export function groupChanges(
  base: Specs,
  head: Specs,
  whereOf: (group: string) => readonly string[],
  provedAgain: ReadonlyMap<string, string>,
): Change[] {
  const places = new Places(base, head);
  return [...(head.rules ?? [])].flatMap(([group, f]) => {
    const was = base.rules?.get(group);
    if (was === undefined) return [];
    return dataChanges(was.data, f.data)
      .filter((c) => c.path[0] !== 'rules' && !isText(c.path[0]))
      .map((c) => ({
        kind: 'rules',
        name: [group, ...c.path].join('.'),
        before: valueText(c.before),
        after: valueText(c.after),
        note: c.path[0] === 'tables' ? (provedAgain.get(group) ?? '') : onlyText(c),
        ...places.of({ file: f.file, path: c.path }, undefined),
        where: whereOf(group),
        alarm: false,
        acts: ON_PLANS,
      }));
  });
}

/** Is this key of rules and opcodes only for readers? */
const isText = (key: string): boolean => key === 'title' || key === 'source';

const withoutTexts = (v: unknown): unknown =>
  Array.isArray(v)
    ? v.map(withoutTexts)
    : v !== null && typeof v === 'object'
      ? Object.fromEntries(
          Object.entries(v)
            .filter(([k]) => !isText(k))
            .map(([k, x]) => [k, withoutTexts(x)]),
        )
      : v;

/** Are rules and opcodes of both sides equal except for titles and sources, which are in the hashes of plans? */
export function equalExceptTexts(base: Specs, head: Specs): boolean {
  const said = (s: Specs) =>
    canonical(withoutTexts([s.isa.map((f) => f.data), [...(s.rules ?? [])].map(([g, f]) => [g, f.data])]));
  return said(base) === said(head);
}
