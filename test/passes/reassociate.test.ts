import { expect, it } from 'vitest';
import { withFunction } from '../../src/ir/edit.ts';
import { parseFn, printFn } from '../../src/ir/text.ts';
import { verifyFn } from '../../src/ir/verify.ts';
import { judgeKernel } from '../../src/judge/judge.ts';
import { verifySsa } from '../../src/ssa/verify.ts';
import { testContext } from '../support/context.ts';
import { testIsa } from '../support/isa.ts';
import { dice, ssaKernel } from '../support/random-memory.ts';
import { runPass } from '../support/run-pass.ts';
import { BASE } from '../support/sim-kernel.ts';
import { often, runs } from '../support/size.ts';

/** Random trees of integer operations in both widths over a few words from memory; the result is stored. */
function treeKernel(seed: number): string {
  const d = dice(seed);
  const pick = <T>(list: readonly T[]): T => list[d(list.length)];
  const wide = d(3) === 0;
  const [R, size] = wide ? ['RD', '.64'] : ['R', ''];
  const [S, U] = wide ? ['S64', 'U64'] : ['S32', 'U32'];
  const lines = ['BB0:', 'LDC.B64 RD1, c[0x0][0x160]'];
  const values: string[] = [];
  for (let k = 0; k < 4; k++) {
    lines.push(`LDG${wide ? '.B64' : ''} ${R}${10 + k}, [RD1+${8 * k}]`);
    values.push(`${R}${10 + k}`);
  }
  let next = 20;
  const constant = (): string => pick(['1', '-1', '7', '0x7fffffff', '12', '-8']);
  for (let i = 8 + d(12); i > 0; i--) {
    const r = `${R}${next++}`;
    // Mostly the newest values, so that trees grow.
    const o = (): string => (d(6) === 0 ? constant() : d(2) === 0 ? values[values.length - 1] : pick(values));
    const signed = (): string => {
      const x = o();
      return d(4) === 0 && x.startsWith('R') ? `-${x}` : x;
    };
    lines.push(
      pick([
        `IADD3${size} ${r}, ${signed()}, ${signed()}, ${d(2) === 0 ? 'RZ' : signed()}`,
        `IADD3${size} ${r}, ${signed()}, ${signed()}, RZ`,
        `IMAD.${S} ${r}, ${o()}, ${o()}, RZ`,
        `LOP3${size} ${r}, ${o()}, ${o()}, RZ, ${pick([192, 252, 60])}`,
        `LOP3${size} ${r}, ${o()}, ${o()}, ${o()}, ${pick([128, 254, 150])}`,
        `IMNMX.${pick(['MIN', 'MAX'])}.${pick([S, U])} ${r}, ${o()}, ${o()}`,
      ]),
    );
    values.push(r);
    if (d(3) === 0) lines.push(`STG${wide ? '.B64' : ''} [RD1+${8 * next}], ${pick(values)}`);
  }
  lines.push(`STG${wide ? '.B64' : ''} [RD1+${8 * next}], ${values[values.length - 1]}`, 'EXIT');
  return `.entry k\n  .param u64 p size 8 align 8 at 0\n{\n${lines.join('\n')}\n}`;
}

it('trees of integers give what they gave, with no more operations', () => {
  let changed = 0;
  let fewer = 0;
  for (let seed = 0; seed < runs(300); seed++) {
    const fn = parseFn(treeKernel(seed), testIsa());
    const program = { ...ssaKernel(1), functions: [fn] };
    const out = runPass('reassociate', fn, { ...testContext(fn), program });
    if (out === fn) continue;
    changed++;
    expect(verifyFn(out), printFn(out)).toEqual([]);
    expect(verifySsa(out), printFn(out)).toEqual([]);
    expect(out.blocks[0].ins.length).toBeLessThanOrEqual(fn.blocks[0].ins.length);
    if (out.blocks[0].ins.length < fn.blocks[0].ins.length) fewer++;
    const world = { grid: [1, 1, 1], block: [4, 1, 1], budget: 2000, seeds: [1, 2] } as const;
    const { differences } = judgeKernel(program, withFunction(program, out), 'k', BASE, world);
    expect(differences, `${printFn(fn)}\n${printFn(out)}`).toEqual([]);
  }
  expect(changed).toBeGreaterThan(often(60));
  expect(fewer).toBeGreaterThan(often(20));
});
