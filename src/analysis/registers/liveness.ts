import { isPhi } from '../../ir/flow.ts';
import { memo } from '../../ir/memo.ts';
import { FILE_WIDTH, NO_REG, type Reg, RegFile, regFile, regIndex } from '../../ir/operand.ts';
import { type Fn, type Instr, NONE } from '../../ir/program.ts';
import { popc } from '../../isa/ints.ts';
import { cfgOf, endsFlow, isControl, targets } from '../flow/cfg.ts';
import { type Segments, segmentsOf } from '../flow/segments.ts';
import { type LiveRows, SlotList, solveRows } from './live-rows.ts';

/** Number of register files. */
const FILES = 8;

/** Register classes whose live sets are solved separately; barrier registers never take part. */
export const LiveClass = { R: 0, UR: 1, P: 2, None: 3 } as const;

/** Register file -> live class. */
const CLASS_OF_FILE: readonly number[] = (() => {
  const c = new Array<number>(8).fill(LiveClass.None);
  for (const f of [RegFile.R, RegFile.RD, RegFile.RQ]) c[f] = LiveClass.R;
  for (const f of [RegFile.UR, RegFile.URD]) c[f] = LiveClass.UR;
  for (const f of [RegFile.P, RegFile.UP]) c[f] = LiveClass.P;
  return c;
})();

/** Pools in which registers are counted: general and uniform registers (32-bit units) and predicates. */
export const Pool = { R: 0, P: 1, UR: 2, UP: 3 } as const;

/** Register file -> pool; barrier registers belong to none. */
const POOL_OF_FILE: readonly number[] = (() => {
  const p = new Array<number>(8).fill(-1);
  for (const f of [RegFile.R, RegFile.RD, RegFile.RQ]) p[f] = Pool.R;
  for (const f of [RegFile.UR, RegFile.URD]) p[f] = Pool.UR;
  p[RegFile.P] = Pool.P;
  p[RegFile.UP] = Pool.UP;
  return p;
})();

/** Register file -> units of its pool that one register takes. */
const UNITS_OF_FILE: readonly number[] = FILE_WIDTH.map((w) => Math.max(1, w >>> 5));

/** The class in which a register's liveness is solved. */
export const liveClassOf = (r: Reg): number => CLASS_OF_FILE[regFile(r)];

/** The pool in which a register is counted; -1 for none, as for NO_REG. */
export const poolOf = (r: Reg): number => (r === NO_REG ? -1 : POOL_OF_FILE[regFile(r)]);

/** Units of its pool that a register takes. */
export const unitsIn = (r: Reg): number => UNITS_OF_FILE[regFile(r)];

/**
 * The registers that can be live across a segment border, numbered densely: those used in some segment before any
 * certain definition in it ("global names" of Briggs, Cooper, Harvey and Simpson, "Practical Improvements to the
 * Construction and Destruction of SSA Form", 1998). All others need no bit, which keeps the sets of large functions
 * small.
 *
 * Registers of one file are contiguous, in columns of 32 slots; the last column of a file may be partly filled.
 */
export interface GlobalNames {
  /** Register index -> slot, -1 for block-local registers. */
  readonly slot: Int32Array;
  /** Registers by slot; NO_REG in unused slots. */
  readonly names: Int32Array;
  /** Register file of each column. */
  readonly fileOf: Uint8Array;
}

/** Registers live on entry to each segment. */
export interface Liveness {
  readonly fn: Fn;
  readonly segments: Segments;
  readonly globals: GlobalNames;
  /** Row s: what is live on entry to segment s, after its phis. */
  readonly liveIn: LiveRows;
  /** What the phis of successors read from each block, by position: live at its end. Null if there are no phis. */
  readonly phiUses: PhiUses | null;
}

/** Registers by block position. */
export type PhiUses = ReadonlyMap<number, readonly Reg[]>;

/** The registers that phis of its successors read at the end of each block. */
function phiUsesOf(fn: Fn): PhiUses | null {
  let out: Map<number, Reg[]> | null = null;
  for (const b of fn.blocks)
    for (let i = 0; i < b.ins.length && isPhi(b.ins[i]); i++) {
      const { src } = b.ins[i];
      const { positionOf } = cfgOf(fn);
      for (let k = 0; k + 1 < src.length; k += 2) {
        if (src[k + 1].reg === NO_REG) continue;
        out ??= new Map();
        const from = positionOf[src[k].lo];
        const list = out.get(from);
        if (list === undefined) out.set(from, [src[k + 1].reg]);
        else list.push(src[k + 1].reg);
      }
    }
  return out;
}

/** Registers that a `RET` hands to the caller, unless it names the values itself, as in SSA. */
export const returnedRegs = (fn: Fn): Reg[] => fn.returns.map((p) => p.reg).filter((r) => r !== NO_REG);

/** Is this the instruction that ends a function and gives its results? */
export const isReturn = (ins: Instr): boolean => ins.op.primitive === 'return';

/** Calls `visit` with every register that the instruction reads: sources, address bases, guard, values under a false guard. */
export function reads(ins: Instr, visit: (r: Reg) => void): void {
  for (let i = 0; i < ins.src.length; i++) if (ins.src[i].reg !== NO_REG) visit(ins.src[i].reg);
  if (ins.guard === NO_REG) return;
  visit(ins.guard);
  for (let i = 0; i < ins.otherwise.length; i++) if (ins.otherwise[i] !== NO_REG) visit(ins.otherwise[i]);
}

/**
 * Does the instruction end the old values of its destinations? Outside SSA a guarded one does not, because the old
 * value remains if the guard is false. In SSA there is no old value; it has a name.
 */
export const kills = (ins: Instr): boolean => ins.guard === NO_REG || ins.otherwise.length > 0;

/**
 * Live registers of a snapshot. A guarded definition does not kill, because the old value remains if the guard is
 * false.
 */
export const livenessOf: (fn: Fn) => Liveness = memo((fn) => {
  const seg = segmentsOf(fn);
  const phiUses = phiUsesOf(fn);
  const { regCount } = fn;
  /** Register index -> 1 + file of a global name, 0 for the others. */
  const global = new Uint8Array(regCount);
  const order: Reg[] = [];
  const gen = new SlotList();
  const kill = new SlotList();
  const out = new SlotList();
  const usedIn = new Int32Array(regCount).fill(-1);
  const definedIn = new Int32Array(regCount).fill(-1);
  const returned = returnedRegs(fn);
  const expose = (r: Reg): void => {
    const i = regIndex(r);
    if (global[i] !== 0) return;
    global[i] = 1 + regFile(r);
    order.push(r);
  };
  let s = 0;
  const use = (r: Reg): void => {
    const i = regIndex(r);
    if (definedIn[i] === s || usedIn[i] === s || CLASS_OF_FILE[r & 7] === LiveClass.None) return;
    usedIn[i] = s;
    expose(r);
    gen.add(s, i);
  };
  for (; s < seg.count; s++) {
    const { ins } = fn.blocks[seg.block[s]];
    for (let i = seg.from[s]; i < seg.to[s]; i++) {
      const x = ins[i];
      if (!isPhi(x)) {
        for (let k = 0; k < x.src.length; k++) if (x.src[k].reg !== NO_REG) use(x.src[k].reg);
        if (x.guard !== NO_REG) {
          use(x.guard);
          for (let k = 0; k < x.otherwise.length; k++) if (x.otherwise[k] !== NO_REG) use(x.otherwise[k]);
        }
        if (isReturn(x) && x.src.length === 0) for (const r of returned) use(r);
      }
      if (!kills(x)) continue;
      for (let k = 0; k < x.dst.length; k++) {
        const r = x.dst[k];
        if (r === NO_REG || definedIn[regIndex(r)] === s) continue;
        definedIn[regIndex(r)] = s;
        kill.add(s, regIndex(r));
      }
    }
    // A phi operand is live on the edge from its predecessor, hence across a border.
    if (phiUses === null || s + 1 !== seg.first[seg.block[s] + 1]) continue;
    for (const r of phiUses.get(seg.block[s]) ?? NONE)
      if (CLASS_OF_FILE[r & 7] !== LiveClass.None) {
        expose(r);
        out.add(s, regIndex(r));
      }
  }
  const globals = number(order, regCount);
  const columns = globals.fileOf.length;
  const { slot } = globals;
  const liveIn = solveRows(
    seg,
    columns,
    gen.byColumn(columns, slot),
    kill.byColumn(columns, slot),
    out.byColumn(columns, slot),
  );
  return { fn, segments: seg, globals, liveIn, phiUses };
});

/** Assigns slots to global names, file by file, in the order given. */
function number(order: readonly Reg[], regCount: number): GlobalNames {
  const sizes = new Int32Array(FILES);
  for (const r of order) sizes[regFile(r)]++;
  const next = new Int32Array(FILES);
  let columns = 0;
  for (let f = 0; f < FILES; f++) {
    next[f] = columns << 5;
    columns += (sizes[f] + 31) >>> 5;
  }
  const slot = new Int32Array(regCount).fill(-1);
  const names = new Int32Array(columns << 5).fill(NO_REG);
  const fileOf = new Uint8Array(columns);
  for (const r of order) {
    const at = next[regFile(r)]++;
    slot[regIndex(r)] = at;
    names[at] = r;
    fileOf[at >>> 5] = regFile(r);
  }
  return { slot, names, fileOf };
}

/** Is the register live on entry to the block at position `b`, after its phis? */
export function isLiveIn(l: Liveness, r: Reg, b: number): boolean {
  const slot = l.globals.slot[regIndex(r)];
  return slot >= 0 && l.liveIn.has(l.segments.first[b], slot);
}

/** Registers live on entry to the block at position `b`, ascending by index; only those of one class if that is given. */
export function liveInOf(l: Liveness, b: number, cls?: number): Reg[] {
  return rowOf(l, l.segments.first[b], cls);
}

/** Registers live on entry to any of some blocks, in no particular order; costs one word per 32 registers of a block. */
export function liveIntoAny(l: Liveness, blocks: Iterable<number>): Reg[] {
  const { names, fileOf } = l.globals;
  const { start, column, bits } = l.liveIn;
  const any = new Int32Array(fileOf.length);
  for (const b of blocks) {
    const s = l.segments.first[b];
    for (let i = start[s]; i < start[s + 1]; i++) any[column[i]] |= bits[i];
  }
  return [...names].filter((r, slot) => r !== NO_REG && (any[slot >>> 5] & (1 << (slot & 31))) !== 0);
}

/** Is the register live on entry to a successor of the block at position `b`? Operands of phis there do not count. */
export function isLiveBehind(l: Liveness, r: Reg, b: number): boolean {
  const slot = l.globals.slot[regIndex(r)];
  if (slot < 0) return false;
  const { first, succStart, succ } = l.segments;
  const s = first[b + 1] - 1;
  for (let e = succStart[s]; e < succStart[s + 1]; e++) if (l.liveIn.has(succ[e], slot)) return true;
  return false;
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

function rowOf(l: Liveness, s: number, cls: number | undefined): Reg[] {
  const out: Reg[] = [];
  l.liveIn.forEach(s, (slot) => {
    const r = l.globals.names[slot];
    if (cls === undefined || liveClassOf(r) === cls) out.push(r);
  });
  return out.sort((a, b) => a - b);
}

/**
 * The running live set of a walk from the bottom of a block to its top. One walker serves a whole function: global
 * names are bits, so `enter` costs a few rows of words, and block-local registers are stamps that need no clearing.
 */
export class LiveWalker {
  private readonly live: Liveness;
  private readonly returned: readonly Reg[];
  private readonly positionOf: Int32Array;
  /** The global names live now, as bits by slot, and the columns that may not be empty. */
  private readonly now: Int32Array;
  private readonly touched: number[] = [];
  private readonly isTouched: Uint8Array;
  /** Register index -> `epoch` if a block-local register is live now. */
  private readonly stamp: Int32Array;
  private epoch = 0;
  private block = 0;
  /** By `Pool`: units live now, the register pressure at this point. */
  readonly units = new Int32Array(4);

  constructor(live: Liveness) {
    this.live = live;
    this.returned = returnedRegs(live.fn);
    this.positionOf = cfgOf(live.fn).positionOf;
    this.now = new Int32Array(live.globals.fileOf.length);
    this.isTouched = new Uint8Array(this.now.length);
    this.stamp = new Int32Array(live.fn.regCount);
  }

  /** Moves to the end of the block at position `b`. */
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
  }

  isLive(r: Reg): boolean {
    const i = regIndex(r);
    const g = this.live.globals.slot[i];
    return g >= 0 ? (this.now[g >>> 5] & (1 << (g & 31))) !== 0 : this.stamp[i] === this.epoch;
  }

  /**
   * Visits the global names that are live now, except those in `except` (bits by column), at the cost of one word per 32 of them.
   * Directly after `enter` no other names are live.
   */
  eachGlobal(except: Int32Array, visit: (r: Reg) => void): void {
    for (const column of this.touched)
      for (let bits = this.now[column] & ~except[column]; bits !== 0; bits &= bits - 1)
        visit(this.live.globals.names[(column << 5) | (31 - Math.clz32(bits & -bits))]);
  }

  /** Is one of the results used later? Discarded results are not. */
  anyResultLive(ins: Instr): boolean {
    for (let i = 0; i < ins.dst.length; i++)
      if (ins.dst[i] !== NO_REG && this.isLive(ins.dst[i])) return true;
    return false;
  }

  /** Moves up over one instruction that is kept. */
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
    if (g >= 0) {
      this.touch(g >>> 5);
      this.now[g >>> 5] |= 1 << (g & 31);
    } else this.stamp[i] = this.epoch;
    if (POOL_OF_FILE[r & 7] >= 0) this.units[POOL_OF_FILE[r & 7]] += UNITS_OF_FILE[r & 7];
  }

  private drop(r: Reg): void {
    if (!this.isLive(r)) return;
    const i = regIndex(r);
    const g = this.live.globals.slot[i];
    if (g >= 0) this.now[g >>> 5] &= ~(1 << (g & 31));
    else this.stamp[i] = 0;
    if (POOL_OF_FILE[r & 7] >= 0) this.units[POOL_OF_FILE[r & 7]] -= UNITS_OF_FILE[r & 7];
  }

  private forget(): void {
    this.epoch++;
    for (const column of this.touched) {
      this.now[column] = 0;
      this.isTouched[column] = 0;
    }
    this.touched.length = 0;
    this.units.fill(0);
  }

  /** Moves up over a control operation: what is live at its targets is live here. */
  private leave(ins: Instr): void {
    if (endsFlow(ins)) this.forget();
    if (isReturn(ins) && ins.src.length === 0) for (const r of this.returned) this.add(r);
    targets(this.live.fn, ins, (id) => {
      const p = id < this.positionOf.length ? this.positionOf[id] : -1;
      if (p >= 0) this.merge(p);
    });
    this.addPhiUses();
  }

  private merge(b: number): void {
    const { segments, liveIn, globals } = this.live;
    const s = segments.first[b];
    for (let i = liveIn.start[s]; i < liveIn.start[s + 1]; i++) {
      const column = liveIn.column[i];
      const more = liveIn.bits[i] & ~this.now[column];
      if (more === 0) continue;
      this.touch(column);
      this.now[column] |= more;
      const file = globals.fileOf[column];
      this.units[POOL_OF_FILE[file]] += UNITS_OF_FILE[file] * popc(more);
    }
  }

  private touch(column: number): void {
    if (this.isTouched[column] === 1) return;
    this.isTouched[column] = 1;
    this.touched.push(column);
  }
}
