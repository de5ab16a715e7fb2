import { firstLines } from '../ir/listed.ts';
import { type PlanDifference, planDifferences } from '../lab/plan-differences.ts';
import type { SpecFile } from '../spec/document.ts';
import { DEFAULT_ORDER, type Specs } from '../spec/specs.ts';
import type { ConstraintsSpec, RecipeSpec } from '../spec/types.generated.ts';
import { type Change, ON_PLANS, onNothing, type PlanPair } from './changes.ts';
import { byName, canonical, type DataChange, dataChanges, isTexts, valueTexts } from './data-diff.ts';
import { Places } from './places.ts';
import type { Added } from './requests.ts';
import type { ProvedAgain } from './rules.ts';

/*
 * Changes in documents: recipes, knob sets, orders, opcodes, constraints and others. Changes that differences of plans report already are
 * left out.
 */

/** Keys that are documentation. */
const TEXTS: ReadonlySet<string> = new Set(['title', 'why', 'source', 'sources', 'doubts']);

const isText = ({ path }: DataChange): boolean => TEXTS.has(path[0]) || TEXTS.has(path.at(-1) ?? '');

/** Maximum number of differences that the note on a new document lists. */
const MOST_LISTED = 8;

/** Added, removed and changed recipes, knob sets and orders, except for changes that differences of their plans report already. */
export function documentChanges(
  base: Specs,
  head: Specs,
  pairs: readonly PlanPair[],
  inPlans: readonly Change[],
): Change[] {
  const places = new Places(base, head);
  const kinds = [
    ['recipe', base.recipes, head.recipes],
    ['knob set', base.knobSets, head.knobSets],
    ['order', base.orders, head.orders],
  ] as const;
  return kinds.flatMap(([kind, a, b]) =>
    [...new Set([...a.keys(), ...b.keys()])].flatMap((name): Change[] => {
      const [x, y] = [a.get(name), b.get(name)];
      const row = (path: readonly string[]) => ({
        kind,
        name: [name, ...path].join('.'),
        ...places.of(y && { file: y.file, path }, x && { file: x.file, path }),
        where: [`${kind} ${name}`],
        alarm: false,
      });
      if (x === undefined)
        return [
          {
            ...row([]),
            before: 'nothing',
            after: 'new',
            note: newNote(kind, name, y!, pairs),
            acts: ON_PLANS,
          },
        ];
      if (y === undefined)
        return [{ ...row([]), before: 'there', after: 'nothing', note: '', acts: onNothing('it is gone') }];
      if (kind === 'order' && x.data.phases !== undefined) return [];
      const reported = inPlans.filter((c) => c.where.includes(`${kind} ${name}`));
      return dataChanges(x.data, y.data)
        .filter((c) => !isText(c) && !isReported(kind, c, reported))
        .map((c) => ({
          ...row(c.path),
          ...valueTexts(c),
          note: '',
          acts: c.path[0] === 'measured' ? onNothing('it is only a statement of the recipe') : ON_PLANS,
        }));
    }),
  );
}

/** True if changes of plans report everything about a change of a document. */
function isReported(kind: Added, { path, before, after }: DataChange, reported: readonly Change[]): boolean {
  const named = (name: string) => reported.some((c) => c.name === name || c.name.startsWith(`${name}#`));
  const [first, second] = path;
  // Edits are named by their phases, after the kind of the edit if there are several kinds (`dataChanges`).
  if (kind === 'order') return first === 'edits' && second !== undefined && named(second.split(' ').at(-1)!);
  const changed =
    first === 'parts'
      ? [...only(partsIn(before), partsIn(after)), ...only(partsIn(after), partsIn(before))].flatMap((part) =>
          namesIn(part),
        )
      : (first === 'knobs' || first === 'hooks') && second !== undefined
        ? [second]
        : [before, after].flatMap((v, i, both) =>
            only(namesIn({ [first]: v }), namesIn({ [first]: both[1 - i] })),
          );
  return changed.length > 0 && changed.every(named);
}

const only = <T>(list: readonly T[], other: readonly T[]): T[] =>
  list.filter((x) => !other.some((y) => canonical(x) === canonical(y)));

const partsIn = (v: unknown): readonly object[] => (Array.isArray(v) ? v : []);

/** Knobs, hooks and phases that a recipe, or a part of one, names. */
function namesIn(part: object): string[] {
  const { knobs = {}, hooks = {}, phases = {} } = part as Partial<RecipeSpec.Part>;
  const lists = isTexts(phases) ? [phases] : Object.values(phases as object);
  return [...Object.keys(knobs), ...Object.keys(hooks), ...lists.filter(isTexts).flat()];
}

/** How the plan with a new document differs from the plan without it, one difference per line. */
function newNote(kind: Added, name: string, f: SpecFile, pairs: readonly PlanPair[]): string {
  const found = pairs.find((p) => p.where === `${kind} ${name}`);
  if (found?.head == null || found.without === null) return '';
  const against = kind === 'order' ? `from ${String(f.data.extends ?? DEFAULT_ORDER)}` : '';
  const all = planDifferences(found.without, found.head).map(differenceLine);
  return all.length === 0
    ? `does not differ ${against || 'from a plan without it'}`
    : [`differs ${against}`.trim(), ...firstLines(all, MOST_LISTED)].join('\n');
}

const differenceLine = (d: PlanDifference): string =>
  `${d.kind}${d.name === '' ? '' : ` ${d.name}`}: ${d.a} -> ${d.b}`;

/** Keys of an opcode on which proofs of rules depend. */
const PROVED_BY: ReadonlySet<string> = new Set(['means', 'form', 'modifiers']);

/**
 * Added, removed and changed opcodes.
 *
 * @param where names of the plans whose instruction set changed
 * @param provedAgain the rules that use an opcode, by its name
 */
export function opcodeChanges(
  base: Specs,
  head: Specs,
  where: readonly string[],
  provedAgain: ReadonlyMap<string, ProvedAgain>,
): Change[] {
  const of = (s: Specs) =>
    new Map(
      s.isa.flatMap((f) =>
        Object.entries(f.data.opcodes as Record<string, Record<string, unknown>>).map(
          ([name, op]) => [name, { file: f, op }] as const,
        ),
      ),
    );
  const [a, b] = [of(base), of(head)];
  const places = new Places(base, head);
  return [...new Set([...a.keys(), ...b.keys()])].flatMap((name) =>
    dataChanges(a.get(name)?.op, b.get(name)?.op, [name])
      .filter((c) => c.path[1] !== 'title')
      .map((c): Change => {
        const at = (file: SpecFile | undefined) => file && { file: file.file, path: ['opcodes', ...c.path] };
        const again = PROVED_BY.has(c.path[1]) ? provedAgain.get(name) : undefined;
        return {
          kind: 'opcodes',
          name: c.path.join('.'),
          ...valueTexts(c),
          note: again?.text ?? '',
          ...places.of(at(b.get(name)?.file), at(a.get(name)?.file)),
          where,
          alarm: again?.refutes === true,
          acts: { on: 'opcode', name },
        };
      }),
  );
}

/** Constraints that were added, removed, or changed in severity, with their reasons. */
export function constraintChanges(base: Specs, head: Specs): Change[] {
  const of = (s: Specs) =>
    byName(
      (s.constraints.data.constraints as readonly ConstraintsSpec.Constraint[]).map((c, i) => ({ c, i })),
      ({ c }) => `${c.before} before ${c.after}${c.orders === undefined ? '' : ` (${c.orders.join(', ')})`}`,
    );
  const [a, b] = [of(base), of(head)];
  const force = (x: { c: ConstraintsSpec.Constraint } | undefined): string =>
    x === undefined ? 'nothing' : (x.c.severity ?? 'error');
  const at = (s: Specs, x: { i: number } | undefined) =>
    x && { file: s.constraints.file, path: ['constraints', x.i] };
  const places = new Places(base, head);
  return [...new Set([...a.keys(), ...b.keys()])].flatMap((name): Change[] => {
    const [x, y] = [a.get(name), b.get(name)];
    if (force(x) === force(y)) return [];
    const waived = x !== undefined && force(y) !== 'error';
    const { before, after, why } = (x ?? y)!.c;
    const was =
      y === undefined ? 'removed; it was there because ' : 'only a warning now; it was an error because ';
    return [
      {
        kind: 'constraint',
        name,
        before: force(x),
        after: force(y),
        note: `${waived ? was : ''}${why}`,
        ...places.of(at(head, y), at(base, x)),
        where: [],
        alarm: waived,
        acts: waived
          ? { on: 'order', first: before, second: after }
          : onNothing('every shipped order satisfies it'),
      },
    ];
  });
}

/**
 * Changes that no plan shows but that a reviewer must know: in back ends, PTX forms, carried PTX and faults of ptxas.
 *
 * @param inPlans changes that differences of plans report
 * @param plans names of the plans whose results are written as PTX
 */
export function otherChanges(
  base: Specs,
  head: Specs,
  inPlans: readonly Change[],
  plans: readonly string[],
): Change[] {
  const places = new Places(base, head);
  const row = (c: DataChange, name: string, x: SpecFile | undefined, y: SpecFile | undefined) => ({
    kind: 'spec' as const,
    name: [name, ...c.path].join('.'),
    ...valueTexts(c),
    note: '',
    ...places.of(y && { file: y.file, path: c.path }, x && { file: x.file, path: c.path }),
    alarm: false,
  });
  const forms = dataChanges(base.ptx?.data, head.ptx?.data)
    .filter((c) => !isText(c))
    .map((c): Change => ({ ...row(c, 'PTX forms', base.ptx, head.ptx), where: plans, acts: ON_PLANS }));
  const names = [...new Set([...base.backends.keys(), ...head.backends.keys()])];
  const backends = names.flatMap((name) => {
    const [x, y] = [base.backends.get(name), head.backends.get(name)];
    return dataChanges(x?.data, y?.data)
      .filter((c) => !isText(c) && !isReportedForBackend(c, inPlans))
      .map((c): Change => {
        const isDefault = c.path[0] === 'recipe' && y?.data.sm !== undefined;
        return {
          ...row(c, `back end ${name}`, x, y),
          where: isDefault ? [`default recipe ${String(y.data.sm)}`] : [],
          acts: isDefault ? ON_PLANS : onNothing('no shipped plan has it from there'),
        };
      });
  });
  return [...forms, ...carriedChanges(base, head, plans), ...faultChanges(base, head, plans), ...backends];
}

/** Changes in the rows for PTX that Ori carries unchanged, and in their order: the first matching row is used. */
function carriedChanges(base: Specs, head: Specs, plans: readonly string[]): Change[] {
  type Carried = Readonly<Record<string, unknown>> & { readonly ptx: readonly string[] };
  const of = (s: Specs) => {
    const rows = s.isa.flatMap((file) =>
      ((file.data.foreign ?? []) as readonly Carried[]).map((row, i) => ({ row, file: file.file, i })),
    );
    return byName(rows, (r) => r.row.ptx.join(' '));
  };
  const [a, b] = [of(base), of(head)];
  const places = new Places(base, head);
  const at = (x: { readonly file: string; readonly i: number } | undefined) =>
    x && { file: x.file, path: ['foreign', x.i] };
  const common = { kind: 'spec' as const, note: '', where: plans, alarm: false, acts: ON_PLANS };
  const rows = [...new Set([...a.keys(), ...b.keys()])].flatMap((ptx) =>
    dataChanges(a.get(ptx)?.row, b.get(ptx)?.row, [ptx])
      .filter((c) => !isText(c))
      .map(
        (c): Change => ({
          ...common,
          name: `carried PTX ${c.path.join('.')}`,
          ...valueTexts(c),
          ...places.of(at(b.get(ptx)), at(a.get(ptx))),
        }),
      ),
  );
  const order = (rows: typeof a, others: typeof a) => [...rows.keys()].filter((ptx) => others.has(ptx));
  const [was, now] = [order(a, b), order(b, a)];
  const moved = now.find((ptx, i) => ptx !== was[i]);
  if (moved === undefined) return rows;
  const note = 'the first row that matches is used';
  const texts = { name: 'carried PTX', before: 'one order', after: 'another order' };
  return [...rows, { ...common, ...texts, note, ...places.of(at(b.get(moved)), at(a.get(moved))) }];
}

/** Keys of a ptxas fault that are documentation or test data; the others determine which code is avoided. */
const FAULT_TEXTS: ReadonlySet<string> = new Set(['ptxas', 'wrong', 'instead', 'input']);

/** Changes in the known faults of ptxas. Removing or changing one is an alarm, because its code may no longer be avoided. */
function faultChanges(base: Specs, head: Specs, plans: readonly string[]): Change[] {
  const [x, y] = [base.ptxasFaults, head.ptxasFaults];
  const faults = (f: SpecFile | undefined): readonly { readonly name: string }[] =>
    (f?.data.faults ?? []) as readonly { readonly name: string }[];
  const named = (f: SpecFile | undefined) =>
    byName(
      faults(f).map((fault, i) => ({ fault, i })),
      ({ fault }) => fault.name,
    );
  const [a, b] = [named(x), named(y)];
  const places = new Places(base, head);
  return [...new Set([...a.keys(), ...b.keys()])].flatMap((name) => {
    const [was, now] = [a.get(name), b.get(name)];
    return dataChanges(was?.fault, now?.fault, [name])
      .filter((c) => !isText(c))
      .map((c): Change => {
        const alarm = was !== undefined && !FAULT_TEXTS.has(c.path[1]);
        return {
          kind: 'spec',
          name: `fault of ptxas ${c.path.join('.')}`,
          ...(was === undefined
            ? { before: 'nothing', after: 'new' }
            : now === undefined
              ? { before: 'there', after: 'nothing' }
              : valueTexts(c)),
          note: alarm ? 'PTX that ptxas miscompiles may be written where it was avoided' : '',
          ...places.of(
            now && y && { file: y.file, path: ['faults', now.i] },
            was && x && { file: x.file, path: ['faults', was.i] },
          ),
          where: plans,
          alarm,
          acts: ON_PLANS,
        };
      });
  });
}

/** True if changes of plans report a change of a back end. */
function isReportedForBackend({ path }: DataChange, inPlans: readonly Change[]): boolean {
  const [first, second] = path;
  if (first === 'knobs' || first === 'hooks')
    return inPlans.some((c) => c.name === second || c.name.startsWith(`${second}#`));
  const name = path.join('.');
  return inPlans.some((c) => c.kind === 'fact' && (c.name === name || c.name.startsWith(`${name}.`)));
}
