import { spawnSync } from 'node:child_process';
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { run } from '../../src/cli/check/run.ts';
import { asm } from '../../src/cli/machine/asm.ts';
import { disasm } from '../../src/cli/machine/disasm.ts';
import { verify } from '../../src/cli/machine/verify.ts';
import { captured } from '../../src/cli/terminal/ui.ts';
import type { Content, ElfSymbol } from '../../src/cubin/contents.ts';
import type { Section } from '../../src/cubin/elf.ts';
import { parameterOf } from '../../src/cubin/info.ts';
import { readCubin } from '../../src/cubin/read.ts';
import { writeElf } from '../../src/cubin/write.ts';
import { ROOT } from '../../src/spec/node-cache.ts';
import { randomOf } from '../support/ptx-mutants.ts';
import { seeds } from '../support/size.ts';
import { testFolder } from '../support/specs.ts';

/*
 * Cubins with seeded damage: truncated, with changed bytes, or with impossible sizes, counts and links of sections. Reading or running one
 * gives a result, or one error. ORRERY_TEST_SIZE=500 tries 5,000 of them.
 */
const CASES = seeds(10);

const CODE = join(ROOT, 'test', 'machine-code');
const folder = testFolder();

/** The cubins, each with a launch and its PTX, if available. */
const SUBJECTS = readdirSync(CODE)
  .filter((f) => f.endsWith('.cubin'))
  .map((f) => {
    const [name] = f.split('.');
    const there = (path: string): string | null => (existsSync(path) ? path : null);
    return {
      bytes: readFileSync(join(CODE, f)),
      launch: there(join(ROOT, 'test', 'kernels', name, 'launch.yaml')),
      ptx: there(join(CODE, `${name}.ptx`)),
    };
  });

/** Fields of a section header by their offsets: those of four bytes, and those of eight (System V ABI, figure 4-8). */
const SHORT = [0, 4, 40, 44];
const LONG = [8, 16, 24, 32, 48, 56];
const SECTION_HEADER = 64;

/** A cubin with one kind of damage. */
function damaged(whole: Buffer, seed: number): Buffer {
  const r = randomOf(seed);
  const b = Buffer.from(whole);
  const headers = Number(b.readBigUInt64LE(40));
  const count = b.readUInt16LE(60);
  const extreme = (): bigint =>
    [0n, 1n, 2n, 2n ** 31n - 1n, 2n ** 32n - 1n, 2n ** 63n, 2n ** 64n - 1n, BigInt(r(b.length))][r(8)];
  switch (r(5)) {
    case 0:
      return b.subarray(0, r(b.length));
    case 1:
      for (let n = 1 + r(8); n > 0; n--) b[r(b.length)] = r(256);
      return b;
    case 2: {
      const at = headers + SECTION_HEADER * r(count);
      if (r(2) === 0) b.writeUInt32LE(Number(extreme() & 0xffff_ffffn), at + SHORT[r(SHORT.length)]);
      else b.writeBigUInt64LE(extreme(), at + LONG[r(LONG.length)]);
      return b;
    }
    case 3:
      b[16 + r(48)] = r(256);
      return b;
    default:
      b.writeUInt32LE(Number(extreme() & 0xffff_ffffn), 4 * r(b.length >> 2));
      return b;
  }
}

it('a damaged cubin gives a result or one error', async () => {
  let refused = 0;
  for (const seed of CASES) {
    const { bytes, launch, ptx } = SUBJECTS[seed % SUBJECTS.length];
    const file = folder.write('damaged.cubin', damaged(bytes, seed));
    for (const command of [
      () => disasm(file, {}),
      () => disasm(file, { json: true }),
      () => disasm(file, { sections: true }),
      () => disasm(file, { lines: true }),
      () => disasm(file, { hazards: true }),
      ...(launch === null ? [] : [() => run([launch], { cubin: file, opt: true, budget: '100000' })]),
      ...(ptx === null ? [] : [() => verify(ptx, file, {})]),
    ]) {
      const said = await captured(command);
      expect([seed, said.code, said.err]).toEqual([
        seed,
        expect.toSatisfy((code: number) => code === 0 || code === 1),
        expect.not.stringMatching(/internal fault|^\s+at .*:\d+:\d+|RangeError|TypeError/m),
      ]);
      if (said.err.startsWith('error: ')) refused++;
    }
  }
  expect(refused).toBeGreaterThan(0);
});

/** A cubin whose first function has its code again and again, at least so many bytes of it. */
function grown(whole: Buffer, least: number): Buffer {
  const headers = Number(whole.readBigUInt64LE(40));
  const names = headers + SECTION_HEADER * whole.readUInt16LE(62);
  const nameAt = Number(whole.readBigUInt64LE(names + 24));
  const nameOf = (at: number): string => {
    const from = nameAt + whole.readUInt32LE(at);
    return whole.toString('latin1', from, whole.indexOf(0, from));
  };
  const all = Array.from({ length: whole.readUInt16LE(60) }, (_, k) => headers + SECTION_HEADER * k);
  const header = all.find((at) => nameOf(at).startsWith('.text.'))!;
  const [from, size] = [24, 32].map((field) => Number(whole.readBigUInt64LE(header + field)));
  const code = Buffer.concat(Array(Math.ceil(least / size)).fill(whole.subarray(from, from + size)));
  const start = Math.ceil(whole.length / 128) * 128;
  const out = Buffer.concat([whole, Buffer.alloc(start - whole.length), code]);
  out.writeBigUInt64LE(BigInt(start), header + 24);
  out.writeBigUInt64LE(BigInt(code.length), header + 32);
  return out;
}

/** A fat binary of cubins, not packed. */
function fatbinOf(cubins: readonly Buffer[]): Buffer {
  const members = cubins.map((cubin) => {
    const head = Buffer.alloc(64);
    head.writeUInt16LE(2, 0);
    head.writeUInt32LE(64, 4);
    head.writeBigUInt64LE(BigInt(cubin.length), 8);
    return Buffer.concat([head, cubin]);
  });
  const head = Buffer.alloc(16);
  head.writeUInt32LE(0xba55ed50, 0);
  head.writeUInt16LE(16, 6);
  head.writeBigUInt64LE(BigInt(members.reduce((n, m) => n + m.length, 0)), 8);
  return Buffer.concat([head, ...members]);
}

it('the cubins of a file take memory one after another', () => {
  const cubin = grown(SUBJECTS[0].bytes, 2 ** 19);
  const file = folder.write('many.fatbin', fatbinOf(Array(8).fill(cubin)));
  const r = spawnSync(process.execPath, [join(ROOT, 'bin', 'orrery.js'), 'disasm', file], {
    maxBuffer: 2 ** 30,
    env: { ...process.env, ORRERY_SERVER: 'off', NODE_OPTIONS: '--max-old-space-size=130' },
  });
  expect([r.signal, r.status]).toEqual([null, 0]);
});

it('the code of a function is decoded while it is printed', () => {
  const file = folder.write('one.cubin', grown(SUBJECTS[0].bytes, 2 ** 21));
  // Decoded at once, its 131,072 instructions take 150 MB, and as one JSON document 450 MB.
  for (const [more, heap] of [
    [[], 100],
    [['--json'], 200],
  ] as const) {
    const r = spawnSync(process.execPath, [join(ROOT, 'bin', 'orrery.js'), 'disasm', file, ...more], {
      maxBuffer: 2 ** 30,
      env: { ...process.env, ORRERY_SERVER: 'off', NODE_OPTIONS: `--max-old-space-size=${heap}` },
    });
    expect([more, r.signal, r.status]).toEqual([more, null, 0]);
    if (more.length > 0)
      expect(JSON.parse(r.stdout.toString()).members[0].functions[0].instructions.length).toBeGreaterThan(
        2 ** 17 - 1,
      );
  }
}, 60_000);

it('a function of more instructions than are checked for hazards is an error', async () => {
  const file = folder.write('hazards.cubin', grown(SUBJECTS[0].bytes, 2 ** 23 + 16));
  const said = await captured(() => disasm(file, { hazards: true }));
  expect([said.code, said.out, said.err]).toEqual([
    1,
    '',
    expect.stringMatching(/^error: '\w+' of .* has 524,\d{3} instructions, and 524,288 are checked\n/),
  ]);
});

it('a kernel of more instructions than are compared is not compared', async () => {
  const { bytes, ptx } = SUBJECTS.find((s) => s.ptx !== null)!;
  const file = folder.write('large.cubin', grown(bytes, 2 ** 22 + 16));
  const said = await captured(() => verify(ptx!, file, {}));
  expect([said.code, said.out]).toEqual([
    expect.any(Number),
    expect.stringMatching(
      /not compared {2}\w+: it has 262,\d{3} instructions with what it may call, and 262,144 are/,
    ),
  ]);
});

describe('what a cubin says besides code counts too', () => {
  const NAME = 'besides';
  const ptx = `.version 8.0
.target sm_80
.address_size 64
.const .align 4 .b32 table[2] = {1, 2};
.global .align 8 .b32 cells[2] = {3, 4};
.global .align 8 .u64 cell = generic(cells)+4;
.visible .entry ${NAME}(.param .u64 out, .param .u32 n) {
  .reg .b32 %r<5>;
  .reg .b64 %rd<6>;
  ld.param.u64 %rd1, [out];
  ld.param.u32 %r1, [n];
  and.b32 %r1, %r1, 1;
  mul.wide.u32 %rd2, %r1, 4;
  mov.u64 %rd3, table;
  add.u64 %rd3, %rd3, %rd2;
  ld.const.u32 %r2, [%rd3];
  ld.global.u64 %rd4, [cell];
  ld.u32 %r3, [%rd4];
  add.u32 %r4, %r2, %r3;
  st.global.u32 [%rd1], %r4;
  ret;
}
.visible .entry other() { ret; }
`;
  /** The cubin that `asm` makes, with one thing changed. */
  const forged = async (change: (sections: Section[], at: (name: string) => number) => void) => {
    const source = folder.write('besides.ptx', ptx);
    const cubin = join(folder.path, 'besides.cubin');
    await captured(() => asm(source, { output: cubin }));
    const elf = readCubin(readFileSync(cubin));
    const sections = [...elf.sections];
    change(sections, (name) => sections.findIndex((s) => s.name === name));
    writeFileSync(cubin, writeElf({ ...elf, sections }));
    return captured(() => verify(source, cubin, { kernel: NAME }));
  };
  /** Another content of a section, whose kind is known. */
  const edit = <K extends Content['kind']>(
    sections: Section[],
    k: number,
    kind: K,
    to: (c: Extract<Content, { kind: K }>) => Partial<Extract<Content, { kind: K }>>,
  ): void => {
    const { content } = sections[k];
    if (content.kind !== kind) throw new Error(`${sections[k].name} is ${content.kind}`);
    const own = content as Extract<Content, { kind: K }>;
    sections[k] = { ...sections[k], content: { ...own, ...to(own) } };
  };
  const bytes =
    (name: string, at: number): Parameters<typeof forged>[0] =>
    (sections, of) =>
      edit(sections, of(name), 'bytes', (c) => ({ bytes: c.bytes.map((b, k) => (k === at ? b + 1 : b)) }));
  const symbol = (name: string, to: (s: ElfSymbol, of: (n: string) => number) => Partial<ElfSymbol>) =>
    ((sections, of) =>
      edit(sections, of('.symtab'), 'symbols', (c) => ({
        symbols: c.symbols.map((s) => (s.name === name ? { ...s, ...to(s, of) } : s)),
      }))) satisfies Parameters<typeof forged>[0];

  it('and where it is what the PTX says, code is compared', async () => {
    expect((await forged(() => {})).out).toContain(`equal  ${NAME}`);
  });

  it.each([
    ['initial bytes of a constant', "'table' begins with something else", bytes('.nv.constant3', 4)],
    ['initial bytes of a variable', "'cells' begins with something else", bytes('.nv.global.init', 0)],
    [
      'what an address in a variable is of',
      "'cell' begins with something else",
      (sections, of) =>
        edit(sections, of('.rela.nv.global.init'), 'relocations', (c) => ({
          relocations: c.relocations.map((r) => ({ ...r, addend: 0 })),
        })),
    ],
    ['where a variable is', "'cell' has another size", symbol('cell', () => ({ value: 12 }))],
    ['two variables at one place', 'overlap in the cubin', symbol('cells', () => ({ value: 8 }))],
    [
      'the memory of a variable',
      'in another memory',
      symbol('table', (_, of) => ({ section: of('.nv.constant4') })),
    ],
    [
      'the section of a kernel',
      'not the beginning',
      symbol(NAME, (_, of) => ({ section: of('.text.other') })),
    ],
    ['where a kernel begins', 'not the beginning', symbol(NAME, () => ({ value: 16 }))],
    [
      'a kernel that is there twice',
      'two sections of the cubin are called',
      (sections, of) => void sections.push({ ...sections[of(`.text.${NAME}`)] }),
    ],
    [
      'attributes of another kernel',
      'belongs to other code',
      (sections, of) => {
        const k = of(`.nv.info.${NAME}`);
        sections[k] = { ...sections[k], info: of('.text.other') };
      },
    ],
    [
      'sizes of parameters',
      'other sizes or places of its parameters',
      (sections, of) =>
        edit(sections, of(`.nv.info.${NAME}`), 'attributes', (c) => ({
          attributes: c.attributes.filter((a) => parameterOf(a)?.ordinal !== 1),
        })),
    ],
    [
      'what is added to a constant bank',
      'what is added to .nv.constant4',
      (sections, of) =>
        edit(sections, of('.rel.nv.constant4'), 'relocations', (c) => ({
          relocations: c.relocations.map((r) => ({ ...r, offset: r.offset + 4 })),
        })),
    ],
    [
      'relocations that cannot be read',
      'cannot be read',
      (sections, of) => {
        const k = of('.rel.nv.constant4');
        sections[k] = { ...sections[k], content: { kind: 'bytes', bytes: new Uint8Array(17) } };
      },
    ],
  ] satisfies [string, string, Parameters<typeof forged>[0]][])('%s', async (_, why, change) => {
    const { out } = await forged(change);
    expect(out).toContain('not compared');
    expect(out).toContain(why);
  });
});
