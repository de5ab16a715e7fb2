import { spawnSync } from 'node:child_process';
import { describe, expect, it } from 'vitest';
import { assemble } from '../../src/cli/optimize/ptxas-run.ts';
import { runPipeline } from '../../src/engine/pipeline.ts';
import { judgeKernel } from '../../src/judge/judge.ts';
import { emitPtx } from '../../src/ptx/emit/index.ts';
import { type PtxDoc, PtxTable } from '../../src/ptx/emit/table.ts';
import { paramBase, readPtx } from '../../src/read.ts';
import type { Plan } from '../../src/spec/plan.ts';
import { often, seeds } from '../support/size.ts';
import { planWith, shipped } from '../support/specs.ts';

/*
 * Random kernels that mix 16- and 32-bit values: ptxas accepts the output, which does the same as the input. The simulator does not check
 * register sizes, so only ptxas finds a register of the wrong size.
 */

const table = new PtxTable(shipped.ptx!.data as unknown as PtxDoc);
const ptxas = spawnSync('ptxas', ['--version']).error === undefined;

/** A deterministic source of numbers. */
function numbers(seed: number): (n: number) => number {
  let s = seed * 7919;
  return (n) => {
    s = (Math.imul(s, 1664525) + 1013904223) >>> 0;
    return (s >>> 8) % n;
  };
}

function kernel(seed: number, sm: number): string {
  const below = numbers(seed);
  const pick = <T>(list: readonly T[]): T => list[below(list.length)];
  const t = below(2) === 1 && sm >= 90 ? 'bf16' : 'f16';
  const h = () => `%h${below(8)}`;
  const w = () => `%r${below(6)}`;
  const f = () => `%f${below(2)}`;
  const p = () => `%p${below(2)}`;
  const g = () => (below(4) > 0 ? '' : `@${pick(['', '!'])}${p()} `);
  const min = sm >= 80 ? ['min', 'max', 'max.NaN'] : [];
  const statements: readonly (() => string)[] = [
    () => `${g()}${pick(['add', 'sub', 'mul', ...min])}.${t} ${h()}, ${h()}, ${h()};`,
    () => `${g()}fma.rn.${t} ${h()}, ${h()}, ${h()}, ${h()};`,
    () => `${g()}${pick(['neg', 'abs'])}.${t} ${h()}, ${h()};`,
    () => `${g()}${pick(['add', 'sub', 'mul'])}.${t}x2 ${w()}, ${w()}, ${w()};`,
    () => `${g()}mov.b32 {${h()}, %hx}, ${w()};`,
    () => `${g()}mov.b32 {%hx, ${h()}}, ${w()};`,
    () => `${g()}mov.b32 ${w()}, {${h()}, ${h()}};`,
    () => `${g()}mov.b16 ${h()}, ${pick([h(), '0', '0x3c00', '-1'])};`,
    () => `${g()}mov.b32 ${w()}, ${pick([w(), '0', '0x3c003c00'])};`,
    () => `selp.b16 ${h()}, ${h()}, ${h()}, ${p()};`,
    () => `selp.b32 ${w()}, ${w()}, ${w()}, ${p()};`,
    () => `setp.${pick(['lt', 'eq', 'ge'])}.${t} ${p()}, ${h()}, ${h()};`,
    () => `setp.lt.s32 ${p()}, ${w()}, ${w()};`,
    () => `set.lt.${t}.${t} ${h()}, ${h()}, ${h()};`,
    () => `${g()}cvt.f32.${t} ${f()}, ${h()};`,
    () => `${g()}cvt.rn.${t}.f32 ${h()}, ${f()};`,
    () => `${g()}add.f32 ${f()}, ${f()}, ${f()};`,
    () => `${g()}cvt.rni.${pick([`s32.${t} ${w()}`, `s16.${t} ${h()}`, `${t}.${t} ${h()}`])}, ${h()};`,
    () => `${g()}cvt.rn.${t}.${pick(['s16', 'u16'])} ${h()}, ${h()};`,
    () => `${g()}cvt.${pick(['u32.u16', 's32.s16'])} ${w()}, ${h()};`,
    () => `${g()}cvt.u16.u32 ${h()}, ${w()};`,
    () =>
      `${g()}${pick(['add.s16', 'and.b16', 'xor.b16', 'mul.lo.s16', 'min.s16', 'max.u16'])} ${h()}, ${h()}, ${h()};`,
    () => `${g()}${pick(['shl.b16', 'shr.u16', 'shr.s16'])} ${h()}, ${h()}, ${below(17)};`,
    () => `${g()}${pick(['add.s32', 'and.b32', 'xor.b32'])} ${w()}, ${w()}, ${w()};`,
    () => `${g()}${pick(['shl.b32', 'shr.u32', 'shr.s32'])} ${w()}, ${w()}, ${pick([16, 8, 15, below(33)])};`,
    () => `${g()}and.b32 ${w()}, ${w()}, ${pick(['0xffff', '-65536', '0x7fff7fff'])};`,
    () =>
      `${g()}prmt.b32${pick(['', '', '', '.rc16', '.b4e'])} ${w()}, ${w()}, ${pick([w(), '0'])}, ${pick([0x5410, 0x1032, 0x7632, 0x4410, 0x9910, 0x5432, 0x1044, 0x1054, 0x3232])};`,
    () => `${g()}ld.global.${pick(['u16', 'b16', 's16'])} ${h()}, [%rd1+${below(16) * 2}];`,
    () => `${g()}ld.global.v2.u16 {${h()}, %hy}, [%rd1+${below(8) * 4}];`,
    () => `${g()}st.global.v2.u16 [%rd2+${below(16) * 4}], {${h()}, ${h()}};`,
    () => `${g()}st.global.${pick(['u8', 'u16'])} [%rd2+${below(32) * 2}], ${h()};`,
    () => `${g()}st.global.u32 [%rd2+${below(16) * 4}], ${w()};`,
    () => `${g()}call (${h()}), half, (${h()}, ${w()});`,
    () => `shfl.sync.bfly.b32 ${w()}, ${w()}, 1, 31, -1;`,
  ];
  const some = (n: number): string[] => Array.from({ length: n }, () => pick(statements)());
  const inner = some(6 + below(16));
  const shape = below(3);
  const body =
    shape === 0
      ? inner
      : shape === 1
        ? [
            'mov.u32 %r20, 0;',
            'L:',
            ...inner,
            'add.u32 %r20, %r20, 1;',
            'setp.lt.u32 %p9, %r20, 3;',
            '@%p9 bra L;',
          ]
        : [...inner, '@%p0 bra E;', ...some(5), 'E:'];
  const results = Array.from({ length: 2 + below(4) }, (_, k) =>
    below(2) === 1
      ? `st.global.u16 [%rd2+${128 + k * 4}], ${h()};`
      : `st.global.u32 [%rd2+${128 + k * 4}], ${w()};`,
  );
  return `.version 8.6
.target sm_${sm}
.address_size 64
.func (.reg .b16 %o) half(.reg .b16 %a, .reg .b32 %b)
{
.reg .b16 %h<4>;
mov.b32 {%h1, %h2}, %b; add.${t} %h3, %a, %h2; mul.${t} %o, %h3, %h1;
ret;
}
.visible .entry k(.param .u64 k_p, .param .u64 k_o)
{
.reg .b16 %h<8>; .reg .b16 %hx, %hy; .reg .b32 %r<30>; .reg .f32 %f<4>; .reg .b64 %rd<4>; .reg .pred %p<10>;
ld.param.u64 %rd1, [k_p]; ld.param.u64 %rd2, [k_o];
${[0, 1, 2, 3, 4, 5, 6, 7].map((k) => `ld.global.u16 %h${k}, [%rd1+${k * 2}];`).join(' ')}
${[0, 1, 2, 3, 4, 5].map((k) => `ld.global.u32 %r${k}, [%rd1+${16 + k * 4}];`).join(' ')}
ld.global.f32 %f0, [%rd1+64]; ld.global.f32 %f1, [%rd1+68]; setp.lt.s32 %p0, %r0, %r1; setp.lt.s32 %p1, %r2, %r3;
${[...body, ...results].join('\n')}
ret;
}
`;
}

const plans = new Map<string, Plan>();
async function planFor(sm: number, level: number): Promise<Plan> {
  const key = `${sm} ${level}`;
  if (!plans.has(key)) plans.set(key, (await planWith({ sm: `sm_${sm}`, level, order: 'binary' })).plan!);
  return plans.get(key)!;
}

describe('halves and words in one kernel', () => {
  it('come out as what they were, in registers that ptxas takes', async () => {
    let halves = 0;
    for (const seed of seeds(60)) {
      const sm = [75, 80, 90, 100][seed % 4];
      const plan = await planFor(sm, [3, 0, 3, 1, 3][seed % 5]);
      const text = kernel(seed, sm);
      const { program, module } = readPtx(text, plan, 'k.ptx');
      const last = runPipeline(program, plan).last;
      const out = emitPtx(last, { table, paramBase: paramBase(plan), module, target: null });
      expect(out.diagnostics, text).toEqual([]);
      if (out.text.includes('%rh')) halves++;
      const { program: again } = readPtx(out.text, plan, 'k.ptx');
      const { differences } = judgeKernel(program, again, 'k', paramBase(plan), {
        grid: [1, 1, 1],
        block: [32, 1, 1],
      });
      expect(differences, text).toEqual([]);
      // A process for each takes time: every fourth of the usual ones.
      if (ptxas && seed % 4 === 1)
        expect(assemble(out.text, [`-arch=sm_${sm}`, '-O0']), `${text}\n${out.text}`).toEqual(
          expect.objectContaining({ ok: true }),
        );
    }
    expect(halves).toBeGreaterThan(often(20));
  });
});
