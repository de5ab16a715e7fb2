import { match, P } from 'ts-pattern';
import { nearest } from '../ir/diagnostic.ts';
import type { SpecFile } from './document.ts';
import type { Host } from './host.ts';
import { below, type Issues, type Spot } from './issues.ts';
import { checkParams } from './params.ts';
import type { Specs } from './specs.ts';
import type { PhasesSpec } from './types.generated.ts';

export type Row = Omit<PhasesSpec.Phase, 'purpose' | 'source'>;

/** An entry of an order that is being edited. */
export interface Entry {
  /** Unique in the order: `name`, or `name#2` for a second occurrence. */
  readonly id: string;
  readonly name: string;
  /** Index of its row in the phase table; -1 for an inserted pass or rule group. */
  readonly row: number;
  /** The line that put it here. */
  readonly origin: Spot & { readonly file: SpecFile };
  /** Why the order does not run it; null if it does. */
  readonly dropped: string | null;
  /** Of a later round of phases that are repeated: the phases of the round before. */
  readonly roundAfter?: readonly string[];
  readonly pass?: { readonly pass: string; readonly params: Readonly<Record<string, unknown>> };
  readonly rules?: string;
}

/** Longest chain of `extends`; a longer one must be a cycle or a mistake. */
const LONGEST_CHAIN = 16;

const LISTS_PHASES = '`orrery phases` lists them';

/** Rows of the phase table by id: `name`, and `name#2` for the second row of a name. Look-up ignores case. */
export class RowTable {
  readonly rows: readonly Row[];
  private readonly at = new Map<string, number>();
  readonly ids: string[] = [];

  constructor(phases: SpecFile) {
    this.rows = phases.data.phases as readonly Row[];
    const seen = new Map<string, number>();
    this.rows.forEach((r, i) => {
      const n = (seen.get(r.name) ?? 0) + 1;
      seen.set(r.name, n);
      const id = n === 1 ? r.name : `${r.name}#${n}`;
      this.ids.push(id);
      this.at.set(id.toLowerCase(), i);
    });
  }

  /** Row of an id; occurrences beyond the rows of that name use its first row. -1: no such name. */
  find(id: string): number {
    const key = id.toLowerCase();
    return this.at.get(key) ?? this.at.get(key.replace(/#\d+$/, '')) ?? -1;
  }
}

/** The chain of orders from the requested one down to the full list; null if it is broken. */
export function orderChain(specs: Specs, name: string, issues: Issues): SpecFile[] | null {
  const chain: SpecFile[] = [];
  let from: Spot = { file: null, path: [] };
  for (let next: string | undefined = name; next !== undefined; ) {
    const f = specs.orders.get(next);
    if (f === undefined) {
      issues.unknown(
        from,
        'unknown-order',
        `there is no order '${next}'`,
        next,
        specs.orders.keys(),
        `orders are ${[...specs.orders.keys()].join(', ')}; a file is given by its path`,
      );
      return null;
    }
    from = { file: f, path: ['extends'] };
    if (chain.includes(f) || chain.length >= LONGEST_CHAIN) {
      issues.error(from, 'order-cycle', `order '${name}' extends itself`, {
        notes: [[...chain.slice(chain.indexOf(f)), f].map((x) => x.file).join(' -> ')],
      });
      return null;
    }
    chain.push(f);
    next = f.data.extends as string | undefined;
  }
  return chain;
}

/**
 * The phase index array as names: the full list at the end of the chain with every edit applied, the oldest first.
 * Faults go to `issues`; an edit that is wrong changes nothing.
 */
export function buildOrder(
  chain: readonly SpecFile[],
  table: RowTable,
  level: number,
  { passes, params }: { readonly passes: ReadonlySet<string>; readonly params: Host['passParams'] },
  ruleGroups: ReadonlySet<string>,
  issues: Issues,
): Entry[] {
  let entries: Entry[] = [];
  const replaced = new Map<number, Spot>();
  for (const file of [...chain].reverse()) {
    const list = file.data.phases as readonly Listed[] | undefined;
    if (list !== undefined) {
      entries = fullList(list, file, table, level, issues);
      continue;
    }
    ((file.data.edits ?? []) as readonly Edit[]).forEach((edit, i) => {
      const at = { file, path: ['edits', i] };
      applyEdit(entries, edit, { at, table, level, passes, params, ruleGroups, replaced, issues });
    });
  }
  if (!issues.failed) checkRequired(entries, chain[0], table, replaced, issues);
  return entries;
}

/** An element of a full list: a phase, or one that runs at some levels. */
type Listed = string | { readonly phase: string; readonly levels: readonly number[]; readonly why?: string };

/** Why an element does not run at this level; null where it does. */
const notAtLevel = (levels: readonly number[] | undefined, level: number, why?: string): string | null =>
  levels === undefined || levels.includes(level)
    ? null
    : `the order has it at level ${levels.join(', ')} only${why === undefined ? '' : `: ${why}`}`;

function fullList(
  list: readonly Listed[],
  file: SpecFile,
  table: RowTable,
  level: number,
  issues: Issues,
): Entry[] {
  const out: Entry[] = [];
  const seen = new Set<string>();
  list.forEach((listed, i) => {
    const origin = { file, path: typeof listed === 'string' ? ['phases', i] : ['phases', i, 'phase'] };
    const id = typeof listed === 'string' ? listed : listed.phase;
    const dropped = typeof listed === 'string' ? null : notAtLevel(listed.levels, level, listed.why);
    const row = table.find(id);
    if (row < 0)
      issues.unknown(origin, 'unknown-phase', `there is no phase '${id}'`, id, table.ids, LISTS_PHASES);
    else if (seen.has(id.toLowerCase()))
      issues.error(origin, 'phase-twice', `phase '${id}' stands twice in the order`, {
        notes: ['a second occurrence has an id of its own: name#2'],
      });
    else out.push({ id, name: table.rows[row].name, row, origin, dropped });
    seen.add(id.toLowerCase());
  });
  return out;
}

interface EditContext {
  readonly at: Spot & { readonly file: SpecFile };
  readonly table: RowTable;
  readonly level: number;
  readonly passes: ReadonlySet<string>;
  readonly params: Host['passParams'];
  readonly ruleGroups: ReadonlySet<string>;
  /** Rows that were replaced, and the edit that did it. */
  readonly replaced: Map<number, Spot>;
  readonly issues: Issues;
}

/** Where an edit puts its entry. */
type Anchor = { readonly before: string } | { readonly after: string };

/** One edit; the schema admits no other form. */
type Edit = { readonly levels?: readonly number[]; readonly why?: string } & OneEdit;
type OneEdit =
  | ({ readonly move: string } & Anchor)
  | { readonly drop: string }
  | { readonly repeat: string; readonly through?: string; readonly rounds: number }
  | { readonly replace: string; readonly with: string }
  | ({ readonly insert: string } & Anchor)
  | ({ readonly insertPass: string; readonly params?: Readonly<Record<string, unknown>> } & Anchor)
  | ({ readonly insertRules: string } & Anchor);

/** Applies one edit. One that is faulty or for other levels changes nothing. */
function applyEdit(list: Entry[], edit: Edit, cx: EditContext): void {
  const here = edit.levels?.includes(cx.level) !== false;
  // What is put in is in the order at every level, so that its positions are the same, but runs at its levels only.
  const added = (entry: Entry | null): Entry | null =>
    entry === null || here ? entry : { ...entry, dropped: notAtLevel(edit.levels, cx.level, edit.why) };
  match(edit)
    .with({ move: P.string }, (e) => {
      const from = findEntry(list, e.move, 'move', cx);
      if (from >= 0 && here) place(list, from, { ...list[from], origin: cx.at }, e, cx);
    })
    .with({ drop: P.string }, ({ drop, why }) => {
      const at = findEntry(list, drop, 'drop', cx);
      if (at < 0 || !here) return;
      const dropped = `dropped by the order${why === undefined ? '' : `: ${why}`}`;
      list[at] = { ...list[at], dropped, origin: cx.at };
    })
    .with({ replace: P.string }, (e) => {
      const at = findEntry(list, e.replace, 'replace', cx);
      const entry = newPhase(list, e.with, 'with', cx);
      if (at < 0 || entry === null || !here) return;
      cx.replaced.set(list[at].row, cx.at);
      list[at] = entry;
    })
    .with({ insert: P.string }, (e) => place(list, -1, added(newPhase(list, e.insert, 'insert', cx)), e, cx))
    .with({ insertPass: P.string }, (e) =>
      place(list, -1, added(newPass(list, e.insertPass, e.params ?? {}, cx)), e, cx),
    )
    .with({ insertRules: P.string }, (e) => place(list, -1, added(newRules(list, e.insertRules, cx)), e, cx))
    .with({ repeat: P.string }, (e) => repeat(list, e, added, cx))
    .exhaustive();
}

/** Most entries that an order may come to: repetitions of repetitions grow quickly. */
const MOST_ENTRIES = 2000;

/** Puts the later rounds of neighbouring phases behind them. */
function repeat(
  list: Entry[],
  edit: { readonly repeat: string; readonly through?: string; readonly rounds: number },
  added: (entry: Entry) => Entry | null,
  cx: EditContext,
): void {
  const from = findEntry(list, edit.repeat, 'repeat', cx);
  const to = edit.through === undefined ? from : findEntry(list, edit.through, 'through', cx);
  if (from < 0 || to < 0) return;
  if (to < from) {
    cx.issues.error(
      below(cx.at, 'through'),
      'edit-anchor',
      `'${list[to].id}' (position ${to}) stands before '${list[from].id}' (position ${from})`,
    );
    return;
  }
  if (list.length + (to - from + 1) * (edit.rounds - 1) > MOST_ENTRIES) {
    cx.issues.error(cx.at, 'edit-repeat', `the order would have more than ${MOST_ENTRIES} phases`);
    return;
  }
  const later: Entry[] = [];
  let before = list.slice(from, to + 1);
  for (let round = 1; round < edit.rounds; round++) {
    const roundAfter = before.map((x) => x.id);
    before = before.map((x) => {
      const id = freshId([...list, ...later], x.name);
      const entry = added({ ...x, id, origin: cx.at, roundAfter })!;
      later.push(entry);
      return entry;
    });
  }
  list.splice(to + 1, 0, ...later);
}

function findEntry(list: readonly Entry[], id: string, key: string, cx: EditContext): number {
  const at = list.findIndex((x) => x.id.toLowerCase() === id.toLowerCase());
  if (at < 0)
    cx.issues.unknown(
      below(cx.at, key),
      'unknown-phase',
      `there is no phase '${id}' in the order`,
      id,
      list.map((x) => x.id),
      LISTS_PHASES,
    );
  return at;
}

/** Puts an entry before or after the edit's anchor and removes the one at `from` (-1: none). Without an entry nothing changes. */
function place(list: Entry[], from: number, entry: Entry | null, anchor: Anchor, cx: EditContext): void {
  if (entry === null) return;
  const [key, id] =
    'before' in anchor ? (['before', anchor.before] as const) : (['after', anchor.after] as const);
  const at = findEntry(list, id, key, cx);
  if (at < 0) return;
  if (at === from) {
    cx.issues.error(below(cx.at, key), 'edit-anchor', `'${entry.id}' cannot be placed ${key} itself`);
    return;
  }
  list.splice(key === 'before' ? at : at + 1, 0, entry);
  if (from >= 0) list.splice(from + (from > at ? 1 : 0), 1);
}

function newPhase(list: readonly Entry[], id: string, key: string, cx: EditContext): Entry | null {
  const row = cx.table.find(id);
  if (row < 0) {
    cx.issues.unknown(
      below(cx.at, key),
      'unknown-phase',
      `there is no phase '${id}'`,
      id,
      cx.table.ids,
      nearest(id, cx.passes).length > 0
        ? `there is a pass '${nearest(id, cx.passes)[0]}': a pass is put in with 'insertPass'`
        : LISTS_PHASES,
    );
    return null;
  }
  const name = cx.table.rows[row].name;
  return { id: freshId(list, name), name, row, origin: cx.at, dropped: null };
}

function newPass(
  list: readonly Entry[],
  pass: string,
  params: Readonly<Record<string, unknown>>,
  cx: EditContext,
): Entry | null {
  if (!cx.passes.has(pass)) {
    unknownPass(below(cx.at, 'insertPass'), pass, cx.passes, cx.issues);
    return null;
  }
  checkParams(cx.at, pass, params, cx.params?.(pass), cx.issues);
  return {
    id: freshId(list, pass),
    name: pass,
    row: -1,
    origin: cx.at,
    dropped: null,
    pass: { pass, params },
  };
}

function newRules(list: readonly Entry[], group: string, cx: EditContext): Entry | null {
  if (!cx.ruleGroups.has(group)) {
    unknownRules(below(cx.at, 'insertRules'), group, cx.ruleGroups, cx.issues);
    return null;
  }
  return { id: freshId(list, group), name: group, row: -1, origin: cx.at, dropped: null, rules: group };
}

export const unknownPass = (at: Spot, pass: string, passes: ReadonlySet<string>, issues: Issues): void =>
  issues.unknown(
    at,
    'unknown-pass',
    `there is no pass '${pass}'`,
    pass,
    passes,
    `passes are ${[...passes].join(', ')}`,
  );

export const unknownRules = (at: Spot, group: string, groups: ReadonlySet<string>, issues: Issues): void =>
  issues.unknown(
    at,
    'unknown-rules',
    `there is no rule group '${group}'`,
    group,
    groups,
    '`orrery rules list` names the groups',
  );

/** `name`, or `name#2`, `name#3`, ... if it is taken. */
function freshId(list: readonly Entry[], name: string): string {
  const taken = new Set(list.map((x) => x.id));
  let id = name;
  for (let n = 2; taken.has(id); n++) id = `${name}#${n}`;
  return id;
}

/** Reports required phases that the order leaves out. */
function checkRequired(
  entries: readonly Entry[],
  file: SpecFile,
  table: RowTable,
  replaced: ReadonlyMap<number, Spot>,
  issues: Issues,
): void {
  const present = new Set(entries.map((x) => x.row));
  table.rows.forEach((row, i) => {
    if (row.required !== true || present.has(i)) return;
    const edit = replaced.get(i);
    const list = { file, path: [file.data.phases === undefined ? 'edits' : 'phases'] };
    issues.error(
      edit ?? list,
      'required-phase',
      `phase '${table.ids[i]}' is required, but is not in the order`,
      { key: edit === undefined },
    );
  });
}
