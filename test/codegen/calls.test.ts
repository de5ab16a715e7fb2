import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { findingsOf, kernelsOf } from '../../src/cli/machine/machine-findings.ts';
import type { Elf } from '../../src/cubin/elf.ts';
import { functionsOf } from '../../src/cubin/functions.ts';
import { describe as describeAttribute } from '../../src/cubin/info.ts';
import { listCode } from '../../src/machine/listing.ts';
import { readPtx } from '../../src/read.ts';
import { ROOT } from '../../src/spec/node-cache.ts';
import { hazardsOf } from '../../src/timing/check.ts';
import { accessesIn } from '../../src/timing/code.ts';
import { backEnd, compiled, cubinOf } from './compile.ts';

/* Calls of functions that the driver provides, in machine code of ours. */

const FILE = join(ROOT, 'test', 'machine-code', 'driver-functions.ptx');

/** Machine code of a text, after the check that it waits for what it reads; and what the judge says of its kernels. */
async function made(text: string, sm: string, level = 3): Promise<{ elf: Elf; verdicts: string[] }> {
  const back = await backEnd(sm, level);
  const { machine, plan } = back;
  const { program } = readPtx(text, plan, 'calls.ptx');
  const elf = cubinOf(compiled(program, back), sm);
  for (const f of listCode(elf, machine))
    expect(hazardsOf(f.fn, f.code, accessesIn(f, elf, machine, plan.isa), machine)).toEqual([]);
  const how = [{ name: 'code', elf, level: null }];
  const found = findingsOf(how, kernelsOf(program), program, machine, plan, {});
  return { elf, verdicts: found.map((f) => `${f.kernel}: ${f.verdict}`) };
}

test.each([
  ['sm_80', 3],
  ['sm_80', 0],
  ['sm_90', 3],
  ['sm_90', 0],
] as const)("on %s at -O%i code of the driver's functions does what PTX says", async (sm, level) => {
  const { verdicts } = await made(readFileSync(FILE, 'utf8'), sm, level);
  expect(verdicts).toEqual(['printed: equal', 'asserted: equal', 'allocated: equal']);
});

test('the file says what is called and where, as that of ptxas does', async () => {
  const { elf } = await made(readFileSync(FILE, 'utf8'), 'sm_80');
  const stated = functionsOf(elf).map((f) => {
    const has = (name: string): boolean => f.attributes.some((a) => describeAttribute(a).name === name);
    const at = f.attributes.map(describeAttribute).find((d) => d.name === 'SYSCALL_OFFSETS')!.numbers;
    return [f.name, f.registers! >= 24, has('EXTERNS'), at.length];
  });
  expect(stated).toEqual([
    ['allocated', true, true, 2],
    ['asserted', true, true, 1],
    ['printed', true, true, 2],
  ]);
});

const kernel = (body: string): string => `.version 8.0
.target sm_80
.address_size 64
.extern .func (.param .b32 r) vprintf (.param .b64 a, .param .b64 b);
.extern .func (.param .b64 r) malloc (.param .b64 n);
.extern .func unknown (.param .align 8 .b8 a[16]);
.global .align 1 .b8 format[4] = {37, 100, 10, 0};
.visible .entry k(.param .u64 p) {
  .reg .b64 %rd<9>; .reg .b32 %r<9>; .reg .pred %p<3>; .local .align 8 .b8 buffer[8];
  .param .b64 p0; .param .b64 p1; .param .b32 p2; .param .b64 p3; .param .align 8 .b8 p4[16];
  ld.param.u64 %rd1, [p]; mov.u32 %r1, %tid.x; mul.wide.u32 %rd2, %r1, 8; add.u64 %rd2, %rd1, %rd2;
  mov.u64 %rd3, buffer; cvta.local.u64 %rd4, %rd3; mov.u64 %rd5, format; cvta.global.u64 %rd5, %rd5;
  ld.global.u32 %r2, [%rd2]; setp.gt.s32 %p1, %r2, 7;
  ${body}
  ret;
}
`;
const PRINT = 'call.uni (p2), vprintf, (p0, p1);';
const ARGUMENTS = 'st.local.u32 [%rd3], %r1; st.param.b64 [p0], %rd5; st.param.b64 [p1], %rd4;';

test('a guarded call is one where its guard holds', async () => {
  const { verdicts } = await made(
    kernel(`${ARGUMENTS} @%p1 ${PRINT} ld.param.b32 %r3, [p2]; @!%p1 mov.u32 %r3, 5;
      add.u32 %r3, %r3, %r2; st.global.u32 [%rd2], %r3;`),
    'sm_80',
  );
  expect(verdicts).toEqual(['k: equal']);
});

test('arguments of one call do not reach another', async () => {
  const { verdicts } = await made(
    kernel(`st.param.b64 [p0], %rd1; call.uni (p3), malloc, (p0); ld.param.b64 %rd6, [p3];
      ${ARGUMENTS} ${PRINT} st.global.u64 [%rd2], %rd6;
      st.param.b64 [p0], 64; call.uni (p3), malloc, (p0); ld.param.b64 %rd7, [p3]; st.global.u64 [%rd2+8], %rd7;`),
    'sm_80',
  );
  expect(verdicts).toEqual(['k: equal']);
});

test('an argument that is an array is an error that says so', async () => {
  await expect(made(kernel('st.param.b64 [p4], %rd1; call.uni unknown, (p4);'), 'sm_80')).rejects.toThrow(
    'parameters that are arrays have no machine code yet',
  );
});
