import type { Decoded } from './decode.ts';
import { lowest } from './masks.ts';
import { mergePaths, splitOff } from './paths.ts';
import type { Simulation } from './simulation.ts';
import type { Path, Warp } from './state.ts';

/*
 * Convergence barriers. BSSY sets a barrier register to its participants: the lanes that execute it together. BSYNC blocks its lanes until
 * all participants have reached it or exited; those that arrive from the same place continue together. A function that uses these
 * barriers reconverges in no other way.
 *
 * Each lane has its own copy of a barrier register, which holds the lanes of its region (0: no region), so that diverged lanes may use one
 * register for different regions.
 *
 * Lanes that wait for each other by other means (a lock, a block barrier) must make progress, as the hardware guarantees from sm_70 on.
 * So lanes at a BSYNC stop waiting when the others use up their turn or are stuck elsewhere (`release`), as if those had yielded.
 */

/** The lanes `mask` of the running path execute BSSY or BSYNC. */
export function converge(m: Simulation, w: Warp, path: Path, d: Decoded, mask: number): void {
  const { p } = path.frame.regs;
  const sets = d.ins.dst.length > 0;
  const at = barrierOf(path, d);
  if (sets) {
    for (let r = mask; r !== 0; r &= r - 1) {
      const l = lowest(r);
      const before = p[at + l] & ~w.exited & ~(1 << l);
      if (p[at + l] !== 0 && (before & ~mask) !== 0)
        m.fault('sets a convergence barrier that has not been waited for', d, w, l);
      p[at + l] = mask;
    }
    path.pc++;
    return;
  }
  const here = path.pc++;
  for (let rest = mask; rest !== 0; ) {
    const l = lowest(rest);
    const members = p[at + l];
    if (members === 0) m.fault('waits at a convergence barrier that was not set', d, w, l);
    let group = 0;
    for (let r = rest; r !== 0; r &= r - 1) if (p[at + lowest(r)] === members) group |= r & -r;
    rest &= ~group;
    if ((members & ~w.exited & ~group) === 0) {
      for (let r = group; r !== 0; r &= r - 1) p[at + lowest(r)] = 0;
      continue;
    }
    const others = w.paths.find(
      (q) =>
        q.wait?.until === 'region' && q.frame === path.frame && q.pc === here && q.wait.members === members,
    );
    if (others === undefined) splitOff(w, path, group, here).wait = { d, until: 'region', members };
    else {
      others.mask |= group;
      path.mask &= ~group;
    }
  }
}

/** BREAK: lanes leave the region of a barrier register, so that the other lanes no longer wait for them. */
export function leaveRegion(w: Warp, path: Path, d: Decoded, mask: number): void {
  const f = path.frame;
  const at = barrierOf(path, d);
  const { p } = f.regs;
  for (let rest = mask; rest !== 0; ) {
    const members = p[at + lowest(rest)];
    let group = 0;
    for (let r = rest; r !== 0; r &= r - 1) if (p[at + lowest(r)] === members) group |= r & -r;
    rest &= ~group;
    const left = members & ~group;
    for (let r = members; r !== 0; r &= r - 1) {
      const l = lowest(r);
      if (p[at + l] === members) p[at + l] = ((group >>> l) & 1) === 1 ? 0 : left;
    }
    for (const q of w.paths)
      if (
        q.wait?.until === 'region' &&
        q.frame === f &&
        q.wait.members === members &&
        barrierOf(q, q.wait.d) === at
      )
        q.wait = { ...q.wait, members: left };
  }
}

/** Place of the barrier register of a BSSY, BSYNC or BREAK; lane `l`'s word is at this place plus `l`. */
const barrierOf = (path: Path, d: Decoded): number => path.frame.code.operands[d.k];

/** True if both paths wait at the same barrier register for the same region. */
export const sameRegion = (p: Path, q: Path): boolean =>
  p.frame === q.frame &&
  p.wait!.members === q.wait!.members &&
  barrierOf(p, p.wait!.d) === barrierOf(q, q.wait!.d);

/** All lanes of a region have arrived: they continue, merged by place. */
export function openRegion(w: Warp, group: readonly Path[]): void {
  for (const p of group) {
    const at = barrierOf(p, p.wait!.d);
    for (let r = p.mask; r !== 0; r &= r - 1) p.frame.regs.p[at + lowest(r)] = 0;
    p.wait = null;
    p.pc++;
  }
  for (const pc of new Set(group.map((p) => p.pc)))
    mergePaths(
      w,
      group.filter((p) => p.pc === pc),
    );
}

/**
 * Lets the lanes that have waited longest at a convergence barrier continue without the others, which no longer wait for them either.
 *
 * @returns whether any lanes wait at a convergence barrier
 */
export function release(w: Warp): boolean {
  let first: Path | null = null;
  for (const p of w.paths)
    if (p.wait?.until === 'region' && (first === null || p.turn < first.turn)) first = p;
  if (first === null) return false;
  const { frame } = first;
  const { d, members } = first.wait!;
  const at = barrierOf(first, d);
  const left = members & ~first.mask;
  for (let r = left; r !== 0; r &= r - 1)
    if (frame.regs.p[at + lowest(r)] === members) frame.regs.p[at + lowest(r)] = left;
  for (const p of w.paths)
    if (p !== first && p.wait?.until === 'region' && sameRegion(p, first))
      p.wait = { ...p.wait, members: left };
  openRegion(w, [first]);
  w.paths.splice(w.paths.indexOf(first), 1);
  w.paths.push(first);
  first.turn = ++w.turns;
  return true;
}
