import type { SpecFile } from './document.ts';
import type { Spot } from './issues.ts';
import type { PhasesSpec } from './types.generated.ts';

/** A row of the phase table, without the fields that only document it. */
export type Row = Omit<PhasesSpec.Phase, 'purpose' | 'source'>;

/** An entry of an order that is being edited. */
export interface Entry {
  /** Unique in the order: `name`, or `name#2` for a second occurrence. */
  readonly id: string;
  readonly name: string;
  /** Index of its row in the phase table; -1 for an inserted pass or rule group. */
  readonly row: number;
  /** The list element or the edit that placed it here. */
  readonly origin: Spot & { readonly file: SpecFile };
  /** Why the order does not run it; null if it runs. */
  readonly dropped: string | null;
  /** The last edit that drops it, and the levels of that edit, which need not include the current one. */
  readonly drop?: { readonly at: Spot; readonly levels: readonly number[] | undefined };
  /** The edits that repeat it, the same in every round. */
  readonly repeats?: readonly Spot[];
  /** For an entry in a later round of a repetition: the phases of the previous round. */
  readonly roundAfter?: readonly string[];
  /** For an entry in a later round: its id in the first round. Edits, hooks and switches that name this id apply to every round. */
  readonly firstRound?: string;
  readonly pass?: { readonly pass: string; readonly params: Readonly<Record<string, unknown>> };
  readonly rules?: string;
}

/** Hint for an unknown phase name. */
export const LISTS_PHASES = '`orrery phases` lists them';

/** Rows of the phase table by id: `name`, or `name#2` for the second row of that name. Look-up ignores case. */
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

  /** Index of the row for an id. An occurrence number without a row of its own uses the first row of the name. -1: unknown name. */
  find(id: string): number {
    const key = id.toLowerCase();
    return this.at.get(key) ?? this.at.get(key.replace(/#\d+$/, '')) ?? -1;
  }
}

/** Why an element of an order does not run at this level; null if it runs. */
export const notAtLevel = (
  levels: readonly number[] | undefined,
  level: number,
  why?: string,
): string | null =>
  levels === undefined || levels.includes(level)
    ? null
    : `the order has it at level ${levels.join(', ')} only${why === undefined ? '' : `: ${why}`}`;

/** An id that is not yet in the list: `name`, or else `name#2`, `name#3`, ... */
export function freshId(list: readonly Entry[], name: string): string {
  const prefix = `${name}#`;
  const taken = new Set<number>();
  for (const { id } of list)
    if (id === name) taken.add(1);
    else if (id.startsWith(prefix)) taken.add(Number(id.slice(prefix.length)));
  if (!taken.has(1)) return name;
  let n = 2;
  while (taken.has(n)) n++;
  return prefix + n;
}
