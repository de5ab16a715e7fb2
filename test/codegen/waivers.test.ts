import { expect, test } from 'vitest';
import { findingsOf, kernelsOf } from '../../src/cli/machine/machine-findings.ts';
import { readPtx } from '../../src/read.ts';
import { backEnd, compiled, cubinOf } from './compile.ts';

/*
 * What the judge of machine code forgives, since PTX leaves it open, and that it forgives no more: machine code of the second text is
 * compared with the first.
 */

const back = await backEnd('sm_80');

const kernelOf = (variables: string, body: string): string => `.version 8.0
.target sm_80
.address_size 64
${variables.startsWith('.extern') ? variables : ''}
.visible .entry k(.param .u64 q, .param .u32 n) .reqntid 32, 1, 1
{
  .reg .b64 %d<9>; .reg .b32 %r<20>; .reg .pred %p<3>;
  ${variables.startsWith('.extern') ? '' : variables}
  ld.param.u64 %d2, [q]; ld.param.u32 %r1, [n];
  mov.u32 %r0, %tid.x; mov.u32 %r3, %ctaid.x;
  shl.b32 %r4, %r3, 5; add.u32 %r5, %r4, %r0; mul.wide.u32 %d4, %r5, 4; add.u64 %d4, %d2, %d4;
  ${body}
  ret;
}
`;

const SHARED = '.shared .align 4 .b32 s[64];';
const OWN = 'mov.u32 %r10, s; shl.b32 %r11, %r0, 2; add.u32 %r11, %r11, %r10;';
const neighbour = (k: number): string =>
  `st.shared.u32 [s+128], 1; st.shared.u32 [%r11], %r0; bar.sync 0;
  xor.b32 %r12, %r0, ${k}; shl.b32 %r12, %r12, 2; add.u32 %r12, %r12, %r10; ld.shared.u32 %r9, [%r12];
  ld.shared.u32 %r8, [s+128]; add.u32 %r8, %r8, %r9; st.global.u32 [%d4], %r8;`;
const overlapping = (...stores: readonly string[]): string =>
  `${OWN} ${stores.join(' ')} bar.sync 0; ld.shared.u32 %r9, [%r11]; st.global.u32 [%d4], %r9;`;
const FIRST = 'st.shared.u32 [%r11], 1;';
const SECOND = 'st.shared.u32 [%r11+4], 2;';
const twice = (more: number): string =>
  `mov.u32 %r6, a; mov.u32 %r7, b; shl.b32 %r8, %r0, 2; add.u32 %r6, %r6, %r8; add.u32 %r7, %r7, %r8;
  ld.global.u32 %r9, [%d4]; st.shared.u32 [%r6], %r9; ld.shared.u32 %r9, [%r7];
  add.u32 %r9, %r9, ${more}; st.global.u32 [%d4], %r9;`;
const address = (mask: number): string =>
  `mul.wide.u32 %d4, %r3, 8; add.u64 %d2, %d2, %d4; mov.u32 %r5, s; st.shared.u32 [s], %r3; st.shared.u32 [t], 6;
  ld.shared.u32 %r9, [s]; ld.shared.u32 %r10, [t]; add.u32 %r9, %r9, %r10;
  and.b32 %r2, %r1, ${mask}; add.u32 %r9, %r9, %r2; st.global.u32 [%d2], %r9; st.global.u32 [%d2+4], %r5;`;
const ofSome = (k: number): string =>
  `mov.u32 %r6, 65535; redux.sync.add.s32 %r7, %r0, %r6; st.global.u32 [%d4], %r7; add.u32 %r7, %r0, ${k};
  st.global.u32 [%d4+8192], %r7;`;

test.each([
  ['a race in which all lanes write the same', SHARED, OWN + neighbour(1), OWN + neighbour(2), 'different'],
  ['stores of lanes that overlap', SHARED, overlapping(FIRST, SECOND), overlapping(SECOND, FIRST), 'equal'],
  [
    'names of one memory',
    '.extern .shared .align 16 .b8 a[]; .extern .shared .align 16 .b8 b[];',
    twice(1),
    twice(2),
    'different',
  ],
  [
    'an address that is a result',
    '.shared .align 4 .b32 s; .shared .align 4 .b32 t;',
    address(1),
    address(3),
    'different',
  ],
  ['lanes outside of their mask', SHARED, ofSome(1), ofSome(1), 'equal'],
  ['a fault beside such lanes', SHARED, ofSome(1), ofSome(2), 'different'],
] as const)('%s', (_, variables, before, after, verdict) => {
  const [first, second] = [before, after].map(
    (body) => readPtx(kernelOf(variables, body), back.plan, 'waivers.ptx').program,
  );
  const elf = cubinOf(compiled(second, back), 'sm_80');
  const how = [{ name: 'code', elf, level: null }];
  const found = findingsOf(how, kernelsOf(first), first, back.machine, back.plan, {});
  expect(found.map((f) => f.verdict)).toEqual([verdict]);
  // What is called different is so by its second text alone.
  if (verdict !== 'different') return;
  const own = [{ name: 'code', elf: cubinOf(compiled(first, back), 'sm_80'), level: null }];
  const same = findingsOf(own, kernelsOf(first), first, back.machine, back.plan, {});
  expect(same.map((f) => f.verdict)).toEqual(['equal']);
});
