import { cfgOf } from '../../src/analysis/flow/cfg.ts';
import { withMods } from '../../src/ir/opcode.ts';
import {
  isPredReg,
  label,
  makeReg,
  NO_REG,
  type Operand,
  type Reg,
  RegFile,
  reg,
  regFile,
  regIndex,
  withReg,
} from '../../src/ir/operand.ts';
import { type Block, type Fn, type Instr, instr, newShape } from '../../src/ir/program.ts';
import { testIsa } from './isa.ts';

/**
 * The simplest SSA form: every join has a phi for every register; unreachable blocks are removed. For tests that need some function in SSA;
 * all other instructions stay as they are.
 *
 * @returns the function and, by new register index, the original register (-1 for none)
 */
export function simpleSsa(fn: Fn): { fn: Fn; was: Map<number, Reg> } {
  const isa = testIsa();
  const cfg = cfgOf(fn);
  const was = new Map<number, Reg>();
  let regs = fn.regCount;
  const fresh = (r: Reg): Reg => {
    const n = makeReg(regs++, regFile(r));
    was.set(regIndex(n), r);
    return n;
  };
  const all = new Map<number, Reg>();
  for (const b of fn.blocks)
    for (const x of b.ins) for (const r of x.dst) if (r !== NO_REG) all.set(regIndex(r), r);
  for (const p of fn.params) if (p.reg !== NO_REG) was.set(regIndex(p.reg), p.reg);

  const out: Map<number, Reg>[] = [];
  const phis: { at: number; r: Reg; d: Reg }[] = [];
  const bodies: Instr[][] = [];
  for (const b of cfg.rpo) {
    const preds = [...cfg.pred.subarray(cfg.predStart[b], cfg.predStart[b + 1])].filter(
      (p) => cfg.rpoNumber[p] >= 0,
    );
    const now = new Map<number, Reg>(preds.length === 1 ? out[preds[0]] : []);
    if (preds.length > 1)
      for (const r of all.values()) {
        const d = fresh(r);
        phis.push({ at: b, r, d });
        now.set(regIndex(r), d);
      }
    const read = (r: Reg): Reg => {
      if (r === NO_REG || !all.has(regIndex(r))) return r;
      let n = now.get(regIndex(r));
      if (n === undefined) now.set(regIndex(r), (n = fresh(r)));
      return n;
    };
    const use = (o: Operand): Operand => withReg(o, read(o.reg));
    bodies[b] = fn.blocks[b].ins.map((x) => {
      const src = x.src.map(use);
      const guard = read(x.guard);
      const otherwise = guard === NO_REG ? [] : x.dst.map(read);
      const dst = x.dst.map((r) => (r === NO_REG ? r : fresh(r)));
      x.dst.forEach((r, k) => {
        if (r !== NO_REG) now.set(regIndex(r), dst[k]);
      });
      return instr(x.op, x.mods, dst, src, x.loc, guard, x.guardNot, otherwise);
    });
    out[b] = now;
  }
  const top: Instr[][] = fn.blocks.map(() => []);
  for (const { at, r, d } of phis) {
    const src: Operand[] = [];
    for (let e = cfg.predStart[at]; e < cfg.predStart[at + 1]; e++) {
      const p = cfg.pred[e];
      if (cfg.rpoNumber[p] < 0) continue;
      let v = out[p].get(regIndex(r));
      if (v === undefined) out[p].set(regIndex(r), (v = fresh(r)));
      src.push(label(fn.blocks[p].id), reg(v));
    }
    const op = isa.byName.get(isPredReg(r) ? 'PMOVPHI' : 'MOVPHI')!;
    top[at].push(instr(op, regFile(r) === RegFile.RD ? withMods(op, 0, '64') : 0, [d], src));
  }
  const blocks: Block[] = fn.blocks
    .map((b, p) => ({ ...b, ins: cfg.rpoNumber[p] < 0 ? [] : [...top[p], ...bodies[p]] }))
    .filter((_, p) => cfg.rpoNumber[p] >= 0);
  const ids = new Set(blocks.map((b) => b.id));
  const tables = fn.tables.map((t) => t.filter((id) => ids.has(id)));
  return { fn: { ...fn, blocks, tables, regCount: regs, shape: newShape() }, was };
}
