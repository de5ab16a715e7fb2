import { type ForeignForm, type Opcode, withMods } from '../ir/opcode.ts';

/** A row of the table `foreign`, already checked against its schema. */
export interface ForeignSpec {
  readonly title: string;
  readonly ptx: readonly string[];
  readonly as?: string;
  readonly results?: number;
  readonly tied?: true;
  readonly unknown?: true;
  readonly none?: string;
}

/** The primitive of all opcodes that carry PTX instructions unchanged. */
export const FOREIGN = 'foreign';

/** The form of a row, or a message that describes its fault. */
export function buildForeign(row: ForeignSpec, byName: ReadonlyMap<string, Opcode>): ForeignForm | string {
  const pattern = row.ptx.map((p) => p.replace(/[.]/g, '\\.').replace(/\*/g, '.*')).join('|');
  const form = {
    title: row.title,
    names: row.ptx,
    fits: new RegExp(`^(?:${pattern})$`),
    op: null,
    mods: 0,
    results: row.results ?? -1,
    tied: row.tied === true || row.unknown === true,
    unknown: row.unknown === true,
    none: row.none ?? '',
  };
  if (row.as === undefined) return form;
  const [name, ...mods] = row.as.split('.');
  const op = byName.get(name);
  if (op === undefined) return `there is no opcode ${name}`;
  if (op.primitive !== FOREIGN) return `${name} carries no PTX`;
  const stranger = mods.find((m) => !op.modByName.has(m));
  if (stranger !== undefined) return `${name} has no modifier '.${stranger}'`;
  return { ...form, op, mods: withMods(op, 0, ...mods) };
}
