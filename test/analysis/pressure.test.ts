import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { endsFlow, isControl, targets } from '../../src/analysis/flow/cfg.ts';
import { loopBlocks, loopsOf } from '../../src/analysis/loops/loops.ts';
import { Pool } from '../../src/analysis/registers/liveness.ts';
import { pressureOf } from '../../src/analysis/registers/pressure.ts';
import { isPhi } from '../../src/ir/flow.ts';
import { NO_REG, type Reg, regName } from '../../src/ir/operand.ts';
import type { Fn } from '../../src/ir/program.ts';
import { parseFn, printFn } from '../../src/ir/text.ts';
import { testIsa } from '../support/isa.ts';
import { randomFn } from '../support/random-fn.ts';
import { generator, randomLoops } from '../support/random-loops.ts';
import { runs } from '../support/size.ts';

const isa = testIsa();

/** Live sets at every point, by iterating the definition to a fixpoint. */
function slowSets(fn: Fn): Set<Reg>[][] {
  const position = new Map(fn.blocks.map((b, i) => [b.id, i]));
  const sets = fn.blocks.map((b) => Array.from({ length: b.ins.length + 1 }, () => new Set<Reg>()));
  /** What phis of any block read at the end of this one. */
  const phiUses = (from: number): Reg[] => {
    const out: Reg[] = [];
    for (const b of fn.blocks)
      for (const x of b.ins)
        if (isPhi(x))
          for (let k = 0; k < x.src.length; k += 2)
            if (position.get(x.src[k].lo) === from) out.push(x.src[k + 1].reg);
    return out;
  };
  const into = (from: number, to: number): Reg[] =>
    to < fn.blocks.length ? [...sets[to][0], ...phiUses(from)] : [];
  for (let changed = true; changed; ) {
    changed = false;
    for (let b = fn.blocks.length - 1; b >= 0; b--) {
      const { ins } = fn.blocks[b];
      for (let i = ins.length; i >= 0; i--) {
        const live = new Set<Reg>();
        const x = ins[i];
        const add = (rs: Iterable<Reg>): void => {
          for (const r of rs) if (r !== NO_REG) live.add(r);
        };
        if (x === undefined) {
          if (i === 0 || !endsFlow(ins[i - 1])) add(into(b, b + 1));
        } else {
          if (!endsFlow(x)) add(sets[b][i + 1]);
          if (isControl(x)) targets(fn, x, (id) => add(into(b, position.get(id)!)));
          if (x.guard === NO_REG || x.otherwise.length > 0) for (const d of x.dst) live.delete(d);
          if (!isPhi(x)) {
            add(x.src.map((o) => o.reg));
            add([x.guard, ...x.otherwise]);
          }
        }
        if (live.size === sets[b][i].size) continue;
        sets[b][i] = live;
        changed = true;
      }
    }
  }
  return sets;
}

const POOL_OF_NAME: Readonly<Record<string, [pool: number, units: number]>> = {
  R: [Pool.R, 1],
  RD: [Pool.R, 2],
  RQ: [Pool.R, 4],
  P: [Pool.P, 1],
  UR: [Pool.UR, 1],
  URD: [Pool.UR, 2],
  UP: [Pool.UP, 1],
};

function slowUnits(live: Iterable<Reg>, pool: number): number {
  let n = 0;
  for (const r of live) {
    const [p, units] = POOL_OF_NAME[regName(r).replace(/\d/g, '')];
    if (p === pool) n += units;
  }
  return n;
}

function agrees(fn: Fn): void {
  const sets = slowSets(fn);
  const pressure = pressureOf(fn);
  for (const pool of Object.values(Pool)) {
    const blocks = sets.map((points) => points.map((live) => slowUnits(live, pool)));
    blocks.forEach((points, b) => {
      expect([b, pool, ...pressure.at(b, pool)]).toEqual([b, pool, ...points]);
      expect(pressure.inBlock(b, pool)).toBe(Math.max(...points));
    });
    expect(pressure.most[pool]).toBe(Math.max(...blocks.flat()));
    const forest = loopsOf(fn);
    for (const l of forest.loops)
      expect(pressure.inLoop(l.id, pool)).toBe(
        Math.max(...loopBlocks(forest, l.id).flatMap((b) => blocks[b])),
      );
  }
}

/** The same function with some registers in uniform files and some wider ones. */
const otherFiles = (fn: Fn): Fn =>
  parseFn(
    printFn(fn)
      .replace(/\bR([345])\b/g, 'UR$1')
      .replace(/\bP(1[135])\b/g, 'UP$1'),
    isa,
  );

describe('register pressure', () => {
  it('is what the live sets at every point sum up to', () => {
    fc.assert(
      fc.property(randomFn({ midBlock: true, most: 8 }), (fn) => agrees(otherFiles(fn))),
      { numRuns: runs(200), seed: 20261129 },
    );
  });

  it('is so in SSA, where phis read at the ends of predecessors', () => {
    const below = generator(20261130);
    for (let n = 0; n < 150; n++) agrees(parseFn(randomLoops(below), isa));
  });

  it('counts pairs and quads by their units, each pool apart', () => {
    const fn = parseFn(
      `BB0:
LDG.B128 RQ0, [RD8]
LDG.B64 RD1, [RD8]
MOV UR2, 1
ISETP.EQ P3, R9, 1
PLOP3 UP4, P3, P3, PT, 0xc0
STG.B128 [RD8], RQ0
STG.B64 [RD8], RD1
@UP4 STG.B32 [RD8], UR2
EXIT`,
      isa,
    );
    const p = pressureOf(fn);
    expect(Object.fromEntries(Object.entries(Pool).map(([name, pool]) => [name, p.most[pool]]))).toEqual({
      R: 9,
      P: 1,
      UR: 1,
      UP: 1,
    });
    // RD8 and R9 at the top; RQ0, RD1, RD8 and R9 before the comparison, which is the last to read R9.
    expect([...p.at(0, Pool.R)]).toEqual([3, 7, 9, 9, 8, 8, 4, 2, 0, 0]);
    expect(pressureOf(fn)).toBe(p);
  });
});
