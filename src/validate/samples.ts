import { evalNode } from '../isa/lang/evaluate.ts';
import type { Node } from '../isa/lang/graph.ts';

/** A deterministic sequence of 32-bit numbers: xorshift32 (Marsaglia, "Xorshift RNGs", 2003). */
export class Drawing {
  private state: number;

  constructor(seed: number) {
    this.state = seed;
  }

  next(): number {
    this.state ^= this.state << 13;
    this.state ^= this.state >>> 17;
    this.state ^= this.state << 5;
    return this.state >>> 0;
  }
}

/** Draws a value of `width` bits: uniform, small, small negative, or of random magnitude. */
export function drawn(draw: Drawing, width: number): bigint {
  let wide = 0n;
  for (let k = 0; k < 4; k++) wide = (wide << 32n) | BigInt(draw.next());
  const kinds = [wide, wide & 31n, -(wide & 7n), wide >> BigInt(draw.next() % 120)];
  return BigInt.asUintN(width, kinds[draw.next() % kinds.length]);
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
