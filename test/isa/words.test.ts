import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { evalGraph } from '../../src/isa/lang/evaluate.ts';
import type { CoreOp, Graph, Node } from '../../src/isa/lang/graph.ts';
import { wordsOf } from '../../src/isa/words.ts';
import { rulesOfDoc } from '../../src/rules/group.ts';
import { testIsa } from '../support/isa.ts';
import { runs } from '../support/size.ts';
import { shipped } from '../support/specs.ts';

// Values on words equal those of the exact reference.

const WIDTHS = [1, 3, 8, 16, 31, 32, 64];
const EDGES = [
  0n,
  1n,
  2n,
  31n,
  32n,
  33n,
  63n,
  64n,
  0x7fffffffn,
  0x80000000n,
  0xffffffffn,
  1n << 32n,
  1n << 63n,
];

const values = fc.oneof(
  fc.constantFrom(...EDGES, ...EDGES.map((e) => BigInt.asUintN(64, -e))),
  fc.bigInt({ min: 0n, max: (1n << 64n) - 1n }),
);

function same(g: Graph, srcs: readonly bigint[]): void {
  const words = new Int32Array(srcs.length * 2);
  srcs.forEach((v, i) => {
    words[2 * i] = Number(BigInt.asIntN(32, v));
    words[2 * i + 1] = Number(BigInt.asIntN(32, v >> 32n));
  });
  const w = wordsOf(g);
  w.run(words);
  expect(g.dsts.map((d) => w.value(d))).toEqual(evalGraph(g, srcs));
}

/** An operation on sources of its own, and what its numbers may be for a width. */
type Shape = (w: number) => readonly { args: readonly number[]; width: number; n: number; aux?: string }[];
const two: Shape = (w) => [{ args: [w, w], width: w, n: 0 }];
const one: Shape = (w) => [{ args: [w], width: w, n: 0 }];
const OPS: Partial<Record<CoreOp, Shape>> = {
  add: two,
  sub: two,
  mul: two,
  umulh: two,
  smulh: two,
  udiv: two,
  sdiv: two,
  urem: two,
  srem: two,
  and: two,
  or: two,
  xor: two,
  not: one,
  brev: one,
  popc: one,
  clz: (w) => [{ args: [w], width: 32, n: w }],
  shl: (w) => [32, 64].map((s) => ({ args: [w, s], width: w, n: 0 })),
  lshr: (w) => [32, 64].map((s) => ({ args: [w, s], width: w, n: 0 })),
  ashr: (w) => [32, 64].map((s) => ({ args: [w, s], width: w, n: 0 })),
  eq: (w) => [{ args: [w, w], width: 1, n: 0 }],
  ult: (w) => [{ args: [w, w], width: 1, n: 0 }],
  slt: (w) => [{ args: [w, w], width: 1, n: w }],
  ite: (w) => [{ args: [1, w, w], width: w, n: 0 }],
  zext: (w) => WIDTHS.filter((x) => x > w).map((x) => ({ args: [w], width: x, n: 0 })),
  sext: (w) => WIDTHS.filter((x) => x > w).map((x) => ({ args: [w], width: x, n: w })),
  extract: (w) =>
    WIDTHS.filter((x) => x < w).flatMap((x) => [0, 1, w - x].map((n) => ({ args: [w], width: x, n }))),
  concat: (w) =>
    [...WIDTHS, 24]
      .filter((x) => w + x <= 32 || w + x === 64)
      .map((x) => ({ args: [w, x], width: w + x, n: x })),
  lop3: (w) => [0x96, 0xca, 0x01, 0xfe].map((n) => ({ args: [w, w, w], width: w, n })),
  prmt: (w) =>
    w === 32
      ? ['IDX', 'F4E', 'B4E', 'RC8', 'ECL', 'ECR', 'RC16'].map((aux) => ({
          args: [32, 32, 32],
          width: 32,
          n: 0,
          aux,
        }))
      : [],
};

describe('a graph on words', () => {
  const graphs = Object.entries(OPS).flatMap(([op, shape]) =>
    WIDTHS.flatMap((w) =>
      shape(w).map(({ args, width, n, aux }): [string, Graph] => {
        const none = { fmt: '', aux: '', value: 0n } as const;
        const nodes: Node[] = args.map((a, i) => ({ op: 'src', width: a, args: [], n: i, ...none }));
        nodes.push({ op: op as CoreOp, width, args: args.map((_, i) => i), n, ...none, aux: aux ?? '' });
        return [
          `${op} ${args.join()} -> ${width} (${n}${aux ?? ''})`,
          { nodes, dsts: [args.length], srcWidths: args },
        ];
      }),
    ),
  );
  it.each(graphs)('%s', (_, g) => {
    fc.assert(
      fc.property(fc.array(values, { minLength: 3, maxLength: 3 }), (v) =>
        same(g, v.slice(0, g.srcWidths.length)),
      ),
      { seed: 11, numRuns: runs(120) },
    );
  });

  it('has the values of the reference for the conditions and constants of the shipped rules', () => {
    let met = 0;
    const rules = [...shipped.rules!.values()].flatMap((f) => rulesOfDoc(f.data, testIsa(), 'texts').rules);
    for (const r of rules)
      for (const { constants } of r.instances.slice(0, 3)) {
        if (constants.nodes.length < 3) continue;
        fc.assert(
          fc.property(fc.array(values, { minLength: r.vars.length, maxLength: r.vars.length }), (v) =>
            same(constants, v),
          ),
          { seed: 5, numRuns: runs(12) },
        );
        met++;
      }
    expect(met).toBeGreaterThan(300);
  });
});
