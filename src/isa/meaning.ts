import type { Opcode } from '../ir/opcode.ts';
import { elaborate, type Specialisation } from './lang/elaborate.ts';
import type { Graph } from './lang/graph.ts';
import { type Assign, parseMeaning } from './lang/parse.ts';

export { isConstantSlot } from './lang/elaborate.ts';

const parsed = new WeakMap<Opcode, readonly Assign[]>();

/**
 * The parsed meaning of an opcode.
 * @throws Error if it is a primitive, MeaningError if the text has a fault
 */
export function meaningOf(op: Opcode): readonly Assign[] {
  let m = parsed.get(op);
  if (m === undefined) {
    if (op.means === null)
      throw new Error(`${op.name} has no meaning: it is the primitive '${op.primitive}'`);
    m = parseMeaning(op.means);
    parsed.set(op, m);
  }
  return m;
}

const graphs = new WeakMap<Opcode, Map<string, Graph>>();
/** Graphs kept for one opcode; beyond this all are dropped and made again on demand. */
const MOST_GRAPHS = 4096;

/**
 * The meaning of an opcode for one choice of modifiers and constants; the same graph for equal arguments.
 * @throws Error if it is a primitive, MeaningError if the meaning has a fault
 */
export function graphOf(spec: Specialisation): Graph {
  const { op, mods, srcMods, consts } = spec;
  let known = graphs.get(op);
  if (known === undefined) graphs.set(op, (known = new Map()));
  const id = `${mods}|${srcMods.join()}|${consts.join()}`;
  let g = known.get(id);
  if (g === undefined) {
    g = elaborate(meaningOf(op), { op, mods, srcMods, consts });
    if (known.size >= MOST_GRAPHS) known.clear();
    known.set(id, g);
  }
  return g;
}
