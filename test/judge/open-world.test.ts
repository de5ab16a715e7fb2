import { readdirSync, readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { hashText } from '../../src/ir/hash.ts';
import { modOf, withMods } from '../../src/ir/opcode.ts';
import { Kind, type Operand } from '../../src/ir/operand.ts';
import { type Fn, type Instr, newShape, type Program } from '../../src/ir/program.ts';
import { poolOf } from '../../src/judge/constants.ts';
import { judgeKernel, KernelJudge } from '../../src/judge/judge.ts';
import { runIn, sharedPlaces } from '../../src/judge/run.ts';
import { worldOf } from '../../src/judge/world.ts';
import { lowerPtx } from '../../src/ptx/lower/index.ts';
import { parsePtx } from '../../src/ptx/parse.ts';
import { FramePool } from '../../src/sim/frames.ts';
import { type Launch, runLaunch } from '../../src/sim/launch.ts';
import { contentsFor, OpenMemory } from '../../src/sim/open-memory.ts';
import { pointerLoads } from '../../src/sim/used-as.ts';
import { testIsa } from '../support/isa.ts';
import { Random } from '../support/meaning.ts';
import { BASE, kernel } from '../support/sim-kernel.ts';
import { runs } from '../support/size.ts';

const isa = testIsa();

/** The test kernels, unoptimized. */
function programs(): Program[] {
  const root = new URL('../kernels/', import.meta.url);
  const out: Program[] = [];
  for (const d of readdirSync(root, { withFileTypes: true })) {
    if (!d.isDirectory()) continue;
    const file = readdirSync(new URL(`${d.name}/`, root)).find((f) => f.endsWith('sm_80.ptx'));
    if (file === undefined) continue;
    const { module } = parsePtx(readFileSync(new URL(`${d.name}/${file}`, root), 'utf8'), file);
    out.push(lowerPtx(module, { isa, paramBase: BASE, sm: 'sm_80' }).program);
  }
  return out;
}

it('what keeps a kernel from running is reported by kind and subject', () => {
  const shape = { grid: [1, 1, 1], block: [1, 1, 1], cluster: null, only: null } as const;
  const world = worldOf({ name: 'one', seed: 1, shape, budget: 100 });
  const run = (p: Program, name = 'k') =>
    runIn(
      {
        program: p,
        kernel: name,
        paramBase: BASE,
        pool: poolOf([]),
        sharedAt: sharedPlaces(p, p.functions[0]),
        promises: false,
        machine: false,
        blank: false,
        dead: new Set(),
        frames: new FramePool(),
      },
      world,
      {
        parameters: new Set(),
        floatParameters: new Map(),
        elements: null,
        words: new Set(),
        floats: new Set(),
        offsets: new Set(),
        doubles: new Set(),
      },
    ).fault;
  const lost = run(kernel('MOV.64 RD2, &nowhere\nEXIT'));
  expect([lost?.kind, lost?.subject]).toEqual(['symbol', 'nowhere']);
  const none = run(kernel('EXIT'), 'other');
  expect([none?.kind, none?.subject]).toEqual(['kernel', 'other']);
  expect(run(kernel('EXIT'))).toBeNull();
});

describe('what a loaded word is used as', () => {
  const shape = { grid: [1, 1, 1], block: [64, 1, 1], cluster: null, only: null } as const;
  const rough = worldOf({ name: 'rough', seed: 6, shape, budget: 1000 });
  /** The warp instructions of all runs that it took to find the uses, and of the last one. */
  const executedBy = (first: string): [all: number, last: number] => {
    const p = kernel(`${first}
LDG.B32 R5, [RD3]
FADD R6, R5, R5
STG.B32 [RD3], R6
EXIT`);
    const { first: found, executed } = new KernelJudge(p, p, 'k', BASE).first(rough);
    return [executed, found!.run.executed];
  };

  it('is known when it is loaded: one run is enough', () => {
    const [all, last] = executedBy('');
    expect(all).toBe(last);
  });

  it('may come too late for memory that has been accessed: then the run is repeated', () => {
    const [all, last] = executedBy('STG.B32 [RD3], R2');
    expect(all).toBe(2 * last);
  });
});

it('an open world has every address, the one before the first too', () => {
  const m = new OpenMemory(contentsFor(1));
  const { view, at } = m.place(-8, 4, true);
  view.setInt32(at, 7, true);
  expect(m.place(-8, 4, false).view.getInt32(at, true)).toBe(7);
});

/** Changes some instruction of a block in the way that a wrong optimization would; null where it cannot. */
type Mutation = (ins: readonly Instr[], at: number, rnd: Random) => Instr[] | null;

const replaced = (ins: readonly Instr[], at: number, by: readonly Instr[]): Instr[] => [
  ...ins.slice(0, at),
  ...by,
  ...ins.slice(at + 1),
];
const isStore = (i: Instr): boolean => /^(STG|STS|STL|ST)$/.test(i.op.name);
const sameAddress = (a: Instr, b: Instr): boolean =>
  a.src[0].reg === b.src[0].reg && a.src[0].lo === b.src[0].lo && a.src[0].sym === b.src[0].sym;

const MUTATIONS: Readonly<Record<string, Mutation>> = {
  'a constant changed': (ins, at) => {
    const i = ins[at];
    if (!/^(IADD3|IMAD|SHL|MOV|FADD|FMUL|FFMA|LOP3)$/.test(i.op.name)) return null;
    const k = i.src.findIndex((o) => o.kind === Kind.Imm && o.lo !== 0);
    if (k < 0 || i.op.srcs[k].name === 'lut') return null;
    const src: Operand[] = [...i.src];
    src[k] = { ...src[k], lo: src[k].lo ^ (i.op.name[0] === 'F' ? 1 << 22 : 1) };
    return replaced(ins, at, [{ ...i, src }]);
  },
  'a store dropped': (ins, at) => (isStore(ins[at]) ? replaced(ins, at, []) : null),
  'two stores to one address swapped': (ins, at) => {
    if (!isStore(ins[at])) return null;
    const next = ins.findIndex((x, k) => k > at && isStore(x) && sameAddress(x, ins[at]));
    if (next < 0) return null;
    const out = [...ins];
    [out[at], out[next]] = [out[next], out[at]];
    return out;
  },
  'a branch flipped': (ins, at) => {
    const i = ins[at];
    return i.op.name === 'BRA' && i.guard >= 0 ? replaced(ins, at, [{ ...i, guardNot: !i.guardNot }]) : null;
  },
  'an atomic changed': (ins, at) => {
    const i = ins[at];
    if (!/^ATOM/.test(i.op.name)) return null;
    const mods = withMods(i.op, i.mods, modOf(i.op, i.mods, 'op') === 'MAX' ? 'op=MIN' : 'op=MAX');
    return mods === i.mods ? null : replaced(ins, at, [{ ...i, mods }]);
  },
};

/** All places of a kernel where a mutation applies. */
function places(fn: Fn, mutation: Mutation, rnd: Random): (() => Fn)[] {
  const out: (() => Fn)[] = [];
  fn.blocks.forEach((b, bi) => {
    b.ins.forEach((_, at) => {
      const ins = mutation(b.ins, at, rnd);
      if (ins !== null)
        out.push(() => ({
          ...fn,
          shape: newShape(),
          blocks: fn.blocks.map((x, k) => (k === bi ? { ...b, ins } : x)),
        }));
    });
  });
  return out;
}

describe('wrong optimizations are detected without a launch file', () => {
  /**
   * Least share of mutants that must be found, a little under what is found now of the usual number and of three times as many. The rest
   * compute the same, or change code that 128 threads on made-up data do not reach.
   */
  const SHARE: Readonly<Record<string, number>> = {
    'a constant changed': 0.6,
    'a store dropped': 0.85,
    'two stores to one address swapped': 0.5,
    'a branch flipped': 0.77,
    'an atomic changed': 0.7,
  };
  const all = programs();
  it.each(Object.keys(MUTATIONS))('%s', (name) => {
    const rnd = new Random(name);
    const missed: string[] = [];
    const kernels = all.flatMap((p) =>
      p.functions
        .filter((f) => f.kind === 'entry')
        .map((fn) => ({ p, fn, found: places(fn, MUTATIONS[name], rnd) })),
    );
    // In an order that a kernel more or less does not change for the others.
    const rank = (k: (typeof kernels)[number]): string => hashText(`${name} ${k.fn.name}`);
    const possible = kernels.filter((k) => k.found.length > 0).sort((a, b) => (rank(a) < rank(b) ? -1 : 1));
    const most = runs(40);
    let tried = 0;
    // One place of each kernel, in as many rounds as it takes.
    for (let round = 0; round < runs(1) && tried < most; round++)
      for (const k of possible) {
        if (tried === most || k.found.length === 0) continue;
        // The same place whatever other kernels have.
        const [make] = k.found.splice(new Random(`${rank(k)} ${round}`).below(k.found.length), 1);
        const wrong = make();
        const after = { ...k.p, functions: k.p.functions.map((f) => (f === k.fn ? wrong : f)) };
        tried++;
        if (judgeKernel(k.p, after, k.fn.name, BASE, { budget: 15_000 }).same) missed.push(k.fn.name);
      }
    expect(tried).toBeGreaterThan(5);
    expect(1 - missed.length / tried, missed.join(' ')).toBeGreaterThan(SHARE[name]);
  });
});

describe('pointers found in memory', () => {
  it('are followed as aligned distant bases, and what they lead to is compared', () => {
    // A list: each node holds the next one at 8 and a number at 0.
    const list = (offset: number) =>
      kernel(`LDG.B64 RD4, [RD3+0x8]
LDG.B64 RD5, [RD4+0x8]
LDG.B64 RD6, [RD5+${offset}]
STG.B64 [RD5+0x10], RD6
STG [RD4], R2
EXIT`);
    const p = list(0);
    expect(pointerLoads(p.functions[0]).size).toBe(2);
    const none = { seeds: [1, 2, 3] };
    expect(judgeKernel(p, list(0), 'k', BASE, none)).toMatchObject({ same: true, partial: false });
    expect(judgeKernel(p, list(8), 'k', BASE, none).same).toBe(false);
    const narrow = kernel(`LDG.V2 {R14, R15}, [RD3+0x8]
PAIR RD4, R14, R15
LDG.B64 RD5, [RD4+0x8]
LDG.V2 {R16, R17}, [RD5]
PAIR RD6, R16, R17
STG.B64 [RD5+0x10], RD6
STG [RD4], R2
EXIT`);
    expect(judgeKernel(p, narrow, 'k', BASE, none).differences).toEqual([]);
  });

  it('a fault ends its warp alone, and what the others do is compared', () => {
    const trapIn = (n: number, value: number) =>
      kernel(`ISETP.LT.U32 P14, R2, 32
MOV R15, ${value}
@P14 BRA BB2
STG [RD3], R15
EXIT
BB2:
ISETP.LT.U32 P16, R2, ${n}
@P16 BPT.TRAP
EXIT`);
    const p = trapIn(32, 1);
    expect(judgeKernel(p, p, 'k', BASE).same).toBe(true);
    expect(judgeKernel(p, trapIn(32, 2), 'k', BASE).same).toBe(false);
    expect(judgeKernel(p, trapIn(0, 1), 'k', BASE).same).toBe(false);
  });
});

describe('kernels whose own results are not certain', () => {
  // Threads of a second warp overwrite what those of the first read, or read it first: as the turns fall.
  const racing = (rounds: number, add: number, padding = '') =>
    kernel(`MOV R14, ${rounds}
BB2:
LDG R15, [RD1]
IMAD R15, R15, ${add}, R2
STG [RD1], R15
${padding}
IADD3 R14, R14, -1
ISETP.GT P16, R14, RZ
@P16 BRA BB2
EXIT`);
  it('warps that race are compared one alone', () => {
    const o = { budget: 200_000 };
    const p = racing(3000, 3);
    const slower = racing(3000, 3, 'IADD3 R17, R14, 1\nIADD3 R17, R17, 2');
    expect(judgeKernel(p, slower, 'k', BASE, o)).toMatchObject({ same: true, raced: true });
    expect(judgeKernel(p, racing(3000, 4), 'k', BASE, o).same).toBe(false);
    expect(judgeKernel(p, p, 'k', BASE, o).raced).toBe(false);
  });

  // A warp writes what the other reads: before it, or after it where the warp has ended within its turn.
  const overwriting = (rounds: number, add: number) =>
    kernel(`LDG R15, [RD1]
MOV R14, ${rounds}
BB2:
IADD3 R14, R14, -1
ISETP.GT P16, R14, RZ
@P16 BRA BB2
STG [RD1], R2
IADD3 R15, R15, ${add}
STG [RD3], R15
EXIT`);
  it('warps that race once they are short are compared one alone', () => {
    // Longer than the turn of a warp.
    const p = overwriting(7000, 0);
    const o = { budget: 200_000 };
    expect(judgeKernel(p, overwriting(10, 0), 'k', BASE, o)).toMatchObject({ same: true, raced: true });
    expect(judgeKernel(p, overwriting(10, 1), 'k', BASE, o).same).toBe(false);
  });

  it('a warp that waits for another one does not race with it', () => {
    // The first warp of a block waits for what the second one writes.
    const waiting = (value: number) =>
      kernel(`ISETP.LT.U32 P14, R2, 32
@!P14 BRA BB4
BB2:
LDG R15, [RD1]
ISETP.NE P15, R15, 5
@P15 BRA BB2
MOV R16, ${value}
STG [RD3], R16
EXIT
BB4:
MOV R15, 5
STG [RD1], R15
EXIT`);
    expect(judgeKernel(waiting(17), waiting(17), 'k', BASE).same).toBe(true);
    expect(judgeKernel(waiting(17), waiting(18), 'k', BASE).same).toBe(false);
  });

  // Half of a warp counts in memory what the other half reads, which has its turn when the first half's is over.
  const halves = (padding = '') =>
    kernel(`MOV R14, 1000
ISETP.LT.U32 P15, R2, 16
@P15 BRA BB2
LDG R15, [RD1]
STG [RD3], R15
EXIT
BB2:
STG [RD1], R14
${padding}
IADD3 R14, R14, -1
ISETP.GT P16, R14, RZ
@P16 BRA BB2
EXIT`);
  it('lanes of a warp that race are compared one alone', () => {
    const p = halves();
    const slower = halves('IADD3 R17, R14, 1\nIADD3 R17, R17, 2');
    expect(judgeKernel(p, slower, 'k', BASE)).toMatchObject({ same: true, raced: true });
    expect(judgeKernel(p, halves('STG [RD3], R2'), 'k', BASE).same).toBe(false);
  });

  // A lane reads what its neighbour writes: before that, or behind its own store, which is the same for it alone.
  const neighbours = (first: string, add = 0, before = '') =>
    kernel(`${before}
IADD3 R14, R2, ${add}
${first === 'store' ? 'STG [RD3], R14\nLDG R15, [RD3+4]' : 'LDG R15, [RD3+4]\nSTG [RD3], R14'}
STG [RD3+4096], R15
EXIT`);
  it('lanes that run in step and race are compared one alone, in a result with uniform registers as well', () => {
    const p = neighbours('store');
    const o = { grid: [1, 1, 1], block: [32, 1, 1] } as const;
    expect(judgeKernel(p, neighbours('load'), 'k', BASE, o)).toMatchObject({ same: true, raced: true });
    expect(judgeKernel(p, neighbours('load', 1), 'k', BASE, o).same).toBe(false);
    // The result may have uniform registers, too.
    const uniform = neighbours('load', 0, 'MOV UR9, 7');
    expect(judgeKernel(p, uniform, 'k', BASE, o)).toMatchObject({ same: true, raced: true });
  });

  // The first thread of each warp takes a number, then another one, and stores the second where the first says; it never ends.
  const numbered = (early: number, late: number, add = 0) =>
    kernel(`LOP3 R14, R2, 31, RZ, 0xc0
ISETP.NE P30, R14, RZ
@P30 EXIT
STG [RD3-4096], R2
ISETP.LT.U32 P31, R2, 32
SEL R16, ${early}, 50, P31
SEL R17, ${late}, 1, P31
BB2:
IADD3 R16, R16, -1
ISETP.GT P32, R16, RZ
@P32 BRA BB2
ATOMG.ADD R18, [RD1+8192], 1, RZ
BB3:
IADD3 R17, R17, -1
ISETP.GT P32, R17, RZ
@P32 BRA BB3
ATOMG.ADD R19, [RD1+8196], 1, RZ
IADD3 R19, R19, ${add}
IMAD_WIDE RD20, R18, 4, RD1
STG [RD20], R19
BB4:
BRA BB4`);
  it('warps that race and never end are compared one alone', () => {
    const o = { grid: [1, 1, 1], budget: 60_000 } as const;
    const p = numbered(500, 1);
    expect(judgeKernel(p, numbered(5, 10_000), 'k', BASE, o)).toMatchObject({ same: true, raced: true });
    expect(judgeKernel(p, numbered(5, 10_000, 1), 'k', BASE, o).same).toBe(false);
  });

  it('what a shuffle reads from a lane that takes no part does not hang on registers', () => {
    const reads = (other: string) =>
      kernel(`MOV R14, R2
MOV R18, RZ
${other}
ISETP.LT.U32 P15, R2, 4
@!P15 BRA BB2
SHFL.DOWN R16, P17, R14, 8, 31, 15
STG [RD3], R16
BB2:
EXIT`);
    expect(judgeKernel(reads(''), reads('IADD3 R18, R14, 77'), 'k', BASE).same).toBe(true);
    const moved = reads('@P15 IADD3 R14, R14, 1');
    expect(judgeKernel(reads(''), moved, 'k', BASE).differences).toEqual([]);
  });
});

describe('odd kernels', () => {
  const of = (body: string, module = ''): Program => {
    const text = `.version 8.0\n.target sm_80\n.address_size 64\n.extern .func (.param .b32 r) vprintf (.param .b64 f, .param .b64 a);\n${module}\n.entry k(.param .u64 o, .param .u32 n)\n{\n.local .align 8 .b8 d[8];\n.reg .pred %p<3>;\n.reg .b32 %r<9>;\n.reg .b64 %rd<9>;\nld.param.u64 %rd1, [o];\nld.param.u32 %r2, [n];\nmov.u32 %r1, %tid.x;\nmul.wide.u32 %rd2, %r1, 4;\nadd.s64 %rd3, %rd1, %rd2;\n${body}\nret;\n}\n`;
    const { module: m, diagnostics } = parsePtx(text, 'k.ptx');
    expect(diagnostics).toEqual([]);
    return lowerPtx(m, { isa, paramBase: BASE, sm: 'sm_80' }).program;
  };
  const same = (a: Program, b: Program) => judgeKernel(a, b, 'k', BASE);

  it('that follow a pointer in constant memory', () => {
    const c = '.const .align 8 .u64 c;';
    const load = 'ld.const.u64 %rd4, [c];\nadd.s64 %rd5, %rd4, %rd2;';
    expect(same(of(`${load}\nst.global.u32 [%rd5], %r2;`, c), of(load, c)).same).toBe(false);
  });

  it('of which some threads trap: each ends alone, the others continue', () => {
    const body = (least: number, store: number) =>
      `setp.gt.u32 %p1, %r1, ${least};\n@%p1 trap;\nst.global.u32 [%rd3], ${store};`;
    const k = of(body(5, 1));
    expect(same(k, k).same).toBe(true);
    expect(same(k, of(body(5, 2))).same).toBe(false);
    expect(same(k, of(body(6, 1))).differences[0]).toMatch(
      /lane 0\.0\.6 end by trap before and by exit after/,
    );
  });

  it('that print without end: long texts are worth many instructions, and a launch keeps so many characters', () => {
    const format = [...'%4096d'.repeat(600)].map((c) => c.charCodeAt(0)).join();
    const call =
      '{ .param .b64 f; .param .b64 v; .param .b32 n; st.param.b64 [f], %rd5; st.param.b64 [v], %rd5; call (n), vprintf, (f, v); }';
    const k = of(
      `mov.u64 %rd4, s;\ncvta.global.u64 %rd5, %rd4;\nmov.u32 %r3, 2000;\nL:\n${call}\nadd.s32 %r3, %r3, -1;\nsetp.ne.s32 %p1, %r3, 0;\n@%p1 bra L;`,
      `.global .b8 s[3601] = {${format},0};`,
    );
    // Hours, where a round counts as the few instructions that it is.
    expect(same(k, k).same).toBe(true);
    const launch: Launch = {
      ...{ name: 't', kernel: 'k', grid: [1, 1, 1], block: [32, 1, 1], dynamicShared: 0 },
      params: [
        { kind: 'buffer', type: 's32', length: 32, bytes: new Uint8Array(128), expect: null, tolerance: 0 },
        { kind: 'scalar', type: 'u32', value: 0 },
      ],
    };
    const r = runLaunch(k, isa, launch, BASE, {});
    expect(r.output.length).toBeGreaterThan(16 << 20);
    expect(r.output.length).toBeLessThan(17 << 20);
  });

  it('that print: what they print counts', () => {
    const body = (value: number) =>
      `st.local.u32 [d], ${value};\nmov.u64 %rd4, d;\ncvta.local.u64 %rd4, %rd4;\nmov.u64 %rd5, f;\ncvta.global.u64 %rd5, %rd5;\n{ .param .b64 x; .param .b64 y; .param .b32 z; st.param.b64 [x], %rd5; st.param.b64 [y], %rd4; call (z), vprintf, (x, y); }`;
    const format = '.global .align 1 .b8 f[4] = {37, 100, 10, 0};';
    expect(same(of(body(7), format), of(body(7), format)).same).toBe(true);
    expect(same(of(body(7), format), of(body(8), format)).same).toBe(false);
  });

  it('that print texts at addresses that they are given: each costs as much as an instruction', () => {
    const body = [
      'ld.global.u64 %rd4, [%rd3];\nst.local.u64 [d], %rd4;\nmov.u64 %rd4, d;\ncvta.local.u64 %rd4, %rd4;',
      'mov.u64 %rd5, f;\ncvta.global.u64 %rd5, %rd5;\n{ .param .b64 x; .param .b64 y; .param .b32 z;',
      'st.param.b64 [x], %rd5; st.param.b64 [y], %rd4; call (z), vprintf, (x, y); }',
    ].join('\n');
    const printing = (conversion: string) =>
      of(body, `.global .align 1 .b8 f[3] = {37, ${conversion.charCodeAt(0)}, 0};`);
    const executed = (conversion: string) =>
      judgeKernel(printing(conversion), printing(conversion), 'k', BASE).executed;
    expect(executed('s')).toBeLessThan(2 * executed('p'));
    expect(same(printing('s'), printing('p')).same).toBe(false);
  });

  it('that call a function that they are given: its arguments count, and they continue after it', () => {
    const body = (argument: number, stored: number) =>
      `P: .callprototype (.param .b32 _) _ (.param .b32 _);\n{ .param .b32 x; .param .b32 z; st.param.b32 [x], ${argument}; call (z), %rd1, (x), P; ld.param.b32 %r3, [z]; }\nadd.u32 %r3, %r3, ${stored};\nst.global.u32 [%rd3], %r3;`;
    expect(same(of(body(1, 1)), of(body(1, 1))).same).toBe(true);
    expect(same(of(body(1, 1)), of(body(2, 1))).same).toBe(false);
    expect(same(of(body(1, 1)), of(body(1, 2))).same).toBe(false);
  });

  it('whether a list of targets or a prototype says what is called', () => {
    const module = [1, 2]
      .map(
        (n) =>
          `.func (.param .b32 r) f${n}(.param .b32 a)\n{\n.reg .b32 %q;\nld.param.u32 %q, [a];\nadd.s32 %q, %q, ${n};\nst.param.b32 [r], %q;\nret;\n}`,
      )
      .join('\n');
    const body = (what: string, called: string) =>
      `T: ${what};\nmov.u64 %rd4, ${called};\n{ .param .b32 x; .param .b32 z; st.param.b32 [x], 7; call (z), %rd4, (x), T; ld.param.b32 %r3, [z]; }\nst.global.u32 [%rd3], %r3;`;
    const prototype = '.callprototype (.param .b32 _) _ (.param .b32 _)';
    const kernel = of(body('.calltargets f1, f2', 'f2'), module);
    expect(same(kernel, of(body(prototype, 'f2'), module)).differences).toEqual([]);
    expect(same(kernel, of(body(prototype, 'f1'), module)).same).toBe(false);
  });

  it('whatever the prototype of a function pointer is called; but another pointer is another function', () => {
    const body = (name: string, pointer: string) =>
      `${name}: .callprototype (.param .b32 _) _ (.param .b32 _);\nadd.s64 %rd4, %rd1, 64;\n{ .param .b32 x; .param .b32 z; st.param.b32 [x], 1; call (z), ${pointer}, (x), ${name}; ld.param.b32 %r3, [z]; }\nst.global.u32 [%rd3], %r3;`;
    expect(same(of(body('P', '%rd1')), of(body('another', '%rd1'))).differences).toEqual([]);
    expect(same(of(body('P', '%rd1')), of(body('P', '%rd4'))).same).toBe(false);
  });

  it('that race and never end are not taken for different because they run faster', () => {
    const body = (more: string) =>
      `L: ld.global.u32 %r3, [%rd1];\nadd.u32 %r3, %r3, 1;\n${more}\nst.global.u32 [%rd1], %r3;\nbra L;`;
    const slow = of(body('xor.b32 %r4, %r3, %r2;\nxor.b32 %r5, %r4, %r3;'));
    // More than warps run at a time, so that each sees what the others left.
    const r = judgeKernel(slow, of(body('')), 'k', BASE, { budget: 60_000, seeds: [1] });
    expect([r.same, r.partial]).toEqual([true, true]);
  });

  it('that lose a store which another overwrites are equal, however early the budget ends', () => {
    const body = (first: string, last: number) =>
      `${first}\nmov.u32 %r3, 0;\nL: add.u32 %r3, %r3, 1;\nsetp.lt.u32 %p1, %r3, 40;\n@%p1 bra L;\nst.global.u32 [%rd3], ${last};\nmov.u32 %r4, 0;\nM: add.u32 %r4, %r4, 1;\nsetp.lt.u32 %p1, %r4, 400;\n@%p1 bra M;`;
    const kernel = of(body('st.global.u32 [%rd3], 5;', 7));
    // 2 blocks of 2 warps: enough for the stores, not for the end.
    const o = { budget: 3000 };
    expect(judgeKernel(kernel, of(body('', 7)), 'k', BASE, o)).toMatchObject({
      same: true,
      partial: false,
    });
    expect(judgeKernel(kernel, of(body('', 8)), 'k', BASE, o).same).toBe(false);
  });

  it('that lose a store which another overwrites are equal, if the end is nowhere near', () => {
    const body = (first: string, last: number, rounds = 1_000_000) =>
      `${first}\nmov.u32 %r3, 0;\nL: st.global.u32 [%rd3+4096], %r3;\nadd.u32 %r3, %r3, 1;\nsetp.lt.u32 %p1, %r3, ${rounds};\n@%p1 bra L;\nst.global.u32 [%rd3], ${last};\nM: bra M;`;
    const o = { budget: 3000, seeds: [1] };
    // The first store is all that the one run shows, the last one what the other shows, which goes round less often.
    const kernel = of(body('st.global.u32 [%rd3], 5;', 7, 50));
    const shorter = judgeKernel(kernel, of(body('', 7, 40)), 'k', BASE, o);
    expect([shorter.same, shorter.partial]).toEqual([true, true]);
    expect(judgeKernel(kernel, of(body('', 8, 40)), 'k', BASE, o).same).toBe(false);
  });

  it('places that are neighbours are two, in addresses of all 64 bits too', () => {
    const body = (some: string) => `mov.b64 %rd1, 0x7fffffffdeadbee0;\n${some}\nst.global.u64 [%rd3], %rd4;`;
    const [store, load] = ['st.global.u64 [%rd1+8], %rd3;', 'ld.global.u64 %rd4, [%rd1];'];
    expect(same(of(body(`${store}\n${load}`)), of(body(`${load}\n${store}`))).differences).toEqual([]);
    const reads = 'ld.global.u64 %rd4, [%rd1+8];';
    expect(same(of(body(`${store}\n${load}`)), of(body(`${store}\n${reads}`))).same).toBe(false);
  });

  it('that round once instead of twice are different, also where pages would hold integers', () => {
    const body = (sum: string) =>
      `ld.global.b32 %r3, [%rd3+512];\nld.global.b32 %r4, [%rd3+1048576];\nld.global.b32 %r5, [%rd3+2097152];\n${sum}\nst.global.b32 [%rd3], %r6;`;
    const twice = of(body('mul.rn.f32 %r6, %r3, %r4;\nadd.rn.f32 %r6, %r6, %r5;'));
    expect(same(twice, of(body('fma.rn.f32 %r6, %r3, %r4, %r5;'))).differences[0]).toMatch(/^seed 2: byte /);
    expect(same(twice, twice).same).toBe(true);
    // Also by a member of a structure that is a parameter.
    const struct = (sum: string): Program => {
      const text = `.version 8.0\n.target sm_80\n.address_size 64\n.entry k(.param .u64 o, .param .align 8 .b8 s[16])\n{\n.reg .f32 %f<5>;\n.reg .b32 %r<3>;\n.reg .b64 %rd<5>;\nld.param.u64 %rd1, [o];\nld.param.f32 %f1, [s+4];\nmov.u32 %r1, %tid.x;\nmul.wide.u32 %rd2, %r1, 4;\nadd.s64 %rd3, %rd1, %rd2;\nld.global.f32 %f2, [%rd3+4096];\n${sum}\nst.global.f32 [%rd3], %f3;\nret;\n}\n`;
      return lowerPtx(parsePtx(text, 'k.ptx').module, { isa, paramBase: BASE, sm: 'sm_80' }).program;
    };
    const apart = struct('mul.rn.f32 %f3, %f1, %f2;\nadd.rn.f32 %f3, %f3, %f2;');
    expect(same(apart, struct('fma.rn.f32 %f3, %f1, %f2, %f2;')).same).toBe(false);
    expect(same(apart, struct('mov.f32 %f3, %f2;')).differences[0]).toMatch(/^seed 1: byte /);
    expect(same(apart, apart).same).toBe(true);
    // Also by a parameter, which is a float in both.
    const by = (sum: string) =>
      of(`${body(sum)}`.replace('ld.global.b32 %r4, [%rd3+1048576]', 'cvt.rn.f32.u32 %r4, %r2'));
    expect(
      same(by('mul.rn.f32 %r6, %r3, %r4;\nadd.rn.f32 %r6, %r6, %r5;'), by('fma.rn.f32 %r6, %r3, %r4, %r5;'))
        .same,
    ).toBe(false);
  });

  it('that end before and not after are different', () => {
    const body = (step: number) =>
      `L: add.u32 %r3, %r3, ${step};\nsetp.lt.u32 %p1, %r3, 9;\n@%p1 bra L;\nst.global.u32 [%rd3], %r3;`;
    const start = 'mov.u32 %r3, 0;\n';
    expect(same(of(start + body(1)), of(start + body(0))).differences[0]).toMatch(
      /ends in \d+ warp instructions before, but not/,
    );
  });
});
