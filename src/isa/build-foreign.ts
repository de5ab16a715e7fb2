import { didYouMean } from '../ir/diagnostic.ts';
import { covers } from '../ir/glob.ts';
import { type ForeignForm, type Opcode, withMods } from '../ir/opcode.ts';

/** A row of the table `foreign`, validated against its schema. */
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

/** The fault of the opcode that a row names. */
export interface ForeignFault {
  readonly fault: string;
  readonly notes: readonly string[];
}

/** PTX opcodes that rows name without wildcards, if Ori can carry them. */
export const declaredBy = (forms: readonly ForeignForm[]): ReadonlySet<string> =>
  new Set(
    forms
      .filter((f) => f.op !== null)
      .flatMap((f) => f.names.map((name) => name.split('.')[0]))
      .filter((opcode) => !opcode.includes('*')),
  );

/** The form of a row, or its fault. */
export function buildForeign(
  row: ForeignSpec,
  byName: ReadonlyMap<string, Opcode>,
): ForeignForm | ForeignFault {
  const form = {
    title: row.title,
    names: row.ptx,
    // No regular expression: one of many stars takes a time that is exponential in them.
    fits: (name: string) => row.ptx.some((p) => covers(p, name)),
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
  if (op?.primitive !== FOREIGN) {
    const carriers = [...byName.values()].filter((x) => x.primitive === FOREIGN).map((x) => x.name);
    return {
      fault: op === undefined ? `there is no opcode ${name}` : `${name} carries no PTX`,
      notes: [...didYouMean(name, carriers), `opcodes that carry PTX: ${carriers.join(', ')}`],
    };
  }
  const stranger = mods.find((m) => !op.modByName.has(m));
  if (stranger !== undefined)
    return {
      fault: `${name} has no modifier '.${stranger}'`,
      notes: didYouMean(stranger, op.modByName.keys()),
    };
  return { ...form, op, mods: withMods(op, 0, ...mods) };
}
