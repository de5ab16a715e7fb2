import { isPhi } from '../ir/flow.ts';
import { FILE_WIDTH, NO_REG, type Reg, RegFile, regFile, regIndex } from '../ir/operand.ts';
import { type Fn, type Instr, NONE } from '../ir/program.ts';
import { BitMatrix, BitSet } from './bitset.ts';
import { cfgOf, endsFlow, isControl, targets } from './cfg.ts';
import { memo } from './memo.ts';
import { type Segments, segmentsOf, solveBackward } from './segments.ts';

/** Register classes whose live sets are solved apart; barrier registers never take part. */
export const LiveClass = { R: 0, UR: 1, P: 2, None: 3 } as const;

/** Register file -> live class. */
const CLASS_OF_FILE: readonly number[] = (() => {
  const c = new Array<number>(8).fill(LiveClass.None);
  for (const f of [RegFile.R, RegFile.RD, RegFile.RQ]) c[f] = LiveClass.R;
  for (const f of [RegFile.UR, RegFile.URD]) c[f] = LiveClass.UR;
  for (const f of [RegFile.P, RegFile.UP]) c[f] = LiveClass.P;
  return c;
})();

/** What registers are counted in: pools of general and uniform registers (32-bit units) and predicates. */
export const Pool = { R: 0, P: 1, UR: 2, UP: 3 } as const;

/** Register file -> pool; barrier registers are in none. */
const POOL_OF_FILE: readonly number[] = (() => {
  const p = new Array<number>(8).fill(-1);
  for (const f of [RegFile.R, RegFile.RD, RegFile.RQ]) p[f] = Pool.R;
  for (const f of [RegFile.UR, RegFile.URD]) p[f] = Pool.UR;
  p[RegFile.P] = Pool.P;
  p[RegFile.UP] = Pool.UP;
  return p;
})();

/** Register file -> units of its pool that a register takes. */
const UNITS_OF_FILE: readonly number[] = FILE_WIDTH.map((w) => Math.max(1, w >>> 5));

export const liveClassOf = (r: Reg): number => CLASS_OF_FILE[regFile(r)];

/**
 * The registers that can be live across a segment border, numbered densely by class: those used in some segment before
 * any certain definition in it ("global names" of Briggs, Cooper, Harvey and Simpson, "Practical Improvements to the
 * Construction and Destruction of SSA Form", 1998). All others need no bit, which keeps the sets of large functions small.
 */
export interface GlobalNames {
  /** Register index -> number within its class, -1 for block-local registers. */
  readonly slot: Int32Array;
  /** Registers of each class by number. */
  readonly names: readonly (readonly Reg[])[];
}

/** Registers live on entry to each segment. */
export interface Liveness {
  readonly fn: Fn;
  readonly segments: Segments;
  readonly globals: GlobalNames;
  /** By class: row s is what is live on entry to segment s, after the phis at its top. */
  readonly liveIn: readonly BitMatrix[];
  /** What the phis of successors take from each block, by position: live at its end. Null where there are no phis. */
  readonly phiUses: PhiUses | null;
}

/** Registers by block position. */
export type PhiUses = ReadonlyMap<number, readonly Reg[]>;

/**
 * The registers that phis of its successors read at the end of each block.
 * @param needed asked of each phi whether it counts
 */
export function phiUsesOf(fn: Fn, needed: (phi: Instr) => boolean = () => true): PhiUses | null {
  let out: Map<number, Reg[]> | null = null;
  for (const b of fn.blocks)
    for (let i = 0; i < b.ins.length && isPhi(b.ins[i]); i++) {
      if (!needed(b.ins[i])) continue;
      const { src } = b.ins[i];
      for (let k = 0; k + 1 < src.length; k += 2) {
        if (src[k + 1].reg === NO_REG) continue;
        out ??= new Map();
        const from = cfgOf(fn).positionOf[src[k].lo];
        const list = out.get(from);
        if (list === undefined) out.set(from, [src[k + 1].reg]);
        else list.push(src[k + 1].reg);
      }
    }
  return out;
}

/** Registers that a `RET` hands to the caller, unless it names the values itself, as in SSA. */
export const returnedRegs = (fn: Fn): Reg[] => fn.returns.map((p) => p.reg).filter((r) => r !== NO_REG);

/** True for the instruction that ends a function and gives its results. */
export const isReturn = (ins: Instr): boolean => ins.op.primitive === 'return';

/** Calls `visit` with every register that the instruction reads: sources, address bases, guard, values under a false guard. */
export function reads(ins: Instr, visit: (r: Reg) => void): void {
  for (let i = 0; i < ins.src.length; i++) if (ins.src[i].reg !== NO_REG) visit(ins.src[i].reg);
  if (ins.guard === NO_REG) return;
  visit(ins.guard);
  for (let i = 0; i < ins.otherwise.length; i++) if (ins.otherwise[i] !== NO_REG) visit(ins.otherwise[i]);
}

/**
 * Does the instruction end the old value of its destinations? A guarded one does not, outside of SSA: the old value shows
 * where the guard is false. In SSA there is no old value: it is named.
 */
const kills = (ins: Instr): boolean => ins.guard === NO_REG || ins.otherwise.length > 0;

/** Finds the global names: one sweep over all segments. */
export function globalNames(seg: Segments): GlobalNames {
  const { fn } = seg;
  const slot = new Int32Array(fn.regCount).fill(-1);
  const definedIn = new Int32Array(fn.regCount).fill(-1);
  const names: Reg[][] = [[], [], []];
  const returned = returnedRegs(fn);
  const expose = (r: Reg, s: number): void => {
    const i = regIndex(r);
    if (definedIn[i] === s || slot[i] >= 0) return;
    const c = CLASS_OF_FILE[r & 7];
    if (c === LiveClass.None) return;
    slot[i] = names[c].length;
    names[c].push(r);
  };
  for (let s = 0; s < seg.count; s++) {
    const { ins } = fn.blocks[seg.block[s]];
    for (let i = seg.from[s]; i < seg.to[s]; i++) {
      const x = ins[i];
      // What a phi reads is live on the way from a predecessor, so across a border.
      if (isPhi(x)) {
        for (let k = 0; k < x.src.length; k++) if (x.src[k].reg !== NO_REG) expose(x.src[k].reg, -2);
        definedIn[regIndex(x.dst[0])] = s;
        continue;
      }
      reads(x, (r) => expose(r, s));
      if (isReturn(x) && x.src.length === 0) for (const r of returned) expose(r, s);
      if (kills(x))
        for (let k = 0; k < x.dst.length; k++) if (x.dst[k] !== NO_REG) definedIn[regIndex(x.dst[k])] = s;
    }
  }
  return { slot, names };
}

/** Live registers of a snapshot. A guarded definition does not kill: the old value shows where the guard is false. */
export const livenessOf: (fn: Fn) => Liveness = memo((fn) => {
  const seg = segmentsOf(fn);
  const globals = globalNames(seg);
  const phiUses = phiUsesOf(fn);
  return {
    fn,
    segments: seg,
    globals,
    liveIn: globals.names.map((names, c) => solve(seg, globals, c, names.length, phiUses)),
    phiUses,
  };
});

/**
 * Solves LiveIn = gen | (LiveOut & ~kill), LiveOut = union of the successors' LiveIn, for one class, from the empty sets
 * upwards. gen and kill are short lists and only LiveIn is a bit set, so a segment costs its own length plus one row.
 */
function solve(
  seg: Segments,
  globals: GlobalNames,
  cls: number,
  bits: number,
  phiUses: PhiUses | null,
): BitMatrix {
  const live = new BitMatrix(seg.count, bits);
  if (bits === 0) return live;
  const { fn } = seg;
  const { slot } = globals;
  const returned = returnedRegs(fn);
  const genStart = new Int32Array(seg.count + 1);
  const killStart = new Int32Array(seg.count + 1);
  const gen: number[] = [];
  const kill: number[] = [];
  const genIn = new Int32Array(bits).fill(-1);
  const killIn = new Int32Array(bits).fill(-1);
  for (let s = 0; s < seg.count; s++) {
    const use = (r: Reg): void => {
      const g = CLASS_OF_FILE[r & 7] === cls ? slot[regIndex(r)] : -1;
      if (g < 0 || killIn[g] === s || genIn[g] === s) return;
      genIn[g] = s;
      gen.push(g);
    };
    const { ins } = fn.blocks[seg.block[s]];
    for (let i = seg.from[s]; i < seg.to[s]; i++) {
      const x = ins[i];
      if (!isPhi(x)) reads(x, use);
      if (isReturn(x) && x.src.length === 0) for (const r of returned) use(r);
      if (!kills(x)) continue;
      for (let k = 0; k < x.dst.length; k++) {
        const r = x.dst[k];
        const g = r !== NO_REG && CLASS_OF_FILE[r & 7] === cls ? slot[regIndex(r)] : -1;
        if (g < 0 || killIn[g] === s) continue;
        killIn[g] = s;
        kill.push(g);
      }
    }
    genStart[s + 1] = gen.length;
    killStart[s + 1] = kill.length;
  }
  const out = new BitSet(bits);
  solveBackward(seg, (s) => {
    out.reset();
    for (let e = seg.succStart[s]; e < seg.succStart[s + 1]; e++) out.or(live.rows[seg.succ[e]]);
    for (const r of phiUses === null ? NONE : phiUsesAt(seg, phiUses, s)) {
      const g = CLASS_OF_FILE[r & 7] === cls ? slot[regIndex(r)] : -1;
      if (g >= 0) out.set(g);
    }
    for (let i = killStart[s]; i < killStart[s + 1]; i++) out.clear(kill[i]);
    for (let i = genStart[s]; i < genStart[s + 1]; i++) out.set(gen[i]);
    return live.rows[s].orIfChanged(out);
  });
  return live;
}

/** What phis take at the end of segment `s`: nothing, unless control leaves the block there. */
export const phiUsesAt = (seg: Segments, phiUses: PhiUses, s: number): readonly Reg[] =>
  s + 1 === seg.first[seg.block[s] + 1] ? (phiUses.get(seg.block[s]) ?? NONE) : NONE;

/** Registers live on entry to the block at position `b`, ascending by index; only those of one class if that is given. */
export function liveInOf(l: Liveness, b: number, cls?: number): Reg[] {
  return rowOf(l, l.segments.first[b], cls);
}

/** Registers live on exit from the block at position `b` (where control leaves its last segment). */
export function liveOutOf(l: Liveness, b: number, cls?: number): Reg[] {
  const s = l.segments.first[b + 1] - 1;
  const seen = new Set<Reg>();
  for (let e = l.segments.succStart[s]; e < l.segments.succStart[s + 1]; e++)
    for (const r of rowOf(l, l.segments.succ[e], cls)) seen.add(r);
  for (const r of l.phiUses?.get(b) ?? NONE) if (cls === undefined || liveClassOf(r) === cls) seen.add(r);
  return [...seen].sort((a, c) => a - c);
}

/** The live-in set of a block as bits over register indices, for set algebra. */
export function liveInBits(l: Liveness, b: number, cls?: number): BitSet {
  const set = new BitSet(l.fn.regCount);
  for (const r of liveInOf(l, b, cls)) set.set(regIndex(r));
  return set;
}

function rowOf(l: Liveness, s: number, cls: number | undefined): Reg[] {
  const out: Reg[] = [];
  for (let c = 0; c < l.liveIn.length; c++) {
    if (cls !== undefined && c !== cls) continue;
    for (const i of l.liveIn[c].rows[s].toArray()) out.push(l.globals.names[c][i]);
  }
  return out.sort((a, b) => a - b);
}

/**
 * The running live set of a walk from the bottom of a block to its top. One walker serves a whole function: global names
 * are bits, so `enter` costs a few rows of words, and block-local registers are stamps that need no clearing.
 */
export class LiveWalker {
  private readonly live: Liveness;
  private readonly returned: readonly Reg[];
  private readonly positionOf: Int32Array;
  /** By class: the global names that are live now. */
  private readonly now: readonly BitSet[];
  /** How to count the global names: this many units of a pool for each name of a class that is in a set. */
  private readonly weights: readonly {
    readonly cls: number;
    readonly pool: number;
    readonly units: number;
    readonly names: BitSet;
  }[];
  /** Register index -> `epoch` if a block-local register is live now. */
  private readonly stamp: Int32Array;
  private epoch = 0;
  private block = 0;
  /** By `Pool`: units that are live now, the register pressure at this place. */
  readonly units = new Int32Array(4);

  constructor(live: Liveness) {
    this.live = live;
    this.returned = returnedRegs(live.fn);
    this.positionOf = cfgOf(live.fn).positionOf;
    this.now = live.globals.names.map((n) => new BitSet(n.length));
    this.weights = weightsOf(live.globals.names);
    this.stamp = new Int32Array(live.fn.regCount);
  }

  /** Stands behind the last instruction of the block at position `b`. */
  enter(b: number): void {
    const { fn } = this.live;
    this.block = b;
    this.forget();
    const { ins } = fn.blocks[b];
    const open = ins.length === 0 || !endsFlow(ins[ins.length - 1]);
    if (open && b + 1 < fn.blocks.length) {
      this.merge(b + 1);
      this.addPhiUses();
    }
    this.weigh();
  }

  isLive(r: Reg): boolean {
    const i = regIndex(r);
    const g = this.live.globals.slot[i];
    return g >= 0 ? this.now[CLASS_OF_FILE[r & 7]].test(g) : this.stamp[i] === this.epoch;
  }

  /** Is one of the results used later? Discarded results are not. */
  anyResultLive(ins: Instr): boolean {
    for (let i = 0; i < ins.dst.length; i++)
      if (ins.dst[i] !== NO_REG && this.isLive(ins.dst[i])) return true;
    return false;
  }

  /** Moves up over one instruction that stays. */
  step(ins: Instr): void {
    if (isControl(ins)) this.leave(ins);
    if (kills(ins)) for (let i = 0; i < ins.dst.length; i++) if (ins.dst[i] !== NO_REG) this.drop(ins.dst[i]);
    if (isPhi(ins)) return;
    for (let i = 0; i < ins.src.length; i++) if (ins.src[i].reg !== NO_REG) this.add(ins.src[i].reg);
    if (ins.guard === NO_REG) return;
    this.add(ins.guard);
    for (let i = 0; i < ins.otherwise.length; i++)
      if (ins.otherwise[i] !== NO_REG) this.add(ins.otherwise[i]);
  }

  private addPhiUses(): void {
    const { phiUses } = this.live;
    if (phiUses !== null) for (const r of phiUses.get(this.block) ?? NONE) this.add(r);
  }

  private add(r: Reg): void {
    if (this.isLive(r)) return;
    const i = regIndex(r);
    const g = this.live.globals.slot[i];
    if (g >= 0) this.now[CLASS_OF_FILE[r & 7]].set(g);
    else this.stamp[i] = this.epoch;
    if (POOL_OF_FILE[r & 7] >= 0) this.units[POOL_OF_FILE[r & 7]] += UNITS_OF_FILE[r & 7];
  }

  private drop(r: Reg): void {
    if (!this.isLive(r)) return;
    const i = regIndex(r);
    const g = this.live.globals.slot[i];
    if (g >= 0) this.now[CLASS_OF_FILE[r & 7]].clear(g);
    else this.stamp[i] = 0;
    if (POOL_OF_FILE[r & 7] >= 0) this.units[POOL_OF_FILE[r & 7]] -= UNITS_OF_FILE[r & 7];
  }

  private forget(): void {
    this.epoch++;
    for (const set of this.now) set.reset();
    this.units.fill(0);
  }

  /** Steps over a control operation: what is live at its targets is live here. */
  private leave(ins: Instr): void {
    if (endsFlow(ins)) this.forget();
    if (isReturn(ins) && ins.src.length === 0) for (const r of this.returned) this.add(r);
    let merged = false;
    targets(this.live.fn, ins, (id) => {
      const p = id < this.positionOf.length ? this.positionOf[id] : -1;
      if (p < 0) return;
      this.merge(p);
      merged = true;
    });
    this.addPhiUses();
    if (merged) this.weigh();
  }

  private merge(b: number): void {
    const { segments, liveIn } = this.live;
    const s = segments.first[b];
    for (let c = 0; c < liveIn.length; c++) this.now[c].or(liveIn[c].rows[s]);
  }

  /** Counts the pressure anew from bits; exact where no block-local register is live, which holds behind control. */
  private weigh(): void {
    this.units.fill(0);
    for (const { cls, pool, units, names } of this.weights)
      this.units[pool] += units * this.now[cls].countCommon(names);
  }
}

/** The names of each class by pool and width, the kinds that do not occur left out. */
function weightsOf(
  names: GlobalNames['names'],
): { cls: number; pool: number; units: number; names: BitSet }[] {
  const out: { cls: number; pool: number; units: number; names: BitSet }[] = [];
  names.forEach((list, cls) => {
    for (let i = 0; i < list.length; i++) {
      const pool = POOL_OF_FILE[list[i] & 7];
      const units = UNITS_OF_FILE[list[i] & 7];
      let w = out.find((x) => x.cls === cls && x.pool === pool && x.units === units);
      if (w === undefined) out.push((w = { cls, pool, units, names: new BitSet(list.length) }));
      w.names.set(i);
    }
  });
  return out;
}
