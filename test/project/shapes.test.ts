import { execFileSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { expect, it } from 'vitest';
import { kernelNames } from '../support/kernel-set.ts';

/*
 * V8 describes each object by a map, and recompiles code that meets another map than before. A spread creates a new map at each place in
 * the source, `Array.prototype.map` creates arrays of another kind once it is compiled, and a number that came from a division changes the
 * representation of a field: with three maps of instructions, two of operands and 139 of slots, a run took half as long again. V8 is made
 * to compile early here.
 */
it('all instructions, operands, blocks, functions, slots and phases have one shape', () => {
  const path = (p: string): string => fileURLToPath(new URL(p, import.meta.url));
  const kernels = kernelNames.filter((_, i) => i % 8 === 0);
  // The names that compile-late.cjs uses.
  const early = process.versions.v8.startsWith('11.')
    ? ['--interrupt-budget=10000']
    : ['--invocation-count-for-maglev=60', '--invocation-count-for-turbofan=450'];
  const flags = ['--allow-natives-syntax', '--single-threaded', ...early];
  const files = kernels.map((n) => path(`../kernels/${n}/${n}.sm_80.ptx`));
  const text = execFileSync(
    process.execPath,
    [...flags, path('../support/shapes.mjs'), path('../../dist'), ...files],
    { encoding: 'utf8' },
  );
  const { known, several } = JSON.parse(text) as { known: Record<string, number>; several: unknown[] };
  expect(several).toEqual([]);
  expect(Object.keys(known)).toEqual(
    expect.arrayContaining(['function', 'instruction', 'operand', 'slot', 'phase']),
  );
});
