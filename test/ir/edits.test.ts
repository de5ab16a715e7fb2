import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { ChangeLog, WorkList } from '../../src/analysis/flow/changes.ts';
import { EditRunner, type EditStep, type Stretch } from '../../src/engine/edits.ts';
import { Draft, type Ins } from '../../src/ir/draft/index.ts';
import { withGuard, withSource } from '../../src/ir/edit.ts';
import { imm, NO_REG, reg, regOf } from '../../src/ir/operand.ts';
import type { Fn } from '../../src/ir/program.ts';
import { parseFn, printFn } from '../../src/ir/text.ts';
import { testIsa } from '../support/isa.ts';
import { randomFn } from '../support/random-fn.ts';
import { runs } from '../support/size.ts';

const isa = testIsa();
const fn = parseFn(
  `BB0:
  S2R.TID.X R0
  IADD3 R1, R0, 1, RZ
  IADD3 R2, R1, 2, RZ
  IADD3 R3, R1, R2, RZ
  STG [RD4], R3
  STG [RD4+4], R0
  EXIT`,
  isa,
);
const taken = (work: WorkList): Ins[] => {
  const out: Ins[] = [];
  for (let n = work.next(); n >= 0; n = work.next()) out.push(n);
  return out;
};

describe('a work list', () => {
  const open = (): [Draft, ChangeLog, WorkList] => {
    const d = new Draft(fn, isa);
    const log = new ChangeLog(d);
    return [d, log, new WorkList(log)];
  };
  it('holds everything at first, in layout order, and then nothing', () => {
    const [, , work] = open();
    expect(taken(work)).toEqual([0, 1, 2, 3, 4, 5, 6]);
    expect([work.isEmpty, work.next()]).toEqual([true, -1]);
  });
  it('then what changed, the users of its results, and who is left alone with an operand', () => {
    const [d, , work] = open();
    taken(work);
    // R1 loses one of its two uses: its definition and the user that is left are worth a look.
    d.replace(2, withSource(d.at(2), 0, reg(regOf('R0'))));
    expect(taken(work).sort()).toEqual([1, 2, 3]);
    // The other use goes too: only the definition is left to look at.
    d.replace(3, withSource(d.at(3), 0, imm(3)));
    expect(taken(work).sort()).toEqual([1, 3, 4]);
    d.remove(1);
    // R0 had three readers and has two: nobody is alone.
    expect(taken(work)).toEqual([]);
  });
  it('of a pass that comes later holds what the others did meanwhile, once', () => {
    const [d, log, first] = open();
    const second = new WorkList(log);
    taken(first);
    taken(second);
    d.replace(1, withSource(d.at(1), 1, imm(9)));
    expect(first.next()).toBe(1);
    d.replace(1, withSource(d.at(1), 1, imm(8)));
    expect(taken(first).sort()).toEqual([1, 2, 3]);
    expect(taken(second).sort()).toEqual([1, 2, 3]);
    const third = new WorkList(log);
    expect(taken(third)).toHaveLength(7);
    const settled = new WorkList(log, true);
    expect(taken(settled).sort()).toEqual([1, 2, 3]);
  });
  it('misses no change: whatever is edited is seen by every list afterwards', () => {
    fc.assert(
      fc.property(
        randomFn({ most: 6 }),
        fc.array(fc.record({ list: fc.nat(1), edit: fc.nat(1000), take: fc.nat(6) }), { maxLength: 30 }),
        (f, script) => {
          const d = new Draft(f, isa);
          const log = new ChangeLog(d);
          const lists = [new WorkList(log), new WorkList(log)];
          const owed = [new Set<Ins>(), new Set<Ins>()];
          const total = d.instructionNumbers;
          for (let n = 0; n < total; n++) for (const o of owed) o.add(n);
          const look = (k: number, most: number): void => {
            for (let i = 0; i < most; i++) {
              const n = lists[k].next();
              if (n < 0) return;
              owed[k].delete(n);
            }
          };
          for (const { list, edit, take } of script) {
            look(list, take);
            const n = edit % total;
            const x = d.at(n);
            if (d.isRemoved(n) || x.op.name !== 'IADD3') continue;
            d.replace(n, x.guard === NO_REG ? withSource(x, 1, imm(edit)) : withGuard(x, NO_REG));
            for (const o of owed) o.add(n);
          }
          for (const k of [0, 1]) {
            look(k, Number.POSITIVE_INFINITY);
            expect([...owed[k]].filter((n) => !d.isRemoved(n))).toEqual([]);
          }
        },
      ),
      { numRuns: runs(300), seed: 3 },
    );
  });
});

describe('steps on one draft', () => {
  /** Lowers every constant of a sum above `floor` by one. */
  const lower = (key: string | null, floor: number, log: string[]): EditStep => ({
    key,
    open: (d) => {
      log.push(`open ${key}`);
      return (work) => {
        let n = work.next();
        if (n >= 0) log.push(`run ${key}`);
        for (; n >= 0; n = work.next()) {
          const x = d.at(n);
          if (x.op.name === 'IADD3' && x.src[1].reg === NO_REG && x.src[1].lo > floor)
            d.replace(n, withSource(x, 1, imm(x.src[1].lo - 1)));
        }
      };
    },
  });
  const once = (steps: EditStep[], rounds = 1) => [{ steps, rounds, ended: () => {} }];

  it('a function that a step has left as it is, is not opened for it again', () => {
    const log: string[] = [];
    const runner = new EditRunner();
    const out = runner.run(fn, once([lower('a', 0, log)]));
    expect(printFn(out)).toContain('IADD3 R1, R0, RZ');
    expect(runner.run(out, once([lower('a', 0, log)]))).toBe(out);
    expect(log).toEqual(['open a', 'run a']);
    // Another step does not know it, and one that may do something else each time has to look.
    expect(runner.run(out, once([lower('b', 0, log), lower(null, 0, log)]))).toBe(out);
    expect(log.slice(2)).toEqual(['open b', 'open null', 'run b', 'run null']);
    // A settled step beside one that changes something looks at that.
    log.length = 0;
    const low = runner.run(out, once([lower('c', -3, log), lower('a', 0, log)]));
    expect(log).toEqual(['open c', 'open a', 'run c', 'run a']);
    expect(runner.run(low, once([lower('a', 0, log), lower('c', -3, log)]))).toBe(low);
    expect(log).toHaveLength(4);
  });

  it('a step that a budget cut short has more to say', () => {
    const log: string[] = [];
    const runner = new EditRunner();
    const step = { ...lower('a', 0, log), cutShort: () => true };
    const out = runner.run(fn, once([step]));
    runner.run(out, once([step]));
    expect(log).toEqual(['open a', 'run a', 'open a', 'run a']);
  });

  it('rounds end when all worklists are empty, or at the limit, which is reported', () => {
    /** Swaps the sources of one instruction whenever the other step has touched it: the two never end. */
    const swap: EditStep = {
      key: null,
      open: (d) => (work) => {
        for (let n = work.next(); n >= 0; n = work.next()) {
          const x = d.at(n);
          if (n === 3) d.replace(3, withSource(withSource(x, 0, x.src[1]), 1, x.src[0]));
          if (n === 3) return;
        }
      },
    };
    const told: unknown[] = [];
    const ended: Stretch['ended'] = (done, end) =>
      told.push([end, done.map((r) => r.map((w) => [w.step.key, w.changed, w.removed]))]);
    new EditRunner().run(fn, [{ steps: [swap, swap], rounds: 3, ended }]);
    const both = [
      [null, 1, 0],
      [null, 1, 0],
    ];
    expect(told.pop()).toEqual(['used-up', [both, both, both]]);
    new EditRunner().run(fn, [{ steps: [lower('a', 0, [])], rounds: 5, ended }]);
    expect(told.pop()).toEqual(['done', [[['a', 3, 0]]]]);
    // Nobody is told of a round in which nothing happened.
    new EditRunner().run(fn, [{ steps: [lower('a', 9, [])], rounds: 5, ended }]);
    expect(told).toEqual([]);
    // Two steps that undo one another go on while a round costs enough.
    const cost = (least: number) => ({ least, of: () => 0.5 });
    new EditRunner().run(fn, [{ steps: [swap, swap], rounds: 3, cost: cost(1), ended }]);
    expect(told.pop()).toEqual(['used-up', [both, both, both]]);
    new EditRunner().run(fn, [{ steps: [swap, swap], rounds: 3, cost: cost(1.5), ended }]);
    expect(told.pop()).toEqual([{ cost: 1 }, [both]]);
  });

  it('a step that changes blocks is found out', () => {
    const runner = new EditRunner();
    const cut: EditStep = { key: null, open: (d) => () => void d.splitBefore(3) };
    expect(() => runner.run(fn, once([cut]))).toThrow('an edit pass changed blocks or edges');
    const still: Fn = runner.run(fn, once([]));
    expect(still).toBe(fn);
  });
});
