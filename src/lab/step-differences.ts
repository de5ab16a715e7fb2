import type { PassStep, RulesStep } from '../spec/plan.ts';

/** Texts for the differing parameters of two step lists with the same passes and rules; null if they differ otherwise or not at all. */
export function paramDifferences(
  a: readonly (PassStep | RulesStep)[],
  b: readonly (PassStep | RulesStep)[],
): readonly [string, string] | null {
  const nameOf = (s: PassStep | RulesStep): string => (s.kind === 'pass' ? s.pass : JSON.stringify(s.groups));
  if (a.length !== b.length || a.some((s, i) => nameOf(s) !== nameOf(b[i]))) return null;
  const texts: [string[], string[]] = [[], []];
  a.forEach((s, i) => {
    const t = b[i];
    if (s.kind !== 'pass' || t.kind !== 'pass') return;
    const names = [...new Set([...Object.keys(s.params), ...Object.keys(t.params)])].filter(
      (n) => JSON.stringify(s.params[n]) !== JSON.stringify(t.params[n]),
    );
    if (names.length === 0) return;
    for (const [k, x] of [s, t].entries())
      texts[k].push(`${x.pass} ${names.map((n) => `${n} ${paramText(x.params[n])}`).join(', ')}`);
  });
  return texts[0].length === 0 ? null : [texts[0].join('; '), texts[1].join('; ')];
}

const paramText = (v: unknown): string =>
  v === undefined ? 'unset' : typeof v === 'string' ? v : JSON.stringify(v);
