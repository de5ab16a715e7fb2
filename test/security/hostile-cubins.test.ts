import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { run } from '../../src/cli/check/run.ts';
import { disasm } from '../../src/cli/machine/disasm.ts';
import { verify } from '../../src/cli/machine/verify.ts';
import { captured } from '../../src/cli/terminal/ui.ts';
import { ROOT } from '../../src/spec/node-cache.ts';
import { randomOf } from '../support/ptx-mutants.ts';
import { seeds } from '../support/size.ts';
import { testFolder } from '../support/specs.ts';

/*
 * Cubins with seeded damage: truncated, with changed bytes, or with impossible sizes, counts and links of sections. Reading or running one
 * gives a result, or one error. ORRERY_TEST_SIZE=500 tries 5,000 of them.
 */
const CASES = seeds(10);

const CODE = join(ROOT, 'test', 'machine-code');
const folder = testFolder();

/** The cubins, each with a launch and its PTX, if available. */
const SUBJECTS = readdirSync(CODE)
  .filter((f) => f.endsWith('.cubin'))
  .map((f) => {
    const [name] = f.split('.');
    const there = (path: string): string | null => (existsSync(path) ? path : null);
    return {
      bytes: readFileSync(join(CODE, f)),
      launch: there(join(ROOT, 'test', 'kernels', name, 'launch.yaml')),
      ptx: there(join(CODE, `${name}.ptx`)),
    };
  });

/** Fields of a section header by their offsets: those of four bytes, and those of eight (System V ABI, figure 4-8). */
const SHORT = [0, 4, 40, 44];
const LONG = [8, 16, 24, 32, 48, 56];
const SECTION_HEADER = 64;

/** A cubin with one kind of damage. */
function damaged(whole: Buffer, seed: number): Buffer {
  const r = randomOf(seed);
  const b = Buffer.from(whole);
  const headers = Number(b.readBigUInt64LE(40));
  const count = b.readUInt16LE(60);
  const extreme = (): bigint =>
    [0n, 1n, 2n, 2n ** 31n - 1n, 2n ** 32n - 1n, 2n ** 63n, 2n ** 64n - 1n, BigInt(r(b.length))][r(8)];
  switch (r(5)) {
    case 0:
      return b.subarray(0, r(b.length));
    case 1:
      for (let n = 1 + r(8); n > 0; n--) b[r(b.length)] = r(256);
      return b;
    case 2: {
      const at = headers + SECTION_HEADER * r(count);
      if (r(2) === 0) b.writeUInt32LE(Number(extreme() & 0xffff_ffffn), at + SHORT[r(SHORT.length)]);
      else b.writeBigUInt64LE(extreme(), at + LONG[r(LONG.length)]);
      return b;
    }
    case 3:
      b[16 + r(48)] = r(256);
      return b;
    default:
      b.writeUInt32LE(Number(extreme() & 0xffff_ffffn), 4 * r(b.length >> 2));
      return b;
  }
}

it('a damaged cubin gives a result or one error', async () => {
  let refused = 0;
  for (const seed of CASES) {
    const { bytes, launch, ptx } = SUBJECTS[seed % SUBJECTS.length];
    const file = folder.write('damaged.cubin', damaged(bytes, seed));
    for (const command of [
      () => disasm(file, {}),
      () => disasm(file, { json: true }),
      () => disasm(file, { sections: true }),
      () => disasm(file, { lines: true }),
      () => disasm(file, { hazards: true }),
      ...(launch === null ? [] : [() => run([launch], { cubin: file, opt: true, budget: '100000' })]),
      ...(ptx === null ? [] : [() => verify(ptx, file, {})]),
    ]) {
      const said = await captured(command);
      expect([seed, said.code, said.err]).toEqual([
        seed,
        expect.toSatisfy((code: number) => code === 0 || code === 1),
        expect.not.stringMatching(/internal fault|^\s+at .*:\d+:\d+|RangeError|TypeError/m),
      ]);
      if (said.err.startsWith('error: ')) refused++;
    }
  }
  expect(refused).toBeGreaterThan(0);
});
