import { readdirSync, readFileSync } from 'node:fs';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { runPipeline } from '../../src/engine/pipeline.ts';
import { addr, imm, immPair, NO_REG, type Operand, reg } from '../../src/ir/operand.ts';
import { ByteReader, ByteWriter, checksum } from '../../src/ir/pack/bytes.ts';
import {
  PACK_VERSION,
  PackError,
  packProgram,
  packPrograms,
  unpackProgram,
  unpackPrograms,
} from '../../src/ir/pack/index.ts';
import { type Fn, type Instr, instr as makeInstr, type Program } from '../../src/ir/program.ts';
import { parseProgram, printInstr, printProgram } from '../../src/ir/text.ts';
import { lowerPtx } from '../../src/ptx/lower/index.ts';
import { parsePtx } from '../../src/ptx/parse.ts';
import { programOf } from '../support/context.ts';
import { runs as cases } from '../support/size.ts';
import { planWith } from '../support/specs.ts';

const plan = (await planWith({ order: 'binary' })).plan!;
const { isa } = plan;

const root = new URL('../kernels/', import.meta.url);
const programs: Program[] = readdirSync(root, { withFileTypes: true })
  .filter((d, k) => d.isDirectory() && k % 3 < cases(1))
  .flatMap((d) => {
    const file = `${d.name}.sm_80.ptx`;
    if (!readdirSync(new URL(`${d.name}/`, root)).includes(file)) return [];
    const { module } = parsePtx(readFileSync(new URL(`${d.name}/${file}`, root), 'utf8'), file);
    return [lowerPtx(module, { isa, paramBase: 0x160, sm: 'sm_80' }).program];
  });
/** Every snapshot of a run of each kernel, each once, and the phase that made it. */
const runs = programs.map((p) => {
  const made = new Map<Program, string>([[p, '']]);
  for (const r of runPipeline(p, plan).records) if (!made.has(r.program)) made.set(r.program, r.phase.id);
  return { all: [...made.keys()], phases: [...made.values()] };
});
const instructions = (p: Program): Instr[] => p.functions.flatMap((f) => f.blocks.flatMap((b) => b.ins));
const again = (p: Program): Program => unpackProgram(packProgram(p, isa), isa);
/** All that a part of a snapshot says, in one order of keys; opcodes by name. */
const partText = (part: unknown): string =>
  JSON.stringify(part, (k, v) =>
    k === 'op'
      ? v.name
      : v instanceof Uint8Array
        ? [...v]
        : v !== null && typeof v === 'object' && !Array.isArray(v)
          ? Object.fromEntries(Object.entries(v).sort((a, b) => (a[0] < b[0] ? -1 : 1)))
          : v,
  );
/** Most functions and blocks are those of the snapshot before. */
const known = new WeakMap<object, string>();
const once = (part: object): string => {
  let text = known.get(part);
  if (text === undefined) known.set(part, (text = partText(part)));
  return text;
};
/** All that a snapshot says. */
const whole = (p: Program): string =>
  [
    partText({ ...p, functions: p.functions.map((f) => ({ ...f, blocks: f.blocks.length })) }),
    ...p.functions.flatMap((f) => f.blocks.map(once)),
  ].join('\n');

describe('a packed snapshot', () => {
  it('comes back as it was: a third of the test kernels, before and after all phases', () => {
    for (const { all } of runs)
      for (const x of [all[0], all[all.length - 1]]) {
        const back = again(x);
        expect(whole(back)).toBe(whole(x));
        expect(printProgram(back)).toBe(printProgram(x));
        const ops = instructions(x).map((i) => i.op);
        expect(instructions(back).every((i, k) => i.op === ops[k])).toBe(true);
      }
  });

  it('has values under false guards, phis, tables, variables, prototypes and what was left out', () => {
    const body = `.entry k
{
BB0:
       ISETP.LT P2, R1, 9
@P2    IADD3 R5 else R4, R2, R3, RZ
@P2    BRA BB2
BB1:
       MOVPHI R6, {BB0: R5, BB2: R7}
BB2:
       EXIT
}`;
    const { program, diagnostics } = parseProgram(body, isa);
    expect(diagnostics).toEqual([]);
    const fn: Fn = { ...program.functions[0], tables: [[1, 2], [2]] };
    const p: Program = { ...program, functions: [fn] };
    expect(instructions(p).some((i) => i.otherwise.length > 0)).toBe(true);
    expect(instructions(p).some((i) => i.op.name === 'MOVPHI')).toBe(true);
    expect(again(p)).toEqual(p);
    const full: Program = {
      ...p,
      name: 'x \ud800 é.ptx',
      addressSize: 32,
      files: [{ index: 3, name: 'ü'.repeat(5000) }],
      skipped: [{ name: 'lost', why: ['one', 'two'] }],
      prototypes: [{ name: 'far', params: [], returns: [], noreturn: true }],
      locs: [
        { line: 0, file: 0, srcLine: 0, srcColumn: 0 },
        { line: 2 ** 30, file: 7, srcLine: 1, srcColumn: 2 },
        { line: 3, file: 7, srcLine: 1, srcColumn: 2 },
        { line: 1, file: 0, srcLine: 2 ** 31, srcColumn: 0 },
      ],
      variables: [
        {
          name: 'v',
          space: 'global',
          type: 'b8',
          size: 2 ** 33,
          align: 16,
          linkage: 'weak',
          init: Uint8Array.from({ length: 300 }, (_, i) => i),
          relocs: [{ at: 8, bytes: 8, symbol: 'w', addend: -(2 ** 63), generic: true, byte: -1 }],
          attrs: ['.managed'],
        },
        { ...variable, name: 'w', init: new Uint8Array(0) },
        { ...variable, name: 'x', init: null },
      ],
    };
    expect(again(full)).toEqual(full);
  });

  it('has any instruction, operand and place in the source', () => {
    const int32 = fc.oneof(fc.integer(), fc.constantFrom(0, -1, 2 ** 31 - 1, -(2 ** 31), 63, 64, -64, -65));
    const register = fc.oneof(fc.constant(NO_REG), fc.nat({ max: 2 ** 31 - 1 }), fc.nat({ max: 300 }));
    const operand: fc.Arbitrary<Operand> = fc.oneof(
      fc.tuple(register, fc.nat({ max: 7 })).map(([r, m]) => reg(r, m)),
      int32.map(imm),
      fc.tuple(int32, int32).map(([lo, hi]) => immPair(lo, hi)),
      fc.tuple(register, int32, fc.string()).map(([r, n, s]) => addr(r, n, s)),
    );
    const instruction = fc
      .record({
        op: fc.constantFrom(...isa.opcodes),
        mods: fc.oneof(fc.constant(0), fc.nat({ max: 2 ** 31 - 1 })),
        dst: fc.array(register, { maxLength: 6 }),
        src: fc.array(operand, { maxLength: 12 }),
        otherwise: fc.array(register, { maxLength: 6 }),
        loc: fc.nat(),
        guard: register,
        not: fc.boolean(),
      })
      .map((x) => makeInstr(x.op, x.mods, x.dst, x.src, x.loc, x.guard, x.not, x.otherwise));
    const blocks = fc.array(
      fc.record({ id: fc.nat(), name: fc.string({ unit: 'binary' }), ins: fc.array(instruction) }),
    );
    const base = programOf(programs[0].functions[0]);
    fc.assert(
      fc.property(blocks, (bs) => {
        const p = { ...base, functions: [{ ...base.functions[0], blocks: bs }] };
        expect(again(p)).toEqual(p);
      }),
      { numRuns: cases(120) },
    );
  });

  it('has each operand once, and is small', () => {
    for (const p of programs.slice(0, 20)) {
      const operands = instructions(again(p)).flatMap((i) => i.src);
      const texts = new Set(operands.map((o) => JSON.stringify(o)));
      expect(new Set(operands).size).toBe(texts.size);
    }
    const total = programs.reduce((n, p) => n + instructions(p).length, 0);
    const bytes = programs.reduce((n, p) => n + packProgram(p, isa).length, 0);
    // As text an instruction takes about 40 bytes.
    expect(bytes / total).toBeLessThan(30);
  });

  it('numbers of any size come back', () => {
    fc.assert(
      fc.property(fc.array(fc.oneof(fc.maxSafeInteger(), fc.integer())), (ns) => {
        const fits = ns.filter((n) => Math.abs(n) < 2 ** 52);
        const w = new ByteWriter(1);
        for (const n of fits) {
          w.int(n);
          w.uint(Math.abs(n));
        }
        const r = new ByteReader(w.written);
        const read = fits.map(() => [r.int(), r.uint()]);
        expect(read).toEqual(fits.map((n) => [n, Math.abs(n)]));
        expect(r.position).toBe(w.written.length);
      }),
    );
  });
});

describe('several snapshots in one pack', () => {
  it('share what they shared', () => {
    for (const { all } of runs.slice(0, 10)) {
      const back = unpackPrograms(packPrograms(all, isa), isa);
      expect(back.length).toBe(all.length);
      expect(all.filter((x, k) => whole(back[k]) !== whole(x)).map((x) => x.name)).toEqual([]);
      const parts = (list: readonly Program[]): object[] =>
        list.flatMap((x) => [
          x.locs,
          ...x.variables,
          ...x.functions.flatMap((f) => [f, f.shape, ...f.blocks, ...f.blocks.flatMap((b) => b.ins)]),
        ]);
      // Numbers for objects in order of their first place: the same on both sides where the same is shared.
      const pattern = (list: readonly Program[]): number[] => {
        const seen = new Map<object, number>();
        return parts(list).map((x) => {
          const n = seen.get(x) ?? seen.size;
          seen.set(x, n);
          return n;
        });
      };
      expect(pattern(back)).toEqual(pattern(all));
    }
  });

  it('take little room for what a phase left alone', () => {
    let kept = 0;
    let whole = 0;
    for (const { all } of runs) {
      const first = packProgram(all[0], isa).length;
      kept += packPrograms(all, isa).length - first;
      whole += (all.length - 1) * first;
    }
    expect(kept).toBeLessThan(0.4 * whole);
  });
});

it('a phase shares every function, block and instruction that it did not change', () => {
  // Most instructions are those of the snapshot before, and are asked again and again.
  const texts = new WeakMap<Instr, string>();
  const said = (i: Instr): string => {
    let text = texts.get(i);
    if (text === undefined)
      texts.set(i, (text = `${i.loc} ${i.guard} ${i.guardNot} ${i.otherwise} ${printInstr(i)}`));
    return text;
  };
  for (const { all, phases } of runs) {
    for (let k = 1; k < all.length; k++) {
      const [before, program] = [all[k - 1], all[k]];
      const phase = phases[k];
      for (const f of program.functions) {
        const was = before.functions.find((x) => x.name === f.name)!;
        const lines = f.blocks.map((b) => b.ins.map(said).join('\n'));
        const old = new Map(was.blocks.map((b) => [b.id, b]));
        const known = new Map(was.blocks.flatMap((b) => b.ins).map((i) => [said(i), i]));
        f.blocks.forEach((b, n) => {
          const o = old.get(b.id);
          if (o !== undefined && o.name === b.name && o.ins.map(said).join('\n') === lines[n])
            if (b !== o) expect.fail(`${phase} copied BB${b.id} of ${f.name}`);
          for (const i of b.ins) {
            const x = known.get(said(i));
            // Where blocks move, the layout makes branches anew.
            if (i.op.name === 'BRA' && i.guard === NO_REG && i.loc === 0) continue;
            if (x !== undefined && i !== x && !twice(was, said(i), said))
              expect.fail(`${phase} copied ${said(i)}`);
          }
        });
        if (printProgram(programOf(f)) === printProgram(programOf(was)))
          expect(f === was, `${phase} copied ${f.name}`).toBe(true);
      }
    }
  }
});

/** The same instruction stands twice in a function: which of the two a later one is, its text does not tell. */
const twice = (f: Fn, text: string, said: (i: Instr) => string): boolean =>
  f.blocks.flatMap((b) => b.ins).filter((i) => said(i) === text).length > 1;

const variable: Program['variables'][number] = {
  name: '',
  space: 'global',
  type: 'u32',
  size: 4,
  align: 4,
  linkage: '',
  init: null,
  relocs: [],
  attrs: [],
};

describe('what is no pack is refused, with the reason', () => {
  const bytes = packProgram(programs[0], isa);
  const said = (b: Uint8Array): string => {
    try {
      unpackProgram(b, isa);
      return 'nothing';
    } catch (e) {
      expect(e).toBeInstanceOf(PackError);
      return (e as Error).message;
    }
  };
  it('another version', () => {
    const b = bytes.slice();
    b[3] = PACK_VERSION + 1;
    expect(said(b)).toBe(
      `this snapshot was packed in format ${PACK_VERSION + 1}, this version of orrery reads format ${PACK_VERSION}: pack it again`,
    );
  });
  it('other bytes, and none', () => {
    for (const b of [new Uint8Array(0), new TextEncoder().encode('.version 9.0\n'), bytes.subarray(1)])
      expect(said(b)).toBe('these bytes are not a packed snapshot');
  });
  it('has the same checksum wherever its bytes lie in memory', () => {
    const bytes = Uint8Array.from({ length: 4099 }, (_, i) => (i * i) >>> 3);
    for (const offset of [1, 2, 3]) {
      const moved = new Uint8Array(bytes.length + offset).subarray(offset);
      moved.set(bytes);
      expect(checksum(moved)).toBe(checksum(bytes));
    }
    // FNV-1a over words that are all zero but one, by hand.
    expect(checksum(Uint8Array.of(1, 0, 0, 0))).toBe(
      Number(((h) => h ^ (h >> 15n))(BigInt.asUintN(32, (0x811c9dc5n ^ 1n) * 0x01000193n))),
    );
  });

  it('a part, or a byte that changed', () => {
    const damaged = 'this packed snapshot was damaged: its checksum is wrong';
    for (const n of [4, 7, 8, 100, bytes.length - 1]) expect(said(bytes.subarray(0, n))).toBe(damaged);
    for (let at = 4; at < bytes.length; at += 7)
      for (const bit of [1, 128]) {
        const b = bytes.slice();
        b[at] ^= bit;
        if (said(b) !== damaged) expect.fail(`byte ${at}: ${said(b)}`);
      }
  });
  it('another instruction set, on either side', () => {
    const other = { ...isa, hash: 'another' };
    expect(() => unpackProgram(bytes, other)).toThrow(
      /packed with another instruction set \(\w+, not another\)/,
    );
    const opcodes = isa.opcodes.map((o) => ({ ...o }));
    expect(() => packProgram(programs[0], { ...isa, opcodes })).toThrow(
      /is an opcode of another instruction set/,
    );
  });
  it('several snapshots where one is asked for', () => {
    expect(() => unpackProgram(packPrograms(programs.slice(0, 2), isa), isa)).toThrow(
      /holds 2 snapshots, not one/,
    );
    // A pack may lie anywhere in a larger buffer.
    const larger = new Uint8Array(bytes.length + 5);
    larger.set(bytes, 5);
    expect(unpackProgram(larger.subarray(5), isa)).toEqual(programs[0]);
  });
});
