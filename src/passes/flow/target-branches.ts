import { terminator } from '../../analysis/flow/cfg.ts';
import { divergenceOf } from '../../analysis/uniformity/divergence.ts';
import { edit } from '../../ir/draft/index.ts';
import { withModsOf } from '../../ir/edit.ts';
import { isControl } from '../../ir/flow.ts';
import { hasMod, Lanes, withMods } from '../../ir/opcode.ts';
import { Kind, NO_REG } from '../../ir/operand.ts';
import type { Fn, Instr } from '../../ir/program.ts';
import { printInstr } from '../../ir/text.ts';
import { isSet, type Pass, type PassContext } from '../pass.ts';
import { dropFrom, hasRegions } from '../synchronization/region-removal.ts';

/**
 * Phase DoSwitchOptFirst: what each target does with branches before they are simplified, by slot 136 of its back end.
 *
 *     before                              after
 *     BB0:                                BB0:
 *           BSSY B4, BB2                      @P3 BRA.U BB2
 *       @P3 BRA BB2                       BB1:
 *     BB1:                                      STG [RD1], R2
 *           STG [RD1], R2                 BB2:
 *     BB2:                                      EXIT
 *           BSYNC B4
 *           EXIT
 *
 * `sync-restructuring` (seed 003, handler A) looks at two things:
 * - A region between BSSY and its BSYNC in which no branch makes the lanes of a warp diverge is removed (`drop-regions`).
 *   Knob 232 leaves all regions alone.
 * - A conditional branch on which the lanes of a warp agree is marked as uniform (with `uniform`); knob 351 bounds how many.
 *
 * `branch-distance` (handler B) reports how far branches go. The original chooses short encodings by it; these have no form in Ori.
 *
 * Requires: control-last. Guarantees: the same blocks and edges; equivalence. A second application changes nothing.
 * Bound: as `drop-regions`.
 */
export const targetBranches: Pass = (fn, ctx) => {
  switch (ctx.fact('slots.136')) {
    case 'sync-restructuring':
      return restructure(fn, ctx);
    case 'branch-distance':
      measure(fn, ctx);
      return fn;
    default:
      return fn;
  }
};

function restructure(fn: Fn, ctx: PassContext): Fn {
  const regions = !isSet(ctx.knob('Knob232')) && hasRegions(fn);
  const marks = ctx.params.uniform === true && fn.blocks.some((b) => mayMark(terminator(b)));
  if (!regions && !marks) return fn;
  return edit(
    fn,
    (d) => {
      if (regions) dropFrom(d, fn, ctx);
      if (!marks) return;
      const { branch } = divergenceOf(fn);
      for (const [at, block] of fn.blocks.entries()) {
        const x = terminator(block);
        if (!mayMark(x) || branch[at] === Lanes.Varying) continue;
        if (!ctx.budget('Knob351') || !ctx.mayRewrite('branch-uniform', block.id, x)) return;
        ctx.remark('passed', 'branch-uniform', `${printInstr(x)}: the lanes of a warp agree`, {
          block: block.id,
          ins: x,
        });
        d.replace(d.terminator(d.blockById(block.id)), withModsOf(x, withMods(x.op, x.mods, 'U')));
      }
    },
    ctx.isa,
  );
}

/** Is it a branch that lanes decide by a predicate or an index, and that is not marked as uniform? */
const mayMark = (x: Instr | null): x is Instr =>
  x !== null &&
  (x.op.primitive === 'branch-table' || (x.op.primitive === 'branch' && x.guard !== NO_REG)) &&
  !hasMod(x.op, x.mods, 'U');

/** Reports branch distances in bytes, at the instruction size of the target's encoding. */
function measure(fn: Fn, ctx: PassContext): void {
  ctx.report(() => {
    const bytes = Number(ctx.fact('encoding.instruction-bytes'));
    const start = new Map<number, number>();
    let at = 0;
    for (const b of fn.blocks) {
      start.set(b.id, at);
      at += bytes * b.ins.length;
    }
    const far: number[] = [];
    at = 0;
    for (const b of fn.blocks)
      for (const x of b.ins) {
        at += bytes;
        if (!isControl(x)) continue;
        for (const o of x.src) {
          if (o.kind === Kind.Label) far.push(Math.abs(start.get(o.lo)! - at));
          else if (o.kind === Kind.Table)
            for (const id of fn.tables[o.lo]) far.push(Math.abs(start.get(id)! - at));
        }
      }
    far.sort((a, b) => a - b);
    if (far.length === 0) return '# no branches';
    return `# ${far.length} branches, to targets ${far[0]} to ${far.at(-1)} bytes away, half of them within ${far[far.length >> 1]}`;
  });
}
