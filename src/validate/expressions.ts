import type { Node } from '../isa/lang/graph.ts';
import type { Values } from './values.ts';

/** A value at a cut, expressed by values that do not change during the function and by other registers at the cut. */
export type Expression =
  | { readonly k: 'leaf'; readonly key: string; readonly width: number; readonly uniform: boolean }
  | { readonly k: 'register'; readonly item: string }
  | { readonly k: 'node'; readonly node: Node; readonly args: readonly Expression[] };

/** Maximum number of nodes of an expression. A larger one is dropped, which proves less but nothing wrong. */
const MOST = 300;

/**
 * The expression of a value; null if there is none.
 *
 * @param registers for each node, the register that holds it and may be used in the expression
 */
export function expressionOf(
  values: Values,
  x: number,
  registers: ReadonlyMap<number, string>,
): Expression | null {
  const expressions = new Map<number, Expression | null>();
  const visit = (n: number, root: boolean): Expression | null => {
    const seen = expressions.get(n);
    if (seen !== undefined) return seen;
    if (expressions.size >= MOST) return null;
    const item = root ? undefined : registers.get(n);
    let out: Expression | null = null;
    const node = values.at(n);
    if (item !== undefined) out = { k: 'register', item };
    else if (node.op === 'src') {
      const { key, width, fixed, uniform } = values.leaves[node.n];
      out = fixed ? { k: 'leaf', key, width, uniform } : null;
    } else {
      const args: Expression[] = [];
      for (const a of node.args) {
        const e = visit(a, false);
        if (e === null) break;
        args.push(e);
      }
      if (args.length === node.args.length) out = { k: 'node', node, args };
    }
    expressions.set(n, out);
    return out;
  };
  return visit(x, true);
}

/** Evaluates an expression over other values; null if one of its registers has no value there. */
export function valueAt(
  e: Expression,
  values: Values,
  register: (item: string) => number | null,
): number | null {
  const nodesOf = new Map<Expression, number | null>();
  const visit = (x: Expression): number | null => {
    const seen = nodesOf.get(x);
    if (seen !== undefined) return seen;
    let out: number | null = null;
    if (x.k === 'leaf') {
      out = values.atom(x.key, x.width);
      if (x.uniform) values.markUniform(out);
    } else if (x.k === 'register') out = register(x.item);
    else {
      const args: number[] = [];
      for (const a of x.args) {
        const v = visit(a);
        if (v === null) break;
        args.push(v);
      }
      if (args.length === x.args.length) out = remade(values, x.node, args);
    }
    nodesOf.set(x, out);
    return out;
  };
  return visit(e);
}

/**
 * The same node over other arguments. Selects are rebuilt by `select`: a one-bit decision has an atom, not a diagram, as first argument.
 */
function remade(values: Values, node: Node, args: readonly number[]): number {
  if (node.op === 'ite') return values.select(args[0], args[1], args[2]);
  return values.make(node, args);
}
