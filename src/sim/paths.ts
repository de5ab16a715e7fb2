import type { Frame, Path, Warp } from './state.ts';

/** A path that runs; it belongs to no warp until `insertPath`. */
export const newPath = (frame: Frame, pc: number, mask: number, join: number): Path => ({
  frame,
  pc,
  mask,
  join,
  wait: null,
  turn: 0,
});

/** Puts a path into a warp's stack, at the end or before the entry `at`. */
export function insertPath(w: Warp, p: Path, at = w.paths.length): void {
  p.turn = w.turns;
  p.frame.live++;
  if (at === w.paths.length) w.paths.push(p);
  else w.paths.splice(at, 0, p);
}

/** Takes lanes out of a path into one of their own, which stands just below it. */
export function splitOff(w: Warp, path: Path, lanes: number, pc: number): Path {
  const p = newPath(path.frame, pc, lanes, path.join);
  path.mask &= ~lanes;
  insertPath(w, p, w.paths.indexOf(path));
  return p;
}

/** Makes one path of several that stand at the same place and meet the others at the same one. */
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
 * Gives the turn to the path that can move and had it longest ago: one without entries that depend on it or, with `split`,
 * also lanes that wait at a meeting point, which then go on alone.
 *
 * @param except a path that shall not get the turn
 * @returns whether there is one
 */
export function passTurn(w: Warp, split: boolean, except: Path | null): boolean {
  const { paths } = w;
  let best = -1;
  let lanes = 0;
  let above = 0;
  for (let i = paths.length - 1; i >= 0; i--) {
    const p = paths[i];
    const own = p.mask & ~w.exited;
    const here = own & ~above;
    if (p.wait === null && p !== except && here !== 0 && (split || here === own))
      if (best < 0 || p.turn < paths[best].turn) {
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

/** Joins to the last path those that stand at the same place, as the halves of one that was split do. */
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
