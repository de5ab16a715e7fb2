import { printMnemonic } from '../../ir/text.ts';
import type { Instance, Rule } from '../rule.ts';
import { sample } from '../sample.ts';
import { constantsFor } from '../witness.ts';
import { type Bound, modelQuery, problemOf, readModel, UNBOUNDED } from './problem.ts';
import type { Verdict } from './verdict.ts';

/** A solver: takes SMT-LIB commands, gives what it prints. Each call starts anew. */
export type Solver = (text: string, timeoutMs: number) => Promise<string>;

export interface ProveOptions {
  /** Time for one question. */
  readonly timeoutMs: number;
  /** Samples for what the solver does not decide. */
  readonly samples: number;
}
export const PROVE: ProveOptions = { timeoutMs: 10_000, samples: 20_000 };

/** Powers of two that operands are kept below, in turn, where the whole question is too hard. */
const NARROWER = [16, 12, 8];
/** Sets of constants that a rule is asked for one by one, where they are too hard as symbols. */
const MOST_CONSTANTS = 24;
/** After so many questions without an answer the others of the rule are not asked whole any more. */
const MOST_UNANSWERED = 2;

type Answer =
  | { readonly holds: true; readonly to: string | null }
  | { readonly values: readonly bigint[] }
  | null;

/**
 * Asks whether a rule holds: every instance whole; then with constants one by one; then with narrow operands; then by exact samples.
 * A counterexample is evaluated exactly before it is believed.
 */
export async function prove(rule: Rule, solver: Solver, opts: ProveOptions = PROVE): Promise<Verdict> {
  if (rule.inexact !== null) return { verdict: 'inexact', why: rule.inexact };
  const seen = new Map<string, Answer>();
  const bounds = new Set<string>();
  let unanswered = 0;
  let undecided = 0;
  for (const instance of rule.instances) {
    // A rule that says why it holds is not asked about for ever.
    if (rule.holds !== null && unanswered >= MOST_UNANSWERED) {
      undecided++;
      continue;
    }
    const text = problemOf(rule, instance).text;
    let answer = seen.get(text);
    if (answer === undefined) {
      answer = await ask(
        rule,
        instance,
        UNBOUNDED,
        null,
        solver,
        unanswered < MOST_UNANSWERED ? opts.timeoutMs : opts.timeoutMs / 10,
      );
      if (answer === null) {
        unanswered++;
        if (rule.holds === null)
          answer =
            (await byConstants(rule, instance, solver, opts)) ??
            (await byWidth(rule, instance, solver, opts));
      }
      seen.set(text, answer);
    }
    if (answer === null) undecided++;
    else if ('values' in answer)
      return { verdict: 'refuted', counterexample: counterexample(rule, instance, answer.values) };
    else if (answer.to !== null) bounds.add(answer.to);
  }
  const instances = rule.instances.length;
  if (undecided === 0 && bounds.size === 0) return { verdict: 'verified', instances };
  const sampled = sampleAll(rule, opts.samples);
  if (sampled.wrong !== null)
    return {
      verdict: 'refuted',
      counterexample: counterexample(rule, sampled.wrong.instance, sampled.wrong.values),
    };
  if (undecided === 0)
    return {
      verdict: 'bounded',
      instances,
      to: `${[...bounds].sort().join('; ')}; ${sampled.agreed} exact samples agree`,
    };
  if (rule.holds !== null) return { verdict: 'by argument', instances, samples: sampled.agreed };
  return {
    verdict: 'unknown',
    why: `the solver decides ${instances - undecided} of ${instances} choices of modifiers; ${sampled.agreed} exact samples agree`,
  };
}

async function ask(
  rule: Rule,
  instance: Instance,
  bound: Bound,
  to: string | null,
  solver: Solver,
  timeoutMs: number,
): Promise<Answer> {
  const p = problemOf(rule, instance, bound);
  const answer = await solver(`${p.text}\n(check-sat)\n`, timeoutMs);
  const first = answer.trim().split(/\s+/)[0];
  if (first === 'unsat') return { holds: true, to };
  if (first !== 'sat') {
    if (first?.startsWith('(error') === true)
      throw new Error(`the solver refuses rule ${rule.id}: ${answer.trim().slice(0, 300)}`);
    return null;
  }
  const model = await solver(`${p.text}\n(check-sat)\n${modelQuery(rule, p)}\n`, timeoutMs);
  const values = readModel(model, rule, p).map((v, i) => bound.constants?.get(i) ?? v);
  const s = sample(rule, instance, values);
  // Approximate functions are unknown functions to the solver: a difference there is none until the values say so.
  return s.applies && s.results.some((r) => r.left !== r.right) ? { values } : null;
}

/** The rule for constants one by one: those of the usual list that meet the condition. */
async function byConstants(
  rule: Rule,
  instance: Instance,
  solver: Solver,
  opts: ProveOptions,
): Promise<Answer> {
  const consts = rule.vars.flatMap((v, i) => (v.kind === 'const' ? [i] : []));
  if (consts.length === 0) return null;
  let asked = 0;
  for (let skip = 0; asked < MOST_CONSTANTS; skip++, asked++) {
    const values = constantsFor(rule, instance, skip);
    if (values === null) break;
    const constants = new Map(consts.map((c) => [c, values[c]]));
    const a = await ask(rule, instance, { operandBits: null, constants }, null, solver, opts.timeoutMs / 5);
    if (a === null || 'values' in a) return a;
  }
  return asked === 0 ? null : { holds: true, to: `${asked} sets of constants, all operands` };
}

/** The rule for operands below a power of two. */
async function byWidth(rule: Rule, instance: Instance, solver: Solver, opts: ProveOptions): Promise<Answer> {
  for (const operandBits of NARROWER) {
    const a = await ask(
      rule,
      instance,
      { operandBits, constants: null },
      `operands below 2^${operandBits}`,
      solver,
      opts.timeoutMs / 5,
    );
    if (a !== null) return a;
  }
  return null;
}

// ---------------------------------------------------------------------- exact samples

const EDGES: readonly bigint[] = [
  0n,
  1n,
  2n,
  3n,
  8n,
  16n,
  24n,
  31n,
  32n,
  0x3cn,
  0xfcn,
  0xc0n,
  0xf0n,
  0x7fffffffn,
  0x80000000n,
  0xffffffffn,
  0x3f800000n,
  0xbf800000n,
  0x7f800000n,
  0xff800000n,
  0x7fc00000n,
  0x7fffffffn,
  0x00000001n,
  0x80000001n,
  0x00800000n,
  0x3ff0000000000000n,
  0x7ff0000000000000n,
  0x8000000000000000n,
  0x0010000000000000n,
  0xffffffffffffffffn,
  0x3c003c00n,
  0x7c00fc00n,
  0x7e007e00n,
];

function sampleAll(
  rule: Rule,
  count: number,
): { agreed: number; wrong: { instance: Instance; values: readonly bigint[] } | null } {
  let s = 0x2545f491;
  const next = (): number => {
    s ^= s << 13;
    s ^= s >>> 17;
    s ^= s << 5;
    return s >>> 0;
  };
  let agreed = 0;
  for (let n = 0; n < count; n++) {
    const instance = rule.instances[n % rule.instances.length];
    const values = rule.vars.map((_, i) => {
      const pick = next() % 4;
      if (pick === 0) return EDGES[next() % EDGES.length];
      if (pick === 1) return 1n << BigInt(next() % (instance.widths[i] || 64));
      if (pick === 2) return BigInt(next() % 100);
      return (BigInt(next()) << 32n) | BigInt(next());
    });
    const r = sample(rule, instance, values);
    if (!r.applies) continue;
    if (r.results.some((x) => x.left !== x.right)) return { agreed, wrong: { instance, values } };
    agreed++;
  }
  return { agreed, wrong: null };
}

// ---------------------------------------------------------------------- counterexamples

const hex = (v: bigint, width: number): string =>
  width === 1 ? String(v === 1n) : `0x${v.toString(16).padStart(Math.ceil(width / 4), '0')}`;

/** Values in, both results, for people: modifiers, every register and constant, what each side gives. */
function counterexample(rule: Rule, instance: Instance, values: readonly bigint[]): string {
  const s = sample(rule, instance, values);
  const rows: [string, string][] = rule.vars.flatMap((v, i): [string, string][] => {
    if (v.fresh || (v.line < 0 && rule.rewrite.some((l) => l.dst.includes(i)))) return [];
    if (rule.match[rule.match.length - 1].dst.includes(i)) return [];
    const w = instance.widths[i] || 64;
    return [
      [
        `${v.kind === 'const' ? '#' : '$'}${v.name}`,
        `${hex(s.values[i], w)} (${w} bit${w === 1 ? '' : 's'})`,
      ],
    ];
  });
  const wide = Math.max(...rows.map((r) => r[0].length), 5);
  const lines = (ls: Rule['match'], mods: readonly number[]): string[] =>
    ls.map((l, i) => `    ${l.op === null ? l.text : l.text.replace(/^\S+/, printMnemonic(l.op, mods[i]))}`);
  return [
    'for',
    ...lines(rule.match, instance.match),
    'and in its place',
    ...lines(rule.rewrite, instance.rewrite),
    'with',
    ...rows.map(([n, v]) => `    ${n.padEnd(wide)} = ${v}`),
    'the results are',
    ...s.results.map((r) => {
      const w = r.v < 0 ? 64 : instance.widths[r.v] || 64;
      return `    ${(r.v < 0 ? 'address' : `$${rule.vars[r.v].name}`).padEnd(wide)} = ${hex(r.left, w)} before, ${hex(r.right, w)} after`;
    }),
  ].join('\n');
}
