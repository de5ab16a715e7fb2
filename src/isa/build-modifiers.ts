import { didYouMean } from '../ir/diagnostic.ts';
import { entryOf } from '../ir/entry-of.ts';
import type { ModGroup, ModValue, Opcode } from '../ir/opcode.ts';
import type { Report } from './build-report.ts';
import { TYPE_BITS } from './scalar-types.ts';

/** Modifier groups as a document writes them: an optional word, a list of values, or values with their types. */
export type ModifierSpec = Readonly<
  Record<string, string | readonly string[] | Readonly<Record<string, string>>>
>;

/** Width of the register that holds a value of the type: at least 32 bits. */
const registerWidth = (type: string): number => Math.max(32, entryOf(TYPE_BITS, type) ?? 0);

/** Builds the modifier groups of an opcode, each with its bit field in the `mods` word. @param report receives faults */
export function buildGroups(spec: ModifierSpec, report: Report): ModGroup[] {
  const out: ModGroup[] = [];
  let shift = 0;
  for (const [key, v] of Object.entries(spec)) {
    const required = key.endsWith('!');
    const name = required ? key.slice(0, -1) : key;
    let values: ModValue[];
    if (typeof v === 'string') values = [plain('NONE'), plain(v.replace(/\?$/, ''))];
    else if (Array.isArray(v)) values = (v as readonly string[]).map(plain);
    else
      values = inWrittenOrder(v as Readonly<Record<string, string>>).map(([n, type]) => {
        if (!Object.hasOwn(TYPE_BITS, type))
          report(`unknown type '${type}' of modifier ${n}`, didYouMean(type, Object.keys(TYPE_BITS)));
        return { name: n, width: registerWidth(type), type };
      });
    const bits = Math.max(1, 32 - Math.clz32(values.length - 1));
    out.push({ name, values, required, shift, mask: 2 ** bits - 1 });
    shift += bits;
  }
  if (shift > 31) report(`modifiers need ${shift} bits, but there are 31`);
  return out;
}

/** The entries, with all-digit names last: JavaScript enumerates such keys first, but `64` is never the default. */
const inWrittenOrder = (o: Readonly<Record<string, string>>): [string, string][] => {
  const all = Object.entries(o);
  return [...all.filter(([k]) => !/^\d+$/.test(k)), ...all.filter(([k]) => /^\d+$/.test(k))];
};

const plain = (name: string): ModValue => ({ name, width: 0, type: null });

/** An index of modifier values by `group=name`, and by name if no other group has the name. */
export function indexValues(groups: readonly ModGroup[]): Opcode['modByName'] {
  const m = new Map<string, { group: ModGroup; index: number }>();
  const twice = new Set<string>();
  for (const group of groups)
    group.values.forEach((v, index) => {
      m.set(`${group.name}=${v.name}`, { group, index });
      if (m.has(v.name)) twice.add(v.name);
      m.set(v.name, { group, index });
    });
  for (const name of twice) m.delete(name);
  return m;
}
