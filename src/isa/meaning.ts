import { memo } from '../ir/memo.ts';
import type { Opcode } from '../ir/opcode.ts';
import { elaborate, type Specialisation } from './lang/elaborate.ts';
import type { Graph } from './lang/graph.ts';
import { type Assign, type Expr, parseMeaning } from './lang/parse.ts';

export { isConstantSlot } from './lang/elaborate.ts';

/**
 * The parsed meaning of an opcode.
 * @throws Error if it is a primitive, TextError if the text has a fault
 */
export const meaningOf = memo((op: Opcode): readonly Assign[] => {
  if (op.means === null) throw new Error(`${op.name} has no meaning: it is the primitive '${op.primitive}'`);
  return parseMeaning(op.means);
});

const graphs = new WeakMap<Opcode, Map<string, Graph>>();
/** Maximum number of cached graphs of one opcode; when it is reached, the cache is cleared. */
const MOST_GRAPHS = 4096;

/**
 * The meaning of an opcode for one choice of modifiers and constants; equal arguments give the same graph.
 * @throws Error if it is a primitive, TextError if the meaning has a fault
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

/**
 * The float type in which an opcode's meaning reads a source (`f32`, `f16x2`, ...); null if it reads it as an integer or not at all. Source
 * modifiers change the sign bits of floats, but the values of integers.
 */
export function floatTypeOf(op: Opcode, mods: number, src: number): string | null {
  const name = op.srcs[src].name;
  let found: Expr | null = null;
  const visit = (e: Expr): void => {
    if (e.k === 'call') {
      if (e.fn === 'fin' && e.args[0].k === 'name' && e.args[0].name === name) found = e.args[1];
      e.args.forEach(visit);
    } else if (e.k === 'unary') visit(e.a);
    else if (e.k === 'binary') [e.a, e.b].forEach(visit);
    else if (e.k === 'cond') [e.c, e.a, e.b].forEach(visit);
  };
  if (op.means === null) return null;
  for (const a of meaningOf(op)) visit(a.value);
  const type = found as Expr | null;
  if (type === null || type.k !== 'name') return null;
  const g = op.groupByName.get(type.name);
  return g === undefined ? type.name.toLowerCase() : g.values[(mods >>> g.shift) & g.mask].type;
}
