import { hasMod, modOf } from './opcode.ts';
import { Kind, NO_REG } from './operand.ts';
import type { Instr } from './program.ts';
import { memoByText } from './text-memo.ts';

/**
 * The first operand of an instruction that Ori carries unchanged: PTX text with placeholders for registers and
 * symbols.
 *
 *     ldmatrix.sync.aligned.m8n8.x2.shared.b16 {<d0>, <d1>}, [<s0:64>+16]
 */

/** A placeholder for an operand. */
export interface OperandPlace {
  /** Number of the result placed there, -1 for a source. */
  readonly dst: number;
  /**
   * Number of the source placed there, or of the source that holds the result's old value; -1 for a result that is
   * only written.
   */
  readonly src: number;
  /** PTX's kind of register: a width in bits, `p` for a predicate, `sym` for a symbol. */
  readonly size: string;
}

const PLACE = /<(?:d(\d+)(?:=s(\d+))?|s(\d+))(?::(\w+))?>/g;

/** A placeholder as text. */
export function placeText(p: OperandPlace): string {
  const name = p.dst < 0 ? `s${p.src}` : p.src < 0 ? `d${p.dst}` : `d${p.dst}=s${p.src}`;
  return `<${name}${p.size === '32' ? '' : `:${p.size}`}>`;
}

/** The text with every placeholder replaced by what `fill` returns for it. */
export const fillPlaces = (text: string, fill: (p: OperandPlace) => string): string =>
  text.replace(PLACE, (_m, d?: string, tied?: string, s?: string, size = '32') =>
    fill({ dst: d === undefined ? -1 : Number(d), src: Number(tied ?? s ?? -1), size }),
  );

/** Separates a part that is not printed: registers that the instruction reads and writes without naming them. */
export const UNWRITTEN = ' // ';

/** The part of the text that is printed. */
export const writtenPart = (text: string): string => {
  const at = text.indexOf(UNWRITTEN);
  return at < 0 ? text : text.slice(0, at);
};

/** Sources that are addresses: their numbers, and the byte offsets added to them. */
export const addressesIn = memoByText((text): readonly { readonly src: number; readonly offset: number }[] =>
  [...writtenPart(text).matchAll(/\[<s(\d+)(?::\w+)?>(?:\+(-?\d+))?/g)].map((m) => ({
    src: Number(m[1]),
    offset: Number(m[2] ?? 0),
  })),
);

/** Is it a PTX instruction that allocates on a thread's stack, or saves or restores its end (PTX ISA 9.0, 9.7.17)? */
export const isOfStack = (name: string): boolean => /^(alloca|stacksave|stackrestore)\b/.test(name);

/** A result that must share the register of a source: their numbers in `dst` and `src`. */
export interface Tie {
  readonly dst: number;
  readonly src: number;
  /** Whether the pair is not printed: the instruction leaves the value unchanged. */
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

/** Results of an instruction that must share the register of a source. */
export function tiesOf(x: Instr): readonly Tie[] {
  const how = x.src.length > 0 && x.src[0].kind === Kind.Text ? x.src[0].sym : '';
  return how === '' ? NO_TIES : tiesByText(how);
}

/** Is some result in a different register than its tied source? That occurs only in SSA, or while copies are missing. */
export const isApart = (x: Instr): boolean =>
  x.guard === NO_REG && tiesOf(x).some((t) => x.dst[t.dst] !== NO_REG && x.dst[t.dst] !== x.src[t.src].reg);

/** The effect of an instruction on registers in flight: BEGINS, ORDERS, COMMITS, ENDS, or NONE. */
export const flightOf = (x: Instr): string =>
  x.op.groupByName.has('flight') && !hasMod(x.op, x.mods, 'NONE') ? modOf(x.op, x.mods, 'flight') : 'NONE';

/** Sources that occur in vectors and are only read: their numbers in `src`. */
export const vectorSources = (x: Instr): number[] =>
  [...writtenPart(x.src[0].sym).matchAll(/\{[^}]*\}/g)].flatMap((v) =>
    [...v[0].matchAll(/<s(\d+)/g)].map((m) => Number(m[1]) + 1),
  );
