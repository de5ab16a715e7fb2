import { LiveWalker, livenessOf, Pool, poolOf, reads, unitsIn } from '../../analysis/registers/liveness.ts';
import { pressureOf } from '../../analysis/registers/pressure.ts';
import { Once, onceOf } from '../../analysis/registers/uniform-registers.ts';
import { convergenceOf } from '../../analysis/synchronization/warp-convergence.ts';
import { type DefUse, defUseOf } from '../../analysis/values/defuse.ts';
import { copyFn, mapIns, renamedBy, toOperands } from '../../ir/edit.ts';
import { copyOf, type Moves, movesOf } from '../../ir/moves.ts';
import {
  Kind,
  makeReg,
  NO_REG,
  type Reg,
  reg,
  regFile,
  regIndex,
  regName,
  withReg,
} from '../../ir/operand.ts';
import { type Block, type Fn, type Instr, instr } from '../../ir/program.ts';
import { isSet, type Pass, type PassContext } from '../pass.ts';
import { inFile, isUniformReg, mayBeUniform, type UniformFacts, UniformForms } from './uniform-forms.ts';

/**
 * Phases 74, ConvertToUniformReg, and 86, InsertPseudoUseDefForConvUR: values that a warp needs only once move to the uniform register
 * file.
 *
 *     before                              after
 *     BB0:                                BB0:
 *           LDC R1, c[0x0][0x160]               LDC UR1, c[0x0][0x160]
 *           S2R.CTAID.X R2                      S2R.CTAID.X UR2
 *           IMAD R3, R1, R2, RZ                 IMAD UR3, UR1, UR2, RZ
 *           S2R.TID.X R4                        S2R.TID.X R4
 *           IADD3 R5, R4, R3                    IADD3 R5, R4, UR3
 *
 * A register moves if
 * - one copy for the warp does what a copy for each lane does (`onceOf`): it never changes, or changes only while all
 *   lanes are together. Equal values are not enough; see there.
 * - every instruction that writes it has a form in the uniform datapath, with uniform operands only;
 * - every reader can read it there: another uniform instruction, or one whose operand may be a uniform register. For any other reader,
 *   a copy in front of it is a bridge; at most `max-bridges` readers of a register may need one (absent: none). The back end's
 *   `uniform` lists what the datapath computes and which instructions read from it.
 *
 * Where the files would be full (`limits`), the registers with the fewest uses that are live at the fullest place stay, in at most as
 * many rounds as knob 862 says; if that does not suffice, nothing moves.
 *
 * With `only: existing` no register moves in; those for which the conditions no longer hold move out, and readers that later phases
 * made get their bridge. That is all that phase 86 has to do where machine code has uniform values in general registers: its pseudo uses
 * keep a uniform register from being reused while lanes that lag behind still need it.
 *
 * Knobs: with DisableConvergentWriteUR, registers that change while lanes are together do not move; with DisableURLiveAcrossConvBound,
 * neither do those that are read where lanes may be apart.
 *
 * Requires: control-last, phi-free. Guarantees: the same instructions and blocks, apart from bridges; equivalence. A second application
 * changes nothing, unless bridges have enabled readers to take another uniform register.
 * Bound: in each round, each instruction once for each of its registers that stays.
 */
export const convertToUniform: Pass = (fn, ctx) => {
  if (fn.kind !== 'entry') return fn;
  const facts = ctx.fact('uniform') as UniformFacts;
  const existing = ctx.params.only === 'existing';
  const banned = new Set<number>();
  const rounds = Number(ctx.knob('Knob862'));
  for (let round = 0; round <= rounds; round++) {
    const chosen = new Choice(fn, ctx, facts, existing, banned).chosen;
    const out = rename(fn, chosen);
    const full = overfull(out, ctx);
    if (full.length === 0) return finish(fn, out, new UniformForms(facts), ctx);
    for (const r of full) banned.add(r);
  }
  ctx.remark('missed', 'uniform-full', `more uniform values are live at once than there are registers`);
  return existing ? rename(fn, new Uint8Array(fn.regCount)) : fn;
};

/** Which registers are uniform: the greatest set for which the conditions hold. */
class Choice {
  /** By register index. */
  readonly chosen: Uint8Array;
  private readonly forms: UniformForms;
  private readonly bridges: number;
  private readonly du: DefUse;
  private readonly moves: Moves;
  private readonly work: number[] = [];
  /** By register index: the readers that need a bridge. */
  private readonly bridged = new Map<number, Set<number>>();

  constructor(fn: Fn, ctx: PassContext, facts: UniformFacts, existing: boolean, banned: ReadonlySet<number>) {
    this.forms = new UniformForms(facts);
    this.bridges = Number(ctx.params['max-bridges'] ?? 0);
    this.du = defUseOf(fn);
    this.moves = movesOf(ctx.isa);
    this.chosen = new Uint8Array(fn.regCount);
    const { du, chosen } = this;
    const once = onceOf(fn);
    const { at } = convergenceOf(fn);
    const noWrites = isSet(ctx.knob('DisableConvergentWriteUR'));
    const noParting = isSet(ctx.knob('DisableURLiveAcrossConvBound'));
    for (const x of du.ins)
      for (const r of x.dst) {
        if (r === NO_REG || !mayBeUniform(r) || (existing && !isUniformReg(r))) continue;
        const i = regIndex(r);
        if (once[i] === Once.No || banned.has(i) || (noWrites && once[i] !== Once.Steady)) continue;
        if (noParting && this.isReadApart(i, at)) continue;
        chosen[i] = 1;
      }
    for (let n = 0; n < du.ins.length; n++) this.examine(n);
    for (let n = this.work.pop(); n !== undefined; n = this.work.pop()) this.examine(n);
  }

  private isReadApart(i: number, at: Uint8Array): boolean {
    const { useStart, uses } = this.du;
    for (let u = useStart[i]; u < useStart[i + 1]; u++) if (at[uses[u]] === 0) return true;
    return false;
  }

  private readonly isChosen = (r: Reg): boolean => this.chosen[regIndex(r)] === 1;

  /** Drops the registers that an instruction cannot write or read as uniform ones. */
  private examine(n: number): void {
    const x = this.du.ins[n];
    if (this.forms.computes(x, this.isChosen)) return;
    for (const r of x.dst) if (r !== NO_REG) this.drop(regIndex(r));
    for (const r of this.forms.refuses(x, this.isChosen)) {
      const i = regIndex(r);
      let readers = this.bridged.get(i);
      if (readers === undefined) this.bridged.set(i, (readers = new Set()));
      readers.add(n);
      // A copy of a copy gains nothing.
      if (readers.size > this.bridges || this.isCopy(i)) this.drop(i);
    }
  }

  private isCopy(i: number): boolean {
    const { defStart, defs, ins } = this.du;
    for (let k = defStart[i]; k < defStart[i + 1]; k++)
      if (copyOf(this.moves, ins[defs[k]])?.kind === Kind.Reg) return true;
    return false;
  }

  private drop(i: number): void {
    const { chosen, du, work } = this;
    if (chosen[i] === 0) return;
    chosen[i] = 0;
    for (let k = du.defStart[i]; k < du.defStart[i + 1]; k++) work.push(du.defs[k]);
    for (let u = du.useStart[i]; u < du.useStart[i + 1]; u++) work.push(du.uses[u]);
  }
}

/** The function with the chosen registers in the uniform file and all others outside it; itself if they are already. */
function rename(fn: Fn, chosen: Uint8Array): Fn {
  const blocks: Block[] = [];
  for (const b of fn.blocks) blocks.push(mapIns(b, (x) => renamed(x, chosen)));
  if (blocks.every((b, k) => b === fn.blocks[k])) return fn;
  return copyFn(fn, blocks, fn.regCount, fn.blockCount, fn.tables, fn.shape);
}

function renamed(x: Instr, chosen: Uint8Array): Instr {
  let moves = x.guard !== NO_REG && inItsFile(x.guard, chosen) !== x.guard;
  for (let k = 0; k < x.dst.length && !moves; k++) moves = inItsFile(x.dst[k], chosen) !== x.dst[k];
  for (let k = 0; k < x.otherwise.length && !moves; k++)
    moves = inItsFile(x.otherwise[k], chosen) !== x.otherwise[k];
  for (let k = 0; k < x.src.length && !moves; k++) moves = inItsFile(x.src[k].reg, chosen) !== x.src[k].reg;
  if (!moves) return x;
  const to = (r: Reg): Reg => inItsFile(r, chosen);
  return renamedBy(x, to, (o) => withReg(o, to(o.reg)));
}

/** The register in the uniform file if it is chosen, else outside it. */
const inItsFile = (r: Reg, chosen: Uint8Array): Reg =>
  r === NO_REG ? r : inFile(r, chosen[regIndex(r)] === 1);

/**
 * The registers to take out of the uniform files, by index: wherever more are live than there are, as many as exceed the limit, those
 * with the fewest definitions and uses first.
 */
function overfull(fn: Fn, ctx: PassContext): number[] {
  const limits = [
    [Pool.UR, Number(ctx.fact('limits.max-uniform-registers'))],
    [Pool.UP, Number(ctx.fact('limits.max-uniform-predicates'))],
  ] as const;
  const pressure = pressureOf(fn);
  if (limits.every(([pool, most]) => pressure.most[pool] <= most)) return [];
  const { useStart, defStart } = defUseOf(fn);
  const touches = (r: Reg): number => {
    const i = regIndex(r);
    return useStart[i + 1] - useStart[i] + defStart[i + 1] - defStart[i];
  };
  const out = new Set<number>();
  const liveness = livenessOf(fn);
  const { slot, fileOf } = liveness.globals;
  const walker = new LiveWalker(liveness);
  for (const [pool, most] of limits) {
    // Of the live rows: registers that are not of the pool, or leave it, so that a block in which many are live is not searched for
    // each.
    const settled = Int32Array.from(fileOf, (file) => (poolOf(makeReg(0, file)) === pool ? 0 : -1));
    for (const i of out) if (slot[i] >= 0) settled[slot[i] >>> 5] |= 1 << (slot[i] & 31);
    // Live registers of the pool that may stay, maintained from instruction to instruction.
    const live = new Set<Reg>();
    let units = 0;
    const examine = (r: Reg): void => {
      if (!isUniformReg(r) || poolOf(r) !== pool) return;
      const stays = walker.isLive(r) && !out.has(regIndex(r));
      if (stays === live.has(r)) return;
      units += stays ? unitsIn(r) : -unitsIn(r);
      if (stays) live.add(r);
      else live.delete(r);
    };
    for (const [b, { ins }] of fn.blocks.entries()) {
      if (pressure.inBlock(b, pool) <= most) continue;
      walker.enter(b);
      live.clear();
      units = 0;
      walker.eachGlobal(settled, examine);
      for (let i = ins.length - 1; i >= -1; i--) {
        if (units > most)
          for (const r of [...live].sort((p, q) => touches(p) - touches(q) || p - q)) {
            if (units <= most) break;
            const i = regIndex(r);
            out.add(i);
            if (slot[i] >= 0) settled[slot[i] >>> 5] |= 1 << (slot[i] & 31);
            examine(r);
          }
        if (i < 0) continue;
        walker.step(ins[i]);
        ins[i].dst.forEach(examine);
        reads(ins[i], examine);
      }
    }
  }
  return [...out];
}

/** Inserts the bridges and reports what was done; `fn` itself if nothing was done, or may be done. */
function finish(fn: Fn, renamed: Fn, forms: UniformForms, ctx: PassContext): Fn {
  const moves = movesOf(ctx.isa);
  let { regCount } = fn;
  let bridges = 0;
  const isUniform = (r: Reg): boolean => isUniformReg(r);
  const bridged = (b: Block): Block =>
    mapIns(b, (x) => {
      if (forms.computes(x, isUniform)) return x;
      const refused = forms.refuses(x, isUniform);
      if (refused.length === 0) return x;
      const copies = new Map(refused.map((r) => [r, makeReg(regCount++, regFile(inFile(r, false)))]));
      bridges += copies.size;
      const of = (r: Reg): Reg => copies.get(r) ?? r;
      return [
        ...[...copies].map(([from, to]) => moves.move(to, reg(from), x.loc)),
        instr(
          x.op,
          x.mods,
          x.dst,
          toOperands(x.src, (o) => withReg(o, of(o.reg))),
          x.loc,
          of(x.guard),
          x.guardNot,
          x.otherwise,
        ),
      ];
    });
  const blocks: Block[] = [];
  for (const b of renamed.blocks) blocks.push(bridged(b));
  if (renamed === fn && bridges === 0) return fn;
  if (!ctx.mayRewrite('uniform')) return fn;
  report(fn, renamed, ctx);
  if (bridges === 0) return renamed;
  ctx.remark('passed', 'uniform-bridges', `${bridges} copies for readers that take no uniform register`, {
    count: bridges,
  });
  return copyFn(renamed, blocks, regCount, renamed.blockCount, renamed.tables, renamed.shape);
}

/** Reports each register that moved. */
function report(fn: Fn, renamed: Fn, ctx: PassContext): void {
  const reported = new Set<Reg>();
  for (const [b, { id, ins }] of fn.blocks.entries())
    for (const [i, x] of ins.entries())
      for (const [k, r] of x.dst.entries()) {
        const now = renamed.blocks[b].ins[i].dst[k];
        if (r === now || reported.has(r)) continue;
        reported.add(r);
        const name = isUniformReg(now) ? 'uniform' : 'uniform-left';
        ctx.remark('passed', name, `${regName(r)} is ${regName(now)}`, { block: id, ins: x });
      }
}
