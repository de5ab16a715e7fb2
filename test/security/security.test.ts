import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import {
  chmodSync,
  cpSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { get } from 'node:http';
import { join, relative, resolve } from 'node:path';
import { describe, expect, it, vi } from 'vitest';
import { parse } from 'yaml';
import { check } from '../../src/cli/check/check.ts';
import { type ReproOptions, repro } from '../../src/cli/debug/repro.ts';
import { serve } from '../../src/cli/explore/explore-server.ts';
import { PAGE_POLICY, WORKER_POLICY } from '../../src/cli/explore/page.ts';
import { beyondFolder } from '../../src/cli/input/beyond-folder.ts';
import { optionWords } from '../../src/cli/optimize/ptxas-options.ts';
import { ptxasPresent } from '../../src/cli/optimize/ptxas-run.ts';
import { runServer } from '../../src/cli/server/server.ts';
import { captured } from '../../src/cli/terminal/ui.ts';
import { DiagnosticError } from '../../src/ir/diagnostic.ts';
import { hashText } from '../../src/ir/hash.ts';
import { keyedHash } from '../../src/ir/keyed-hash.ts';
import { markdownCode, markdownText } from '../../src/ir/quote.ts';
import { buildIsa } from '../../src/isa/build.ts';
import { DiskCache } from '../../src/lab/disk-cache.ts';
import { kernelFiles } from '../../src/lab/files.ts';
import { parseProfile } from '../../src/lab/profile-file.ts';
import { sweepCsv } from '../../src/lab/render/sweep-csv.ts';
import { settingsOf } from '../../src/lsp/server/settings.ts';
import { faultAnnotations } from '../../src/review/annotations.ts';
import { ruleChanges } from '../../src/review/rules.ts';
import { reviewChanges, standing } from '../../src/review/trust.ts';
import { rulesOfDoc } from '../../src/rules/group.ts';
import { MOST_PARTS, parseJson } from '../../src/spec/json.ts';
import { readChecked, schemasHash, sha256, writeChecked } from '../../src/spec/node-cache.ts';
import { checkFile } from '../../src/spec/node-check.ts';
import { readNamed } from '../../src/spec/node-files.ts';
import { loadLaunch } from '../../src/spec/node-launch.ts';
import { namedPath, writtenBelow, writtenPath } from '../../src/spec/node-paths.ts';
import { sealed, unsealed } from '../../src/spec/node-seal.ts';
import { writeNew, writeReplacing } from '../../src/spec/node-write.ts';
import { POLICY as SITE_POLICY } from '../../src/tools/site-pages.ts';
import { testIsa } from '../support/isa.ts';
import { rendered, shipped, testFolder } from '../support/specs.ts';
import { WARM } from '../support/warm.ts';

/*
 * What SECURITY.md says. Each item of its lists is the title of a test here, and the last test sees that none is missing.
 */

const ROOT = join(import.meta.dirname, '..', '..');
const page = readFileSync(join(ROOT, 'SECURITY.md'), 'utf8');
const folder = testFolder();
/** Out of reach of all files in `inner`. */
const inner = join(folder.path, 'inner');
mkdirSync(inner);
const put = (name: string, text: string): string => {
  writeFileSync(join(inner, name), text);
  return join(inner, name);
};

const tested = new Set<string>();
/** A test whose title is an item of SECURITY.md. */
function says(sentence: string, body: () => void | Promise<void>): void {
  tested.add(sentence);
  it(sentence, body);
}

const SOURCES = ['src', 'bin']
  .flatMap((top) =>
    readdirSync(join(ROOT, top), { recursive: true, withFileTypes: true })
      .filter((f) => f.isFile() && /\.(ts|tsx|js|cjs|mjs)$/.test(f.name))
      .map((f) => relative(ROOT, join(f.parentPath, f.name))),
  )
  .filter((f) => !f.startsWith(join('src', 'tools')));
/** Sources of what users run in which a pattern is found. */
const having = (pattern: RegExp): string[] =>
  SOURCES.filter((f) => pattern.test(readFileSync(join(ROOT, f), 'utf8'))).sort();

/** What `orrery check` prints of files in `inner`. */
const checked = (names: readonly string[]) =>
  captured(() =>
    check(
      names.map((n) => join(inner, n)),
      {},
    ),
  );

/** `orrery repro`, whose command is a process of its own. */
async function reproduced(file: string, o: ReproOptions = {}) {
  const script = process.argv[1];
  process.argv[1] = join(ROOT, 'bin', 'orrery.js');
  try {
    return await captured(() => repro(file, o));
  } finally {
    process.argv[1] = script;
  }
}

/**
 * Characters that act, written out, not taken from what quotes: C0 but line breaks, DEL, C1, separators, marks of direction, tags.
 * @param lines whether line breaks are no fault
 */
function acting(text: string, lines = false): string[] {
  const between = (c: number, from: number, to: number) => c >= from && c <= to;
  const acts = (c: number) =>
    (c < 0x20 && !(lines && c === 10)) ||
    between(c, 0x7f, 0x9f) ||
    between(c, 0x200b, 0x200f) ||
    between(c, 0x2028, 0x202e) ||
    between(c, 0x2066, 0x2069) ||
    between(c, 0xe0000, 0xe007f);
  return [...text].filter((x) => acts(x.codePointAt(0)!)).map((x) => x.codePointAt(0)!.toString(16));
}

/** What is said of a launch that names a module. */
async function launchOf(module: string): Promise<string> {
  const text = `kind: launch\nmodule: ${JSON.stringify(module)}\nkernel: k\ngrid: [1]\nblock: [1]\nparams: []\n`;
  try {
    await loadLaunch(put('l.yaml', text));
    return 'read';
  } catch (e) {
    if (!(e instanceof DiagnosticError)) throw e;
    return rendered(e.diagnostics, text);
  }
}

const KERNEL = '.version 8.0\n.target sm_90\n.address_size 64\n.visible .entry k() { ret; }\n';
const reproducer = (command: readonly string[], files: Readonly<Record<string, string>>): string =>
  JSON.stringify({
    kind: 'reproducer',
    version: 1,
    orrery: '0.1.0',
    node: 'v20.0.0',
    failure: { kind: 'x', text: 'x', phase: null, function: null, stack: [] },
    plan: null,
    seed: null,
    stdin: null,
    command,
    files: Object.entries(files).map(([path, content]) => ({ path, encoding: 'utf8', content })),
  });

describe('programs', () => {
  says(
    'The only programs that Orrery starts are `git`, `ptxas`, `nvcc`, a browser (`explore --open`), `npm`, itself, ' +
      'and what `--command`, `--solver` and `--with` name.',
    () => {
      // Whoever adds a file here adds to the sentence too.
      const starts: Readonly<Record<string, string>> = {
        'bin/build.mjs': 'npm',
        'bin/ensure.mjs': 'npm',
        'src/cli/explore/explore.ts': 'a browser',
        'src/cli/check/judges.ts': '--command',
        'src/cli/optimize/ptxas-run.ts': '--with',
        'src/cli/optimize/ptxas.ts': 'ptxas',
        'src/cli/debug/repro.ts': 'itself',
        'src/cli/lsp/lsp.ts': 'itself',
        'src/cli/server/server-keeper.ts': 'itself',
        'src/cli/server/server.ts': 'itself',
        'src/cli/rules/solver.ts': '--solver',
        'src/cli/optimize/toolkit.ts': 'nvcc',
        'src/lab/refs.ts': 'git',
      };
      expect(having(/child_process/)).toEqual(Object.keys(starts).sort());
      for (const program of Object.values(starts)) expect(page).toContain(program);
    },
  );

  says(
    'The configuration of a repository starts nothing: git fetches nothing for Orrery, asks no monitor, runs no filter, ' +
      'and takes no bare repository and no working tree elsewhere.',
    () => {
      const theirs = join(folder.path, 'theirs');
      const marker = join(folder.path, 'git-ran');
      for (const f of ['pipelines', 'knobs']) cpSync(join(ROOT, f), join(theirs, f), { recursive: true });
      const git = (...args: string[]) => {
        const r = spawnSync('git', ['-c', 'user.name=a', '-c', 'user.email=a@b', ...args], {
          cwd: theirs,
          encoding: 'utf8',
        });
        expect([args, r.status]).toEqual([args, 0]);
        return r.stdout.trim();
      };
      git('init', '-q', '-b', 'main');
      git('add', '-A');
      git('-c', 'commit.gpgsign=false', 'commit', '-qm', 'specs');
      const object = git('rev-parse', 'HEAD:pipelines/phases.yaml');
      // A filter would clean what is not as it was when git last looked at it.
      git('config', 'filter.x.clean', `touch ${marker}; cat`);
      git('config', 'filter.x.required', 'true');
      mkdirSync(join(theirs, 'src'));
      writeFileSync(join(theirs, '.git', 'info', 'attributes'), '* filter=x\n');
      const [tree, phases] = [join(theirs, 'src', 'a.ts'), join(theirs, 'pipelines', 'phases.yaml')];
      writeFileSync(tree, 'a');
      writeFileSync(phases, readFileSync(phases));
      const working = spawnSync(
        process.execPath,
        [join(ROOT, 'bin/orrery.js'), 'diff', 'main', '--no-kernels'],
        {
          cwd: theirs,
          encoding: 'utf8',
          env: { ...process.env, ...WARM, GIT_CEILING_DIRECTORIES: folder.path },
        },
      );
      expect([working.status, working.stdout]).toEqual([
        2,
        expect.stringContaining('every plan is the same'),
      ]);
      expect(existsSync(marker)).toBe(false);
      for (const [key, value] of [
        ['core.fsmonitor', `touch ${marker}; false`],
        // A blob that is not there is fetched, by a command of the other side.
        ['extensions.partialClone', 'origin'],
        ['remote.origin.promisor', 'true'],
        ['remote.origin.url', theirs],
        ['remote.origin.uploadpack', `touch ${marker}; false`],
      ])
        git('config', key, value);
      rmSync(join(theirs, '.git', 'objects', object.slice(0, 2), object.slice(2)));
      const diff = (cwd: string) =>
        spawnSync(process.execPath, [join(ROOT, 'bin/orrery.js'), 'diff', 'main', 'main', '--no-kernels'], {
          cwd,
          encoding: 'utf8',
          env: { ...process.env, ...WARM, GIT_CEILING_DIRECTORIES: folder.path },
        });
      const r = diff(theirs);
      expect([r.status, r.stderr]).toEqual([1, expect.stringContaining('nothing is fetched here')]);
      // The same where a folder is a repository by the files in it, which an archive or a reproducer can hold.
      const bare = join(folder.path, 'bare');
      cpSync(join(theirs, '.git'), bare, { recursive: true });
      for (const f of ['pipelines', 'knobs']) cpSync(join(ROOT, f), join(bare, f), { recursive: true });
      for (const [key, value] of [
        ['core.bare', 'false'],
        ['core.worktree', '.'],
      ])
        expect(spawnSync('git', ['config', '--file', 'config', key, value], { cwd: bare }).status).toBe(0);
      expect(diff(bare).stderr).not.toContain('nothing is fetched here');
      // Nor are specs read where the configuration says that the working tree is.
      const pointing = join(folder.path, 'pointing');
      mkdirSync(pointing);
      cpSync(join(theirs, '.git'), join(pointing, '.git'), { recursive: true });
      for (const to of [theirs, folder.path]) {
        expect(spawnSync('git', ['config', 'core.worktree', to], { cwd: pointing }).status).toBe(0);
        expect([to, diff(pointing).stderr]).toEqual([to, expect.not.stringContaining(theirs)]);
        expect(diff(pointing).stderr).not.toContain('nothing is fetched here');
      }
      expect(existsSync(marker)).toBe(false);
    },
  );

  says('No spec, launch or experiment has a property that names a program or a command.', () => {
    const names = new Set<string>();
    const walk = (schema: unknown): void => {
      if (schema === null || typeof schema !== 'object') return;
      for (const [key, value] of Object.entries(schema)) {
        if (key === 'properties') for (const name of Object.keys(value as object)) names.add(name);
        walk(value);
      }
    };
    for (const f of readdirSync(join(ROOT, 'schemas')).filter((n) => n.endsWith('.json')))
      walk(JSON.parse(readFileSync(join(ROOT, 'schemas', f), 'utf8')));
    expect(names.size).toBeGreaterThan(100);
    expect(
      [...names].filter((n) => /(?:^|-)(?:command|program|shell|exec|script|solver|tool)s?(?:-|$)/i.test(n)),
    ).toEqual([]);
  });

  says('The meaning of an opcode is arithmetic: no name in it reaches JavaScript.', async () => {
    const isa = parse(readFileSync(join(ROOT, 'pipelines', 'isa', 'integer.yaml'), 'utf8')) as {
      opcodes: Record<string, { means: string }>;
    };
    const [name, opcode] = Object.entries(isa.opcodes).find(([, o]) => typeof o.means === 'string')!;
    for (const value of [
      'process',
      'globalThis',
      'H',
      'constructor(a)',
      '__proto__',
      'toString(a)',
      'a.constructor',
      'r[0]',
      '`x`',
    ]) {
      const means = `d = ${value}`;
      const file = put(
        'isa.yaml',
        JSON.stringify({ kind: 'isa', opcodes: { [name]: { ...opcode, means } } }),
      );
      const found = (await checkFile(file, new Set())).filter((d) => d.severity === 'error');
      expect([value, found.length]).not.toEqual([value, 0]);
    }
    // The only place where text becomes code.
    expect(having(/new Function\(|\beval\(['"`]|runIn(?:This|New)?Context/)).toEqual([
      'bin/orrery.js',
      'src/isa/lanes.ts',
    ]);
  });
});

describe('files', () => {
  const outside = folder.write('outside.ptx', KERNEL);
  const secret = folder.write('secret', 'top:secret:text\n');

  says(
    'A file may name others in its own folder, in the project in which the command runs, and in Orrery; other folders need `--allow-path`.',
    async () => {
      put('k.ptx', KERNEL);
      expect(await launchOf('k.ptx')).toBe('read');
      expect(await launchOf(join(ROOT, 'test/kernels/saxpy/saxpy.sm_90.ptx'))).toBe('read');
      for (const name of ['../outside.ptx', outside, '/proc/self/environ'])
        expect(await launchOf(name)).toContain(
          'neither in the folder of the file that names it nor in the project',
        );
      // What is proposed opens no more than that.
      for (const [name, opened] of [
        ['../outside.ptx', folder.path],
        ['..', folder.path],
      ])
        expect(() => namedPath(name, join(inner, 'l.yaml'))).toThrow(
          expect.objectContaining({
            notes: [`where it is meant, --allow-path ${realpathSync(opened)} allows it`],
          }),
        );
      process.env['ORRERY_ALLOW_PATH'] = folder.path;
      expect(await launchOf(outside)).toBe('read');
      delete process.env['ORRERY_ALLOW_PATH'];
    },
  );

  it('a folder that several users write into is no project, whatever one of them has put there', () => {
    const shared = join(folder.path, 'shared');
    const mine = join(shared, 'mine');
    mkdirSync(mine, { recursive: true });
    mkdirSync(join(shared, '.git'));
    writeFileSync(join(shared, 'k.ptx'), KERNEL);
    writeFileSync(
      join(mine, 'l.yaml'),
      'kind: launch\nmodule: ../k.ptx\nkernel: k\ngrid: [1]\nblock: [1]\nparams: []\n',
    );
    const runs = (mode: number) => {
      chmodSync(shared, mode);
      return spawnSync(process.execPath, [join(ROOT, 'bin/orrery.js'), 'run', 'l.yaml'], {
        cwd: mine,
        encoding: 'utf8',
        env: { ...process.env, ...WARM },
      });
    };
    expect(runs(0o755).status).toBe(0);
    expect(runs(0o1777).stderr).toContain('nor in the project');
  });

  says('Hidden files, and files outside that a link leads to, may not be named.', async () => {
    put('.hidden.ptx', KERNEL);
    symlinkSync(outside, join(inner, 'link.ptx'));
    mkdirSync(join(inner, '.git'));
    writeFileSync(join(inner, '.git', 'k.ptx'), KERNEL);
    for (const name of ['.hidden.ptx', 'link.ptx', '.git/k.ptx'])
      expect([name, await launchOf(name)]).toEqual([name, expect.stringContaining('nor in the project')]);
  });

  it('a pattern follows no link to a folder elsewhere, and comes to an end in deep folders', () => {
    const here = join(inner, 'patterns');
    const apart = join(folder.path, 'kernels-apart');
    mkdirSync(join(here, ...Array.from({ length: 25 }, () => 'a')), { recursive: true });
    mkdirSync(apart);
    writeFileSync(join(apart, 'k.ptx'), KERNEL);
    symlinkSync(apart, join(here, 'l'));
    writeFileSync(join(here, 'k.ptx'), KERNEL);
    for (const pattern of ['*/k.ptx', '*/*.ptx'])
      expect(() => kernelFiles([pattern], here)).toThrow('is not read');
    const deep = `${'**/'.repeat(12)}*.ptx`;
    expect(kernelFiles([deep], here).map((f) => resolve(f))).toEqual([join(here, 'k.ptx')]);
    symlinkSync(join(apart, 'k.ptx'), join(here, 'launch.yaml'));
    const r = spawnSync(process.execPath, [join(ROOT, 'bin/orrery.js'), 'measure', join(here, 'k.ptx')], {
      encoding: 'utf8',
      env: { ...process.env, ...WARM },
    });
    expect([r.status, r.stderr]).toEqual([1, expect.stringContaining('it is a link that leads elsewhere')]);
  });

  says('No line of a file that may not be named is printed.', async () => {
    put('s.yaml', `kind: launch\nmodule: ${secret}\nkernel: k\ngrid: [1]\nblock: [1]\nparams: []\n`);
    symlinkSync(secret, join(inner, 'planted.yaml'));
    symlinkSync(secret, join(inner, 'planted.ptx'));
    const r = await checked(['s.yaml', 'planted.yaml', 'planted.ptx']);
    expect([r.code, r.out + r.err]).toEqual([1, expect.stringContaining('planted.ptx')]);
    expect(r.out + r.err).not.toMatch(/\b(?:top|secret:|text)\b/);
  });

  says(
    'A link in the place of an output file, or of a folder below the one that `-o` names, ' +
      'is followed only where it leads into the same folder or project, and into Orrery only where that is the project.',
    () => {
      // The project is that of this process, Orrery; from a folder apart from it, a link into it leads elsewhere.
      const orrery = join(folder.path, 'orrery');
      const apart = join(folder.path, 'apart-from-it');
      for (const f of ['bin', 'dist', 'knobs', 'package.json', 'pipelines', 'schemas', 'src'])
        cpSync(join(ROOT, f), join(orrery, f), { recursive: true });
      symlinkSync(join(ROOT, 'node_modules'), join(orrery, 'node_modules'));
      mkdirSync(apart);
      writeFileSync(join(apart, 'k.ptx'), KERNEL);
      const opt = (output: string, ...more: string[]) =>
        spawnSync(process.execPath, [join(orrery, 'bin/orrery.js'), 'opt', 'k.ptx', '-o', output, ...more], {
          cwd: apart,
          encoding: 'utf8',
          env: { ...process.env, ...WARM },
        });
      for (const to of ['pipelines/phases.yaml', 'bin/orrery.js', 'pipelines/orders/new.yaml']) {
        rmSync(join(apart, 'out.ptx'), { force: true });
        symlinkSync(join(orrery, to), join(apart, 'out.ptx'));
        const r = opt('out.ptx');
        expect([to, r.status, r.stderr]).toEqual([to, 1, expect.stringContaining('it is a link to')]);
      }
      expect(existsSync(join(orrery, 'pipelines/orders/new.yaml'))).toBe(false);
      mkdirSync(join(apart, 'results'));
      symlinkSync(join(orrery, 'pipelines'), join(apart, 'results', 'sub'));
      mkdirSync(join(apart, 'kernels', 'sub'), { recursive: true });
      writeFileSync(join(apart, 'kernels', 'sub', 'k.ptx'), KERNEL);
      const many = spawnSync(
        process.execPath,
        [join(orrery, 'bin/orrery.js'), 'opt', 'kernels', '-o', 'results', '--emit', 'ptx'],
        { cwd: apart, encoding: 'utf8', env: { ...process.env, ...WARM } },
      );
      expect([many.status, many.stderr]).toEqual([1, expect.stringContaining('by a link')]);
      // Files there may still be named.
      expect(opt('k.out.ptx', '--order', join(orrery, 'pipelines/orders/binary.yaml')).status).toBe(0);

      symlinkSync(join(folder.path, 'victim'), join(inner, 'out.ptx'));
      expect(() => writtenPath(join(inner, 'out.ptx'))).toThrow('it is a link to');
      symlinkSync('real.ptx', join(inner, 'mine.ptx'));
      expect(writtenPath(join(inner, 'mine.ptx'))).toMatch(/real\.ptx$/);
      mkdirSync(join(inner, 'results'));
      const below = join(inner, 'results', 'sub');
      symlinkSync(folder.path, below);
      expect(() => writtenBelow(join(inner, 'results'), join(below, 'new', 'k.ptx'))).toThrow('by a link');
      expect(() => writtenBelow(below, join(below, 'new', 'k.ptx'))).not.toThrow();
      mkdirSync(join(inner, 'kernels', 'sub'), { recursive: true });
      writeFileSync(join(inner, 'kernels', 'sub', 'k.ptx'), KERNEL);
      const r = spawnSync(
        process.execPath,
        [join(ROOT, 'bin/orrery.js'), 'opt', 'kernels', '-o', 'results', '--emit', 'ptx'],
        { cwd: inner, encoding: 'utf8', env: { ...process.env, ...WARM } },
      );
      expect([r.status, r.stderr]).toEqual([1, expect.stringContaining('by a link')]);
      expect(existsSync(join(folder.path, 'k.ptx'))).toBe(false);
      // Where files are written: as that says, or in a new folder for temporary files.
      const temporary = [
        'src/cli/check/judges.ts',
        'src/cli/optimize/ptxas-run.ts',
        'src/cli/optimize/ptxas.ts',
        'src/cli/optimize/toolkit.ts',
      ];
      expect(
        having(/\b(?:writeFile|appendFile|copyFile|cp|createWriteStream)(?:Sync)?\(/).filter(
          (f) => f.startsWith('src') && !temporary.includes(f),
        ),
      ).toEqual(['src/cli/input/files.ts', 'src/lab/sweep-file.ts', 'src/spec/node-write.ts']);
      for (const f of temporary)
        expect([f, readFileSync(join(ROOT, f), 'utf8')]).toEqual([
          f,
          expect.stringMatching(/\bmkdtempSync\(|\baside\b/),
        ]);
    },
  );

  says(
    '`orrery ptxas` has ptxas write into a new folder, whatever options files say, and places the result as any other output; ' +
      'these hold only options that ptxas documents, and name only files in their reach.',
    () => {
      const here = join(inner, 'drop-in');
      mkdirSync(here);
      const at = (name: string, text: string, mode?: number) =>
        writeFileSync(join(here, name), text, { mode });
      at('k.ptx', KERNEL);
      // Writes where the last option says, as ptxas does, and follows links.
      at('fake', '#!/bin/sh\nfor last; do :; done\necho made > "$last"\n', 0o755);
      symlinkSync(join(folder.path, 'dropped'), join(here, 'v.o'));
      const ptxas = (...args: string[]) =>
        spawnSync(process.execPath, [join(ROOT, 'bin/orrery.js'), 'ptxas', 'k.ptx', '-arch=sm_90', ...args], {
          cwd: here,
          encoding: 'utf8',
          timeout: 20_000,
          env: { ...process.env, ...WARM, ORRERY_PTXAS: join(here, 'fake') },
        });
      at('plain', '-o v.o\n');
      at('nested', '-optf plain\n');
      at('quoted', '-o "v.o"');
      at('escaped', '--output-file=v\\.o');
      for (const f of ['plain', 'nested', 'quoted', 'escaped']) {
        const r = ptxas('-optf', f);
        expect([f, r.status, r.stderr]).toEqual([f, 1, expect.stringContaining('it is a link to')]);
      }
      expect(existsSync(join(folder.path, 'dropped'))).toBe(false);
      at('input', '-o "k.ptx"');
      for (const args of [['-optf', 'input'], ['-o=k.ptx'], ['-o', 'k.ptx']])
        expect(ptxas(...args).stderr).toContain('it is an input');
      expect(readFileSync(join(here, 'k.ptx'), 'utf8')).toBe(KERNEL);
      at('good', '-optf good\n-o "a b.o"');
      expect([ptxas('-optf=good').status, readFileSync(join(here, 'a b.o'), 'utf8')]).toEqual([0, 'made\n']);
      for (const [name, option] of [
        ['stats', '--compiler-stats=time --compiler-stats-file=v.o'],
        ['in-quotes', '"--compiler-stats-file"=v.o'],
        ['parted', '-"-link-info=v.o"'],
        ['deeper', '-optf stats'],
      ] as const) {
        at(name, option);
        const r = ptxas('-optf', name);
        expect([name, r.status, r.stderr]).toEqual([
          name,
          1,
          expect.stringMatching(/^error: \S+ holds the option --[a-z-]+, which ptxas does not document/),
        ]);
      }
      // None of many is passed over.
      at('twice-0', '-o v.o');
      for (let k = 1; k < 11; k++) at(`twice-${k}`, `-optf twice-${k - 1} -optf twice-${k - 1}`);
      expect(ptxas('-optf', 'twice-10').stderr).toContain('there are more than 1000 options files');
      // On the command line the user says so.
      expect(ptxas('--compiler-stats=time', '--compiler-stats-file=stats').status).toBe(0);
      const secret = folder.write('theirs.ptx', KERNEL);
      for (const text of [secret, '../../theirs.ptx', `-optf ${secret}`]) {
        at('outside', text);
        expect([text, ptxas('-optf', 'outside').stderr]).toEqual([
          text,
          expect.stringContaining('it is neither in the folder of the file that names it nor in the project'),
        ]);
      }
      // Nor does it wait for files of the kernel, or call what cannot be read a temporary file.
      symlinkSync('/proc/kmsg', join(here, 'waits'));
      symlinkSync('/proc/self/mem', join(here, 'broken'));
      for (const args of [['waits'], ['-optf', 'waits'], ['broken'], ['-optf', 'broken']]) {
        const r = ptxas(...args);
        expect([args, r.signal, r.status, r.stderr]).toEqual([
          args,
          null,
          1,
          expect.stringMatching(/^error: cannot read (?:waits|broken): /),
        ]);
      }
    },
  );

  it.skipIf(!ptxasPresent())(
    'ptxas takes the last output that it is given, and reads options as we do',
    () => {
      const here = join(inner, 'real');
      mkdirSync(here);
      writeFileSync(join(here, 'k.ptx'), KERNEL);
      for (const [text, ...words] of [
        ['-o "a b"', '-o', 'a b'],
        ['-o a\\ b', '-o', 'a b'],
        ['-o\n"a"b""', '-o', 'ab'],
        ["-o 'a'", '-o', "'a'"],
        ['-o=a', '-o=a'],
      ]) {
        expect(optionWords(text)).toEqual(words);
        writeFileSync(join(here, 'options'), text);
        const run = (...args: string[]) =>
          spawnSync('ptxas', ['-arch=sm_90', 'k.ptx', '-optf', 'options', ...args], { cwd: here }).status;
        const there = () => readdirSync(here).filter((f) => f !== 'k.ptx' && f !== 'options');
        expect([run('-o', 'last'), there()]).toEqual([0, ['last']]);
        rmSync(join(here, 'last'));
        expect([run(), there()]).toEqual([0, [words.at(-1)!.replace(/^-o=/, '')]]);
        for (const f of there()) rmSync(join(here, f));
      }
    },
  );

  says(
    'A file is written under a name that nobody can foresee and then renamed: it appears whole, or not at all.',
    () => {
      const here = join(inner, 'written');
      mkdirSync(here);
      const names = new Set<string>();
      for (let i = 0; i < 3; i++) {
        // What cannot be written leaves nothing; the error names the path that was tried.
        mkdirSync(join(here, `taken${i}`, 'x'), { recursive: true });
        try {
          writeReplacing(join(here, `taken${i}`), 'x');
        } catch (e) {
          names.add((e as { path: string }).path.replace(/taken\d/, ''));
        }
      }
      expect(names.size).toBe(3);
      expect(readdirSync(here)).toEqual(['taken0', 'taken1', 'taken2']);
      writeReplacing(join(here, 'good'), 'x');
      expect(readFileSync(join(here, 'good'), 'utf8')).toBe('x');
      // A failure leaves no open file behind.
      const open = () => readdirSync('/dev/fd').length;
      const before = open();
      for (let i = 0; i < 5; i++) expect(() => writeNew(join(here, 'bad'), {} as never)).toThrow(TypeError);
      expect([open(), existsSync(join(here, 'bad'))]).toEqual([before, false]);
    },
  );

  says(
    'A spec of more than 4 MiB is not read, and no other file of more than 256 MiB; pipes and devices are not read.',
    () => {
      const file = put('large', '');
      for (const [use, most] of [
        ['spec', 4 * 2 ** 20],
        ['input', 256 * 2 ** 20],
      ] as const) {
        truncateSync(file, most + 1);
        expect(() => readNamed(file, use)).toThrow(`more than the ${most} that are read`);
      }
      truncateSync(file, 4 * 2 ** 20);
      expect(readNamed(file, 'spec').length).toBe(4 * 2 ** 20);
      for (const device of ['/dev/zero', '/dev/tty'].filter((d) => existsSync(d)))
        expect(() => readNamed(device, 'input')).toThrow('it is not a regular file');
      // A file of the kernel that says that it is regular, and waits for more once it has been read.
      symlinkSync('/proc/kmsg', join(inner, 'waits.ptx'));
      const r = spawnSync(process.execPath, [join(ROOT, 'bin/orrery.js'), 'opt', join(inner, 'waits.ptx')], {
        encoding: 'utf8',
        timeout: 20_000,
      });
      expect([r.signal, r.status, r.stderr]).toEqual([
        null,
        1,
        expect.stringMatching(/^error: cannot read /),
      ]);
    },
  );

  says('JSON of more than four million parts, or nested deeper than 500, is not read.', async () => {
    expect(MOST_PARTS).toBe(2 ** 22);
    const file = join(inner, 'much.json');
    const profile = () => {
      try {
        return parseProfile(readFileSync(file, 'utf8'), file).counts;
      } catch (e) {
        return (e as Error).message;
      }
    };
    for (const [text, why] of [
      [`[${'{},'.repeat(2 ** 22)}{}]`, 'parts'],
      [`[${'['.repeat(500)}${']'.repeat(500)}]`, 'deeper'],
    ]) {
      writeFileSync(file, text);
      expect(() => parseJson(text)).toThrow(why);
      expect((await reproduced(file)).err).toContain(why);
      expect(profile()).toContain('this is not a profile');
    }
    // What stands in texts is no part.
    const text = JSON.stringify([`"\\${'[{,'.repeat(2 ** 21)}`, '\\', '"']);
    expect(parseJson(text)).toEqual(JSON.parse(text));
    const deep = `[{"blocks":{},"versions":{"k":${'['.repeat(400)}${']'.repeat(400)}}}]`;
    writeFileSync(file, deep);
    expect(profile()).toContain('this is not a profile');
    // Who reads JSON otherwise: what ships, what the build, this user or the page itself has written, a line of standard input that was
    // looked at before, a text between quotes, and the word of a link, which has a limit of its own.
    expect(having(/\bJSON\.parse\(/).filter((f) => f.startsWith('src'))).toEqual([
      'src/cli/debug/repro.ts',
      'src/cli/debug/trace.ts',
      'src/cli/lab/evaluate.ts',
      'src/cli/rules/verdicts.ts',
      'src/cli/server/server-ask.ts',
      'src/cli/server/server-keeper.ts',
      'src/cli/server/server-process.ts',
      'src/ir/cursor.ts',
      'src/ir/pack/read.ts',
      'src/lab/cache-batch.ts',
      'src/rules/shadows.ts',
      'src/spec/json.ts',
      'src/spec/node-cache.ts',
      'src/spec/node.ts',
      'src/web/ui/export.tsx',
      'src/web/ui/main.tsx',
      'src/web/ui/pack.ts',
    ]);
  });

  says(
    'A launch compares results with a relative tolerance of at most 1 %, and verdicts name one of more than 0.1 %.',
    () => {
      // The kernel leaves zeros as they are.
      put('tolerant.ptx', KERNEL.replace('k()', 'k(.param .u64 p)'));
      put('zeros.bin', '\0\0\0\0');
      const run = (tolerance: string, ...command: string[]) => {
        put(
          't.yaml',
          'kind: launch\nmodule: tolerant.ptx\nkernel: k\ngrid: [1]\nblock: [1]\nparams:\n' +
            `  - { buffer: f32, length: 1, fill: zero, expect: zeros.bin, tolerance: ${tolerance} }\n`,
        );
        const r = spawnSync(process.execPath, [join(ROOT, 'bin/orrery.js'), ...command], {
          cwd: inner,
          encoding: 'utf8',
          env: { ...process.env, ...WARM },
        });
        return r.stdout + r.stderr;
      };
      for (const tolerance of ['1e300', '1', '0.011', '.inf'])
        expect(run(tolerance, 'run', 't.yaml')).toContain('tolerance');
      for (const command of [
        ['run', 't.yaml'],
        ['opt', 'tolerant.ptx', '--check', 't.yaml', '--emit', 'none'],
        ['ab', 'base', 'OptBudget=1', '--kernels', 't.yaml', '--no-ptxas', '--repeat', '0'],
      ]) {
        expect([command, run('0.01', ...command)]).toEqual([
          command,
          expect.stringContaining('within a tolerance of 0.01'),
        ]);
        expect(run('1e-3', ...command)).not.toContain('within a tolerance');
      }
    },
  );

  says(
    'Results of a sweep (`*.results.jsonl`) are believed where they have its form: the report says how many were there before, and ' +
      '`--restart` measures all of them anew.',
    () => {
      put('swept.ptx', KERNEL);
      put(
        's.experiment.yaml',
        'kind: experiment\ntitle: t\nkernels: [swept.ptx]\nfactors: { knobs: { OptBudget: [default, 1] } }\nmetrics: [instructions]\n',
      );
      const sweep = (...args: string[]) =>
        spawnSync(process.execPath, [join(ROOT, 'bin/orrery.js'), 'sweep', 's.experiment.yaml', ...args], {
          cwd: inner,
          encoding: 'utf8',
          env: { ...process.env, ...WARM },
        });
      const results = join(inner, 's.results.jsonl');
      expect([sweep().status, sweep().stdout]).toEqual([
        0,
        expect.stringContaining('(2 cells, 2 of them from before)'),
      ]);
      const measured = readFileSync(results, 'utf8');
      const forged = measured.replaceAll(/"instructions":\d+/g, '"instructions":12345');
      expect(forged).not.toBe(measured);
      writeFileSync(results, forged);
      expect([sweep().status, readFileSync(results, 'utf8')]).toEqual([0, forged]);
      expect([sweep('--restart').status, readFileSync(results, 'utf8')]).toEqual([0, measured]);
      writeFileSync(results, `${measured}{"arm":0,"file":"swept.ptx","result":{"kernels":[{}]}}\n`);
      expect(sweep().stderr).toContain('this line is not the result of a cell of a sweep');
      // What JSON reads as no finite number could not be written again.
      writeFileSync(results, measured.replace(/"instructions":\d+/, '"instructions":1e999'));
      expect(sweep().stderr).toContain('this line is not the result of a cell of a sweep');
    },
  );

  const SEALED =
    'An entry of a cache counts only with the checksum of its content, and one of `--cache` only with the seal of the user who wrote it.';
  says(SEALED, () => {
    const file = join(inner, 'entry');
    writeChecked(file, 'about', '{"a":1}');
    expect(readChecked(file, 'about')).toBe('{"a":1}');
    expect(readChecked(file, 'another')).toBe(undefined);
    writeFileSync(file, readFileSync(file, 'utf8').replace('1}', '2}'));
    expect(readChecked(file, 'about')).toBe(undefined);
    const mine = sealed(Buffer.from('content'), 'about');
    expect(unsealed(mine, 'about')?.toString()).toBe('content');
    expect([unsealed(mine, 'another'), unsealed(mine.subarray(1), 'about')]).toEqual([undefined, undefined]);
    vi.stubEnv('XDG_CACHE_HOME', join(folder.path, 'of-another-user'));
    expect(unsealed(mine, 'about')).toBe(undefined);
    vi.unstubAllEnvs();
  });

  says(
    'What is kept or compared by its hash goes by SHA-256, and results of phases by a hash whose key no file can know: ' +
      'it is of the secret of the user who keeps them, or of one process.',
    () => {
      const hash = (text: string) => createHash('sha256').update(text).digest('hex').slice(0, 32);
      expect(hashText('text', 'seed')).toBe(hash('["seed","text"]'));
      const sets = [1, 2].map((n) => buildIsa([{ file: 'a.yaml', data: { kind: 'isa', n } }]).isa);
      expect(sets[0].hash).toBe(hash(JSON.stringify(['', hash('["","{\\"kind\\":\\"isa\\",\\"n\\":1}"]')])));
      expect(sets[0]).not.toBe(sets[1]);
      const keyOf = (user: string) => {
        vi.stubEnv('XDG_CACHE_HOME', join(folder.path, user));
        new DiskCache(join(folder.path, 'results'));
        const key = keyedHash('text');
        vi.unstubAllEnvs();
        return key;
      };
      const [mine, theirs] = [keyOf('me'), keyOf('them')];
      expect([keyOf('me'), theirs === mine]).toEqual([mine, false]);
      // Without a secret, each process has a key of its own.
      const script = `import { keyedHash } from ${JSON.stringify(join(ROOT, 'dist/ir/keyed-hash.js'))}; console.log(keyedHash('text'))`;
      const others = [1, 2].map(
        () => spawnSync(process.execPath, ['--input-type=module', '-e', script], { encoding: 'utf8' }).stdout,
      );
      expect([others[0].length, new Set([...others, `${mine}\n`]).size]).toEqual([17, 3]);
      // Other hashes: checksums, tables that compare what they find, and numbers that are drawn.
      expect(having(/0x0?1000193\b|\b16777619\b|0x811c9dc5/i)).toEqual([
        'src/ir/pack/bytes.ts',
        'src/ir/pack/write.ts',
        'src/rules/prove/draw.ts',
      ]);
    },
  );
});

describe('reproducers', () => {
  says(
    '`orrery repro FILE` runs in a new folder, which is removed afterwards, and cannot place files outside of it.',
    async () => {
      const temporary = join(folder.path, 'temporary');
      mkdirSync(temporary);
      const before = readdirSync(inner);
      const file = folder.write(
        'r.json',
        reproducer(['opt', '../k.ptx', '-o', '../../out.ptx'], { '../k.ptx': KERNEL }),
      );
      vi.stubEnv('TMPDIR', temporary);
      const r = await reproduced(file);
      expect([r.code, r.out]).toEqual([2, expect.stringContaining('the command ends with exit code 0')]);
      expect(readdirSync(inner)).toEqual(before);
      expect(readdirSync(temporary)).toEqual([]);
      const planted = await reproduced(folder.write('p.json', reproducer(['phases'], { '/tmp/x': '' })));
      vi.unstubAllEnvs();
      expect([planted.code, planted.err]).toEqual([1, expect.stringContaining('outside of its folder')]);
    },
  );

  says('Its command is ended after ten minutes, or after what `--timeout` says.', async () => {
    const file = folder.write(
      'endless.json',
      reproducer(['ab', 'base', 'OptBudget=1', '--kernels', 'k.ptx', '--repeat', '99999999', '--no-ptxas'], {
        'k.ptx': KERNEL,
      }),
    );
    const r = await reproduced(file, { timeout: '2' });
    expect([r.code, r.err]).toEqual([
      1,
      expect.stringMatching(/^error: the command of .* was ended after 2 seconds\n/),
    ]);
    for (const timeout of ['0', '-1', 'x', '', '1e99'])
      expect((await reproduced(file, { timeout })).err).toContain('is not a valid time');
    expect(readFileSync(join(ROOT, 'src/cli/commands.ts'), 'utf8')).toMatch(
      /'--timeout <seconds>',.*'600'\)/,
    );
  });

  says(
    'A reproducer that would start a program, accept a rule, or name a file outside of its folder is shown and refused; ' +
      '`--allow-commands` runs it.',
    async () => {
      const marker = join(folder.path, 'marker');
      const command = ['bisect', 'k.ptx', '--command', `touch ${marker}; false`];
      const file = folder.write('c.json', reproducer(command, { 'k.ptx': KERNEL }));
      const refused = await reproduced(file);
      expect([refused.code, refused.err]).toEqual([
        1,
        expect.stringContaining(`it runs: orrery bisect k.ptx`),
      ]);
      expect(existsSync(marker)).toBe(false);
      await reproduced(file, { allowCommands: true });
      expect(existsSync(marker)).toBe(true);
      for (const words of [
        ['opt', 'k.ptx', '-o', '/x'],
        ['opt', 'k.ptx', '-o/x'],
        ['opt', 'k.ptx', '--output=/x'],
        ['opt', 'k.ptx', '--rules=a,/x'],
        ['ab', 'base', 'OptBudget=1 --order /x', '--kernels', 'k.ptx'],
        ['check', 'C:\\x'],
        ['rules', 'prove', '--rules', 'r.yaml', '--solver=sh'],
        ['rules', 'prove', '--accept'],
        ['rules', 'prove', '--rules', 'r.yaml', '--rule', 'add-of-nothing', '--accept'],
        ['rules', 'prove', '--no-phase', '--rules', '--accept=add-of-nothing'],
        ['opt', 'k.ptx', '--ptxas'],
        ['opt', 'k.ptx', '--allow-path', '..'],
        ['ptxas', 'k.ptx'],
        ['toolkit', 'x'],
        ['server', 'start'],
        ['explore', 'k.ptx'],
        ['repro', 'x.json'],
        ['--', 'server', 'start'],
        ['rules', '--', 'prove', '--accept'],
        ['whatever-comes-next'],
      ])
        expect([words, beyondFolder(words, '').length > 0]).toEqual([words, true]);
      for (const order of ['/x', '\\u002fx', 'a\\u002f\\u002e\\u002e/\\u002e\\u002E/x'])
        expect([
          order,
          beyondFolder(['evaluate', '--kernels', 'k.ptx'], `{"order":"${order}"}`).length,
        ]).toEqual([order, 1]);
      expect(beyondFolder(['--help'], '')).toEqual([]);
      expect(beyondFolder(['opt', 'k/k.ptx', '-O3', '-o', 'out/k.ptx', '--set', 'A=1/2'], '')).toEqual([]);
    },
  );

  it('what a reproducer holds is not taken for the cache of the user', async () => {
    // No order; an entry of a cache says that it is one.
    const text = 'kind: order\n';
    const about = sha256(text) + schemasHash();
    const entry = JSON.stringify({
      kind: 'order',
      data: { kind: 'order', title: 'x', extends: 'seed', edits: [] },
    });
    const caches = ['.nothing', 'nothing', '.cache', 'cache'].map((f) => `${f}/orrery/specs`);
    const planted = Object.fromEntries(
      caches.map((f) => [`${f}/${sha256(about)}.json`, `${sha256(`${about}\n${entry}`)}\n${entry}`]),
    );
    const file = folder.write(
      'cached.json',
      reproducer(['plan', '--order', 'o.yaml'], { 'o.yaml': text, ...planted }),
    );
    expect((await reproduced(file)).out).toContain('the command ends with exit code 1');
  });

  it('a reproducer that cannot be run, or not be kept whole, is one error and leaves nothing', async () => {
    const words = folder.write('nul.json', reproducer(['phases', 'a\0b'], {}));
    expect((await reproduced(words)).err).toMatch(/^error: .*holds a NUL.*\n$/);
    const half = folder.write('half.json', reproducer(['phases'], { 'a.txt': '', '/b.txt': '' }));
    const clash = folder.write('clash.json', reproducer(['phases'], { a: '', 'a/b': '' }));
    const keep = join(inner, 'half-kept');
    for (const file of [half, clash]) {
      const r = await reproduced(file, { keep });
      expect([r.code, r.err, existsSync(keep)]).toEqual([1, expect.stringMatching(/^error: .*\n$/), false]);
    }
    writeFileSync(keep, '');
    expect((await reproduced(half, { keep })).err).toMatch(/^error: .* is not empty\n/);
  });

  says('`orrery repro FILE --keep FOLDER` runs nothing.', async () => {
    const marker = join(folder.path, 'kept-marker');
    const file = folder.write(
      'k.json',
      reproducer(['bisect', 'k.ptx', '--command', `touch ${marker}`], { 'k.ptx': KERNEL }),
    );
    const r = await reproduced(file, { keep: join(inner, 'kept') });
    expect([r.code, r.out]).toEqual([0, expect.stringContaining('read it before you run it')]);
    expect(existsSync(marker)).toBe(false);
  });
});

describe('language server', () => {
  const server = (name: string): string => readFileSync(join(ROOT, 'src', name), 'utf8');
  says(
    'The settings of the language server name kernels that it reads, wherever they are, and no program; ' +
      'it starts Orrery itself alone, whose explorer may call the ptxas of the user.',
    () => {
      const sent = { kernels: ['/elsewhere/*.ptx'], command: ['x'], cmd: 'x' };
      // Nothing else that a client sends comes through.
      expect(settingsOf({ orrery: sent })).toEqual({ kernels: sent.kernels, lenses: true, hints: [] });
      const starts = [...server('cli/lsp/lsp.ts').matchAll(/\bspawn\w*\((.*)/g)].map((m) => m[1]);
      expect(starts).toEqual(["process.execPath, [join(ROOT, 'bin', 'orrery.js'), ...words], {"]);
    },
  );

  says(
    'It starts Orrery itself only on a command of the editor, and writes no file but the report of `orrery.ab`, ' +
      'into a new temporary folder.',
    () => {
      const files = SOURCES.filter((f) => /^src[/\\](?:cli[/\\])?lsp[/\\]/.test(f));
      const using = (what: RegExp) => files.filter((f) => what.test(readFileSync(join(ROOT, f), 'utf8')));
      expect(files.length).toBeGreaterThan(20);
      const main = join('src', 'cli', 'lsp', 'lsp.ts');
      expect(using(/child_process|runCommand/)).toEqual([main]);
      expect(
        using(
          /\b(?:write|append|copy|rename|cp|open)\w*Sync\(|\bmkd\w+\(|createWriteStream|\bwrite(?:New|Replacing)/,
        ),
      ).toEqual([main]);
      expect(server('cli/lsp/lsp.ts').match(/\b(?:write\w*|mk\w*)Sync?\(.*/g)).toEqual([
        "mkdtempSync(join(tmpdir(), 'orrery-lsp-')), 'ab.html');",
      ]);
      expect(having(/host\.command\(/)).toEqual([join('src', 'lsp', 'server', 'serve.ts')]);
    },
  );
});

describe('text', () => {
  /** Starts a line, a colour, a title of the terminal, another direction; is markup, a mention, a command of a runner. */
  const HOSTILE =
    'x\n::error::y\r\u001b[31m\u001b]0;t\u0007\u009b31m\u202e\u2066\u{e0041}\u0085\u2028```</pre><img src=x>@all';

  says(
    'Text of a file never acts on a terminal: control characters, marks of direction and escape sequences are shown as escapes.',
    async () => {
      put('hostile.yaml', `kind: ${JSON.stringify(HOSTILE)}\n`);
      put('hostile.ptx', KERNEL.replace('ret;', `${HOSTILE.replace(/\n/g, ' ')}: ret;`));
      put('hostile-order.yaml', `kind: order\nextends: ${JSON.stringify(HOSTILE)}\nedits: []\n`);
      const name = 'a\u001b[31m\n::error::b.ptx';
      put(name, 'nonsense');
      const r = await checked(['hostile.yaml', 'hostile.ptx', 'hostile-order.yaml', name]);
      expect(r.code).toBe(1);
      expect(r.out + r.err).toContain('\\u001b[31m');
      expect(acting(r.out + r.err, true)).toEqual([]);
      expect(r.out + r.err).not.toMatch(/^::/m);
      // What prints it otherwise: the log of the language server and annotations, which are quoted, what tasks have printed so, and a line
      // of progress.
      expect(
        having(/process\.std(?:out|err)\.write\(|console\.\w+\(/).filter((f) => f.startsWith('src')),
      ).toEqual([
        'src/cli/lsp/lsp.ts',
        'src/cli/optimize/opt-many.ts',
        'src/cli/review/review.ts',
        'src/cli/terminal/progress.ts',
        'src/cli/terminal/ui.ts',
        'src/lsp/server/diagnose.ts',
      ]);
    },
  );

  says('In HTML and SVG, and in Markdown, text of a file is no markup, no link and no mention.', () => {
    for (const text of [
      HOSTILE,
      '[a](http://x)',
      '@all',
      '#1',
      '`',
      '|',
      '<b>',
      '&lt;',
      'www.x.y',
      'https://x.y',
      '**a**',
      '~~a~~',
      '$a$',
      '_a_',
      ':tada:',
      '# a',
      '- a',
      '1. a',
      'gh-1',
    ]) {
      const shown = markdownText(text).replace(/&#?\w+;/g, '·');
      expect([text, shown]).toEqual([
        text,
        expect.not.stringMatching(/[<>`*[\]|~$\n]|@\w|#\w|https?:\/\/|www\.|:\w+:|^_|^[#+-] |^\d+\. |gh-\d/),
      ]);
      const code = markdownCode(text).replace(/^`([^`]*)`$|^<code>(.*)<\/code>$/s, '$1$2');
      expect([text, code]).toEqual([text, expect.not.stringMatching(/[`\n|]/)]);
    }
  });

  says('In a table (CSV), text of a file is no formula.', () => {
    const names = ['=1+1', '+a', '-a', '@a', '\t=a', ' =a', '\n=a', '-1', '+2.5e-3', 'a=1', HOSTILE];
    const result = (k: string) => ({
      kernels: [{ kernel: k, values: { m: -1 }, equal: { ok: true, by: k, note: k } }],
    });
    const text = sweepCsv(
      { factors: [], arms: names.map(() => ({ choice: new Map() })) } as never,
      names.map((n, arm) => ({ arm, file: n, result: result(n) })) as never,
      {
        front: [],
        metrics: [{ name: 'm' }],
        scores: names.map((name) => ({ name, refused: '', total: {}, ratio: {} })),
      } as never,
      'orrery',
    );
    expect(acting(text.replaceAll('\r\n', ''))).toEqual([]);
    const [, ...rows] = text.split('\r\n');
    expect(rows.length - 1).toBe(names.length);
    const fields = rows.flatMap((row) => row.split(','));
    expect(fields.filter((f) => /^"?\s*[-=+@]/.test(f) && Number.isNaN(Number(f)))).toEqual([]);
    expect(fields).toEqual(expect.arrayContaining(['-1', '+2.5e-3', 'a=1', "'=1+1"]));
  });

  says('An annotation of GitHub Actions is one line, whatever it quotes.', async () => {
    const place = { severity: 'error', code: 'x', line: 1, column: 1, length: 1 } as const;
    const [line, more] = faultAnnotations(
      [{ ...place, message: HOSTILE, file: `a,b::c\n${HOSTILE}`, notes: [HOSTILE] }],
      '',
    );
    expect(more).toBe(undefined);
    expect(acting(line)).toEqual([]);
    expect(line).toMatch(/^::error file=[^:]*,line=1,title=no plan::/);
  });
});

describe('network', () => {
  says(
    'The explorer listens on 127.0.0.1 alone, and answers only below the random address that it prints.',
    async () => {
      const starts = [0, 0].map(() => serve({ files: [] } as never, 0));
      const [a, b] = await Promise.all(starts);
      const status = (address: string) =>
        new Promise((done, fail) => {
          get(address, (r) => done(r.resume().statusCode)).on('error', fail);
        });
      try {
        expect(a.address).toMatch(/^http:\/\/127\.0\.0\.1:\d+\/[\w-]{32}\/$/);
        const [x, y] = [new URL(a.address), new URL(b.address)];
        expect(x.pathname).not.toBe(y.pathname);
        expect(await status(`${a.address}start.json`)).toBe(200);
        for (const path of ['/', '/start.json', `${y.pathname}start.json`])
          expect([path, await status(x.origin + path)]).toEqual([path, 403]);
      } finally {
        a.close();
        b.close();
      }
    },
  );

  says('The server listens on sockets in a folder that only its user may enter.', async () => {
    const run = join(folder.path, 'run');
    const own = join(run, `orrery-${process.getuid?.() ?? 0}`);
    mkdirSync(own, { recursive: true });
    chmodSync(own, 0o777);
    vi.stubEnv('XDG_RUNTIME_DIR', run);
    const r = await captured(() => runServer({}));
    vi.unstubAllEnvs();
    expect([r.code, r.err]).toEqual([1, expect.stringContaining('is not yours alone')]);
    expect(readdirSync(own)).toEqual([]);
  });

  says('Nothing else opens a connection.', () => {
    expect(
      having(
        /from 'node:(?:http|https|http2|net|tls|dgram)'|require\('node:(?:http|https|http2|net|tls|dgram)'\)/,
      ),
    ).toEqual([
      'bin/client.cjs',
      'src/cli/explore/explore-server.ts',
      'src/cli/server/server-ask.ts',
      'src/cli/server/server-keeper.ts',
      'src/cli/server/server-process.ts',
    ]);
    // The pages of the explorer and of the site ask the address that they came from; browsers hold them to that.
    for (const policy of [PAGE_POLICY, WORKER_POLICY, SITE_POLICY])
      expect(policy).toMatch(/^default-src 'none';.*connect-src 'self'(?:;|$)/);
    expect(
      having(/\bfetch\(|WebSocket|XMLHttpRequest/).filter(
        (f) => !/^src\/web\/(?:ui\/|pages\/page\.ts$)/.test(f),
      ),
    ).toEqual([]);
  });
});

describe('pull requests', () => {
  const repo = join(folder.path, 'repo');
  const marker = join(folder.path, 'ran');
  const git = (...args: string[]) => {
    const r = spawnSync(
      'git',
      ['-c', 'user.name=a', '-c', 'user.email=a@b', '-c', 'commit.gpgsign=false', ...args],
      {
        cwd: repo,
        encoding: 'utf8',
      },
    );
    expect([r.status, r.stderr]).toEqual([0, expect.anything()]);
  };
  const action = parse(readFileSync(join(ROOT, '.github/actions/orrery-review/action.yml'), 'utf8')) as {
    inputs: Record<string, { default: string }>;
    runs: { steps: { run: string }[] };
  };

  /** Runs the script of the Action. */
  const reviewed = (base: string, head: string) => {
    const output = join(folder.path, 'output');
    writeFileSync(output, '');
    const r = spawnSync('bash', [join(ROOT, '.github/actions/orrery-review/review.sh')], {
      cwd: repo,
      encoding: 'utf8',
      env: {
        ...process.env,
        ...WARM,
        ACTION: join(ROOT, '.github/actions/orrery-review'),
        BASE: base,
        HEAD: head,
        KERNELS: '',
        OPTIONS: '--no-kernels\n--sm\nsm_90\n-O\n3\n--no-prove',
        ACCEPT: '',
        GITHUB_OUTPUT: output,
        RUNNER_TEMP: folder.path,
      },
    });
    return { status: r.status, stdout: r.stdout, stderr: r.stderr, output: readFileSync(output, 'utf8') };
  };

  says(
    "`orrery diff` and the Action read a pull request's specs from its commits as data; its scripts do not run.",
    () => {
      for (const f of ['pipelines', 'knobs']) cpSync(join(ROOT, f), join(repo, f), { recursive: true });
      for (const name of ['bin/orrery.js', '.github/workflows/ci.yml']) {
        mkdirSync(join(repo, name, '..'), { recursive: true });
        writeFileSync(join(repo, name), 'before');
      }
      git('init', '-q', '-b', 'base');
      git('add', '-A');
      git('commit', '-qm', 'specs');
      git('checkout', '-qb', 'head');
      const order = join(repo, 'pipelines/orders/late-branches.yaml');
      writeFileSync(order, readFileSync(order, 'utf8').replace(/^title: .*$/m, 'title: other words'));
      const shell = `touch ${marker}\n`;
      const files: Readonly<Record<string, string>> = {
        'package.json': JSON.stringify({ scripts: { preinstall: shell, build: shell, prepare: shell } }),
        'bin/orrery.js': `require('fs').writeFileSync(${JSON.stringify(marker)}, '')`,
        'bin/ensure.mjs': `import { writeFileSync } from 'node:fs'; writeFileSync(${JSON.stringify(marker)}, '')`,
        '.github/actions/orrery-review/review.sh': shell,
        '.gitattributes': '*.yaml filter=x diff=x\n',
        '.gitconfig': `[filter "x"]\n smudge = ${shell} textconv = ${shell}`,
      };
      for (const [name, text] of Object.entries(files)) {
        mkdirSync(join(repo, name, '..'), { recursive: true });
        writeFileSync(join(repo, name), text);
      }
      git('add', '-A');
      git('commit', '-qm', 'change');
      git('checkout', '-q', 'base');
      const r = reviewed('base', 'head');
      expect([r.status, r.stderr]).toEqual([0, '']);
      expect(r.output).toMatch(/^result=differs$/m);
      expect(r.stdout).toMatch(
        /^::warning title=other files::6 files beside the specs DIFFER, .*: .*bin\/ensure\.mjs/m,
      );
      expect(existsSync(marker)).toBe(false);
    },
  );

  says(
    'Tables of machine code, the syntax of PTX and other data that no plan is made of are changes where they differ; ' +
      'where other files than specs, pages and tests differ, no review says that there is no effect, ' +
      'each says which, and the exit code is 2.',
    () => {
      const review = (head: string, format: string) => {
        const r = spawnSync(
          process.execPath,
          [join(ROOT, 'bin/orrery.js'), 'diff', 'base', head, '--no-kernels', '--format', format],
          { cwd: repo, encoding: 'utf8', env: { ...process.env, ...WARM } },
        );
        return [r.status, r.stdout.replaceAll('\\', '')] as const;
      };
      git('checkout', '-qb', 'tables', 'base');
      for (const f of ['pipelines/machine/ampere.yaml', 'pipelines/isa/ptx-syntax.yaml'])
        writeFileSync(join(repo, f), `${readFileSync(join(repo, f), 'utf8')}# another\n`);
      writeFileSync(join(repo, 'pipelines/machine/new.yaml'), 'kind: machine\n');
      git('add', '-A');
      git('commit', '-qm', 'tables');
      git('checkout', '-q', 'base');
      for (const format of ['text', 'markdown']) {
        const [status, said] = review('tables', format);
        expect([format, status, said]).toEqual([format, 2, expect.not.stringContaining('no effect')]);
        for (const told of [
          'pipelines/machine/ampere.yaml',
          'pipelines/machine/new.yaml',
          'pipelines/isa/ptx-syntax.yaml',
          'the machine-code tables differ',
        ])
          expect([format, said.replaceAll('`', '')]).toEqual([format, expect.stringContaining(told)]);
        // The head of before has other code and workflows beside a title.
        const [other, code] = review('head', format);
        expect([format, other, code]).toEqual([format, 2, expect.not.stringContaining('no effect')]);
        expect(code).toContain('6 files beside the specs DIFFER, which only a person can judge');
        for (const file of [
          '.github/actions/orrery-review/review.sh',
          'bin/orrery.js',
          '.gitattributes',
          'package.json',
        ])
          expect([format, code]).toEqual([format, expect.stringContaining(file)]);
      }
    },
  );

  says(
    'A folder of the working tree that is called as a commit does not take its place: what is both is refused.',
    () => {
      const diff = (...args: string[]) =>
        spawnSync(process.execPath, [join(ROOT, 'bin/orrery.js'), 'diff', ...args, '--no-kernels'], {
          cwd: repo,
          encoding: 'utf8',
          env: { ...process.env, ...WARM },
        });
      // The head brings what it says is the base.
      git('checkout', '-q', 'head');
      const hash = spawnSync('git', ['rev-parse', '--short=12', 'base'], { cwd: repo, encoding: 'utf8' });
      for (const name of ['base', hash.stdout.trim()]) {
        mkdirSync(join(repo, name));
        expect([name, diff(name, 'head').status]).toEqual([name, 2]);
        for (const f of ['pipelines', 'knobs'])
          cpSync(join(ROOT, f), join(repo, name, f), { recursive: true });
        const r = diff(name, 'head');
        expect([r.status, r.stderr]).toEqual([1, expect.stringContaining(`error: '${name}' is a commit in`)]);
      }
      expect(diff('base^{commit}', 'head').stdout).toContain('base  base^{commit}');
      expect(diff('./base', 'head').stdout).toContain('base  ./base');
      for (const name of ['base', hash.stdout.trim()]) rmSync(join(repo, name), { recursive: true });
      git('checkout', '-q', 'base');
    },
  );

  says(
    'Specs of a commit are files: a link, a submodule, or text that is not UTF-8 is refused, and no replacement (`git replace`) is taken.',
    () => {
      const diff = (head: string) =>
        spawnSync(process.execPath, [join(ROOT, 'bin/orrery.js'), 'diff', 'base', head, '--no-kernels'], {
          cwd: repo,
          encoding: 'utf8',
          env: { ...process.env, ...WARM },
        });
      const spec = 'pipelines/backends/sm_50.yaml';
      const committed = (name: string, change: () => void): string => {
        git('checkout', '-qb', name, 'base');
        change();
        git('commit', '-qm', name);
        git('checkout', '-qf', 'base');
        git('clean', '-fdq');
        return name;
      };
      const text = readFileSync(join(repo, spec), 'utf8');
      const other = text.replace(/^code: \d+/m, 'code: 1');
      expect(other).not.toBe(text);
      // The text of the link is the spec as it was; a checkout reads the file to which it leads.
      const link = committed('link', () => {
        const name =
          '{kind: backend, name: sm_50, extends: maxwell, sm: sm_50, code: 16385, sources: {code: seed 001}} #';
        mkdirSync(join(repo, 'pipelines/backends', name));
        writeFileSync(join(repo, 'pipelines/backends', name, 'page.md'), other);
        rmSync(join(repo, spec));
        symlinkSync(`${name}/page.md`, join(repo, spec));
        git('add', '-A');
      });
      // What git says of an object that is not there would read as the head of one that is.
      const submodule = committed('submodule', () =>
        git('update-index', '--add', '--cacheinfo', `160000,${'12'.repeat(20)},${spec} blob 7 .yaml`),
      );
      const latin = committed('latin', () => {
        writeFileSync(
          join(repo, spec),
          Buffer.concat([Buffer.from(text), Buffer.from('# \xe9\n', 'latin1')]),
        );
        git('add', '-A');
      });
      const budget = committed('budget', () => {
        symlinkSync('kind: budget', join(repo, 'orrery.budget.yaml'));
        git('add', '-A');
      });
      for (const [head, said] of [
        [link, 'is a link'],
        [submodule, 'is a submodule'],
        [latin, 'is not UTF-8: write the file in UTF-8'],
        [budget, "'orrery.budget.yaml' of commit 'budget' is a link"],
      ] as const) {
        const r = diff(head);
        expect([head, r.status, r.stdout, r.stderr]).toEqual([head, 1, '', expect.stringContaining(said)]);
      }
      const evil = committed('evil', () => {
        writeFileSync(join(repo, spec), other);
        git('add', '-A');
      });
      git('replace', `${evil}^{tree}`, 'base^{tree}');
      expect(diff(evil)).toMatchObject({ status: 2, stdout: expect.stringContaining('sm_50.yaml') });
    },
  );

  it('a tag that is called as the digits of a commit does not take its place in the Action', () => {
    const head = spawnSync('git', ['rev-parse', 'head'], { cwd: repo, encoding: 'utf8' }).stdout.trim();
    git('tag', head.slice(0, 12), 'base');
    expect(reviewed('base', head).output).toMatch(/^result=differs$/m);
    git('tag', '-d', head.slice(0, 12));
  });

  it('a link among the specs of a folder, or in the place of a folder of them, is not followed elsewhere', () => {
    const theirs = join(folder.path, 'linked-specs');
    const apart = join(folder.path, 'apart');
    for (const f of ['pipelines', 'knobs']) {
      cpSync(join(ROOT, f), join(theirs, f), { recursive: true });
      cpSync(join(ROOT, f), join(apart, f), { recursive: true });
    }
    const secret = folder.write('secret.yaml', 'kind: TopSecret\n');
    const diff = () =>
      spawnSync(process.execPath, [join(ROOT, 'bin/orrery.js'), 'diff', ROOT, theirs, '--no-kernels'], {
        cwd: inner,
        encoding: 'utf8',
        env: { ...process.env, ...WARM },
      });
    const file = join(theirs, 'pipelines/rules/zz.yaml');
    symlinkSync(secret, file);
    const r = diff();
    expect([r.status, r.stderr]).toEqual([1, expect.stringContaining('it is a link that leads elsewhere')]);
    expect(r.stderr).not.toContain('TopSecret');
    rmSync(file);
    for (const f of ['pipelines/rules', 'knobs']) {
      rmSync(join(theirs, f), { recursive: true });
      symlinkSync(join(apart, f), join(theirs, f));
      expect([f, diff().stderr]).toEqual([f, expect.stringContaining('it is a link that leads elsewhere')]);
      rmSync(join(theirs, f));
      cpSync(join(ROOT, f), join(theirs, f), { recursive: true });
    }
    expect(diff().status).toBe(0);
  });

  const rule = { id: 'a-rule', hash: 'h' } as never;
  const trust = (accepted: readonly string[]) => ({
    base: { ...shipped, reviews: undefined },
    head: shipped,
    accepted: new Set(accepted),
  });

  says('A verdict that only the pull request states reads `claimed, not proved`, and does not pass.', () => {
    const claimed = { verdict: 'verified', instances: 1 } as const;
    const { note, alarm } = standing(rule, { verdict: null, claimed }, trust(['a-rule']));
    expect([alarm, note]).toEqual([true, expect.stringMatching(/^claimed, not proved: /)]);
  });

  says(
    'A verdict for a rule that is not there, or reads otherwise, is an alarm; verdicts go by a hash to which nobody can make another rule.',
    async () => {
      const side = { specs: shipped, isa: testIsa() };
      const later = { verdict: 'verified', instances: 1, hash: '0'.repeat(40) } as const;
      const [group] = shipped.rules!.values();
      const [{ id }] = group.data['rules'] as readonly { id: string }[];
      const { changes } = await ruleChanges(side, side, () => [], {
        ask: async () => ({ verdict: later }),
        accepted: new Set(),
        stored: [{}, { later, [id]: later }],
      });
      expect(changes.map((c) => [c.name, c.alarm])).toEqual([
        ['verdict of later', true],
        [`verdict of ${id}`, true],
      ]);
      const [rule] = rulesOfDoc(group.data, side.isa, 'texts').rules;
      expect(rule.hash).toMatch(/^[0-9a-f]{40}$/);
    },
  );

  says(
    "A review of a rule that the pull request brings itself needs a person: `--accept RULE`, or the Action's input `accept`.",
    () => {
      const [review] = shipped.reviews!.data['reviews'] as readonly { rule: string }[];
      const change = (accepted: readonly string[]) =>
        reviewChanges(trust(accepted)).find((c) => c.name === `review of ${review.rule}`)!;
      expect([change([]).alarm, change([]).note]).toEqual([true, expect.stringContaining('--accept')]);
      expect(change([review.rule]).alarm).toBe(false);
      expect(action.inputs).toHaveProperty('accept');
    },
  );

  says(
    'No step of the Action has an expression of the event in its script, ' +
      'and no input is the title, the text or the branch of a pull request.',
    () => {
      for (const { run } of action.runs.steps) expect(run).not.toContain('${{');
      const defaults = Object.values(action.inputs).map((i) => i.default);
      expect(defaults.filter((d) => d.includes('${{')).sort()).toEqual([
        '${{ github.event.pull_request.base.sha }}',
        '${{ github.event.pull_request.head.sha }}',
        '${{ github.event.pull_request.number }}',
        '${{ github.token }}',
      ]);
    },
  );

  says(
    'The workflow for `pull_request_target` never checks out the head, and no script in it contains an expression.',
    () => {
      const [, text] = /^```yaml\n([\s\S]*?)^```/m.exec(page)!;
      const workflow = parse(text) as {
        on: string;
        jobs: Record<string, { steps: { uses?: string; run?: string; with?: object }[] }>;
      };
      expect(workflow.on).toBe('pull_request_target');
      const { steps } = Object.values(workflow.jobs)[0];
      const checkouts = steps.filter((s) => s.uses?.startsWith('actions/checkout'));
      expect(checkouts).toHaveLength(1);
      expect(checkouts[0].with).not.toHaveProperty('ref');
      const scripts = steps.flatMap((s) => s.run ?? []);
      expect(scripts).toHaveLength(1);
      for (const s of scripts) expect(s).not.toMatch(/\$\{\{|checkout|pull|merge/);
    },
  );
});

it('each item of SECURITY.md has a test here, and nothing else is tested as one', () => {
  const items = [...page.matchAll(/^- (.*(?:\n {2}\S.*)*)$/gm)]
    .map((m) => m[1].replace(/\n +/g, ' '))
    .filter((s) => !/^(?:uses|run):/.test(s));
  expect([...tested].sort()).toEqual(items.sort());
});
