import { meantNote, nearest } from '../ir/diagnostic.ts';
import type { Opcode } from '../ir/opcode.ts';
import type { RulesDoc } from './document.ts';
import type { ModDraft } from './instances.ts';
import type { LineText, ModText } from './syntax.ts';
import type { LineField, TextFaults } from './text-faults.ts';

/**
 * Determines for each modifier group of a line, in the order of the opcode's groups, how its value is chosen.
 * @throws Stop if a modifier is unknown, a required one is missing, or a table does not exist
 */
export function readModifiers(
  op: Opcode,
  l: LineText,
  field: LineField,
  tables: RulesDoc['tables'],
  faults: TextFaults,
): ModDraft[] {
  const out: ModDraft[] = op.groups.map((g) =>
    givesWidth(op, g.name) && !g.required ? { k: 'open' } : { k: 'fixed', index: 0 },
  );
  const written = new Set<number>();
  let from = 0;
  for (const m of l.mods) {
    const g = groupOf(op, m, from, written, tables);
    if (g < 0) {
      const words = op.groups.map(
        (x) =>
          `${x.name}: ${x.values
            .map((v) => v.name)
            .filter((v) => v !== 'NONE')
            .join(' ')}`,
      );
      faults.stopAt(field, l, m.at, 'rule-modifier', `${op.name} has no modifier '${modName(m)}' here`, [
        words.length > 0 ? `it has ${words.join('; ')}` : 'it has none',
        ...(m.k === 'var'
          ? ['a modifier variable is named after its group, with a number appended if it occurs twice']
          : []),
      ]);
    }
    written.add(g);
    from = m.k === 'value' ? g + 1 : from;
    const group = op.groups[g];
    if (m.k === 'value') out[g] = { k: 'fixed', index: group.values.findIndex((v) => v.name === m.name) };
    else if (m.k === 'var') out[g] = { k: 'var', name: m.name };
    else {
      if (tables?.[m.table] === undefined) {
        const near = nearest(m.table, Object.keys(tables ?? {}));
        faults.stopAt(
          field,
          l,
          m.at,
          'rule-table',
          `there is no table '${m.table}' in this file`,
          meantNote(near),
        );
      }
      out[g] = { k: 'map', table: m.table, name: m.name };
    }
  }
  op.groups.forEach((g, i) => {
    if (g.required && !written.has(i))
      faults.stopAt(field, l, l.at, 'rule-modifier', `${op.name} needs a modifier of the group '${g.name}'`, [
        `one of ${g.values.map((v) => v.name).join(', ')}, or $${g.name}`,
      ]);
  });
  return out;
}

/** The group that a written modifier belongs to, or -1. */
function groupOf(
  op: Opcode,
  m: ModText,
  from: number,
  written: ReadonlySet<number>,
  tables: RulesDoc['tables'],
): number {
  if (m.k === 'value') {
    for (let g = from; g < op.groups.length; g++)
      if (!written.has(g) && op.groups[g].values.some((v) => v.name === m.name)) return g;
    return -1;
  }
  const stem = (n: string) => n.replace(/\d+$/, '');
  if (m.k === 'var')
    return op.groups.findIndex((g, i) => !written.has(i) && (g.name === m.name || g.name === stem(m.name)));
  const values = Object.values(tables?.[m.table] ?? {});
  return op.groups.findIndex(
    (g, i) => !written.has(i) && values.some((x) => g.values.some((v) => v.name === x)),
  );
}

/** Does the modifier group decide the width of an operand? */
const givesWidth = (op: Opcode, group: string): boolean =>
  op.dsts.some((s) => s.widthFrom === group) || op.srcs.some((s) => s.widthFrom === group);

const modName = (m: ModText): string =>
  m.k === 'value' ? m.name : m.k === 'var' ? `$${m.name}` : `${m.table}(${m.name})`;
