import { spawnSync } from 'node:child_process';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { run } from '../../src/cli/check/run.ts';
import { disasm } from '../../src/cli/machine/disasm.ts';
import { verify } from '../../src/cli/machine/verify.ts';
import { captured } from '../../src/cli/terminal/ui.ts';
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
