import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import type {
  CodeAction,
  CodeLens,
  CompletionItem,
  DocumentHighlight,
  DocumentSymbol,
  FoldingRange,
  Hover,
  InlayHint,
  Location,
  SemanticTokens,
  TextEdit,
  WorkspaceEdit,
} from 'vscode-languageserver';
import { inlinePtx } from '../../src/lsp/cuda/inline.ts';
import { TOKEN_TYPES } from '../../src/lsp/kinds.ts';
import { checkPtx } from '../../src/ptx/check.ts';
import { parsePtx } from '../../src/ptx/parse.ts';
import { ROOT } from '../../src/spec/node-cache.ts';
import { type Client, inProcess } from '../support/lsp-client.ts';

/* The language server over PTX, Ori and PTX inside of CUDA sources, by the protocol. */

let c: Client;
beforeAll(async () => {
  c = inProcess();
  await c.initialize({ hints: ['becomes', 'live', 'frequency', 'lanes'] });
});
afterEach(() => c.closeAll());
afterAll(() => c.shutdown());

let last = 0;
function opened(text: string, ending = 'ptx'): string {
  const uri = pathToFileURL(join(ROOT, `text-${++last}.${ending}`)).href;
  c.open(uri, ending, text);
  return uri;
}

const PTX = `.version 8.0
.target sm_80
.address_size 64

.func (.reg .b32 %result) twice (.reg .b32 %a)
{
  add.s32 %result, %a, %a;
  ret;
}

// Two lines
// of comment.
.visible .entry scale(.param .u64 data, .param .u32 n)
{
  .reg .pred %p<2>;
  .reg .b32 %r<6>;
  .reg .b64 %rd<4>;
  .reg .b32 %own;

  ld.param.u64 %rd1, [data];
  ld.param.u32 %r1, [n];
  mov.u32 %r2, %tid.x;
  setp.ge.s32 %p1, %r2, %r1;
  @%p1 bra DONE;
  cvta.to.global.u64 %rd2, %rd1;
  mul.wide.u32 %rd3, %r2, 4;
  add.s64 %rd3, %rd2, %rd3;
  ld.global.u32 %r3, [%rd3];
  call (%own), twice, (%r3);
  st.global.u32 [%rd3], %own;
DONE:
  ret;
}
`;
const LINES = PTX.split('\n');
/** The place of a word in the nth line that has it. */
function at(line: string, word: string): { line: number; character: number } {
  const k = LINES.findIndex((l) => l.includes(line));
  return { line: k, character: LINES[k].indexOf(word) + 1 };
}
const lineOf = (part: string): number => LINES.findIndex((l) => l.includes(part));
const ask = <R>(method: string, uri: string, position: object, more: object = {}): Promise<R> =>
  c.request<R>(method, { textDocument: { uri }, position, ...more });
const shown = (h: Hover | null): string => (h === null ? '' : (h.contents as { value: string }).value);

describe('faults of PTX', () => {
  test('are those of the parser and of the checks, at their places', async () => {
    const text = PTX.replace('add.s64 %rd3, %rd2', 'add.s64 %rd3, %r2').replace(
      'setp.ge.s32',
      'setp.gee.s32',
    );
    const uri = opened(text);
    const found = await c.until(uri, (d) => d.length > 0);
    const { module, diagnostics } = parsePtx(text, 'x');
    const expected = [...diagnostics, ...checkPtx(module)];
    expect(found.map((d) => [d.code, d.range.start.line + 1, d.range.start.character + 1])).toEqual(
      expected.map((d) => [d.code, d.line, d.column]),
    );
    const lines = text.split('\n');
    const marks = found.map((d) =>
      lines[d.range.start.line].slice(d.range.start.character, d.range.end.character),
    );
    expect(marks).toEqual(['setp.gee.s32 %p1, %r2, %r1;', '%r2']);
  });

  test('a misspelt name is replaced', async () => {
    const uri = opened(PTX.replace('sm_80', 'sm_8O'));
    await c.until(uri, (d) => d.length > 0);
    const [fix] = await c.request<CodeAction[]>('textDocument/codeAction', {
      textDocument: { uri },
      range: { start: { line: 1, character: 0 }, end: { line: 1, character: 13 } },
      context: { diagnostics: [], only: ['quickfix'] },
    });
    expect(fix.edit?.changes?.[uri][0].newText).toBe('sm_80');
  });
});

describe('cards of PTX', () => {
  test.each([
    [
      'setp.ge',
      'setp',
      /\*\*setp\.ge\.s32\*\*: p is true if a and b compare so[\s\S]*types: \.s32[\s\S]*ISETP/,
    ],
    ['mul.wide', 'mul', /needs every version and target[\s\S]*IMAD_WIDE/],
    ['setp.ge', '%r2', /register of type \.b32[\s\S]*written in line 22[\s\S]*read in lines 23, 26/],
    ['@%p1', '%p1', /register of type \.pred[\s\S]*written in line 23[\s\S]*read in line 24/],
    ['st.global', '%rd3', /written in lines 26, 27[\s\S]*read in lines 27, 28, 30/],
    ['st.global', '%own', /written in line 29[\s\S]*read in line 30/],
    ['@%p1', 'DONE', /label in line 31, named in line 24/],
    ['call', 'twice', /\*\*twice\*\* function/],
    ['[data]', 'data', /parameter of type \.u64/],
    ['mov.u32', '%tid', /special register/],
    ['.target', 'sm_80', /known from PTX 7\.0 on/],
  ])('%s: %s', async (line, word, expected) => {
    expect(shown(await ask('textDocument/hover', opened(PTX), at(line, word)))).toMatch(expected);
  });

  test('what a newer instruction needs', async () => {
    const text = PTX.replace('  ret;\n}\n\n//', '  elect.sync _|%q, -1;\n  ret;\n}\n\n//');
    const line = text.split('\n').findIndex((l) => l.includes('elect'));
    const card = shown(await ask('textDocument/hover', opened(text), { line, character: 4 }));
    expect(card).toMatch(/chooses one thread[\s\S]*PTX 8\.0, sm_90 or later/);
  });
});

describe('names in PTX', () => {
  const places = async (method: string, line: string, word: string): Promise<number[]> => {
    const found = await ask<Location[]>(method, opened(PTX), at(line, word), {
      context: { includeDeclaration: true },
    });
    return found.map((l) => l.range.start.line);
  };
  test('definitions', async () => {
    expect(await places('textDocument/definition', '@%p1', 'DONE')).toEqual([lineOf('DONE:')]);
    expect(await places('textDocument/definition', 'setp', '%r2')).toEqual([lineOf('%r<6>')]);
    expect(await places('textDocument/definition', 'call', 'twice')).toEqual([lineOf('.func')]);
    expect(await places('textDocument/definition', '[data]', 'data')).toEqual([lineOf('.entry')]);
  });

  test('references, each in its own scope', async () => {
    expect(await places('textDocument/references', 'setp', '%r2')).toEqual([21, 22, 25]);
    expect(await places('textDocument/references', 'add.s32', '%a')).toEqual([4, 6, 6]);
    expect(await places('textDocument/references', 'call', 'twice')).toEqual([4, 28]);
    const found = await ask<DocumentHighlight[]>(
      'textDocument/documentHighlight',
      opened(PTX),
      at('setp', '%r2'),
    );
    expect(found.map((h) => h.kind)).toEqual([3, 2, 2]);
  });

  /** The text after a rename; its errors must be none. */
  async function renamed(line: string, word: string, newName: string): Promise<string> {
    const uri = opened(PTX);
    const { changes } = await ask<WorkspaceEdit>('textDocument/rename', uri, at(line, word), { newName });
    const lines = PTX.split('\n');
    const edits = [...changes![uri]].sort(
      (a, b) => b.range.start.line - a.range.start.line || b.range.start.character - a.range.start.character,
    );
    const put = (e: TextEdit): void => {
      const l = lines[e.range.start.line];
      lines[e.range.start.line] =
        l.slice(0, e.range.start.character) + e.newText + l.slice(e.range.end.character);
    };
    edits.forEach(put);
    const text = lines.join('\n');
    const { module, diagnostics } = parsePtx(text, 'x');
    expect([...diagnostics, ...checkPtx(module)]).toEqual([]);
    return text;
  }
  test.each([
    ['@%p1', 'DONE', 'OUT', 2],
    ['call', 'twice', 'doubled', 2],
    ['[data]', 'data', 'values', 2],
    ['st.global', '%own', '%mine', 3],
    ['setp', '%r2', '%index', 4],
    ['setp', '%r2', '%r5', 3],
  ])('%s: %s becomes %s', async (line, word, to, times) => {
    const text = await renamed(line, word, to);
    expect(text.split(to).length - 1).toBe(times);
  });

  test.each([
    ['setp', '%r2', '%r1', /in use already/],
    ['setp', '%r2', '%own', /declared already/],
    ['setp', '%r2', '2x', /no name in PTX/],
    ['setp', '%r2', '%laneid', /special register/],
  ])('%s: %s does not become %s', async (line, word, newName, why) => {
    const asked = ask('textDocument/rename', opened(PTX), at(line, word), { newName });
    await expect(asked).rejects.toThrow(why);
  });

  test('what is no name is not renamed', async () => {
    await expect(ask('textDocument/prepareRename', opened(PTX), at('setp', 'setp'))).rejects.toThrow(
      /no name/,
    );
  });

  test.each([
    ['opcodes', '  set', 5, 'setp'],
    ['modifiers', '  ld.global.', 12, 'v2'],
    ['registers', '  add.s32 %r3, ', 15, '%r5'],
    ['targets', '.target ', 8, 'sm_90a'],
  ])('%s are offered', async (_, typed, character, expected) => {
    const line = lineOf('mov.u32');
    const text = [...LINES.slice(0, line), typed, ...LINES.slice(line)].join('\n');
    const found = await ask<CompletionItem[]>('textDocument/completion', opened(text), { line, character });
    expect(found.map((i) => i.label)).toContain(expected);
  });
});

describe('the shape of PTX', () => {
  test('outline, folds and tokens', async () => {
    const uri = opened(PTX);
    const doc = { textDocument: { uri } };
    const outline = await c.request<DocumentSymbol[]>('textDocument/documentSymbol', doc);
    expect(outline.map((s) => s.name)).toEqual(['twice', 'scale']);
    expect(outline[1].children?.map((s) => s.name)).toEqual([
      'data',
      'n',
      '%p<2>',
      '%r<6>',
      '%rd<4>',
      '%own',
      'DONE',
    ]);
    const folds = await c.request<FoldingRange[]>('textDocument/foldingRange', doc);
    expect(folds.map((f) => [f.startLine, f.endLine])).toEqual([
      [4, 8],
      [12, 32],
      [10, 11],
    ]);
    const { data } = await c.request<SemanticTokens>('textDocument/semanticTokens/full', doc);
    const words: string[] = [];
    for (let i = 0, line = 0, from = 0; i < data.length; i += 5) {
      if (data[i] > 0) from = 0;
      line += data[i];
      from += data[i + 1];
      words.push(`${LINES[line].slice(from, from + data[i + 2])} ${TOKEN_TYPES[data[i + 3]]}`);
    }
    expect(words).toEqual(
      expect.arrayContaining([
        'add keyword',
        '.s32 type',
        '%a parameter',
        '// of comment. comment',
        'DONE label',
        'twice function',
      ]),
    );
    const part = await c.request<SemanticTokens>('textDocument/semanticTokens/range', {
      ...doc,
      range: { start: { line: 19, character: 0 }, end: { line: 20, character: 0 } },
    });
    expect(part.data.slice(0, 5)).toEqual([19, 2, 2, TOKEN_TYPES.indexOf('keyword'), 0]);
  });
});

describe('figures of kernels', () => {
  test('a lens over each kernel, and hints at its lines', async () => {
    const name = join(ROOT, 'test/kernels/saxpy/saxpy.sm_90.ptx');
    const uri = pathToFileURL(name).href;
    const text = readFileSync(name, 'utf8');
    c.open(uri, 'ptx', text);
    let lenses: CodeLens[] = [];
    while (lenses.length === 0) {
      await c.something();
      lenses = await c.request('textDocument/codeLens', { textDocument: { uri } });
    }
    expect(lenses.map((l) => l.command?.title).slice(0, 2)).toEqual([
      expect.stringMatching(/^\d+ -> \d+ instructions, \d+ registers, occupancy \d+ % \(sm_90\)$/),
      'run its launch',
    ]);
    let hints: InlayHint[] = [];
    const range = { start: { line: 0, character: 0 }, end: { line: 200, character: 0 } };
    while (hints.length === 0) {
      await c.something();
      hints = await c.request('textDocument/inlayHint', { textDocument: { uri }, range });
    }
    const all = hints.map((h) => String(h.label)).join('\n');
    for (const part of [
      /becomes IMAD_WIDE/,
      /removed by \w+/,
      /\d+ live/,
      /runs [\d.]+ times/,
      /may diverge/,
    ])
      expect(all).toMatch(part);
    // The next key makes them out of date.
    c.edit(uri, [0, 0], [0, 0], '// new\n');
    expect(await c.request('textDocument/codeLens', { textDocument: { uri } })).toEqual([]);
  });
});

describe('Ori', () => {
  const text = `.program "x" version 9.0 target sm_80 address 64
.entry k
{
BB0:
  S2R.TID.X R2
  ISETP.GE P1, R2, 64
  @P1 BRA BB2
BB1:
  IADD3 R3, R2, R2
BB2:
  EXIT
}
`;
  const position = (line: number, character: number) => ({ line, character });
  test('names, cards, outline', async () => {
    const uri = opened(text, 'ori');
    const found = await ask<Location[]>('textDocument/references', uri, position(5, 16), {
      context: { includeDeclaration: true },
    });
    expect(found.map((l) => l.range.start.line)).toEqual([4, 5, 8, 8]);
    const definition = await ask<Location[]>('textDocument/definition', uri, position(6, 11));
    expect(definition.map((l) => l.range.start.line)).toEqual([9]);
    expect(shown(await ask('textDocument/hover', uri, position(8, 4)))).toMatch(/three-input integer add/);
    expect(shown(await ask('textDocument/hover', uri, position(5, 16)))).toMatch(/written in lines: 5/);
    const outline = await c.request<DocumentSymbol[]>('textDocument/documentSymbol', {
      textDocument: { uri },
    });
    expect(outline[0].children?.map((s) => s.name)).toEqual(['BB0', 'BB1', 'BB2']);
  });

  test('faults, at their lines', async () => {
    const uri = opened(text.replace('IADD3 R3', 'IADD4 R3'), 'ori');
    const [fault] = await c.until(uri, (d) => d.length > 0);
    expect([fault.range.start.line, fault.message]).toEqual([8, expect.stringMatching(/IADD4/)]);
    c.replace(uri, text.replace('IADD3 R3, R2, R2', 'IADD3 P3, R2, R2'));
    const [wrong] = await c.until(uri, (d) => d.length > 0 && !/IADD4/.test(String(d[0].message)));
    expect(wrong.range.start.line).toBe(8);
    // The full check comes 250 ms later, and publishes again.
    const now = c.published;
    while (c.published === now) await c.something();
    const again = c.diagnostics.get(uri)!;
    expect(again.map((d) => [d.range.start.line, d.message])).toEqual([[8, wrong.message]]);
  });

  test('hints are for PTX alone', async () => {
    const uri = opened(text, 'ori');
    await c.until(uri, () => true);
    const now = c.published;
    while (c.published === now) await c.something();
    const refreshed = c.refreshed;
    await new Promise((done) => setTimeout(done, 300));
    const range = { start: position(0, 0), end: position(20, 0) };
    expect(await c.request('textDocument/inlayHint', { textDocument: { uri }, range })).toEqual([]);
    expect(c.refreshed).toBe(refreshed);
  });
});

describe('PTX in CUDA sources', () => {
  const source = (body: string): string =>
    `__device__ int f(int a, float b) {\n  int d;\n${body}\n  return d;\n}\n`;
  const faults = async (body: string) => {
    const uri = opened(source(body), 'cu');
    const found = await c.until(uri, () => true);
    return found.map((d) => {
      const line = source(body).split('\n')[d.range.start.line];
      return [line.slice(d.range.start.character, d.range.end.character), String(d.message).split('\n')[0]];
    });
  };
  test.each([
    ['  asm("add.s32 %0, %1, 7;" : "=r"(d) : "r"(a));'],
    [
      '  asm volatile("{ .reg .pred p;\\n\\t" "setp.ne.b32 p, %1, 0;\\n\\t" "selp.b32 %0, 1, 2, p; }" : "=r"(d) : "r"(a));',
    ],
    ['  asm("mov.u32 %0, %%laneid;" : "=r"(d));'],
    ['  asm("" ::: "memory"); // asm("nonsense")'],
    ['  asm("add.s32 %0, %1, " STRING ";" : "=r"(d) : "r"(a));'],
    ['  asm("shl.b32 %0, %1, %2;" : "=r"(d) : "0"(a), "n"(3));'],
  ])('right: %s', async (body) => {
    expect(await faults(body)).toEqual([]);
  });

  test('statements that are not closed take time in proportion to the source', () => {
    const cpu = (n: number): number => {
      const text = 'asm("mov.u32 %0, 1;" : "=r"(d), (\n'.repeat(n) + '/* '.repeat(n);
      const began = process.cpuUsage();
      expect(inlinePtx(text)).toEqual([]);
      const { user, system } = process.cpuUsage(began);
      return user + system;
    };
    cpu(2000);
    // Quadratic, it would be 16 times as much.
    expect(cpu(40_000) / cpu(10_000)).toBeLessThan(10);
  });

  test('wrong: at the place in the string', async () => {
    expect(await faults('  asm("ad.s32 %0, %1, 7;" : "=r"(d) : "r"(a));')).toEqual([
      ['ad', expect.stringMatching(/unknown opcode 'ad'|'ad'/)],
    ]);
    const two =
      '  asm volatile("mov.u32 %0, 1;\\n"\n               "add.f32 %0, %1, %2;" : "+r"(d) : "f"(b), "l"(a));';
    const [[mark, message]] = await faults(two);
    expect([mark, message]).toEqual(['%2', expect.stringMatching(/%2/)]);
  });
});
