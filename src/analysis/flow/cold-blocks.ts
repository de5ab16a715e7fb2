import { memo } from '../../ir/memo.ts';
import { NO_REG } from '../../ir/operand.ts';
import type { Block, Fn } from '../../ir/program.ts';
import { loopsOf } from '../loops/loops.ts';
import { cfgOf } from './cfg.ts';
import { frequencyOf } from './frequency.ts';

/**
 * A block that a profile saw in a smaller share of the iterations of its loop, or calls of its function, is cold
 * (reference passes-d: 5 %).
 */
const COLD_SHARE = 0.05;

/**
 * Blocks that hardly ever run, by position: those from which every path leads to a trap and, with a profile, those
 * that ran in less than 5 % of the iterations of the innermost loop around them (outside loops, of the calls). A
 * header counts with the code around its loop.
 */
export const coldBlocksOf: (fn: Fn) => Uint8Array = memo((fn) => {
  const { count, rpo, succ, succStart } = cfgOf(fn);
  const cold = new Uint8Array(count);
  for (let k = rpo.length - 1; k >= 0; k--) {
    const b = rpo[k];
    let all = succStart[b + 1] > succStart[b];
    for (let e = succStart[b]; e < succStart[b + 1]; e++) if (cold[succ[e]] === 0) all = false;
    if (all || traps(fn.blocks[b])) cold[b] = 1;
  }
  if (fn.attrs.counts.length === 0) return cold;
  const { block } = frequencyOf(fn);
  const forest = loopsOf(fn);
  for (const b of rpo) {
    let l = forest.innermost[b];
    if (l >= 0 && forest.loops[l].header === b) l = forest.loops[l].parent;
    const around = l < 0 ? 0 : forest.loops[l].header;
    if (b !== around && block[b] < COLD_SHARE * block[around]) cold[b] = 1;
  }
  // A block inside a cold loop is cold, however often the loop iterates.
  for (const b of rpo)
    for (let l = forest.innermost[b]; l >= 0 && cold[b] === 0; l = forest.loops[l].parent)
      cold[b] = cold[forest.loops[l].header];
  return cold;
});

/** Does a block end every thread that enters it with an error? */
const traps = (b: Block): boolean =>
  b.ins.some(
    ({ op, mods, guard }) =>
      op.primitive === 'trap' &&
      guard === NO_REG &&
      ((mods >>> op.groups[0].shift) & op.groups[0].mask) === TRAP,
  );

/** `BPT.TRAP`; the other one, BRKPT, does nothing. */
const TRAP = 0;
