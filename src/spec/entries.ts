import type { SpecFile } from './document.ts';
import type { Spot } from './issues.ts';
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
  /** The last edit that drops it, and its levels, of which this need not be one. */
  readonly drop?: { readonly at: Spot; readonly levels: readonly number[] | undefined };
  /** The edits that repeat it, in whichever round it is. */
  readonly repeats?: readonly Spot[];
  /** Of a later round of phases that are repeated: the phases of the round before. */
  readonly roundAfter?: readonly string[];
  /** Of a later round: its id in the first, by which edits, hooks and switches mean every round. */
  readonly firstRound?: string;
  readonly pass?: { readonly pass: string; readonly params: Readonly<Record<string, unknown>> };
  readonly rules?: string;
}

export const LISTS_PHASES = '`orrery phases` lists them';

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

/** Why an element does not run at this level; null where it does. */
export const notAtLevel = (
  levels: readonly number[] | undefined,
  level: number,
  why?: string,
): string | null =>
  levels === undefined || levels.includes(level)
    ? null
    : `the order has it at level ${levels.join(', ')} only${why === undefined ? '' : `: ${why}`}`;

/** `name`, or `name#2`, `name#3`, ... if it is taken. */
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
