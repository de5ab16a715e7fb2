import { spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, describe, expect, it } from 'vitest';
import { usesTable } from '../../src/cli/optimize/compare-ptxas.ts';
import { unrolledLoops } from '../../src/cli/optimize/ptxas-loops.ts';
import { assemble, functionUses } from '../../src/cli/optimize/ptxas-run.ts';
import { host, runPipeline } from '../../src/engine/pipeline.ts';
import type { Program } from '../../src/ir/program.ts';
import { parseProgram, printProgram } from '../../src/ir/text.ts';
import { emitPtx } from '../../src/ptx/emit/index.ts';
import { type PtxDoc, PtxTable } from '../../src/ptx/emit/table.ts';
import { lowerPtx } from '../../src/ptx/lower/index.ts';
import { parsePtx } from '../../src/ptx/parse.ts';
import { type Launch, runLaunch } from '../../src/sim/launch.ts';
import { loadShipped, makePlan, ROOT } from '../../src/spec/node.ts';
import { loadLaunch } from '../../src/spec/node-launch.ts';
import type { Plan } from '../../src/spec/plan.ts';
import { askAll, ptxas as assembled, codeSections } from '../support/ptxas.ts';

const root = fileURLToPath(new URL('../kernels/', import.meta.url));
const ptxas = spawnSync('ptxas', ['--version']).status === 0;
const nvcc = ptxas && spawnSync('nvcc', ['--version']).status === 0;
const specs = await loadShipped();
const table = new PtxTable(specs.ptx!.data as unknown as PtxDoc);
const plans = new Map<string, Plan>();
async function planOf(sm: string, order: string, level: number): Promise<Plan> {
  const key = `${sm} ${order} ${level}`;
  let p = plans.get(key);
  if (p === undefined) {
    p = (await makePlan({ level, sm, order, knobSets: [], set: [], disable: [] }, host, specs)).plan!;
    plans.set(key, p);
  }
  return p;
}
const baseOf = (p: Plan): number => Number(p.backend.facts['param-base']);

function lowered(
  text: string,
  plan: Plan,
): { module: ReturnType<typeof parsePtx>['module']; program: Program } {
  const { module, diagnostics } = parsePtx(text, 'test.ptx');
  expect(diagnostics).toEqual([]);
  const l = lowerPtx(module, { isa: plan.isa, paramBase: baseOf(plan), sm: plan.sm });
  return { module, program: l.program };
}

const emitted = (text: string, plan: Plan) => {
  const { module, program } = lowered(text, plan);
  return emitPtx(program, { table, paramBase: baseOf(plan), module });
};

const kernels = readdirSync(root, { withFileTypes: true })
  .filter((d) => d.isDirectory() && readdirSync(`${root}${d.name}`).some((f) => /^launch.*\.yaml$/.test(f)))
  .map((d) => d.name);
const MACHINES = ['sm_75', 'sm_80', 'sm_90', 'sm_100', 'sm_120'];
/**
 * When asked: all kernels at all levels in both orders, each text to ptxas for every machine. Otherwise some kernels at two levels in
 * the order that the tool takes, each text to ptxas for one machine after the other. kernels-sm80.test.ts and its like read back what
 * is written of every kernel.
 */
const ALL = askAll;
const SAMPLE = ALL ? 1 : 12;
const LEVELS = ALL ? [0, 1, 2, 3, 4, 5] : [0, 3];
const ORDERS = ALL ? ['seed', 'binary'] : ['binary'];

const some = kernels.filter((_, k) => k % SAMPLE === 0);
describe.each(some)('%s', (name) => {
  const dir = `${root}${name}/`;
  it('is right after a round trip through PTX, at several levels', async () => {
    const launches = new Map<string, Launch>();
    for (const f of readdirSync(dir).filter((x) => /^launch.*\.yaml$/.test(x)))
      launches.set(f, await loadLaunch(dir + f));
    for (const sm of ['sm_75', 'sm_80', 'sm_90']) {
      const file = `${dir}${name}.${sm}.ptx`;
      if (!existsSync(file)) continue;
      const { module, program } = lowered(readFileSync(file, 'utf8'), await planOf(sm, 'binary', 3));
      const seen = new Set<string>();
      for (const order of ORDERS)
        for (const level of LEVELS) {
          const plan = await planOf(sm, order, level);
          const last = runPipeline(program, plan).last;
          const e = emitPtx(last, { table, paramBase: baseOf(plan), module });
          expect(e.diagnostics).toEqual([]);
          if (seen.has(e.text)) continue;
          seen.add(e.text);
          const again = lowered(e.text, plan).program;
          expect(again.skipped).toEqual([]);
          for (const [f, launch] of launches) {
            const r = runLaunch(again, plan.isa, launch, baseOf(plan), {
              budget: 5_000_000,
            });
            expect({ f, sm, order, level, status: r.status, error: r.error }).toEqual({
              f,
              sm,
              order,
              level,
              status: 'ok',
              error: null,
            });
          }
        }
      if (!ptxas) continue;
      const machines = MACHINES.filter((m) => Number(m.slice(3)) >= Number(sm.slice(3)));
      for (const [n, out] of [...seen].entries())
        for (const machine of ALL ? machines : [machines[(some.indexOf(name) + n) % machines.length]])
          expect({ machine, ...assemble(out, [`-arch=${machine}`]) }).toMatchObject({ machine, ok: true });
    }
  }, 120_000);
});

const HEAD = '.version 8.0\n.target sm_80\n.address_size 64\n';
const kernel = (body: string, params = '.param .u64 k_p') =>
  `${HEAD}.visible .entry k(${params})\n{\n.reg .pred %p<5>;\n.reg .b32 %r<9>;\n.reg .b64 %rd<9>;\nld.param.u64 %rd1, [k_p];\n${body}\nret;\n}\n`;

describe('what is written', () => {
  it('keeps variables, declarations, directives, pragmas and lines', async () => {
    const text = `${HEAD}
.global .align 4 .f32 other[3] = {0f3F800000, 0f40000000};
.visible .global .align 8 .u64 tab[2] = {generic(other), other+4};
.extern .func (.param .b32 r) ext(.param .b64 a);
.visible .entry k(.param .u64 .ptr .global .align 16 k_p)
.maxntid 64, 1, 1
.minnctapersm 2
{
.reg .pred %p<2>;
.reg .b32 %r<3>;
.reg .b64 %rd<3>;
.shared .align 8 .b8 buf[64];
.loc 1 5 3
ld.param.u64 %rd1, [k_p];
mov.u32 %r1, 0;
$top:
.pragma "nounroll";
.loc 1 6 3
st.shared.u32 [buf+4], %r1;
add.s32 %r1, %r1, 1;
setp.lt.s32 %p1, %r1, 9;
@%p1 bra $top;
st.global.u32 [%rd1], %r1;
ret;
}
.file 1 "a.cu"
`;
    const plan = await planOf('sm_80', 'seed', 3);
    const { text: out, diagnostics } = emitted(text, plan);
    expect(diagnostics).toEqual([]);
    expect(out).toMatchSnapshot();
    // The same again: the text is a function of its input, and a second time changes nothing but what the first one wrote.
    expect(emitted(text, plan).text).toBe(out);
    if (ptxas) expect(assemble(out, ['-arch=sm_80'])).toMatchObject({ ok: true });
  });

  it('states alignments that passes have raised, and what `.ptr` says is what passes read', async () => {
    const plan = await planOf('sm_80', 'binary', 3);
    const text = `${HEAD}.global .align 4 .b8 own[64];
.visible .global .align 4 .b8 seen[64];
.extern .shared .align 4 .b8 dynamic[];
.shared .align 4 .b8 tile[64];
.visible .entry k(.param .u64 .ptr .global .align 16 a, .param .u64 .ptr b)
{
.reg .b64 %rd<3>; .reg .b32 %r<9>; .reg .b32 %s<2>;
.shared .align 4 .b8 inside[64];
mov.u32 %s1, %tid.x;
ld.param.u64 %rd1, [a]; ld.param.u64 %rd2, [b];
ld.global.u32 %r1, [%rd1]; ld.global.u32 %r2, [%rd1+4];
ld.global.u32 %r3, [own+8]; ld.global.u32 %r4, [own+12];
ld.global.u32 %r5, [seen+8]; ld.global.u32 %r6, [seen+12];
ld.shared.u32 %r7, [dynamic]; ld.shared.u32 %r8, [dynamic+4];
st.shared.u32 [inside], %r1; st.shared.u32 [inside+4], %r2;
st.shared.u32 [tile], %r3; st.shared.u32 [tile+4], %r4; st.shared.u32 [tile+8], %r5; st.shared.u32 [tile+12], %r6;
st.global.u32 [%rd2], %r7; st.global.u32 [%rd2+4], %r8;
ret;
}
`;
    const { module, program } = lowered(text, plan);
    expect(program.functions[0].params.map((p) => p.pointeeAlign)).toEqual([16, 4]);
    const out = emitPtx(runPipeline(program, plan).last, { table, paramBase: baseOf(plan), module });
    expect(out.diagnostics).toEqual([]);
    for (const line of [
      '.global .align 8 .b8 own[64];',
      '.visible .global .align 4 .b8 seen[64];',
      '.extern .shared .align 4 .b8 dynamic[];',
      '.shared .align 16 .b8 tile[64];',
      '.shared .align 8 .b8 inside[64];',
    ])
      expect(out.text).toContain(line);
    for (const access of [
      /ld\.global\.v2\.b32 .* \[%rd1\]/,
      /ld\.global\.v2\.b32 .* \[own\+8\]/,
      /st\.shared\.v4\.b32 \[tile\]/,
    ])
      expect(out.text).toMatch(access);
    expect(out.text.match(/\.v2/g)).toHaveLength(3);
    if (ptxas) expect(assemble(out.text, ['-arch=sm_80'])).toMatchObject({ ok: true });
  });

  it('reads between parameters and past the last one, as the program did', async () => {
    const plan = await planOf('sm_80', 'seed', 3);
    const text = kernel(
      'ld.param.u32 %r1, [n+64];\nld.param.u32 %r2, [n+4];\nld.param.u32 %r3, [k_p+20];\nst.global.v4.u32 [%rd1], {%r1, %r2, %r3, %r3};',
      '.param .u64 k_p, .param .u32 n, .param .align 8 .b8 s[8]',
    );
    const out = emitted(text, plan);
    expect(out.diagnostics).toEqual([]);
    for (const at of ['[s+56]', '[n+4]', '[s+4]']) expect(out.text).toContain(at);
    if (!ptxas) return;
    // Offsets in the bank that machine code loads from; 0xb82 is LDC, of which sm_90 makes these loads.
    const offsets = (ptx: string): bigint[] => {
      const { cubin, errors } = assembled(ptx, 'sm_90');
      if (cubin === null) throw new Error(errors);
      const code = codeSections(cubin).get('k')!;
      const found: bigint[] = [];
      for (let at = 0; at < code.byteLength; at += 16) {
        const low = code.getBigUint64(at, true);
        if ((low & 0xfffn) === 0xb82n) found.push(low >> 38n);
      }
      return found.sort();
    };
    expect(offsets(text).length).toBeGreaterThan(3);
    expect(offsets(out.text)).toEqual(offsets(text));
  });

  it('keeps a function that it cannot write or lower as it came, and says so', async () => {
    const plan = await planOf('sm_80', 'seed', 3);
    const text = kernel('mov.u64 %rd1, nobody;').replace('.visible', '.global .texref t;\n.visible');
    const { module, program } = lowered(text, plan);
    expect(program.skipped.map((s) => s.name)).toEqual(['k']);
    const { text: out } = emitPtx(program, { table, paramBase: baseOf(plan), module });
    expect(out).toContain('mov.u64 %rd1, nobody;');
    expect(out).toContain('.global .texref t;');
  });

  it('has chains of carries without a predicate, and predicates where a carry is used otherwise', async () => {
    const plan = await planOf('sm_80', 'seed', 0);
    const chain = emitted(
      kernel(
        'sub.cc.u32 %r1, %r2, %r3;\nsubc.cc.u32 %r4, %r5, 7;\nsubc.u32 %r6, %r7, 0;\nst.global.u32 [%rd1], %r6;',
      ),
      plan,
    );
    expect(chain.text).toMatch(/sub\.cc\.s32 .*\n\tsubc\.cc\.s32 .*\n\tsubc\.s32 /);
    const mixed = 'sub.cc.u32 %r1, %r2, %r3;\naddc.cc.u32 %r4, %r5, %r8;\nsubc.u32 %r6, %r7, %r1;';
    expect(emitted(kernel(`${mixed}\nst.global.u32 [%rd1], %r6;`), plan).text).toMatch(
      /sub\.cc\.s32 .*\n\taddc\.cc\.s32 .*\n\tsubc\.s32 /,
    );
    const across = emitted(
      kernel('add.cc.u32 %r1, %r2, %r3;\n$x:\naddc.u32 %r4, %r5, 7;\nst.global.u32 [%rd1], %r4;'),
      plan,
    );
    expect(across.text).toContain('setp.ne.s32');
    if (ptxas) expect(assemble(across.text, ['-arch=sm_80'])).toMatchObject({ ok: true });
  });

  it('copies results out last where an instruction of several lines reads them', async () => {
    const plan = await planOf('sm_80', 'seed', 0);
    const ori = printProgram(lowered(kernel('st.global.u32 [%rd1], %r1;'), plan).program).replace(
      /STG/,
      'IADD3 R5, R5, R6, R5\n       @P0 ISETP.LT.S32.XOR P0, P1, R5, R6, P1\n       STG',
    );
    const { program } = parseProgram(ori.replace(/\.regs.*/, ''), plan.isa, 'x.ori');
    const { text, diagnostics } = emitPtx(program, { table, paramBase: baseOf(plan), module: null });
    expect(diagnostics).toEqual([]);
    expect(text).toMatch(/add\.s32 (%r\d+), %r5, %r6;\n\tadd\.s32 (%r\d+), \1, %r5;\n\tmov\.b32 %r5, \2;/);
  });

  it('says a logic function of three inputs without lop3, at which ptxas 13.0.88 may crash', async () => {
    const plan = await planOf('sm_80', 'seed', 0);
    for (const table of [0x96, 0xa8, 0xe8, 0x3a]) {
      const { text } = emitted(
        kernel(
          `ld.global.u32 %r1, [%rd1];\nld.global.u32 %r2, [%rd1+4];\nlop3.b32 %r3, %r1, %r2, 31, ${table};\nsetp.eq.s32 %p1, %r3, 0;\n@%p1 st.global.u32 [%rd1], %r1;`,
        ),
        plan,
      );
      expect(text).not.toContain('lop3');
      if (ptxas) expect(assemble(text, ['-arch=sm_80'])).toMatchObject({ ok: true });
    }
  });

  it('writes long functions with labels of one name in many scopes', async () => {
    const plan = await planOf('sm_80', 'seed', 0);
    const scope = (n: number) =>
      `{\nsetp.gt.s32 %p1, %r1, ${n};\n@%p1 bra L;\nadd.s32 %r1, %r1, %r2;\nL:\nxor.b32 %r2, %r2, %r1;\n}`;
    const text = kernel(Array.from({ length: 40_000 }, (_, n) => scope(n)).join('\n'));
    const { text: out, diagnostics } = emitted(text, plan);
    expect(diagnostics).toEqual([]);
    expect(new Set(out.match(/^L\S*:/gm)).size).toBe(40_000);
  });

  it('leaves debug sections out and the promise of them', async () => {
    const plan = await planOf('sm_80', 'seed', 3);
    const text = `${kernel('').replace('sm_80', 'sm_80, debug')}.section .debug_abbrev\n{\n.b8 1\n}\n`;
    const { text: out, diagnostics } = emitted(text, plan);
    expect(diagnostics.map((d) => d.message)).toEqual([
      'debug sections are left out: they describe registers and labels of the original code',
    ]);
    expect(out).toContain('.target sm_80\n');
    expect(out).not.toContain('.section');
  });

  it('states another target, and the version that knows it, only when asked', async () => {
    const plan = await planOf('sm_80', 'seed', 3);
    const { module, program } = lowered(kernel(''), plan);
    const write = (target: string | null) =>
      emitPtx(program, { table, paramBase: baseOf(plan), module, target }).text;
    expect(write(null)).toContain('.version 8.0\n.target sm_80\n');
    expect(write('sm_120')).toContain('.version 8.7\n.target sm_120\n');
  });
});

describe('ptxas', () => {
  it('is understood', () => {
    const said = `ptxas info    : Compiling entry function 'k' for 'sm_90'
ptxas info    : Function properties for k
    8 bytes stack frame, 16 bytes spill stores, 24 bytes spill loads
ptxas info    : Used 40 registers, used 1 barriers`;
    expect(functionUses(said, new Map([['k', 512]]), new Map([['k', 20]]))).toEqual([
      { name: 'k', registers: 40, spillStores: 16, spillLoads: 24, stack: 8, code: 512, instructions: 20 },
    ]);
  });

  const dir = mkdtempSync(join(tmpdir(), 'orrery-emit-'));
  afterAll(() => rmSync(dir, { recursive: true, force: true }));
  const orrery = join(ROOT, 'bin', 'orrery.js');
  const run = (args: string[], env: Record<string, string> = {}) =>
    spawnSync(process.execPath, [orrery, ...args], { encoding: 'utf8', env: { ...process.env, ...env } });

  it.skipIf(!ptxas)('is called with our PTX and its own options, and with the input where ours fails', () => {
    const file = join(root, 'saxpy', 'saxpy.sm_80.ptx');
    const cubin = join(dir, 'a.cubin');
    const ok = run(['ptxas', '-arch=sm_80', '-v', '--orrery-verbose', file, '-o', cubin]);
    expect(ok.stderr).toMatch(/orrery: .*saxpy.*order binary/);
    expect(ok.stderr).toContain("Compiling entry function 'saxpy'");
    expect(ok.status).toBe(0);
    expect(existsSync(cubin)).toBe(true);
    const bad = run(['ptxas', '-arch=sm_80', '--orrery-order=nosuch', file, '-o', cubin]);
    expect(bad.stderr).toContain('is used unmodified');
    expect(bad.status).toBe(0);
    const strict = run([
      'ptxas',
      '-arch=sm_80',
      '--orrery-order=nosuch',
      '--orrery-strict',
      file,
      '-o',
      cubin,
    ]);
    expect(strict.status).toBe(1);
    expect(run(['ptxas', '--version']).stdout).toMatch(/Cuda compilation tools/);
  });

  it.skipIf(!ptxas)('gets no kernel that needs much more than its input, where that is asked for', () => {
    const file = join(root, 'stencil', 'stencil.sm_80.ptx');
    const compiled = (...ours: string[]) => {
      const r = run(['ptxas', '-arch=sm_80', '-v', file, '-o', join(dir, 'l.cubin'), ...ours]);
      expect(r.status).toBe(0);
      const registers = /function 'jacobi3d'[\s\S]*?Used (\d+) registers/.exec(r.stderr)![1];
      return { said: r.stderr, registers: Number(registers) };
    };
    const limited = compiled('--orrery-max-loss=2', '--orrery-verbose');
    const free = compiled();
    expect(limited.said).toMatch(
      /jacobi3d' (is optimized with recipe 'few-registers'|is kept unchanged): by the plan, \d+ -> \d+ reg/,
    );
    expect(free.said).not.toContain('few-registers');
    expect(limited.registers).toBeLessThan(free.registers);
  });

  it('has a clear error where there is none', () => {
    const file = join(root, 'saxpy', 'saxpy.sm_80.ptx');
    const r = run(['opt', file, '--ptxas', '-q'], { ORRERY_PTXAS: join(dir, 'nothing') });
    expect(r.stderr).toContain('cannot be run');
    expect(r.stderr).toContain('ORRERY_PTXAS');
    expect(r.status).toBe(1);
    const own = run(['ptxas', '-arch=sm_80', file], { ORRERY_PTXAS: join(dir, 'nothing') });
    expect([own.status, own.stderr]).toEqual([
      1,
      expect.stringMatching(/nothing' cannot be run: there is no such file$/m),
    ]);
  });

  it.skipIf(!ptxas)('shows input and output side by side', () => {
    const file = join(root, 'saxpy', 'saxpy.sm_80.ptx');
    const r = run(['opt', file, '--ptxas', '--json', '-q']);
    const { functions: list } = JSON.parse(r.stdout) as {
      functions: { name: string; before: { registers: number }; after: { code: number } }[];
    };
    expect(list.map((u) => u.name).sort()).toEqual(['saxpy', 'saxpyStride']);
    for (const u of list) expect(Math.min(u.before.registers, u.after.code)).toBeGreaterThan(0);
  });

  it('shows both sides of equal numbers, and none of what ptxas does not say', () => {
    const use = { spillStores: 0, spillLoads: 0, stack: 8, instructions: 1 };
    const [kernel, called] = [
      { name: 'k', ...use, registers: 21, code: 256 },
      { name: 'called', ...use, registers: 0, code: 0 },
    ];
    const pairs = [
      {
        name: 'k',
        before: kernel,
        after: { ...kernel, registers: 20 },
        unrolled: { before: [], after: ['$L1', '$L2'] },
      },
      { name: 'called', before: called, after: called, unrolled: { before: ['$L'], after: ['BB7'] } },
    ];
    expect(usesTable(pairs).split('\n')).toEqual([
      'by ptxas  registers  spill stores [B]  spill loads [B]  stack [B]    code [B]  unrolled loops',
      'k          21 -> 20            0 -> 0           0 -> 0     8 -> 8  256 -> 256          0 -> 2',
      'called            -            0 -> 0           0 -> 0     8 -> 8           -          1 -> 1',
      'k: loops that ptxas unrolls: none -> $L1, $L2',
    ]);
  });

  it.skipIf(!ptxas)('names the loops that ptxas unrolls, and none whose rounds or pragma forbid it', () => {
    const loop = (label: string, rounds: string, pragma = '') => `
      mov.u32 %r1, 0;
${label}: ${pragma}
      mad.lo.s32 %r2, %r2, %r2, %r1;
      xor.b32 %r2, %r2, 5;
      add.s32 %r1, %r1, 1;
      setp.lt.u32 %p1, %r1, ${rounds};
      @%p1 bra ${label};`;
    const text = `.version 8.0
.target sm_80
.address_size 64
.visible .entry k(.param .u64 p)
{
  .reg .pred %p<2>; .reg .b32 %r<3>; .reg .b64 %rd<2>;
  ld.param.u64 %rd1, [p]; ld.global.u32 %r2, [%rd1];
  ${loop('FOUR', '4')}${loop('STAYS', '4', '.pragma "nounroll";')}${loop('MANY', '100000')}
  st.global.u32 [%rd1], %r2; ret;
}
`;
    const options = ['-arch=sm_80', '-O3'];
    const found = unrolledLoops(text, assemble(text, options).functions, options);
    // ptxas 13.0.88 unrolls a loop of many rounds by four.
    expect([...found]).toEqual([['k', ['FOUR', 'MANY']]]);
    const none = unrolledLoops(text, assemble(text, ['-arch=sm_80', '-O0']).functions, [
      '-arch=sm_80',
      '-O0',
    ]);
    expect([...none]).toEqual([]);
  });

  it.skipIf(!nvcc)('is what nvcc calls in a toolkit of links', () => {
    const made = run(['toolkit', join(dir, 'toolkit')]);
    expect(made.status).toBe(0);
    writeFileSync(join(dir, 'v.cu'), '__global__ void k(int *p) { p[threadIdx.x] *= 3; }\n');
    const r = spawnSync(
      made.stdout.trim(),
      ['-arch=sm_80', '-Xptxas', '--orrery-verbose', '-cubin', join(dir, 'v.cu'), '-o', join(dir, 'v.cubin')],
      { encoding: 'utf8' },
    );
    expect(r.stderr).toMatch(/^orrery: .*sm_80, order binary/m);
    expect(r.status).toBe(0);
  });
});
