import { counted } from '../../ir/counts.ts';
import { printMnemonic } from '../../ir/text.ts';
import type { Instance, Rule } from '../rule.ts';
import type { Sample } from '../sample.ts';
import { decimal, floatVariables } from './float-values.ts';

const hex = (v: bigint, width: number): string =>
  width === 1 ? String(v === 1n) : `0x${v.toString(16).padStart(Math.ceil(width / 4), '0')}`;

/**
 * A counterexample as text: the lines with their modifiers, the value of every register and constant (floats in decimal too), and the
 * results of both sides.
 */
export function counterexampleText(rule: Rule, instance: Instance, s: Sample): string {
  const floats = floatVariables(rule, instance);
  const float = (x: bigint, v: number): string => {
    const fmt = floats.get(v);
    return fmt === undefined ? '' : ` = ${decimal(x, fmt)}`;
  };
  const rows: [string, string][] = rule.vars.flatMap((v, i): [string, string][] => {
    if (v.fresh || (v.line < 0 && rule.rewrite.some((l) => l.dst.includes(i)))) return [];
    if (rule.match[rule.match.length - 1].dst.includes(i)) return [];
    const w = instance.widths[i] || 64;
    return [
      [
        `${v.kind === 'const' ? '#' : '$'}${v.name}`,
        `${hex(s.values[i], w)} (${counted(w, 'bit')})${float(s.values[i], i)}`,
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
      return `    ${(r.v < 0 ? 'address' : `$${rule.vars[r.v].name}`).padEnd(wide)} = ${hex(r.left, w)}${float(r.left, r.v)} before, ${hex(r.right, w)}${float(r.right, r.v)} after`;
    }),
  ].join('\n');
}
