import { countsBytes, entryOf } from '../ir/jump-table.ts';
import type { Decoded } from './decode.ts';
import { lowest } from './masks.ts';
import { insertPath, newPath } from './paths.ts';
import type { Simulation } from './simulation.ts';
import type { Path, Warp } from './state.ts';

/**
 * Splits a path whose lanes branch to different targets; `ways` pairs each target (an instruction number) with a lane mask. The lanes
 * reconverge at the branch's join.
 */
export function diverge(
  m: Simulation,
  w: Warp,
  path: Path,
  d: Decoded,
  ways: readonly (readonly [number, number])[],
): void {
  const { counters } = m.opts;
  const { paths } = w;
  if (counters !== null) counters.divergentBranches++;
  const join = d.join;
  if (join < 0 && ways.every(([to]) => to === ways[0][0])) {
    path.pc = ways[0][0];
    return;
  }
  path.pc = join < 0 ? -1 : join;
  // Without a join the lanes never reconverge. If the join is the path's own, the entry below already waits there. In both cases this entry
  // is finished.
  if (join < 0 || join === path.join) {
    paths.pop();
    path.frame.live--;
  }
  const outer = join < 0 ? path.join : join;
  for (let i = ways.length - 1; i >= 0; i--)
    if (ways[i][0] !== outer || join < 0) insertPath(w, newPath(path.frame, ways[i][0], ways[i][1], outer));
  if (counters !== null && paths.length > counters.deepestStack) counters.deepestStack = paths.length;
}

/** Executes an indirect branch through a jump table for the lanes `mask`; active lanes outside of it (guard false) fall through. */
export function branchTable(
  m: Simulation,
  w: Warp,
  path: Path,
  d: Decoded,
  mask: number,
  active: number,
): void {
  const table = d.table!;
  const f = path.frame;
  const at = f.code.operands[d.k];
  const ways = new Map<number, number>();
  if (mask !== active) ways.set(path.pc + 1, active & ~mask);
  for (let r = mask; r !== 0; r &= r - 1) {
    const l = lowest(r);
    const value = f.regs.i32[at + l] >>> 0;
    const i = entryOf(d.ins, value);
    if (i < 0 || i >= table.length)
      m.fault(
        `${countsBytes(d.ins) ? 'offset' : 'index'} ${value} is outside the jump table of ${table.length} entries`,
        d,
        w,
        l,
        'undefined',
      );
    ways.set(table[i], (ways.get(table[i]) ?? 0) | (r & -r));
  }
  if (ways.size === 1) path.pc = ways.keys().next().value!;
  else
    diverge(
      m,
      w,
      path,
      d,
      [...ways].sort((a, b) => a[0] - b[0]),
    );
}
