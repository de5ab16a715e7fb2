import { printMnemonic } from '../../ir/text.ts';
import type { Instance, Line, Rule } from '../rule.ts';

/** What is known about a rule, from the strongest to the weakest; only a refuted one is wrong. */
export type Verdict =
  /** Every instance, for all operands and constants of full width. */
  | { readonly verdict: 'verified'; readonly note?: string }
  /** Not refuted, and proved for part of the values: `note` says which. */
  | { readonly verdict: 'bounded'; readonly note: string }
  /** The solver decides nothing: the rule's author says why it holds. */
  | { readonly verdict: 'by argument'; readonly note: string }
  | { readonly verdict: 'unknown'; readonly note: string }
  /** No theory states what the rule speaks of. */
  | { readonly verdict: 'out of scope'; readonly note: string }
  | { readonly verdict: 'refuted'; readonly note: string };

export type VerdictName = Verdict['verdict'];

/** All verdicts, best first. */
export const VERDICTS: readonly VerdictName[] = [
  'verified',
  'bounded',
  'by argument',
  'unknown',
  'out of scope',
  'refuted',
];

/** A verdict as it is stored. */
export type Proof = Verdict & {
  /** `Rule.hash` of what was tried. */
  readonly hash: string;
  /** Choices of modifiers and widths, and how many different questions they came to. */
  readonly instances: number;
  readonly questions: number;
  /** Random choices of values on which both sides agreed, where the solver did not decide all. */
  readonly samples?: number;
  readonly ms: number;
};

/** Values under which the sides of a rule differ. */
export interface Counterexample {
  readonly rule: Rule;
  readonly instance: Instance;
  /** By variable, unsigned; those that the pattern computes hold what it computes. */
  readonly values: readonly bigint[];
  readonly results: readonly { readonly v: number; readonly left: bigint; readonly right: bigint }[];
}

/** A counterexample as a table: the rule, the modifiers, what goes in, and what each side gives. */
export function counterexampleText(c: Counterexample): string {
  const { rule, instance } = c;
  const lines = [
    `rule ${rule.group}/${rule.id} is wrong: ${rule.title}`,
    ...section('match', rule.text.match),
    ...section('rewrite', rule.text.rewrite),
    ...(rule.text.when === null ? [] : section('when', rule.text.when)),
    ...section('opcodes', mnemonics(rule.match, instance.match).join('\n')),
    ...section('', mnemonics(rule.rewrite, instance.rewrite).map((m) => `=> ${m}`).join('\n')),
  ];
  const results = new Set(c.results.map((r) => r.v));
  rule.vars.forEach((x, v) => {
    if (x.fresh || results.has(v)) return;
    const name = `${x.kind === 'const' ? '#' : '$'}${x.name}`;
    lines.push(row(x.line < 0 ? 'in' : 'between', name, c.values[v], instance.widths[v] || 32));
  });
  for (const r of c.results) {
    const name = r.v < 0 ? 'address' : `$${rule.vars[r.v].name}`;
    const width = r.v < 0 ? 64 : instance.widths[r.v] || 32;
    lines.push(`${row('out', name, r.left, width)}  as matched`);
    lines.push(`${row('', '', r.right, width)}  as rewritten${r.left === r.right ? '' : ', which differs'}`);
  }
  return lines.join('\n');
}

/** The lines' opcodes with all modifiers of the instance. */
const mnemonics = (lines: readonly Line[], mods: readonly number[]): string[] =>
  lines.map((l, i) => (l.op === null ? '*' : printMnemonic(l.op, mods[i])));

const section = (name: string, text: string): string[] =>
  text
    .trim()
    .split('\n')
    .map((l, i) => `  ${(i === 0 ? name : '').padEnd(9)}${l.trim()}`);

function row(what: string, name: string, value: bigint, width: number): string {
  const hex = `0x${value.toString(16).padStart(Math.ceil(width / 4), '0')}`;
  const signed = BigInt.asIntN(width, value);
  const decimal = width === 1 ? '' : signed < 0n ? `${value} or ${signed}` : `${value}`;
  return `  ${what.padEnd(9)}${name.padEnd(9)}${hex.padStart(18)}  ${String(width).padStart(2)} bits  ${decimal}`.trimEnd();
}
