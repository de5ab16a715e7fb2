import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { sharedBytes } from '../../src/analysis/memory/shared-layout.ts';
import { optimize, planFromFiles, readPtx, writePtx } from '../../src/index.ts';
import type { ProgramContext, Remark } from '../../src/ir/pass.ts';
import type { Fn, Program } from '../../src/ir/program.ts';
import { orderSharedVariables } from '../../src/passes/memory/order-shared-variables.ts';
import { testContext } from '../support/context.ts';
import { hasPtxas, ptxas, sharedSizes } from '../support/ptxas.ts';
import { runs } from '../support/size.ts';
import { shipped } from '../support/specs.ts';

const SEED = 20261124;
const plan = await planFromFiles({ sm: 'sm_80', level: 3, recipes: ['shared-layout'] }, shipped);
const plain = await planFromFiles({ sm: 'sm_80', level: 3 }, shipped);

interface Declared {
  readonly name: string;
  readonly align: number;
  readonly size: number;
  /** Which of the kernels use it. */
  readonly users: readonly number[];
  /** Declared in the body of its only user. */
  readonly inside: boolean;
}

const declaration = (d: Declared): string => `.shared .align ${d.align} .b8 ${d.name}[${d.size}];`;

/** A module of kernels, each of which stores to the variables that it uses and reports their addresses. */
function moduleOf(declared: readonly Declared[], kernels: number): string {
  const body = (k: number): string => {
    const own = declared.filter((d) => d.users.includes(k));
    return `.visible .entry k${k}(.param .u64 p) {
${own
  .filter((d) => d.inside)
  .map(declaration)
  .join('\n')}
.reg .b32 %r<9>; .reg .b64 %d<3>;
ld.param.u64 %d1, [p]; mov.u32 %r0, %tid.x; mov.u32 %r1, 0;
${own.map((d) => `mov.u32 %r2, ${d.name}; xor.b32 %r1, %r1, %r2; shl.b32 %r1, %r1, 3; st.shared.u8 [%r2], %r0;`).join('\n')}
st.global.u32 [%d1], %r1; ret; }`;
  };
  return `.version 9.0\n.target sm_80\n.address_size 64\n${declared
    .filter((d) => !d.inside)
    .map(declaration)
    .join('\n')}\n${Array.from({ length: kernels }, (_, k) => body(k)).join('\n')}\n`;
}

const KERNELS = 3;
const modules: fc.Arbitrary<readonly Declared[]> = fc
  .array(
    fc.record({
      align: fc.constantFrom(1, 2, 4, 8, 16),
      size: fc.constantFrom(1, 3, 4, 5, 8, 20, 32, 64),
      users: fc.uniqueArray(fc.nat(KERNELS - 1), { minLength: 1 }),
      inside: fc.boolean(),
    }),
    { minLength: 1, maxLength: 8 },
  )
  .map((list) => list.map((d, i) => ({ ...d, name: `v${i}`, inside: d.inside && d.users.length === 1 })));

const bytesOf = (p: Program): number[] => p.functions.map((f) => sharedBytes(p, f));

function ordered(
  program: Program,
  opts: { open?: (f: Fn) => boolean; rewrites?: { left: number } } = {},
): { program: Program; remarks: string[] } {
  const remarks: Remark[] = [];
  const ctx: ProgramContext = {
    isa: plan.isa,
    phase: 'Test',
    params: {},
    functions: program.functions.filter(opts.open ?? (() => true)),
    of: (fn) => ({
      ...testContext(fn, { rewrites: opts.rewrites }),
      remark: (kind, name, message) =>
        void remarks.push({ kind, name, message, fn: fn.name, block: -1, loc: 0, count: 1 }),
    }),
  };
  return {
    program: orderSharedVariables(program, ctx),
    remarks: remarks.map((r) => `${r.fn}: ${r.kind} ${r.name}: ${r.message}`),
  };
}

const simple = (text: string): Program => readPtx(text, plan, 'm.ptx').program;
const TILES: readonly Declared[] = ['flag', 'tile', 'done', 'next'].map((name, i) => ({
  name,
  align: i % 2 === 0 ? 1 : 16,
  size: i % 2 === 0 ? 1 : 1024,
  users: [0],
  inside: false,
}));

describe('the order of shared variables', () => {
  it('is by falling alignment where that leaves no gap', () => {
    const program = simple(moduleOf(TILES, 1));
    const out = ordered(program);
    expect(out.program.variables.map((v) => v.name)).toEqual(['tile', 'next', 'flag', 'done']);
    expect(out.program.functions).toBe(program.functions);
    expect([bytesOf(program), bytesOf(out.program)]).toEqual([[2080], [2050]]);
    expect(out.remarks).toEqual(['k0: passed ordered: 2050 bytes of shared memory instead of 2080']);
    expect(ordered(out.program).program).toBe(out.program);
  });

  it('stays where others may know the place, and where it may not be changed', () => {
    const program = simple(moduleOf(TILES, 1));
    expect(ordered(program, { open: () => false }).program).toBe(program);
    expect(ordered(program, { rewrites: { left: 0 } }).program).toBe(program);
    const text = moduleOf(TILES, 1);
    const visible = simple(text.replace('.shared .align 16 .b8 next', '.visible .shared .align 16 .b8 next'));
    expect(ordered(visible).program).toBe(visible);
    const unsized = simple(
      text.replace('.shared .align 1 .b8 done[1]', '.extern .shared .align 1 .b8 done[]'),
    );
    expect(ordered(unsized).program).toBe(unsized);
  });

  it('never takes more, for any kernel of any module, and stands after one application', () => {
    let better = 0;
    fc.assert(
      fc.property(modules, (declared) => {
        const program = simple(moduleOf(declared, KERNELS));
        const out = ordered(program).program;
        const [before, after] = [bytesOf(program), bytesOf(out)];
        after.forEach((n, k) => {
          expect(n).toBeLessThanOrEqual(before[k]);
        });
        if (out !== program) better++;
        expect(ordered(out).program).toBe(out);
        expect([...out.variables].sort(byName)).toEqual([...program.variables].sort(byName));
      }),
      { numRuns: runs(200), seed: SEED },
    );
    expect(better).toBeGreaterThan(runs(200) / 10);
  });
});

const byName = (a: { name: string }, b: { name: string }): number => (a.name < b.name ? -1 : 1);

describe.skipIf(!hasPtxas('shared-layout'))('ptxas', () => {
  it('places shared variables as `sharedBytes` says, as they came and as the recipe orders them', () => {
    let better = 0;
    fc.assert(
      fc.property(modules, (declared) => {
        const text = moduleOf(declared, KERNELS);
        const came = ptxas(text, 'sm_80');
        expect(came.errors).toBe('');
        const { program, module } = readPtx(text, plain, 'm.ptx');
        const [before, after] = [plain, plan].map((p) => {
          const { last } = optimize(program, p);
          const { cubin, errors } = ptxas(writePtx(last, p, shipped, { module }).text, 'sm_80');
          expect(errors).toBe('');
          const sizes = sharedSizes(cubin!);
          expect(last.functions.map((f) => sizes.get(f.name) ?? 0)).toEqual(bytesOf(last));
          return sizes;
        });
        expect(before).toEqual(sharedSizes(came.cubin!));
        if ([...after].some(([k, n]) => n < before.get(k)!)) better++;
      }),
      { numRuns: runs(12), seed: SEED },
    );
    expect(better).toBeGreaterThan(0);
  });
});
