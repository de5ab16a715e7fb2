import { blockShapeOf } from '../../analysis/flow/block-shape.ts';
import { edit } from '../../ir/draft/index.ts';
import { copyLike, movesOf } from '../../ir/moves.ts';
import { imm, NO_REG } from '../../ir/operand.ts';
import type { Instr } from '../../ir/program.ts';
import { printInstr } from '../../ir/text.ts';
import type { Pass } from '../pass.ts';

/**
 * Phase 11, ReplaceUniformsWithImm: a read of a special register whose value follows from the kernel's directives becomes a constant.
 *
 *     before, under .reqntid 128, 2        after
 *     BB0:                                 BB0:
 *           S2R.NTID.X R1                        MOV R1, 128
 *           S2R.TID.Z R2                         MOV R2, 0
 *
 * The only such values known at compile time come from the shape of the kernel's blocks, if `.reqntid` requires one
 * (PTX ISA 9.0, 11.4): their extents, and the index along an axis of extent 1. All other uniform values (parameters,
 * the grid) are known only at launch.
 *
 * Requires: control-last. Guarantees: equivalence for every launch that the kernel allows; blocks and edges stay. A second
 * application changes nothing.
 * Bound: each instruction once, if there is such a directive.
 */
export const replaceUniforms: Pass = (fn, ctx) => {
  const { extent } = blockShapeOf(fn);
  if (extent === null) return fn;
  const moves = movesOf(ctx.isa);
  return edit(fn, (d) => {
    for (const b of d.layout())
      for (let n = d.first(b); n >= 0; n = d.next(n)) {
        const x = d.at(n);
        const value = x.dst.length === 1 && x.dst[0] !== NO_REG ? constantOf(x, extent) : null;
        if (value === null) continue;
        if (!ctx.mayRewrite('uniform-known', d.id(b), x)) return;
        ctx.remark('passed', 'uniform-known', `${printInstr(x)}: ${value}`, { block: d.id(b), ins: x });
        d.replace(n, copyLike(moves, x.dst[0], imm(value), x));
      }
  });
};

/** The value of a special register in blocks of the given extents; null if it varies. */
function constantOf({ op, mods }: Instr, extent: readonly number[]): number | null {
  if (op.special.length === 0) return null;
  const group = op.groups[0];
  const s = op.special[(mods >>> group.shift) & group.mask];
  if (s === null) return null;
  if (s.extent >= 0) return extent[s.extent];
  return s.thread >= 0 && extent[s.thread] === 1 ? 0 : null;
}
