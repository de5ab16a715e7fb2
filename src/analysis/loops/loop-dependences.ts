import { isPhi } from '../../ir/flow.ts';
import { Kind, NO_REG, type Operand, type Reg } from '../../ir/operand.ts';
import type { Fn, Instr, Variable } from '../../ir/program.ts';
import { type Accesses, accessesOf, Does, rowsOf } from '../memory/address.ts';
import { staysInOrder } from '../memory/alias.ts';
import { reads } from '../registers/liveness.ts';
import { latency, type Times } from '../schedule/block-time.ts';
import { defUseOf } from '../values/defuse.ts';
import { addScaled, constantForm, constantOf } from '../values/form-arithmetic.ts';
import { loopsOf } from './loops.ts';
import type { Evolution } from './scalar-evolution.ts';
import { tripCountsOf } from './trip-count.ts';

/** `to`, `distance` iterations later, issues at least `latency` cycles after `from`. Both are places in the body. */
export interface Dependence {
  readonly from: number;
  readonly to: number;
  readonly latency: number;
  readonly distance: number;
  /** Whether `to` reads a register that `from` writes; otherwise both access memory. */
  readonly value: boolean;
}

/** A value that one iteration passes to the next. */
export interface Carried {
  readonly phi: Reg;
  /** The operand that becomes the phi's value in the next iteration. */
  readonly next: Operand;
}

/** A loop of one block, without its phis and its branch, and the dependences that order its instructions. */
export interface LoopBody {
  /** Position of the block. */
  readonly block: number;
  /** Number of the first instruction of the body, as in `DefUse`; the others follow. */
  readonly first: number;
  readonly instructions: readonly Instr[];
  readonly carried: readonly Carried[];
  /** Place of the instruction that tests whether to continue; -1 if the test comes from elsewhere. */
  readonly test: number;
  readonly dependences: readonly Dependence[];
}

/**
 * The dependences of a loop that is one block, in SSA: of registers, in the same iteration or through a phi in the next one, and of
 * memory. Two accesses whose addresses advance by the same constant are compared iteration by iteration, up to `reach` of them; others
 * that may alias at all count as dependent in the next iteration. Anti-dependences between registers do not exist, because each
 * iteration has its own registers.
 *
 * @param times costs and latencies of the target
 * @param reach maximum number of iterations that are ever out of order: memory is not compared beyond that
 */
export function loopBodyOf(
  fn: Fn,
  variables: readonly Variable[],
  loop: number,
  times: Times,
  reach: number,
): LoopBody {
  const block = loopsOf(fn).loops[loop].header;
  const { ins } = fn.blocks[block];
  let phis = 0;
  while (phis < ins.length && isPhi(ins[phis])) phis++;
  const instructions = ins.slice(phis, -1);
  const first = defUseOf(fn).blockStart[block] + phis;

  const place = new Map<Reg, number>();
  for (let i = 0; i < instructions.length; i++)
    for (const r of instructions[i].dst) if (r !== NO_REG) place.set(r, i);
  const carried = ins.slice(0, phis).map((x) => ({ phi: x.dst[0], next: wayFrom(x, fn.blocks[block].id) }));
  const nextOf = new Map(carried.map((c) => [c.phi, c.next.reg]));

  const dependences: Dependence[] = [];
  for (let to = 0; to < instructions.length; to++)
    reads(instructions[to], (r) => {
      const through = nextOf.get(r);
      const from = place.get(through ?? r);
      if (from === undefined) return;
      const distance = through === undefined ? 0 : 1;
      // At least one cycle, so that times alone put everything in order.
      dependences.push({
        from,
        to,
        latency: Math.max(1, latency(instructions[from], times)),
        distance,
        value: true,
      });
    });
  new MemoryOrder(fn, accessesOf(fn, variables), loop, first, reach).into(dependences, instructions.length);
  return {
    block,
    first,
    instructions,
    carried,
    test: place.get(ins[ins.length - 1].guard) ?? -1,
    dependences,
  };
}

function wayFrom(phi: Instr, id: number): Operand {
  for (let k = 0; k + 1 < phi.src.length; k += 2) if (phi.src[k].lo === id) return phi.src[k + 1];
  throw new Error(`a phi without a value from BB${id}`);
}

/** A place in memory that advances by a constant from one iteration to the next. */
interface Moving {
  readonly space: string;
  readonly symbol: string;
  readonly at: Evolution;
  readonly bytes: number;
}

/** Finds the memory dependences of a loop. */
class MemoryOrder {
  private readonly fn: Fn;
  private readonly accesses: Accesses;
  private readonly loop: number;
  private readonly first: number;
  private readonly reach: number;
  private readonly moving = new Map<number, Moving | null>();

  constructor(fn: Fn, accesses: Accesses, loop: number, first: number, reach: number) {
    this.fn = fn;
    this.accesses = accesses;
    this.loop = loop;
    this.first = first;
    this.reach = reach;
  }

  into(out: Dependence[], count: number): void {
    const { accesses, first } = this;
    const all: number[] = [];
    for (let i = 0; i < count; i++) if (accesses.firstRow[first + i] >= 0) all.push(i);
    const writes = (i: number): boolean => {
      const { first: from, end } = rowsOf(accesses, first + i);
      for (let x = from; x < end; x++) if ((accesses.does[x] & Does.Write) !== 0) return true;
      return false;
    };
    const writing = new Set(all.filter(writes));
    if (writing.size === 0) return;
    for (const from of all)
      for (const to of all) {
        if (!writing.has(from) && !writing.has(to)) continue;
        if (from < to && staysInOrder(accesses, first + from, first + to))
          out.push({ from, to, latency: 1, distance: 0, value: false });
        const distance = this.distance(from, to);
        if (distance > 0) out.push({ from, to, latency: 1, distance, value: false });
      }
  }

  /** The dependence distance: the first later iteration in which `to` may access what `from` accesses; 0 if there is none in reach. */
  private distance(from: number, to: number): number {
    const n = this.first + from;
    const m = this.first + to;
    if (!staysInOrder(this.accesses, n, m, true)) return 0;
    const p = this.movingAt(n);
    const q = this.movingAt(m);
    if (p === null || q === null || p.space !== q.space || p.symbol !== q.symbol) return 1;
    const { width } = p.at;
    if (q.at.width !== width) return 1;
    const apart = constantOf(addScaled(q.at.start, p.at.start, -1n));
    const step = constantOf(p.at.step);
    if (apart === null || step === null || constantOf(q.at.step) !== step) return 1;
    for (let d = 1; d <= this.reach; d++) {
      const bytes = BigInt.asIntN(width, apart + step * BigInt(d));
      if (bytes < p.bytes && bytes > -q.bytes) return d;
    }
    return 0;
  }

  private movingAt(n: number): Moving | null {
    let cached = this.moving.get(n);
    if (cached === undefined) this.moving.set(n, (cached = this.findMoving(n)));
    return cached;
  }

  private findMoving(n: number): Moving | null {
    const { accesses } = this;
    const { op, src } = accesses.du.ins[n];
    const { first, end } = rowsOf(accesses, n);
    const o = src[0];
    if (end - first !== 1 || accesses.bytes[first] === 0 || o?.kind !== Kind.Addr || o.reg === NO_REG)
      return null;
    const base = tripCountsOf(this.fn).evolutions.evolutionOf(this.loop, o.reg);
    if (base === null) return null;
    const offset = constantForm(BigInt(o.lo), base.width);
    const at = { ...base, start: addScaled(base.start, offset, 1n) };
    return { space: op.space ?? '', symbol: o.sym, at, bytes: accesses.bytes[first] };
  }
}
