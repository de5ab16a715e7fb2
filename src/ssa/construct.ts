import { type Cfg, cfgOf } from '../analysis/flow/cfg.ts';
import { type DominatorTree, dominates, dominators } from '../analysis/flow/dominators.ts';
import { isLiveIn, isReturn, livenessOf } from '../analysis/registers/liveness.ts';
import { edit, removeUnreachable } from '../ir/draft/index.ts';
import { copyFn, toOperands, toRegs, withIns } from '../ir/edit.ts';
import { isPhi } from '../ir/flow.ts';
import { type Isa, withMods } from '../ir/opcode.ts';
import {
  isPredReg,
  label,
  makeReg,
  NO_REG,
  type Operand,
  type Reg,
  reg,
  regFile,
  regIndex,
  regWidth,
  withReg,
} from '../ir/operand.ts';
import { type Block, type Fn, type Instr, instr, NONE } from '../ir/program.ts';
import { frontiers } from './frontiers.ts';
import { inSsa } from './registers.ts';

/** A phi under construction: its operands are added while blocks are renamed. */
interface PhiDraft {
  readonly variable: Reg;
  result: Reg;
  readonly operands: Operand[];
}

/**
 * Puts a function into pruned SSA form (Cytron, Ferrante, Rosen, Wegman and Zadeck, "Efficiently Computing Static
 * Single Assignment Form and the Control Dependence Graph", 1991; pruned as by Choi, Cytron and Ferrante, 1991):
 * there is a phi where definitions join and the register is live.
 *
 * A guarded definition gets a new register and names the value that it has under a false guard. A return names the values
 * of the return registers. A register's original name denotes its value on entry: a parameter, or undefined. Registers with
 * one unguarded definition that dominates every use keep their name, so code already in SSA does not change.
 *
 * Unreachable blocks are removed unless a convergence label names them; in those that stay, values from other blocks are
 * undefined.
 *
 * Cost: liveness, dominance frontiers, and one walk of the dominator tree.
 */
export const constructSsa = (fn: Fn, isa: Isa): Fn => constructNamed(fn, isa).fn;

/** As `constructSsa`; `madeFor` maps the index of each new register to that of the original one. */
export function constructNamed(
  original: Fn,
  isa: Isa,
): { readonly fn: Fn; readonly madeFor: ReadonlyMap<number, number> } {
  const fn = edit(original, (d) => {
    removeUnreachable(d);
    // Control also enters from outside, so a loop that begins at the entry needs a separate entry block for its phis.
    if (d.entryBlock >= 0 && d.predecessors(d.entryBlock).length > 0) d.newBlock(-1, d.entryBlock);
  });
  const construction = new Construction(fn, isa);
  return { fn: construction.run(), madeFor: construction.madeFor };
}

class Construction {
  private readonly fn: Fn;
  private readonly isa: Isa;
  private readonly cfg: Cfg;
  private readonly dom: DominatorTree;
  /** Register index -> 1 if it must be renamed. */
  private readonly renamed: Uint8Array;
  private readonly phis: (PhiDraft[] | undefined)[];
  /** Register index -> the current name of its value. */
  private readonly current: Int32Array;
  /** Pairs to restore when the walk leaves a block: register index, previous name. */
  private readonly undo: number[] = [];
  readonly madeFor = new Map<number, number>();
  private regs: number;
  private readonly out: Block[];
  private readonly returned: readonly Reg[];

  constructor(fn: Fn, isa: Isa) {
    this.fn = fn;
    this.isa = isa;
    this.cfg = cfgOf(fn);
    this.dom = dominators(this.cfg);
    this.renamed = this.toRename();
    this.phis = [];
    this.regs = fn.regCount;
    this.out = [...fn.blocks];
    this.returned = fn.returns.map((p) => p.reg).filter((r) => r !== NO_REG);
    this.current = new Int32Array(fn.regCount).fill(NO_REG);
  }

  run(): Fn {
    if (!this.renamed.includes(1) && this.returned.length === 0) return this.fn;
    this.placePhis();
    this.walk();
    // Unreachable blocks are renamed one by one: a value from elsewhere is undefined there.
    for (let b = 0; b < this.cfg.count; b++)
      if (this.cfg.rpoNumber[b] < 0) {
        const mark = this.undo.length;
        this.renameBlock(b);
        this.leave(mark);
      }
    this.out.forEach((block, b) => {
      const phis = this.phis[b];
      if (phis === undefined) return;
      const ins: Instr[] = [];
      for (const p of phis) ins.push(phiOf(this.isa, p.result, p.operands));
      for (const x of block.ins) ins.push(x);
      this.out[b] = withIns(block, ins);
    });
    const { fn } = this;
    if (this.out.every((b, i) => b === fn.blocks[i])) return fn;
    return copyFn(fn, this.out, this.regs, fn.blockCount, fn.tables, fn.shape);
  }

  /**
   * By register index: 1 for those that are not in SSA yet. They have several definitions, a guarded definition without a
   * value under a false guard, a definition although they are parameters, or a definition that does not dominate a use.
   */
  private toRename(): Uint8Array {
    const { fn } = this;
    const { blocks, regCount } = fn;
    const renamed = new Uint8Array(regCount);
    const defBlock = new Int32Array(regCount).fill(-1);
    for (const p of fn.params) if (p.reg !== NO_REG) defBlock[regIndex(p.reg)] = -2;
    for (let b = 0; b < blocks.length; b++)
      for (const x of blocks[b].ins)
        for (let k = 0; k < x.dst.length; k++) {
          const r = x.dst[k];
          if (!inSsa(r)) continue;
          const i = regIndex(r);
          if (defBlock[i] !== -1 || (x.guard !== NO_REG && x.otherwise.length === 0)) renamed[i] = 1;
          defBlock[i] = b;
        }
    const seen = new Int32Array(regCount).fill(-1);
    for (let b = 0; b < blocks.length; b++) {
      const use = (r: Reg): void => {
        const i = regIndex(r);
        const d = defBlock[i];
        if (renamed[i] === 1 || d < 0 || (d === b ? seen[i] === b : dominates(this.dom, d, b))) return;
        if (inSsa(r)) renamed[i] = 1;
      };
      for (const x of blocks[b].ins) {
        // A phi reads at the end of its predecessors, where registers already in SSA are defined.
        if (!isPhi(x)) for (let k = 0; k < x.src.length; k++) if (x.src[k].reg !== NO_REG) use(x.src[k].reg);
        if (x.guard !== NO_REG) use(x.guard);
        if (isReturn(x) && x.src.length === 0) for (const p of fn.returns) if (p.reg !== NO_REG) use(p.reg);
        for (let k = 0; k < x.dst.length; k++) if (x.dst[k] !== NO_REG) seen[regIndex(x.dst[k])] = b;
      }
    }
    return renamed;
  }

  private placePhis(): void {
    const { fn, cfg } = this;
    const live = livenessOf(fn);
    const { start, items } = frontiers(cfg);
    const defBlocks = new Map<Reg, number[]>();
    for (let b = 0; b < fn.blocks.length; b++) {
      if (cfg.rpoNumber[b] < 0) continue;
      for (const x of fn.blocks[b].ins)
        for (const r of x.dst) {
          if (r === NO_REG || this.renamed[regIndex(r)] === 0) continue;
          const list = defBlocks.get(r);
          if (list === undefined) defBlocks.set(r, [b]);
          else if (list[list.length - 1] !== b) list.push(b);
        }
    }
    const placed = new Int32Array(cfg.count).fill(-1);
    for (const [r, blocks] of defBlocks) {
      const work = [...blocks];
      const i = regIndex(r);
      for (let b = work.pop(); b !== undefined; b = work.pop())
        for (let e = start[b]; e < start[b + 1]; e++) {
          const join = items[e];
          if (placed[join] === i) continue;
          placed[join] = i;
          if (!isLiveIn(live, r, join)) continue;
          const list = this.phis[join] ?? [];
          this.phis[join] = list;
          list.push({ variable: r, result: NO_REG, operands: [] });
          work.push(join);
        }
    }
  }

  /** Renames in preorder of the dominator tree, with an explicit stack because the tree may be deep. */
  private walk(): void {
    const { idom, preorder } = this.dom;
    const path: { b: number; mark: number }[] = [];
    for (const b of preorder) {
      while (path.length > 0 && path[path.length - 1].b !== idom[b]) this.leave(path.pop()!.mark);
      path.push({ b, mark: this.undo.length });
      this.renameBlock(b);
    }
    while (path.length > 0) this.leave(path.pop()!.mark);
  }

  private leave(mark: number): void {
    while (this.undo.length > mark) {
      const old = this.undo.pop()!;
      this.current[this.undo.pop()!] = old;
    }
  }

  private renameBlock(b: number): void {
    const { cfg } = this;
    for (const phi of this.phis[b] ?? []) phi.result = this.define(phi.variable);
    const block = this.fn.blocks[b];
    let ins: Instr[] | null = null;
    for (let i = 0; i < block.ins.length; i++) {
      const x = block.ins[i];
      const y = this.renameInstr(x);
      if (y !== x && ins === null) ins = block.ins.slice(0, i) as Instr[];
      ins?.push(y);
    }
    if (ins !== null) this.out[b] = withIns(block, ins);
    for (let e = cfg.succStart[b]; e < cfg.succStart[b + 1]; e++)
      for (const phi of this.phis[cfg.succ[e]] ?? [])
        phi.operands.push(label(block.id), reg(this.nameOf(phi.variable)));
  }

  private nameOf(r: Reg): Reg {
    const i = regIndex(r);
    return this.renamed[i] === 1 && this.current[i] !== NO_REG ? this.current[i] : r;
  }

  private define(r: Reg): Reg {
    const i = regIndex(r);
    const name = makeReg(this.regs++, regFile(r));
    this.madeFor.set(regIndex(name), i);
    this.undo.push(i, this.current[i]);
    this.current[i] = name;
    return name;
  }

  private renameInstr(x: Instr): Instr {
    let { src } = x;
    for (let k = 0; k < src.length; k++) {
      const o = src[k];
      if (o.reg === NO_REG) continue;
      const name = this.nameOf(o.reg);
      if (name === o.reg) continue;
      if (src === x.src) src = [...src];
      (src as Operand[])[k] = withReg(o, name);
    }
    if (isReturn(x) && this.returned.length > 0 && src.length === 0)
      src = toOperands(this.returned, (r) => reg(this.nameOf(r)));
    const guard = x.guard === NO_REG ? NO_REG : this.nameOf(x.guard);
    let { dst, otherwise } = x;
    const defines = dst.some((r) => r !== NO_REG && this.renamed[regIndex(r)] === 1);
    if (guard !== NO_REG && (defines || otherwise.length > 0)) {
      const old = toRegs(dst, (r, k) => this.valueBefore(r, x.otherwise[k] ?? NO_REG));
      if (old.some((r, k) => r !== (x.otherwise[k] ?? NO_REG)))
        otherwise = old.some((r) => r !== NO_REG) ? old : NONE;
    }
    if (defines)
      dst = toRegs(dst, (r) => (r !== NO_REG && this.renamed[regIndex(r)] === 1 ? this.define(r) : r));
    if (src === x.src && guard === x.guard && dst === x.dst && otherwise === x.otherwise) return x;
    return instr(x.op, x.mods, dst, src, x.loc, guard, x.guardNot, otherwise);
  }

  /** The register whose value a destination has if the guard is false; NO_REG if that value is undefined. */
  private valueBefore(r: Reg, named: Reg): Reg {
    if (named !== NO_REG) return this.nameOf(named);
    if (r === NO_REG || this.renamed[regIndex(r)] === 0) return NO_REG;
    const name = this.nameOf(r);
    return name !== r || this.fn.params.some((p) => p.reg === r) ? name : NO_REG;
  }
}

/** Creates a phi. @param operands pairs of a predecessor's label and the value from it */
export function phiOf(isa: Isa, result: Reg, operands: readonly Operand[]): Instr {
  if (isPredReg(result)) return instr(isa.byName.get('PMOVPHI')!, 0, [result], operands);
  const op = isa.byName.get('MOVPHI')!;
  return instr(op, regWidth(result) === 64 ? withMods(op, 0, '64') : 0, [result], operands);
}
