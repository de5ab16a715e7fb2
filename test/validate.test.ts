import { describe, expect, it } from 'vitest';
import { planOf, readPtx } from '../src/core.ts';
import type { Program } from '../src/ir/program.ts';
import type { Plan } from '../src/spec/plan.ts';
import { validate } from '../src/validate/validate.ts';
import { type Pair, pairsIn, SIDES } from './support/judge-pairs.ts';
import { shipped } from './support/specs.ts';

const plans = new Map<string, Plan>();
function planFor(pair: Pair): Plan {
  const sm = pair.target.replace(/[af]$/, '');
  if (!plans.has(sm)) plans.set(sm, planOf(shipped, { sm, level: 3 }));
  return plans.get(sm)!;
}

const pairs = pairsIn(new URL('./judge/pairs/', import.meta.url).pathname);

async function proved(before: Program, after: Program): Promise<string> {
  for (const fn of before.functions) {
    const other = after.functions.find((f) => f.name === fn.name);
    if (other === undefined) return 'a function is missing';
    const found = await validate({ program: before, fn }, { program: after, fn: other }, null);
    const bad = found.find((r) => r.why !== '');
    if (bad !== undefined) return bad.why;
  }
  return '';
}

describe('translation validation', () => {
  it('proves no pair of which the second is wrong', async () => {
    const wrong: string[] = [];
    let right = 0;
    let all = 0;
    for (const p of pairs) {
      const [before, after] = SIDES.map((s) => readPtx(p[s], planFor(p), p.id).program);
      const why = await proved(before, after);
      if (why === '' && p.wrong) wrong.push(`${p.kind}/${p.id}: ${p.why}`);
      if (!p.wrong) {
        all++;
        if (why === '') right++;
        else console.log(p.kind, p.id, why);
      }
    }
    console.log(`${right} of ${all} right pairs are proved`);
    expect(wrong).toEqual([]);
  }, 600_000);
});
