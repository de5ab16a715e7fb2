/**
 * Linear expressions over unknowns, modulo 2^32 or 2^64, without their constant: what addresses are compared by. Equal
 * expressions have equal numbers, so two addresses with the same number differ by a known distance.
 */
export interface Linear {
  readonly width: number;
  /** Unknowns, ascending, each with its coefficient. */
  readonly atoms: readonly number[];
  readonly coefs: readonly number[];
  /**
   * Position of the block where the value is renewed that was made last; -1: it is the same throughout the function. The
   * value is that of one execution of that block.
   */
  readonly home: number;
  /** Number of the part that is the same throughout the function. */
  readonly root: number;
  /** Largest power of two that divides every other part; 0 where there is none. */
  readonly stride: number;
}

/** Most unknowns of one expression; longer sums count as one unknown. Addresses of arrays have one for each dimension. */
const MOST_ATOMS = 8;
/** Coefficients and distances are exact numbers below this; whatever is larger counts as unknown. */
const LARGEST = 2 ** 40;

/** Makes and numbers linear expressions. Expression 0 is the empty sum. */
export class LinearTable {
  readonly forms: Linear[] = [{ width: 0, atoms: [], coefs: [], home: -1, root: 0, stride: 0 }];
  private readonly homes: number[] = [];
  private readonly atomByKey = new Map<string, number>();
  private readonly formByKey = new Map<string, number>();
  private readonly plain = new Map<number, number>();
  private readonly depth: Int32Array;

  /** @param depth depth of each block in the dominator tree */
  constructor(depth: Int32Array) {
    this.depth = depth;
  }

  /** An unknown that nothing else is equal to. */
  fresh(home: number): number {
    this.homes.push(home);
    return this.homes.length - 1;
  }

  /** The unknown of a key: the same one for the same key. */
  atom(key: string, home: number): number {
    let a = this.atomByKey.get(key);
    if (a === undefined) this.atomByKey.set(key, (a = this.fresh(home)));
    return a;
  }

  homeOf(atom: number): number {
    return this.homes[atom];
  }

  /** One unknown as an expression. */
  of(atom: number, width: number): number {
    const key = 2 * atom + (width === 64 ? 1 : 0);
    let f = this.plain.get(key);
    if (f === undefined) this.plain.set(key, (f = this.sum(width, [atom], [1])));
    return f;
  }

  /** The sum of unknowns, in any order; -1 where it has too many or its coefficients are too large. */
  sum(width: number, atoms: readonly number[], coefs: readonly number[]): number {
    const total = new Map<number, number>();
    for (let i = 0; i < atoms.length; i++) {
      const c = (total.get(atoms[i]) ?? 0) + coefs[i];
      total.set(atoms[i], width === 32 ? c | 0 : c);
    }
    const list = [...total].filter(([, c]) => c !== 0).sort((x, y) => x[0] - y[0]);
    if (list.length > MOST_ATOMS || list.some(([, c]) => Math.abs(c) > LARGEST)) return -1;
    return this.intern(width, list);
  }

  private intern(width: number, list: readonly (readonly [number, number])[]): number {
    if (list.length === 0) return 0;
    const key = `${width}:${list.join(';')}`;
    const old = this.formByKey.get(key);
    if (old !== undefined) return old;
    let home = -1;
    let stride = 0;
    for (const [a, c] of list) {
      const h = this.homes[a];
      if (h < 0) continue;
      if (home < 0 || this.depth[h] > this.depth[home]) home = h;
      const low = lowestBit(c);
      if (stride === 0 || low < stride) stride = low;
    }
    const fixed = list.filter(([a]) => this.homes[a] < 0);
    const root = fixed.length === list.length ? this.forms.length : this.intern(width, fixed);
    const id = this.forms.length;
    this.formByKey.set(key, id);
    this.forms.push({
      width,
      atoms: list.map(([a]) => a),
      coefs: list.map(([, c]) => c),
      home,
      root: fixed.length === list.length ? id : root,
      stride,
    });
    return id;
  }
}

/** Largest power of two that divides a number other than 0. */
function lowestBit(c: number): number {
  let x = Math.abs(c);
  let bit = 1;
  while (x % 2 === 0) {
    x /= 2;
    bit *= 2;
  }
  return bit;
}

/** A constant in the range of its width, or null where it is too large to be kept exactly. */
export function inRange(v: number, width: number): number | null {
  if (width === 32) return v | 0;
  return Math.abs(v) > LARGEST ? null : v;
}
