import { BEGUN, committedOnce, flyingIn, flyingRegisters, youngestEnded } from '../ir/async-registers.ts';
import { endsFlow, isControl } from '../ir/flow.ts';
import { flightOf, tiesOf, vectorSources } from '../ir/foreign-text.ts';
import { Kind, NO_REG, type Reg, regName } from '../ir/operand.ts';
import type { Fn, Instr } from '../ir/program.ts';

/** A register that is read or written while it is in flight. */
class Touched extends Error {}

/**
 * Registers in flight: an instruction such as wgmma.mma_async keeps reading and writing its registers until a later wait completes.
 * PTX ISA 9.0 (9.7.15) forbids touching them in between, and writing them between the fence and the instruction. Passes respect
 * that because waits name these registers; this check finds violations in the source, and copies that leaving SSA had to insert.
 *
 * @returns the first register that is touched in flight; null if none is
 */
export function flightFault(fn: Code): string | null {
  try {
    walk(fn);
    return null;
  } catch (e) {
    if (!(e instanceof Touched)) throw e;
    return e.message;
  }
}

/** The parts of a function that this needs. */
type Code = Pick<Fn, 'blocks' | 'tables'>;

/** Follows registers in flight along all paths. @throws Touched */
function walk(fn: Code): void {
  const numbers = flyingRegisters(fn.blocks);
  if (numbers.size === 0) return;
  const positions = new Map(fn.blocks.map((b, k) => [b.id, k]));
  // FlightState at the start of each block: two bytes for each register.
  const known: (Uint8Array | null)[] = fn.blocks.map(() => null);
  known[0] = new Uint8Array(2 * numbers.size);
  const work = [0];
  while (work.length > 0) {
    const b = work.pop()!;
    const { ins } = fn.blocks[b];
    const state = new FlightState(numbers, Uint8Array.from(known[b]!));
    const goesTo = (block: number): void => {
      if (joined(known, block, state.bytes)) work.push(block);
    };
    for (const x of ins) {
      state.step(x);
      if (!isControl(x)) continue;
      for (const o of x.src)
        if (o.kind === Kind.Label) goesTo(positions.get(o.lo)!);
        else if (o.kind === Kind.Table) for (const id of fn.tables[o.lo]) goesTo(positions.get(id)!);
    }
    if (b + 1 < fn.blocks.length && !ins.some(endsFlow)) goesTo(b + 1);
  }
}

/** Merges the state at the end of a predecessor. Returns whether that changed anything; bytes only grow, so this terminates. */
function joined(known: (Uint8Array | null)[], block: number, from: Uint8Array): boolean {
  const to = known[block];
  if (to === null) {
    known[block] = Uint8Array.from(from);
    return true;
  }
  let changed = false;
  for (let i = 0; i < to.length; i++)
    if (from[i] > to[i]) {
      to[i] = from[i];
      changed = true;
    }
  return changed;
}

/** By register: the age of its last flight, and whether it was written since a fence. */
class FlightState {
  readonly bytes: Uint8Array;
  private readonly numbers: ReadonlyMap<Reg, number>;

  constructor(numbers: ReadonlyMap<Reg, number>, bytes: Uint8Array) {
    this.numbers = numbers;
    this.bytes = bytes;
  }

  step(x: Instr): void {
    switch (flightOf(x)) {
      case 'BEGINS':
        return this.begin(x);
      case 'COMMITS':
        if (x.guard === NO_REG)
          for (const n of this.numbers.values()) this.bytes[2 * n] = committedOnce(this.bytes[2 * n]);
        return;
      case 'ORDERS':
        this.moved(x);
        for (const n of this.numbers.values()) this.bytes[2 * n + 1] = 0;
        return;
      case 'ENDS': {
        const youngest = youngestEnded(x);
        if (x.guard === NO_REG)
          for (const n of this.numbers.values()) if (this.bytes[2 * n] <= youngest) this.bytes[2 * n] = 0;
        return this.moved(x);
      }
      default:
        for (const o of x.src) this.touch(o.reg, x);
        this.touch(x.guard, x);
        for (const r of x.dst) this.write(r, x);
    }
  }

  private begin(x: Instr): void {
    const ties = tiesOf(x);
    const vectors = new Set(vectorSources(x));
    for (const t of ties)
      if (x.dst[t.dst] !== x.src[t.src].reg)
        throw new Touched(`${name(x)} needs a copy of what it accumulates`);
    const tied = new Set(ties.map((t) => t.src));
    x.src.forEach((o, k) => {
      if (!tied.has(k) && !vectors.has(k)) this.touch(o.reg, x);
    });
    this.touch(x.guard, x);
    for (const r of flyingIn(x)) {
      const n = this.numbers.get(r);
      if (n === undefined) continue;
      // Loading a register again while it is being loaded looks the same as its being in flight for another reason.
      if (ties.length === 0) this.touch(r, x);
      else if (this.bytes[2 * n + 1] === 1)
        throw new Touched(`${regName(r)} is written between a fence and ${name(x)}`);
      this.bytes[2 * n] = BEGUN;
    }
  }

  /** Copies that are inserted next to an instruction. */
  private moved(x: Instr): void {
    for (const t of tiesOf(x)) {
      if (x.dst[t.dst] === NO_REG || x.dst[t.dst] === x.src[t.src].reg) continue;
      this.touch(x.src[t.src].reg, x);
      this.write(x.dst[t.dst], x);
    }
  }

  private write(r: Reg, x: Instr): void {
    const n = this.touch(r, x);
    if (n >= 0) this.bytes[2 * n + 1] = 1;
  }

  private touch(r: Reg, x: Instr): number {
    const n = r === NO_REG ? undefined : this.numbers.get(r);
    if (n === undefined) return -1;
    if (this.bytes[2 * n] > 0) throw new Touched(`${x.op.name} touches ${regName(r)} while it is in flight`);
    return n;
  }
}

const name = (x: Instr): string => x.src[0].sym.split(' ', 1)[0];
