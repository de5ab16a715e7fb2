import { FORMATS } from '../../isa/formats.ts';
import type { Node } from '../../isa/lang/graph.ts';
import { graphToSmt, smtConst, smtSort } from '../../isa/smt.ts';
import type { Goal } from './goal.ts';

/** A query in SMT-LIB: `unsat` proves the goal, a model of the inputs refutes it. */
export interface Question {
  readonly text: string;
  /** Names of the inputs in the text. */
  readonly names: readonly string[];
}

/** Restricts a query to operands of `bits` significant bits. */
export interface Bound {
  readonly bits: number;
  /** Whether constants of the pattern are bounded too. */
  readonly constants: boolean;
}

/** The query of a goal: commands that declare the inputs and assert the assumptions and that some result differs. */
export function questionOf(goal: Goal, bound: Bound | null = null): Question {
  const names = goal.inputs.map((_, i) => `v${i}`);
  const ends = [...goal.given, ...goal.results.flatMap((r) => [r.left, r.right])];
  const smt = graphToSmt({ nodes: goal.nodes, dsts: ends, srcWidths: [] }, names, 'n');
  const given = smt.dsts.slice(0, goal.given.length);
  const sides = smt.dsts.slice(goal.given.length);
  const differ = goal.results.map((_, i) => `(distinct ${sides[2 * i]} ${sides[2 * i + 1]})`);
  const floats = goal.nodes.some((n) => n.fmt !== '');
  const lines = [
    `(set-logic ${smt.functions.length > 0 ? 'QF_UFBVFP' : floats ? 'QF_BVFP' : 'QF_BV'})`,
    ...smt.functions,
    ...goal.inputs.map((x, i) => `(declare-fun ${names[i]} () ${smtSort(x.width)})`),
    ...(bound === null ? [] : bounds(goal, names, bound)),
    ...smt.commands,
    ...given.map((g) => `(assert (= ${g} #b1))`),
    `(assert (or ${differ.join(' ')} false))`,
  ];
  return { text: lines.join('\n'), names };
}

/** The query whether the assumptions of a goal are satisfiable. */
export function possible(goal: Goal, bound: Bound | null): Question {
  const names = goal.inputs.map((_, i) => `v${i}`);
  const { nodes, inputs, given } = goal;
  const smt = graphToSmt({ nodes, dsts: given, srcWidths: [] }, names, 'n');
  const lines = [
    '(set-logic ALL)',
    ...smt.functions,
    ...inputs.map((x, i) => `(declare-fun ${names[i]} () ${smtSort(x.width)})`),
    ...(bound === null ? [] : bounds(goal, names, bound)),
    ...smt.commands,
    ...smt.dsts.map((g) => `(assert (= ${g} #b1))`),
  ];
  return { text: lines.join('\n'), names };
}

/**
 * Assertions of a bound: integers from -2^(bits-1) to 2^(bits-1)-1; floats whose explicit significand bits below the top `bits` are zero.
 */
function bounds(goal: Goal, names: readonly string[], bound: Bound): string[] {
  const mantissas = mantissasOf(goal);
  return goal.inputs.flatMap((x, i) => {
    if (x.constant && !bound.constants) return [];
    const name = names[i];
    const mant = mantissas[i];
    if (mant > 0) {
      const zero = mant - bound.bits;
      return zero <= 0 ? [] : [`(assert (= ((_ extract ${zero - 1} 0) ${name}) ${smtConst(0n, zero)}))`];
    }
    if (x.width <= bound.bits) return [];
    const low = `((_ extract ${bound.bits - 1} 0) ${name})`;
    return [`(assert (= ${name} ((_ sign_extend ${x.width - bound.bits}) ${low})))`];
  });
}

/** Explicit significand bits of the format in which each input is read; 0 where it is read as an integer. */
function mantissasOf(goal: Goal): number[] {
  const reads: Node['op'][] = ['fneg', 'fabs', 'ftz'];
  const under: number[] = [];
  const out = goal.inputs.map(() => 0);
  goal.nodes.forEach((n, id) => {
    under[id] = n.op === 'src' ? n.n : reads.includes(n.op) ? under[n.args[0]] : -1;
    if (n.fmt === '' || n.op === 'i2f') return;
    for (const a of n.args) if (under[a] >= 0) out[under[a]] = FORMATS[n.fmt].mant;
  });
  return out;
}

/** A bound in words. */
export const boundText = (goal: Goal, b: Bound): string => {
  const floats = mantissasOf(goal).some((m) => m > 0);
  const whose = b.constants ? 'operands and constants' : 'operands';
  return floats
    ? `${whose} of ${b.bits} significand bits`
    : `${whose} from -2^${b.bits - 1} to 2^${b.bits - 1}-1`;
};

/** Parses a solver's reply to `(get-value (v0 v1 ...))`: unsigned values by name. Values that cannot be parsed are left out. */
export function readModel(text: string): Map<string, bigint> {
  const out = new Map<string, bigint>();
  for (const m of text.matchAll(
    /\(\s*(v\d+)\s+(?:#x([0-9a-fA-F]+)|#b([01]+)|\(_\s+bv(\d+)\s+\d+\s*\)|(\d+))\s*\)/g,
  ))
    out.set(
      m[1],
      m[2] !== undefined
        ? BigInt(`0x${m[2]}`)
        : m[3] !== undefined
          ? BigInt(`0b${m[3]}`)
          : BigInt(m[4] ?? m[5]),
    );
  return out;
}
