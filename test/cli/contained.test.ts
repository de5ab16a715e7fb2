import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { textOrFault } from '../../src/cli/input/files.ts';
import { kernelFiles } from '../../src/lab/files.ts';
import { loadModules } from '../../src/lab/kernels.ts';
import { ROOT } from '../../src/spec/node.ts';

const dir = mkdtempSync(join(tmpdir(), 'orrery-contained-'));
afterAll(() => rmSync(dir, { recursive: true }));

const ptx = (sm: string, name: string): string =>
  `.version 8.0\n.target ${sm}\n.address_size 64\n.visible .entry ${name}()\n{\n ret;\n}\n`;

function fileOf(name: string, content: string | Uint8Array): string {
  const file = join(dir, name);
  writeFileSync(file, content);
  return file;
}

/** A fat binary as nvcc writes it: a header, then each text, uncompressed and padded, with its own header. */
function fatbin(...members: readonly (readonly [number, string])[]): Uint8Array {
  const parts = members.map(([target, text]) => {
    const payload = Buffer.alloc(Math.ceil((text.length + 1) / 8) * 8);
    payload.write(text);
    const head = Buffer.alloc(64);
    head.writeUInt16LE(1, 0);
    head.writeUInt16LE(0x101, 2);
    head.writeUInt32LE(64, 4);
    head.writeBigUInt64LE(BigInt(payload.length), 8);
    head.writeUInt32LE(target, 28);
    return Buffer.concat([head, payload]);
  });
  const body = Buffer.concat(parts);
  const head = Buffer.alloc(16);
  head.writeUInt32LE(0xba55ed50, 0);
  head.writeUInt16LE(1, 4);
  head.writeUInt16LE(16, 6);
  head.writeBigUInt64LE(BigInt(body.length), 8);
  return Buffer.concat([head, body]);
}

const section = (sm: string, text: string): string =>
  `\nFatbin ptx code:\n================\narch = ${sm}\ncode version = [8,0]\ncompile_size = 64bit\n\n${text}`;

describe('PTX in other files', () => {
  it('is the text of a fat binary that holds one', async () => {
    const file = fileOf('one.fatbin', fatbin([90, ptx('sm_90', 'a')]));
    expect(textOrFault(file)).toBe(ptx('sm_90', 'a'));
    const [m] = await loadModules([file]);
    expect([m.text, m.target]).toEqual([ptx('sm_90', 'a'), 'sm_90']);
  });

  it('is chosen by number where a file holds several, which are listed', () => {
    const file = fileOf('two.fatbin', fatbin([80, ptx('sm_80', 'a')], [90, ptx('sm_90', 'a')]));
    expect(textOrFault(file)).toEqual({
      fault: `${file} holds 2 modules of PTX`,
      notes: [`${file}#1: for sm_80, at 0x10`, expect.stringMatching(/#2: for sm_90, at 0x[0-9a-f]+$/)],
    });
    expect(textOrFault(`${file}#2`)).toBe(ptx('sm_90', 'a'));
    expect(textOrFault(`${file}#3`)).toMatchObject({ fault: expect.stringMatching(/, and no number 3$/) });
    expect(kernelFiles([`${file}#2`])).toHaveLength(1);
  });

  it('keeps its lines in a listing of cuobjdump', () => {
    const elf = '\nFatbin elf code:\n================\narch = sm_80\n';
    const one = fileOf('one.txt', elf + section('sm_80', ptx('sm_80', 'a')) + elf);
    const text = textOrFault(one) as string;
    expect(text.trim()).toContain(ptx('sm_80', 'a').trim());
    expect(text).not.toContain('Fatbin');
    expect(text.split('\n').indexOf('.version 8.0')).toBe(
      (elf + section('sm_80', ptx('sm_80', 'a'))).split('\n').indexOf('.version 8.0'),
    );
    const two = fileOf('two.txt', section('sm_80', ptx('sm_80', 'a')) + section('sm_90', ptx('sm_90', 'b')));
    expect(textOrFault(two)).toMatchObject({ notes: [`${two}#1: line 8`, `${two}#2: line 22`] });
    expect(textOrFault(`${two}#2`)).toContain('.entry b()');
  });

  it('is not in machine code, nor in a text that only speaks of it', () => {
    const cubin = join(ROOT, 'test/cubins/scale.sm_80.cubin');
    expect(textOrFault(cubin)).toMatchObject({ fault: `${cubin} holds machine code and no PTX` });
    const text = `${ptx('sm_80', 'a')}// as in\nFatbin ptx code:\n`;
    expect(textOrFault(fileOf('says.ptx', text))).toBe(text);
  });
});
