import type { Node } from './lang/graph.ts';

/**
 * Generates JavaScript for bitwise operations of lane code: truth tables, predicate masks, byte permutations. Arguments are variable names.
 */

/** Code of two-input functions by their truth table: bit 2a+b is the result for the bits a, b. */
const TWO: readonly ((a: string, b: string) => string)[] = [
  () => '0',
  (a, b) => `~(${a}|${b})`,
  (a, b) => `(~${a}&${b})`,
  (a) => `(~${a})`,
  (a, b) => `(${a}&~${b})`,
  (_a, b) => `(~${b})`,
  (a, b) => `(${a}^${b})`,
  (a, b) => `~(${a}&${b})`,
  (a, b) => `(${a}&${b})`,
  (a, b) => `~(${a}^${b})`,
  (_a, b) => b,
  (a, b) => `(~${a}|${b})`,
  (a) => a,
  (a, b) => `(${a}|~${b})`,
  (a, b) => `(${a}|${b})`,
  () => '-1',
];

/** Code of a three-input truth table (bit 4a+2b+c), by Shannon expansion over the first input. */
export function lop3Code(table: number, a: string, b: string, c: string): string {
  const on = (table >> 4) & 15;
  const off = table & 15;
  const x = TWO[on](b, c);
  const y = TWO[off](b, c);
  if (on === off) return x;
  if (on === (~off & 15)) return `(${a}^${y})`;
  if (on === 0) return `(~${a}&${y})`;
  if (off === 0) return `(${a}&${x})`;
  if (on === 15) return `(${a}|${y})`;
  if (off === 15) return `(~${a}|${x})`;
  return `(${a}&${x}|~${a}&${y})`;
}

/** Code of a one-bit operation on the masks of 32 lanes; null if it has no such form. */
export function maskCode(n: Node, a: string, b: string, c: string): string | null {
  switch (n.op) {
    case 'const':
      return n.value === 1n ? '-1' : '0';
    case 'and':
      return `(${a}&${b})`;
    case 'or':
      return `(${a}|${b})`;
    case 'xor':
      return `(${a}^${b})`;
    case 'eq':
      return `(~(${a}^${b}))`;
    case 'not':
      return `(~${a})`;
    case 'ite':
      return `(${a}&${b}|~${a}&${c})`;
    case 'lop3':
      return lop3Code(n.n, a, b, c);
    default:
      return null;
  }
}

/** Code of a byte permutation with a constant selector: bytes that stay adjacent are moved by one shift. */
export function prmtCode(sel: number, a: string, b: string): string {
  const parts: string[] = [];
  for (let k = 0; k < 4; ) {
    const nibble = (sel >> (4 * k)) & 15;
    const word = (nibble & 4) !== 0 ? b : a;
    const from = nibble & 3;
    if ((nibble & 8) !== 0) {
      parts.push(`(${word}<<${24 - 8 * from}>>31&${255 * 2 ** (8 * k)})`);
      k++;
      continue;
    }
    let run = 1;
    while (k + run < 4 && from + run < 4 && ((sel >> (4 * (k + run))) & 15) === nibble + run) run++;
    const shift = 8 * (k - from);
    const moved = shift > 0 ? `${word}<<${shift}` : shift < 0 ? `${word}>>>${-shift}` : word;
    parts.push(run === 4 ? word : `(${moved}&${(2 ** (8 * run) - 1) * 2 ** (8 * k)})`);
    k += run;
  }
  return `(${parts.join('|')})`;
}
