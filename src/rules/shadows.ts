import { type IsReported, named, type Report, rootName } from './check-context.ts';
import { type Covering, covering } from './covering.ts';
import type { Rule } from './rule.ts';
import { variantsOf } from './shape.ts';

/**
 * Reports shadowed rules: those for which an earlier rule matches everything that they match.
 * @param ordered all rules of the set, in order of precedence
 */
export function checkShadows(ordered: readonly Rule[], isReported: IsReported, report: Report): void {
  const variants = ordered.map((r) => variantsOf(r));
  const byOp = new Map<string, number[]>();
  ordered.forEach((r, i) => {
    const key = rootName(r);
    for (const j of isReported(r) ? (byOp.get(key) ?? []) : []) {
      const a = ordered[j];
      if (!acceptsRootsOf(a, r)) continue;
      const general = firstOf(variants[j], (v) => {
        const c = covering(v.root, variants[i][0].root);
        return c !== null && sameInstances(a, r, c.lines) ? c : null;
      });
      if (general === null) continue;
      if (a.structural.length === 0 && a.instances.every((x) => x.always))
        report(
          r,
          'match',
          'rule-shadowed',
          `it never fires: ${named(a)} comes first and matches everything that it matches`,
        );
      else if (
        a.text.when === r.text.when &&
        sameNames(a, r, general) &&
        variants[i].some((v) => covering(v.root, variants[j][0].root) !== null)
      )
        report(
          r,
          'match',
          'rule-duplicate',
          `it matches the same code as ${named(a)}, under the same condition`,
        );
    }
    byOp.set(key, [...(byOp.get(key) ?? []), i]);
  });
}

/**
 * Does `a` accept every root that `b` accepts, with regard to destinations? A pattern matches only if destinations of the root that it does
 * not name are dead.
 */
function acceptsRootsOf(a: Rule, b: Rule): boolean {
  const left = a.match[a.match.length - 1].dst;
  const right = b.match[b.match.length - 1].dst;
  return left.every((d, i) => d >= 0 || right[i] < 0);
}

function firstOf<T, R>(xs: readonly T[], f: (x: T) => R | null): R | null {
  for (const x of xs) {
    const r = f(x);
    if (r !== null) return r;
  }
  return null;
}

/** Does `a` have an instance for every modifier choice of `b`? `lines` maps lines of `a` to lines of `b`. */
function sameInstances(a: Rule, b: Rule, lines: ReadonlyMap<number, number>): boolean {
  const choices = new Set(a.instances.map((i) => [...lines.keys()].map((l) => i.match[l]).join()));
  return b.instances.every((i) => choices.has([...lines.values()].map((l) => i.match[l]).join()));
}

/** Are variables of the same name mapped to each other, so that identical condition texts mean the same? */
function sameNames(a: Rule, b: Rule, { bound }: Covering): boolean {
  const named = new Set((a.text.when ?? '').match(/\w+/g));
  return a.vars.every((x, v) => {
    const part = bound.get(v);
    if (!named.has(x.name) || part === undefined) return true;
    const { v: other } = JSON.parse(part) as { v?: number };
    return other !== undefined && b.vars[other].name === x.name;
  });
}
