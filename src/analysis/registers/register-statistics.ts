import type { Fn, Instr } from '../../ir/program.ts';
import type { Target } from '../schedule/estimates.ts';
import { LiveWalker, livenessOf, Pool, poolOf, unitsIn } from './liveness.ts';
import { occupancyUnder, statedThreads, USUAL_BLOCK } from './occupancy.ts';
import { pressureOf } from './pressure.ts';

/**
 * What register allocation will have to cope with, as lines of a report. The format is our own:
 *
 * - for each register file that is used, the maximum units live at one point, and the first block that has so many
 * - the warps of an SM that so many general registers allow, up to how many registers that holds, and how many registers would have to
 *   be saved for more warps
 * - for each call, the units that are live across it, which the callee must not overwrite
 */
export function registerStatistics(fn: Fn, target: Target): string[] {
  const { most, inBlock } = pressureOf(fn);
  const files = Object.entries(Pool).flatMap(([name, pool]) => {
    if (most[pool] === 0) return [];
    const at = fn.blocks.findIndex((_, b) => inBlock(b, pool) === most[pool]);
    return [`# registers ${name} [most=${most[pool]}] [first=BB${fn.blocks[at].id}]`];
  });
  return [...files, ...warpLines(fn, target, most[Pool.R]), ...callLines(fn)];
}

/** The line on warps, for kernels only: a device function runs in the warps of its caller. */
function warpLines(fn: Fn, { limits }: Target, live: number): string[] {
  const highest = Number(limits['max-registers'] ?? 0);
  if (fn.kind !== 'entry' || highest === 0) return [];
  const threads = statedThreads(fn) ?? USUAL_BLOCK;
  const warpsWith = (registers: number): number =>
    occupancyUnder(limits, { threads, registers, shared: 0 }).warps;
  const now = Math.min(live, highest);
  const warps = warpsWith(now);
  let upTo = now;
  while (upTo < highest && warpsWith(upTo + 1) === warps) upTo++;
  let fewer = now;
  while (fewer > 1 && warpsWith(fewer) === warps) fewer--;
  const more = warpsWith(fewer) > warps ? ` [${warpsWith(fewer)} with R=${fewer}]` : '';
  return [`# warps by registers [${warps} with R=${now}] [the same up to R=${upTo}]${more}`];
}

function callLines(fn: Fn): string[] {
  const isCall = (x: Instr): boolean => x.op.primitive === 'call';
  const out: string[] = [];
  let walker: LiveWalker | null = null;
  fn.blocks.forEach((block, b) => {
    if (!block.ins.some(isCall)) return;
    walker ??= new LiveWalker(livenessOf(fn));
    const lines: string[] = [];
    walker.enter(b);
    for (let i = block.ins.length - 1; i >= 0; i--) {
      const x = block.ins[i];
      if (isCall(x)) {
        const across = walker.units.slice();
        for (const r of x.dst) if (poolOf(r) >= 0 && walker.isLive(r)) across[poolOf(r)] -= unitsIn(r);
        const live = Object.entries(Pool).flatMap(([name, p]) =>
          across[p] > 0 ? ` [${name}=${across[p]}]` : [],
        );
        lines.push(
          `# live across call BB${block.id}.${i} ${x.src[0].sym || 'by address'}${live.join('') || ' none'}`,
        );
      }
      walker.step(x);
    }
    out.push(...lines.reverse());
  });
  return out;
}
