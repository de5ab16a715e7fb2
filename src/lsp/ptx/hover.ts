import { memo } from '../../ir/memo.ts';
import type { Program } from '../../ir/program.ts';
import { printGuarded } from '../../ir/text.ts';
import type { PtxInstr } from '../../ptx/ast.ts';
import { type Home, spell } from '../../ptx/check-spelling.ts';
import { formsOf, type Need, needOfWord } from '../../ptx/forms.ts';
import { specialRegister } from '../../ptx/lower/special-registers.ts';
import { printPtxHeader, printPtxVariable } from '../../ptx/print.ts';
import { PTX_SYNTAX } from '../../ptx/syntax.generated.ts';
import { firstVersion, PTX_TARGETS } from '../../ptx/targets.ts';
import type { Doc } from '../document.ts';
import { nameAt, type PtxName } from './features.ts';
import type { PtxIndex } from './index.ts';
import { meaningOf } from './meanings.ts';

/** Maximum number of forms and of places that a card lists. */
const MOST_LISTED = 8;

const code = (text: string, language = ''): string => [`\`\`\`${language}`, text, '```'].join('\n');

/** What a version and a target are needed. */
function needText({ version, sm, suffix }: Need): string {
  const parts = [
    ...(version > 0 ? [`PTX ${Math.floor(version / 1000)}.${version % 1000}`] : []),
    ...(sm > 0 ? [`sm_${sm}${suffix ? ' with a suffix (a or f)' : ''}`] : []),
  ];
  return parts.length === 0 ? 'every version and target' : `${parts.join(', ')} or later`;
}

const both = (a: Need, b: Need): Need => ({
  version: Math.max(a.version, b.version),
  sm: Math.max(a.sm, b.sm),
  suffix: a.suffix || b.suffix,
});

/** A card, and the range that it is about. */
interface Card {
  readonly markdown: string;
  readonly start: number;
  readonly end: number;
}

/**
 * What can be said about an offset of a PTX text.
 *
 * @param ori the program that the text is lowered to, for what an instruction becomes; null: it is not known
 */
export function ptxHover(doc: Doc, index: PtxIndex, offset: number, ori: Program | null): Card | undefined {
  const instr = index.instrAt(offset);
  if (instr !== undefined) {
    const k = index.opcodeOf(instr);
    const end = opcodeEnd(instr, index.start(k));
    if (index.start(k) <= offset && offset <= end)
      return { markdown: instructionCard(doc, instr, ori), start: index.start(k), end };
  }
  const name = nameAt(index, offset);
  if (name !== undefined) return { markdown: nameCard(doc, index, name), start: name.start, end: name.end };
  const token = index.tokenAt(offset);
  if (token !== undefined) {
    const special = specialRegister(token.value) ?? specialRegister(`${token.value}.x`);
    if (special === null) return targetCard(doc, offset);
    const text = special === 'unknown' ? '' : `, ${special.bits} bits`;
    return { markdown: `**${token.value}** special register${text} (PTX ISA 9.0, chapter 10)`, ...token };
  }
  return targetCard(doc, offset);
}

/** The end of an opcode with its modifiers. */
const opcodeEnd = (i: PtxInstr, start: number): number => start + [i.opcode, ...i.mods].join('.').length;

/** The newest version and every target: what an instruction needs is said where it is missing too. */
const ANYWHERE: Home = {
  version: Number.POSITIVE_INFINITY,
  newer: false,
  sm: Number.POSITIVE_INFINITY,
  suffix: true,
  addressSize: 64,
};

/** What an instruction does, its forms, what it needs, and what it becomes. */
function instructionCard(doc: Doc, i: PtxInstr, ori: Program | null): string {
  const spelled = [i.opcode, ...i.mods].join('.');
  const fitting = spell(i.opcode, i.mods, ANYWHERE)?.fitting ?? [];
  const own = fitting[0]?.form;
  const since = i.mods.map(needOfWord).reduce(both, own?.since ?? { version: 0, sm: 0, suffix: false });
  const texts = Object.hasOwn(PTX_SYNTAX.instructions, i.opcode) ? PTX_SYNTAX.instructions[i.opcode] : [];
  const all = formsOf(i.opcode) ?? [];
  const fits = own === undefined ? -1 : all.indexOf(own);
  const form = fits < 0 ? [] : [texts[fits]];
  const others = texts.filter((_, k) => k !== fits).slice(0, MOST_LISTED);
  const meaning = meaningOf(i.opcode);
  const line = doc.text.positionAt(i.span.start).line + 1;
  const becomes = ori === null ? [] : (oriOfLine(ori).get(line) ?? []);
  return [
    `**${spelled}**${meaning === undefined ? '' : `: ${meaning}`}`,
    '',
    ...(fitting[0] === undefined || fitting[0].types.length === 0
      ? []
      : [`- types: ${fitting[0].types.map((t) => `.${t}`).join(', ')}`]),
    ...(own === undefined ? [] : [`- needs ${needText(since)}`]),
    ...(own?.until == null ? [] : [`- no longer in later versions from sm_${own.until.sm} on`]),
    ...(form.length === 0
      ? []
      : ['', 'Form (`=` marks a result, `t` has the type of the instruction):', code(form.join('\n'))]),
    ...(others.length === 0 ? [] : ['', 'Other forms:', code(others.join('\n'))]),
    ...(becomes.length === 0
      ? []
      : ['', 'In Ori:', code(becomes.slice(0, MOST_LISTED).join('\n'), 'ori'), ...titlesOf(ori!, line)]),
  ].join('\n');
}

/** Lines of Ori by the line of PTX that they come from. */
const oriOfLine = memo((program: Program): ReadonlyMap<number, readonly string[]> => {
  const out = new Map<number, string[]>();
  for (const fn of program.functions)
    for (const b of fn.blocks)
      for (const i of b.ins) {
        const at = program.locs[i.loc]?.line ?? 0;
        if (at === 0) continue;
        const known = out.get(at);
        if (known === undefined) out.set(at, [printGuarded(i)]);
        else known.push(printGuarded(i));
      }
  return out;
});

/** What the Ori opcodes of a line do. */
function titlesOf(program: Program, line: number): string[] {
  const seen = new Map<string, string>();
  for (const fn of program.functions)
    for (const b of fn.blocks)
      for (const i of b.ins) if (program.locs[i.loc]?.line === line) seen.set(i.op.name, i.op.title);
  return [...seen].slice(0, MOST_LISTED).map(([name, title]) => `- \`${name}\`: ${title}`);
}

/** What a name stands for, and where it is written and read. */
function nameCard(doc: Doc, index: PtxIndex, { symbol, name }: PtxName): string {
  const v = symbol.variable;
  if (v === null && symbol.fn !== null && ['kernel', 'function'].includes(symbol.kind))
    return [`**${name}** ${symbol.kind}`, '', code(printPtxHeader(symbol.fn).trim(), 'ptx')].join('\n');
  const places = index.placesOf(symbol, name).filter((p) => p.start !== symbol.start);
  const line = (p: { start: number }): number => doc.text.positionAt(p.start).line + 1;
  if (v === null) {
    const from = places.map(line);
    return `**${name}** ${symbol.kind} in line ${line(symbol)}, named in ${listed(from)}`;
  }
  const written = places.filter((p) => {
    const i = index.instrAt(p.start);
    return i !== undefined && index.isWritten(i, p.start);
  });
  const read = places.filter((p) => !written.includes(p));
  const what =
    v.space === 'reg' ? 'register' : symbol.kind === 'parameter' ? 'parameter' : `.${v.space} variable`;
  return [
    `**${name}** ${what} of type .${v.type}${v.vector > 1 ? ` .v${v.vector}` : ''}`,
    '',
    code(v.count > 0 ? `.reg .${v.type} ${v.name}<${v.count}>;` : printPtxVariable(v), 'ptx'),
    '',
    ...(v.space === 'reg' ? [`- written in ${listed(written.map(line))}`] : []),
    `- ${v.space === 'reg' ? 'read' : 'named'} in ${listed(read.map(line))}`,
  ].join('\n');
}

function listed(lines: readonly number[]): string {
  const all = [...new Set(lines)];
  if (all.length === 0) return 'no line';
  const shown = all.slice(0, MOST_LISTED).join(', ');
  const more = all.length > MOST_LISTED ? ` and ${all.length - MOST_LISTED} more` : '';
  return `${all.length === 1 ? 'line' : 'lines'} ${shown}${more}`;
}

/** What a word of `.target` or `.version` needs. */
function targetCard(doc: Doc, offset: number): Card | undefined {
  const text = doc.text.getText();
  let start = offset;
  let end = offset;
  while (start > 0 && /\w/.test(text[start - 1])) start--;
  while (end < text.length && /\w/.test(text[end])) end++;
  const word = text.slice(start, end);
  if (!/^sm_/.test(word) || !PTX_TARGETS.has(word)) return undefined;
  return { markdown: `**${word}** target, known from PTX ${firstVersion(word)} on`, start, end };
}
