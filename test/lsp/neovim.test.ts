import { spawnSync } from 'node:child_process';
import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, describe, expect, test } from 'vitest';
import { ROOT } from '../../src/spec/node-cache.ts';

/* A real client: Neovim, without a screen. */

const hasNeovim = spawnSync('nvim', ['--version']).status === 0;
const dir = mkdtempSync(join(tmpdir(), 'orrery-nvim-'));
afterAll(() => rmSync(dir, { recursive: true }));
const ORDER = 'kind: order\nextends: binary\nedits:\n  - { drop: OriLoopUnrolling }\n';

interface Seen {
  readonly missing?: string;
  readonly illegal: readonly string[];
  readonly fix: string;
  readonly line: string;
  readonly effect: string;
  readonly card: string;
  readonly definition: readonly string[];
  readonly references: number;
  readonly saved: readonly string[];
  readonly completion: string;
  readonly symbols: readonly string[];
  readonly instruction: string;
  readonly renamed: readonly [string, number];
  readonly kernel: string;
  readonly faults: readonly string[];
}

if (!hasNeovim) console.log('Neovim is not on the PATH: the language server is not tried with it');

describe.skipIf(!hasNeovim)('in Neovim', () => {
  test('somebody moves a phase, sees why that is illegal, accepts the fix, and reads what it does', {
    timeout: 120_000,
  }, () => {
    writeFileSync(join(dir, 'mine.yaml'), ORDER);
    cpSync(join(ROOT, 'test/kernels/irreducible/irreducible.sm_90.ptx'), join(dir, 'kernel.ptx'));
    const out = join(dir, 'seen.json');
    const script = join(dirname(fileURLToPath(import.meta.url)), 'neovim.lua');
    const ran = spawnSync(
      'nvim',
      ['--headless', '-u', 'NONE', '-i', 'NONE', '-n', '-c', `luafile ${script}`],
      {
        encoding: 'utf8',
        timeout: 110_000,
        cwd: dir,
        env: {
          ...process.env,
          XDG_CACHE_HOME: join(dir, 'cache'),
          XDG_STATE_HOME: join(dir, 'state'),
          NODE: process.execPath,
          SERVER: join(ROOT, 'bin', 'orrery.js'),
          FOLDER: dir,
          OUT: out,
        },
      },
    );
    const seen = JSON.parse(readFileSync(out, 'utf8')) as Seen;
    expect([seen.missing, ran.stderr.replace(/\s+/g, ' ')]).toEqual([
      undefined,
      expect.not.stringMatching(/E\d+:/),
    ]);
    expect(seen.illegal.join('\n')).toMatch(/OriBranchOpt looks for the branch at the end of its block/);
    expect(seen.fix).toMatch(/^move it to the nearest legal place: (after|before) \w+$/);
    expect(seen.line).toMatch(/^ {2}- \{ move: OriBranchOpt, (after|before): \w+ \}$/);
    expect(seen.effect).toMatch(/^changes (none|\d+) of \d+ kernels?/);
    expect(seen.card).toMatch(/\*\*OriBranchOpt\*\*/);
    expect(seen.definition.join('\n')).toMatch(/pipelines\/phases\.yaml/);
    expect(seen.references).toBeGreaterThan(3);
    expect(seen.saved.join('\n')).toBe(ORDER.trimEnd());
    expect(seen.completion).toMatch(/^(implemented|partial): /);
    expect(seen.symbols.length).toBeGreaterThan(0);
    expect(seen.instruction).toMatch(/p is true if a and b compare so/);
    expect(seen.renamed).toEqual([expect.stringMatching(/^%r/), expect.any(Number)]);
    expect(seen.renamed[1]).toBeGreaterThan(1);
    expect(seen.kernel).toMatch(/^\d+ -> \d+ instructions/);
    expect(seen.faults).toEqual([]);
  });
});
