import { toOperands, toRegs } from '../../ir/edit.ts';
import { memo } from '../../ir/memo.ts';
import { Mod, type SpelledRow, type Spelling, slotWidth } from '../../ir/opcode.ts';
import { Kind, NO_REG, withOperandMods } from '../../ir/operand.ts';
import { defaultOperand } from '../../ir/print.ts';
import { Unsupported } from '../../ir/unsupported.ts';
import type { PtxInstr, PtxOperand } from '../ast.ts';
import { parsePatterns, takes } from '../emit/pattern.ts';
import { type Line, type Piece, specialise } from '../emit/template.ts';
import type { FnLower } from './function.ts';
import { modifierKey } from './types.ts';

/*
 * Lowering by the emission table: a row with `both` states the PTX instruction of its opcode. Its text is expanded for every choice of
 * modifiers, and instructions are looked up among these texts.
 */

/** The Ori slot of an operand of the PTX instruction. */
interface OperandPlace {
  readonly source: boolean;
  readonly at: number;
  readonly width: number;
  /** The selector after the operand in PTX, such as `.b10` of a destination. */
  readonly part: string;
}

/** A row expanded for one choice of modifiers. */
interface Reading {
  readonly row: SpelledRow;
  /** The PTX instruction with its modifiers. */
  readonly name: string;
  readonly mods: number;
  readonly places: readonly OperandPlace[];
  /** Operand modifiers that the PTX name stands for: `sub` negates its second source. */
  readonly implied: readonly number[];
}

/** Readings of one table, by PTX opcode and then by name, types and selectors; filled on first use of an opcode. */
interface Index {
  /** Rows by the PTX opcodes that they write. */
  readonly rows: ReadonlyMap<string, readonly SpelledRow[]>;
  readonly read: Map<string, ReadonlyMap<string, Reading>>;
}

/** Maximum number of choices of modifiers of a row; more would be a mistake in the table. */
const MOST_CHOICES = 20_000;

/** Can the table lower some forms of a PTX opcode? */
export const hasRow = (spelling: Spelling, opcode: string): boolean => indexOf(spelling).rows.has(opcode);

/**
 * Lowers an instruction by the row whose text it matches.
 *
 * @throws Unsupported if there is no such row, or an operand has no Ori form
 */
export function lowerByRow(f: FnLower, i: PtxInstr): void {
  const reading = readingOf(f.module.isa.spelling, i);
  if (reading === undefined) throw new Unsupported();
  const { row, places, implied } = reading;
  const { op } = row;
  const dst = toRegs(op.dsts, () => NO_REG);
  const src = toOperands(op.srcs, defaultOperand);
  for (const [k, p] of places.entries()) {
    const o = withoutPart(i.operands[k]);
    if (!p.source) dst[p.at] = op.dsts[p.at].optional && o.kind === 'sink' ? NO_REG : f.dst(o, p.width).reg;
    else {
      const slot = op.srcs[p.at];
      const value = slot.bank === 'p' ? f.pred(o) : f.src(o, p.width);
      if ((slot.kinds & (1 << Kind.Reg)) === 0 && value.kind !== Kind.Imm)
        throw new Unsupported(`operand ${k + 1} is not a constant`);
      src[p.at] = withOperandMods(value, value.mods ^ implied[p.at]);
    }
  }
  f.emitWith(op, reading.mods, dst, src);
}

const indexOf = memo((spelling: Spelling): Index => {
  const rows = new Map<string, SpelledRow[]>();
  for (const row of spelling.rows)
    for (const mods of choicesOf(row, new Set(groupsIn(mainLine(row).split(/[. {]*\./, 1)[0])))) {
      const opcode = nameOf(specialise(mainLine(row), row.op, mods, spelling.words)[0]).split('.', 1)[0];
      const list = rows.get(opcode) ?? [];
      if (!list.includes(row)) list.push(row);
      rows.set(opcode, list);
    }
  return { rows, read: new Map() };
});

/** A form of a PTX instruction that a row lowers. */
export interface ReadForm {
  readonly row: SpelledRow;
  readonly opcode: string;
  readonly mods: readonly string[];
  /** Its operands in the order of the text: width in bits (1 for a predicate), and selector after the name. */
  readonly operands: readonly { readonly width: number; readonly part: string }[];
}

/** All forms of a PTX opcode that the table can lower. */
export const formsRead = (spelling: Spelling, opcode: string): ReadForm[] =>
  [...(readingsOf(spelling, opcode)?.values() ?? [])].map(({ row, name, places }) => ({
    row,
    opcode,
    mods: name.split('.').slice(1),
    operands: places.map(({ source, at, width, part }) => ({
      width: (source ? row.op.srcs : row.op.dsts)[at].bank === 'p' ? 1 : width,
      part,
    })),
  }));

/** The PTX opcodes of which the table can lower some forms. */
export const opcodesRead = (spelling: Spelling): string[] => [...indexOf(spelling).rows.keys()];

function readingsOf(spelling: Spelling, opcode: string): ReadonlyMap<string, Reading> | undefined {
  const index = indexOf(spelling);
  const rows = index.rows.get(opcode);
  if (rows === undefined) return undefined;
  let readings = index.read.get(opcode);
  if (readings === undefined) {
    const all = new Map<string, Reading>();
    for (const row of rows)
      for (const mods of choicesOf(row, null)) {
        const reading = readingFor(spelling, row, mods);
        const key =
          reading === null
            ? ''
            : keyOf(
                reading.name,
                reading.places.map((p) => p.part),
              );
        if (reading !== null && reading.name.split('.', 1)[0] === opcode && !all.has(key))
          all.set(key, reading);
      }
    readings = all;
    index.read.set(opcode, readings);
  }
  return readings;
}

function readingOf(spelling: Spelling, i: PtxInstr): Reading | undefined {
  const readings = readingsOf(spelling, i.opcode);
  if (readings === undefined) return undefined;
  const parts = i.operands.map((o) => (o.kind === 'reg' ? o.part : ''));
  return readings.get(keyOf([i.opcode, ...i.mods].join('.'), parts));
}

/** The lookup key of an instruction. */
function keyOf(name: string, parts: readonly string[]): string {
  const [opcode, ...mods] = name.split('.');
  return `${opcode}.${modifierKey(mods)} ${parts.join(',')}`;
}

/** Lines that move a word to a 16-bit register, and back. */
const NARROWS = /^cvt\.u16\.u32 (%h\d*), \$(\w+)/;
const WIDENS = /^cvt\.u32\.u16 \$(\w+), (%h\d*)$/;

const linesOf = (row: SpelledRow): string[] =>
  row.ptx
    .split('\n')
    .map((l) => l.trim())
    .filter((l) => l !== '');

/**
 * The line of the instruction itself, with operands substituted for the 16-bit registers that the other lines move them to.
 *
 * @throws Error unless there is exactly one such line
 */
function mainLine(row: SpelledRow): string {
  const lines = linesOf(row);
  const main = lines.filter((l) => !NARROWS.test(l) && !WIDENS.test(l));
  if (main.length !== 1)
    throw new Error(`a row of ${row.op.name} with 'both' must consist of one instruction`);
  let [line] = main;
  for (const l of lines) {
    const narrow = NARROWS.exec(l);
    const wide = WIDENS.exec(l);
    const [temp, operand] = narrow === null ? [wide?.[2], wide?.[1]] : [narrow[1], narrow[2]];
    if (temp !== undefined) line = line.replace(new RegExp(`${temp}\\b`), `$$${operand}`);
  }
  return line;
}

const groupsIn = (text: string): string[] => [...text.matchAll(/\{\.?([a-z_]+)/g)].map((m) => m[1]);

/** The modifier words for all choices of the groups that the text of a row mentions. @param only vary only these groups */
function choicesOf(row: SpelledRow, only: ReadonlySet<string> | null): number[] {
  const named = new Set(groupsIn(row.ptx));
  let out = [0];
  for (const g of row.op.groups) {
    const want = row.mods[g.name];
    const wanted = (v: string) =>
      want === undefined || (typeof want === 'string' ? want === v : want.includes(v));
    const values = g.values.flatMap((v, k) => (wanted(v.name) ? [k] : []));
    const open = named.has(g.name) && (only === null || only.has(g.name));
    const chosen = open ? values : values.slice(0, 1);
    out = out.flatMap((mods) => chosen.map((k) => mods | (k << g.shift)));
    if (out.length > MOST_CHOICES) throw new Error(`${row.op.name} has more than ${MOST_CHOICES} forms`);
  }
  return out;
}

const nameOf = (line: Line): string => (line.pieces[0] as string).split(' ', 1)[0];

const isOperand = (p: Piece): p is Exclude<Piece, string> => typeof p !== 'string';

function readingFor(spelling: Spelling, row: SpelledRow, mods: number): Reading | null {
  const [line] = specialise(mainLine(row), row.op, mods, spelling.words);
  const places: OperandPlace[] = [];
  for (const [k, p] of line.pieces.entries()) {
    if (!isOperand(p)) continue;
    if (p.kind === 'temp') return null;
    const slot = (p.kind === 'src' ? row.op.srcs : row.op.dsts)[p.at];
    const behind = line.pieces[k + 1];
    const part = typeof behind === 'string' ? (/^\.(\w+)/.exec(behind)?.[1] ?? '') : '';
    places.push({ source: p.kind === 'src', at: p.at, width: slotWidth(row.op, mods, slot), part });
  }
  const patterns = row.src === undefined ? [] : parsePatterns(row.src);
  const implied = row.op.srcs.map((_, k) => takes(patterns[k]) & (Mod.Neg | Mod.Not));
  return { row, mods, places, implied, name: nameOf(line) };
}

const withoutPart = (o: PtxOperand): PtxOperand =>
  o.kind === 'reg' && o.part !== '' ? { ...o, part: '' } : o;
