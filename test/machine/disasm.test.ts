import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, test } from 'vitest';
import { readRawElf } from '../../src/cubin/read.ts';
import { ROOT } from '../../src/spec/node-cache.ts';
import { checkFile } from '../../src/spec/node-check.ts';
import { command } from '../support/commands.ts';

const dir = mkdtempSync(join(tmpdir(), 'orrery-disasm-'));
afterAll(() => rmSync(dir, { recursive: true }));
const disasm = (...args: string[]) =>
  command(process.execPath, [join(ROOT, 'bin', 'orrery.js'), 'disasm', ...args], {
    cwd: ROOT,
    env: { ...process.env, NO_COLOR: '1' },
  });
const cubin = (name: string): string => join('test', 'cubins', name);

/** A test file with some bytes changed. */
function changed(name: string, change: (bytes: Buffer) => Buffer): string {
  const file = join(dir, `${Math.random()}-${name}`);
  writeFileSync(file, change(readFileSync(join(ROOT, cubin(name)))));
  return file;
}

describe.concurrent('orrery disasm', () => {
  test('counts how often warps execute each instruction of a launch', async () => {
    const file = 'test/machine-code/warp-redux.sm_80.O3.cubin';
    const r = await disasm(file, '--profile', 'test/kernels/warp-redux/launch.yaml', '--json');
    expect(r.code).toBe(0);
    const { members } = JSON.parse(r.out) as {
      members: { functions: { instructions: { text: string; executions: number }[] }[] }[];
    };
    const { instructions } = members[0].functions[0];
    // Two warps: each begins once and ends once, and none executes the padding.
    const of = (text: string) => instructions.filter((i) => i.text.startsWith(text)).map((i) => i.executions);
    expect([instructions[0].executions, of('EXIT'), new Set(of('NOP'))]).toEqual([2, [2], new Set([0])]);
    const sum = instructions.reduce((n, i) => n + i.executions, 0);
    expect(r.err).toContain(`warps executed ${sum} machine instructions of 'redux'`);
    const both = await disasm(file, '--profile', 'test/kernels/saxpy/launch.yaml');
    expect([both.code, both.err]).toEqual([
      1,
      expect.stringContaining("'saxpy' cannot be run: the machine code does not have it"),
    ]);
  });
  test('prints what its help shows', async () => {
    const help = (await disasm('--help')).out;
    const shown = help.split('\n').filter((l) => /^ {2}(\/\/|[0-9a-f]{4} )/.test(l));
    expect(shown.length).toBe(5);
    const { code, out } = await disasm(cubin('scale.sm_80.cubin'), '--function', 'scale', '--lines');
    expect(code).toBe(0);
    for (const line of shown) expect(out.split('\n')).toContain(line);
    expect(out).not.toContain('reverse:');
  });

  // What cuobjdump -sass prints of this file begins so.
  test('in the vendor spelling', async () => {
    const { out } = await disasm(cubin('scale.zstd.fatbin'), '--function', 'scale', '--vendor');
    expect(out).toMatch(/MOV R1, c\[0x0\]\[0x28\]\n.*S2R R2, SR_CTAID\.X\n/);
  });

  test('a word that is not known is an error with its address, and nothing is passed over', async () => {
    const file = changed('scale.sm_80.cubin', (bytes) => {
      const code = readRawElf(new Uint8Array(bytes)).sections.find((s) => s.name === '.text.scale')!;
      bytes[code.offset + 0x20] = 0xff;
      bytes[code.offset + 0x21] |= 0x0f;
      return bytes;
    });
    const { code, out, err } = await disasm(file, '--function', 'scale');
    expect(code).toBe(1);
    expect(out).toMatch(/0020 {2}\[.*\] {2}unknown [0-9a-f]{29}fff\n {2}0030 /);
    expect(err).toMatch(
      /1 instruction word is not known\n {2}sm_80 scale 0x20: [0-9a-f]{32}: no form has the opcode 0xfff/,
    );
  });

  test.each([
    [
      'cut off',
      [changed('scale.sm_90a.cubin', (b) => b.subarray(0, 4000))],
      /cannot take .* apart: .*cut off or damaged/,
    ],
    ['PTX', ['test/kernels/saxpy/saxpy.sm_90.ptx'], /neither a cubin, nor a fat binary[\s\S]*PTX is text/],
    ['missing', [cubin('scale.sm_80.cubi')], /no such file\n {2}did you mean 'scale\.sm_80\.cubin'/],
    ['only PTX', [cubin('scale.lz4.fatbin')], /holds no machine code, only PTX for compute_/],
    ['no such function', [cubin('scale.sm_80.cubin'), '--function', 'x'], /no function 'x'\n {2}it has /],
    [
      'no such target',
      [cubin('scale.sm_80.cubin'), '--sm', 'sm_90'],
      /no code for sm_90\n {2}it has code for sm_80/,
    ],
    ['two wishes', [cubin('scale.sm_80.cubin'), '--sections', '--lines'], /take one of the two/],
  ])('%s: one error', async (_what, args, message) => {
    const { code, out, err } = await disasm(...args);
    expect([code, out, err.match(/^error/gm)?.length]).toEqual([1, '', 1]);
    expect(err).toMatch(message);
  });
});

describe('orrery check of forms', () => {
  const faultsOf = async (text: string): Promise<string[]> => {
    const file = join(dir, `${text.length}.yaml`);
    writeFileSync(file, `kind: machine\nname: mine\nextends: ampere\nsms: [sm_999]\nforms:\n${text}`);
    return (await checkFile(file, new Set())).map((d) => `${d.line}: ${d.message}`);
  };
  test.each([
    ['  NOP: { opcode: 0x918, pipe: control }\n', []],
    [
      '  NOP:\n    opcode: 0x918\n    modifiers: { A: 70, B: 70+2 _ X - - }\n    pipe: control\n',
      [/^7: NOP: bit 70 belongs to A and to B/],
    ],
    ['  NOPE: { opcode: 0x918, pipe: control }\n', [/NOPE .*and NOP .*no fixed bit in which they differ/]],
    ['  X: { opcode: 0xfff, operands: "d:Q16", pipe: alu }\n', [/^6: X: .*'Q16' is not an operand/]],
    ['  X: { opcode: 0xfff, pipe: nothing }\n', [/pipe/]],
  ])('%j', async (text, expected) => {
    const faults = await faultsOf(text);
    expect(faults.length, faults.join('\n')).toBe(expected.length);
    expected.forEach((e, k) => void expect(faults[k]).toMatch(e));
  });
});
