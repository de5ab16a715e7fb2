import { readdirSync, readFileSync } from 'node:fs';
import { builtinModules } from 'node:module';
import { join, posix, sep } from 'node:path';
import { describe, expect, test } from 'vitest';
import { ROOT } from '../../src/spec/node-cache.ts';

/* Which folder may import which. Types count as much as values: code that names another folder's type must change with it. */

/** Folders of `src` and what each may import besides itself. */
const MAY_KNOW: Readonly<Record<string, readonly string[]>> = {
  ir: [],
  isa: ['ir'],
  ptx: ['ir'],
  analysis: ['ir', 'isa'],
  rules: ['ir', 'isa', 'analysis'],
  ssa: ['ir', 'analysis'],
  passes: ['ir', 'isa', 'analysis', 'rules', 'ssa'],
  sim: ['ir', 'isa', 'analysis'],
  judge: ['ir', 'isa', 'analysis', 'sim'],
  validate: ['ir', 'isa', 'analysis', 'rules'],
  cubin: [],
  machine: ['ir', 'cubin'],
  lift: ['ir', 'isa', 'sim', 'cubin', 'machine'],
  timing: ['ir', 'isa', 'cubin', 'machine', 'lift'],
  codegen: ['ir', 'analysis', 'cubin', 'machine', 'lift'],
  spec: ['ir', 'isa', 'sim', 'rules', 'machine', 'codegen'],
  engine: ['ir', 'analysis', 'ssa', 'passes', 'rules', 'spec'],
  // Entry points of the library.
  '.': [
    'ir',
    'isa',
    'ptx',
    'analysis',
    'rules',
    'ssa',
    'passes',
    'codegen',
    'sim',
    'judge',
    'spec',
    'engine',
  ],
  debug: ['.', 'ir', 'ptx', 'analysis', 'rules', 'ssa', 'sim', 'judge', 'spec', 'engine'],
  lab: ['.', 'cubin', 'ir', 'isa', 'ptx', 'analysis', 'rules', 'ssa', 'sim', 'judge', 'spec', 'engine'],
  review: ['.', 'lab', 'ir', 'rules', 'spec', 'engine'],
  web: [
    '.',
    'lab',
    'ir',
    'analysis',
    'rules',
    'sim',
    'judge',
    'cubin',
    'machine',
    'codegen',
    'spec',
    'engine',
  ],
  // Beside the command line, which starts it and gives it what only commands know.
  lsp: ['.', 'lab', 'ir', 'isa', 'ptx', 'analysis', 'rules', 'spec', 'engine'],
  cli: [
    '.',
    'lsp',
    'cubin',
    'machine',
    'lift',
    'timing',
    'codegen',
    'web',
    'lab',
    'debug',
    'review',
    'ir',
    'isa',
    'ptx',
    'analysis',
    'rules',
    'ssa',
    'sim',
    'judge',
    'validate',
    'spec',
    'engine',
  ],
  // Scripts of developers.
  tools: [
    '.',
    'cubin',
    'machine',
    'lift',
    'timing',
    'codegen',
    'web',
    'ir',
    'isa',
    'ptx',
    'analysis',
    'rules',
    'passes',
    'ssa',
    'sim',
    'spec',
    'engine',
    'lab',
    'cli',
    'lsp',
  ],
};

/** Files of the lab that look at programs and plans alone, so that the explorer measures and explains in a browser. */
const LAB_ANYWHERE: ReadonlySet<string> = new Set(
  [
    'classes',
    'lines',
    'metrics',
    'backend-occupancy',
    'branch-divergence',
    'moved-phases',
    'plan-differences',
    'statics',
    'step-differences',
    'weights',
    'why',
  ].map((f) => `lab/${f}.ts`),
);

/** The only files that may use Node: what reads files and starts other programs. */
const usesNode = (file: string): boolean =>
  file.startsWith('cli/') ||
  file.startsWith('lsp/') ||
  file.startsWith('tools/') ||
  (file.startsWith('lab/') && !LAB_ANYWHERE.has(file)) ||
  file.startsWith('review/') ||
  /^spec\/node(-\w+)?\.ts$/.test(file) ||
  file === 'index.ts';

/** Packages that run anywhere. */
const PORTABLE: ReadonlySet<string> = new Set([
  '@dagrejs/dagre',
  'ajv',
  'diff',
  'immer',
  'ts-pattern',
  'yaml',
]);

/** The page of the explorer: what it is drawn with is bundled into it, and its worker is found beside it. */
const isPage = (file: string): boolean => file.startsWith('web/ui/');
const ofPage = (name: string): boolean =>
  /^(preact(\/hooks)?|@(preact|codemirror|lezer)\/[\w-]+)$/.test(name);

const src = join(ROOT, 'src');
const files = readdirSync(src, { recursive: true, encoding: 'utf8' })
  .filter((f) => /\.tsx?$/.test(f))
  .map((f) => f.split(sep).join('/'))
  .sort();
const texts = new Map(files.map((f) => [f, readFileSync(join(src, f), 'utf8')]));

/** What is imported, of whatever form: static, for types, by `export from`, when it is needed. */
const importsOf = (text: string): string[] =>
  [
    ...text.matchAll(
      /^(?:import|export)\s[^;'"=()]*?from\s+'([^']+)'|^import\s+'([^']+)'|\bimport\(\s*'([^']+)'/gm,
    ),
  ].map((m) => m[1] ?? m[2] ?? m[3]);

const graph = new Map(
  files.map((f) => [
    f,
    importsOf(texts.get(f)!)
      .filter((i) => i.startsWith('.'))
      .map((i) => posix.normalize(posix.join(posix.dirname(f), i))),
  ]),
);
const room = (f: string): string => (f.includes('/') ? f.slice(0, f.indexOf('/')) : '.');

describe('layers', () => {
  test('every import is one of our files', () => {
    const lost = files.flatMap((f) =>
      graph
        .get(f)!
        .filter((i) => !texts.has(i))
        .map((i) => `${f} -> ${i}`),
    );
    expect(lost).toEqual([]);
    expect(files.length).toBeGreaterThan(150);
  });

  test('imports go down', () => {
    expect(new Set(files.map(room))).toEqual(new Set(Object.keys(MAY_KNOW)));
    const up = files.flatMap((f) =>
      graph
        .get(f)!
        .filter((i) => room(i) !== room(f) && !MAY_KNOW[room(f)].includes(room(i)))
        .map((i) => `${f} -> ${i}`),
    );
    expect(up).toEqual([]);
  });

  test('a pass does not know another, and the engine knows passes by the registry', () => {
    const passes = new Set(
      graph.get('passes/registry.ts')!.filter((f) => room(f) === 'passes' && f !== 'passes/pass.ts'),
    );
    expect(passes.size).toBeGreaterThan(5);
    const known = files.flatMap((f) =>
      f === 'passes/registry.ts' || room(f) === 'tools'
        ? []
        : graph
            .get(f)!
            .filter((i) => passes.has(i))
            .map((i) => `${f} -> ${i}`),
    );
    expect(known).toEqual([]);
    const engine = files.filter((f) => room(f) === 'engine').flatMap((f) => graph.get(f)!);
    expect(new Set(engine.filter((i) => room(i) === 'passes'))).toEqual(
      new Set(['passes/registry.ts', 'passes/pass.ts']),
    );
  });

  test('each folder of passes and analyses says what is in it, and which files are no passes', () => {
    const folders = [...new Set(files.flatMap((f) => /^((?:passes|analysis)\/[\w-]+)\//.exec(f)?.[1] ?? []))];
    const registered = new Set(graph.get('passes/registry.ts')!);
    const faults = folders.flatMap((folder) => {
      const page = readFileSync(join(ROOT, 'src', folder, 'README.md'), 'utf8');
      const named = [...page.matchAll(/`([\w-]+\.ts)`/g)].map(([, name]) => `${folder}/${name}`);
      const helpers = files.filter(
        (f) => folder.startsWith('passes/') && f.startsWith(`${folder}/`) && !registered.has(f),
      );
      return [
        ...named.filter((f) => !files.includes(f)).map((f) => `no ${f}`),
        ...helpers.filter((f) => !named.includes(f)),
      ];
    });
    expect(faults).toEqual([]);
  });

  test('no file imports itself by way of others', () => {
    const open = new Set(files);
    const path: string[] = [];
    const circles: string[] = [];
    const visit = (f: string): void => {
      const at = path.indexOf(f);
      if (at >= 0) circles.push([...path.slice(at), f].join(' -> '));
      if (!open.delete(f)) return;
      path.push(f);
      for (const i of graph.get(f)!) visit(i);
      path.pop();
    };
    for (const f of files) visit(f);
    expect(circles).toEqual([]);
  });

  test('the page asks the engine by way of its worker', () => {
    const reach = (f: string): boolean => graph.get(f)!.some((i) => i.startsWith('web/engine/'));
    expect(files.filter((f) => isPage(f) && reach(f))).toEqual(['web/ui/worker.ts']);
    const other = files.filter((f) => f.startsWith('web/') && !isPage(f) && !f.startsWith('web/engine/'));
    expect(other.filter((f) => reach(f) || graph.get(f)!.some(isPage))).toEqual([]);
  });

  test('nothing but the command line and the readers of files uses Node', () => {
    const builtin = new Set(builtinModules);
    const faults: string[] = [];
    for (const f of files) {
      if (usesNode(f)) continue;
      for (const i of importsOf(texts.get(f)!)) {
        const portable = PORTABLE.has(i) || (isPage(f) && ofPage(i));
        if (!i.startsWith('.') && (builtin.has(i) || !portable)) faults.push(`${f} -> ${i}`);
        const to = posix.normalize(posix.join(posix.dirname(f), i));
        if (i.startsWith('.') && usesNode(to)) faults.push(`${f} -> ${i}`);
      }
      const code = texts.get(f)!.replace(/\/\*[\s\S]*?\*\/|\/\/.*/g, '');
      const global =
        /(?<![.\w$])(process\.|Buffer\.|__dirname|require\(|globalThis\.process|import\.meta)/.exec(code);
      if (global !== null && !(isPage(f) && global[1] === 'import.meta')) faults.push(`${f}: ${global[1]}`);
    }
    expect(faults).toEqual([]);
  });

  test('every package that is installed for users is imported', () => {
    const { dependencies } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as {
      dependencies: Record<string, string>;
    };
    const used = new Set([...texts.values()].flatMap(importsOf));
    expect(Object.keys(dependencies).filter((d) => !used.has(d))).toEqual([]);
  });

  test('comments end within 140 columns', () => {
    const isLong = (l: string): boolean => l.length > 140 && /^\s*(\/?\*|\/\/)/.test(l);
    const long = [...texts].flatMap(([file, text]) =>
      file.includes('.generated.')
        ? []
        : text.split('\n').flatMap((l, k) => (isLong(l) ? [`${file}:${k + 1}`] : [])),
    );
    expect(long).toEqual([]);
  });
});
