import { cfgOf } from '../../analysis/flow/cfg.ts';
import { inLoop, loopsOf } from '../../analysis/loops/loops.ts';
import { isStrongRead, mayWaitInLoops } from '../../analysis/synchronization/waiting-loops.ts';
import { defUseOf, usesOf } from '../../analysis/values/defuse.ts';
import { edit } from '../../ir/draft/index.ts';
import { NO_REG, type Reg, regIndex } from '../../ir/operand.ts';
import { type Fn, type Instr, instr } from '../../ir/program.ts';
import type { Pass } from '../pass.ts';

/** Operations that let other lanes or warps proceed. */
const GIVES_WAY: ReadonlySet<string> = new Set(['YIELD', 'NANOSLEEP']);

/**
 * Phase 43, ForwardProgress: a loop that waits for another thread's write yields once per iteration.
 *
 *     before                              after
 *     BB1:                                BB1:
 *           LDG.RELAXED R1, [RD2]               LDG.RELAXED R1, [RD2]
 *           ISETP.EQ P3, R1, RZ                 ISETP.EQ P3, R1, RZ
 *       @P3 BRA BB1                             YIELD
 *     BB2:                                  @P3 BRA BB1
 *                                         BB2:
 *
 * A loop waits if its end depends on an atomic or strong read in it: a plain read cannot be waited on (PTX ISA 9.0, chapter 8). Loops
 * whose latch already yields or sleeps stay, and so do cycles that no single block dominates. The hint is for the target: PTX has none,
 * so the output text does not change, and ptxas inserts its own.
 *
 * Requires: control-last, ssa. Guarantees: blocks and edges stay; equivalence under every schedule. A second application changes nothing.
 * Bound: each operand is examined once; each edge out of loops once for each loop that it leaves.
 */
export const forwardProgress: Pass = (fn, ctx) => {
  if (!mayWaitInLoops(fn)) return fn;
  const { loops } = loopsOf(fn);
  const waiting = waitingLoops(fn);
  if (waiting.size === 0) return fn;
  const latches = new Set([...waiting].flatMap((l) => loops[l].latches));
  const quiet = [...latches].sort((a, b) => a - b).filter((b) => !fn.blocks[b].ins.some(givesWay));
  return edit(
    fn,
    (d) => {
      for (const at of quiet) {
        const block = fn.blocks[at].id;
        const b = d.blockById(block);
        const end = d.terminator(b);
        const op = ctx.isa.byName.get('YIELD')!;
        if (!ctx.mayRewrite('yield', block)) return;
        ctx.remark('passed', 'yield', `BB${block} is a latch of a loop that waits for other threads`, {
          block,
        });
        const hint = instr(op, 0, [], [], end >= 0 ? d.at(end).loc : 0);
        if (end >= 0) d.insertBefore(end, hint);
        else d.insertAtEnd(b, hint);
      }
    },
    ctx.isa,
  );
};

const givesWay = (x: Instr): boolean => x.guard === NO_REG && GIVES_WAY.has(x.op.name);

/** Natural loops that contain a strong read on which their exit depends. */
function waitingLoops(fn: Fn): Set<number> {
  const forest = loopsOf(fn);
  const { succStart, succ } = cfgOf(fn);
  const derived = fromStrongReads(fn);
  const reading = new Set<number>();
  for (let b = 0; b < fn.blocks.length; b++)
    if (forest.innermost[b] >= 0 && fn.blocks[b].ins.some(isStrongRead))
      for (let l = forest.innermost[b]; l >= 0 && !reading.has(l); l = forest.loops[l].parent) reading.add(l);
  const out = new Set<number>();
  for (let b = 0; b < fn.blocks.length; b++) {
    const end = fn.blocks[b].ins.at(-1);
    if (end === undefined || !readsOne(end, derived)) continue;
    for (let e = succStart[b]; e < succStart[b + 1]; e++)
      for (let l = forest.innermost[b]; l >= 0 && !inLoop(forest, l, succ[e]); l = forest.loops[l].parent)
        if (reading.has(l)) out.add(l);
  }
  return out;
}

const readsOne = (x: Instr, derived: Uint8Array): boolean =>
  (x.guard !== NO_REG && derived[regIndex(x.guard)] === 1) ||
  x.src.some((o) => o.reg !== NO_REG && derived[regIndex(o.reg)] === 1);

/** By register index: 1 if its value is derived from a strong read. */
function fromStrongReads(fn: Fn): Uint8Array {
  const uses = defUseOf(fn);
  const derived = new Uint8Array(fn.regCount);
  const work: Reg[] = [];
  const add = (x: Instr): void => {
    for (const r of x.dst)
      if (r !== NO_REG && derived[regIndex(r)] === 0) {
        derived[regIndex(r)] = 1;
        work.push(r);
      }
  };
  for (const b of fn.blocks) for (const x of b.ins) if (isStrongRead(x)) add(x);
  for (let r = work.pop(); r !== undefined; r = work.pop())
    usesOf(uses, r, (b, i) => add(fn.blocks[b].ins[i]));
  return derived;
}
