import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { evalNode } from '../../src/isa/lang/evaluate.ts';
import type { CoreOp, Node } from '../../src/isa/lang/graph.ts';
import { valuesOf } from '../../src/validate/samples.ts';
import { Values } from '../../src/validate/values.ts';
import { drawing } from '../support/planted-faults.ts';
import { runs } from '../support/size.ts';

/*
 * The normal form of an expression has the value of the expression: random expressions are evaluated operation by operation, and in the
 * normal form that `Values` builds.
 */

const WIDTHS = [1, 8, 16, 32, 64];
const SAME: readonly CoreOp[] = ['add', 'sub', 'mul', 'and', 'or', 'xor', 'udiv', 'sdiv', 'urem', 'srem'];
const SHIFTS: readonly CoreOp[] = ['shl', 'lshr', 'ashr'];

interface Built {
  readonly node: number;
  readonly width: number;
  /** One value for each set of inputs. */
  readonly is: readonly bigint[];
}

const SETS = 6;

function build(seed: number, operations: number): { v: Values; inputs: bigint[][]; built: Built[] } {
  const draw = drawing(seed);
  const v = new Values();
  const inputs: bigint[][] = Array.from({ length: SETS }, () => []);
  const built: Built[] = [];
  const wide = (): bigint => (BigInt(draw(2 ** 32)) << 32n) | BigInt(draw(2 ** 32));
  const interesting = (width: number): bigint =>
    BigInt.asUintN(width, [wide(), 0n, 1n, -1n, 1n << BigInt(draw(width)), wide() & 15n][draw(6)]);
  for (let i = 0; i < 6; i++) {
    const width = WIDTHS[i % WIDTHS.length];
    const node = v.leaf(`x${i}`, width);
    const is = inputs.map((set) => {
      const value = interesting(width);
      set.push(value);
      return value;
    });
    built.push({ node, width, is });
  }
  const of = (width: number): Built => {
    const fitting = built.filter((b) => b.width === width);
    if (fitting.length === 0 || draw(4) === 0) {
      const value = interesting(width);
      return { node: v.constant(value, width), width, is: inputs.map(() => value) };
    }
    return fitting[draw(fitting.length)];
  };
  const put = (op: CoreOp, width: number, args: readonly Built[], more: Partial<Node> = {}): void => {
    const node = v.node(
      op,
      width,
      args.map((a) => a.node),
      more,
    );
    const plain = { op, width, args: [], fmt: '', aux: '', n: 0, value: 0n, ...more } as Node;
    built.push({
      node,
      width,
      is: inputs.map((_, k) =>
        evalNode(
          plain,
          args.map((a) => a.is[k]),
        ),
      ),
    });
  };
  for (let i = 0; i < operations; i++) {
    const width = WIDTHS[draw(WIDTHS.length)];
    const other = WIDTHS[draw(WIDTHS.length)];
    const [low, high] = width < other ? [width, other] : [other, width];
    switch (draw(10)) {
      case 0:
      case 1:
        put(SAME[draw(SAME.length)], width, [of(width), of(width)]);
        break;
      case 2:
        if (width > 1) put(SHIFTS[draw(3)], width, [of(width), of(width)]);
        break;
      case 3:
        put('ite', width, [of(1), of(width), of(width)]);
        break;
      case 4:
        put((['eq', 'ult', 'slt'] as const)[draw(3)], 1, [of(width), of(width)], { n: width });
        // The width of what `slt` compares is part of it.
        break;
      case 5:
        if (low < high) put(draw(2) === 0 ? 'zext' : 'sext', high, [of(low)], { n: low });
        break;
      case 6:
        put('extract', low, [of(high)], { n: draw(high - low + 1) });
        break;
      case 7:
        if (2 * width <= 64 && width > 1) put('concat', 2 * width, [of(width), of(width)], { n: width });
        break;
      case 8: {
        const op = (['fadd', 'fmul', 'ffma'] as const)[draw(3)];
        const args = Array.from({ length: op === 'ffma' ? 3 : 2 }, () => of(32));
        put(op, 32, args, { fmt: 'f32', aux: (['RN', 'RZ', 'RM', 'RP'] as const)[draw(4)] });
        break;
      }
      default:
        if (draw(2) === 0) put('not', width, [of(width)]);
        else put('lop3', width, [of(width), of(width), of(width)], { n: draw(256) });
    }
  }
  return { v, inputs, built };
}

describe('values in normal form', () => {
  it('have the values that their operations compute', () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 1, max: 2 ** 31 }),
        fc.integer({ min: 1, max: 40 }),
        (seed, operations) => {
          const { v, inputs, built } = build(seed, operations);
          inputs.forEach((set, k) => {
            const at = valuesOf(v.table.nodes, set);
            for (const b of built) expect(at[b.node]).toBe(b.is[k]);
          });
        },
      ),
      { numRuns: runs(400), seed: 7 },
    );
  });

  it('are unchanged where a condition holds under which they are simplified', () => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 2 ** 31 }), (seed) => {
        const { v, inputs, built } = build(seed, 25);
        const conditions = built.filter((b) => b.width === 1);
        const simple = built.flatMap((b) =>
          conditions.map((c) => ({
            b,
            c,
            under: v.given(b.node, c.node),
            chosen: v.select(c.node, b.node, b.node),
          })),
        );
        inputs.forEach((set, k) => {
          const at = valuesOf(v.table.nodes, set);
          for (const { b, c, under, chosen } of simple) {
            if (c.is[k] === 1n) expect(at[under]).toBe(b.is[k]);
            expect(at[chosen]).toBe(b.is[k]);
          }
        });
      }),
      { numRuns: runs(60), seed: 8 },
    );
  });

  it('are equal for equal functions of the same bits', () => {
    const v = new Values();
    const [a, b, c] = ['a', 'b', 'c'].map((x) => v.leaf(x, 1));
    const left = v.either(v.both(a, b), v.both(a, c));
    expect(v.both(a, v.either(b, c))).toBe(left);
    expect(v.negation(v.either(v.negation(a), v.negation(b)))).toBe(v.both(a, b));
    // Where a holds, b and c alone decide.
    expect(v.under(left, a)).toBe(v.either(b, c));
  });

  it('are equal for sums in any order, and for shifts and products', () => {
    const v = new Values();
    const [x, y] = ['x', 'y'].map((k) => v.leaf(k, 32));
    const k = (n: bigint) => v.constant(n, 32);
    const add = (a: number, b: number) => v.node('add', 32, [a, b]);
    const shifted = v.node('shl', 32, [add(x, k(3n)), k(2n)]);
    expect(add(shifted, y)).toBe(add(add(y, k(12n)), v.node('mul', 32, [k(4n), x])));
    expect(v.node('eq', 1, [add(x, y), x])).toBe(v.node('eq', 1, [y, k(0n)]));
  });
});
