import { Lanes, type Opcode } from '../../src/ir/opcode.ts';
import { isPredReg, Kind, type Reg, RegFile, reg, regFile } from '../../src/ir/operand.ts';
import { type Fn, type Instr, instr } from '../../src/ir/program.ts';
import { lowest } from '../../src/sim/masks.ts';
import { primitives } from '../../src/sim/primitives/index.ts';
import type { Primitive } from '../../src/sim/primitives/primitive.ts';
import type { BlockState, Warp } from '../../src/sim/state.ts';

/*
 * Probes: instructions with which the simulator reports a register's value and active lanes to a test. They are inserted into a copy of a
 * function and do not change its behaviour.
 */

/** What a probe reports: the active lanes, and the words (predicates: 0 or 1) that they hold. */
export type Seen = (warp: Warp, mask: number, lane: (l: number) => { lo: number; hi: number }) => void;

const op: Opcode = {
  id: -1,
  name: 'PROBE',
  title: '',
  dsts: [],
  srcs: [
    {
      name: 'a',
      bank: 'any',
      width: 0,
      widthFrom: null,
      kinds: 1 << Kind.Reg,
      mods: 0,
      optional: false,
      variadic: false,
      default: null,
    },
  ],
  groups: [],
  modByName: new Map(),
  groupByName: new Map(),
  flags: 0,
  space: null,
  accesses: [],
  unit: 'alu',
  class: 'integer',
  lanes: [],
  special: [],
  observed: null,
  primitive: 'probe',
  means: null,
};
const listeners = new WeakMap<Instr, Seen>();
(primitives as Record<string, Primitive>).probe = (_m, w, f, d, mask) => {
  const r = d.ins.src[0].reg;
  const at = f.code.operands[d.k];
  const { i32, p } = f.regs;
  const wide = regFile(r) === RegFile.RD || regFile(r) === RegFile.URD;
  listeners.get(d.ins)!(w, mask, (l) =>
    isPredReg(r)
      ? { lo: (p[at] >>> l) & 1, hi: 0 }
      : wide
        ? { lo: i32[at + 2 * l], hi: i32[at + 2 * l + 1] }
        : { lo: i32[at + l], hi: 0 },
  );
};

/** An instruction that reports a register to `seen`. */
export function probe(r: Reg, seen: Seen): Instr {
  const x = instr(op, 0, [], [reg(r)]);
  listeners.set(x, seen);
  return x;
}

/** True if a probe can report registers of this file. */
export const canProbe = (r: Reg): boolean => regFile(r) !== RegFile.RQ && regFile(r) !== RegFile.B;

/** The function with the instructions that `before` gives inserted before each instruction. */
export function withProbes(fn: Fn, before: (block: number, index: number) => readonly Instr[]): Fn {
  return {
    ...fn,
    blocks: fn.blocks.map((b, p) => ({ ...b, ins: b.ins.flatMap((x, i) => [...before(p, i), x]) })),
  };
}

/** Checks claims of agreement against observed values. */
export class Agreement {
  readonly faults: string[] = [];
  /** Claims of agreement across a warp or block that were checked with at least two lanes, and with two warps. */
  checked = 0;
  across = 0;
  /** Values of each warp by block and probe, one entry per execution. */
  private readonly held = new WeakMap<BlockState, Map<string, string[][]>>();

  /**
   * A probe for a claim about `r`.
   *
   * @param control the claimed level (`Lanes`) at which all live lanes execute it, which is checked too; null: unknown
   */
  claim(r: Reg, what: string, level: number, control: number | null): Instr {
    return probe(r, (w, mask, lane) => {
      if (this.faults.length > 5) return;
      if (control !== null && control < Lanes.Varying && mask !== (w.lanes & ~w.exited))
        this.faults.push(
          `${what}: lanes ${(mask >>> 0).toString(16)} of ${((w.lanes & ~w.exited) >>> 0).toString(16)} run it`,
        );
      if (level === Lanes.Varying) return;
      const first = lane(lowest(mask));
      for (let m = mask & (mask - 1); m !== 0; m &= m - 1) {
        this.checked++;
        const v = lane(lowest(m));
        if (v.lo !== first.lo || v.hi !== first.hi) {
          this.faults.push(
            `${what}: lanes ${lowest(mask)} and ${lowest(m)} hold ${first.lo},${first.hi} and ${v.lo},${v.hi}`,
          );
          return;
        }
      }
      if (level === Lanes.Block && control === Lanes.Block)
        this.compareWarps(w, what, `${first.lo},${first.hi}`);
    });
  }

  /** All warps execute it equally often, and hold the same value at the k-th execution. */
  private compareWarps(w: Warp, what: string, value: string): void {
    let all = this.held.get(w.block);
    if (all === undefined) this.held.set(w.block, (all = new Map()));
    let rows = all.get(what);
    if (rows === undefined) all.set(what, (rows = []));
    const row = (rows[w.index] ??= []);
    const k = row.push(value) - 1;
    for (const [other, r] of rows.entries()) {
      if (r === undefined || r === row || r.length <= k) continue;
      this.across++;
      if (r[k] !== value)
        this.faults.push(`${what}: warps ${w.index} and ${other} hold ${value} and ${r[k]}`);
    }
  }
}
