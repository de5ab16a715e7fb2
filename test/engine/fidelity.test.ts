import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { parse } from 'yaml';
import type { PhasesSpec } from '../../src/spec/types.generated.ts';

/*
 * The tables in src/engine/fidelity repeat, row by row, what pages on the modelled compiler state. Their claims are checked as far as text
 * can be: files, symbols and titles of tests exist, every row has a test or a reason for having none, and every phase is covered.
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

/** Does a line give a title to a test, or say why a file of Ori text is a test? */
const TITLE = /^\s*(it|test|describe)(\.\w+)*\(|^\s*[\]})]+\(|^# why /;

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
    if (!path.startsWith('test/') || !isFile(path)) return `there is no test ${path}`;
    if (
      !textOf(path)
        .split('\n')
        .some((l) => l.includes(words) && TITLE.test(l))
    )
      return `${path} has no test "${words}"`;
  }
  if ((where === '-' || by === '-') && note === '') return 'neither a test nor a reason';
  // The row says already that nothing does it.
  if (where === '-' && by === '-' && /^(not done(: )?)?(nothing is bound\b.*)?$/.test(note))
    return `'${note}' is no reason`;
  return '';
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
    const title = '`test/engine/fidelity.test.ts` "a fault of each kind is seen"';
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
    expect(fault('x', where, title.replace('each', 'no'), '')).toMatch(/has no test/);
    // Words of a test's body are no title.
    expect(fault('x', where, '`test/engine/fidelity.test.ts` "some test', '')).toMatch(/is neither/);
    expect(fault('x', where, '`test/engine/fidelity.test.ts` "Words of a test"', '')).toMatch(/has no test/);
    expect(fault('x', '-', title, '')).toMatch(/neither a test nor a reason/);
    expect(fault('x', where, '-', '')).toMatch(/neither a test nor a reason/);
    expect(
      rowsOf('| a | b |\n\n| Statement | Where | Test | Note |\n|---|:-:|---|---|\n| x \\| y | - | - | n |'),
    ).toEqual([{ line: 5, cells: ['x \\| y', '-', '-', 'n'] }]);
  });

  test('every phase that the page describes has a row, which claims an implementation exactly where something is bound', () => {
    const phases = (parse(textOf('pipelines/phases.yaml')).phases as PhasesSpec.Phase[]).slice(0, 139);
    const told = tables.get('phase-manager.md')!.flatMap((r) => {
      const m = /^(\d+) (\w+): ./.exec(r.cells[0]);
      return m === null ? [] : [`${m[1]} ${m[2]} ${r.cells[1] === '-' ? 'not done' : 'done'}`];
    });
    expect(told).toEqual(
      phases.map((p) => {
        const done = p.steps !== undefined || p.status === 'marker';
        return `${p.index} ${p.name} ${done ? 'done' : 'not done'}`;
      }),
    );
  });
});
