import type { SpecFile } from './document.ts';
import { applyEdit, type Edit, type EditContext } from './edits.ts';
import { type Entry, LISTS_PHASES, notAtLevel, type RowTable } from './entries.ts';
import type { Host } from './host.ts';
import type { Issues, Spot } from './issues.ts';
import type { Specs } from './specs.ts';

/** The `extends` chain from the requested order to the full list; null, with an issue, if an order is missing or extends itself. */
export function orderChain(specs: Specs, name: string, issues: Issues): SpecFile[] | null {
  const chain: SpecFile[] = [];
  const seen = new Set<SpecFile>();
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
    if (seen.has(f)) {
      issues.error(from, 'order-cycle', `order '${next}' extends itself`, {
        notes: [[...chain.slice(chain.indexOf(f)), f].map((x) => x.file).join(' -> ')],
      });
      return null;
    }
    seen.add(f);
    chain.push(f);
    next = f.data.extends as string | undefined;
  }
  return chain;
}

/**
 * The entries of an order: the full list at the end of the chain with all edits applied, the base order's first. Faults go to `issues`; a
 * faulty edit changes nothing.
 */
export function buildOrder(
  chain: readonly SpecFile[],
  table: RowTable,
  level: number,
  { passes, params }: { readonly passes: ReadonlySet<string>; readonly params: Host['passParams'] },
  ruleGroups: ReadonlySet<string>,
  issues: Issues,
  /** Reasons why the order needs a row, given by index; one line each. */
  why: (row: number, entries: readonly Entry[]) => readonly string[],
): Entry[] {
  let entries: Entry[] = [];
  const replaced = new Map<number, Spot>();
  const lost = lostBy(chain);
  for (const file of [...chain].reverse()) {
    const list = file.data.phases as readonly Listed[] | undefined;
    if (list !== undefined) {
      entries = fullList(list, file, table, level, issues);
      continue;
    }
    ((file.data.edits ?? []) as readonly Edit[]).forEach((edit, i) => {
      const at = { file, path: ['edits', i] };
      applyEdit(entries, edit, { at, table, level, passes, params, ruleGroups, replaced, lost, issues });
    });
  }
  if (!issues.failed) checkRequired(entries, chain[0], table, replaced, issues, why);
  return entries;
}

/** A predicate on ids of phases that pruned edits might have inserted. */
function lostBy(chain: readonly SpecFile[]): EditContext['lost'] {
  const left = chain
    .flatMap((f) => f.pruned?.removed ?? [])
    .map((x) => x.value as Partial<Record<string, unknown>>);
  if (left.length === 0) return () => false;
  const names = new Set(
    left
      .flatMap((e) => [e?.insert, e?.insertPass, e?.insertRules, e?.with])
      .map((n) => String(n).toLowerCase()),
  );
  const rounds = left.some((e) => e?.repeat !== undefined);
  return (id) => names.has(id.toLowerCase().replace(/#\d+$/, '')) || (rounds && id.includes('#'));
}

/** An element of a full list: a phase, or a phase that runs at some levels only. */
type Listed = string | { readonly phase: string; readonly levels: readonly number[]; readonly why?: string };

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
      issues.error(origin, 'phase-twice', `phase '${id}' occurs twice in the order`, {
        notes: ['a second occurrence has an id of its own: name#2'],
      });
    else out.push({ id, name: table.rows[row].name, row, origin, dropped });
    seen.add(id.toLowerCase());
  });
  return out;
}

/** Reports required phases that the order leaves out. */
function checkRequired(
  entries: readonly Entry[],
  file: SpecFile,
  table: RowTable,
  replaced: ReadonlyMap<number, Spot>,
  issues: Issues,
  why: (row: number, entries: readonly Entry[]) => readonly string[],
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
      { key: edit === undefined, notes: why(i, entries) },
    );
  });
}
