import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { mustStay } from '../../src/analysis/calls/effects.ts';
import { endsFlow, isControl, targets } from '../../src/analysis/flow/cfg.ts';
import { neededOf } from '../../src/analysis/values/faint-variables.ts';
import { isPhi } from '../../src/ir/flow.ts';
import { NO_REG, type Reg } from '../../src/ir/operand.ts';
import type { Fn, Instr } from '../../src/ir/program.ts';
import { printFn } from '../../src/ir/text.ts';
import { constructSsa } from '../../src/ssa/construct.ts';
import { testIsa } from '../support/isa.ts';
import { randomFn } from '../support/random-fn.ts';
import { runs } from '../support/size.ts';

const isa = testIsa();

/**
 * Directly from the definition: repeatedly adds an instruction from which some path leads to a needed reader without a definite
 * redefinition in between.
 */
function slowly(fn: Fn): Set<Instr> {
  const position = new Map(fn.blocks.map((b, i) => [b.id, i]));
  const needed = new Set<Instr>(fn.blocks.flatMap((b) => b.ins.filter(mustStay)));

  const readsIt = (x: Instr, r: Reg): boolean =>
    !isPhi(x) &&
    (x.guard === r ||
      x.src.some((o) => o.reg === r) ||
      x.otherwise.includes(r) ||
      (x.op.name === 'RET' && x.src.length === 0 && fn.returns.some((p) => p.reg === r)));
  const phiReads = (from: number, to: number, r: Reg): boolean =>
    fn.blocks[to].ins.some(
      (x) =>
        isPhi(x) &&
        needed.has(x) &&
        x.src.some((o, k) => k % 2 === 0 && o.lo === fn.blocks[from].id && x.src[k + 1].reg === r),
    );
  const isRead = (block: number, index: number, r: Reg): boolean => {
    const seen = new Set<string>();
    const stack: [number, number][] = [[block, index]];
    let found = false;
    const go = (from: number, to: number): void => {
      if (to >= fn.blocks.length) return;
      if (phiReads(from, to, r)) found = true;
      stack.push([to, 0]);
    };
    while (stack.length > 0 && !found) {
      const [b, i] = stack.pop()!;
      if (seen.has(`${b}:${i}`)) continue;
      seen.add(`${b}:${i}`);
      const x = fn.blocks[b].ins[i];
      if (x === undefined) {
        go(b, b + 1);
        continue;
      }
      if (needed.has(x) && readsIt(x, r)) return true;
      if (x.dst.includes(r) && (x.guard === NO_REG || x.otherwise.length > 0)) continue;
      if (isControl(x)) targets(fn, x, (id) => go(b, position.get(id)!));
      if (!endsFlow(x)) stack.push([b, i + 1]);
    }
    return found;
  };

  for (let grown = true; grown; ) {
    grown = false;
    fn.blocks.forEach((block, b) => {
      block.ins.forEach((x, i) => {
        if (needed.has(x) || !x.dst.some((r) => r !== NO_REG && isRead(b, i + 1, r))) return;
        needed.add(x);
        grown = true;
      });
    });
  }
  return needed;
}

function expectSame(fn: Fn): number {
  const slow = slowly(fn);
  const all = fn.blocks.flatMap((b) => b.ins);
  const fast = neededOf(fn, mustStay);
  for (const [n, x] of all.entries())
    if ((fast[n] === 1) !== slow.has(x)) throw new Error(`instruction ${n} of\n${printFn(fn)}`);
  return all.length - slow.size;
}

describe('what is needed', () => {
  const OPTIONS = { numRuns: runs(250), seed: 20261122 };

  it('is what a search along all paths finds, with several definitions and branches anywhere', () => {
    let spare = 0;
    fc.assert(
      fc.property(randomFn({ midBlock: true, most: 8 }), (fn) => {
        spare += expectSame(fn);
      }),
      OPTIONS,
    );
    expect(spare).toBeGreaterThan(200);
  });

  it('is so in SSA, where phis read at the ends of predecessors', () => {
    let spare = 0;
    fc.assert(
      fc.property(randomFn({ most: 8 }), (fn) => {
        spare += expectSame(constructSsa(fn, isa));
      }),
      OPTIONS,
    );
    expect(spare).toBeGreaterThan(200);
  });
});
