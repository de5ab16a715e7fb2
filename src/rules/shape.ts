import { memo } from '../ir/memo.ts';
import { TABLE_SOURCE } from '../ir/moves.ts';
import { type Opcode, OpFlag } from '../ir/opcode.ts';
import type { Line, Rule, Source } from './rule.ts';
import { ORDERS, permuteTable } from './tables.ts';

/**
 * Patterns in the form in which the matcher searches for them. Operands of commutative opcodes may appear in any order, so a line has one
 * arrangement for each order. The variants of a rule are the combinations of the arrangements of its lines.
 */

/** One order in which an instruction may have the sources of a line. */
export interface Arrangement {
  readonly src: readonly Source[];
  /** Permutation of the truth table, or null. */
  readonly table: readonly number[] | null;
}

/** A rule with an arrangement chosen for every line. */
export interface Variant {
  readonly rule: Rule;
  readonly root: Shape;
}

/** A line with its sources in the order of the instruction, and with the lines that define them inlined. */
export interface Shape {
  readonly line: number;
  readonly op: Opcode | null;
  readonly fixed: readonly number[];
  readonly src: readonly Part[];
  /** Permutation of the truth table, or null. */
  readonly table: readonly number[] | null;
}

/** One source of a line of the pattern, as the matcher compares it. */
export type Part =
  | { readonly k: 'any' }
  | { readonly k: 'var'; readonly v: number; readonly mods: number }
  /** The variable is the result of a line of the pattern. */
  | {
      readonly k: 'def';
      readonly v: number;
      readonly mods: number;
      readonly shape: Shape;
      readonly dst: number;
    }
  | { readonly k: 'const'; readonly v: number }
  | { readonly k: 'literal'; readonly value: bigint }
  | { readonly k: 'address'; readonly base: Part; readonly offset: Part };

/** Maximum number of operand orders of a rule. A rule with more symmetric lines is rejected and should be split. */
export const MOST_VARIANTS = 2000;

/** The operand orders that an opcode allows, as permutations of its first two or three operands; null: as written. */
function ordersOf(op: Opcode | null): readonly (readonly number[] | null)[] {
  const flags = op?.flags ?? 0;
  if ((flags & (OpFlag.Symmetric | OpFlag.Table)) !== 0) return ORDERS;
  return (flags & OpFlag.Commutative) !== 0 ? EITHER : AS_WRITTEN;
}
const EITHER = [null, [1, 0]];
const AS_WRITTEN = [null];

/** Number of combined operand orders of some lines; equivalent orders count separately. */
export const orderCount = (lines: readonly { readonly op: Opcode | null }[]): number =>
  lines.reduce((n, l) => n * ordersOf(l.op).length, 1);

/** The arrangements of a line; orders that put the same operands in the same positions yield one. Cached by line. */
export const arrangementsOf: (line: Line) => readonly Arrangement[] = memo(arranged);

function arranged(line: Line): Arrangement[] {
  const out: Arrangement[] = [];
  const { op, src } = line;
  const hasTable = op !== null && (op.flags & OpFlag.Table) !== 0;
  for (const order of ordersOf(op)) {
    const table = hasTable ? order : null;
    const moved = order === null ? src : src.map((s, i) => rearranged(src, s, i, order, table));
    // A table that is not a literal is permuted back by the order that matched, so orders with equal sources differ too.
    const orderMatters = table !== null && src[TABLE_SOURCE]?.k !== 'literal';
    if (orderMatters || !out.some((a) => a.src.every((s, i) => sameSource(s, moved[i]))))
      out.push({ src: moved, table });
  }
  return out;
}

function rearranged(
  src: readonly Source[],
  s: Source,
  at: number,
  order: readonly number[],
  table: readonly number[] | null,
): Source {
  if (at < order.length) return src[order[at]];
  if (table === null || at !== TABLE_SOURCE || s.k !== 'literal') return s;
  return { k: 'literal', value: BigInt(permuteTable(Number(s.value), table)) };
}

function sameSource(a: Source, b: Source): boolean {
  if (a === b) return true;
  switch (a.k) {
    case 'any':
      return b.k === 'any';
    case 'var':
      return b.k === 'var' && a.v === b.v && a.mods === b.mods;
    case 'const':
      return b.k === 'const' && a.v === b.v;
    case 'literal':
      return b.k === 'literal' && a.value === b.value;
    default:
      return false;
  }
}

/**
 * The index of an arrangement for each line, as digits of one number in base 8; the last line has the most significant digit. Variants are
 * tried in ascending order.
 */
export type Choice = number;
const DIGIT = 8;
const digitOf = (c: Choice, line: number): number => Math.floor(c / DIGIT ** line) % DIGIT;
/** The summand for arrangement `index` of a line in a choice. */
export const chosen = (line: number, index: number): Choice => index * DIGIT ** line;

/** The variant of a rule under a choice of arrangements. */
export const variantOf = (rule: Rule, choice: Choice): Variant => ({
  rule,
  root: shapeOf(rule, rule.match.length - 1, choice, new Set()),
});

/** All variants of a rule. */
export function variantsOf(rule: Rule): Variant[] {
  let choices: Choice[] = [0];
  for (let line = rule.match.length - 1; line >= 0; line--) {
    const here = arrangementsOf(rule.match[line]).map((_, index) => chosen(line, index));
    choices = choices.flatMap((c) => here.map((x) => c + x));
  }
  return choices.map((c) => variantOf(rule, c));
}

function shapeOf(rule: Rule, line: number, choice: Choice, defined: Set<number>): Shape {
  const l = rule.match[line];
  const { src, table } = arrangementsOf(l)[digitOf(choice, line)];
  return { line, op: l.op, fixed: l.fixed, src: src.map((s) => partOf(rule, s, choice, defined)), table };
}

function partOf(rule: Rule, s: Source, choice: Choice, defined: Set<number>): Part {
  switch (s.k) {
    case 'var': {
      const { line, dst } = rule.vars[s.v];
      if (line < 0 || defined.has(line)) return s;
      defined.add(line);
      return { k: 'def', v: s.v, mods: s.mods, shape: shapeOf(rule, line, choice, defined), dst };
    }
    case 'address':
      return {
        k: 'address',
        base: partOf(rule, s.base, choice, defined),
        offset: partOf(rule, s.offset, choice, defined),
      };
    case 'computed':
      throw new Error('a computed source in a pattern');
    default:
      return s;
  }
}
