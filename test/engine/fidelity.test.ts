import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { posix } from 'node:path';
import { describe, expect, test } from 'vitest';
import { parse } from 'yaml';
import type { PhasesSpec } from '../../src/spec/types.generated.ts';
import { titlesIn } from '../support/test-titles.ts';

/*
 * The tables in src/engine/fidelity repeat, row by row, what pages on the modelled compiler state. Their claims are checked: files and
 * symbols exist, the named test is one that runs, it reaches the code that the row names, a row without a test has a reason, notes that say
 * that nothing is bound or read agree with the specs, what a partial phase lacks stands in one place, and every phase is covered.
 */
const root = new URL('../../', import.meta.url);
const FOLDER = 'src/engine/fidelity';
const HEAD = ['Statement', 'Where', 'Test', 'Note'];
const textOf = (path: string) => readFileSync(new URL(path, root), 'utf8');
const isFile = (path: string) => existsSync(new URL(path, root)) && statSync(new URL(path, root)).isFile();

interface Row {
  readonly line: number;
  readonly cells: readonly string[];
}

/** Cells of a table row. */
const cellsOf = (line: string): string[] =>
  line
    .replace(/^\||\|\s*$/g, '')
    .split(/(?<!\\)\|/)
    .map((c) => c.trim());

/** Rows of all tables of a page; tables of another form are skipped. */
function rowsOf(text: string): Row[] {
  const rows: Row[] = [];
  let inside = false;
  text.split('\n').forEach((line, i) => {
    if (!line.startsWith('|')) inside = false;
    else if (cellsOf(line).join() === HEAD.join()) inside = true;
    else if (inside && !/^\|[\s:|-]+$/.test(line)) rows.push({ line: i + 1, cells: cellsOf(line) });
  });
  return rows;
}

const phases = parse(textOf('pipelines/phases.yaml')).phases as PhasesSpec.Phase[];
interface Knob {
  readonly index: number | null;
  readonly unread?: boolean;
}
const knobs = Object.entries(parse(textOf('knobs/catalog.yaml')).knobs as Record<string, Knob>);

/** The value of a function of a text, computed once. */
function once<T>(f: (key: string) => T): (key: string) => T {
  const known = new Map<string, T>();
  return (key) => {
    if (!known.has(key)) known.set(key, f(key));
    return known.get(key)!;
  };
}

const titlesOf = once((path) => titlesIn(textOf(path)));

/** What a module imports from this project, directly or not, and itself. */
const reachedBy = once((start): ReadonlySet<string> => {
  const found = new Set<string>();
  for (const work = [start]; work.length > 0; ) {
    const path = work.pop()!;
    if (found.has(path) || !isFile(path)) continue;
    found.add(path);
    for (const [, to] of textOf(path).matchAll(/(?:from|import\()\s*'(\.[^']+)'/g))
      work.push(posix.join(posix.dirname(path), to));
  }
  return found;
});

const passModules = [...reachedBy('src/passes/registry.ts')].filter((f) => f.startsWith('src/passes/'));

/** Does running the test run the file? Tests of commands start the built program, so that only their own imports are seen. */
function reaches(by: string, where: string): boolean {
  if (!where.startsWith('src/') || !where.endsWith('.ts') || /^test\/(cli|project)\//.test(by)) return true;
  if (!by.endsWith('.ori')) return reachedBy(by).has(where);
  const pass = /^# pass (\S+)/m.exec(textOf(by))![1];
  return passModules.some((f) => f.endsWith(`/${pass}.ts`) && reachedBy(f).has(where));
}

/** What is wrong with the test that a row names: not exactly one has the title, it never runs, or it does not reach the place. */
function faultOfTest(path: string, title: string, where: string): string {
  if (!path.startsWith('test/') || !isFile(path)) return `there is no test ${path}`;
  if (path.endsWith('.ori')) {
    if (!(/^# why (.*)$/m.exec(textOf(path))?.[1] ?? '').includes(title))
      return `${path} has no test "${title}"`;
  } else {
    const found = titlesOf(path).filter((t) => t.title === title);
    if (found.length !== 1)
      return `${path} has ${found.length === 0 ? 'no test' : 'several tests'} "${title}"`;
    if (found[0].skipped) return `${path} leaves out "${title}"`;
  }
  return reaches(path, where) ? '' : `${path} does not run ${where}`;
}

const numbersIn = (text: string, what: RegExp): number[] =>
  [...text.matchAll(what)].flatMap((m) => m[1].split(/\D+/).filter(Boolean).map(Number));

/** What is wrong with what a note says about specs: that nothing is bound to the phases, or reads the knobs, that the row names. */
function faultOfNote(statement: string, note: string): string {
  if (/nothing is bound/.test(note)) {
    const named = numbersIn(statement, /\b(\d{1,3})\b/g);
    const bound = named.filter((n) => phases[n]?.steps !== undefined);
    if (named.length === 0 || bound.length > 0)
      return `'${note}', but of the phases ${named} ${bound} are bound`;
  }
  if (/nothing reads/.test(note)) {
    const named = numbersIn(`${statement}; ${note}`, /\bknobs? ((?:\d+(?:, | and |))+)/gi);
    const read = named.filter(isRead);
    if (named.length === 0 || read.length > 0) return `'${note}', but of the knobs ${named} ${read} are read`;
  }
  return '';
}

/** Is there a knob of this number that code reads, and that a phase that does something declares? */
const isRead = (index: number): boolean =>
  knobs.some(
    ([name, k]) =>
      k.index === index &&
      k.unread !== true &&
      phases.some((p) => p.steps !== undefined && (p.knobs ?? []).includes(name)),
  );

/** What is wrong with a row; '' where nothing is. */
function faultOf({ cells }: Row): string {
  if (cells.length !== 4) return `${cells.length} cells`;
  const [statement, where, by, note] = cells;
  if (statement === '') return 'no statement';
  if (where !== '-') {
    const place = /^`([^`:]+)(?:: ([^`]+))?`$/.exec(where);
    if (place === null) return `'${where}' is neither - nor \`path\` nor \`path: symbol\``;
    const [, path, symbol] = place;
    if (!isFile(path)) return `there is no file ${path}`;
    // Texts of YAML may continue on the next line.
    if (symbol !== undefined && !textOf(path).replace(/\n\s*/g, ' ').includes(symbol))
      return `${path} has no '${symbol}'`;
  }
  if (by !== '-') {
    const title = /^`([^`]+)` "([^"]+)"$/.exec(by);
    if (title === null) return `'${by}' is neither - nor \`file\` "title"`;
    const [, path, words] = title;
    const fault = faultOfTest(path, words, /^`([^`:]+)/.exec(where)?.[1] ?? '');
    if (fault !== '') return fault;
  }
  if ((where === '-' || by === '-') && note === '') return 'neither a test nor a reason';
  // The row says already that nothing does it.
  if (where === '-' && by === '-' && /^(not done(: )?)?(nothing is bound\b.*)?$/.test(note))
    return `'${note}' is no reason`;
  return /on the page/.test(note) ? '' : faultOfNote(statement, note);
}

const pages = readdirSync(new URL(`${FOLDER}/`, root)).filter((f) => f.endsWith('.md') && f !== 'README.md');
const tables = new Map(pages.map((f) => [f, rowsOf(textOf(`${FOLDER}/${f}`))]));

describe('fidelity tables', () => {
  test('are found', () => {
    expect(pages).toEqual(expect.arrayContaining(['phase-manager.md', 'control-flow-analysis.md']));
    for (const [page, rows] of tables) expect(rows.length, page).toBeGreaterThan(20);
    const index = textOf(`${FOLDER}/README.md`);
    for (const page of pages) expect(index).toContain(`](${page})`);
  });

  test.each(pages)('%s: every row names what is there, or says why nothing is', (page) => {
    const faults = tables.get(page)!.map((r) => [`${page}:${r.line}`, faultOf(r)]);
    expect(faults.filter(([, fault]) => fault !== '')).toEqual([]);
  });

  test.each(pages)('%s: no statement stands twice', (page) => {
    const statements = tables.get(page)!.map((r) => r.cells[0]);
    expect(statements.filter((s, i) => statements.indexOf(s) !== i)).toEqual([]);
  });

  test('a fault of each kind is seen', () => {
    const fault = (...cells: string[]) => faultOf({ line: 1, cells });
    const title = '`test/engine/engine.test.ts` "levels, knobs and budgets decide, and say why not"';
    const where = '`src/engine/gate.ts: openGate`';
    expect(fault('x', where, title, '')).toBe('');
    expect(fault('x', '-', '-', 'not done: ptxas does it')).toBe('');
    for (const empty of ['not done', 'not done: nothing is bound to it yet', 'nothing is bound to phase 44'])
      expect(fault('x', '-', '-', empty)).toMatch(/is no reason/);
    expect(fault('x', where, title)).toMatch(/3 cells/);
    expect(fault('', where, title, '')).toMatch(/no statement/);
    expect(fault('x', 'gate.ts', title, '')).toMatch(/is neither/);
    expect(fault('x', '`src/engine/gat.ts`', title, '')).toMatch(/no file/);
    expect(fault('x', '`src/engine`', title, '')).toMatch(/no file/);
    expect(fault('x', '`src/engine/gate.ts: openGates`', title, '')).toMatch(/has no 'openGates'/);
    expect(fault('x', where, 'some test', '')).toMatch(/is neither/);
    expect(fault('x', where, '`src/engine/gate.ts` "take"', '')).toMatch(/no test/);
    expect(fault('x', where, title.replace('budgets', 'no'), '')).toMatch(/has no test/);
    expect(fault('x', where, title.replace(' why', ''), '')).toMatch(/has no test/);
    expect(fault('x', where, '`test/engine/engine.test.ts` "some test', '')).toMatch(/is neither/);
    expect(fault('x', '`src/passes/flow/branch-opt.ts`', '`test/ori/hoist.ori` "loop-invariant"', '')).toBe(
      'test/ori/hoist.ori does not run src/passes/flow/branch-opt.ts',
    );
    expect(fault('x', '`src/judge/judge.ts`', title, '')).toMatch(/engine.test.ts does not run src\/judge/);
    const says = (statement: string, note: string) => fault(statement, where, title, note);
    expect(says('Phase 118 does it', 'nothing is bound')).toBe('');
    expect(says('Phase 14 does it', 'nothing is bound')).toMatch(/14 are bound/);
    expect(says('It is done', 'nothing is bound')).toMatch(/nothing is bound/);
    expect(says('Knob 122', 'nothing reads it')).toBe('');
    expect(says('Knob 461', 'nothing reads it')).toMatch(/461 are read/);
    expect(fault('x', '-', title, '')).toMatch(/neither a test nor a reason/);
    expect(fault('x', where, '-', '')).toMatch(/neither a test nor a reason/);
    expect(
      rowsOf('| a | b |\n\n| Statement | Where | Test | Note |\n|---|:-:|---|---|\n| x \\| y | - | - | n |'),
    ).toEqual([{ line: 5, cells: ['x \\| y', '-', '-', 'n'] }]);
  });

  test('every phase that the page describes has a row, which claims an implementation exactly where something is bound', () => {
    const described = phases.slice(0, 139);
    const told = tables.get('phase-manager.md')!.flatMap((r) => {
      const m = /^(\d+) (\w+): ./.exec(r.cells[0]);
      return m === null ? [] : [`${m[1]} ${m[2]} ${r.cells[1] === '-' ? 'not done' : 'done'}`];
    });
    expect(told).toEqual(
      described.map((p) => {
        const done = p.steps !== undefined || p.status === 'marker';
        return `${p.index} ${p.name} ${done ? 'done' : 'not done'}`;
      }),
    );
  });

  test('what a partial phase lacks is said in its row of pipelines/phases.yaml alone', () => {
    for (const { line, cells } of tables.get('phase-manager.md')!) {
      const index = /^(\d+) \w+: ./.exec(cells[0])?.[1];
      if (index !== undefined && phases[Number(index)].status === 'partial')
        expect([line, cells[3]]).toEqual([
          line,
          expect.stringMatching(/^partial: its row says what is missing(; in detail: `[\w-]+\.md`)?$/),
        ]);
    }
  });
});
