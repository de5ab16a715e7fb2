import { isPhi } from '../ir/flow.ts';
import { NO_REG, regIndex } from '../ir/operand.ts';
import type { Fn } from '../ir/program.ts';
import { cfgOf } from './cfg.ts';
import { defUseOf } from './defuse.ts';
import { dominates, dominators } from './dominators.ts';
import { flowNodesOf, lastNode } from './flow-nodes.ts';

import { memo } from './memo.ts';

/**
 * Register index -> 1 if the register is a single value: one certain definition, which dominates every use. In SSA
 * that is every defined register; outside SSA it tells which registers may be treated as in SSA. All others are
 * variables, whose value depends on the place.
 */
export const singleValuesOf: (fn: Fn) => Uint8Array = memo((fn) => {
  const du = defUseOf(fn);
  const nodes = flowNodesOf(fn);
  const { nodeAt } = nodes;
  const { positionOf } = cfgOf(fn);
  const dom = dominators(nodes.cfg);
  const single = new Uint8Array(fn.regCount);
  for (let r = 0; r < fn.regCount; r++) {
    const at = du.defStart[r];
    if (du.defStart[r + 1] - at !== 1 || du.entry[r] === 1) continue;
    const def = du.defs[at];
    const { guard, otherwise } = du.ins[def];
    if (guard !== NO_REG && otherwise.length === 0) continue;
    const home = nodeAt[def];
    let all = du.returned[r] === 0 || returnsBehind(home);
    for (let u = du.useStart[r]; all && u < du.useStart[r + 1]; u++) {
      const use = du.uses[u];
      if (isPhi(du.ins[use])) all = reachesPhi(use, r, home);
      else all = nodeAt[use] === home ? use > def : dominates(dom, home, nodeAt[use]);
    }
    if (all) single[r] = 1;
  }
  return single;

  /** A phi operand counts as a use at the end of the predecessor. */
  function reachesPhi(use: number, r: number, home: number): boolean {
    const { src } = du.ins[use];
    for (let k = 0; k + 1 < src.length; k += 2) {
      if (src[k + 1].reg === NO_REG || regIndex(src[k + 1].reg) !== r) continue;
      const from = positionOf[src[k].lo];
      if (from < 0 || !dominates(dom, home, lastNode(nodes, from))) return false;
    }
    return true;
  }

  /** Does the node dominate every place where the function returns? */
  function returnsBehind(home: number): boolean {
    for (let n = 0; n < du.ins.length; n++)
      if (du.ins[n].op.primitive === 'return' && !dominates(dom, home, nodeAt[n])) return false;
    return true;
  }
});
