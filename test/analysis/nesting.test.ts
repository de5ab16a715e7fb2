import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { type Cfg, cfgOf, completeCfg } from '../../src/analysis/flow/cfg.ts';
import { inLoop, loopBlocks, loopExits, loops, loopsOf } from '../../src/analysis/loops/loops.ts';
import { nesting, nestingOf } from '../../src/analysis/loops/nesting.ts';
import { parseFn } from '../../src/ir/text.ts';
import { testIsa } from '../support/isa.ts';
import { randomFn } from '../support/random-fn.ts';
import { often, runs } from '../support/size.ts';

const RUNS = { numRuns: runs(400), seed: 20261122 };

const succs = (g: Cfg, b: number): number[] => [...g.succ.subarray(g.succStart[b], g.succStart[b + 1])];

/** A graph from successor lists. */
function graphOf(rows: readonly (readonly number[])[]): Cfg {
  const start = new Int32Array(rows.length + 1);
  const items: number[] = [];
  rows.forEach((row, b) => {
    items.push(...new Set(row));
    start[b + 1] = items.length;
  });
  const ids = Int32Array.from(rows, (_, b) => b);
  return completeCfg(rows.length, ids, start, Int32Array.from(items), false);
}

const graph = fc
  .integer({ min: 1, max: 11 })
  .chain((n) =>
    fc
      .array(fc.array(fc.integer({ min: 0, max: n - 1 }), { maxLength: 3 }), { minLength: n, maxLength: n })
      .map(graphOf),
  );

/** Blocks that `from` reaches inside `among`, itself included. */
function reach(
  from: number,
  next: (b: number) => readonly number[],
  among: ReadonlySet<number>,
): Set<number> {
  const seen = new Set([from]);
  const stack = [from];
  while (stack.length > 0)
    for (const t of next(stack.pop()!))
      if (among.has(t) && !seen.has(t)) {
        seen.add(t);
        stack.push(t);
      }
  return seen;
}

interface Region {
  header: number;
  blocks: number[];
  children: Region[];
}

/**
 * The definition, as slowly as it reads: a strongly connected region is a loop, its header is the block that comes first
 * in the search, and without the header the same again.
 */
function regions(g: Cfg, among: ReadonlySet<number>): Region[] {
  const out: Region[] = [];
  const done = new Set<number>();
  const next = (b: number): number[] => succs(g, b);
  for (const b of g.rpo) {
    if (!among.has(b) || done.has(b)) continue;
    const ahead = reach(b, next, among);
    const blocks = [...ahead].filter((x) => reach(x, next, among).has(b));
    for (const x of blocks) done.add(x);
    if (blocks.length === 1 && !succs(g, b).includes(b)) continue;
    const header = blocks.reduce((x, y) => (g.rpoNumber[x] < g.rpoNumber[y] ? x : y));
    out.push({
      header,
      blocks: blocks.sort((x, y) => x - y),
      children: regions(g, new Set(blocks.filter((x) => x !== header))),
    });
  }
  return out;
}

const flat = (
  rs: readonly Region[],
  parent = -1,
  depth = 1,
): (Region & { parent: number; depth: number })[] =>
  rs.flatMap((r) => [{ ...r, parent, depth }, ...flat(r.children, r.header, depth + 1)]);

describe('loop-nesting forest', () => {
  it('is what the definition gives on any graph', () => {
    fc.assert(
      fc.property(graph, (g) => {
        const f = nesting(g);
        const expected = flat(regions(g, new Set(g.rpo))).sort(
          (a, b) => g.rpoNumber[a.header] - g.rpoNumber[b.header],
        );
        expect(f.loops.map((l) => l.header)).toEqual(expected.map((r) => r.header));
        expected.forEach((r, id) => {
          const l = f.loops[id];
          const inside = new Set(r.blocks);
          expect(loopBlocks(f, id).sort((a, b) => a - b)).toEqual(r.blocks);
          expect(l.size).toBe(r.blocks.length);
          expect(l.depth).toBe(r.depth);
          expect(l.parent < 0 ? -1 : f.loops[l.parent].header).toBe(r.parent);
          expect(l.children.map((c) => f.loops[c].header).sort()).toEqual(
            r.children.map((c) => c.header).sort(),
          );
          expect([...l.latches].sort()).toEqual(
            r.blocks.filter((b) => succs(g, b).includes(r.header)).sort(),
          );
          const entries = r.blocks.filter(
            (b) => b === 0 || [...g.rpo].some((p) => !inside.has(p) && succs(g, p).includes(b)),
          );
          expect(l.entries).toEqual(entries);
          expect(l.reducible).toBe(entries.length === 1);
          for (let b = 0; b < g.count; b++) expect(inLoop(f, id, b)).toBe(inside.has(b));
          for (const x of loopExits(f, id)) expect(inside.has(x.from) && !inside.has(x.to)).toBe(true);
        });
      }),
      RUNS,
    );
  });

  it('has the natural loops, id by id, exactly where the graph is reducible', () => {
    let reducible = 0;
    let other = 0;
    fc.assert(
      fc.property(fc.oneof(graph, randomFn({ most: 12 }).map(cfgOf)), (g) => {
        const f = nesting(g);
        const natural = loops(g);
        expect(f.reducible).toBe(natural.irreducible.length === 0);
        if (f.reducible) {
          reducible++;
          expect(f.innermost).toEqual(natural.innermost);
          expect(f.loops.map(({ entries, reducible: _, ...l }) => ({ ...l, entries }))).toEqual(
            natural.loops.map((l) => ({ ...l, entries: [l.header] })),
          );
        } else other++;
        // A loop with one entry is a natural loop in any graph.
        for (const l of f.loops)
          if (l.reducible)
            expect(natural.loops.find((n) => n.header === l.header)).toMatchObject({ size: l.size });
      }),
      RUNS,
    );
    expect(reducible).toBeGreaterThan(often(50));
    expect(other).toBeGreaterThan(often(30));
  });

  it('is remembered by the shape of the function', () => {
    const fn = parseFn('BB0:\n@P1 BRA BB2\nBB1:\nMOV R2, 1\nBB2:\n@P3 BRA BB1\nBB3:\nEXIT', testIsa());
    const f = nestingOf(fn);
    expect(f.reducible).toBe(false);
    expect(f.loops).toMatchObject([{ header: 2, entries: [1, 2], latches: [1], size: 2 }]);
    expect(loopsOf(fn).loops).toEqual([]);
    expect(nestingOf({ ...fn, blocks: [...fn.blocks] })).toBe(f);
  });

  it('costs no more in a long chain of entries and cross edges', () => {
    // n jumps into a loop of n blocks, each from a chain beside it: quadratic work would not end within a test's time.
    const n = 100_000;
    const rows = Array.from({ length: 2 * n }, (_, b) =>
      b < n ? [b + n, (b + 1) % n === 0 ? n : b + 1] : [b + 1 < 2 * n ? b + 1 : n],
    );
    const f = nesting(graphOf(rows));
    expect(f.loops.length).toBe(1);
    expect(f.loops[0].entries.length).toBe(n);
  });
});
