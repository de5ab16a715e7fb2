import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { cfgIsCurrent } from '../src/analysis/cfg.ts';
import { cloneBlocks, edit } from '../src/ir/draft/index.ts';
import type { Fn } from '../src/ir/program.ts';
import { parseFn, printFn } from '../src/ir/text.ts';
import { verifyFn, verifyMessage } from '../src/ir/verify.ts';
import { splitControlFlow } from '../src/passes/split-control-flow.ts';
import { sameOpenWorld } from '../src/sim/open-world.ts';
import { constructSsa } from '../src/ssa/construct.ts';
import { verifySsa } from '../src/ssa/verify.ts';
import { renameWebs } from '../src/ssa/webs.ts';
import { programOf, testContext } from './support/context.ts';
import { testIsa } from './support/isa.ts';
import { sameBehaviour } from './support/mini-run.ts';
import { randomArms } from './support/random-arms.ts';
import { randomFn } from './support/random-fn.ts';
import { randomKernel } from './support/random-kernel.ts';
import { runPass } from './support/run-pass.ts';
import { runs } from './support/size.ts';

const isa = testIsa();
const BUDGET = 'MergeEquivalentConditionalFlowBudget';

/** How often each remark was made over all cases. */
type Counts = Map<string, number>;
const tally = (counts: Counts, ctx: ReturnType<typeof testContext>): void => {
  for (const r of ctx.remarks)
    counts.set(`${r.kind} ${r.name}`, (counts.get(`${r.kind} ${r.name}`) ?? 0) + 1);
};

/** Runs the pass, checks that the result is valid and done, and counts what was said. */
function apply(name: string, fn: Fn, counts: Counts, params: Record<string, unknown> = {}): Fn {
  const ctx = testContext(fn, { params });
  const out = runPass(name, fn, ctx);
  tally(counts, ctx);
  expect(verifyFn(out, undefined, { controlLast: true }).map(verifyMessage), printFn(out)).toEqual([]);
  expect(printFn(parseFn(printFn(out), isa))).toBe(printFn(out));
  expect(cfgIsCurrent(out)).toBe(true);
  if (printFn(out) === printFn(fn)) expect(out === fn).toBe(true);
  const again = testContext(out, { params });
  expect(runPass(name, out, again) === out, `${printFn(fn)}\n${printFn(out)}`).toBe(true);
  return out;
}

/** Blocks that several ways lead to get a copy for one of them: equal blocks with equal targets, the copies' registers renamed. */
const doubled = (fn: Fn, which: number): Fn => {
  const out = edit(
    fn,
    (d) => {
      const joins = d
        .layout()
        .filter((b) => b !== d.entryBlock && d.predecessors(b).length > 1 && d.first(b) >= 0);
      joins.forEach((b, i) => {
        if (((which >> (i % 8)) & 1) === 0) return;
        const from = d.predecessors(b)[0];
        const { blocks } = cloneBlocks(d, [b], d.lastBlock, false);
        d.redirect(from, b, blocks.get(b)!);
      });
    },
    isa,
  );
  return out;
};

describe.each(['tail-merging', 'equivalent-conditions'])('%s', (name) => {
  const counts: Counts = new Map();
  const params = { 'least-tail': 1 };

  it('keeps what a thread does, outside of SSA', () => {
    fc.assert(
      fc.property(randomFn({ most: 12 }), fc.nat(255), fc.boolean(), (f, which, webs) => {
        const copied = doubled(f, which);
        const fn = webs ? renameWebs(copied, isa).fn : copied;
        expect(sameBehaviour(f, fn)).toBeNull();
        const out = apply(name, fn, counts, params);
        expect(sameBehaviour(fn, out), `${printFn(fn)}\n${printFn(out)}`).toBeNull();
      }),
      { numRuns: runs(600), seed: 41 },
    );
  });

  it('keeps SSA, and what a thread does there', () => {
    fc.assert(
      fc.property(randomFn({ most: 12, defined: true }), fc.nat(255), (f, which) => {
        const fn = constructSsa(doubled(f, which), isa);
        const out = apply(name, fn, counts, params);
        expect(verifySsa(out).map(verifyMessage), `${printFn(fn)}\n${printFn(out)}`).toEqual([]);
        expect(sameBehaviour(fn, out), `${printFn(fn)}\n${printFn(out)}`).toBeNull();
      }),
      { numRuns: runs(400), seed: 42 },
    );
  });

  it('keeps what warps do, votes and active lanes included', () => {
    fc.assert(
      fc.property(randomKernel, fc.nat(255), fc.boolean(), (f, which, inSsa) => {
        const cut = doubled(splitControlFlow(f, testContext(f)), which);
        const fn = inSsa ? constructSsa(cut, isa) : cut;
        const out = apply(name, fn, counts, params);
        const compared = sameOpenWorld(programOf(fn), programOf(out), fn.name, 0x160, {
          seeds: [1, 2],
          budget: 20_000,
        });
        expect(compared.differences, `${printFn(fn)}\n${printFn(out)}`).toEqual([]);
      }),
      { numRuns: runs(200), seed: 43 },
    );
  });

  it('keeps what a thread does where much is equal, in SSA and outside', () => {
    fc.assert(
      fc.property(randomArms(false), fc.boolean(), fc.boolean(), (f, inSsa, cleaned) => {
        const cut = splitControlFlow(f, testContext(f));
        const raw = inSsa ? constructSsa(cut, isa) : cut;
        const fn = inSsa && cleaned ? runPass('gvn-cse', raw, testContext(raw)) : raw;
        const out = apply(name, fn, counts, params);
        if (inSsa) expect(verifySsa(out).map(verifyMessage), `${printFn(fn)}\n${printFn(out)}`).toEqual([]);
        expect(sameBehaviour(f, out), `${printFn(fn)}\n${printFn(out)}`).toBeNull();
      }),
      { numRuns: runs(500), seed: 45 },
    );
  });

  it('keeps what warps do where much is equal', () => {
    fc.assert(
      fc.property(randomArms(true), fc.boolean(), (f, inSsa) => {
        const cut = splitControlFlow(f, testContext(f));
        const fn = inSsa ? constructSsa(cut, isa) : cut;
        const out = apply(name, fn, counts, params);
        const compared = sameOpenWorld(programOf(fn), programOf(out), fn.name, 0x160, {
          seeds: [1, 2],
          budget: 20_000,
        });
        expect(compared.differences, `${printFn(fn)}\n${printFn(out)}`).toEqual([]);
      }),
      { numRuns: runs(300), seed: 46 },
    );
  });

  it('takes one unit of the budget for each rewrite, and every part of them is right', () => {
    fc.assert(
      fc.property(randomFn({ most: 10 }), fc.nat(255), fc.integer({ min: 0, max: 3 }), (f, which, limit) => {
        const fn = doubled(f, which);
        const ctx = testContext(fn, { knobs: { [BUDGET]: limit }, params });
        const out = runPass(name, fn, ctx);
        expect(verifyFn(out, undefined, { controlLast: true })).toEqual([]);
        expect(sameBehaviour(fn, out)).toBeNull();
        const made = ctx.remarks.filter((r) => r.kind === 'passed' && r.name !== 'unreachable-removed');
        expect(made.length).toBeLessThanOrEqual(limit);
      }),
      { numRuns: runs(200), seed: 44 },
    );
  });

  it('finds something often', () => {
    process.stderr.write(`${name} ${JSON.stringify([...counts])}\n`);
  });
});
