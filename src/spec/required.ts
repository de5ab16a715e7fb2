import { enumeratedFirst } from '../ir/listed.ts';
import type { Entry, Row } from './entries.ts';
import type { PhasesSpec } from './types.generated.ts';
import type { Pair } from './walk.ts';

/** Tables about phases: rows, IR properties and ordering constraints. */
export interface PhaseTables {
  readonly rows: readonly Row[];
  readonly properties: Readonly<Record<string, PhasesSpec.IRProperty>>;
  readonly pairs: readonly Pair[];
}

/** Maximum number of phases that a reason names; the rest are counted. */
const MOST_NAMED = 3;

type Listed = Pick<Entry, 'row' | 'name' | 'dropped'>;

/**
 * Why an order needs a row: the phases that would lack an IR property without it, or else the phases that a constraint places after it.
 *
 * @param row index of the row
 * @returns a line for each reason; if this order gives none, the reasons for an order of all numbered phases
 */
export function whyRequired(row: number, entries: readonly Listed[], tables: PhaseTables): readonly string[] {
  const { rows } = tables;
  const here = reasons(row, entries, tables);
  if (here.length > 0) return here;
  const whole = rows.flatMap((r, i) => (r.index === null ? [] : [{ row: i, name: r.name, dropped: null }]));
  return reasons(row, whole, tables);
}

function reasons(
  row: number,
  entries: readonly Listed[],
  { rows, properties, pairs }: PhaseTables,
): string[] {
  const without = lacking(row, entries, rows, properties);
  const lost = (rows[row].provides ?? []).flatMap((p) => {
    const needy = without.get(p) ?? [];
    return needy.length === 0
      ? []
      : [`${named(needy)} the IR property '${p}', which it provides: ${properties[p].means}`];
  });
  if (lost.length > 0) return lost;
  const listed = new Set(entries.map((x) => x.name));
  return pairs
    .filter((p) => p.hard && p.before === rows[row].name && listed.has(p.after))
    .map((p) => `'${p.after}' has to come after it: ${p.why}`);
}

/** For each property, the names of the phases that lack it in an order without a row. Phases with nothing bound require none. */
function lacking(
  without: number,
  entries: readonly Listed[],
  rows: readonly Row[],
  properties: PhaseTables['properties'],
): ReadonlyMap<string, readonly string[]> {
  const have = new Set(Object.keys(properties).filter((p) => properties[p].initial === true));
  const lacks = new Map<string, string[]>();
  for (const x of entries) {
    if (x.dropped !== null || x.row < 0 || x.row === without) continue;
    const { steps = [], requires = [], destroys = [], provides = [] } = rows[x.row];
    if (steps.length > 0)
      for (const p of requires) if (!have.has(p)) lacks.set(p, [...(lacks.get(p) ?? []), x.name]);
    for (const p of destroys) have.delete(p);
    for (const p of provides) have.add(p);
  }
  return lacks;
}

function named(names: readonly string[]): string {
  const quoted = names.map((n) => `'${n}'`);
  return `${enumeratedFirst(quoted, MOST_NAMED)} ${names.length === 1 ? 'needs' : 'need'}`;
}
