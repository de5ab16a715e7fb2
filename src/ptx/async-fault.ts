import { BEGUN, committedOnce, flyingIn, flyingRegisters, youngestEnded } from '../ir/async-registers.ts';
import { endsFlow, isControl } from '../ir/flow.ts';
import { flightOf, tiesOf, vectorSources } from '../ir/foreign-text.ts';
import { Kind, NO_REG, type Reg, regName } from '../ir/operand.ts';
import type { Fn, Instr } from '../ir/program.ts';

/** Thrown at a violation, with its message. */
class Touched extends Error {}

/**
 * Checks registers in flight: an asynchronous instruction such as wgmma.mma_async reads and writes its registers until a later wait
 * completes. PTX ISA 9.0 (9.7.15) forbids accesses in between, and writes between the fence and the instruction. Passes respect this
 * because waits have these registers as operands; the check finds violations in the source, and copies that leaving SSA had to insert.
 *
 * @returns the message of the first violation; null if there is none
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

/** The parts of a function that the check reads. */
type Code = Pick<Fn, 'blocks' | 'tables'>;

/** Forward data-flow analysis of the states of registers in flight, to a fixpoint. @throws Touched */
function walk(fn: Code): void {
  const numbers = flyingRegisters(fn.blocks);
  if (numbers.size === 0) return;
  const positions = new Map(fn.blocks.map((b, k) => [b.id, k]));
  // Bytes of the FlightState at the start of each block; null: not reached yet.
  const atStart: (Uint8Array | null)[] = fn.blocks.map(() => null);
  atStart[0] = new Uint8Array(2 * numbers.size);
  const work = [0];
  while (work.length > 0) {
    const b = work.pop()!;
    const { ins } = fn.blocks[b];
    const state = new FlightState(numbers, Uint8Array.from(atStart[b]!));
    const goesTo = (block: number): void => {
      if (joined(atStart, block, state.bytes)) work.push(block);
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

/** Joins the state at the end of a predecessor, byte by byte by maximum. Returns whether the state of the block changed. */
function joined(atStart: (Uint8Array | null)[], block: number, from: Uint8Array): boolean {
  const to = atStart[block];
  if (to === null) {
    atStart[block] = Uint8Array.from(from);
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

/** Two bytes for each register: the age of its last flight (0: not in flight), and whether it was written since a fence. */
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
      if (x.dst[t.dst] !== x.src[t.src].reg) throw new Touched(`${name(x)} needs a copy of its accumulator`);
    const tied = new Set(ties.map((t) => t.src));
    x.src.forEach((o, k) => {
      if (!tied.has(k) && !vectors.has(k)) this.touch(o.reg, x);
    });
    this.touch(x.guard, x);
    for (const r of flyingIn(x)) {
      const n = this.numbers.get(r);
      if (n === undefined) continue;
      // A second load into a register in flight cannot be distinguished from any other access to it.
      if (ties.length === 0) this.touch(r, x);
      else if (this.bytes[2 * n + 1] === 1)
        throw new Touched(`${regName(r)} is written between a fence and ${name(x)}`);
      this.bytes[2 * n] = BEGUN;
    }
  }

  /** Accounts for the copies that are written next to an instruction whose tied operands differ. */
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
