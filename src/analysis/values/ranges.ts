import { memo } from '../../ir/memo.ts';
import { FILE_WIDTH, type Reg, regFile, regIndex } from '../../ir/operand.ts';
import type { Fn } from '../../ir/program.ts';
import { Bounds } from '../../isa/bounds.ts';
import { type DominatorTree, dominates, dominators } from '../flow/dominators.ts';
import { RangeSolver, type Solution } from './range-solver.ts';

/** What is known about an integer or predicate register. */
export interface Known {
  /** Bits of the register. */
  readonly width: number;
  /** Bits known to be 0 and known to be 1, as words; bits above the width are known to be 0. */
  readonly zeroLow: number;
  readonly zeroHigh: number;
  readonly oneLow: number;
  readonly oneHigh: number;
  /** Least and greatest value, unsigned and signed. Beyond 2^53 they are rounded outwards. */
  readonly least: number;
  readonly most: number;
  readonly signedLeast: number;
  readonly signedMost: number;
}

/** Ranges of a snapshot; query them with `rangeOf` and `rangeAt`. */
export interface Ranges extends Solution {
  readonly fn: Fn;
  readonly dom: DominatorTree;
}

/**
 * Known bits and ranges of the integers of a snapshot: an abstract interpretation (Cousot and Cousot, POPL 1977) over
 * definitions and uses, starting from "no value" with widening at phis, then narrowing in a few steps. A register
 * with several definitions may hold the result of any of them; one that may be read before it is written may hold
 * anything.
 */
export const rangesOf: (fn: Fn) => Ranges = memo((fn) => {
  const { bounds, names, nodes } = new RangeSolver(fn).solve();
  return { bounds, names, nodes, fn, dom: dominators(nodes.cfg) };
});

/** The possible values of a register wherever it is defined. */
export const rangeOf = (r: Ranges, reg: Reg): Known => known(r, reg, regIndex(reg));

/** The possible values of a register in the block at position `b`, including the facts of the branches above. */
export const rangeAt = (r: Ranges, reg: Reg, b: number): Known => known(r, reg, nameAt(r, reg, b));

/** As `rangeAt`, into slot `to` of `p`. */
export function boundsAt(r: Ranges, reg: Reg, b: number, p: Bounds, to: number): void {
  const name = nameAt(r, reg, b);
  const width = FILE_WIDTH[regFile(reg)];
  if (r.bounds.isEmpty(name) || width > 64) p.setTop(to, Math.min(64, width));
  else p.copy(to, r.bounds, name);
}

/** The slot of the bounds that hold for a register in a block. */
function nameAt(r: Ranges, reg: Reg, b: number): number {
  const list = r.names.factsOf.get(regIndex(reg));
  if (list === undefined) return regIndex(reg);
  const { dom } = r;
  const node = r.nodes.segments.first[b];
  const at = dom.first[node];
  let low = 0;
  let high = list.length;
  while (low < high) {
    const mid = (low + high) >> 1;
    if (dom.first[r.names.facts[list[mid]].root] <= at) low = mid + 1;
    else high = mid;
  }
  const { regCount } = r.fn;
  for (let f = low > 0 ? list[low - 1] : -1; f >= 0; ) {
    const fact = r.names.facts[f];
    if (dominates(dom, fact.root, node)) return regCount + f;
    f = fact.before - regCount;
  }
  return regIndex(reg);
}

/** The only value that a register can have, as words; null if there are several. */
export function constantOf(k: Known): { readonly low: number; readonly high: number } | null {
  return (k.zeroLow | k.oneLow) === -1 && (k.zeroHigh | k.oneHigh) === -1
    ? { low: k.oneLow, high: k.oneHigh }
    : null;
}

function known(r: Ranges, reg: Reg, name: number): Known {
  const width = FILE_WIDTH[regFile(reg)];
  let p = r.bounds;
  let i = name;
  // Registers without a reaching definition, and those that are not integers, may hold anything.
  if (p.isEmpty(name) || width > 64) {
    p = new Bounds(1);
    i = 0;
    p.setTop(0, Math.min(64, width));
  }
  return {
    width,
    zeroLow: p.zeroLow[i],
    zeroHigh: p.zeroHigh[i],
    oneLow: p.oneLow[i],
    oneHigh: p.oneHigh[i],
    least: p.least[i],
    most: p.most[i],
    signedLeast: p.signedLeast[i],
    signedMost: p.signedMost[i],
  };
}
