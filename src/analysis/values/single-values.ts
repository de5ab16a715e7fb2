import { isPhi } from '../../ir/flow.ts';
import { memo } from '../../ir/memo.ts';
import { NO_REG, type Operand, regIndex } from '../../ir/operand.ts';
import type { Fn } from '../../ir/program.ts';
import { cfgOf } from '../flow/cfg.ts';
import { dominates, dominators } from '../flow/dominators.ts';
import { flowNodesOf, lastNode } from '../flow/flow-nodes.ts';
import { defUseOf } from './defuse.ts';

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
    const defNode = nodeAt[def];
    let all = du.returned[r] === 0 || returnsBehind(defNode);
    for (let u = du.useStart[r]; all && u < du.useStart[r + 1]; u++) {
      const use = du.uses[u];
      if (!isPhi(du.ins[use]))
        all = nodeAt[use] === defNode ? use > def : dominates(dom, defNode, nodeAt[use]);
    }
    if (all) single[r] = 1;
  }
  // By phis and not by registers: a phi may have thousands of operands.
  for (const x of du.ins) if (isPhi(x)) leaveReached(x.src);
  return single;

  /** A register whose definition does not dominate the predecessor from which a phi takes it is not single: it is used there. */
  function leaveReached(src: readonly Operand[]): void {
    for (let k = 0; k + 1 < src.length; k += 2) {
      const { reg } = src[k + 1];
      if (reg === NO_REG || single[regIndex(reg)] === 0) continue;
      const from = positionOf[src[k].lo];
      const defNode = nodeAt[du.defs[du.defStart[regIndex(reg)]]];
      if (from < 0 || !dominates(dom, defNode, lastNode(nodes, from))) single[regIndex(reg)] = 0;
    }
  }

  /** Does the node dominate every place where the function returns? */
  function returnsBehind(defNode: number): boolean {
    for (let n = 0; n < du.ins.length; n++)
      if (du.ins[n].op.primitive === 'return' && !dominates(dom, defNode, nodeAt[n])) return false;
    return true;
  }
});
