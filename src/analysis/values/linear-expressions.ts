import { SequenceTable } from '../structures/sequences.ts';

/**
 * Linear expressions over unknowns, modulo 2^32 or 2^64, without their constant term, used to compare addresses.
 * Equal expressions have equal numbers, so two addresses with the same number differ by a known distance.
 */
export interface Linear {
  /** 32 or 64; 0 if both give the same. */
  readonly width: number;
  /** Unknowns, ascending, each with its coefficient. */
  readonly atoms: readonly number[];
  readonly coefs: readonly number[];
  /** Position of the block in which each unknown gets a new value; -1: its value never changes in the function. */
  readonly homes: readonly number[];
  /** The home that all others dominate; -1 if no unknown ever changes. */
  readonly home: number;
}

/** Maximum number of unknowns of one expression; a longer sum becomes one unknown. Array addresses have one for each dimension. */
const MOST_ATOMS = 8;
/** Coefficients and distances are exact below this; larger ones count as unknown. */
const LARGEST = 2 ** 40;

/** Creates and numbers linear expressions. Expression 0 is the empty sum. */
export class LinearTable {
  readonly forms: Linear[] = [{ width: 0, atoms: [], coefs: [], homes: [], home: -1 }];
  private readonly homes: number[] = [];
  private readonly atomKeys = new SequenceTable();
  /** By key number: its unknown. */
  private readonly atomOf: number[] = [];
  private readonly formKeys = new SequenceTable();
  private readonly formOf: number[] = [];
  /** By unknown: the expression of just that unknown, 0 until it is needed; an unknown has one width. */
  private readonly alone: number[] = [];
  private readonly depth: Int32Array;
  /** The sum being built: unknowns in ascending order, with their coefficients. */
  private readonly atoms: number[] = [];
  private readonly coefs: number[] = [];

  /** @param depth depth of each block in the dominator tree */
  constructor(depth: Int32Array) {
    this.depth = depth;
  }

  /** A new unknown, equal to nothing else. */
  fresh(home: number): number {
    this.alone.push(0);
    return this.homes.push(home) - 1;
  }

  /** The unknown of a key; equal keys give the same one. */
  atom(key: readonly number[], home: number): number {
    const k = this.atomKeys.number(key);
    if (k === this.atomOf.length) this.atomOf.push(this.fresh(home));
    return this.atomOf[k];
  }

  homeOf(atom: number): number {
    return this.homes[atom];
  }

  /** One unknown as an expression. */
  of(atom: number, width: number): number {
    let f = this.alone[atom];
    if (f === 0) {
      const home = this.homes[atom];
      f = this.forms.push({ width, atoms: [atom], coefs: [1], homes: [home], home }) - 1;
      this.alone[atom] = f;
    }
    return f;
  }

  /** Starts a new sum. */
  begin(): void {
    this.atoms.length = 0;
    this.coefs.length = 0;
  }

  /** Adds an unknown times a coefficient to the sum; false if the sum has become too long. */
  add(atom: number, coef: number): boolean {
    const { atoms, coefs } = this;
    let i = atoms.length;
    while (i > 0 && atoms[i - 1] > atom) i--;
    if (i > 0 && atoms[i - 1] === atom) {
      coefs[i - 1] += coef;
      return true;
    }
    atoms.splice(i, 0, atom);
    coefs.splice(i, 0, coef);
    return atoms.length <= MOST_ATOMS;
  }

  /** The number of the sum; -1 if its coefficients are too large. */
  finish(width: number): number {
    const { atoms, coefs } = this;
    let kept = 0;
    for (let i = 0; i < atoms.length; i++) {
      const c = width === 32 ? coefs[i] | 0 : coefs[i];
      if (c === 0) continue;
      if (Math.abs(c) > LARGEST) return -1;
      atoms[kept] = atoms[i];
      coefs[kept++] = c;
    }
    atoms.length = kept;
    coefs.length = kept;
    if (kept === 0) return 0;
    if (kept === 1 && coefs[0] === 1) return this.of(atoms[0], width);
    const k = this.formKeys.number([width, ...atoms, ...coefs]);
    if (k < this.formOf.length) return this.formOf[k];
    const homes = atoms.map((a) => this.homes[a]);
    let home = -1;
    for (const h of homes) if (h >= 0 && (home < 0 || this.depth[h] > this.depth[home])) home = h;
    const f = this.forms.push({ width, atoms: atoms.slice(), coefs: coefs.slice(), homes, home }) - 1;
    this.formOf.push(f);
    return f;
  }
}

/**
 * Largest power of two that divides every possible difference of two expressions (constants left out); 0 if the
 * difference is always zero.
 * @param apart unknowns that change may have different values in the two expressions
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

/** A constant reduced to the range of its width, or null if it is too large to be kept exactly. */
export function inRange(v: number, width: number): number | null {
  if (width === 32) return v | 0;
  return Math.abs(v) > LARGEST ? null : v;
}
