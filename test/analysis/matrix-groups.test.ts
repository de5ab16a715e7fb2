import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { host, runPipeline } from '../../src/engine/pipeline.ts';
import { printProgram } from '../../src/ir/text.ts';
import { flightFault } from '../../src/ptx/async-fault.ts';
import { readPtx } from '../../src/read.ts';
import { loadShipped, makePlan } from '../../src/spec/node.ts';
import { hasPtxas } from '../support/ptxas.ts';

/*
 * Diagnostics of ptxas 13.0.88 for sequences of asynchronous matrix products, in small kernels. The numbers of its messages were recorded
 * with `ptxas -arch=sm_90a -O3`; where ptxas is installed, they are checked again.
 */

const specs = await loadShipped();
const plan = async (set: string[] = []) =>
  (await makePlan({ level: 3, sm: 'sm_90', order: 'binary', knobSets: [], set, disable: [] }, host, specs))
    .plan!;
const usual = await plan();

const product = (accumulators: number, a = '%rd2', scale = '1'): string => {
  const d = [0, 1, 2, 3].map((k) => `%f${accumulators + k}`).join(', ');
  return `wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {${d}}, ${a}, %rd3, ${scale}, 1, 1, 0${a === '%rd2' ? ', 0' : ''};`;
};
const FRAGMENTS = '{%r20, %r21, %r22, %r23}';

/** Words for the statements of a kernel; any other line is PTX as it is. */
const WORDS: Readonly<Record<string, string>> = {
  fence: 'wgmma.fence.sync.aligned;',
  product: product(1),
  'product-5': product(5),
  'product-of-registers': product(1, FRAGMENTS),
  'product-5-of-registers': product(5, FRAGMENTS),
  'product-with-scale': product(1, '%rd2', '%p2'),
  commit: 'wgmma.commit_group.sync.aligned;',
  wait: 'wgmma.wait_group.sync.aligned 0;',
  'wait-but-one': 'wgmma.wait_group.sync.aligned 1;',
  read: 'st.global.f32 [%rd1+512], %f1;',
  'read-5': 'st.global.f32 [%rd1+516], %f5;',
  write: 'cvt.rn.f32.u32 %f1, %r20;',
  'write-5': 'cvt.rn.f32.u32 %f5, %r20;',
  double: 'add.f32 %f1, %f1, %f1;',
  'write-fragment': 'add.u32 %r20, %r21, %r22;',
  descriptor: 'add.s64 %rd2, %rd2, 2;',
  // Long enough to stay a branch.
  'if-lane':
    '@%p1 bra SKIP; ld.global.f32 %f21, [%rd1+512]; st.global.f32 [%rd1+512], %f21; bar.warp.sync -1;',
  'if-uniform':
    '@%p2 bra SKIP; ld.global.f32 %f21, [%rd1+512]; st.global.f32 [%rd1+512], %f21; bar.warp.sync -1;',
  end: 'SKIP:',
  loop: 'mov.u32 %r30, 0; AGAIN:',
  again: 'add.u32 %r30, %r30, 1; setp.lt.u32 %p3, %r30, %r9; @%p3 bra AGAIN;',
  print:
    '{ .param .b64 f; .param .b64 v; .param .b32 n; st.param.b64 [f], %rd1; st.param.b64 [v], %rd1; call (n), vprintf, (f, v); }',
  'return-if-uniform': '@%p2 ret;',
  'wait-if-uniform': '@%p2 wgmma.wait_group.sync.aligned 0;',
  'write-if-uniform': '@%p2 cvt.rn.f32.u32 %f1, %r20;',
  'trap-unless-uniform': '@%p2 bra SKIP; trap;',
};

const kernel = (steps: string): string => `.version 8.3
.target sm_90a
.address_size 64
.extern .func (.param .b32 n) vprintf(.param .b64 f, .param .b64 v);
.visible .entry k(.param .u64 p, .param .u64 a, .param .u64 b, .param .u32 n)
{
.reg .b64 %rd<9>; .reg .b32 %r<40>; .reg .f32 %f<40>; .reg .pred %p<9>;
ld.param.u64 %rd1, [p]; ld.param.u64 %rd2, [a]; ld.param.u64 %rd3, [b]; ld.param.u32 %r9, [n]; cvta.to.global.u64 %rd1, %rd1;
mov.u32 %r1, %tid.x; mad.wide.u32 %rd1, %r1, 16, %rd1; setp.lt.u32 %p1, %r1, 64; setp.lt.u32 %p2, %r9, 64;
ld.global.v4.f32 {%f1, %f2, %f3, %f4}, [%rd1+768]; ld.global.v4.f32 {%f5, %f6, %f7, %f8}, [%rd1+784];
ld.global.v4.u32 {%r20, %r21, %r22, %r23}, [%rd1+64];
${steps
  .split(' ')
  .map((w) => WORDS[w] ?? `no word: ${w}`)
  .join('\n')}
st.global.v4.f32 [%rd1], {%f1, %f2, %f3, %f4}; st.global.v4.f32 [%rd1+32], {%f5, %f6, %f7, %f8};
ret;
}
`;

/** Steps, and ptxas' messages: by number, in any order. */
const SEQUENCES: readonly (readonly [steps: string, codes: string])[] = [
  // In order.
  ['fence product commit wait', ''],
  ['fence product product commit wait', ''],
  ['fence product commit fence product-5 commit wait', ''],
  ['fence product-of-registers commit wait', ''],
  ['fence product-with-scale commit wait', ''],
  ['fence product descriptor product commit wait', ''],
  ['fence product commit product commit wait', ''],
  ['fence product commit fence product-5 commit wait-but-one read wait', ''],
  ['fence product commit fence product-5 commit wait-but-one double wait', ''],
  ['if-lane fence product commit wait end', ''],
  ['if-uniform fence product commit wait end', ''],
  ['loop fence product commit wait again', ''],
  ['loop fence product commit again wait', ''],
  ['loop fence product commit wait double again', ''],
  ['fence product commit loop fence product commit wait-but-one again wait', ''],
  ['if-uniform fence product commit end fence product commit wait', ''],
  // A wait is missing.
  ['fence product commit read wait', '7517'],
  ['fence product read commit wait', '7517'],
  ['fence product commit', '7517'],
  ['fence product commit return-if-uniform wait', '7517'],
  ['fence product commit loop read again wait', '7517'],
  // However many groups are committed behind it.
  [`fence product ${'commit '.repeat(12)}return-if-uniform wait`, '7517'],
  ['fence product commit if-uniform read end wait', '7517'],
  ['fence product commit if-lane read end wait', '7518'],
  ['fence product commit if-lane wait end', '7518'],
  ['fence product commit fence product-5 commit wait-but-one read-5 wait', '7514'],
  ['fence product commit wait-but-one', '7514 7517'],
  ['fence product commit if-uniform wait end', '7514 7517'],
  // Under a guard, and where only a trap leads.
  ['fence product commit wait-if-uniform read wait', '7514'],
  ['fence product commit write-if-uniform wait', '7515'],
  ['fence product commit trap-unless-uniform end wait', ''],
  // An arrival is missing.
  ['product commit wait', '7519'],
  ['fence write product commit wait', '7519'],
  ['fence product write-5 product-5 commit wait', '7519'],
  ['fence product write-5 fence product-5 commit wait', ''],
  ['fence write-fragment product-of-registers commit wait', ''],
  ['fence product-of-registers write-fragment product-of-registers commit wait', '7519'],
  ['fence product-of-registers write-fragment product-5-of-registers commit wait', '7519'],
  ['fence product-of-registers write-fragment fence product-of-registers commit wait', ''],
  ['fence if-uniform product commit wait end', '7519'],
  ['fence if-lane product commit wait end', '7520'],
  ['fence product if-lane commit wait end', '7520'],
  ['fence loop product commit again wait', '7519'],
  ['fence loop read-5 again product commit wait', '7519'],
  // A value in flight meets another.
  ['fence product commit if-uniform write end wait', '7515'],
  ['fence product commit if-lane write end wait', '7515'],
  ['fence product commit loop fence product-5 commit wait-but-one double again wait', '7515'],
  // Calls.
  ['fence product commit wait print', '7510'],
  ['if-uniform print end fence product commit wait', '7510'],
];

const codesOf = (text: string): string => [...new Set(text.match(/75\d\d/g) ?? [])].sort().join(' ');
const recordsOf = (steps: string, by = usual) =>
  runPipeline(readPtx(kernel(steps), by, 'k.ptx').program, by).records;

describe('sequences of matrix products', () => {
  it.each(SEQUENCES)('%s -> %s', (steps, codes) => {
    const said = recordsOf(steps).flatMap((r) => r.remarks.filter((m) => m.kind === 'advice'));
    expect(codesOf(said.map((m) => m.name).join())).toBe(codes);
    for (const m of said) expect(m.loc).toBeGreaterThan(0);
  });

  it('are reported with the accumulators that they keep in flight, unless Knob364 is 0', async () => {
    const text = (by = usual) =>
      recordsOf('fence product commit fence product-5 commit wait', by)
        .find((r) => r.phase.id === 'OriPropagateGmma')!
        .reports.map((r) => r.text)
        .join();
    expect(text()).toBe(
      '# 2 matrix products of a warpgroup; most accumulators in flight: 8 registers, sets: 2, in BB0',
    );
    expect(text(await plan(['Knob364=0']))).toBe('');
  });
});

describe('registers of matrix products', () => {
  // As in attention kernels: at the wait for the first product, the other accumulators hold values of the round before, which nobody
  // needs.
  const zeros = [1, 2, 3, 4].map((k) => `mov.f32 %f${k}, %f30;`).join(' ');
  const steps = `mov.f32 %f30, 0f00000000;
${WORDS.fence} ${product(5, '%rd2', '0')} ${WORDS.commit} ${WORDS.wait}
st.global.f32 [%rd1+640], %f5; ${zeros}
${WORDS.fence} ${WORDS.product} ${WORDS.commit}
mov.u32 %r31, 0; INNER: ${WORDS.fence} ${WORDS.product} ${WORDS.commit}
add.u32 %r31, %r31, 1; setp.lt.u32 %p4, %r31, %r9; @%p4 bra INNER;
${WORDS.wait} st.global.v4.f32 [%rd1+704], {%f1, %f2, %f3, %f4};`;
  const text = kernel('loop again').replace('AGAIN:', `AGAIN: ${steps}`);

  it('are named by the waits that need them alone, so that nothing is copied in flight', () => {
    const { program } = readPtx(text, usual, 'k.ptx');
    const journal = runPipeline(program, usual, { snapshots: 'all' });
    const named = (id: string): number[] =>
      [
        ...printProgram(journal.records.find((r) => r.phase.id === id)!.program).matchAll(
          /FOREIGN\.ENDS \{([^}]*)\}/g,
        ),
      ].map((m) => m[1].split(',').length);
    expect(named('OriLoopUnrolling')).toEqual([8, 8]);
    expect(named('GenerateMovPhi')).toEqual([4, 8]);
    for (const f of journal.last.functions) expect(flightFault(f)).toBeNull();
    // Where the first wait may be left out, fragments may still be in flight at the last one.
    const guarded = text
      .replace(product(5, '%rd2', '0'), product(5, FRAGMENTS, '0'))
      .replace(WORDS.wait, `@%p2 ${WORDS.wait}`);
    const { program: other } = readPtx(guarded, usual, 'k.ptx');
    const again = runPipeline(other, usual, { until: 'GenerateMovPhi' }).last;
    const last = [...printProgram(again).matchAll(/FOREIGN\.ENDS[^{]*\{([^}]*)\}/g)].at(-1)!;
    expect(last[1].split(',')).toHaveLength(12);
    expect(journal.records.flatMap((r) => r.remarks.filter((m) => m.kind === 'advice'))).toEqual([]);
  });
});

describe.runIf(hasPtxas('sequences of matrix products'))('ptxas', () => {
  const folder = mkdtempSync(join(tmpdir(), 'orrery-groups-'));
  afterAll(() => rmSync(folder, { recursive: true }));

  it('says the same', () => {
    const other = SEQUENCES.flatMap(([steps, codes], k) => {
      const file = join(folder, `${k}.ptx`);
      writeFileSync(file, kernel(steps));
      const r = spawnSync('ptxas', ['-arch=sm_90a', '-O3', file, '-o', join(folder, 'out')], {
        encoding: 'utf8',
      });
      const said = r.status === 0 ? codesOf(r.stderr + r.stdout) : r.stderr;
      return said === codes ? [] : [`${steps}: '${said}', not '${codes}'`];
    });
    expect(other).toEqual([]);
  });
});
