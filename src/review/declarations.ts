import type { SpecFile } from '../spec/document.ts';
import { RowTable } from '../spec/entries.ts';
import type { Specs } from '../spec/specs.ts';
import type { KnobsSpec } from '../spec/types.generated.ts';
import { type Change, ON_PLANS, onNothing } from './changes.ts';
import { canonical, type DataChange, dataChanges, isTexts, valueText } from './data-diff.ts';
import { Places } from './places.ts';
import type { ProvedAgain } from './rules.ts';

/*
 * Changes in declarations of knobs, phases and rule groups that are not part of plans. Declarations determine what may be set, read and
 * moved, and may change without affecting any shipped plan.
 */

/** Keys of the catalog that are documentation. */
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

/** Text that lists the names which only one of two lists has; '' if the values are not lists of names. */
function onlyText({ before = [], after = [] }: DataChange): string {
  if (!isTexts(before) || !isTexts(after)) return '';
  const only = (word: string, a: readonly string[], b: readonly string[]) => {
    const own = a.filter((x) => !b.includes(x));
    return own.length === 0 ? [] : [`${word} ${own.join(', ')}`];
  };
  return [...only('new:', after, before), ...only('gone:', before, after)].join('; ');
}

/**
 * Added and removed knobs, and changes in the catalog entries of others, such as type, range, readers and default.
 *
 * @param reported names of knobs for which a changed value in some plan is already reported, so that the new default need not be
 */
export function catalogChanges(base: Specs, head: Specs, reported: ReadonlySet<string>): Change[] {
  const rowsOf = (s: Specs) => s.knobs.data.knobs as Readonly<Record<string, KnobsSpec.Knob>>;
  const [a, b] = [rowsOf(base), rowsOf(head)];
  const places = new Places(base, head);
  return [...new Set([...Object.keys(a), ...Object.keys(b)])].flatMap((name) =>
    dataChanges(a[name], b[name], [name])
      .filter((c) => !TEXTS.has(c.path[1]) && !(c.path[1] === 'default' && reported.has(name)))
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
        acts: onNothing('no shipped plan changes by it'),
      })),
  );
}

/** Declarations that only affect checks of orders. */
const CHECKED: ReadonlySet<string> = new Set(['requires', 'provides', 'destroys', 'required']);

/**
 * Changed declarations in rows of the phase table. Removing a property from `requires` is an alarm, because it is no longer checked.
 *
 * @param differing names of the plans that changed
 */
export function declarationChanges(base: Specs, head: Specs, differing: readonly string[] = []): Change[] {
  const rowsOf = (s: Specs) => {
    const table = new RowTable(s.phases);
    return new Map(table.rows.map((row, i) => [table.ids[i], { row, i }] as const));
  };
  const [a, b] = [rowsOf(base), rowsOf(head)];
  const places = new Places(base, head);
  const properties = dataChanges(base.phases.data.properties, head.phases.data.properties, ['properties'])
    .filter((c) => c.path[2] !== 'means')
    .map((c): Change => {
      const [, name] = c.path;
      const at = (s: Specs) =>
        name !== undefined && Object.hasOwn(s.phases.data.properties as object, name)
          ? { file: s.phases.file, path: ['properties', name] }
          : undefined;
      return {
        kind: 'phase',
        name: c.path.join('.'),
        before: valueText(c.before),
        after: valueText(c.after),
        note: 'what holds before the first phase need not be provided by one',
        ...places.of(at(head), at(base)),
        where: [],
        alarm: c.after !== undefined,
        acts: onNothing('it affects only checks of orders, and every shipped order passes'),
      };
    });
  const rows = [...b].flatMap(([id, { row, i }]) => {
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
          note: [onlyText(c), ...(less ? ['what is gone is no longer checked'] : [])].join('; '),
          ...places.of(
            { file: head.phases.file, path: ['phases', i, ...(row[key] === undefined ? [] : [key])] },
            undefined,
          ),
          where: CHECKED.has(key) ? [] : differing,
          alarm: less,
          acts: CHECKED.has(key)
            ? onNothing('it affects only checks of orders, and every shipped order passes')
            : ON_PLANS,
        };
      }),
    );
  });
  return [...properties, ...rows];
}

/**
 * Changes to declarations of a rule group as a whole: condition, owners, tables.
 *
 * @param whereOf returns names of the plans in which a group changed
 * @param provedAgain the rules affected by a changed table, by name of the group
 */
export function groupChanges(
  base: Specs,
  head: Specs,
  whereOf: (group: string) => readonly string[],
  provedAgain: ReadonlyMap<string, ProvedAgain>,
): Change[] {
  const places = new Places(base, head);
  return [...(head.rules ?? [])].flatMap(([group, f]) => {
    const was = base.rules?.get(group);
    if (was === undefined) return [];
    const [x, y] = [idsOf(was, f), idsOf(f, was)];
    const moved = y.find((id, i) => id !== x[i]);
    const order =
      moved === undefined
        ? []
        : [
            {
              kind: 'rules' as const,
              name: `${group}: ${moved}`,
              before: 'one place among the rules',
              after: 'another place',
              note: 'of rules of one priority that match, the first is applied',
              ...places.of({ file: f.file, path: ['rules', y.indexOf(moved)] }, undefined),
              where: whereOf(group),
              alarm: false,
              acts: ON_PLANS,
            },
          ];
    const whole = dataChanges(was.data, f.data)
      .filter((c) => c.path[0] !== 'rules' && !isText(c.path[0]))
      .map((c) => ({
        kind: 'rules' as const,
        name: [group, ...c.path].join('.'),
        before: valueText(c.before),
        after: valueText(c.after),
        note: c.path[0] === 'tables' ? (provedAgain.get(group)?.text ?? '') : onlyText(c),
        ...places.of({ file: f.file, path: c.path }, undefined),
        where: whereOf(group),
        alarm: c.path[0] === 'tables' && provedAgain.get(group)?.refutes === true,
        acts: ON_PLANS,
      }));
    return [...whole, ...order];
  });
}

/** The ids of the rules of a group that another state of it has too, in order. */
function idsOf(f: SpecFile, other: SpecFile): string[] {
  const ids = (s: SpecFile) => (s.data.rules as readonly { readonly id: string }[]).map((r) => r.id);
  const known = new Set(ids(other));
  return ids(f).filter((id) => known.has(id));
}

/** True if a key of rules and opcodes is documentation. */
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

/** True if rules and opcodes of both sides are equal except for titles and sources, which hashes of plans include. */
export function equalExceptTexts(base: Specs, head: Specs): boolean {
  const content = (s: Specs) =>
    canonical(withoutTexts([s.isa.map((f) => f.data), [...(s.rules ?? [])].map(([g, f]) => [g, f.data])]));
  return content(base) === content(head);
}
