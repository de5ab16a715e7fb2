import { cfgOf } from '../analysis/flow/cfg.ts';
import { dominates, dominatorsOf } from '../analysis/flow/dominators.ts';
import { isReturn } from '../analysis/registers/liveness.ts';
import { isPhi } from '../ir/flow.ts';
import { Kind, NO_REG, type Reg, regFile, regIndex, regName } from '../ir/operand.ts';
import type { Fn, Instr } from '../ir/program.ts';
import type { VerifyError } from '../ir/verify.ts';
import { inSsa } from './registers.ts';

/** Maximum number of errors reported. */
const MOST = 50;

/**
 * Checks that a function is in SSA form. Every register has at most one definition, which dominates its uses (a phi reads at the
 * end of the predecessor). Phis are at the start of their block and have a value for exactly its predecessors. A guarded
 * definition may name the value under a false guard. A return names every returned value. A register without a definition is
 * undefined or a parameter, and may be read anywhere. In unreachable blocks, dominance and returned values are not checked.
 *
 * @returns at most 50 errors
 */
export function verifySsa(fn: Fn): VerifyError[] {
  const errors: VerifyError[] = [];
  const cfg = cfgOf(fn);
  const dom = dominatorsOf(fn);
  const defBlock = new Int32Array(fn.regCount).fill(-1);
  const defIndex = new Int32Array(fn.regCount);
  const report = (rule: string, message: string, b: number, index: number, ins: Instr | null): void => {
    if (errors.length < MOST)
      errors.push({ rule, message, fn: fn.name, block: fn.blocks[b].id, index, loc: ins?.loc ?? 0 });
  };
  const returned = fn.returns.filter((p) => p.reg !== NO_REG).length;
  const params = new Set(fn.params.map((p) => p.reg));
  fn.blocks.forEach(({ ins }, b) => {
    ins.forEach((x, i) => {
      for (const r of x.dst) {
        if (!inSsa(r)) continue;
        if (params.has(r))
          report('ssa-parameter', `${regName(r)} holds a parameter and is defined again`, b, i, x);
        if (defBlock[regIndex(r)] >= 0)
          report('ssa-definition', `${regName(r)} has several definitions`, b, i, x);
        defBlock[regIndex(r)] = b;
        defIndex[regIndex(r)] = i;
      }
    });
  });
  const check = (r: Reg, b: number, i: number, ins: Instr): void => {
    if (!inSsa(r)) return;
    const d = defBlock[regIndex(r)];
    if (d < 0 || cfg.rpoNumber[b] < 0) return;
    if (d === b ? defIndex[regIndex(r)] < i : dominates(dom, d, b)) return;
    report(
      'ssa-dominance',
      `${regName(r)} is read where its definition in BB${fn.blocks[d].id} does not dominate`,
      b,
      i,
      ins,
    );
  };
  fn.blocks.forEach(({ ins, id }, b) => {
    let above = true;
    ins.forEach((x, i) => {
      if (!isPhi(x)) {
        above = false;
        for (const o of x.src) if (o.reg !== NO_REG) check(o.reg, b, i, x);
        if (cfg.rpoNumber[b] >= 0 && isReturn(x) && x.src.length !== returned)
          report('ssa-return', `a return names ${x.src.length} of ${returned} returned values`, b, i, x);
        if (x.guard === NO_REG) return;
        check(x.guard, b, i, x);
        for (const r of x.otherwise) if (r !== NO_REG) check(r, b, i, x);
        return;
      }
      if (!above) report('phi-place', 'a phi comes after other instructions', b, i, x);
      const from = new Set<number>();
      for (let k = 0; k < x.src.length; k += 2) {
        const p = x.src[k].kind === Kind.Label ? (cfg.positionOf[x.src[k].lo] ?? -1) : -1;
        const o = x.src[k + 1];
        if (p < 0 || o === undefined || o.kind === Kind.Label) {
          report('phi-operand', 'a phi takes pairs of a predecessor and a value', b, i, x);
          return;
        }
        if (from.has(p)) report('phi-operand', `a phi names BB${fn.blocks[p].id} twice`, b, i, x);
        from.add(p);
        if (o.reg === NO_REG) continue;
        if (regFile(o.reg) !== regFile(x.dst[0]))
          report('phi-operand', `${regName(o.reg)} is of another file`, b, i, x);
        check(o.reg, p, fn.blocks[p].ins.length, x);
      }
      for (let e = cfg.predStart[b]; e < cfg.predStart[b + 1]; e++)
        if (!from.delete(cfg.pred[e]))
          report(
            'phi-operand',
            `a phi of BB${id} has no value from its predecessor BB${fn.blocks[cfg.pred[e]].id}`,
            b,
            i,
            x,
          );
      for (const p of from)
        report(
          'phi-operand',
          `a phi of BB${id} has a value from BB${fn.blocks[p].id}, which is not a predecessor`,
          b,
          i,
          x,
        );
    });
  });
  return errors;
}
