import { slotWidth } from '../ir/opcode.ts';
import { evalGraph } from '../isa/lang/evaluate.ts';
import { evalBig } from '../isa/reference.ts';
import type { Instance, Line, Rule, Source } from './rule.ts';

/** The results of both sides of a rule for one assignment of values. */
export interface Sample {
  /** By variable, unsigned. */
  readonly values: readonly bigint[];
  /** Whether the condition holds; if not, the sides are not evaluated. */
  readonly applies: boolean;
  /** For each destination of the root: its variable, and the results of both sides. */
  readonly results: readonly { readonly v: number; readonly left: bigint; readonly right: bigint }[];
}

/**
 * Evaluates both sides of a rule exactly.
 *
 * @param given values by variable, truncated to the variable's width; results of inner lines are computed instead. The value of a result of
 * the root is what its register holds before it is written.
 * @param wildcards values of the operands `_`, in the order of the pattern; a missing one gets a hash of the other values
 */
export function sample(
  rule: Rule,
  instance: Instance,
  given: readonly bigint[],
  wildcards: readonly bigint[] = [],
): Sample {
  const values = rule.vars.map((_, i) => BigInt.asUintN(instance.widths[i] || 64, given[i] ?? 0n));
  const outputs = evalGraph(instance.constants, values);
  if (outputs[0] !== 1n) return { values, applies: false, results: [] };
  const root = rule.match[rule.match.length - 1];
  const left = run(rule.match, instance.match, [...values], outputs, wildcards);
  const before = left.map((x, v) => (root.dst.includes(v) ? values[v] : x));
  const right = run(rule.rewrite, instance.rewrite, before, outputs, wildcards);
  if (rule.root === null) return addressSample(rule, instance, left, right, outputs);
  const results = root.dst.filter((d) => d >= 0).map((v) => ({ v, left: left[v], right: right[v] }));
  return { values: left, applies: true, results };
}

function run(
  lines: readonly Line[],
  mods: readonly number[],
  values: bigint[],
  outputs: readonly bigint[],
  wildcards: readonly bigint[],
): bigint[] {
  let nextWildcard = 0;
  lines.forEach((l, i) => {
    if (l.op === null) return;
    const op = l.op;
    const src = l.src.map((s, k) =>
      s.k === 'any'
        ? { value: wildcards[nextWildcard++] ?? anything(values), mods: 0 }
        : operand(s, values, outputs, slotWidth(op, mods[i], op.srcs[k]) || 32),
    );
    const out = evalBig(
      op,
      mods[i],
      src.map((x) => x.value),
      src.map((x) => x.mods),
    );
    l.dst.forEach((d, k) => {
      if (d >= 0) values[d] = out[k];
    });
  });
  return values;
}

function operand(
  s: Source,
  values: readonly bigint[],
  outputs: readonly bigint[],
  width: number,
): { value: bigint; mods: number } {
  switch (s.k) {
    case 'var':
      return { value: values[s.v], mods: s.mods };
    case 'const':
      return { value: values[s.v], mods: 0 };
    case 'literal':
      return { value: BigInt.asUintN(width, s.value), mods: 0 };
    case 'computed':
      return { value: outputs[s.x + 1], mods: 0 };
    default:
      throw new Error(`${s.k} has no value`);
  }
}

/** A value for an operand that must not matter: a hash of all other values, so that a rule that depends on it is found out. */
const anything = (values: readonly bigint[]): bigint =>
  values.reduce((h, v) => BigInt.asUintN(64, (h ^ v) * 0x9e3779b97f4a7c15n + 1n), 7n) >> 3n;

/**
 * The sample of a rule for addresses: both sides compute base plus offset, as wide as the base, so that a 32-bit base wraps. Offsets must
 * fit in the 32 bits that an instruction has for them; otherwise the engine does not rewrite, and the sample does not apply.
 */
function addressSample(
  rule: Rule,
  instance: Instance,
  left: readonly bigint[],
  right: readonly bigint[],
  outputs: readonly bigint[],
): Sample {
  let fits = true;
  const address = (lines: readonly Line[], values: readonly bigint[]): bigint => {
    const a = lines[lines.length - 1].src[0];
    if (a.k !== 'address') throw new Error('the root has no address');
    const offset = operand(a.offset, values, outputs, 64).value;
    if (BigInt.asIntN(32, offset) !== BigInt.asIntN(64, offset)) fits = false;
    const width = a.base.k === 'var' ? instance.widths[a.base.v] || 64 : 64;
    return BigInt.asUintN(width, operand(a.base, values, outputs, 64).value + offset);
  };
  const l = address(rule.match, left);
  const r = address(rule.rewrite, right);
  return { values: left, applies: fits, results: fits ? [{ v: -1, left: l, right: r }] : [] };
}
