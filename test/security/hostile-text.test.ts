import { spawnSync } from 'node:child_process';
import { chmodSync, existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { renderDiagnostic } from '../../src/ir/diagnostic.ts';
import {
  annotationProperty,
  annotationText,
  dotString,
  html,
  htmlLines,
  markdownBlock,
  markdownCode,
  markdownText,
  visible,
  yamlScalar,
} from '../../src/ir/quote.ts';
import { checkPtx } from '../../src/ptx/check.ts';
import { parsePtx } from '../../src/ptx/parse.ts';
import { targetOf } from '../../src/read.ts';
import { faultAnnotations } from '../../src/review/annotations.ts';
import { KINDS, readSpec } from '../../src/spec/document.ts';
import { ROOT, schemaOf } from '../../src/spec/node.ts';
import { testFolder } from '../support/specs.ts';

/*
 * Every character that affects whatever displays it, on every path by which a file's text is displayed. Random mixtures are tried by
 * test/security/hostile-fuzz.test.ts.
 */

/** C0, DEL and C1; separators of lines; marks of direction; what has no width; tags; halves of characters. By their numbers. */
const ACTING = [
  ...range(0, 0x1f),
  ...range(0x7f, 0x9f),
  ...[0xad, 0x34f, 0x61c, 0x115f, 0x180e, 0x2028, 0x2029, 0x3164, 0xfeff],
  ...range(0x200b, 0x200f),
  ...range(0x202a, 0x202e),
  ...range(0x2060, 0x206f),
  ...range(0xe0000, 0xe007f),
  ...[0xd800, 0xdfff],
].map((c) => String.fromCodePoint(c));
function range(from: number, to: number): number[] {
  return Array.from({ length: to - from + 1 }, (_, k) => from + k);
}

const FENCES = '```\n~~~\n</details></pre><img src=x>\n::error::y\n@all #1 [a](http://x)';
const ALL = `x${ACTING.join('x')}${FENCES}`;
const actingIn = (text: string): string[] => ACTING.filter((c) => text.includes(c));
const folder = testFolder();

describe('each character that acts', () => {
  const MEDIA: Readonly<Record<string, (text: string) => string>> = {
    visible,
    html,
    markdownText,
    markdownCode,
    annotationProperty,
    dotString,
    yamlScalar,
    htmlLines: (text) => htmlLines(text.replaceAll('\n', '')),
    annotationText,
    markdownBlock: (text) => markdownBlock(text.replaceAll('\n', '')).join(' '),
  };
  // Blocks of lines keep tabs.
  const KEPT: Readonly<Record<string, string>> = {
    htmlLines: '\t',
    annotationText: '\t',
    markdownBlock: '\t',
  };
  for (const [name, quote] of Object.entries(MEDIA))
    it(`does nothing in ${name}`, () => {
      for (const c of ACTING) {
        const shown = actingIn(quote(`a${c}b`));
        expect([c.codePointAt(0)!.toString(16), shown.filter((x) => x !== KEPT[name])]).toEqual([
          c.codePointAt(0)!.toString(16),
          [],
        ]);
      }
    });
});

/** What is said, line by line, none of which a text of a file has begun. */
function expectKept(shown: string): void {
  expect(actingIn(shown.replaceAll('\n', ''))).toEqual([]);
  for (const line of shown.split('\n')) expect(line).toMatch(/^(?:error: |warning: | )/);
}

describe('in messages', () => {
  const key = JSON.stringify(ALL);
  for (const kind of KINDS)
    it(`a spec of kind ${kind}`, () => {
      const titled = `kind: ${kind}\ntitle: ${key}\nname: ${key}\ngroup: ${key}\nmodule: ${key}\nextends: ${key}\n`;
      for (const text of [
        titled,
        `kind: ${kind}\n${key}: [${key}]\n`,
        `kind: ${kind}\n? ${key}\n: *${'a'}\n`,
      ]) {
        const found = readSpec(`${ALL}.yaml`, text, schemaOf).diagnostics;
        expect(found.length).toBeGreaterThan(0);
        for (const d of found) expectKept(renderDiagnostic(d, text));
      }
    });
  it('names in PTX, and the name of the file', () => {
    const line = ALL.replaceAll('\n', ' ');
    for (const body of [
      line,
      `add.${line} %r1, %r2;`,
      `mov.u32 %r${line}, 1;`,
      `L${line}: bra L;`,
      `.loc 1 ${line}`,
    ]) {
      const ptx = `.version 8.0\n.target sm_90\n.address_size 64\n.visible .entry k() { ${body}; }\n`;
      const found = parsePtx(ptx, `${ALL}.ptx`).diagnostics;
      expect(found.length).toBeGreaterThan(0);
      for (const d of found) expectKept(renderDiagnostic(d, ptx));
    }
  });
  it('annotations, with branches and files', () => {
    const place = { severity: 'error', code: 'x', line: 1, column: 1, length: 1 } as const;
    const [said, ...more] = faultAnnotations(
      [{ ...place, message: ALL, file: `${ALL}:${ALL}`, notes: [ALL] }],
      ALL,
    );
    expect([more, actingIn(said).filter((c) => c !== '\t')]).toEqual([[], []]);
  });
});

describe('commands', () => {
  /** The same without NUL, which no system takes in a name. */
  const WORD = 'x\n::error::y\r\u001b[31m\u009b31m\u202e\u{e0041}';
  const orrery = (args: readonly string[], env: Readonly<Record<string, string>> = {}) =>
    spawnSync(process.execPath, [join(ROOT, 'bin', 'orrery.js'), ...args], {
      cwd: folder.path,
      encoding: 'utf8',
      env: { ...process.env, ORRERY_SERVER: 'off', ...env },
    });
  /** Neither a line of its own, nor a character that acts. */
  function expectQuiet({ stdout, stderr }: { stdout: string; stderr: string }): void {
    expect(actingIn((stdout + stderr).replaceAll('\n', ''))).toEqual([]);
    expect(stdout + stderr).not.toMatch(/^::/m);
  }

  it('that do not know an option or a command quote it', () => {
    for (const args of [
      [WORD],
      ['opt', `--${WORD}`],
      ['opt', `--${WORD}=${WORD}`],
      ['rules', WORD],
      ['help', WORD],
    ]) {
      const r = orrery(args);
      expect([args, r.status, r.stderr]).toEqual([
        args,
        1,
        expect.stringContaining('x\\n::error::y\\r\\u001b[31m'),
      ]);
      expectQuiet(r);
    }
  });

  it('that tell the user what to type next quote the names in it', () => {
    const rule = (match: string) =>
      `kind: rules\ngroup: g\nowner: [GeneralOptimize]\npriority: 1\ntitle: t\nrules:\n` +
      `  - { id: a, title: t, match: '${match}', rewrite: 'PLOP3 $d, !PT, PT, PT, 0xf0', source: s }\n`;
    for (const name of ['x; touch ran #', '$(touch ran)', '-o']) {
      const files = { unproved: 'PLOP3 $d, $a, $b, $a, 0', faulty: 'NOTHING $d' };
      for (const [file, match] of Object.entries(files))
        writeFileSync(join(folder.path, `${name}${file}.yaml`), rule(match));
      const ptx = `${name}.ptx`;
      writeFileSync(
        join(folder.path, ptx),
        '.version 8.0\n.target sm_90\n.address_size 64\n.visible .entry k() { ret; }\n',
      );
      for (const [args, file] of [
        [['check', `./${name}unproved.yaml`], `${name}unproved.yaml`],
        [['rules', 'list', '--rules', `${name}faulty.yaml`], `${name}faulty.yaml`],
        [['trace', '--', ptx], ptx],
      ] as const) {
        const { stdout, stderr } = orrery(args);
        const said = stdout + stderr;
        const told = [...said.matchAll(/`(orrery [^`]*)`/g)].map((m) => m[1]);
        expect([args, said, told.length]).toEqual([args, said, 1]);
        for (const line of told) {
          const r = spawnSync('bash', ['-c', `orrery() { printf '%s\\n' "$@"; }\n${line}`], {
            cwd: folder.path,
            encoding: 'utf8',
          });
          const words = r.stdout.trimEnd().split('\n');
          expect([line, words]).toEqual([line, expect.arrayContaining([file.replace(/^-/, './-')])]);
        }
      }
    }
    expect(readdirSync(folder.path)).not.toContain('ran');
  });

  it('that stand for ptxas, beside its messages', () => {
    const ptxas = join(folder.path, 'ptxas');
    writeFileSync(ptxas, '#!/bin/sh\nprintf "info: \\033[31m%s\\n" "$*" >&2\n');
    chmodSync(ptxas, 0o755);
    const file = join(folder.path, 'a\u001b[31m.ptx');
    writeFileSync(
      file,
      '.version 8.0\n.target sm_90\n.address_size 64\n.visible .entry k() { addd.u32; ret; }\n',
    );
    const r = orrery(['ptxas', file, '-arch=sm_90', '-o', join(folder.path, 'a.cubin')], {
      ORRERY_PTXAS: ptxas,
    });
    expect(r.stderr).toContain('is used unmodified');
    expect(r.stderr).toContain('info: \\u001b[31m');
    expectQuiet(r);
  });

  it('that make a script of a folder run nothing of its name', () => {
    const name = 'cuda $(touch ran) `touch ran` "; touch ran; \' }';
    const bin = join(folder.path, name, 'bin');
    mkdirSync(bin, { recursive: true });
    for (const tool of ['nvcc', 'ptxas']) {
      writeFileSync(join(bin, tool), '#!/bin/sh\necho real\n');
      chmodSync(join(bin, tool), 0o755);
    }
    const made = orrery(['toolkit', 'ours', '--from', join(folder.path, name)]);
    expect([made.status, made.stderr]).toEqual([0, '']);
    const r = spawnSync(join(folder.path, 'ours', 'bin', 'ptxas'), ['--version'], {
      cwd: folder.path,
      encoding: 'utf8',
      env: { ...process.env, ORRERY_SERVER: 'off', ORRERY_PTXAS: '' },
    });
    expect([r.status, r.stdout]).toEqual([0, expect.stringContaining('real')]);
    expect(existsSync(join(folder.path, 'ran')) ? readdirSync(folder.path) : []).toEqual([]);
  });
});

/** Long enough that work which grows with its square takes minutes, short enough that other work takes no second. */
const LONG = 300_000;

describe('long runs of one character', () => {
  const kernel = '.version 8.0\n.target sm_90\n.address_size 64\n.visible .entry k()\n{\n  ret;\n}\n';

  it.each(['\n', '\r', '\r\n'])('%j before and after a kernel', (run) => {
    for (const text of [`${run.repeat(LONG)}${kernel}`, `${kernel}${run.repeat(LONG)}`]) {
      const { module, diagnostics } = parsePtx(text, 'k.ptx');
      expect([diagnostics, targetOf(text)]).toEqual([[], 'sm_90']);
      expect(checkPtx(module)).toEqual([]);
    }
    expect(parsePtx(run.repeat(LONG), 'k.ptx').diagnostics).toHaveLength(1);
  });

  it('line breaks in a text of a spec', () => {
    const text = `kind: recipe\ntitle: "${'\\n'.repeat(LONG)}x"\n`;
    expect(readSpec('r.yaml', text, schemaOf).diagnostics).toMatchObject([{ code: 'spec-text' }]);
  });

  it('aliases of a spec, each of which is looked for among those before it', () => {
    const text = `kind: recipe\ntitle: [&a x${', *a'.repeat(LONG / 10)}]\n`;
    expect(readSpec('r.yaml', text, schemaOf).diagnostics).toMatchObject([
      { code: 'yaml', message: 'more than 1000 aliases are not read' },
    ]);
  });

  it('a spec of nothing but commas, each of which would be an error of a kilobyte', () => {
    const text = `kind: recipe\ntitle: [${','.repeat(1_100_000)}]\n`;
    expect(readSpec('r.yaml', text, schemaOf).diagnostics).toMatchObject([
      { code: 'yaml', message: 'the text cannot be read: it has too many parts' },
    ]);
  });

  it('no pattern that is tried at each line takes line breaks with it', () => {
    // `^\s*` takes a run of empty lines from each of them.
    const patterns = ['src', 'bin'].flatMap((top) =>
      readdirSync(join(ROOT, top), { recursive: true, encoding: 'utf8' })
        .filter((f) => /\.(?:tsx?|[cm]?js)$/.test(f) && !f.startsWith('tools'))
        .filter((f) =>
          /\/\^\(?\\s[*+](?:\\.|[^/\n])*\/[a-z]*m/.test(readFileSync(join(ROOT, top, f), 'utf8')),
        ),
    );
    expect(patterns).toEqual([]);
  });
});
