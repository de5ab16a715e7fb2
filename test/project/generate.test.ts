import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { branchyKernel, loopyKernel, straightKernel } from '../../src/tools/kernel-shapes.ts';

const kinds = { straightKernel, branchyKernel, loopyKernel };
const isInstruction = (line: string): boolean =>
  line.startsWith('\t') && line.endsWith(';') && !line.startsWith('\t.');

function hasPtxas(): boolean {
  try {
    execFileSync('ptxas', ['--version'], { stdio: 'ignore' });
    return true;
  } catch {
    return false;
  }
}

for (const [name, make] of Object.entries(kinds)) {
  test(`${name}: the same size gives the same text, and about that many instructions`, () => {
    for (const n of [10, 1000, 20_000]) {
      const text = make(n);
      expect(make(n)).toBe(text);
      const count = text.split('\n').filter(isInstruction).length;
      expect(count).toBeGreaterThan(n);
      expect(count).toBeLessThan(n * 1.25 + 150);
    }
  });

  test(`${name}: every label that is jumped to exists once`, () => {
    const text = make(5000);
    const labels = text.match(/^\$\w+(?=:)/gm) ?? [];
    const targets = text.match(/(?<=bra(?:\.uni)? \t)\$\w+/g) ?? [];
    expect(new Set(labels).size).toBe(labels.length);
    for (const target of targets) expect(labels).toContain(target);
  });

  test.skipIf(!hasPtxas())(`${name}: ptxas accepts it (needs ptxas)`, () => {
    const folder = mkdtempSync(join(tmpdir(), 'generate-'));
    try {
      const file = join(folder, 'kernel.ptx');
      writeFileSync(file, make(800));
      for (const sm of ['sm_75', 'sm_90']) {
        execFileSync('ptxas', [`-arch=${sm}`, '-O1', file, '-o', join(folder, 'cubin')]);
      }
    } finally {
      rmSync(folder, { recursive: true });
    }
  });
}
