import type { Schedule } from './schedule.ts';
import type { Frame, Path, Warp } from './state.ts';

/** A runnable path, which belongs to no warp until `insertPath`. */
export const newPath = (frame: Frame, pc: number, mask: number, join: number): Path => ({
  frame,
  pc,
  mask,
  join,
  wait: null,
  turn: 0,
});

/** Inserts a path into a warp's stack, at the top or below the entry `at`. */
export function insertPath(w: Warp, p: Path, at = w.paths.length): void {
  p.turn = w.turns;
  p.frame.live++;
  if (at === w.paths.length) w.paths.push(p);
  else w.paths.splice(at, 0, p);
}

/** Splits lanes off a path into a new path directly below it. */
export function splitOff(w: Warp, path: Path, lanes: number, pc: number): Path {
  const p = newPath(path.frame, pc, lanes, path.join);
  path.mask &= ~lanes;
  insertPath(w, p, w.paths.indexOf(path));
  return p;
}

/** Splits a path into one path per lane. */
export function part(w: Warp, path: Path): void {
  for (let rest = path.mask & (path.mask - 1); rest !== 0; rest &= rest - 1)
    splitOff(w, path, rest & -rest, path.pc);
}

/** Merges paths that are at the same place and have the same join. */
export function mergePaths(w: Warp, group: readonly Path[]): Path {
  const [first, ...rest] = group;
  for (const p of rest) {
    first.mask |= p.mask;
    p.frame.live--;
    w.paths.splice(w.paths.indexOf(p), 1);
  }
  return first;
}

/**
 * Gives the turn to the path that has waited longest and can move: one that no other entry depends on or, with `split`, also one with lanes
 * that no entry above shares; those lanes then continue alone.
 *
 * @param except a path that must not get the turn
 * @param schedule if not null, draws one of these paths at random instead
 * @returns whether there is such a path
 */
export function passTurn(w: Warp, split: boolean, except: Path | null, schedule: Schedule | null): boolean {
  const { paths } = w;
  let best = -1;
  let lanes = 0;
  let above = 0;
  let found = 0;
  for (let i = paths.length - 1; i >= 0; i--) {
    const p = paths[i];
    const own = p.mask & ~w.exited;
    const here = own & ~above;
    if (p.wait === null && p !== except && here !== 0 && (split || here === own))
      if (schedule !== null ? schedule.below(++found) === 0 : best < 0 || p.turn < paths[best].turn) {
        best = i;
        lanes = here;
      }
    above |= own;
  }
  if (best < 0) return false;
  const p = paths[best];
  w.turns++;
  if (lanes === (p.mask & ~w.exited)) {
    paths.splice(best, 1);
    paths.push(p);
    p.turn = w.turns;
    meetAgain(w, p);
  } else {
    p.mask &= ~lanes;
    insertPath(w, newPath(p.frame, p.pc, lanes, p.join));
  }
  return true;
}

/** Merges paths at the same place into the top one, such as the halves of a split path. */
function meetAgain(w: Warp, p: Path): void {
  const same = [p];
  let above = 0;
  for (let i = w.paths.length - 1; i >= 0; i--) {
    const q = w.paths[i];
    const own = q.mask & ~w.exited;
    if (q !== p && q.wait === null && q.frame === p.frame && q.pc === p.pc && q.join === p.join)
      if ((own & above) === 0) same.push(q);
    above |= own;
  }
  if (same.length > 1) mergePaths(w, same);
}
