/**
 * Linear expressions over unknowns, modulo 2^32 or 2^64, without their constant: what addresses are compared by. Equal
 * expressions have equal numbers, so two addresses with the same number differ by a known distance.
 */
export interface Linear {
  readonly width: number;
  /** Unknowns, ascending, each with its coefficient. */
  readonly atoms: readonly number[];
  readonly coefs: readonly number[];
  /** Position of the block in which each unknown gets a new value; -1: it has the same one throughout the function. */
  readonly homes: readonly number[];
  /** The one of these that is dominated by all others; -1 where no unknown ever changes. */
  readonly home: number;
}

/** Most unknowns of one expression; longer sums count as one unknown. Addresses of arrays have one for each dimension. */
const MOST_ATOMS = 8;
/** Coefficients and distances are exact numbers below this; whatever is larger counts as unknown. */
const LARGEST = 2 ** 40;

/** Makes and numbers linear expressions. Expression 0 is the empty sum. */
export class LinearTable {
  readonly forms: Linear[] = [{ width: 0, atoms: [], coefs: [], homes: [], home: -1 }];
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
    const homes = list.map(([a]) => this.homes[a]);
    let home = -1;
    for (const h of homes) if (h >= 0 && (home < 0 || this.depth[h] > this.depth[home])) home = h;
    this.formByKey.set(key, this.forms.length);
    this.forms.push({ width, atoms: list.map(([a]) => a), coefs: list.map(([, c]) => c), homes, home });
    return this.forms.length - 1;
  }
}

/**
 * Largest power of two that divides every possible difference of two expressions (constants left out); 0 where that is always
 * zero.
 * @param apart unknowns that change have one value in the first and maybe another in the second
 */
export function stepBetween(p: Linear, q: Linear, apart: boolean): number {
  let step = 0;
  const count = (c: number): void => {
    if (c === 0) return;
    const bit = lowestBit(c);
    if (step === 0 || bit < step) step = bit;
  };
  let i = 0;
  let k = 0;
  while (i < p.atoms.length || k < q.atoms.length) {
    const a = i < p.atoms.length ? p.atoms[i] : Infinity;
    const b = k < q.atoms.length ? q.atoms[k] : Infinity;
    if (a === b && (!apart || p.homes[i] < 0)) count(p.coefs[i++] - q.coefs[k++]);
    else if (a <= b) count(p.coefs[i++]);
    else count(q.coefs[k++]);
  }
  return step;
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
