import { cfgOf } from '../../src/analysis/flow/cfg.ts';
import { isPhi } from '../../src/ir/flow.ts';
import { slotWidth, srcSlot } from '../../src/ir/opcode.ts';
import { immValue, Kind, NO_REG, type Operand, type Reg, regWidth } from '../../src/ir/operand.ts';
import type { Fn, Instr } from '../../src/ir/program.ts';
import { evalBig } from '../../src/isa/reference.ts';

/** What an observer of `runSsa` may inspect. */
export interface Running {
  readonly values: ReadonlyMap<Reg, bigint>;
}

/**
 * Executes a function in SSA for one thread, straight from the definitions: the phis of a block in parallel by predecessor, pure
 * instructions by the exact reference, branches, EXIT. Everything else is skipped.
 *
 * @param enter called on entry to each block, before its phis
 * @param wrote called after each executed instruction
 * @returns true if the function ended within `most` instructions
 */
export function runSsa(
  fn: Fn,
  inputs: ReadonlyMap<Reg, bigint>,
  most: number,
  enter: (from: number, to: number, at: Running) => void,
  wrote: (ins: Instr, block: number, at: Running) => void = () => {},
): boolean {
  const values = new Map(inputs);
  const { positionOf } = cfgOf(fn);
  const read = (o: Operand, width: number): bigint =>
    o.kind === Kind.Imm ? immValue(o, width) : (values.get(o.reg) ?? 0n);
  let from = -1;
  let at = 0;
  for (let left = most; left > 0; ) {
    enter(from, at, { values });
    const { ins } = fn.blocks[at];
    const together = new Map<Reg, bigint>();
    for (const x of ins) {
      if (!isPhi(x)) break;
      const k = x.src.findIndex((o) => o.kind === Kind.Label && positionOf[o.lo] === from);
      together.set(x.dst[0], read(x.src[k + 1], regWidth(x.dst[0])));
    }
    for (const [r, v] of together) values.set(r, v);
    let to = at + 1;
    let ended = false;
    for (const x of ins) {
      left--;
      if (isPhi(x)) {
        wrote(x, at, { values });
        continue;
      }
      const runs = x.guard === NO_REG || (values.get(x.guard) === 1n) !== x.guardNot;
      if (x.op.means !== null && x.op.name !== 'NOP') {
        const results = runs
          ? evalBig(
              x.op,
              x.mods,
              x.src.map((o, i) => read(o, slotWidth(x.op, x.mods, srcSlot(x.op, i)!))),
              x.src.map((o) => o.mods),
            )
          : x.otherwise.map((r) => values.get(r) ?? 0n);
        x.dst.forEach((d, k) => {
          if (d !== NO_REG) values.set(d, results[k] ?? 0n);
        });
        wrote(x, at, { values });
      } else if (runs && x.op.name === 'BRA') {
        to = positionOf[x.src[0].lo];
        break;
      } else if (runs && x.op.name === 'EXIT') {
        ended = true;
        break;
      }
    }
    if (ended) return true;
    from = at;
    at = to;
  }
  return false;
}
