import { isPlainLoad } from '../../analysis/calls/effects.ts';
import { type Cell, type PromotableAccess, promotable } from '../../analysis/memory/promotable.ts';
import { bytesOf, fileOfBytes } from '../../ir/bytes-of.ts';
import { type Draft, edit } from '../../ir/draft/index.ts';
import { withDeclarations } from '../../ir/edit.ts';
import { copyLike, movesOf, otherwiseFor } from '../../ir/moves.ts';
import { type Isa, withMods } from '../../ir/opcode.ts';
import { addr, imm, NO_REG, type Operand, type Reg, RegFile, reg } from '../../ir/operand.ts';
import { type Fn, type Instr, instr, type Variable } from '../../ir/program.ts';
import { printInstr } from '../../ir/text.ts';
import { constructSsa } from '../../ssa/construct.ts';
import type { Pass, PassContext } from '../pass.ts';
import { chosen, limitsOf, type Promoted } from './promotion-choice.ts';

/**
 * Phases 37 and 65: promotes local memory to registers.
 *
 *     before                              after
 *     BB0:                                BB0:
 *           STL [a+4], R1                   @P2 BRA BB2
 *       @P2 BRA BB2                       BB1:
 *     BB1:                                      ...
 *           STL [a+4], R3                 BB2:
 *     BB2:                                      MOVPHI R7, {BB0: R1, BB1: R3}
 *           LDL R4, [a+4]                       MOV R4, R7
 *
 * `promotable` decides what is promoted, and in which pieces. Each piece becomes a register with one definition per
 * store, and SSA construction inserts phis where they join. If only a part of a word is stored or loaded, bit fields
 * combine and extract it. A path without a store reads from memory as before: one load at the entry, which is removed
 * if there is no such path. A guarded store is a guarded definition.
 *
 * `chosen` selects variables by the number and kind of their accesses, with its knobs. Parameters:
 * `full-weight`, the cost of an access that does not become a plain copy, and `many-uses`: a value with more uses than this costs as
 * much.
 *
 * Requires: control-last, ssa. Guarantees: ssa; blocks and edges stay, except that an entry which is a loop header
 * gets a block in front. A second application changes nothing: promoted variables are no longer in memory, except for
 * the loads at the entry, which stay.
 * Bound: one address analysis and one SSA construction, if the function has local variables.
 */
export const promoteMemory: Pass = (fn, ctx) => {
  if (!fn.variables.some((v) => v.space === 'local') || !storesLocal(fn)) return fn;
  const found = chosen(
    fn,
    promotable(fn, ctx.program.variables),
    limitsOf(ctx, weightsOf(ctx)),
    (variable, why) => ctx.remark('missed', 'not-promoted', `${variable} stays in memory: ${why}`),
  );
  if (found.accesses.length === 0) return fn;
  if (!ctx.mayRewrite('promoted')) return fn;
  const rewritten = edit(fn, (d) => new Promotion(d, found, ctx).run(), ctx.isa);
  const names = [...new Set(found.cells.map((c) => c.variable))];
  for (const name of names) {
    const own = found.cells.filter((c) => c.variable === name);
    ctx.remark('passed', 'promoted', `${name} becomes ${own.length} registers`);
  }
  return withAlignment(edit(constructSsa(rewritten, ctx.isa), dropUnreadLoads), found.cells);
};

/** Weights of accesses as instructions (seed 001, phase 37). */
const weightsOf = ({ params }: PassContext) => ({
  fullWeight: Number(params['full-weight'] ?? 1),
  manyUses: Number(params['many-uses'] ?? 4),
});

/** Aligns variables for the loads at the entry, which may be wider than the original accesses. */
function withAlignment(fn: Fn, cells: readonly Cell[]): Fn {
  const least = new Map<string, number>();
  for (const { variable, bytes } of cells) least.set(variable, Math.max(bytes, least.get(variable) ?? 1));
  const low = (v: Variable): boolean => v.align < (least.get(v.name) ?? 1);
  if (!fn.variables.some(low)) return fn;
  return withDeclarations(
    fn,
    fn.variables.map((v) => (low(v) ? { ...v, align: least.get(v.name)! } : v)),
  );
}

/** Is there a store that may go to local memory? Memory that is only read stays as it is. */
const storesLocal = (fn: Fn): boolean =>
  fn.blocks.some((b) =>
    b.ins.some((x) => x.op.primitive === 'store' && (x.op.space === 'local' || x.op.space === 'generic')),
  );

/** Removes loads of local memory at the entry whose values are not read. */
function dropUnreadLoads(d: Draft): void {
  for (let n = d.first(d.entryBlock), next: number; n >= 0; n = next) {
    next = d.next(n);
    const { op, dst } = d.at(n);
    const isUnread = dst.every((r) => r === NO_REG || d.useCount(r) === 0);
    if (isUnread && op.space === 'local' && isPlainLoad(d.at(n))) d.remove(n);
  }
}

const TYPES: Readonly<Record<number, string>> = { 1: 'U8', 2: 'U16', 4: 'B32', 8: 'B64' };

class Promotion {
  private readonly d: Draft;
  private readonly ctx: PassContext;
  private readonly isa: Isa;
  private readonly found: Promoted;
  /** By cell: its register. */
  private readonly registers: readonly Reg[];

  constructor(d: Draft, found: Promoted, ctx: PassContext) {
    this.d = d;
    this.ctx = ctx;
    this.isa = ctx.isa;
    this.found = found;
    this.registers = found.cells.map((c) => d.freshReg(fileOfBytes(c.bytes)));
  }

  run(): void {
    const { d } = this;
    for (const a of this.found.accesses) {
      const ins = d.at(a.n);
      const names = [...new Set(a.pieces.map(({ cell }) => this.found.cells[cell].variable))].join(', ');
      const block = d.id(d.block(a.n));
      this.ctx.remark('passed', 'access-promoted', `${printInstr(ins)}: ${names} is in registers`, {
        block,
        ins,
      });
      d.replaceBy(a.n, a.isStore ? this.store(a) : this.load(a));
    }
    const entry = d.predecessors(d.entryBlock).length > 0 ? d.newBlock(-1, d.entryBlock) : d.entryBlock;
    const load = this.isa.byName.get('LDL')!;
    this.found.cells.forEach(({ variable, at, bytes }, k) => {
      const from = addr(NO_REG, at, variable);
      d.insertAtStart(entry, instr(load, withMods(load, 0, TYPES[bytes]), [this.registers[k]], [from]));
    });
  }

  private store({ n, elements: { bytes }, pieces }: PromotableAccess): Instr[] {
    const ins = this.d.at(n);
    return pieces.map(({ cell, at }, k) => {
      const value = ins.src[1 + k];
      const to = this.registers[cell];
      const held = this.found.cells[cell].bytes;
      if (bytes > held) return this.under('UNPAIR', ins, [to, this.registers[cell + 1]], [value]);
      if (bytes === held) return copyLike(movesOf(this.isa), to, value, ins);
      return this.under('BFI', ins, [to], [value, reg(to), imm(8 * at), imm(8 * bytes)]);
    });
  }

  private load({ n, elements: { bytes, signed }, pieces }: PromotableAccess): Instr[] {
    const ins = this.d.at(n);
    return pieces.flatMap(({ cell, at }, k) => {
      const to = ins.dst[k];
      if (to === NO_REG) return [];
      const from = reg(this.registers[cell]);
      const held = this.found.cells[cell].bytes;
      if (bytes > held) return [this.under('PAIR', ins, [to], [from, reg(this.registers[cell + 1])])];
      const register = held === 8 ? 8 : 4;
      return bytesOf(this.isa, to, from, register, at, bytes, signed, ins, () => this.d.freshReg(RegFile.R));
    });
  }

  private under(name: string, like: Instr, dst: Reg[], src: Operand[]): Instr {
    const { loc, guard, guardNot } = like;
    return instr(this.isa.byName.get(name)!, 0, dst, src, loc, guard, guardNot, otherwiseFor(like, dst));
  }
}
