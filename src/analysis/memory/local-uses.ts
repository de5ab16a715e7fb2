import { Kind, NO_REG } from '../../ir/operand.ts';
import type { Fn, Instr, Variable } from '../../ir/program.ts';
import { cfgOf } from '../flow/cfg.ts';
import { type Accesses, accessesOf, Does, rowsOf } from './address.ts';
import { isBarrier, isCall, isStrong, Mem } from './memory-ops.ts';
import { isFixed } from './promotable.ts';
import { Origin, provenanceOf } from './provenance.ts';

/** An access (its instruction's number in `DefUse`, and its source) to known bytes of a variable. */
export interface Place {
  readonly n: number;
  readonly src: number;
  readonly at: number;
  readonly bytes: number;
  /** `Does` bits. */
  readonly does: number;
}

/** What a function does with one of its local variables. */
export interface LocalUse {
  readonly variable: Variable;
  /** Its accesses in reverse post-order of their blocks, if all are known. */
  readonly places: readonly Place[];
  /** Why there may be other accesses, or why their bytes are unknown; '' if neither. */
  readonly unknown: string;
}

const LEAVES = 'its address leaves the function';

/**
 * The local variables of a function with all accesses to them, if every access is at a constant offset. The memory of such a variable
 * may be rearranged, because its layout cannot be observed.
 *
 * Accesses in unreachable blocks have no known place.
 */
export function localUses(fn: Fn, variables: readonly Variable[]): LocalUse[] {
  const own = fn.variables.filter((v) => v.space === 'local');
  if (own.length === 0) return [];
  // If all addresses leave the function, which is cheaper to find out, accesses do not matter.
  const { objects, unshared } = provenanceOf(fn, variables);
  const leaves = (v: Variable): boolean => objects.some((o, k) => o.name === v.name && unshared[k] === 0);
  if (own.every(leaves)) return own.map((variable) => ({ variable, places: [], unknown: LEAVES }));
  const a = accessesOf(fn, variables);
  const places = new Map<string, Place[]>(own.map((v) => [v.name, []]));
  const unknown = new Map<string, string>();
  const keep = (name: string, why: string): void => {
    if (!unknown.has(name)) unknown.set(name, why);
  };
  const keepAll = (why: string): void => {
    for (const v of own) keep(v.name, why);
  };

  for (const [o, { name, kind }] of a.objects.entries())
    if (kind === 'variable' && a.unshared[o] === 0) keep(name, LEAVES);
  for (let row = 0; row < a.count; row++) {
    if ((a.memory[row] & Mem.Local) === 0) continue;
    const n = a.at[row];
    const x = a.du.ins[n];
    // They only order other rows, and a callee knows no variable whose address stays here.
    if ((a.does[row] & Does.Anywhere) !== 0 && (isCall(x) || isBarrier(x) || isStrong(x))) continue;
    const o = a.object[row];
    if (o === Origin.Foreign) continue;
    const name = o < 0 ? '' : a.objects[o].name;
    const own = places.get(name);
    if (own === undefined) {
      if (o < 0) keepAll('an access may be to any variable');
    } else if (a.bytes[row] === 0) keep(name, 'the size of an access is unknown');
    else if (!isFixed(a, row)) keep(name, 'an offset is not constant');
    else own.push({ n, src: sourceOf(a, row), at: a.offset[row], bytes: a.bytes[row], does: a.does[row] });
  }
  keepOtherNames(a, places, keep);
  return own.map((variable) => ({
    variable,
    places: places.get(variable.name)!,
    unknown: unknown.get(variable.name) ?? '',
  }));
}

/** The source that holds the address of a row: rows of accesses come first, in the order of the opcode's accesses. */
const sourceOf = (a: Accesses, row: number): number =>
  a.du.ins[a.at[row]].op.accesses[row - a.firstRow[a.at[row]]].src;

/** Handles addresses that name a variable but are not rows, as in a cache hint or an unreachable block. */
function keepOtherNames(
  a: Accesses,
  places: ReadonlyMap<string, unknown>,
  keep: (name: string, why: string) => void,
): void {
  const isPlace = (x: Instr, n: number, src: number): boolean =>
    rowsOf(a, n).end > 0 && x.op.accesses.some((e) => e.src === src);
  const { rpoNumber } = cfgOf(a.fn);
  for (const [n, x] of a.du.ins.entries())
    for (let k = 0; k < x.src.length; k++) {
      const { kind, sym } = x.src[k];
      if (kind === Kind.Addr && sym !== '' && places.has(sym) && !isPlace(x, n, k))
        keep(sym, rpoNumber[a.du.blockAt[n]] < 0 ? 'unreachable code names it' : 'it is named otherwise');
    }
}

/**
 * May one of the places be read before all of its bytes are written? The value read then depends on the layout.
 *
 * The places cut a variable into pieces; a forward data-flow analysis keeps the set of written pieces of each block as one number.
 */
export function mayReadUnwritten(fn: Fn, variables: readonly Variable[], places: readonly Place[]): boolean {
  const { du } = accessesOf(fn, variables);
  const cuts = [...new Set(places.flatMap((p) => [p.at, p.at + p.bytes]))].sort((p, q) => p - q);
  const piece = new Map(cuts.map((at, k) => [at, BigInt(k)]));
  const pieces = (p: Place): bigint => (1n << piece.get(p.at + p.bytes)!) - (1n << piece.get(p.at)!);
  const writesAll = (p: Place): boolean => (p.does & Does.Write) !== 0 && du.ins[p.n].guard === NO_REG;
  const inBlock = new Map<number, Place[]>();
  for (const p of places) {
    const list = inBlock.get(du.blockAt[p.n]);
    if (list === undefined) inBlock.set(du.blockAt[p.n], [p]);
    else list.push(p);
  }
  const { rpo, rpoNumber, pred, predStart, count } = cfgOf(fn);
  const all = (1n << BigInt(cuts.length)) - 1n;
  const written = new Array<bigint>(count).fill(all);
  /** The pieces written on all paths to a block. */
  const before = (b: number): bigint => {
    let w = b === rpo[0] ? 0n : all;
    for (let e = predStart[b]; e < predStart[b + 1]; e++) if (rpoNumber[pred[e]] >= 0) w &= written[pred[e]];
    return w;
  };
  for (let changed = true; changed; ) {
    changed = false;
    for (const b of rpo) {
      let w = before(b);
      for (const p of inBlock.get(b) ?? []) if (writesAll(p)) w |= pieces(p);
      changed ||= w !== written[b];
      written[b] = w;
    }
  }
  for (const [b, list] of inBlock) {
    let w = before(b);
    for (const p of list) {
      if ((p.does & Does.Read) !== 0 && (pieces(p) & ~w) !== 0n) return true;
      if (writesAll(p)) w |= pieces(p);
    }
  }
  return false;
}
