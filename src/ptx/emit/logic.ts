import { Mod } from '../../ir/opcode.ts';
import { Kind, NO_REG, type Operand, withOperandMods } from '../../ir/operand.ts';
import type { Instr } from '../../ir/program.ts';
import { A, B, C } from '../../ir/truth-tables.ts';
import { copyOut, guardOf } from './expand.ts';
import type { Writer } from './writer.ts';

/** A logic function of three inputs as an expression over and, or, xor and not. */
type Formula =
  | { readonly op: 'input'; readonly at: number }
  | { readonly op: 'constant'; readonly ones: boolean }
  | { readonly op: 'not'; readonly a: Formula }
  | { readonly op: 'and' | 'or' | 'xor'; readonly a: Formula; readonly b: Formula };

const INPUTS = [A, B, C];

let formulas: readonly Formula[] | null = null;

/**
 * A shortest formula for each of the 256 functions, found by dynamic programming over the cost. Among formulas of equal cost, the one that
 * combines the first inputs first is taken: rules that merge a chain keep its order, and ptxas keeps the order of the text. With the
 * opposite order, a ^ (b ^ c), the xors of echo512 spill 160 bytes instead of 40.
 */
function allFormulas(): readonly Formula[] {
  if (formulas !== null) return formulas;
  const found: (Formula | undefined)[] = new Array<Formula | undefined>(256).fill(undefined);
  const byCost: number[][] = [[]];
  const enter = (table: number, f: Formula, cost: number) => {
    if (found[table] !== undefined) return;
    found[table] = f;
    byCost[cost] ??= [];
    byCost[cost].push(table);
  };
  INPUTS.forEach((t, at) => enter(t, { op: 'input', at }, 0));
  enter(0x00, { op: 'constant', ones: false }, 0);
  enter(0xff, { op: 'constant', ones: true }, 0);
  for (let cost = 1; found.includes(undefined); cost++) {
    for (const t of byCost[cost - 1] ?? []) enter(~t & 0xff, { op: 'not', a: found[t]! }, cost);
    for (let left = cost - 1; left >= 0; left--)
      for (const s of byCost[left] ?? [])
        for (const t of byCost[cost - 1 - left] ?? []) {
          const [a, b] = [found[s]!, found[t]!];
          enter(s & t, { op: 'and', a, b }, cost);
          enter(s | t, { op: 'or', a, b }, cost);
          enter(s ^ t, { op: 'xor', a, b }, cost);
        }
  }
  formulas = found as Formula[];
  return formulas;
}

/** 1 for a constant of all ones, 0 for zero, with its modifiers applied; null for any other operand. */
function uniform(o: Operand, width: number): 0 | 1 | null {
  if (o.kind !== Kind.Imm) return null;
  const not = (o.mods & Mod.Not) !== 0 ? 1 : 0;
  if (width === 1) return ((o.lo & 1) ^ not) as 0 | 1;
  if ((width === 64 && o.hi !== o.lo) || (o.lo !== 0 && o.lo !== -1)) return null;
  return ((o.lo & 1) ^ not) as 0 | 1;
}

/** Simplifies a table by its inputs: constants of all zeros or all ones, complements, and registers that occur twice. */
function reduce(
  table: number,
  inputs: readonly Operand[],
  width: number,
): { table: number; inputs: readonly Operand[] } {
  let t = table;
  const kept = [...inputs];
  for (let k = 0; k < 3; k++) {
    const o = kept[k];
    const step = 4 >> k;
    const high = t & INPUTS[k];
    const low = t & ~INPUTS[k];
    const known = uniform(o, width);
    if (known === 1) t = high | (high >> step);
    else if (known === 0) t = low | (low << step);
    else if ((o.mods & Mod.Not) !== 0) {
      t = (high >> step) | (low << step);
      kept[k] = withOperandMods(o, o.mods & ~Mod.Not);
    }
  }
  for (let j = 1; j < 3; j++)
    for (let k = 0; k < j; k++)
      if (kept[j].reg !== NO_REG && kept[j].reg === kept[k].reg) t = joined(t, 4 >> k, 4 >> j);
  return { table: t, inputs: kept };
}

/** The table for two equal inputs: rows in which they differ get the value of the row in which both equal the first. */
function joined(table: number, first: number, second: number): number {
  let t = 0;
  for (let row = 0; row < 8; row++) {
    const same = (row & first) !== 0 ? row | second : row & ~second;
    t |= ((table >> same) & 1) << row;
  }
  return t;
}

/**
 * Writes LOP3 and PLOP3 as ands, ors, xors and nots, never as `lop3`; ptxas combines them to its own LOP3. Over the test kernels for sm_90
 * at -O3, registers are 0.9972 of the original's instead of 0.9989 with `lop3`, and code is 1.0012 instead of 1.0010. Over 46 public
 * kernels for sm_80, nearly all of them hash functions, `lop3` gives 0.995 of that code in the geometric mean, but with outliers: echo512
 * spills 372 bytes instead of 108, and another kernel grows by 9 %, because ptxas no longer regroups a chain of xors. `lop3` only for
 * functions that mix operators changes nothing (1.000).
 *
 * `lop3` is not safe everywhere either: ptxas 13.0.88 ends with a segmentation fault, from -O1 on and for every target, if the only use of
 * a `lop3` is `setp.eq` with zero, directly or through copies, negations and additions of zero, and the resulting predicate is a guard or
 * the condition of a branch. Other comparisons and other arithmetic in between are safe. `writeTable` therefore writes `lop3` only if all
 * uses of the result are arithmetic on halves: it unpacks four-bit weights to halves, for which ptxas would make two instructions from and
 * and xor.
 *
 * @param width width of the operands in bits; 1 for predicates
 */
export function writeLogic(w: Writer, i: Instr, width: number): void {
  const d = i.dst[0];
  if (d === NO_REG) return;
  const guard = guardOf(w, i);
  const { formula, inputs } = formulaOf(i, width);
  const wait = steps(formula) > 1 && (i.guard === d || inputs.some((o) => o.reg === d));
  const result = wait ? fresh(w, width) : w.name(d);
  writeFormula(w, formula, inputs, width, wait ? '' : guard, result);
  if (wait) copyOut(w, i, [result], guard);
}

/** Does it combine a word with two constants that are neither all zeros nor all ones? */
export const hasTwoConstants = (i: Instr): boolean =>
  i.src.slice(0, 3).filter((o) => o.kind === Kind.Imm && uniform(o, 32) === null).length === 2;

/** Writes LOP3 as `lop3`; see `writeLogic` for when that is safe. */
export function writeTable(w: Writer, i: Instr): void {
  if (i.dst[0] === NO_REG) return;
  const inputs = i.src.slice(0, 3).map((o) => w.value(o, 32, 'b32', o.mods));
  w.line(`${guardOf(w, i)}lop3.b32 ${w.name(i.dst[0])}, ${inputs.join(', ')}, ${i.src[3].lo & 0xff}`);
}

/** Writes LOP3_P: the logic function of 32-bit words as `writeLogic` does, and a comparison of its result with zero. */
export function writeLogicTest(w: Writer, i: Instr): void {
  const [d, q] = i.dst;
  if (d === NO_REG && q === NO_REG) return;
  const guard = guardOf(w, i);
  const { formula, inputs } = formulaOf(i, 32);
  const value = fresh(w, 32);
  writeFormula(w, formula, inputs, 32, '', value);
  const line = (cmp: string, to: string): void => w.line(`${guard}setp.${cmp}.u32 ${to}, ${value}, 0`);
  if (d === NO_REG) line('eq', w.name(q));
  else line('ne', q === NO_REG ? w.name(d) : `${w.name(d)}|${w.name(q)}`);
}

const fresh = (w: Writer, width: number): string => w.temp(width === 1 ? 'p' : width === 64 ? 'w' : 't');

function formulaOf(i: Instr, width: number): { formula: Formula; inputs: readonly Operand[] } {
  const { table, inputs } = reduce(i.src[3].lo & 0xff, i.src.slice(0, 3), width);
  return { formula: allFormulas()[table], inputs };
}

/** Writes the steps of a formula: the last one into `result` under the guard, the others into temporaries without it (see `expand`). */
function writeFormula(
  w: Writer,
  formula: Formula,
  inputs: readonly Operand[],
  width: number,
  guard: string,
  result: string,
): void {
  const type = width === 1 ? 'pred' : `b${width}`;
  const read = (k: number): string =>
    width === 1
      ? w.predicate(inputs[k], false, inputs[k].mods)
      : w.value(inputs[k], width, type, inputs[k].mods);
  const write = (f: Formula, into: string | null): string => {
    if (f.op === 'input' && into === null) return read(f.at);
    const parts =
      f.op === 'input'
        ? ['mov', read(f.at)]
        : f.op === 'constant'
          ? ['mov', f.ones ? '-1' : '0']
          : f.op === 'not'
            ? ['not', write(f.a, null)]
            : [f.op, write(f.a, null), write(f.b, null)];
    const to = into ?? fresh(w, width);
    w.line(`${into === null ? '' : guard}${parts[0]}.${type} ${[to, ...parts.slice(1)].join(', ')}`);
    return to;
  };
  write(formula, result);
}

const steps = (f: Formula): number =>
  f.op === 'input' || f.op === 'constant' ? 0 : f.op === 'not' ? 1 + steps(f.a) : 1 + steps(f.a) + steps(f.b);
