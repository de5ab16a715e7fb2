import { hasMod, modOf } from './opcode.ts';
import { Kind, NO_REG } from './operand.ts';
import type { Instr } from './program.ts';
import { memoByText } from './text-memo.ts';

/**
 * How an instruction that Ori carries as it is stands in its first operand: PTX with places for registers and symbols.
 *
 *     ldmatrix.sync.aligned.m8n8.x2.shared.b16 {<d0>, <d1>}, [<s0:64>+16]
 */

/** A place for an operand. */
export interface OperandPlace {
  /** Number of the result that stands there, -1 for a source. */
  readonly dst: number;
  /** Number of the source that stands there, or whose value a result has before; -1 for a result that is only written. */
  readonly src: number;
  /** What PTX calls the register: bits, `p` for a predicate, `sym` for a symbol. */
  readonly size: string;
}

const PLACE = /<(?:d(\d+)(?:=s(\d+))?|s(\d+))(?::(\w+))?>/g;

/** A place as it is written. */
export function placeText(p: OperandPlace): string {
  const name = p.dst < 0 ? `s${p.src}` : p.src < 0 ? `d${p.dst}` : `d${p.dst}=s${p.src}`;
  return `<${name}${p.size === '32' ? '' : `:${p.size}`}>`;
}

/** The text with every place replaced. */
export const fillPlaces = (text: string, fill: (p: OperandPlace) => string): string =>
  text.replace(PLACE, (_m, d?: string, tied?: string, s?: string, size = '32') =>
    fill({ dst: d === undefined ? -1 : Number(d), src: Number(tied ?? s ?? -1), size }),
  );

/** What stands behind it is not written: registers that the instruction reads and writes without naming them. */
export const UNWRITTEN = ' // ';

/** The words that are written. */
export const writtenPart = (text: string): string => {
  const at = text.indexOf(UNWRITTEN);
  return at < 0 ? text : text.slice(0, at);
};

/** A result that takes the register of a source: their numbers in `dst` and `src`. */
export interface Tie {
  readonly dst: number;
  readonly src: number;
  /** It stands in no place that is written: the value stays as it is. */
  readonly unwritten: boolean;
}

const NO_TIES: readonly Tie[] = [];

const tiesByText = memoByText((how): readonly Tie[] => {
  const end = writtenPart(how).length;
  const found: Tie[] = [];
  const seen = new Set<number>();
  for (const m of how.matchAll(PLACE))
    if (m[2] !== undefined && !seen.has(Number(m[1]))) {
      seen.add(Number(m[1]));
      found.push({ dst: Number(m[1]), src: Number(m[2]) + 1, unwritten: m.index > end });
    }
  return found.length === 0 ? NO_TIES : found;
});

/** Results of an instruction that are read too, and stand in one register before and after. */
export function tiesOf(x: Instr): readonly Tie[] {
  const how = x.src.length > 0 && x.src[0].kind === Kind.Text ? x.src[0].sym : '';
  return how === '' ? NO_TIES : tiesByText(how);
}

/** Is some result in another register than the source that it takes its register from? Only so in SSA, or where copies are left. */
export const isApart = (x: Instr): boolean =>
  x.guard === NO_REG && tiesOf(x).some((t) => x.dst[t.dst] !== NO_REG && x.dst[t.dst] !== x.src[t.src].reg);

/** What an instruction does to registers in flight: BEGINS, ORDERS, COMMITS, ENDS, or nothing, NONE. */
export const flightOf = (x: Instr): string =>
  x.op.groupByName.has('flight') && !hasMod(x.op, x.mods, 'NONE') ? modOf(x.op, x.mods, 'flight') : 'NONE';

/** Sources that stand in vectors and are only read: their numbers in `src`. */
export const vectorSources = (x: Instr): number[] =>
  [...writtenPart(x.src[0].sym).matchAll(/\{[^}]*\}/g)].flatMap((v) =>
    [...v[0].matchAll(/<s(\d+)/g)].map((m) => Number(m[1]) + 1),
  );
