import { describe, expect, it } from 'vitest';
import { withFunction } from '../../src/ir/edit.ts';
import { verifyFn } from '../../src/ir/verify.ts';
import { judgeKernel } from '../../src/judge/judge.ts';
import { validate } from '../../src/validate/validate.ts';
import { kernelNames, kernelOf } from '../support/kernel-set.ts';
import { drawing, withFault } from '../support/planted-faults.ts';
import { seeds } from '../support/size.ts';

/** Kernels that are validated in less than a second. */
const LARGE = new Set(['crc', 'bitonic-sort', 'sieve', 'interpreter']);
const names = kernelNames.filter((n) => !LARGE.has(n));

describe('translation validation of planted faults', () => {
  it('proves a fault only where no run shows a difference', async () => {
    const wrong: string[] = [];
    const counts = { proved: 0, tried: 0 };
    for (const seed of seeds(30)) {
      const draw = drawing(seed);
      const name = names[seed % names.length];
      const { program } = await kernelOf(name);
      const fn = program.functions[draw(program.functions.length)];
      if (fn.kind !== 'entry') continue;
      const fault = withFault(fn, draw);
      if (fault === null) continue;
      const after = withFunction(program, fault.fn);
      try {
        if (verifyFn(fault.fn, after).length > 0) continue;
      } catch {
        continue;
      }
      counts.tried++;
      const regions = await validate({ program, fn }, { program: after, fn: fault.fn }, null);
      if (regions.some((r) => r.why !== '')) continue;
      counts.proved++;
      const judged = judgeKernel(program, after, fn.name, 0x160, { effort: 'medium' });
      if (!judged.same) wrong.push(`${name} ${fn.name}, ${fault.what}: ${judged.differences[0]}`);
    }
    expect(wrong).toEqual([]);
    expect(counts.proved).toBeLessThan(counts.tried / 2);
  });
});
