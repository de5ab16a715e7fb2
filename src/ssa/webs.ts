import {
  copyFn,
  toOperands,
  toRegs,
  withDst,
  withGuard,
  withIns,
  withOtherwise,
  withSrc,
} from '../ir/edit.ts';
import { hasSsaForms, isPhi } from '../ir/flow.ts';
import { tiesOf } from '../ir/foreign-text.ts';
import type { Isa } from '../ir/opcode.ts';
import { makeReg, NO_REG, type Reg, regFile, regIndex, withReg } from '../ir/operand.ts';
import { type Block, type Fn, type Instr, NONE } from '../ir/program.ts';
import { constructNamed } from './construct.ts';

/** The result of `renameWebs`; `split` is the number of additional names. */
export interface Webs {
  readonly fn: Fn;
  readonly split: number;
}

/**
 * Gives each web of a register a name of its own. A web is a set of definitions connected by common uses, with all
 * these uses. A register that the program uses for several purposes becomes several registers.
 *
 * The function is put into SSA form. A web consists of the values that phis, values under false guards, ties and returns
 * connect. In freshly built SSA form no two values of one register are live at once, so connected ones can share a name and
 * no phi needs a copy. One web of a register keeps its name: the one with the value on entry if that is read, else the first
 * in the layout.
 *
 * Returns the function itself if every register is one web, as in SSA.
 */
export function renameWebs(fn: Fn, isa: Isa): Webs {
  if (hasSsaForms(fn)) return { fn, split: 0 };
  const { fn: ssa, madeFor } = constructNamed(fn, isa);
  const webs = new DisjointSets(ssa.regCount);
  /** The index of the original register of a value. */
  const nameOf = (r: Reg): number => madeFor.get(regIndex(r)) ?? regIndex(r);
  const returns = ssa.returns.map((p) => p.reg).filter((r) => r !== NO_REG);
  /** Register indexes in order of occurrence, first those of parameters and return values. */
  const occurring: number[] = [];
  const record = (r: Reg): void => {
    if (r !== NO_REG) occurring.push(regIndex(r));
  };
  for (const p of [...ssa.params, ...ssa.returns]) record(p.reg);
  for (const b of ssa.blocks)
    for (const x of b.ins) {
      for (const o of x.src) record(o.reg);
      for (const r of x.otherwise) record(r);
      x.dst.forEach((r, k) => {
        record(r);
        if (r === NO_REG) return;
        if (isPhi(x)) for (const o of x.src) if (o.reg !== NO_REG) webs.unite(regIndex(r), regIndex(o.reg));
        if ((x.otherwise[k] ?? NO_REG) !== NO_REG) webs.unite(regIndex(r), regIndex(x.otherwise[k]));
      });
      // A register that an instruction both reads and writes stays one register.
      for (const t of tiesOf(x)) {
        const [to, from] = [x.dst[t.dst], x.src[t.src].reg];
        if (to !== NO_REG && from !== NO_REG && nameOf(to) === nameOf(from))
          webs.unite(regIndex(to), regIndex(from));
      }
      if (x.op.primitive === 'return')
        x.src.forEach((o, k) => void webs.unite(regIndex(o.reg), regIndex(returns[k])));
    }
  // The web that contains a register's original name keeps it; if that name does not occur, the first web of the register gets it.
  const name = new Map<number, number>();
  const taken = new Set<number>();
  for (const i of occurring)
    if (!madeFor.has(i)) {
      name.set(webs.find(i), i);
      taken.add(i);
    }
  let split = 0;
  for (const i of occurring) {
    const web = webs.find(i);
    if (name.has(web)) continue;
    const own = madeFor.get(i) ?? i;
    if (taken.has(own)) split++;
    name.set(web, taken.has(own) ? i : own);
    taken.add(own);
  }
  if (split === 0) return { fn, split };
  const rename = (r: Reg): Reg =>
    r === NO_REG ? r : makeReg(name.get(webs.find(regIndex(r))) ?? regIndex(r), regFile(r));
  const was = new Map(fn.blocks.map((b) => [b.id, b]));
  const blocks: Block[] = [];
  for (const b of ssa.blocks) blocks.push(withoutNames(b, was.get(b.id), rename));
  const regs = Math.max(ssa.regCount, fn.regCount);
  return { fn: copyFn(ssa, blocks, regs, ssa.blockCount, ssa.tables, ssa.shape), split };
}

/** The block without phis and renamed to webs. Instructions equal to those of the original block are shared with it. */
function withoutNames(b: Block, was: Block | undefined, rename: (r: Reg) => Reg): Block {
  const ins: Instr[] = [];
  for (const x of b.ins) {
    if (isPhi(x)) continue;
    const y = renamed(x, rename);
    const old = was?.ins[ins.length];
    ins.push(old !== undefined && sameRegisters(old, y) ? old : y);
  }
  const same = was !== undefined && was.ins.length === ins.length && ins.every((x, i) => x === was.ins[i]);
  return same ? was : withIns(b, ins);
}

/** Do two versions of one instruction name the same registers? */
const sameRegisters = (a: Instr, b: Instr): boolean =>
  a.guard === b.guard &&
  a.dst.every((r, k) => r === b.dst[k]) &&
  a.src.every((o, k) => o.reg === b.src[k].reg);

function renamed(x: Instr, rename: (r: Reg) => Reg): Instr {
  let y = x;
  if (x.op.primitive === 'return' && x.src.length > 0) y = withSrc(y, []);
  else if (x.src.some((o) => rename(o.reg) !== o.reg))
    y = withSrc(
      y,
      toOperands(x.src, (o) => (o.reg === NO_REG ? o : withReg(o, rename(o.reg)))),
    );
  if (x.otherwise.length > 0) y = withOtherwise(y, NONE);
  if (rename(x.guard) !== x.guard) y = withGuard(y, rename(x.guard), x.guardNot);
  if (x.dst.some((r) => rename(r) !== r)) y = withDst(y, toRegs(x.dst, rename));
  return y;
}

/** Disjoint sets of register indexes (union-find). */
class DisjointSets {
  private readonly up: Int32Array;

  constructor(count: number) {
    this.up = Int32Array.from({ length: count }, (_, i) => i);
  }

  find(i: number): number {
    const { up } = this;
    while (up[i] !== i) {
      up[i] = up[up[i]];
      i = up[i];
    }
    return i;
  }

  unite(a: number, b: number): void {
    this.up[this.find(a)] = this.find(b);
  }
}
