import { expect, it } from 'vitest';
import { settle } from '../../src/engine/settle.ts';
import { printFn } from '../../src/ir/text.ts';
import { verifyMessage, verifyProgram } from '../../src/ir/verify.ts';
import { holdsIn } from '../../src/rules/conditions.ts';
import { applyRules } from '../../src/rules/driver.ts';
import { byPrecedence } from '../../src/rules/engine.ts';
import { rulesOfDoc } from '../../src/rules/group.ts';
import { Matcher } from '../../src/rules/matcher.ts';
import { runLaunch } from '../../src/sim/launch.ts';
import { FAULT_RULES } from '../../src/spec/ptxas-faults.ts';
import { testIsa } from '../support/isa.ts';
import { operandValue, Random } from '../support/meaning.ts';
import { BASE, randomPatterns, WORDS } from '../support/random-patterns.ts';
import { allRuns } from '../support/size.ts';
import { shipped } from '../support/specs.ts';

/*
 * Programs full of patterns of the shipped rules, with redefined registers, guards, loops, calls and memory accesses in between: the
 * rules, all of them or those of one group, leave every word that the program writes unchanged.
 */
const isa = testIsa();
const setting = { level: 3, sm: 80, knob: () => null };
const groups = [...shipped.rules!]
  .map(([name, f]) => ({
    name,
    rules: rulesOfDoc(f.data, isa).rules.filter(
      (r) => r.inexact === null && r.statics.every((e) => holdsIn(e, setting)),
    ),
  }))
  .filter((g) => g.rules.length > 0);
// What avoids a fault of ptxas takes apart what others put together; it acts on text that is written, behind all phases.
const together = groups.filter((g) => g.name !== FAULT_RULES).flatMap((g) => g.rules);
const sets = [together, ...groups.map((g) => g.rules)].map((rules) => ({
  rules,
  matcher: Matcher.of(byPrecedence(rules), isa),
}));

const THREADS = 32;
const PROGRAMS = allRuns(400);

function inputs(rnd: Random): Uint8Array {
  const bytes = new Uint8Array(THREADS * WORDS * 4);
  const view = new DataView(bytes.buffer);
  for (let t = 0; t < THREADS; t++) {
    for (let k = 0; k < WORDS; k++) view.setUint32(4 * (t * WORDS + k), Number(operandValue(rnd, 32)), true);
    for (let k = 0; k < 4; k++) view.setBigUint64(4 * t * WORDS + 32 + 8 * k, operandValue(rnd, 64), true);
  }
  return bytes;
}

it('shipped rules keep what random programs of their patterns do', () => {
  const fired = new Set<string>();
  for (let n = 0; n < PROGRAMS; n++) {
    const rnd = new Random(`program ${n}`);
    const { rules, matcher } = rnd.below(2) === 0 ? sets[0] : sets[rnd.below(sets.length)];
    const program = randomPatterns(rules, rnd);
    expect(verifyProgram(program).map(verifyMessage)).toEqual([]);
    const options = {
      ...setting,
      mode: rnd.below(8) === 0 ? ('bands' as const) : ('precedence' as const),
      onHit: (r: { readonly id: string }) => void fired.add(r.id),
    };
    const clean = rnd.below(8) > 0;
    const approximate = rnd.below(2) === 0;
    const functions = program.functions.map((f) =>
      clean
        ? settle(f, matcher, isa, options, (name) => approximate && name === 'FoldApproximate')
        : applyRules(f, matcher, options),
    );
    const after = { ...program, functions };
    expect(verifyProgram(after).map(verifyMessage)).toEqual([]);
    const bytes = inputs(rnd);
    const launch = {
      name: 't',
      kernel: 'k',
      grid: [1, 1, 1],
      block: [THREADS, 1, 1],
      dynamicShared: THREADS * WORDS * 4,
      params: [{ kind: 'buffer', type: 's32', length: THREADS * WORDS, bytes, expect: null, tolerance: 0 }],
    } as const;
    const run = (p: typeof program) => runLaunch(p, isa, launch, BASE, { counters: false, budget: 100_000 });
    const [was, is] = [run(program), run(after)];
    expect([was.status, was.error, is.status, is.error]).toEqual(['ok', null, 'ok', null]);
    if (Buffer.compare(was.buffers[0]!, is.buffers[0]!) !== 0)
      expect.fail(
        `program ${n} changed:\n${[...program.functions, ...functions].map((f) => printFn(f)).join('\n')}`,
      );
  }
  // Programs in which nothing fires would prove nothing.
  expect(fired.size).toBeGreaterThan(0.72 * sets[0].rules.length);
}, 60_000);
