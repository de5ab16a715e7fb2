import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import type {
  CodeAction,
  CompletionItem,
  DocumentSymbol,
  FoldingRange,
  Hover,
  Location,
  TextEdit,
  WorkspaceEdit,
} from 'vscode-languageserver';
import { checkOne } from '../../src/cli/check/check.ts';
import { isaOf, knobsOf, rowsOf } from '../../src/lsp/names.ts';
import { rulesOfDoc } from '../../src/rules/group.ts';
import { loadShipped } from '../../src/spec/node.ts';
import { ROOT } from '../../src/spec/node-cache.ts';
import { holdText } from '../../src/spec/node-held.ts';
import { type Client, inProcess } from '../support/lsp-client.ts';

/* The language server over specs, by the protocol. None of the texts here is on disk. */

const HASHES = new Map<string, string>();
let c: Client;
beforeAll(async () => {
  const specs = await loadShipped();
  for (const r of rulesOfDoc(specs.rules!.get('logic')!.data, isaOf(specs), 'texts').rules)
    HASHES.set(r.hash, r.id);
  c = inProcess((hash) => (HASHES.has(hash) ? `verified for ${HASHES.get(hash)}` : undefined));
  await c.initialize();
});
afterEach(() => c.closeAll());
afterAll(() => c.shutdown());

const uriOf = (name: string): string => pathToFileURL(join(ROOT, name)).href;
let last = 0;
/** Opens a text under a new name. */
function opened(text: string, name = `text-${++last}.yaml`): string {
  const uri = uriOf(name);
  c.open(uri, 'yaml', text);
  return uri;
}
/** The place of a mark `^` in a text, and the text without it. */
function marked(text: string): { text: string; position: { line: number; character: number } } {
  const before = text.slice(0, text.indexOf('^'));
  const line = before.split('\n').length - 1;
  return {
    text: text.replace('^', ''),
    position: { line, character: before.length - before.lastIndexOf('\n') - 1 },
  };
}
/** Asks about the place of the mark. */
async function ask<R>(method: string, text: string, more: object = {}): Promise<R> {
  const m = marked(text);
  const uri = opened(m.text);
  const answer = c.request<R>(method, { textDocument: { uri }, position: m.position, ...more });
  // Without a check of the whole text, which takes longer than all of this.
  c.close(uri);
  return answer;
}
/** A text after edits, the last of them first. */
function edited(text: string, edits: readonly TextEdit[]): string {
  const lines = text.split('\n');
  const offset = (p: { line: number; character: number }): number =>
    lines.slice(0, p.line).reduce((n, l) => n + l.length + 1, 0) + p.character;
  return [...edits]
    .sort((a, b) => offset(b.range.start) - offset(a.range.start))
    .reduce((t, e) => t.slice(0, offset(e.range.start)) + e.newText + t.slice(offset(e.range.end)), text);
}

const ILLEGAL = `kind: order
extends: binary
edits:
  - { move: OriBranchOpt, before: SetControlFlowOpLastInBB }
`;

describe('faults', () => {
  test('are those of `orrery check`, of the text that is not saved', async () => {
    const uri = opened(ILLEGAL);
    const path = join(ROOT, `text-${last}.yaml`);
    const found = await c.until(uri, (d) => d.length > 3);
    holdText(path, ILLEGAL);
    const expected = await checkOne(path);
    expect(
      found.map((d) => [d.severity, d.code, String(d.message).split('\n')[0], d.range.start.line + 1]),
    ).toEqual(expected.map((d) => [d.severity === 'error' ? 1 : 2, d.code, d.message, d.line]));
    expect(expected.filter((d) => d.severity === 'error').length).toBeGreaterThan(0);
    expect(existsSync(path)).toBe(false);
  });

  test('follow the text as it is typed, and go with it', async () => {
    const uri = opened('kind: recipe\nphases: { disable: [Gvn] }\n');
    const [first] = await c.until(uri, (d) => d.length === 1);
    expect([first.code, first.range.start]).toEqual(['unknown-phase', { line: 1, character: 20 }]);
    c.edit(uri, [1, 23], [1, 23], 'Cse');
    await c.until(uri, (d) => d.length === 0);
    c.edit(uri, [1, 0], [1, 0], 'knobs: { Unro: 3 }\n');
    const [knob] = await c.until(uri, (d) => d.length === 1);
    expect(knob.message).toMatch(/there is no knob 'Unro'/);
    c.close(uri);
    await c.until(uri, (d) => d.length === 0);
  });

  test('of text that is no YAML have a place too', async () => {
    const uri = opened('kind: order\nedits: [ {\n');
    const found = await c.until(uri, (d) => d.length > 0);
    expect(found[0].severity).toBe(1);
  });

  test('of a text change when one on which it depends is opened, and when that is closed', async () => {
    const mine = opened('kind: recipe\nextends: ./other-recipe.yaml\n');
    await c.until(mine, (d) => d.length > 0);
    const other = opened('kind: recipe\nknobs: { OptBudget: 3 }\n', 'other-recipe.yaml');
    await c.until(mine, (d) => d.length === 0);
    c.close(other);
    await c.until(mine, (d) => d.length > 0);
  });

  test('other YAML is left alone', async () => {
    const other = opened('services:\n  web: { image: x }\nkind: Deployment\n');
    const meant = opened('kind: recipi\n');
    const [fault] = await c.until(meant, (d) => d.length > 0);
    expect(fault.message).toMatch(/unknown kind 'recipi'/);
    expect(await c.until(other, () => true)).toEqual([]);
  });

  test('of a file that ships are found in what is typed, and do not spread to other texts', async () => {
    const name = 'pipelines/orders/late-branches.yaml';
    const text = readFileSync(join(ROOT, name), 'utf8');
    const mine = opened('kind: order\nextends: late-branches\nedits: [{ drop: Gvn }]\n');
    await c.until(mine, (d) => d.length === 1);
    const uri = opened(text.replace('insert: OriBranchOpt', 'insret: OriBranchOpt'), name);
    const found = await c.until(uri, (d) => d.length > 0);
    expect(found[0].message).toMatch(/insret/);
    c.edit(mine, [2, 0], [2, 0], '# again\n');
    const [fault] = await c.until(mine, (d) => d.length === 1 && d[0].range.start.line === 3);
    expect(fault.message).toMatch(/there is no phase 'Gvn'/);
    c.close(uri);
    await c.until(uri, (d) => d.length === 0);
  });
});

describe('completion', () => {
  const labels = async (text: string): Promise<string[]> =>
    (await ask<CompletionItem[]>('textDocument/completion', text)).map((i) => i.label);
  test.each([
    ['phases of an order', 'kind: order\nextends: binary\nedits:\n  - { move: ^ }\n', 'OriBranchOpt'],
    ['phases of a block', 'kind: order\nextends: binary\nedits:\n  - move: Ori^\n', 'OriBranchOpt'],
    ['phases of a list', 'kind: recipe\nphases:\n  disable: [Gv^]\n', 'GvnCse'],
    ['a switched phase in a block', 'kind: recipe\nphases:\n  disable:\n    - G^\n', 'GvnCse'],
    ['orders', 'kind: order\nextends: ^\nedits: []\n', 'late-branches'],
    ['passes', 'kind: order\nextends: binary\nedits:\n  - { insertPass: ^, after: GvnCse }\n', 'gvn-cse'],
    [
      'rule groups',
      'kind: order\nextends: binary\nedits:\n  - { insertRules: l^, after: GvnCse }\n',
      'logic',
    ],
    ['knobs', 'kind: knob-set\nknobs:\n  Opt^\n', 'OptBudget'],
    ['knobs in braces', 'kind: recipe\nknobs: { ^ }\n', 'OptBudget'],
    ['targets', 'kind: recipe\nsm: [^]\n', 'sm_90'],
    ['hooks', 'kind: recipe\nhooks:\n  A^\n', 'AdvancedPhaseAfterMidExpansion'],
    ['recipes', 'kind: recipe\nextends: ^\n', 'hopper'],
    ['metrics', 'kind: experiment\nkernels: [x]\nmetrics: [^]\n', 'warp-instructions'],
    ['opcodes', 'kind: backend\noperations: { I^ }\n', 'IMAD'],
    ['facts', 'kind: phases\nphases:\n  - { facts: [^] }\n', 'limits'],
    ['kinds', 'kind: ^\n', 'knob-set'],
    ['keys of the schema', 'kind: order\nextends: binary\nedits:\n  - { ^ }\n', 'insertRules'],
    ['values of the schema', 'kind: experiment\nkernels: [x]\ndesign: ^\n', 'latin-hypercube'],
  ])('%s', async (_, text, expected) => {
    expect(await labels(text)).toContain(expected);
  });

  test('keys that are there are not offered again, and a key brings its colon', async () => {
    const found = await ask<CompletionItem[]>(
      'textDocument/completion',
      'kind: order\nextends: binary\nedits:\n  - { move: GvnCse, af^ }\n',
    );
    expect(found.map((i) => i.label)).not.toContain('move');
    const after = found.find((i) => i.label === 'after');
    expect(after?.textEdit?.newText).toBe('after: ');
    expect((after!.textEdit as TextEdit).range.start).toEqual({ line: 3, character: 20 });
  });
});

describe('cards', () => {
  const shown = async (text: string): Promise<string> => {
    const h = await ask<Hover | null>('textDocument/hover', text);
    return h === null ? '' : (h.contents as { value: string }).value;
  };
  test.each([
    ['a phase', 'kind: recipe\nphases: { disable: [GvnC^se] }\n', /\*\*GvnCse\*\*[\s\S]*runs[\s\S]*gvn-cse/],
    [
      'a knob',
      'kind: recipe\nknobs: { OptB^udget: 3 }\n',
      /\*\*OptBudget\*\* BDGT, default unset[\s\S]*read by/,
    ],
    ['an alias of a knob', 'kind: recipe\nknobs: { nvoptreci^pe: 1 }\n', /\*\*Knob391\*\*/],
    ['an opcode', 'kind: ptx\nopcodes: { IM^AD: [] }\n', /multiply-add[\s\S]*mulhi/],
    [
      'a rule group',
      'kind: order\nextends: binary\nedits: [{ insertRules: lo^gic, after: GvnCse }]\n',
      /rules/,
    ],
    ['a fact', 'kind: phases\nphases: [{ facts: [limits.max-regis^ters] }]\n', /limits\.max-registers/],
    ['a key', 'kind: order\nextends: binary\ned^its: []\n', /Applied in order/],
  ])('%s', async (_, text, expected) => {
    expect(await shown(text)).toMatch(expected);
  });

  test('a knob that passes read, though no row of the table names it', async () => {
    const specs = await loadShipped();
    const rows = rowsOf(specs).flatMap((p) => p.knobs ?? []);
    const knobs = Object.entries(knobsOf(specs)).filter(([name]) => !rows.includes(name));
    const [name, k] = knobs.find(([, k]) => k.unread !== true && (k.readers ?? []).length > 0)!;
    const card = await shown(`kind: knob-set\nknobs: { ^${name}: 1 }\n`);
    expect(card).toContain(`**read by**: ${k.readers![0]}`);
    expect(card).not.toContain('nothing reads it');
    const [unread] = knobs.find(([, k]) => k.unread === true)!;
    expect(await shown(`kind: knob-set\nknobs: { ^${unread}: 1 }\n`)).toContain('nothing reads it yet');
  });

  test('a rule whose title has marks of Markdown', async () => {
    const rule = "title: 'a <b> *c*', match: 'MOV $d, $a', rewrite: 'MOV $d, $a', source: test";
    const text = `kind: rules\ngroup: my-group\nrules:\n  - { id: one-^rule, ${rule} }\n`;
    expect(await shown(text)).toContain('a \\<b\\> \\*c\\*');
    // While the text has an error, there is no such card.
    expect(await shown(text.replace('rewrite: ', 'rewrit: '))).not.toContain('verdict');
  });

  test('of a kind that is called as a property of every object', async () => {
    expect(await shown('kind: constructor\nte^xt: 1\n')).toBe('');
  });

  test('a rule, with the verdict on it as it is written', async () => {
    const text = readFileSync(join(ROOT, 'pipelines/rules/logic.yaml'), 'utf8');
    expect(await shown(text.replace('id: table-copy', 'id: table-c^opy'))).toMatch(/verified for table-copy/);
    const changed = text.replace('id: table-copy', 'id: table-c^opy').replace("'MOV $d, $a'", "'MOV $d, 7'");
    expect(await shown(changed)).toMatch(/not proved yet/);
  });
});

describe('names across files', () => {
  const files = (list: readonly Location[]): string[] => list.map((l) => l.uri.slice(uriOf('').length + 1));
  const where = async (method: string, text: string): Promise<string[]> =>
    files(await ask<Location[]>(method, text, { context: { includeDeclaration: true } }));
  test.each([
    [
      'a phase: its row and its pass',
      'kind: recipe\nphases: { disable: [Gvn^Cse] }\n',
      ['pipelines/phases.yaml', 'src/passes/values/gvn-cse.ts'],
    ],
    ['a knob', 'kind: recipe\nknobs: { OptB^udget: 3 }\n', ['knobs/catalog.yaml']],
    [
      'a rule group',
      'kind: order\nextends: binary\nedits: [{ insertRules: lo^gic, after: GvnCse }]\n',
      ['pipelines/rules/logic.yaml'],
    ],
    ['an order', 'kind: order\nextends: see^d\nedits: []\n', ['pipelines/orders/seed.yaml']],
    ['an opcode', 'kind: ptx\nopcodes: { IM^AD: [] }\n', ['pipelines/isa/integer.yaml']],
    ['a target', 'kind: recipe\nsm: [sm_9^0]\n', ['pipelines/backends/sm_90.yaml']],
    [
      'a file',
      'kind: order\nextends: ./pipelines/orders/se^ed.yaml\nedits: []\n',
      ['pipelines/orders/seed.yaml'],
    ],
  ])('definition of %s', async (_, text, expected) => {
    expect(await where('textDocument/definition', text)).toEqual(expect.arrayContaining(expected));
  });

  test('references of a knob: its readers, in any case', async () => {
    const found = await where(
      'textDocument/references',
      'kind: recipe\nknobs: { generaloptimization^budget: 3 }\n',
    );
    expect(found).toContain('knobs/catalog.yaml');
    expect(found.filter((f) => f === 'pipelines/phases.yaml').length).toBeGreaterThan(5);
  });

  const renamed = (text: string, newName: string) =>
    ask<WorkspaceEdit>('textDocument/rename', text, { newName });
  const RULES = `kind: rules
group: my-group
rules:
  - { id: one-^rule, title: x, match: 'MOV $d, $a', rewrite: 'MOV $d, $a', source: test }
`;
  test('a rule is renamed, a phase is not', async () => {
    const { changes } = await renamed(RULES, 'a-better-name');
    expect(edited(marked(RULES).text, Object.values(changes!)[0])).toMatch(/id: a-better-name,/);
    await expect(renamed('kind: recipe\nphases: { disable: [Gvn^Cse] }\n', 'other')).rejects.toThrow(
      /'GvnCse' is the name of a phase, which code and traces use too/,
    );
    await expect(renamed(RULES, 'Not A Name')).rejects.toThrow(/is no name/);
    await expect(renamed(RULES, 'table-copy')).rejects.toThrow(/there is a rule 'table-copy' already/);
    const path = 'kind: order\nextends: binary\nedits:\n  - { insertRules: ./gr^oup.yaml, after: GvnCse }\n';
    await expect(renamed(path, 'other')).rejects.toThrow(/is the name of a file: rename the file/);
  });

  test('nothing is renamed in files that are not of the client', async () => {
    const other = inProcess();
    await other.initialize({}, join(ROOT, 'test'));
    const { text, position } = marked(RULES.replace('my-^group', 'x').replace('one-^rule', 'table-c^opy'));
    const uri = uriOf('test/mine.yaml');
    other.open(uri, 'yaml', text);
    const asked = (): Promise<WorkspaceEdit> =>
      other.request('textDocument/rename', { textDocument: { uri }, position, newName: 'other' });
    await expect(asked()).rejects.toThrow(/'table-copy' stands in .*logic\.yaml too/);
    // Files of a folder that is opened later are of the client too, until it is closed.
    const folder = { uri: pathToFileURL(ROOT).href, name: 'root' };
    const change = (event: object): Promise<void> =>
      other.connection.sendNotification('workspace/didChangeWorkspaceFolders', { event });
    await change({ added: [folder], removed: [] });
    expect(Object.keys((await asked()).changes!)).toContainEqual(expect.stringMatching(/logic\.yaml$/));
    await change({ added: [], removed: [folder] });
    await expect(asked()).rejects.toThrow(/'table-copy' stands in .*logic\.yaml too/);
    await other.shutdown();
  });
});

describe('the shape of a text', () => {
  const ORDER =
    '# one\n# two\nkind: order\nextends: binary\nedits:\n  - move: GvnCse\n    after: OriStrengthReduce\n  - { drop: OriStrengthReduce }\n';
  test('outline and folds', async () => {
    const uri = opened(ORDER);
    const outline = await c.request<DocumentSymbol[]>('textDocument/documentSymbol', {
      textDocument: { uri },
    });
    expect(outline.map((s) => s.name)).toEqual(['kind', 'extends', 'edits']);
    expect(outline[2].children?.map((s) => s.name)).toEqual(['move GvnCse', 'drop OriStrengthReduce']);
    const folds = await c.request<FoldingRange[]>('textDocument/foldingRange', { textDocument: { uri } });
    expect(folds.map((f) => [f.startLine, f.endLine])).toEqual(
      expect.arrayContaining([
        [0, 1],
        [4, 7],
        [5, 6],
      ]),
    );
  });
});

describe('fixes', () => {
  const actions = (uri: string, line: number): Promise<CodeAction[]> =>
    c.request('textDocument/codeAction', {
      textDocument: { uri },
      range: { start: { line, character: 0 }, end: { line, character: 80 } },
      context: { diagnostics: [] },
    });
  const applied = (text: string, uri: string, a: CodeAction): string => edited(text, a.edit!.changes![uri]);

  test('an illegal move goes to the nearest legal place, and is legal there', async () => {
    const uri = opened(ILLEGAL);
    await c.until(uri, (d) => d.some((x) => /OriBranchOpt looks for the branch/.test(String(x.message))));
    const move = (await actions(uri, 3)).find((a) => /nearest legal place/.test(a.title))!;
    const text = applied(ILLEGAL, uri, move);
    expect(text).toMatch(/- \{ move: OriBranchOpt, (before|after): \w+ \}/);
    c.replace(uri, text);
    await c.until(uri, (d) => d.every((x) => x.severity !== 1));
  });

  test('a misspelt name', async () => {
    const text = 'kind: recipe\nknobs: { OptBudgt: 3 }\n';
    const uri = opened(text);
    await c.until(uri, (d) => d.length > 0);
    const [fix] = await actions(uri, 1);
    expect([fix.title, fix.isPreferred]).toEqual(["replace 'OptBudgt' by 'OptBudget'", true]);
    expect(applied(text, uri, fix)).toBe('kind: recipe\nknobs: { OptBudget: 3 }\n');
  });

  test('none for the list `edits` of another kind', async () => {
    const uri = opened('kind: recipe\nedits:\n  - { drop: GvnCse }\n');
    await c.until(uri, () => true);
    expect((await actions(uri, 2)).filter((a) => a.title.startsWith('add `why`'))).toEqual([]);
  });

  test('an edit without a reason gets one', async () => {
    const uri = opened(
      'kind: order\nextends: binary\nedits:\n  - { drop: OriStrengthReduce }\n  - drop: GvnCse\n',
    );
    const text = 'kind: order\nextends: binary\nedits:\n  - { drop: OriStrengthReduce }\n  - drop: GvnCse\n';
    const why = async (line: number) =>
      (await actions(uri, line)).find((a) => a.title.startsWith('add `why`'))!;
    expect(applied(text, uri, await why(3))).toContain("{ drop: OriStrengthReduce, why: '' }");
    expect(applied(text, uri, await why(4))).toContain("- drop: GvnCse\n    why: ''\n");
  });
});
