import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { cfgIsCurrent, cfgOf } from '../../src/analysis/flow/cfg.ts';
import { finish } from '../../src/ir/draft/finish.ts';
import { Draft, edit } from '../../src/ir/draft/index.ts';
import { label, makeReg, RegFile } from '../../src/ir/operand.ts';
import { type Fn, instr } from '../../src/ir/program.ts';
import { printFn } from '../../src/ir/text.ts';
import { verifyFn, verifyMessage } from '../../src/ir/verify.ts';
import { constructSsa } from '../../src/ssa/construct.ts';
import { verifySsa } from '../../src/ssa/verify.ts';
import { draftFaults } from '../support/draft-check.ts';
import { Draws, EDITS } from '../support/draft-edits.ts';
import { testIsa } from '../support/isa.ts';
import { sameBehaviour } from '../support/mini-run.ts';
import { randomFn } from '../support/random-fn.ts';
import { often, runs } from '../support/size.ts';

const isa = testIsa();
const names = Object.keys(EDITS);

/** Labels that are no branch targets, and pragmas, at some blocks. */
const withPins = (fn: Fn, pins: readonly number[]): Fn =>
  edit(fn, (d) => {
    const blocks = d.layout();
    for (const p of pins) {
      const b = makeReg(d.freshReg(RegFile.B) >>> 3, RegFile.B);
      d.insertAtStart(
        blocks[(p % 5) % blocks.length],
        instr(isa.byName.get('BSSY')!, 0, [b], [label(fn.blocks[p % blocks.length].id)]),
      );
      d.pragmas = [...d.pragmas, { block: fn.blocks[(p * 7) % blocks.length].id, text: `p${p}` }];
    }
  });

const program = fc.array(
  fc.tuple(fc.constantFrom(...names), fc.array(fc.nat({ max: 9999 }), { minLength: 4, maxLength: 4 })),
  { minLength: 1, maxLength: 14 },
);
const pins = fc.oneof(
  { weight: 2, arbitrary: fc.constant<number[]>([]) },
  fc.array(fc.nat({ max: 99 }), { maxLength: 3 }),
);

const ran = new Map<string, number>();

/** Carries the edits out, and looks at the draft and what becomes of it. */
function holds(
  fn: Fn,
  ssa: boolean,
  midBlock: boolean,
  edits: readonly (readonly [string, readonly number[]])[],
  each: boolean,
): void {
  let kept = true;
  const change = (d: Draft): void => {
    if (each) expect(draftFaults(d, ssa), 'before').toEqual([]);
    for (const [name, numbers] of edits) {
      const done = EDITS[name](d, new Draws(numbers), ssa);
      if (done === 'none') continue;
      ran.set(name, (ran.get(name) ?? 0) + 1);
      if (done === 'changed') kept = false;
      if (each) expect(draftFaults(d, ssa), name).toEqual([]);
    }
    expect(draftFaults(d, ssa), 'at the end').toEqual([]);
  };
  const draft = new Draft(fn, isa);
  change(draft);
  const out = draft.changed ? finish(draft) : fn;
  // The same in memory that still holds what earlier drafts left there.
  expect(printFn(edit(fn, change, isa))).toBe(printFn(out));
  const text = () => `\n${printFn(fn)}\n${printFn(out)}`;
  expect(draftFaults(draft, ssa), `finished${text()}`).toEqual([]);
  expect(verifyFn(out, undefined, { controlLast: !midBlock }).map(verifyMessage), text()).toEqual([]);
  expect(cfgIsCurrent(out), text()).toBe(true);
  if (ssa) expect(verifySsa(out).map(verifyMessage), text()).toEqual([]);
  if (kept) expect(sameBehaviour(fn, out), text()).toBeNull();
  // The flow graph of the draft is that of the snapshot.
  const g = cfgOf(out);
  out.blocks.forEach((b, i) => {
    const row = [...g.succ.subarray(g.succStart[i], g.succStart[i + 1])].map((s) => out.blocks[s].id);
    expect(row, text()).toEqual(draft.successors(draft.blockById(b.id)).map((s) => draft.id(s)));
  });
}

describe('random edits of random functions', () => {
  it('keep all that a draft knows, and what the function does', () => {
    fc.assert(
      fc.property(randomFn({ defined: true, most: 6 }), pins, program, fc.boolean(), (fn, p, edits, each) =>
        holds(withPins(fn, p), false, false, edits, each),
      ),
      { numRuns: runs(400), seed: 1 },
    );
  });

  it('keep SSA', () => {
    fc.assert(
      fc.property(randomFn({ defined: true, most: 6 }), pins, program, fc.boolean(), (fn, p, edits, each) =>
        holds(constructSsa(withPins(fn, p), isa), true, false, edits, each),
      ),
      { numRuns: runs(400), seed: 2 },
    );
  });

  it('with control inside of blocks', () => {
    const cannot = ['cloneBlocks', 'setTerminator'];
    fc.assert(
      fc.property(
        randomFn({ defined: true, most: 5, midBlock: true }),
        program.map((all) => all.filter(([name]) => !cannot.includes(name))),
        fc.boolean(),
        (fn, edits, each) => holds(fn, false, true, edits, each),
      ),
      { numRuns: runs(200), seed: 3 },
    );
  });

  it('were of every kind', () => {
    expect(names.filter((n) => (ran.get(n) ?? 0) < often(24))).toEqual([]);
  });
});
