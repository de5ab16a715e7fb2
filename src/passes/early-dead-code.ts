import { isControl } from '../analysis/cfg.ts';
import { mustStay } from '../analysis/effects.ts';
import { mapBlocks, withIns } from '../ir/edit.ts';
import { NO_REG, type Reg, regIndex } from '../ir/operand.ts';
import type { Block, Fn, Instr } from '../ir/program.ts';
import type { Pass } from './pass.ts';

/** Rounds over the blocks at most: the second already finds next to nothing, and phase 16 finishes what is left. */
const ROUNDS = 4;

/**
 * Phase 10, EarlyOriSimpleLiveDead: the cheap dead-code removal that also runs at -O0, before any data flow is solved.
 *
 *     before                          after
 *     BB0:                            BB0:
 *           MOV R1, 7                       MOV R2, 3
 *           MOV R2, 9                       STG [RD4], R2
 *           MOV R2, 3                       EXIT
 *           STG [RD4], R2
 *           EXIT
 *
 * Block-local: a register counts as needed at the end of every block if some block may read the value it had on entry;
 * inside a block the walk from the bottom is exact. Blocks are taken from the last to the first, and a register whose last
 * such reader goes is no longer needed in the blocks still to come, so chains that follow the layout fall together.
 *
 * What stays: see `mustStay`. Requires: nothing. Guarantees: equivalence; a second application may find more only where a
 * dead chain runs against the layout through more than four blocks.
 * Bound: four walks over the function.
 */
export const earlyDeadCode: Pass = (fn, ctx) => {
  const exposed = exposure(fn);
  let now = fn;
  for (let round = 0; round < ROUNDS; round++) {
    const before = now;
    const cleaned = new Map<Block, Block>();
    const live = new LocalLive(fn.regCount, exposed);
    for (let p = now.blocks.length - 1; p >= 0; p--) {
      const b = now.blocks[p];
      const c = live.clean(b);
      if (c !== b) cleaned.set(b, c);
    }
    now = mapBlocks(now, (b) => cleaned.get(b) ?? b);
    for (const [b, c] of cleaned)
      ctx.remark('passed', 'dead-removed', `${b.ins.length - c.ins.length} dead removed from BB${b.id}`, {
        block: b.id,
      });
    if (now === before) break;
  }
  return now;
};

/** Calls `visit` once for each register that the block may read before it certainly writes it. */
function exposedIn(
  b: Block,
  epoch: number,
  written: Int32Array,
  seen: Int32Array,
  visit: (i: number) => void,
): void {
  const use = (r: Reg): void => {
    const i = regIndex(r);
    if (written[i] === epoch || seen[i] === epoch) return;
    seen[i] = epoch;
    visit(i);
  };
  for (const x of b.ins) {
    for (let k = 0; k < x.src.length; k++) if (x.src[k].reg !== NO_REG) use(x.src[k].reg);
    if (x.guard !== NO_REG) {
      use(x.guard);
      for (let k = 0; k < x.otherwise.length; k++) if (x.otherwise[k] !== NO_REG) use(x.otherwise[k]);
    } else
      for (let k = 0; k < x.dst.length; k++) if (x.dst[k] !== NO_REG) written[regIndex(x.dst[k])] = epoch;
  }
}

/** Register index -> number of blocks that may read the value it has on entry (returned registers count once more). */
function exposure(fn: Fn): Int32Array {
  const exposed = new Int32Array(fn.regCount);
  const written = new Int32Array(fn.regCount).fill(-1);
  const seen = new Int32Array(fn.regCount).fill(-1);
  fn.blocks.forEach((b, p) => {
    exposedIn(b, p, written, seen, (i) => {
      exposed[i]++;
    });
  });
  for (const p of fn.returns) if (p.reg !== NO_REG) exposed[regIndex(p.reg)]++;
  return exposed;
}

class LocalLive {
  private readonly exposed: Int32Array;
  /** Register index -> `epoch` if the next thing below in this block is a read. */
  private readonly readBelow: Int32Array;
  /** Register index -> `straight` if it is a write that control cannot leave the block before. */
  private readonly writtenBelow: Int32Array;
  private readonly written: Int32Array;
  private readonly seen: Int32Array;
  private epoch = 0;
  private straight = 0;

  constructor(regs: number, exposed: Int32Array) {
    this.exposed = exposed;
    this.readBelow = new Int32Array(regs);
    this.writtenBelow = new Int32Array(regs);
    this.written = new Int32Array(regs);
    this.seen = new Int32Array(regs);
  }

  /** The block without its dead instructions, itself if there are none; keeps `exposed` current. */
  clean(b: Block): Block {
    const { readBelow, writtenBelow, exposed } = this;
    const epoch = ++this.epoch;
    this.straight++;
    const dead = (r: Reg): boolean => {
      const i = regIndex(r);
      return readBelow[i] !== epoch && (writtenBelow[i] === this.straight || exposed[i] === 0);
    };
    const read = (r: Reg): void => {
      readBelow[regIndex(r)] = epoch;
      writtenBelow[regIndex(r)] = 0;
    };
    let kept: Instr[] | null = null;
    for (let i = b.ins.length - 1; i >= 0; i--) {
      const x = b.ins[i];
      if (!mustStay(x) && x.dst.every((r) => r === NO_REG || dead(r))) {
        kept ??= b.ins.slice(i + 1).reverse();
        continue;
      }
      kept?.push(x);
      if (isControl(x)) this.straight++;
      if (x.guard === NO_REG)
        for (const r of x.dst) {
          if (r === NO_REG) continue;
          readBelow[regIndex(r)] = 0;
          writtenBelow[regIndex(r)] = this.straight;
        }
      for (const o of x.src) if (o.reg !== NO_REG) read(o.reg);
      if (x.guard !== NO_REG) read(x.guard);
      for (const r of x.otherwise) if (r !== NO_REG) read(r);
    }
    if (kept === null) return b;
    const out = withIns(b, kept.reverse());
    // What the block reads from outside may have shrunk: take its old share back and give the new one.
    exposedIn(b, 2 * epoch - 1, this.written, this.seen, (i) => {
      exposed[i]--;
    });
    exposedIn(out, 2 * epoch, this.written, this.seen, (i) => {
      exposed[i]++;
    });
    return out;
  }
}
