import type { Fn } from '../ir/program.ts';
import { printFn } from '../ir/text.ts';
import {
  type IsReported,
  instructionLines,
  MOST_INSTANCES,
  named,
  options,
  type Report,
  rootName,
  type Setting,
  spread,
} from './check-context.ts';
import { covering } from './covering.ts';
import { applyRules, RulesDiverge } from './driver.ts';
import type { Rule } from './rule.ts';
import { type Part, type Shape, variantsOf } from './shape.ts';
import { constantsFor, type Narrowing, witness } from './witness.ts';

/**
 * Reports pairs of rules that overlap: both match one instruction, so that file order decides which fires. That is no fault if one rule
 * states a priority, one is a special case of the other, or both lead to the same code in the end.
 * @param ordered all rules of the set, in order of precedence
 * @param cyclic rules that are left out because the set does not terminate on them
 */
export function checkOverlaps(
  ordered: readonly Rule[],
  set: Setting,
  isReported: IsReported,
  cyclic: ReadonlySet<Rule>,
  report: Report,
): void {
  const earlier = new Map<string, Rule[]>();
  for (const b of ordered) {
    const before = earlier.get(rootName(b)) ?? [];
    earlier.set(rootName(b), [...before, b]);
    if (!isReported(b) || b.ranked || cyclic.has(b)) continue;
    for (const a of before) {
      if (a.ranked || a.priority !== b.priority || cyclic.has(a) || special(a, b)) continue;
      const found = findDivergence(a, b, set) ?? swapped(findDivergence(b, a, set));
      if (found === null) continue;
      report(
        b,
        'priority',
        'rule-overlap',
        `it overlaps ${named(a)}, and the two lead to different code: give one of them a priority`,
        [
          'both match:',
          ...instructionLines(found.text),
          `after '${a.id}':`,
          ...instructionLines(found.one),
          `after '${b.id}':`,
          ...instructionLines(found.other),
        ],
      );
    }
  }
}

interface Divergence {
  readonly text: string;
  readonly one: string;
  readonly other: string;
}
const swapped = (p: Divergence | null): Divergence | null =>
  p === null ? null : { text: p.text, one: p.other, other: p.one };

/** A function that both rules match but rewrite to different code; null if none is found. */
function findDivergence(a: Rule, b: Rule, set: Setting): Divergence | null {
  const shape = variantsOf(b)[0].root;
  const tried = new Set<string>();
  for (const v of variantsOf(a)) {
    const narrow = meet(v.root, shape, a);
    if (narrow === null) continue;
    const key = JSON.stringify([[...narrow.values].map(([k, x]) => [k, String(x)]), [...narrow.same]]);
    if (tried.has(key)) continue;
    tried.add(key);
    for (const i of spread(b.instances, MOST_INSTANCES)) {
      const w = witness(b, i, set.isa, 0, narrow);
      if (w === null) continue;
      const one = outcome(w.fn, a, set);
      const other = one === null ? null : outcome(w.fn, b, set);
      if (one !== null && other !== null && one !== other)
        return { text: printFn(w.fn, { locs: false }), one, other };
    }
  }
  return null;
}

/**
 * Unifies two patterns: the restrictions on the variables of `b` under which pattern `a` matches too; null if there are none. Overlaps in
 * which `a` expects the result of a line where `b` accepts any operand are not found, because that line is not constructed.
 */
function meet(a: Shape, b: Shape, ruleA: Rule): Narrowing | null {
  const values = new Map<number, bigint>();
  const same = new Map<number, number>();
  const bound = new Map<number, Part>();
  const constants = constantsFor(ruleA, ruleA.instances[0], 0);
  const shapes = (x: Shape, y: Shape): boolean => {
    if (x.op !== y.op) return false;
    for (let g = 0; g < x.fixed.length; g++)
      if (x.fixed[g] >= 0 && y.fixed[g] >= 0 && x.fixed[g] !== y.fixed[g]) return false;
    return x.src.every((p, i) => parts(p, y.src[i]));
  };
  const setTo = (q: Part, value: bigint): boolean => {
    if (q.k === 'literal') return q.value === value;
    if (q.k !== 'const' && (q.k !== 'var' || q.mods !== 0)) return q.k === 'any';
    const known = values.get(q.v);
    values.set(q.v, value);
    return known === undefined || known === value;
  };
  const parts = (p: Part, q: Part): boolean => {
    switch (p.k) {
      case 'any':
        return true;
      case 'literal':
        return setTo(q, p.value);
      case 'const':
        return q.k === 'const' || q.k === 'literal' || (constants !== null && setTo(q, constants[p.v]));
      case 'var': {
        const known = bound.get(p.v);
        bound.set(p.v, q);
        if (known === undefined || (known.k !== 'var' && known.k !== 'const')) return known === undefined;
        if (q.k === 'literal') return setTo(known, q.value);
        if (q.k !== known.k) return false;
        if (q.v !== known.v) same.set(q.v, known.v);
        return true;
      }
      case 'def':
        return q.k === 'def' && p.dst === q.dst && shapes(p.shape, q.shape);
      case 'address':
        return q.k === 'address' && parts(p.base, q.base) && parts(p.offset, q.offset);
    }
  };
  return shapes(a, b) ? { values, same } : null;
}

/** Is one pattern a special case of the other? Then the general rule is meant for the remaining cases. */
function special(a: Rule, b: Rule): boolean {
  const va = variantsOf(a);
  const vb = variantsOf(b);
  return (
    va.some((v) => covering(v.root, vb[0].root) !== null) ||
    vb.some((v) => covering(v.root, va[0].root) !== null)
  );
}

/**
 * The code that results if the given rule fires first and the whole set runs after it; null if the rule does not fire or the set does not
 * terminate.
 */
function outcome(fn: Fn, first: Rule, set: Setting): string | null {
  try {
    let fired = false;
    const once = applyRules(fn, set.matcher, {
      ...options(),
      allow: (r) => {
        if (fired || r !== first) return false;
        fired = true;
        return true;
      },
    });
    if (!fired) return null;
    return renamed(
      instructionLines(printFn(set.settle(once, set.matcher, set.isa, options()), { locs: false })).join(
        '\n',
      ),
    );
  } catch (e) {
    if (e instanceof RulesDiverge) return null;
    throw e;
  }
}

/** The text with registers renumbered in order of first occurrence. */
function renamed(text: string): string {
  const names = new Map<string, string>();
  return text.replace(/\b(RD|RQ|R|P)(\d+)\b/g, (all, file: string) => {
    let n = names.get(all);
    if (n === undefined) names.set(all, (n = `${file}${names.size}`));
    return n;
  });
}
