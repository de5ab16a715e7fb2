import { describe, expect, it } from 'vitest';
import { rulesOfDoc } from '../../src/rules/group.ts';
import type { Instance, Rule } from '../../src/rules/rule.ts';
import { sample } from '../../src/rules/sample.ts';
import { constantsFor } from '../../src/rules/witness.ts';
import { testIsa } from '../support/isa.ts';
import { shipped } from '../support/specs.ts';

const isa = testIsa();

/** A small deterministic generator. */
function generator(seed: number): () => number {
  let s = seed;
  return () => {
    s = (Math.imul(s, 1664525) + 1013904223) >>> 0;
    return s >>> 8;
  };
}
const EDGES = [
  0x3cn,
  0xfcn,
  0xc0n,
  0xf0n,
  8n,
  24n,
  16n,
  0n,
  1n,
  2n,
  -1n,
  -2n,
  31n,
  32n,
  33n,
  0x7fffffffn,
  0x80000000n,
  0xffn,
  0x3f800000n,
  0xbf800000n,
  0x7fc00000n,
  0x7f800000n,
  0x00000001n,
  0x7fffffffffffffffn,
  1n << 63n,
  0x3ff0000000000000n,
];

function values(rule: Rule, instance: Instance, next: () => number): bigint[] {
  return rule.vars.map((v, i) => {
    const w = instance.widths[i] || 64;
    const pick = next() % (v.kind === 'const' ? 5 : 3);
    if (pick === 0) return EDGES[next() % EDGES.length];
    // Constants are mostly small or powers of two, else conditions would seldom hold.
    if (pick === 1) return 1n << BigInt(next() % w);
    if (pick === 3) return BigInt(next() % 64);
    return (BigInt(next()) << 40n) ^ (BigInt(next()) << 20n) ^ BigInt(next());
  });
}

describe.each([...shipped.rules!].map(([name, f]) => [name, f] as const))('group %s', (_, file) => {
  const { rules, issues } = rulesOfDoc(file.data, isa);
  it('compiles', () => {
    expect(issues.map((i) => `${i.rule} ${i.field}: ${i.message}`)).toEqual([]);
  });
  it.each(rules.filter((r) => r.inexact === null).map((r) => [r.id, r] as const))(
    '%s: both sides are equal wherever it applies',
    (_, rule) => {
      const next = generator(rule.id.length * 7919 + rule.place);
      let applied = 0;
      for (let n = 0; n < 4000 && applied < 150; n++) {
        const instance = rule.instances[n % rule.instances.length];
        const given = values(rule, instance, next);
        // Every other time constants that are known to meet the condition.
        const known = n % 2 === 0 ? constantsFor(rule, instance, (n >> 1) % 12) : null;
        const s = sample(
          rule,
          instance,
          given.map((v, i) => (known !== null && rule.vars[i].kind === 'const' ? known[i] : v)),
        );
        if (!s.applies) continue;
        applied++;
        for (const r of s.results)
          if (r.left !== r.right)
            expect.fail(
              `${rule.text.match}\n=> ${rule.text.rewrite}\n${rule.vars.map((v, i) => `${v.name} = 0x${s.values[i].toString(16)} (${instance.widths[i]})`).join(', ')}\n${r.left.toString(16)} against ${r.right.toString(16)}, modifiers ${instance.match} ${instance.modNames}`,
            );
      }
      expect(applied, 'the condition never held').toBeGreaterThan(0);
    },
  );
});
