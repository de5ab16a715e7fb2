import { isPhi } from '../ir/flow.ts';
import { NO_REG, type Reg, regIndex } from '../ir/operand.ts';
import type { Fn, Instr } from '../ir/program.ts';
import { BitMatrix, BitSet } from './bitset.ts';
import { cfgOf } from './cfg.ts';
import {
  globalNames,
  isReturn,
  type Liveness,
  liveClassOf,
  phiUsesOf,
  reads,
  returnedRegs,
} from './liveness.ts';
import { segmentsOf, solveBackward } from './segments.ts';

/**
 * Live registers where a use counts only if the instruction that makes it is itself needed ("faint variables",
 * Giegerich, Moencke and Wilhelm, "Invariance of Approximate Semantics with Respect to Program Transformations", 1981).
 * A chain of definitions that ends in nothing, even around a loop, is not live at all, so that dead-code elimination
 * needs one solution instead of one for each link.
 *
 * Whether an instruction is needed couples the classes (a general register may need a predicate), so they are solved
 * together, from the empty sets upwards; each visit of a segment walks its instructions.
 *
 * @param rooted instructions that are needed whatever becomes of their results
 */
export function strongLivenessOf(fn: Fn, rooted: (ins: Instr) => boolean): Liveness {
  const seg = segmentsOf(fn);
  const globals = globalNames(seg);
  const { slot } = globals;
  const sizes = globals.names.map((n) => n.length);
  const liveIn = sizes.map((n) => new BitMatrix(seg.count, n));
  const now = sizes.map((n) => new BitSet(n));
  const local = new Int32Array(fn.regCount).fill(-1);
  const returned = returnedRegs(fn);
  let visits = 0;
  /** Phis whose value is needed: only then do they read anything. */
  const neededPhis = new Set<Instr>();
  const ways = phiUsesOf(fn) === null ? null : waysOf(fn);

  const isLive = (r: Reg): boolean => {
    const g = slot[regIndex(r)];
    return g >= 0 ? now[liveClassOf(r)].test(g) : local[regIndex(r)] === visits;
  };
  const add = (r: Reg): void => {
    const g = slot[regIndex(r)];
    if (g >= 0) now[liveClassOf(r)].set(g);
    else local[regIndex(r)] = visits;
  };
  const drop = (r: Reg): void => {
    const g = slot[regIndex(r)];
    if (g >= 0) now[liveClassOf(r)].clear(g);
    else local[regIndex(r)] = -1;
  };

  solveBackward(seg, (s) => {
    visits++;
    for (const set of now) set.reset();
    for (let e = seg.succStart[s]; e < seg.succStart[s + 1]; e++)
      for (let c = 0; c < now.length; c++) now[c].or(liveIn[c].rows[seg.succ[e]]);
    const b = seg.block[s];
    if (ways !== null && s + 1 === seg.first[b + 1])
      for (const w of ways.get(b) ?? []) if (neededPhis.has(w.phi)) add(w.reg);
    const { ins } = fn.blocks[b];
    let grown = false;
    for (let i = seg.to[s] - 1; i >= seg.from[s]; i--) {
      const x = ins[i];
      let needed = rooted(x);
      for (let k = 0; k < x.dst.length && !needed; k++) needed = x.dst[k] !== NO_REG && isLive(x.dst[k]);
      if (!needed) continue;
      if (x.guard === NO_REG || x.otherwise.length > 0)
        for (let k = 0; k < x.dst.length; k++) if (x.dst[k] !== NO_REG) drop(x.dst[k]);
      if (isPhi(x)) {
        if (!neededPhis.has(x)) grown = true;
        neededPhis.add(x);
        continue;
      }
      reads(x, add);
      if (isReturn(x) && x.src.length === 0) for (const r of returned) add(r);
    }
    for (let c = 0; c < now.length; c++) if (liveIn[c].rows[s].orIfChanged(now[c])) grown = true;
    return grown;
  });
  return { fn, segments: seg, globals, liveIn, phiUses: phiUsesOf(fn, (phi) => neededPhis.has(phi)) };
}

/** What phis read, by the position of the block from which it comes. */
function waysOf(fn: Fn): Map<number, { phi: Instr; reg: Reg }[]> {
  const out = new Map<number, { phi: Instr; reg: Reg }[]>();
  for (const b of fn.blocks)
    for (let i = 0; i < b.ins.length && isPhi(b.ins[i]); i++) {
      const { src } = b.ins[i];
      for (let k = 0; k + 1 < src.length; k += 2) {
        if (src[k + 1].reg === NO_REG) continue;
        const from = cfgOf(fn).positionOf[src[k].lo];
        const w = { phi: b.ins[i], reg: src[k + 1].reg };
        const list = out.get(from);
        if (list === undefined) out.set(from, [w]);
        else list.push(w);
      }
    }
  return out;
}
