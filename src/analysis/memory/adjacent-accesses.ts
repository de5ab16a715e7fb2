/** Loads and stores of adjacent places in one block. */
import type { BlockNo, Ins } from '../../ir/draft/index.ts';
import { OpFlag } from '../../ir/opcode.ts';
import { Kind, NO_REG, type Operand } from '../../ir/operand.ts';
import type { Fn, Instr, Param } from '../../ir/program.ts';
import { accessBytes, elementBytes } from '../../isa/accesses.ts';
import { isPlainLoad } from '../calls/effects.ts';
import { isStrong } from './memory-ops.ts';

/** Most bytes of one access of a thread: 128 bits (PTX ISA 9.0, 5.4.2, vectors). 256 bits need sm_100. */
export const WIDEST = 16;

/** One load or store that may become part of a wider one. */
export interface Member {
  readonly n: Ins;
  /** Bytes from the base: the register and symbol of the address, or the start of the kernel parameter. */
  readonly at: number;
  readonly bytes: number;
}

/** Loads, or stores, of one block that differ only in place: in order of the instructions, without overlap. */
export interface Run {
  readonly block: BlockNo;
  readonly members: Member[];
  /** Bytes of an element. */
  readonly element: number;
  /** The kernel parameter that is loaded from, or null. */
  readonly param: Param | null;
}

const CONTROL = OpFlag.Control | OpFlag.Convergent | OpFlag.Barrier | OpFlag.Volatile;
const EFFECTS = OpFlag.SideEffect | OpFlag.ReadsMemory | OpFlag.WritesMemory;

/** Is it something that no load or store passes? An effect that is not an access may end the thread, or reveal the order. */
const isStop = ({ op }: Instr): boolean =>
  (op.flags & CONTROL) !== 0 || ((op.flags & EFFECTS) !== 0 && op.accesses.length === 0);

/** Cache operators that require every access to be made by itself: CV (fetch again), WT (write through). */
const ALONE: ReadonlySet<string> = new Set(['CV', 'WT']);

/** Is it a plain load or store whose opcode has vectors, with elements of at least `least` bytes? */
function isCandidate(x: Instr, least: number): boolean {
  const { op } = x;
  if (op.accesses.length !== 1 || !op.groupByName.has('vec')) return false;
  if (op.primitive === 'load' ? !isPlainLoad(x) : op.primitive !== 'store' || isStrong(x)) return false;
  if (op.space === 'param') return false;
  if (op.primitive === 'load' && x.guard !== NO_REG && x.otherwise.length !== x.dst.length) return false;
  const cache = op.groupByName.get('cache');
  if (cache !== undefined && ALONE.has(cache.values[(x.mods >>> cache.shift) & cache.mask].name))
    return false;
  const bytes = elementBytes(op.accesses[0], x.mods);
  return bytes > 0 && bytes >= least && bytes <= 8 && accessBytes(op.accesses[0], x.mods) < WIDEST;
}

/** Which accesses are examined. */
export interface Wanted {
  /** Selects plain loads and stores. */
  readonly wanted: (x: Instr) => boolean;
  /** Fewest bytes of an element. */
  readonly least: number;
  /** Byte of constant bank 0 at which the kernel's parameters begin. */
  readonly paramBase: number;
}

/** All runs of a function with two adjacent members, judged by their text; whether they may move is not checked. */
export function runsOf(fn: Fn, { wanted, least, paramBase }: Wanted): Run[] {
  const out: Run[] = [];
  let n = 0;
  let open = new Map<string, Open>();
  const close = ({ run }: Open): void => {
    if (run.members.length > 1 && hasNeighbours(run)) out.push(run);
  };
  const closeAll = (): void => {
    if (open.size === 0) return;
    for (const r of open.values()) close(r);
    open = new Map();
  };
  for (const [block, { ins }] of fn.blocks.entries()) {
    for (const x of ins) {
      const at = n++;
      if (isStop(x)) closeAll();
      if (x.op.accesses.length === 0 || !isCandidate(x, least) || !wanted(x)) continue;
      const o = x.src[0];
      const param = o.kind === Kind.CBank ? kernelParam(fn, o, paramBase) : null;
      if (o.kind !== Kind.Addr && param === null) continue;
      const offset = param === null ? o.lo : o.lo - paramBase - param.offset;
      const member = { n: at, at: offset, bytes: accessBytes(x.op.accesses[0], x.mods) };
      const key = `${x.op.id} ${withoutCount(x)} ${x.guard} ${x.guardNot} ${o.reg} ${param?.offset ?? ''} ${o.sym}`;
      const had = open.get(key);
      if (had?.join(member) === true) continue;
      if (had !== undefined) close(had);
      const element = elementBytes(x.op.accesses[0], x.mods);
      open.set(key, new Open({ block, members: [], element, param }, member));
    }
    closeAll();
  }
  return out;
}

/** A run that may still grow. */
class Open {
  readonly run: Run;
  /** Its members, by the piece of `WIDEST` bytes in which they begin: overlapping members begin in the same or adjacent pieces. */
  private readonly pieces = new Map<number, Member[]>();

  constructor(run: Run, first: Member) {
    this.run = run;
    this.join(first);
  }

  /** Adds the member unless it overlaps another one. */
  join(m: Member): boolean {
    const piece = Math.floor(m.at / WIDEST);
    for (let p = piece - 1; p <= piece + 1; p++)
      if (this.pieces.get(p)?.some((other) => overlap(other, m)) === true) return false;
    this.run.members.push(m);
    const others = this.pieces.get(piece);
    if (others === undefined) this.pieces.set(piece, [m]);
    else others.push(m);
    return true;
  }
}

const overlap = (a: Member, b: Member): boolean => a.at < b.at + b.bytes && b.at < a.at + a.bytes;

function hasNeighbours({ members }: Run): boolean {
  const starts = new Set(members.map((m) => m.at));
  return members.some((m) => starts.has(m.at + m.bytes));
}

/** Modifiers without the number of elements. */
export function withoutCount({ op, mods }: Instr): number {
  const g = op.groupByName.get('vec')!;
  return mods & ~(g.mask << g.shift);
}

/** The kernel parameter that a word of constant bank 0 is in; null if it is in none. */
function kernelParam(fn: Fn, o: Operand, paramBase: number): Param | null {
  if (fn.kind !== 'entry' || o.reg !== NO_REG || o.hi !== 0) return null;
  const at = o.lo - paramBase;
  return fn.params.find((p) => at >= p.offset && at < p.offset + p.size) ?? null;
}
