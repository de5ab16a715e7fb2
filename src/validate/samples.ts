import { evalNode } from '../isa/lang/evaluate.ts';
import type { Node } from '../isa/lang/graph.ts';

/** Draws a value of `width` bits: uniform, small, small negative, or of random magnitude. */
export function drawn(next: () => number, width: number): bigint {
  let wide = 0n;
  for (let k = 0; k < 4; k++) wide = (wide << 32n) | BigInt(next());
  const kinds = [wide, wide & 31n, -(wide & 7n), wide >> BigInt(next() % 120)];
  return BigInt.asUintN(width, kinds[next() % kinds.length]);
}

/** Evaluates all nodes for given inputs. */
export function valuesOf(nodes: readonly Node[], inputs: readonly bigint[]): bigint[] {
  const at: bigint[] = [];
  for (const n of nodes)
    at.push(
      n.op === 'src'
        ? inputs[n.n]
        : evalNode(
            n,
            n.args.map((a) => at[a]),
          ),
    );
  return at;
}
