import { isAbsolute, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import type {
  CodeAction,
  CodeActionContext,
  CompletionItem,
  DocumentHighlight,
  DocumentSymbol,
  FoldingRange,
  Hover,
  Location,
  Position,
  Range,
  WorkspaceEdit,
} from 'vscode-languageserver';
import { DiagnosticError } from '../../ir/diagnostic.ts';
import { rulesOfDoc } from '../../rules/group.ts';
import { loadSpec } from '../../spec/node.ts';
import type { Specs } from '../../spec/specs.ts';
import { inlinePtx } from '../cuda/inline.ts';
import { between, escaped, touches } from '../document.ts';
import { isaOf } from '../names.ts';
import {
  oriDefinitions,
  oriFolds,
  oriRename,
  oriSymbols,
  oriTokenAt,
  oriTokens,
  samePlaces,
  whyNoOriName,
} from '../ori/index.ts';
import { completePtx } from '../ptx/complete.ts';
import { highlightsOf, nameAt, ptxFolds, renamed, symbolsOf, whyNoName } from '../ptx/features.ts';
import { ptxHover } from '../ptx/hover.ts';
import { ptxTokens } from '../ptx/tokens.ts';
import { cardOf, opcodeCard } from '../specs/cards.ts';
import { completeSpec } from '../specs/complete.ts';
import { fixesFor, nameFixes } from '../specs/fixes.ts';
import { definitionsOf, placesOf, referenceAt, whyKept, whyNoName as whyNoSpecName } from '../specs/links.ts';
import { foldsOf, outlineOf } from '../specs/outline.ts';
import { kindOf, spotAt } from '../specs/places.ts';
import { aboutAt, schemaOfKind } from '../specs/schema.ts';
import { type Open, oriIndexOf, programOf, ptxIndexOf } from './texts.ts';

/** The verdict of the prover on a rule, as text; undefined if there is none. */
export type VerdictOf = (hash: string) => string | undefined;

/** Thrown if a request makes no sense where it was made; the message is for the user. */
export class Refused extends Error {}

const card = (open: Open, markdown: string, start: number, end: number): Hover => ({
  contents: { kind: 'markdown', value: markdown },
  range: between(open.text, start, end),
});

export async function hover(
  open: Open,
  at: Position,
  specs: Specs,
  verdictOf: VerdictOf,
): Promise<Hover | null> {
  const offset = open.text.offsetAt(at);
  if (open.language === 'ptx') {
    const index = ptxIndexOf(open);
    const ori = index.instrAt(offset) === undefined ? null : programOf(open, specs);
    const found = ptxHover(open, index, offset, ori);
    return found === undefined ? null : card(open, found.markdown, found.start, found.end);
  }
  if (open.language === 'ori') return oriHover(open, offset, specs);
  if (open.language === 'cuda') return null;
  return specHover(open, offset, specs, verdictOf);
}

async function specHover(
  open: Open,
  offset: number,
  specs: Specs,
  verdictOf: VerdictOf,
): Promise<Hover | null> {
  const text = open.text.getText();
  const spot = spotAt(text, offset);
  if (spot === undefined) return null;
  const ref = referenceAt(open, offset);
  if (ref !== undefined && ref.category !== 'rule') {
    const markdown = cardOf(specs, ref.category, ref.name);
    if (markdown !== undefined) return card(open, markdown, spot.start, spot.end);
  }
  const [list, i, key] = spot.path;
  if (list === 'rules' && typeof i === 'number' && kindOf(text) === 'rules' && key === 'id') {
    const markdown = await ruleCard(open, i, specs, verdictOf);
    if (markdown !== undefined) return card(open, markdown, spot.start, spot.end);
  }
  const root = schemaOfKind(kindOf(text));
  const about = root === undefined ? '' : aboutAt(root, spot.path);
  return about === ''
    ? null
    : card(open, `**${escaped(String(spot.path.at(-1)))}**\n\n${about}`, spot.start, spot.end);
}

/** A rule, with the verdict of the prover on it as it is now. */
async function ruleCard(
  open: Open,
  at: number,
  specs: Specs,
  verdictOf: VerdictOf,
): Promise<string | undefined> {
  const spec = await loadSpec(open.path).catch((e: unknown) => {
    if (e instanceof DiagnosticError) return null;
    throw e;
  });
  // The text has an error, which its diagnostics say.
  if (spec === null) return undefined;
  const { data } = spec;
  const row = (data.rules as readonly { id: string; title: string; source: string }[])[at];
  const rule = rulesOfDoc(data, isaOf(specs), 'texts').rules.find((r) => r.id === row?.id);
  if (row === undefined || rule === undefined) return undefined;
  const verdict = verdictOf(rule.hash) ?? 'not proved yet: `orrery rules prove` tries it';
  return [
    `**${row.id}** ${escaped(row.title)}`,
    '',
    `- verdict: ${verdict}`,
    `- source: ${escaped(row.source)}`,
  ].join('\n');
}

function oriHover(open: Open, offset: number, specs: Specs): Hover | null {
  const index = oriIndexOf(open, specs);
  const token = oriTokenAt(index, offset);
  if (token === undefined) return null;
  if (token.kind === 'opcode') {
    const markdown = opcodeCard(specs, token.text);
    return markdown === undefined ? null : card(open, markdown, token.start, token.end);
  }
  if (token.kind !== 'register') return null;
  const places = samePlaces(index, token);
  const lines = (written: boolean): string =>
    [
      ...new Set(
        places.filter((p) => p.written === written).map((p) => open.text.positionAt(p.start).line + 1),
      ),
    ].join(', ') || 'none';
  const markdown = `**${token.text}** register\n\n- written in lines: ${lines(true)}\n- read in lines: ${lines(false)}`;
  return card(open, markdown, token.start, token.end);
}

export function complete(open: Open, at: Position, specs: Specs): CompletionItem[] {
  const offset = open.text.offsetAt(at);
  if (open.language === 'spec') return completeSpec(open, offset, specs);
  return open.language === 'ptx' ? completePtx(open, ptxIndexOf(open), offset) : [];
}

const located = (open: Open, places: readonly { start: number; end: number }[]): Location[] =>
  places.map((p) => ({ uri: open.uri, range: between(open.text, p.start, p.end) }));

export function definition(open: Open, at: Position, specs: Specs): Location[] {
  const offset = open.text.offsetAt(at);
  if (open.language === 'spec') {
    const ref = referenceAt(open, offset);
    return ref === undefined ? [] : definitionsOf(open, ref, specs);
  }
  if (open.language === 'ptx') {
    const name = nameAt(ptxIndexOf(open), offset);
    return name === undefined ? [] : located(open, [name.symbol]);
  }
  if (open.language === 'cuda') return [];
  const index = oriIndexOf(open, specs);
  const token = oriTokenAt(index, offset);
  return token === undefined ? [] : located(open, oriDefinitions(index, token));
}

export function references(open: Open, at: Position, specs: Specs, declarations: boolean): Location[] {
  const offset = open.text.offsetAt(at);
  if (open.language === 'spec') {
    const ref = referenceAt(open, offset);
    if (ref === undefined) return [];
    return placesOf(open, ref, specs)
      .filter((p) => declarations || !p.defines)
      .map(({ uri, range }) => ({ uri, range }));
  }
  if (open.language === 'ptx') {
    const index = ptxIndexOf(open);
    const name = nameAt(index, offset);
    if (name === undefined) return [];
    const all = index.placesOf(name.symbol, name.name);
    return located(
      open,
      all.filter((p) => declarations || p.start !== name.symbol.start),
    );
  }
  if (open.language === 'cuda') return [];
  const index = oriIndexOf(open, specs);
  const token = oriTokenAt(index, offset);
  return token === undefined ? [] : located(open, samePlaces(index, token));
}

export function highlights(open: Open, at: Position, specs: Specs): DocumentHighlight[] {
  if (open.language === 'ptx') {
    const index = ptxIndexOf(open);
    const name = nameAt(index, open.text.offsetAt(at));
    return name === undefined ? [] : highlightsOf(open, index, name);
  }
  const here = references(open, at, specs, true).filter((l) => l.uri === open.uri);
  return here.map(({ range }) => ({ range }));
}

/** The range that a rename would change. @throws Refused if nothing there can be renamed */
export function renamable(open: Open, at: Position, specs: Specs): { range: Range; placeholder: string } {
  const offset = open.text.offsetAt(at);
  if (open.language === 'spec') {
    const ref = referenceAt(open, offset);
    const why = whyKept(ref);
    if (why !== null) throw new Refused(why);
    const quoted = /["']/.test(open.text.getText()[ref!.spot.start]) ? 1 : 0;
    const range = between(open.text, ref!.spot.start + quoted, ref!.spot.end - quoted);
    return { range, placeholder: ref!.name };
  }
  if (open.language === 'ptx') {
    const name = nameAt(ptxIndexOf(open), offset);
    if (name === undefined) throw new Refused('there is no name here that the text declares');
    return { range: between(open.text, name.start, name.end), placeholder: name.name };
  }
  const token = open.language === 'ori' ? oriTokenAt(oriIndexOf(open, specs), offset) : undefined;
  if (token === undefined || samePlaces(oriIndexOf(open, specs), token).length === 0)
    throw new Refused('there is no name here that can be renamed');
  return { range: between(open.text, token.start, token.end), placeholder: token.text };
}

/**
 * @param folders folders of the client: in files elsewhere, and in those of packages, nothing is renamed
 * @throws Refused if there is nothing to rename, or the new name cannot be given
 */
export function rename(
  open: Open,
  at: Position,
  to: string,
  specs: Specs,
  folders: readonly string[],
): WorkspaceEdit {
  renamable(open, at, specs);
  const offset = open.text.offsetAt(at);
  if (open.language === 'spec') {
    const why = whyNoSpecName(to);
    if (why !== null) throw new Refused(why);
    const ref = referenceAt(open, offset)!;
    if (placesOf(open, { ...ref, name: to }, specs).some((p) => p.defines))
      throw new Refused(`there is a ${ref.category} '${to}' already`);
    const changes: Record<string, { range: Range; newText: string }[]> = {};
    const places = placesOf(open, ref, specs);
    const foreign = places.find(({ uri }) => uri !== open.uri && !isOwn(fileURLToPath(uri), folders));
    if (foreign !== undefined)
      throw new Refused(
        `'${ref.name}' stands in ${fileURLToPath(foreign.uri)} too, which is no file of the folders that the editor has open`,
      );
    for (const { uri, range } of places) (changes[uri] ??= []).push({ range, newText: to });
    return { changes };
  }
  if (open.language === 'ptx') {
    const index = ptxIndexOf(open);
    const name = nameAt(index, offset)!;
    const why = whyNoName(index, name, to);
    if (why !== null) throw new Refused(why);
    return { changes: { [open.uri]: renamed(open, index, name, to) } };
  }
  const index = oriIndexOf(open, specs);
  const token = oriTokenAt(index, offset)!;
  const why = whyNoOriName(index, token, to);
  if (why !== null) throw new Refused(why);
  return { changes: { [open.uri]: oriRename(open, index, token, to) } };
}

/** Whether a file is in one of the folders, and not in a package that is installed there. */
const isOwn = (path: string, folders: readonly string[]): boolean =>
  folders.some((folder) => {
    const below = relative(folder, path);
    return (
      !isAbsolute(below) && !/^\.\.(?:[/\\]|$)/.test(below) && !/(?:^|[/\\])node_modules[/\\]/.test(below)
    );
  });

export function symbols(open: Open, specs: Specs): DocumentSymbol[] {
  if (open.language === 'spec') return outlineOf(open);
  if (open.language === 'ptx') return symbolsOf(open, ptxIndexOf(open));
  if (open.language === 'ori') return oriSymbols(open, oriIndexOf(open, specs));
  return inlinePtx(open.text.getText()).map((asm, i) => ({
    name: `asm ${i + 1}`,
    kind: 12,
    range: between(open.text, asm.start, asm.end),
    selectionRange: between(open.text, asm.start, asm.start + 3),
  }));
}

export function folds(open: Open, specs: Specs): FoldingRange[] {
  if (open.language === 'spec') return foldsOf(open);
  if (open.language === 'ptx') return ptxFolds(open, ptxIndexOf(open));
  return open.language === 'ori' ? oriFolds(open, oriIndexOf(open, specs)) : [];
}

/** Characters of the largest text of which all tokens are given at once; of a larger one, a client gets those of a range. */
const MOST_WHOLE = 2_000_000;

export function tokens(open: Open, specs: Specs, range?: Range): number[] {
  const from = range === undefined ? 0 : open.text.offsetAt(range.start);
  const to = range === undefined ? open.text.getText().length : open.text.offsetAt(range.end);
  if (range === undefined && to > MOST_WHOLE) return [];
  if (open.language === 'ptx') return ptxTokens(open, ptxIndexOf(open), from, to);
  return open.language === 'ori' ? oriTokens(open, oriIndexOf(open, specs), from, to) : [];
}

export function actions(open: Open, range: Range, context: CodeActionContext): CodeAction[] {
  const faults = open.shown.filter((s) => !s.elsewhere && touches(s.shown.range, range));
  const all =
    open.language === 'spec' ? fixesFor(open, range, faults) : faults.flatMap((f) => nameFixes(open, f));
  const only = context.only;
  if (only === undefined) return all;
  return all.filter((a) => only.some((o) => a.kind === o || a.kind?.startsWith(`${o}.`) === true));
}
