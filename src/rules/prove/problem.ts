import { slotWidth } from '../../ir/opcode.ts';
import { graphToSmt, smtConst, smtSort, toSmt } from '../../isa/smt.ts';
import type { Instance, Line, Rule, Source } from '../rule.ts';

/**
 * The question whether a rule holds, as SMT-LIB 2 text: are there values for which its condition holds and its two sides
 * give different results? `unsat` means that it holds for every value.
 */
export interface Problem {
  /** Declarations and assertions, without `check-sat`. */
  readonly text: string;
  /** Variables that come from outside, by number, whose values make a counterexample. */
  readonly inputs: readonly number[];
}

/** Restricts the question, where the whole of it is too hard. */
export interface Bound {
  /** Operands from outside are below two to this power. */
  readonly operandBits: number | null;
  /** Values of the rule's constants, by variable. */
  readonly constants: ReadonlyMap<number, bigint> | null;
}
export const UNBOUNDED: Bound = { operandBits: null, constants: null };

/** Width of a base or offset that is an address. */
const ADDRESS = 64;

/** The question for one choice of modifiers. */
export function problemOf(rule: Rule, instance: Instance, bound: Bound = UNBOUNDED): Problem {
  const declared: string[] = [];
  const commands: string[] = [];
  const functions = new Set<string>();
  const inputs: number[] = [];
  const width = (v: number): number => instance.widths[v] || ADDRESS;
  const outside = rule.vars.map((v, i) => {
    if (v.line >= 0 || v.fresh || defines(rule.rewrite, i)) return '';
    const known = bound.constants?.get(i);
    if (known !== undefined) return smtConst(known, width(i));
    inputs.push(i);
    declared.push(`(declare-const ${name(rule, i)} ${smtSort(width(i))})`);
    if (v.kind === 'value' && bound.operandBits !== null && width(i) > bound.operandBits)
      commands.push(
        `(assert (bvult ${name(rule, i)} ${smtConst(1n << BigInt(bound.operandBits), width(i))}))`,
      );
    return name(rule, i);
  });
  let free = 0;
  // What `_` stands for may be anything at all.
  const anything = (w: number): string => {
    declared.push(`(declare-const any${free} ${smtSort(w)})`);
    return `any${free++}`;
  };
  const constants = graphToSmt(
    instance.constants,
    rule.vars.map((_, i) => outside[i] || smtConst(0n, width(i))),
    'k',
  );
  commands.push(...constants.commands);

  const side = (
    lines: readonly Line[],
    mods: readonly number[],
    prefix: string,
    known: readonly string[],
  ): string[] => {
    const terms = [...known];
    lines.forEach((l, i) => {
      if (l.op === null) return;
      const { op } = l;
      const sources = l.src.map((s, k) =>
        s.k === 'any'
          ? anything(slotWidth(op, mods[i], op.srcs[k]) || 32)
          : term(s, terms, constants.dsts, slotWidth(op, mods[i], op.srcs[k]) || 32),
      );
      const srcMods = l.src.map((s) => (s.k === 'var' ? s.mods : 0));
      // A truth table that is written out keeps the question small; one that is a variable stays a term.
      const fixed = l.src.map((s) => constantOf(s, bound));
      const t = toSmt(op, mods[i], sources, `${prefix}${i}_`, srcMods, fixed);
      for (const f of t.functions) functions.add(f);
      commands.push(...t.commands);
      l.dst.forEach((d, k) => {
        if (d >= 0) terms[d] = t.dsts[k];
      });
    });
    return terms;
  };
  const left = side(rule.match, instance.match, 'l', outside);
  // What inner lines define is still there for the rewrite.
  const right = side(rule.rewrite, instance.rewrite, 'r', left);
  const different = rule.addressRoot
    ? [
        `(distinct ${address(rule.match, left, constants.dsts)} ${address(rule.rewrite, right, constants.dsts)})`,
      ]
    : rule.match[rule.match.length - 1].dst
        .filter((d) => d >= 0)
        .map((d) => `(distinct ${left[d]} ${right[d]})`);
  commands.push(`(assert (= ${constants.dsts[0]} #b1))`, `(assert (or ${different.join(' ')} false))`);
  return { text: [...declared, ...functions, ...commands].join('\n'), inputs };
}

const name = (rule: Rule, v: number): string => `v${v}_${rule.vars[v].name}`;

const defines = (lines: readonly Line[], v: number): boolean => lines.some((l) => l.dst.includes(v));

function constantOf(s: Source, bound: Bound): number | null {
  const v = s.k === 'literal' ? s.value : s.k === 'const' ? bound.constants?.get(s.v) : undefined;
  return v === undefined ? null : Number(BigInt.asIntN(32, v));
}

function term(s: Source, terms: readonly string[], outputs: readonly string[], width: number): string {
  switch (s.k) {
    case 'var':
    case 'const':
      return terms[s.v];
    case 'literal':
      return smtConst(s.value, width);
    case 'computed':
      return outputs[s.x + 1];
    default:
      throw new Error(`a source of the kind '${s.k}' has no term`);
  }
}

function address(lines: readonly Line[], terms: readonly string[], outputs: readonly string[]): string {
  const a = lines[lines.length - 1].src[0];
  if (a.k !== 'address') throw new Error('a root without an address');
  return `(bvadd ${term(a.base, terms, outputs, ADDRESS)} ${term(a.offset, terms, outputs, ADDRESS)})`;
}

/** Values of the inputs in a solver's answer to `get-value`. */
export function readModel(answer: string, rule: Rule, p: Problem): bigint[] {
  const values = rule.vars.map(() => 0n);
  for (const v of p.inputs) {
    const m = new RegExp(`\\(${name(rule, v)} (#x[0-9a-fA-F]+|#b[01]+|\\(_ bv(\\d+) \\d+\\))\\)`).exec(
      answer,
    );
    if (m !== null) values[v] = m[2] !== undefined ? BigInt(m[2]) : BigInt(`0${m[1].slice(1)}`);
  }
  return values;
}

/** `(get-value ...)` for the inputs; '' if there is none. */
export const modelQuery = (rule: Rule, p: Problem): string =>
  p.inputs.length === 0 ? '' : `(get-value (${p.inputs.map((v) => name(rule, v)).join(' ')}))`;
