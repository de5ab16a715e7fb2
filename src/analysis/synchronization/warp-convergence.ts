import { isControl } from '../../ir/flow.ts';
import { memo } from '../../ir/memo.ts';
import { Lanes, modOf } from '../../ir/opcode.ts';
import { NO_REG } from '../../ir/operand.ts';
import type { Block, Fn, Instr } from '../../ir/program.ts';
import { type Cfg, cfgOf } from '../flow/cfg.ts';
import { divergenceOf } from '../uniformity/divergence.ts';

/**
 * Where all lanes of a warp that have not exited are known to be together: at one instruction, at one time.
 *
 * Divergence analysis says which lanes take the same path; it does not say when. Once lanes have diverged they run independently (PTX
 * ISA 9.0, 3.1: no order between them is guaranteed), even if all reach the same block afterwards: one may start another iteration of a
 * loop while another is still in its body. So lanes are together from the start of the kernel until a branch at which they may diverge,
 * or a call, in which they may; and again after an aligned barrier of the block, at which the whole warp arrives at once (PTX ISA 9.0,
 * 9.7.13.1). No reconvergence at post-dominators is assumed. A branch is harmless if every successor but one ends the thread at once,
 * since exited lanes do nothing any more.
 */
export interface WarpConvergence {
  /** By block position: 1 if they are together where the block begins. */
  readonly atStart: Uint8Array;
  /** By instruction, as `defUseOf` numbers them: 1 if they are together there. */
  readonly at: Uint8Array;
}

/**
 * Where lanes are together: a forward data-flow problem, whose solution is the greatest fixpoint; a block is lowered at most once.
 * Requires that control operations are last in their blocks.
 */
export const convergenceOf: (fn: Fn) => WarpConvergence = memo((fn) => {
  const cfg = cfgOf(fn);
  const { branch } = divergenceOf(fn);
  const { succStart, succ } = cfg;
  const atStart = new Uint8Array(fn.blocks.length).fill(1);
  const work: number[] = [];
  const lower = (b: number): void => {
    if (atStart[b] === 0) return;
    atStart[b] = 0;
    work.push(b);
  };
  const leave = (b: number): void => {
    let here = atStart[b] === 1;
    for (const x of fn.blocks[b].ins) here = after(x, here);
    const diverges = branch[b] === Lanes.Varying && continuingEdges(fn, cfg, b) > 1;
    if (here && !diverges) return;
    for (let e = succStart[b]; e < succStart[b + 1]; e++) lower(succ[e]);
  };
  // The lanes of a caller may be anywhere.
  if (fn.kind !== 'entry') lower(cfg.rpo[0]);
  for (const b of cfg.rpo) leave(b);
  for (let b = work.pop(); b !== undefined; b = work.pop()) leave(b);
  const at = new Uint8Array(fn.blocks.reduce((n, b) => n + b.ins.length, 0));
  let n = 0;
  for (const [b, { ins }] of fn.blocks.entries()) {
    let here = atStart[b] === 1 && cfg.rpoNumber[b] >= 0;
    for (const x of ins) {
      at[n++] = here ? 1 : 0;
      here = after(x, here);
    }
  }
  return { atStart, at };
});

/** Are the lanes together after an instruction, given whether they were together in front of it? */
function after(x: Instr, before: boolean): boolean {
  if (x.op.primitive === 'barrier' && x.guard === NO_REG)
    return (
      before || (modOf(x.op, x.mods, 'aligned') === 'ALIGNED' && modOf(x.op, x.mods, 'mode') !== 'ARRIVE')
    );
  return x.op.primitive === 'call' ? false : before;
}

/** Number of edges of a block to successors that do not end the thread at once. */
function continuingEdges(fn: Fn, { succStart, succ }: Cfg, b: number): number {
  let n = 0;
  for (let e = succStart[b]; e < succStart[b + 1]; e++) if (!endsAtOnce(fn, fn.blocks[succ[e]])) n++;
  return n;
}

/** Does the block do nothing but end the thread? */
function endsAtOnce(fn: Fn, b: Block): boolean {
  const x = b.ins[0];
  if (x === undefined || x.guard !== NO_REG || !isControl(x)) return false;
  return x.op.primitive === 'exit' || (x.op.primitive === 'return' && fn.kind === 'entry');
}
