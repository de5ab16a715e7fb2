import type { Draft } from '../../ir/draft/index.ts';
import { type Cfg, cfgOf, completeCfg, endsFlow, endsUnderGuard, isControl } from './cfg.ts';

const lastCfgs = new WeakMap<Draft, { readonly version: number; readonly cfg: Cfg }>();

/**
 * The current flow graph of a draft, with blocks by their numbers in the draft; erased blocks are unreachable. Until
 * a block or edge is edited it is the snapshot's graph, with all its cached analyses.
 */
export function draftCfg(d: Draft): Cfg {
  if (d.shapeVersion === 0) return cfgOf(d.fn);
  const last = lastCfgs.get(d);
  if (last !== undefined && last.version === d.shapeVersion) return last.cfg;
  const count = d.blockNumbers;
  const positionOf = new Int32Array(d.counters.blocks).fill(-1);
  const succStart = new Int32Array(count + 1);
  const succ: number[] = [];
  let midBlockControl = false;
  const mayEnd: number[] = [];
  for (let b = 0; b < count; b++) {
    if (d.isAlive(b)) {
      positionOf[d.id(b)] = b;
      for (const s of d.successors(b)) succ.push(s);
      for (let n = d.first(b); n >= 0; n = d.next(n))
        if (isControl(d.at(n))) {
          if (d.next(n) >= 0) midBlockControl = true;
          if (endsUnderGuard(d.at(n)) && mayEnd.at(-1) !== b) mayEnd.push(b);
          if (endsFlow(d.at(n))) break;
        }
    }
    succStart[b + 1] = succ.length;
  }
  const cfg = completeCfg(
    count,
    positionOf,
    succStart,
    Int32Array.from(succ),
    midBlockControl,
    Math.max(d.entryBlock, 0),
    mayEnd,
  );
  lastCfgs.set(d, { version: d.shapeVersion, cfg });
  return cfg;
}
