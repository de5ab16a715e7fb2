/** Truth tables of three inputs: bit 4a+2b+c is the result for a, b, c (`LOP3`, `PLOP3`). */

/** The orders of three inputs: `order[i]` is the old position of the input that is now at position i. */
export const ORDERS: readonly (readonly [number, number, number])[] = [
  [0, 1, 2],
  [1, 0, 2],
  [0, 2, 1],
  [2, 1, 0],
  [1, 2, 0],
  [2, 0, 1],
];

/** The table that gives the same function after the inputs are permuted by `order`. */
export function permuteTable(table: number, order: readonly number[]): number {
  let out = 0;
  for (let k = 0; k < 8; k++) {
    // Row k is for the permuted inputs: move each back to its old position.
    let old = 0;
    for (let i = 0; i < 3; i++) if (((k >> (2 - i)) & 1) === 1) old |= 1 << (2 - order[i]);
    if (((table >> old) & 1) === 1) out |= 1 << k;
  }
  return out;
}

/** The permutation that undoes `order`. */
export function inverseOrder(order: readonly number[]): number[] {
  const out = [0, 1, 2];
  order.forEach((old, i) => {
    out[old] = i;
  });
  return out;
}

const rearranged = new Map<string, Uint8Array>();

/** `permuteTable` under one order for each of the 256 truth tables; cached by order. */
export function permutedTables(order: readonly number[]): Uint8Array {
  const key = order.join();
  let all = rearranged.get(key);
  if (all === undefined) {
    all = Uint8Array.from({ length: 256 }, (_, t) => permuteTable(t, order));
    rearranged.set(key, all);
  }
  return all;
}
