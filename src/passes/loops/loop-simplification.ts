import { draftCfg } from '../../analysis/flow/draft-cfg.ts';
import { inLoop, loops, loopsOf } from '../../analysis/loops/loops.ts';
import {
  type BlockNo,
  type Draft,
  edit,
  existingPreheader,
  preheader,
  splitPredecessors,
} from '../../ir/draft/index.ts';
import { isPhi } from '../../ir/flow.ts';
import type { Fn } from '../../ir/program.ts';
import { hasControlLast } from '../flow/control-last.ts';
import type { Pass, PassContext } from '../pass.ts';
import { LoopInversion } from './loop-inversion.ts';
import { giveSingleEntries } from './single-entry.ts';

/** Most instructions of a test to copy: LLVM's loop rotation has the same bound (rotation-max-header-size). */
const MOST_HEADER = 16;

/**
 * Phase 18, OriLoopSimplification: puts loops into one form, so that later phases need to recognize no other.
 *
 *     before                        after
 *     BB0:                          BB0:
 *           MOV R1, RZ                    MOV R1, RZ
 *     BB1:                          BB4:
 *           ISETP.GE P2, R1, R3           ISETP.GE P2, R1, R3
 *       @P2 BRA BB3                   @P2 BRA BB3
 *                                   BB5:
 *     BB2:                          BB2:
 *           STG [RD4], R1                 STG [RD4], R1
 *           IADD3 R1, R1, 1               IADD3 R1, R1, 1
 *           BRA BB1                 BB1:
 *     BB3:                                ISETP.GE P2, R1, R3
 *           EXIT                      @!P2 BRA BB2
 *                                   BB3:
 *                                         EXIT
 *
 * Three steps:
 * 1. inversion: a test at the top moves to the bottom, with a copy in front that guards the loop (`LoopInversion`);
 * 2. a preheader: the only block through which control enters the loop, with no other successor;
 * 3. a single latch: several edges back to a header go through one block, which is placed above the header and falls into it.
 *    No iteration gets longer; entering the loop may need an additional jump.
 *
 * Single entry: natural loops have one by definition. Cycles with several entries (`loopsOf(fn).irreducible`) stay, with a remark, unless
 * knob SingleEntryLimit allows copying blocks (`giveSingleEntries`), which saves no instruction by itself. So do the loops inside them:
 * lanes reach those over different entries, and a block in front of a header is an additional place where some of them meet.
 *
 * What stays: tests of more than `max-header` instructions (of the binding); tests with operations between lanes, or of loops that
 * contain such operations; all tests of a function where lanes may wait for each other (`mayWaitInLoops`), because the copy is an
 * additional place where lanes diverge; tests in SSA, where a copy would define values twice.
 *
 * Knobs: LoopInversion off leaves tests where they are; each moved test takes a unit of LoopInversionBudget.
 *
 * Requires: control-last. Guarantees: control-last, loop-form: each natural loop outside such cycles has a preheader
 * and one latch. A second application changes nothing.
 * Bound: linear in blocks, edges and nesting, plus copies of at most `max-header` instructions per loop.
 */
export const loopSimplification: Pass = (given, ctx) => {
  if (!hasControlLast(given, ctx)) return given;
  const fn = isInSsa(given) ? given : giveSingleEntries(given, ctx);
  const forest = loopsOf(fn);
  for (const { blocks, entries } of forest.irreducible) {
    const names = entries.map((b) => `BB${fn.blocks[b].id}`).join(', ');
    const what = `a cycle of ${blocks.length} blocks has several entries (${names}) and stays`;
    ctx.remark('missed', 'irreducible', what, { block: fn.blocks[entries[0]].id });
  }
  const tangled = new Set(forest.irreducible.flatMap((r) => r.blocks));
  if (forest.loops.every((l) => tangled.has(l.header))) return fn;
  return edit(
    fn,
    (d) => {
      if (mayInvert(fn, ctx))
        new LoopInversion(d, forest, ctx, tangled).run(Number(ctx.params['max-header'] ?? MOST_HEADER));
      if (makePreheaders(d, tangled, ctx)) mergeLatches(d, tangled, ctx);
    },
    ctx.isa,
  );
};

const mayInvert = (fn: Fn, ctx: PassContext): boolean => {
  const on = ctx.knob('LoopInversion');
  return on !== false && on !== 0 && !isInSsa(fn);
};

const isInSsa = (fn: Fn): boolean => fn.blocks.some((b) => b.ins.length > 0 && isPhi(b.ins[0]));

/** @returns false if no further rewrite is allowed */
function makePreheaders(d: Draft, tangled: ReadonlySet<BlockNo>, ctx: PassContext): boolean {
  const forest = loops(draftCfg(d));
  for (let id = forest.loops.length - 1; id >= 0; id--) {
    // Blocks created here for other loops lead only to the headers of those.
    const count = forest.innermost.length;
    const loop = {
      header: forest.loops[id].header,
      contains: (b: BlockNo) => b < count && inLoop(forest, id, b),
    };
    if (tangled.has(loop.header) || existingPreheader(d, loop) >= 0) continue;
    const header = d.id(loop.header);
    if (!ctx.mayRewrite('preheader-made', header)) return false;
    preheader(d, loop);
    const what = `the loop at BB${header} is entered through one block`;
    ctx.remark('passed', 'preheader-made', what, { block: header });
  }
  return true;
}

function mergeLatches(d: Draft, tangled: ReadonlySet<BlockNo>, ctx: PassContext): void {
  const forest = loops(draftCfg(d));
  for (let id = forest.loops.length - 1; id >= 0; id--) {
    const { header, latches } = forest.loops[id];
    if (latches.length < 2 || tangled.has(header)) continue;
    if (!ctx.mayRewrite('latches-merged', d.id(header))) return;
    const latch = splitPredecessors(d, header, latches);
    d.moveBlock(latch, d.above(header));
    const what = `${latches.length} back edges to BB${d.id(header)} go through one block`;
    ctx.remark('passed', 'latches-merged', what, { block: d.id(header) });
  }
}
