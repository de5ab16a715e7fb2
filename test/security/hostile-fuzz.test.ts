import { spawnSync } from 'node:child_process';
import { mkdirSync, realpathSync, symlinkSync, writeFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import { expect, it } from 'vitest';
import { parse } from 'yaml';
import { beyondFolder } from '../../src/cli/input/beyond-folder.ts';
import { renderDiagnostic } from '../../src/ir/diagnostic.ts';
import {
  html,
  markdownBlock,
  markdownCode,
  markdownText,
  shellWord,
  yamlScalar,
} from '../../src/ir/quote.ts';
import { parsePtx } from '../../src/ptx/parse.ts';
import { KINDS, readSpec } from '../../src/spec/document.ts';
import { schemaOf } from '../../src/spec/node.ts';
import { namedPath } from '../../src/spec/node-paths.ts';
import { randomOf } from '../support/ptx-mutants.ts';
import { seeds } from '../support/size.ts';
import { testFolder } from '../support/specs.ts';

/*
 * Seeded malicious files: texts that would affect whatever displays them, and file names that lead elsewhere. ORRERY_TEST_SIZE=500 tries
 * 20,000 of them.
 */
const CASES = seeds(40);

/** Pieces of texts: what acts on terminals, runners, browsers, Markdown and shells, and what is nothing special. */
const PIECES = [
  ...[
    '\u001b[2J',
    '\u001b]0;x\u0007',
    '\u009b31m',
    '\r',
    '\n',
    '\t',
    '\0',
    '\u0085',
    '\u2028',
    '\u202e',
    '\u2066',
    '\u200b',
  ],
  ...[
    '\u{e0041}',
    '\ufeff',
    '::error::x',
    '::stop-commands::x',
    '```',
    '~~~',
    '</details>',
    '<img src=x>',
    '-->',
    ']]>',
  ],
  ...[
    '@all',
    '#1',
    'http://x.y',
    'www.x.y',
    '[a](b)',
    '|',
    '*',
    '_',
    '$(id)',
    '`id`',
    "'",
    '"',
    '\\',
    ';',
    '&',
    '!',
    '{{',
    '%0A',
  ],
  ...['a', 'b c', 'ä', '\u{1f600}', '0', ' ', '-', ':', ',', '~'],
];
function hostile(seed: number): string {
  const r = randomOf(seed);
  return Array.from({ length: 1 + r(6) }, () => PIECES[r(PIECES.length)]).join('');
}

/** Whether a character acts: C0, DEL, C1, separators of lines, marks of direction, tags (by their code points). */
function acts(c: number): boolean {
  const within = (from: number, to: number) => c >= from && c <= to;
  return (
    c < 0x20 ||
    within(0x7f, 0x9f) ||
    within(0x2028, 0x202e) ||
    within(0x2066, 0x2069) ||
    within(0xe0000, 0xe007f)
  );
}
const acting = (text: string): string[] => [...text].filter((x) => acts(x.codePointAt(0)!));

it('no text acts in messages, whatever holds it', () => {
  for (const seed of CASES) {
    const text = hostile(seed);
    const kind = KINDS[seed % KINDS.length];
    const key = JSON.stringify(text);
    const spec = [
      `kind: ${key}\n`,
      `kind: ${kind}\n${key}: ${key}\n`,
      `kind: ${kind}\ntitle: ${key}\nedits: ${key}\n`,
    ][seed % 3];
    const ptx = `.version 8.0\n.target sm_90\n.address_size 64\n.visible .entry k() { ${text}; }\n`;
    const found = [
      ...readSpec(`${text}.yaml`, spec, schemaOf).diagnostics.map((d) => renderDiagnostic(d, spec)),
      ...parsePtx(ptx, `${text}.ptx`).diagnostics.map((d) => renderDiagnostic(d, ptx)),
    ];
    expect(found.length).toBeGreaterThan(0);
    for (const shown of found) {
      expect([seed, acting(shown.replaceAll('\n', ''))]).toEqual([seed, []]);
      // Lines begin with what says so, or are indented.
      for (const line of shown.split('\n'))
        expect([seed, line]).toEqual([seed, expect.stringMatching(/^(?:error: |warning: | )/)]);
    }
  }
});

it('a text is itself in a shell and in YAML, and none of it is markup', () => {
  const texts = CASES.map((seed) => hostile(seed).replaceAll('\0', ''));
  for (const [i, text] of texts.entries()) {
    const data = parse(`a: ${yamlScalar(text)}\n`) as unknown;
    expect([CASES[i], data]).toEqual([CASES[i], { a: text }]);
    expect([CASES[i], html(text)]).toEqual([CASES[i], expect.not.stringMatching(/[<>"']/)]);
    const inText = markdownText(text).replace(/&#?\w+;/g, '·');
    expect([CASES[i], inText]).toEqual([
      CASES[i],
      expect.not.stringMatching(/[<>`*[\]|~$\n]|@\w|#\w|https?:\/\/|(?<![a-z0-9])www\./i),
    ]);
    const code = markdownCode(text).replace(/^`([^`]*)`$|^<code>(.*)<\/code>$/s, '$1$2');
    expect([CASES[i], code]).toEqual([CASES[i], expect.not.stringMatching(/[`\n|]/)]);
    const [fence, ...lines] = markdownBlock(text);
    expect(lines.findIndex((l) => l.startsWith(fence))).toBe(lines.length - 1);
  }
  for (let at = 0; at < texts.length; at += 1000) {
    const some = texts.slice(at, at + 1000);
    const r = spawnSync('bash', ['-c', `printf '%s\\0' ${some.map(shellWord).join(' ')}`], {
      encoding: 'utf8',
    });
    expect(r.stdout.split('\0').slice(0, -1)).toEqual(some);
  }
});

it('no name leads out of the folder of the file that holds it', () => {
  const { path } = testFolder();
  const inner = join(path, 'inner');
  mkdirSync(join(inner, 'a', '.hidden'), { recursive: true });
  for (const f of ['secret', 'inner/k', 'inner/a/k', 'inner/a/.hidden/k']) writeFileSync(join(path, f), '');
  symlinkSync('..', join(inner, 'up'));
  symlinkSync('a', join(inner, 'same'));
  symlinkSync('/', join(inner, 'a', 'root'));
  let existing = 0;
  const STEPS = ['a', 'k', '..', '.', 'up', 'same', 'root', '.hidden', 'secret', 'none', 'etc'];
  for (const seed of CASES) {
    const r = randomOf(seed);
    const steps = Array.from({ length: 1 + r(5) }, () => STEPS[r(STEPS.length)]);
    const name = steps.join('/');
    let taken: string | null;
    try {
      taken = namedPath(name, join(inner, 'spec.yaml'));
    } catch {
      taken = null;
    }
    // What the system finds there; `..` is taken away from a name before links are followed.
    let real: string | null;
    try {
      real = relative(realpathSync(inner), realpathSync(join(inner, name)));
    } catch {
      real = null;
    }
    if (real === null) continue;
    existing++;
    const inside = !real.split('/').some((s) => s.startsWith('.'));
    expect([seed, name, taken !== null]).toEqual([seed, name, inside]);
  }
  expect(existing).toBeGreaterThan(0);
});

it('no word of a reproducer leads out of its folder unseen', () => {
  const WAYS: readonly ((path: string) => readonly string[])[] = [
    (p) => ['-o', p],
    (p) => [`-o${p}`],
    (p) => [`--output=${p}`],
    (p) => ['--rules', `a.yaml,${p}`],
    (p) => ['--set', `A=${p}`],
    (p) => ['--good', `--order ${p}`],
    (p) => ['--kernels', `{a,${p}}`],
    (p) => [p],
  ];
  for (const seed of CASES) {
    const r = randomOf(seed);
    const path = ['/', '//', '/etc/passwd', '/x', 'C:\\x', '\\\\host\\x'][r(6)];
    const command = ['opt', 'ab', 'run', 'check'][r(4)];
    expect([seed, beyondFolder([command, ...WAYS[r(WAYS.length)](path)], '').length > 0]).toEqual([
      seed,
      true,
    ]);
  }
});
