import { describe, expect, it } from 'vitest';
import { parsePtx } from '../../src/ptx/parse.ts';
import { folded, hasPtxas, ptxas } from '../support/ptxas.ts';

const HEAD = '.version 9.0\n.target sm_90\n.address_size 64\n';

/** The low 64 bits of a constant; null if it is rejected. */
function read(literal: string): bigint | null {
  const { module, diagnostics } = parsePtx(`${HEAD}.global .u64 g = ${literal};\n`, 'k.ptx');
  if (diagnostics.length > 0) return null;
  const [v] = module.items;
  return v.kind === 'variable' && v.init?.kind === 'int' ? BigInt.asUintN(64, v.init.value) : null;
}

/** Constants around the 64-bit limit in all bases, with their values in ptxas 13.0.88; null where it reports overflow. */
const CASES: readonly (readonly [string, bigint | null])[] = [
  ['0xffffffffffffffff', 0xffffffffffffffffn],
  ['0x10000000000000001', 1n],
  ['0x1ffffffffffffffff', 0xffffffffffffffffn],
  ['0xfffffffffffffffff', null],
  ['0x123456789abcdef0123', 0x456789abcdef0123n],
  ['0x123456789abcdef0123U', 0x456789abcdef0123n],
  [`0x${'0'.repeat(40)}${'f'.repeat(16)}`, 0xffffffffffffffffn],
  [`0x1${'0'.repeat(39)}`, 0n],
  ['18446744073709551615', 0xffffffffffffffffn],
  ['18446744073709551616', 0n],
  ['18446744073709551700', 84n],
  ['36893488147419103231', 0xffffffffffffffffn],
  ['92233720368547758079', 0xffffffffffffffffn],
  ['92233720368547758080', null],
  ['100000000000000000000', null],
  ['-18446744073709551617', 0xffffffffffffffffn],
  ['01777777777777777777777', 0xffffffffffffffffn],
  ['02000000000000000000001', 1n],
  ['07777777777777777777777', 0xffffffffffffffffn],
  ['010000000000000000000001', null],
  [`0b${'1'.repeat(64)}`, 0xffffffffffffffffn],
  [`0b00${'1'.repeat(64)}`, 0xffffffffffffffffn],
  [`0b1${'0'.repeat(64)}`, null],
  ['0x1ffffffffffffffff + 1', 0n],
];

describe('constants of more than 64 bits', () => {
  it.each(CASES)('%s', (literal, want) => {
    expect(read(literal)).toBe(want);
  });

  it.skipIf(!hasPtxas('ptx-constants.test.ts'))('are what ptxas makes of them', () => {
    const taken = CASES.filter(([, want]) => want !== null);
    const constants = folded(taken.map(([c]) => ({ ptx: `mov.b64 %d1, ${c};`, wide: true })));
    expect(taken.map(([c], i) => [c, constants[i]])).toEqual(taken);
    for (const [c, want] of CASES)
      if (want === null)
        expect(ptxas(`${HEAD}.global .u64 g = ${c};\n`).errors).toContain('Constant overflow');
  });
});
