import { match, P } from 'ts-pattern';
import { nearest } from '../ir/diagnostic.ts';
import type { SpecFile } from './document.ts';
import { type Entry, freshId, LISTS_PHASES, notAtLevel, type RowTable } from './entries.ts';
import type { Host } from './host.ts';
import { below, type Issues, type Spot } from './issues.ts';
import { checkParams, unknownPass } from './params.ts';
import { partlyRepeated, repeatsOf, tearing, withReplaced, withRounds } from './repeats.ts';

/** What applying an edit needs: where the edit is written, and the tables that it may refer to. */
export interface EditContext {
  readonly at: Spot & { readonly file: SpecFile };
  readonly table: RowTable;
  readonly level: number;
  readonly passes: ReadonlySet<string>;
  readonly params: Host['passParams'];
  readonly ruleGroups: ReadonlySet<string>;
  /** Rows of the phase table that an edit replaced, with that edit. */
  readonly replaced: Map<number, Spot>;
  /** True if an edit that was skipped because its form is invalid might have inserted a phase of that id. */
  readonly lost: (id: string) => boolean;
  readonly issues: Issues;
}

/** The phase next to which an edit places its entry. */
type Anchor = { readonly before: string } | { readonly after: string };

/** One edit; the schema allows no other form. */
export type Edit = { readonly levels?: readonly number[]; readonly why?: string } & OneEdit;
type OneEdit =
  | ({ readonly move: string } & Anchor)
  | { readonly drop: string }
  | { readonly repeat: string; readonly through?: string; readonly rounds: number }
  | { readonly replace: string; readonly with: string }
  | ({ readonly insert: string } & Anchor)
  | ({ readonly insertPass: string; readonly params?: Readonly<Record<string, unknown>> } & Anchor)
  | ({ readonly insertRules: string } & Anchor);

/**
 * Applies one edit to `list` in place. A faulty edit changes nothing and is reported to `cx.issues`. An edit for other levels changes
 * nothing either, except that phases which it adds keep their positions and are marked as dropped.
 */
export function applyEdit(list: Entry[], edit: Edit, cx: EditContext): void {
  const here = edit.levels?.includes(cx.level) !== false;
  // An added entry is in the order at every level, so that positions do not depend on the level, but it runs at its own levels only.
  const added = (entry: Entry | null): Entry | null =>
    entry === null || here ? entry : { ...entry, dropped: notAtLevel(edit.levels, cx.level, edit.why) };
  match(edit)
    .with({ move: P.string }, (e) => {
      const from = findEntry(list, e.move, 'move', cx);
      if (from < 0) {
        findAnchor(list, e, cx);
        return;
      }
      const torn = tearing(list, from, -1);
      if (torn !== null) {
        refuseRepeated('move', torn.message, torn.by, cx);
        return;
      }
      warnDropped([list[from]], 'move', edit.levels, cx);
      if (here) place(list, from, { ...list[from], origin: cx.at }, e, cx);
    })
    .with({ drop: P.string }, ({ drop, why, levels }) => {
      const at = findEntry(list, drop, 'drop', cx);
      if (at < 0) return;
      const rounds = repeatsOf(list, at);
      if (
        warnDropped(
          rounds.map((i) => list[i]),
          'drop',
          levels,
          cx,
        )
      )
        return;
      const dropped = `dropped by the order${why === undefined ? '' : `: ${why}`}`;
      for (const i of rounds) {
        list[i] = { ...list[i], drop: { at: cx.at, levels } };
        if (here) list[i] = { ...list[i], dropped, origin: cx.at };
      }
    })
    .with({ replace: P.string }, (e) => {
      const at = findEntry(list, e.replace, 'replace', cx);
      const entry = newPhase(list, e.with, 'with', cx);
      if (at < 0 || entry === null || !here) return;
      cx.replaced.set(list[at].row, cx.at);
      list.splice(0, list.length, ...withReplaced(list, at, entry));
    })
    .with({ insert: P.string }, (e) => place(list, -1, added(newPhase(list, e.insert, 'insert', cx)), e, cx))
    .with({ insertPass: P.string }, (e) =>
      place(list, -1, added(newPass(list, e.insertPass, e.params ?? {}, cx)), e, cx),
    )
    .with({ insertRules: P.string }, (e) => place(list, -1, added(newRules(list, e.insertRules, cx)), e, cx))
    .with({ repeat: P.string }, (e) => repeat(list, e, added, cx))
    .exhaustive();
}

/**
 * Warns about an edit that has no effect because an earlier edit drops its phases at every level that it applies to.
 * @returns true if it warned
 */
function warnDropped(
  entries: readonly Entry[],
  key: 'move' | 'drop' | 'repeat',
  levels: readonly number[] | undefined,
  cx: EditContext,
): boolean {
  const covered = ({ drop }: Entry): boolean =>
    drop !== undefined &&
    (drop.levels === undefined || levels?.every((l) => drop.levels!.includes(l)) === true);
  const by = entries[0].drop;
  if (by === undefined || !entries.every(covered)) return false;
  const those = entries.length === 1 || key === 'drop' ? `'${entries[0].id}' is` : 'these phases are';
  cx.issues.warning(below(cx.at, key), 'edit-dropped', `the ${key} has no effect: ${those} dropped already`, {
    ...(by.at.file !== null && { see: { what: 'the drop', file: by.at.file, path: by.at.path } }),
  });
  return true;
}

/** Maximum number of entries in an order: nested repetitions grow quickly. */
const MOST_ENTRIES = 2000;

/** Applies a `repeat` edit: inserts the later rounds of a run of adjacent phases after it. */
function repeat(
  list: Entry[],
  edit: Extract<Edit, { repeat: string }>,
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
      `'${list[to].id}' (position ${to}) comes before '${list[from].id}' (position ${from})`,
    );
    return;
  }
  if (list.length + (to - from + 1) * (edit.rounds - 1) > MOST_ENTRIES) {
    cx.issues.error(cx.at, 'edit-repeat', `the order would have more than ${MOST_ENTRIES} phases`);
    return;
  }
  const by = partlyRepeated(list, from, to);
  if (by !== null) {
    const those =
      from === to ? `'${list[from].id}' is a part` : `'${list[from].id}' to '${list[to].id}' are a part`;
    refuseRepeated('repeat', `${those} of what an earlier edit repeats`, by, cx);
    return;
  }
  warnDropped(list.slice(from, to + 1), 'repeat', edit.levels, cx);
  const made = withRounds(list, from, to, edit.rounds, cx.at, (x) => added(x)!);
  list.splice(0, list.length, ...made);
}

/** Reports an edit that would split a run of phases that an earlier edit repeats. */
const refuseRepeated = (key: string, message: string, by: Spot, cx: EditContext): void =>
  cx.issues.error(below(cx.at, key), 'edit-repeated', message, {
    notes: ['an edit before the `repeat` applies to every round; after it, only `drop` and `replace` do'],
    ...(by.file !== null && { see: { what: 'the repeat', file: by.file, path: by.path } }),
  });

function findEntry(list: readonly Entry[], id: string, key: string, cx: EditContext): number {
  const wanted = id.toLowerCase();
  const at = list.findIndex((x) => x.id.length === id.length && x.id.toLowerCase() === wanted);
  if (at < 0 && !cx.lost(id))
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

/** The entry next to which an edit places its own, and on which side. */
function findAnchor(
  list: readonly Entry[],
  anchor: Anchor,
  cx: EditContext,
): readonly ['before' | 'after', number] {
  const [key, id] =
    'before' in anchor ? (['before', anchor.before] as const) : (['after', anchor.after] as const);
  return [key, findEntry(list, id, key, cx)];
}

/** Inserts an entry before or after the edit's anchor and removes the one at `from` (-1: none). A null entry changes nothing. */
function place(list: Entry[], from: number, entry: Entry | null, anchor: Anchor, cx: EditContext): void {
  const [key, at] = findAnchor(list, anchor, cx);
  if (entry === null || at < 0) return;
  if (at === from) {
    cx.issues.error(below(cx.at, key), 'edit-itself', `'${entry.id}' cannot be placed ${key} itself`);
    return;
  }
  const to = key === 'before' ? at : at + 1;
  const torn = tearing(list, from, to);
  if (torn !== null) {
    refuseRepeated(key, torn.message, torn.by, cx);
    return;
  }
  if (from < 0 && list.length >= MOST_ENTRIES) {
    cx.issues.error(cx.at, 'edit-insert', `the order would have more than ${MOST_ENTRIES} phases`);
    return;
  }
  list.splice(to, 0, entry);
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
      passLike(id, cx) ?? LISTS_PHASES,
    );
    return null;
  }
  const name = cx.table.rows[row].name;
  return { id: freshId(list, name), name, row, origin: cx.at, dropped: null };
}

/** A hint for an `insert` that names a pass instead of a phase; null if no pass has a similar name. */
function passLike(id: string, { passes, issues }: EditContext): string | null {
  const [near] = issues.suggests ? nearest(id, passes) : [];
  return near === undefined ? null : `there is a pass '${near}': a pass is put in with 'insertPass'`;
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

/** Reports a rule group that does not exist. */
export const unknownRules = (at: Spot, group: string, groups: ReadonlySet<string>, issues: Issues): void =>
  issues.unknown(
    at,
    'unknown-rules',
    `there is no rule group '${group}'`,
    group,
    groups,
    '`orrery rules list` names the groups',
  );
