import { copyOf } from './allocate.ts';
import type { MachineFunction, MachineOp } from './machine-op.ts';

/*
 * Removes instructions that only write registers that nothing reads, such as copies of constants that all their readers take from the
 * constant bank.
 */

/** Pipes whose instructions do nothing but write registers. */
const PURE_PIPES: ReadonlySet<string> = new Set(['alu', 'fma', 'fp64']);
/** Rows of those pipes that do more, or depend on other lanes. */
const OTHER = /^(?:VOTE|REDUX|S2R|CS2R|R2UR|S2UR|R2P|P2R)/;

const isPure = (x: MachineOp): boolean =>
  PURE_PIPES.has(x.form.pipe) && !OTHER.test(x.form.row) && x.occurrences.some((o) => o.isResult);

/** The function without them. */
export function withoutDeadCode(fn: MachineFunction): MachineFunction {
  let now = fn;
  for (;;) {
    const read = new Set<number>();
    for (const b of now.blocks)
      for (const x of b.ops) {
        for (const o of x.occurrences) if (!o.isResult) read.add(o.v);
        if (x.guard >= 0) read.add(x.guard);
      }
    const isDead = (x: MachineOp): boolean =>
      isPure(x) && x.occurrences.every((o) => !o.isResult || !read.has(o.v));
    if (!now.blocks.some((b) => b.ops.some(isDead))) return now;
    now = { ...now, blocks: now.blocks.map((b) => ({ ...b, ops: b.ops.filter((x) => !isDead(x)) })) };
  }
}

/** The function without copies whose result has the register of its source. */
export function withoutIdleCopies(fn: MachineFunction, of: readonly number[]): MachineFunction {
  const isIdle = (x: MachineOp): boolean => {
    const pair = copyOf(x);
    return pair !== null && of[pair[0].v] + pair[0].word === of[pair[1].v] + pair[1].word;
  };
  if (!fn.blocks.some((b) => b.ops.some(isIdle))) return fn;
  return { ...fn, blocks: fn.blocks.map((b) => ({ ...b, ops: b.ops.filter((x) => !isIdle(x)) })) };
}
