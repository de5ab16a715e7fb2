/** Shrinks counterexamples, so that a person can check them by hand. */
import type { Instance, Rule } from '../rule.ts';
import { type Sample, sample } from '../sample.ts';

/** Maximum number of evaluations for one counterexample. */
const MOST_TRIES = 400;

/** Greedily shrinks a sample whose sides differ: towards zero, small numbers and fewer bits. */
export function smaller(rule: Rule, instance: Instance, found: Sample): Sample {
  let best = found;
  let tries = 0;
  const differs = (values: readonly bigint[]): boolean => {
    tries++;
    const s = sample(rule, instance, values);
    if (!s.applies || s.results.every((r) => r.left === r.right)) return false;
    best = s;
    return true;
  };
  // Only variables defined outside the match are free; results and inner values follow from them.
  const free = rule.vars.flatMap((v, i) => (v.line < 0 && !v.fresh ? [i] : []));
  for (let changed = true; changed && tries < MOST_TRIES; ) {
    changed = false;
    for (const i of free)
      for (const next of steps(best.values[i])) {
        if (tries >= MOST_TRIES) break;
        if (differs(best.values.map((x, k) => (k === i ? next : x)))) {
          changed = true;
          break;
        }
      }
  }
  return best;
}

/** Smaller values to try: small numbers, shifted values, and values with one bit fewer. */
function steps(value: bigint): bigint[] {
  const out = [0n, 1n, 2n, 3n, value >> 16n, value >> 8n, value >> 4n, value >> 1n];
  // One set bit cleared, from the top.
  for (let k = value.toString(2).length - 1; k >= 0 && out.length < 24; k--)
    if ((value >> BigInt(k)) & 1n) out.push(value ^ (1n << BigInt(k)));
  return [...new Set(out)].filter((x) => x < value);
}
