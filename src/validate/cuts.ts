import { cfgOf } from '../analysis/flow/cfg.ts';
import { nestingOf } from '../analysis/loops/nesting.ts';
import type { Fn } from '../ir/program.ts';

/** Cut points of both versions, as positions of blocks: regions begin and end there. */
export interface Cuts {
  readonly before: ReadonlySet<number>;
  readonly after: ReadonlySet<number>;
}

/**
 * Chooses cuts so that no region of either version contains a loop. Blocks that both versions have are preferred, so that control passes
 * the cuts of both in the same order: the loop headers of the version `lead`; in the other version those of them that are in a loop there,
 * and whatever else its loops need.
 */
export function cutsOf(before: Fn, after: Fn, lead: 'before' | 'after'): Cuts {
  const [leading, other] = lead === 'after' ? [after, before] : [before, after];
  const own = headersOf(leading, new Set());
  const { positionOf } = cfgOf(other);
  const shared = new Set<number>();
  const { innermost } = nestingOf(other);
  for (const at of own) {
    const there = positionOf[leading.blocks[at].id] ?? -1;
    if (there >= 0 && innermost[there] >= 0) shared.add(there);
  }
  const all = new Set([...shared, ...headersOf(other, shared)]);
  return lead === 'after' ? { before: all, after: own } : { before: own, after: all };
}

/** Targets of the retreating edges of a depth-first search that does not enter the blocks `passed`. */
function headersOf(fn: Fn, passed: ReadonlySet<number>): Set<number> {
  const { succStart, succ, count } = cfgOf(fn);
  const out = new Set<number>();
  const state = new Uint8Array(count);
  const search = (from: number): void => {
    const stack = [{ at: from, next: succStart[from] }];
    state[from] = 1;
    while (stack.length > 0) {
      const top = stack[stack.length - 1];
      if (top.next === succStart[top.at + 1]) {
        state[top.at] = 2;
        stack.pop();
        continue;
      }
      const to = succ[top.next++];
      if (passed.has(to)) continue;
      if (state[to] === 1) out.add(to);
      if (state[to] !== 0) continue;
      state[to] = 1;
      stack.push({ at: to, next: succStart[to] });
    }
  };
  if (count > 0) search(0);
  for (const at of passed) if (state[at] === 0) search(at);
  return out;
}
