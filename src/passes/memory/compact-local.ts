import { type LocalUse, localUses, mayReadUnwritten, type Place } from '../../analysis/memory/local-uses.ts';
import { alignedTo } from '../../analysis/memory/shared-layout.ts';
import { edit } from '../../ir/draft/index.ts';
import { toOperands, withDeclarations, withSrc } from '../../ir/edit.ts';
import { makeOperand, type Operand } from '../../ir/operand.ts';
import type { Fn, Variable } from '../../ir/program.ts';
import type { Pass, PassContext } from '../pass.ts';
import { withoutUnnamed } from './unnamed-variables.ts';

/**
 * Phase 32, CompactLocalMemory: closes the gaps in local variables, which are parts that nothing accesses any more.
 *
 *     before                                          after
 *     .var local b8 a size 48 align 16                .var local b8 a size 20 align 16
 *     .var local b8 b size 8 align 8
 *     BB0:                                            BB0:
 *           STL.VOLATILE [a+8], R1                          STL.VOLATILE [a], R1
 *           STL.VOLATILE.V4 [a+32], {R2, R3, R4, R5}        STL.VOLATILE.V4 [a+16], {R2, R3, R4, R5}
 *
 * Variables that nothing names are removed. Of a variable whose every access is at a constant offset (`localUses`), only the bytes that
 * are accessed stay, in their order. Adjacent bytes stay together, and each run of them keeps its alignment relative to the largest
 * access, or to the largest vector that they could form. Only the offsets of accesses change; addresses in registers stay, so nothing
 * that is computed from them changes.
 *
 * Any other use of an address keeps the whole variable. So does a read of bytes that may not have been written, which would find
 * something else at another place. (Variables after one that shrinks or disappears move too; but the initial contents of a variable
 * are undefined, and a search through all variables would keep every function with an array.)
 *
 * The order of variables stays: ptxas 13.0.88 places local variables by alignment itself (`-v`: 48 bytes of stack for variables of 1,
 * 16, 1 and 16 bytes, also when equal sizes are declared together).
 *
 * Requires: control-last. Guarantees: blocks and edges stay. A second application changes nothing: every remaining gap is needed for
 * alignment.
 * Bound: one address analysis if the function has local variables; variables with more places than `most-places` stay.
 */
export const compactLocal: Pass = (fn, ctx) => {
  if (!fn.variables.some((v) => v.space === 'local')) return fn;
  return withoutUnnamed(compacted(fn, ctx), ctx);
};

function compacted(fn: Fn, ctx: PassContext): Fn {
  const sizes = new Map<Variable, number>();
  const moves: Move[] = [];
  for (const use of localUses(fn, ctx.program.variables)) {
    const { variable } = use;
    const stays = (why: string): void =>
      ctx.remark('missed', 'not-compacted', `${variable.name} is not compacted: ${why}`);
    if (use.unknown !== '') {
      stays(use.unknown);
      continue;
    }
    const { size, moved } = layOut(use);
    if (use.places.length === 0 || size === variable.size) continue;
    if (use.places.length > Number(ctx.params['most-places'])) stays('too many accesses');
    else if (mayReadUnwritten(fn, ctx.program.variables, use.places))
      stays('a byte may be read that was not written');
    else if (ctx.mayRewrite('compacted')) {
      ctx.remark('passed', 'compacted', `${variable.name} takes ${size} bytes instead of ${variable.size}`);
      sizes.set(variable, size);
      moves.push(...moved);
    }
  }
  if (sizes.size === 0) return fn;
  const out = edit(fn, (d) => {
    for (const { n, src, by } of moves) {
      const x = d.at(n);
      d.replace(
        n,
        withSrc(
          x,
          toOperands(x.src, (o, k) => (k === src ? shifted(o, by) : o)),
        ),
      );
    }
  });
  // As bytes, because the size need no longer be a multiple of the element size.
  const cut = (v: Variable): Variable => (sizes.has(v) ? { ...v, type: 'b8', size: sizes.get(v)! } : v);
  return withDeclarations(out, out.variables.map(cut));
}

const shifted = (o: Operand, by: number): Operand =>
  makeOperand(o.kind, o.reg, o.lo + by, o.hi, o.sym, o.mods);

/** An access that moves, and the distance in bytes. */
interface Move extends Place {
  readonly by: number;
}

/** Removes the gaps of a variable: its new size in bytes, and the accesses that move. */
function layOut({ variable, places }: LocalUse): { readonly size: number; readonly moved: readonly Move[] } {
  const moved: Move[] = [];
  const sorted = [...places].sort((p, q) => p.at - q.at);
  let end = 0;
  for (let i = 0; i < sorted.length; ) {
    const { at } = sorted[i];
    let to = at;
    let unit = 1;
    const run: Place[] = [];
    for (; i < sorted.length && (run.length === 0 || sorted[i].at <= to); i++) {
      run.push(sorted[i]);
      to = Math.max(to, sorted[i].at + sorted[i].bytes);
      unit = Math.max(unit, powerFrom(sorted[i].bytes));
    }
    unit = Math.max(unit, Math.min(powerFrom(to - at), variable.align));
    const rest = at % unit;
    const start = alignedTo(end - rest, unit) + rest;
    if (start !== at) for (const p of run) moved.push({ ...p, by: start - at });
    end = start + to - at;
  }
  return { size: end, moved };
}

/** The smallest power of two that is at least this. */
const powerFrom = (bytes: number): number => 2 ** Math.ceil(Math.log2(bytes));
