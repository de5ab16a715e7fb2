import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { type Cfg, cfgOf, endsFlow, isControl, targets } from '../../src/analysis/flow/cfg.ts';
import { analyzeControlFlow, BlockFlag, hasFlag } from '../../src/analysis/flow/control-flow.ts';
import {
  commonDominator,
  dominates,
  dominatorsOf,
  postDominatorsOf,
} from '../../src/analysis/flow/dominators.ts';
import { draftCfg } from '../../src/analysis/flow/draft-cfg.ts';
import {
  inLoop,
  loopBlocks,
  loopContents,
  loopDepth,
  loopExits,
  loopsOf,
  preheader,
} from '../../src/analysis/loops/loops.ts';
import { LiveRanges } from '../../src/analysis/registers/live-ranges.ts';
import { LiveWalker, liveInOf, livenessOf, liveOutOf, Pool } from '../../src/analysis/registers/liveness.ts';
import { pressureOf } from '../../src/analysis/registers/pressure.ts';
import { renderCfgDot, renderCfgText } from '../../src/analysis/render/cfg-text.ts';
import { renderCfgSvg } from '../../src/analysis/render/svg.ts';
import { defCount, defUseOf, singleDef, useCount, usesOf } from '../../src/analysis/values/defuse.ts';
import { knownPredicate } from '../../src/analysis/values/known-predicates.ts';
import { Draft, edit, splitEdge } from '../../src/ir/draft/index.ts';
import { mapBlocks } from '../../src/ir/edit.ts';
import { NO_REG, type Reg, regName, regOf } from '../../src/ir/operand.ts';
import type { Fn } from '../../src/ir/program.ts';
import { parseFn } from '../../src/ir/text.ts';
import { verifyFn } from '../../src/ir/verify.ts';
import { constructSsa } from '../../src/ssa/construct.ts';
import { testIsa } from '../support/isa.ts';
import { randomFn } from '../support/random-fn.ts';
import { often, runs } from '../support/size.ts';

const isa = testIsa();
const RUNS = { numRuns: runs(300), seed: 20261121 };

/** Positions reachable from `from` by `next`, not entering `without`. */
function reach(from: number, next: (b: number) => number[], without = -1): Set<number> {
  const seen = new Set<number>(from === without ? [] : [from]);
  const stack = [...seen];
  while (stack.length > 0)
    for (const t of next(stack.pop()!))
      if (t !== without && !seen.has(t)) {
        seen.add(t);
        stack.push(t);
      }
  return seen;
}
const succs = (g: Cfg, b: number): number[] => [...g.succ.subarray(g.succStart[b], g.succStart[b + 1])];
const preds = (g: Cfg, b: number): number[] => [...g.pred.subarray(g.predStart[b], g.predStart[b + 1])];

const LOOP = `.entry loops
  .table T0 BB5 BB6 BB5
{
BB0:
       MOV R1, RZ
BB1 "outer":
       ISETP.GE P2, R1, 10
   @P2 BRA BB4
BB2 "inner":
       IADD3 R3, R1, 1
       ISETP.LT P4, R3, 3
   @P4 BRA BB2
BB3:
       IADD3 R1, R1, 1
       BRA BB1
BB4:
       BRX R1, T0
BB5:
       BRA BB6
BB6:
       EXIT
BB7:
       BRA BB6
}`;

describe('control-flow graph', () => {
  it('lists edges taken before fall-through, table targets once', () => {
    const fn = parseFn(LOOP, isa);
    const g = cfgOf(fn);
    expect([0, 1, 2, 3, 4, 5, 6, 7].map((b) => succs(g, b))).toEqual([
      [1],
      [4, 2],
      [2, 3],
      [1],
      [5, 6],
      [6],
      [],
      [6],
    ]);
    expect(preds(g, 6)).toEqual([4, 5, 7]);
    expect(g.rpoNumber[7]).toBe(-1);
    expect(cfgOf(fn)).toBe(g);
    expect(cfgOf({ ...fn, blocks: [...fn.blocks] })).toBe(g);
  });

  it('sees guarded exits fall through and branches in the middle of blocks', () => {
    const g = cfgOf(
      parseFn(
        'BB0:\n@P1 EXIT\nMOV R2, 1\n@P1 BRA BB2\nBRA BB0\nBRA BB1\nBB1:\nEXIT\nBB2:\nCALL {R5}, &f, &, {R6}\nRET',
        isa,
      ),
    );
    expect(succs(g, 0)).toEqual([2, 0]);
    expect(succs(g, 2)).toEqual([]);
    expect(g.midBlockControl).toBe(true);
  });

  it('numbers in reverse post-order: only an edge of a cycle leads back', () => {
    fc.assert(
      fc.property(randomFn({ midBlock: true }), (fn) => {
        const g = cfgOf(fn);
        const next = (b: number): number[] => succs(g, b);
        const reachable = reach(0, next);
        expect(new Set(g.rpo)).toEqual(reachable);
        expect(g.rpo.length).toBe(reachable.size);
        expect(g.rpo[0]).toBe(0);
        for (const b of reachable)
          for (const t of next(b)) {
            expect(preds(g, t)).toContain(b);
            if (g.rpoNumber[t] <= g.rpoNumber[b]) expect(reach(t, next).has(b)).toBe(true);
          }
      }),
      RUNS,
    );
  });
});

describe('the graph of a draft', () => {
  /** By block identifier: where it leads, and whether a thread may end in it under a guard. */
  const byId = (g: Cfg, idOf: (b: number) => number) => ({
    midBlockControl: g.midBlockControl,
    mayEnd: [...g.mayEnd].map(idOf).sort(),
    succ: Object.fromEntries(
      [...g.rpo].map((b) => [
        idOf(b),
        [...g.succ.subarray(g.succStart[b], g.succStart[b + 1])].map(idOf).sort(),
      ]),
    ),
  });

  it('is that of the function which the draft becomes', () => {
    const seen = { split: 0, middle: 0 };
    fc.assert(
      fc.property(randomFn({ midBlock: true }), (fn) => {
        let of: ReturnType<typeof byId> | null = null;
        const out = edit(
          fn,
          (d) => {
            const from = d.layout().find((b) => d.next(d.first(b)) < 0 && d.successors(b).length === 1);
            if (from === undefined) return;
            splitEdge(d, from, 0);
            of = byId(draftCfg(d), (b) => d.id(b));
          },
          isa,
        );
        if (of === null) return;
        const g = cfgOf(out);
        expect(of).toEqual(byId(g, (b) => out.blocks[b].id));
        seen.split++;
        if (g.midBlockControl) seen.middle++;
      }),
      RUNS,
    );
    expect([seen.split > 20, seen.middle > 5]).toEqual([true, true]);
  });
});

describe('dominators', () => {
  it('are the blocks without which one cannot be reached', () => {
    fc.assert(
      fc.property(randomFn({ most: 12 }), (fn) => {
        const g = cfgOf(fn);
        const t = dominatorsOf(fn);
        const next = (b: number): number[] => succs(g, b);
        for (const a of g.rpo) {
          const without = reach(0, next, a);
          for (const b of g.rpo) {
            expect(dominates(t, a, b)).toBe(a === b || !without.has(b));
            const c = commonDominator(t, a, b);
            expect(dominates(t, c, a) && dominates(t, c, b)).toBe(true);
          }
          if (a !== 0) expect(t.depth[a]).toBe(t.depth[t.idom[a]] + 1);
        }
      }),
      RUNS,
    );
  });

  it('post-dominators are those without which the exit cannot be reached', () => {
    fc.assert(
      fc.property(randomFn({ most: 12 }), (fn) => {
        const g = cfgOf(fn);
        const t = postDominatorsOf(fn);
        const next = (b: number): number[] => (succs(g, b).length === 0 ? [g.count] : succs(g, b));
        const endless = g.rpo.filter((b) => !reach(b, (x) => (x === g.count ? [] : next(x))).has(g.count));
        for (const b of g.rpo) expect(t.first[b]).toBeGreaterThanOrEqual(0);
        if (endless.length > 0) return;
        for (const a of g.rpo)
          for (const b of g.rpo) {
            const through = reach(b, (x) => (x === g.count ? [] : next(x)), a);
            expect(dominates(t, a, b)).toBe(a === b || !through.has(g.count));
          }
      }),
      RUNS,
    );
  });

  it('the paths of a loop that is left only by a guarded exit join as in an endless one', () => {
    const text = (leave: string) =>
      `BB0:\nBRA BB1\nBB1:\nBAR.SYNC RZ\n${leave}\nBB2:\n@P1 BRA BB1\nBB3:\nIADD3 R1, R1, 1, RZ\nBRA BB1`;
    const meeting = (leave: string) => {
      const fn = parseFn(text(leave), isa);
      const position = (id: number) => fn.blocks.findIndex((b) => b.id === id);
      return [postDominatorsOf(fn).idom[position(2)], position(1)];
    };
    for (const leave of ['@P2 EXIT', '@!P2 RET']) {
      const [at, loop] = meeting(leave);
      expect([leave, at]).toEqual([leave, loop]);
    }
  });

  it('a join of a long chain of side exits costs one climb', () => {
    // Were each exit to climb anew, this would not end within the time of a test.
    const n = 200_000;
    const lines = ['BB0:'];
    for (let i = 0; i < n; i++) lines.push(`@P1 BRA BB${n}`, `BB${i + 1}:`);
    const fn = parseFn(`${lines.join('\n')}\nEXIT`, isa);
    const t = dominatorsOf(fn);
    postDominatorsOf(fn);
    expect(t.idom[n - 1]).toBe(n - 2);
    expect(t.idom[n]).toBe(0);
  });
});

describe('loops', () => {
  it('finds nests, latches, preheaders and exits', () => {
    const f = loopsOf(parseFn(LOOP, isa));
    expect(f.loops.map((l) => ({ ...l }))).toEqual([
      { id: 0, header: 1, latches: [3], parent: -1, children: [1], depth: 1, size: 3 },
      { id: 1, header: 2, latches: [2], parent: 0, children: [], depth: 2, size: 1 },
    ]);
    expect(loopBlocks(f, 0)).toEqual([1, 2, 3]);
    expect(loopExits(f, 0)).toEqual([{ from: 1, to: 4 }]);
    expect(preheader(f, 0)).toBe(0);
    expect(preheader(f, 1)).toBe(-1);
  });

  it('are the blocks that reach a latch without the header', () => {
    fc.assert(
      fc.property(randomFn({ most: 14 }), (fn) => {
        const g = cfgOf(fn);
        const dom = dominatorsOf(fn);
        const f = loopsOf(fn);
        const depth = new Map<number, number>();
        const headers: number[] = [];
        const contents = loopContents(f, 3);
        for (const h of g.rpo) {
          const latches = preds(g, h).filter((p) => g.rpoNumber[p] >= 0 && dominates(dom, h, p));
          if (latches.length === 0) continue;
          headers.push(h);
          const body = new Set<number>([h]);
          for (const l of latches)
            for (const b of reach(l, (x) => preds(g, x).filter((p) => g.rpoNumber[p] >= 0), h)) body.add(b);
          for (const b of body) depth.set(b, (depth.get(b) ?? 0) + 1);
          const loop = f.loops.find((l) => l.header === h)!;
          expect(new Set(loopBlocks(f, loop.id))).toEqual(body);
          expect(contents[loop.id]).toEqual({
            blocks: loopBlocks(f, loop.id).slice(0, 3),
            exits: loopExits(f, loop.id),
          });
          expect(loop.size).toBe(body.size);
          expect([...loop.latches].sort()).toEqual(latches.sort());
          for (const b of g.rpo) expect(inLoop(f, loop.id, b)).toBe(body.has(b));
        }
        expect(f.loops.map((l) => l.header)).toEqual(headers);
        for (const b of g.rpo) expect(loopDepth(f, b)).toBe(depth.get(b) ?? 0);
      }),
      RUNS,
    );
  });

  it('reports exactly the cycles that no block dominates', () => {
    fc.assert(
      fc.property(randomFn({ most: 14 }), (fn) => {
        const g = cfgOf(fn);
        const dom = dominatorsOf(fn);
        const forward = (b: number): number[] => succs(g, b).filter((t) => !dominates(dom, t, b));
        const cyclic = [...g.rpo].filter((b) => forward(b).some((t) => reach(t, forward).has(b)));
        const { irreducible } = loopsOf(fn);
        expect(irreducible.flatMap((r) => r.blocks).sort((a, b) => a - b)).toEqual(
          cyclic.sort((a, b) => a - b),
        );
        for (const r of irreducible) expect(r.entries.length).toBeGreaterThanOrEqual(2);
      }),
      RUNS,
    );
  });
});

describe('liveness', () => {
  /** Registers that some path from an instruction reads before certainly writing them: straight from the definition. */
  function naiveLive(fn: Fn, block: number, index: number): Set<Reg> {
    const found = new Set<Reg>();
    const position = new Map(fn.blocks.map((b, i) => [b.id, i]));
    const all = new Set<Reg>();
    for (const b of fn.blocks)
      for (const x of b.ins) {
        for (const o of x.src) if (o.reg !== NO_REG) all.add(o.reg);
        if (x.guard !== NO_REG) all.add(x.guard);
      }
    for (const r of all) {
      const seen = new Set<string>();
      const stack: [number, number][] = [[block, index]];
      while (stack.length > 0 && !found.has(r)) {
        const [b, i] = stack.pop()!;
        if (b >= fn.blocks.length || seen.has(`${b}:${i}`)) continue;
        seen.add(`${b}:${i}`);
        const x = fn.blocks[b].ins[i];
        if (x === undefined) {
          stack.push([b + 1, 0]);
          continue;
        }
        if (x.guard === r || x.src.some((o) => o.reg === r)) {
          found.add(r);
          continue;
        }
        if (x.op.name === 'RET' && fn.returns.some((p) => p.reg === r)) {
          found.add(r);
          continue;
        }
        if (x.guard === NO_REG && x.dst.includes(r)) continue;
        if (isControl(x)) targets(fn, x, (id) => stack.push([position.get(id)!, 0]));
        if (!endsFlow(x)) stack.push([b, i + 1]);
      }
    }
    return found;
  }

  it('is what a search along all paths finds, also with branches in the middle of blocks', () => {
    fc.assert(
      fc.property(randomFn({ midBlock: true, most: 6 }), (fn) => {
        expect(verifyFn(fn)).toEqual([]);
        const l = livenessOf(fn);
        const walker = new LiveWalker(l);
        fn.blocks.forEach((b, p) => {
          expect(new Set(liveInOf(l, p))).toEqual(naiveLive(fn, p, 0));
          walker.enter(p);
          for (let i = b.ins.length; i >= 0; i--) {
            // Behind a final jump there is no place for control to be.
            if (i > 0 && i === b.ins.length && endsFlow(b.ins[i - 1])) {
              walker.step(b.ins[i - 1]);
              continue;
            }
            const naive = naiveLive(fn, p, i);
            for (const r of naive) expect(walker.isLive(r)).toBe(true);
            let units = 0;
            for (const r of naive)
              units += regName(r).startsWith('RD') ? 2 : regName(r).startsWith('R') ? 1 : 0;
            expect(walker.units[Pool.R]).toBe(units);
            if (i > 0) walker.step(b.ins[i - 1]);
          }
        });
      }),
      { ...RUNS, numRuns: runs(150) },
    );
  });

  it('of one value covers the points from which a use can be reached', () => {
    fc.assert(
      fc.property(randomFn({ defined: true, most: 8 }), (input) => {
        const fn = constructSsa(input, isa);
        const d = new Draft(fn, isa);
        const ranges = new LiveRanges(d);
        const { succ, succStart } = cfgOf(fn);
        fn.blocks.forEach((block, home) => {
          block.ins.forEach((x, i) => {
            for (const r of x.dst) {
              if (r === NO_REG) continue;
              const uses = ranges.usesOf(r);
              const range = ranges.walk(home, i + 1, uses);
              // The value is not there above its definition.
              const isAsked = new Set<number>();
              const reaches = (b: number, at: number): boolean =>
                (b !== home || at > i) &&
                (uses.some((u) => u.block === b && u.at >= at) ||
                  [...succ.subarray(succStart[b], succStart[b + 1])].some((s) => {
                    if (isAsked.has(s)) return false;
                    isAsked.add(s);
                    return reaches(s, 0);
                  }));
              fn.blocks.forEach((there, b) => {
                for (let at = 0; at <= there.ins.length; at++) {
                  isAsked.clear();
                  expect([b, at, ranges.covers(range, b, at)]).toEqual([b, at, reaches(b, at)]);
                }
              });
            }
          });
        });
      }),
      { ...RUNS, numRuns: runs(40) },
    );
  });

  it('a guarded definition does not kill; returned registers live to the return', () => {
    const fn = parseFn(
      '.func f\n.return b32 r size 4 align 4 at 0 reg R5\n.param b32 a size 4 align 4 at 0 reg R1\n{\nBB0:\nISETP.NE P2, R1, RZ\n@P2 MOV R5, 3\nBB1:\nRET\n}',
      isa,
    );
    const l = livenessOf(fn);
    expect(liveInOf(l, 0).map(regName).sort()).toEqual(['R1', 'R5']);
    expect(liveOutOf(l, 0).map(regName)).toEqual(['R5']);
    expect(pressureOf(fn).most[Pool.R]).toBe(2);
  });
});

describe('def-use', () => {
  it('counts every operand', () => {
    fc.assert(
      fc.property(randomFn({ midBlock: true }), (fn) => {
        const d = defUseOf(fn);
        const defs = new Map<Reg, number>();
        const uses = new Map<Reg, number>();
        const bump = (m: Map<Reg, number>, r: Reg): void => {
          if (r !== NO_REG) m.set(r, (m.get(r) ?? 0) + 1);
        };
        for (const b of fn.blocks)
          for (const x of b.ins) {
            x.dst.forEach((r) => {
              bump(defs, r);
            });
            x.src.forEach((o) => {
              bump(uses, o.reg);
            });
            bump(uses, x.guard);
          }
        for (const name of ['R0', 'R1', 'R2', 'R3', 'R4', 'R5', 'R6', 'P10', 'P14', 'P15']) {
          const r = regOf(name);
          expect(defCount(d, r)).toBe(defs.get(r) ?? 0);
          expect(useCount(d, r)).toBe(uses.get(r) ?? 0);
          expect(singleDef(d, r) >= 0).toBe(defs.get(r) === 1);
          usesOf(d, r, (b, i) => {
            const x = fn.blocks[b].ins[i];
            expect(x.guard === r || x.src.some((o) => o.reg === r)).toBe(true);
          });
        }
        expect(defCount(d, regOf('RD20'))).toBe(1);
        expect(singleDef(d, regOf('RD20'))).toBe(-1);
      }),
      { ...RUNS, numRuns: runs(100) },
    );
  });

  it('knows predicates that are the same in every execution', () => {
    const value = (def: string): number => {
      const fn = parseFn(`BB0:\n${def}\n@P1 BRA BB1\nBB1:\nEXIT`, isa);
      return knownPredicate(fn, regOf('P1'), 0);
    };
    expect(value('PLOP3 P1, PT, PT, PT, 0xff')).toBe(1);
    expect(value('PLOP3 P1, P2, P3, !PT, 0x0')).toBe(0);
    expect(value('PLOP3 P1, P2, !PT, PT, 0x20')).toBe(-1);
    expect(value('PLOP3 P1, P2, !PT, PT, 0xcc')).toBe(0);
    expect(value('ISETP.EQ P1, R5, R5')).toBe(1);
    expect(value('ISETP.EQ _, P1, R5, R5, PT')).toBe(0);
    expect(value('ISETP.LT P1, R5, R5')).toBe(0);
    expect(value('ISETP.LT P1, -1, 1')).toBe(1);
    expect(value('ISETP.LT.U32 P1, -1, 1')).toBe(0);
    expect(value('ISETP.LT.U64 P1, 0xffffffff00000000, 1')).toBe(0);
    expect(value('FSETP.EQ P1, R5, R5')).toBe(-1);
    expect(value('PLOP3 P1, P2, !P2, PT, 0xc0')).toBe(0);
    expect(value('PLOP3 P1, P2, P2, PT, 0xc0')).toBe(-1);
    expect(value('FSETP.EQ P1, 0x7fc00000, 0x7fc00000')).toBe(0);
    expect(value('VOTE.ANY _, P1, PT, -1')).toBe(-1);
    expect(value('ISETP.EQ P1, R5, c[0x0][0x160]')).toBe(-1);
    expect(value('@P7 PLOP3 P1, PT, PT, PT, 0xff')).toBe(-1);
    expect(value('PLOP3 P1, PT, PT, PT, 0xff\nPLOP3 P1, PT, PT, PT, 0x0')).toBe(-1);
    const below = parseFn('BB0:\n@P1 BRA BB1\nPLOP3 P1, PT, PT, PT, 0xff\nBB1:\nEXIT', isa);
    expect(knownPredicate(below, regOf('P1'), 1)).toBe(-1);
  });
});

describe('AnalyzeControlFlow', () => {
  const fn = parseFn(LOOP, isa);
  it('annotates headers, intervals, latches and exits', () => {
    const cf = analyzeControlFlow(fn);
    const names = (flag: number): number[] => fn.blocks.map((_, b) => b).filter((b) => hasFlag(cf, b, flag));
    expect(names(BlockFlag.LoopHeader)).toEqual([1, 2]);
    expect(names(BlockFlag.InLoop)).toEqual([1, 2, 3]);
    expect(names(BlockFlag.BackEdgeCandidate)).toEqual([2, 3]);
    expect(names(BlockFlag.HasPredecessor)).toEqual([1, 2, 3, 4, 5, 6]);
    expect(names(BlockFlag.Leaves)).toEqual([6]);
    expect(cf.latch[1]).toBe(cf.rpoNumber[3]);
    expect(cf.exit[1]).toBe(cf.rpoNumber[4]);
    expect(cf.firstPredecessor[1]).toBe(0);
    expect(cf.rpoViolation).toBe(false);
    expect(analyzeControlFlow(fn)).toBe(cf);
  });

  it('force mode starts from the conservative side and changes no number', () => {
    const cf = analyzeControlFlow(fn, { force: true });
    const plain = analyzeControlFlow(fn);
    for (const b of cf.cfg.rpo)
      expect(hasFlag(cf, b, BlockFlag.LoopHeader) && hasFlag(cf, b, BlockFlag.HasPredecessor)).toBe(true);
    expect(cf.latch).toEqual(plain.latch);
    expect(cf.rpoNumber).toEqual(plain.rpoNumber);
  });

  it('is computed anew where control flow changed, and only there', () => {
    const cf = analyzeControlFlow(fn);
    // Without the back edge of the inner loop its header is none, and the outer loop is as it was.
    const outer = mapBlocks(fn, (b) => (b.id === 2 ? { ...b, ins: b.ins.slice(0, -1) } : b));
    const after = analyzeControlFlow(outer);
    expect(after).not.toBe(cf);
    expect([1, 2].map((b) => hasFlag(after, b, BlockFlag.LoopHeader))).toEqual([true, false]);
    expect([1, 2, 3].map((b) => hasFlag(after, b, BlockFlag.InLoop))).toEqual([true, true, true]);
    expect(hasFlag(cf, 2, BlockFlag.LoopHeader)).toBe(true);
  });

  it('an edge for each entry of a table counts as a predecessor, and may close a loop', () => {
    const f = parseFn(
      '.entry k\n  .table T0 BB2 BB1 BB3\n{\nBB0:\nMOV R1, RZ\nBB1:\nBRX R1, T0\nBB2:\nBRA BB3\nBB3:\nEXIT\n}',
      isa,
    );
    const cf = analyzeControlFlow(f);
    const names = (flag: number): number[] => f.blocks.map((_, b) => b).filter((b) => hasFlag(cf, b, flag));
    expect(names(BlockFlag.HasPredecessor)).toEqual([1, 2, 3]);
    expect(names(BlockFlag.LoopHeader)).toEqual([1]);
    expect(names(BlockFlag.BackEdgeCandidate)).toEqual([1]);
  });

  it('a loop with two entries is a violation, and says where they are', () => {
    const cf = analyzeControlFlow(
      parseFn('BB0:\n@P1 BRA BB2\nBB1:\nMOV R1, RZ\nBB2:\n@P2 BRA BB1\nBB3:\nEXIT', isa),
    );
    expect([cf.rpoViolation, cf.violation]).toEqual([true, 'irreducible region entered at BB1 and BB2']);
  });

  it('without a violation the intervals are exactly the natural loops', () => {
    let clean = 0;
    fc.assert(
      fc.property(randomFn({ most: 12 }), (f) => {
        const cf = analyzeControlFlow(f);
        const forest = loopsOf(f);
        expect(cf.rpoViolation).toBe(cf.violation !== '');
        if (forest.irreducible.length > 0) expect(cf.rpoViolation).toBe(true);
        if (cf.rpoViolation) return;
        clean++;
        for (const b of cf.cfg.rpo) {
          expect(hasFlag(cf, b, BlockFlag.InLoop)).toBe(loopDepth(forest, b) > 0);
          const l = forest.innermost[b];
          expect(cf.intervalHeader[b]).toBe(l < 0 ? -1 : cf.rpoNumber[forest.loops[l].header]);
        }
        for (const l of forest.loops) {
          const beyond = loopExits(forest, l.id)
            .map((e) => cf.rpoNumber[e.to])
            .filter((n) => n > cf.latch[l.header]);
          expect(cf.exit[l.header]).toBe(Math.max(-1, ...beyond));
        }
      }),
      RUNS,
    );
    expect(clean).toBeGreaterThan(often(50));
  });
});

describe('rendering', () => {
  it('text', () => {
    expect(renderCfgText(parseFn(LOOP, isa))).toMatchInlineSnapshot(`
      "Control flow of loops: 8 blocks, 10 edges

      Showing RPO state for each basic block:
        bix0  -> RPONum: 0            preds []                succs [bix1]       depth 0  -
        bix1  -> RPONum: 1            preds [bix0 bix3]       succs [bix4 bix2]  depth 1  header,has-pred,in-loop        outer
        bix2  -> RPONum: 2            preds [bix1 bix2]       succs [bix2 bix3]  depth 2  header,has-pred,in-loop,latch  inner
        bix3  -> RPONum: 3            preds [bix2]            succs [bix1]       depth 1  has-pred,in-loop,latch
        bix4  -> RPONum: 4            preds [bix1]            succs [bix5 bix6]  depth 0  has-pred
        bix5  -> RPONum: 5            preds [bix4]            succs [bix6]       depth 0  has-pred
        bix6  -> RPONum: 6            preds [bix4 bix5 bix7]  succs []           depth 0  has-pred,leaves
        bix7  -> RPONum: unreachable  preds []                succs [bix6]       depth 0  -

      RPO traversal order: [bix0, bix1, bix2, bix3, bix4, bix5, bix6]

      Showing backedge info:
        bix2 -> bix2  header interval [2, 2], first predecessor bix1, farthest exit bix3
        bix3 -> bix1  header interval [1, 3], first predecessor bix0, farthest exit bix4

      Natural loops:
        bix1: 3 blocks {bix1 bix2 bix3}, latches bix3, preheader bix0, exits bix1->bix4
          bix2: 1 blocks {bix2}, latches bix2, preheader -, exits bix2->bix3

      RPO violation: none"
    `);
  });

  it('dot', () => {
    expect(renderCfgDot(parseFn(LOOP, isa))).toMatchInlineSnapshot(`
      "digraph "loops" {
        node [shape=box, fontname="monospace"];
        bix0 [label="bix0(L0)\\nRPONum 0, 1 ins"];
        bix1 [label="bix1(outer)\\nRPONum 1, 2 ins", peripheries=2];
        bix2 [label="bix2(inner)\\nRPONum 2, 3 ins", peripheries=2];
        bix3 [label="bix3(L3)\\nRPONum 3, 2 ins"];
        bix4 [label="bix4(L4)\\nRPONum 4, 1 ins"];
        bix5 [label="bix5(L5)\\nRPONum 5, 1 ins"];
        bix6 [label="bix6(L6)\\nRPONum 6, 1 ins"];
        bix7 [label="bix7(L7)\\nunreachable, 1 ins", style=dotted];
        bix0 -> bix1;
        bix1 -> bix4 [label=T];
        bix1 -> bix2 [label=F];
        bix2 -> bix2 [label=T, style=dashed];
        bix2 -> bix3 [label=F];
        bix3 -> bix1 [style=dashed];
        bix4 -> bix5;
        bix4 -> bix6;
        bix5 -> bix6;
        bix7 -> bix6;
      }"
    `);
  });

  it('svg: every block and edge, boxes of a layer apart', () => {
    fc.assert(
      fc.property(randomFn({ most: 14 }), (fn) => {
        const svg = renderCfgSvg(fn);
        const boxes = [
          ...svg.matchAll(
            /<g class="b[^"]*" transform="translate\(([-\d.]+) ([-\d.]+)\)"><rect width="([\d.]+)" height="([\d.]+)"/g,
          ),
        ].map((m) => ({ x: +m[1], y: +m[2], w: +m[3], h: +m[4] }));
        expect(boxes.length).toBe(fn.blocks.length);
        expect(svg.match(/marker-end/g)?.length ?? 0).toBe(cfgOf(fn).succ.length);
        expect(svg).not.toMatch(/NaN|Infinity|undefined/);
        for (let i = 0; i < boxes.length; i++)
          for (let k = 0; k < i; k++) {
            const [a, b] = [boxes[i], boxes[k]];
            const apart = a.x + a.w < b.x || b.x + b.w < a.x || a.y + a.h < b.y || b.y + b.h < a.y;
            expect(apart).toBe(true);
          }
        // Every edge leaves the middle of the lower side of its source, and enters the middle of the upper side of its target.
        const at = (x: number, y: number, edge: 'lower' | 'upper'): number =>
          boxes.findIndex(
            (b) =>
              Math.abs(b.x + b.w / 2 - x) < 0.2 && Math.abs(b.y + (edge === 'lower' ? b.h : 0) - y) < 0.2,
          );
        const drawn = [...svg.matchAll(/<path class="[^"]*" d="(M[^"]*)" marker-end/g)].map(([, path]) => {
          const p = path.match(/[-\d.]+/g)!.map(Number);
          // A line in a lane has straight pieces between rounded corners: two below its source, two above its target.
          if (path.includes('L')) expect(path.match(/Q/g)).toHaveLength(4);
          return [at(p[0], p[1], 'lower'), at(p[p.length - 2], p[p.length - 1], 'upper')];
        });
        const edges = fn.blocks.flatMap((_, b) =>
          [...cfgOf(fn).succ.subarray(cfgOf(fn).succStart[b], cfgOf(fn).succStart[b + 1])].map((s) => [b, s]),
        );
        expect(drawn.map(String).sort()).toEqual(edges.map(String).sort());
      }),
      { ...RUNS, numRuns: runs(60) },
    );
  });

  it('svg of 1000 blocks', () => {
    const lines: string[] = [];
    for (let i = 0; i < 1000; i++) {
      const far = (i * 7919) % 1000;
      lines.push(`BB${i}:`, `@P1 BRA BB${i % 3 === 0 ? far : Math.min(999, i + (i % 17))}`);
    }
    const fn = parseFn(`${lines.join('\n')}\nEXIT`, isa);
    expect(renderCfgSvg(fn).length).toBeGreaterThan(100_000);
  });
});
