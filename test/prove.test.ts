import { afterAll, expect, it } from 'vitest';
import { rulesOfDoc } from '../src/rules/engine.ts';
import { proveRule } from '../src/rules/prove/prove.ts';
import { counterexampleText } from '../src/rules/prove/verdict.ts';
import { startSolver } from '../src/spec/node-solver.ts';
import { testIsa } from './support/isa.ts';
import { shipped } from './support/specs.ts';
const solver = startSolver(process.env.SOLVER ?? null);
afterAll(() => solver.stop());
it('x', async () => {
  for (const [, f] of shipped.rules!)
    for (const r of rulesOfDoc(f.data, testIsa()).rules) {
      const o = await proveRule(r, solver.ask);
      console.log(r.id, JSON.stringify(o.proof));
      if (o.counterexample) console.log(counterexampleText(o.counterexample));
    }
}, 600000);
