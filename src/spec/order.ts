import { match, P } from 'ts-pattern';
import { nearest } from '../ir/diagnostic.ts';
import type { SpecFile } from './document.ts';
import { below, type Issues, type Spot } from './issues.ts';
import type { Specs } from './specs.ts';
import type { PhasesSpec } from './types.generated.ts';

export type Row = Omit<PhasesSpec.Phase, 'purpose' | 'source'>;

/** A place in the order while it is edited. */
export interface Entry {
  /** Unique in the order: `name`, or `name#2` for a second occurrence. */
  readonly id: string;
  readonly name: string;
  /** Index of its row in the phase table; -1 for an inserted pass or rule group. */
  readonly row: number;
  /** Line of an order that put it here. */
  readonly origin: Spot & { readonly file: SpecFile };
  /** Why the order does not run it; null where it does. */
  readonly dropped: string | null;
  readonly pass?: { readonly pass: string; readonly params: Readonly<Record<string, unknown>> };
  readonly rules?: string;
}

/** Longest chain of `extends`; a longer one is a cycle or a mistake. */
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

  /** Row of an id; an occurrence beyond the rows of its name is the first row again. -1: no such name. */
  find(id: string): number {
    const key = id.toLowerCase();
    return this.at.get(key) ?? this.at.get(key.replace(/#\d+$/, '')) ?? -1;
  }
}

/** The chain of orders from the one asked for down to the full list; null where it is broken. */
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
  passes: ReadonlySet<string>,
  ruleGroups: ReadonlySet<string>,
  issues: Issues,
): Entry[] {
  let entries: Entry[] = [];
  const replaced = new Map<number, Spot>();
  for (const file of [...chain].reverse()) {
    const list = file.data.phases as readonly string[] | undefined;
    if (list !== undefined) {
      entries = fullList(list, file, table, issues);
      continue;
    }
    ((file.data.edits ?? []) as readonly Edit[]).forEach((edit, i) => {
      const at = { file, path: ['edits', i] };
      applyEdit(entries, edit, { at, table, level, passes, ruleGroups, replaced, issues });
    });
  }
  if (!issues.failed) checkRequired(entries, chain[0], table, replaced, issues);
  return entries;
}

function fullList(list: readonly string[], file: SpecFile, table: RowTable, issues: Issues): Entry[] {
  const out: Entry[] = [];
  const seen = new Set<string>();
  list.forEach((id, i) => {
    const origin = { file, path: ['phases', i] };
    const row = table.find(id);
    if (row < 0)
      issues.unknown(origin, 'unknown-phase', `there is no phase '${id}'`, id, table.ids, LISTS_PHASES);
    else if (seen.has(id.toLowerCase()))
      issues.error(origin, 'phase-twice', `phase '${id}' stands twice in the order`, {
        notes: ['a second occurrence has an id of its own: name#2'],
      });
    else out.push({ id, name: table.rows[row].name, row, origin, dropped: null });
    seen.add(id.toLowerCase());
  });
  return out;
}

interface EditContext {
  readonly at: Spot & { readonly file: SpecFile };
  readonly table: RowTable;
  readonly level: number;
  readonly passes: ReadonlySet<string>;
  readonly ruleGroups: ReadonlySet<string>;
  /** Rows that gave their place to another, and the edit that did it. */
  readonly replaced: Map<number, Spot>;
  readonly issues: Issues;
}

/** Where an edit puts something. */
type Anchor = { readonly before: string } | { readonly after: string };

/** One edit, by what it does; the schema lets no other form through. */
type Edit =
  | ({ readonly move: string } & Anchor)
  | { readonly drop: string; readonly levels?: readonly number[]; readonly why?: string }
  | { readonly replace: string; readonly with: string }
  | ({ readonly insert: string } & Anchor)
  | ({ readonly insertPass: string; readonly params?: Readonly<Record<string, unknown>> } & Anchor)
  | ({ readonly insertRules: string } & Anchor);

/** Applies one edit to the order so far; an edit that is wrong, or not for this level, changes nothing. */
function applyEdit(list: Entry[], edit: Edit, cx: EditContext): void {
  match(edit)
    .with({ move: P.string }, (e) => {
      const from = findEntry(list, e.move, 'move', cx);
      if (from >= 0) place(list, from, { ...list[from], origin: cx.at }, e, cx);
    })
    .with({ drop: P.string }, ({ drop, levels, why }) => {
      const at = findEntry(list, drop, 'drop', cx);
      if (at < 0 || levels?.includes(cx.level) === false) return;
      const dropped = `dropped by the order${why === undefined ? '' : `: ${why}`}`;
      list[at] = { ...list[at], dropped, origin: cx.at };
    })
    .with({ replace: P.string }, (e) => {
      const at = findEntry(list, e.replace, 'replace', cx);
      const entry = newPhase(list, e.with, 'with', cx);
      if (at < 0 || entry === null) return;
      cx.replaced.set(list[at].row, cx.at);
      list[at] = entry;
    })
    .with({ insert: P.string }, (e) => place(list, -1, newPhase(list, e.insert, 'insert', cx), e, cx))
    .with({ insertPass: P.string }, (e) =>
      place(list, -1, newPass(list, e.insertPass, e.params ?? {}, cx), e, cx),
    )
    .with({ insertRules: P.string }, (e) => place(list, -1, newRules(list, e.insertRules, cx), e, cx))
    .exhaustive();
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

/** Puts an entry before or after the edit's anchor, and takes out what stands at `from` (-1: nothing). No entry: no change. */
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

/** A required phase that is nowhere in the order is as good as switched off. */
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
