import { frequencyOf } from '../../analysis/flow/frequency.ts';
import { inLoop, type Loop, loopBlocks, loopsOf, preheader } from '../../analysis/loops/loops.ts';
import type { Evolutions } from '../../analysis/loops/scalar-evolution.ts';
import { tripCountsOf } from '../../analysis/loops/trip-count.ts';
import { Pool } from '../../analysis/registers/liveness.ts';
import { pressureOf } from '../../analysis/registers/pressure.ts';
import type { LinearForm } from '../../analysis/values/linear.ts';
import { type BlockNo, type Draft, edit, type Ins } from '../../ir/draft/index.ts';
import { toOperands, withSrc } from '../../ir/edit.ts';
import { isPhi } from '../../ir/flow.ts';
import { movesOf } from '../../ir/moves.ts';
import { withMods } from '../../ir/opcode.ts';
import {
  addr,
  immOf,
  Kind,
  label,
  NO_REG,
  type Operand,
  type Reg,
  RegFile,
  RZ,
  reg,
  regWidth,
} from '../../ir/operand.ts';
import { type Fn, instr } from '../../ir/program.ts';
import { constructSsa, phiOf } from '../../ssa/construct.ts';
import { leaveSsa } from '../../ssa/leave.ts';
import type { Pass, PassContext } from '../pass.ts';

/** Offsets of accesses are signed numbers of this many bits in machine code (global memory, from Volta on). */
const OFFSET_BITS = 24;

/**
 * Phase 21, OriStrengthReduce: an address that changes by the same amount in each iteration of a loop is advanced instead of
 * recomputed.
 *
 *     before                            after
 *     BB0:                              BB0:
 *           MOV R1, RZ                        MOV R1, RZ
 *                                             IADD3.64 RD8, RD4, 64
 *     BB1:                              BB1:
 *           IMAD_WIDE RD2, R1, 4, RD4         LDG R3, [RD8+8]
 *           IADD3.64 RD6, RD2, 64             STG [RD8-64], R3
 *           LDG R3, [RD6+8]                   IADD3 R1, R1, 1
 *           STG [RD2], R3                     ISETP.LT P7, R1, 40
 *           IADD3 R1, R1, 1                   IADD3.64 RD8, RD8, 4
 *           ISETP.LT P7, R1, 40           @P7 BRA BB1
 *       @P7 BRA BB1
 *
 * Applies to innermost loops with a preheader and one latch. A candidate is a 64-bit register that is the base of accesses and has the
 * value start + k * step in iteration k (`Evolutions`: an index that is extended must be known not to wrap). Candidates that differ
 * only by a constant within the reach of an offset share one new register, which starts in the preheader and is advanced in the latch.
 *
 * It pays if at least `least-gain` more instructions become unused than the steps cost, a 64-bit addition counting as `step-cost` (the
 * hardware has none: it takes two of 32 bits), and if, by frequency, that outweighs what the preheader gains. Registers: a new base,
 * and a step that is not constant, are live through the loop; the loop's pressure with them must not exceed `max-pressure` (32-bit
 * units; absent: no limit).
 *
 * Does nothing if the binding sets `on` to false. Requires: control-last, phi-free. Guarantees: control-last, phi-free. A second
 * application changes nothing: an address that is advanced is no candidate.
 * Bound: linear in the instructions of innermost loops; SSA is left again only where something changes.
 */
export const addressRecurrences: Pass = (fn, ctx) => {
  const on = ctx.params.on !== false && ctx.params.on !== 0;
  if (!on || loopsOf(fn).loops.length === 0) return fn;
  const ssa = constructSsa(fn, ctx.isa);
  const { evolutions } = tripCountsOf(ssa);
  if (!evolutions.ssa) return fn;
  const out = edit(
    ssa,
    (d) => {
      for (const loop of loopsOf(ssa).loops)
        if (loop.children.length === 0) new Reducer(ssa, d, loop, evolutions, ctx).run();
    },
    ctx.isa,
  );
  return out === ssa ? fn : leaveSsa(out, ctx.isa);
};

/** Bases that advance together. */
interface Group {
  readonly start: LinearForm;
  readonly step: LinearForm;
  readonly members: { readonly base: Reg; readonly ahead: bigint }[];
}

class Reducer {
  private readonly fn: Fn;
  private readonly d: Draft;
  private readonly loop: Loop;
  private readonly evolutions: Evolutions;
  private readonly ctx: PassContext;
  private readonly before: BlockNo;

  constructor(fn: Fn, d: Draft, loop: Loop, evolutions: Evolutions, ctx: PassContext) {
    this.fn = fn;
    this.d = d;
    this.loop = loop;
    this.evolutions = evolutions;
    this.ctx = ctx;
    this.before = preheader(loopsOf(fn), loop.id);
  }

  run(): void {
    const { fn, ctx, loop } = this;
    if (this.before < 0 || loop.latches.length !== 1) return;
    const [leastGain, stepCost] = [
      Number(ctx.params['least-gain'] ?? 1),
      Number(ctx.params['step-cost'] ?? 2),
    ];
    const most = Number(ctx.params['max-pressure'] ?? Number.POSITIVE_INFINITY);
    const often = frequencyOf(fn).block;
    let live = -1;
    for (const g of this.groups()) {
      const gone = this.freed(g);
      const saved = gone.size - stepCost;
      const once = g.start.terms.length + g.step.terms.length + 1;
      const block = fn.blocks[loop.header].id;
      if (saved < leastGain || saved * often[loop.header] <= once * often[this.before]) continue;
      if (live < 0) live = pressureOf(fn).inLoop(loop.id, Pool.R);
      const more = g.step.terms.length > 0 ? 4 : 2;
      if (live + more > most) {
        ctx.remark(
          'missed',
          'pressure',
          `an address of the loop at BB${block}: ${live} registers live in it`,
          {
            block,
          },
        );
        continue;
      }
      if (!ctx.mayRewrite('advanced', block)) return;
      live += more;
      this.advance(g, gone);
      const many = g.members.length === 1 ? 'an address' : `${g.members.length} addresses`;
      ctx.remark(
        'passed',
        'advanced',
        `${many} of the loop at BB${block}: ${saved} fewer instructions per iteration`,
        { block, count: g.members.length },
      );
    }
  }

  private groups(): Group[] {
    const { fn, loop, evolutions } = this;
    const groups = new Map<string, Group>();
    const visited = new Set<Reg>();
    for (const b of loopBlocks(loopsOf(fn), loop.id))
      for (const x of fn.blocks[b].ins)
        for (const { kind, reg: base } of x.src) {
          if (kind !== Kind.Addr || base === NO_REG || regWidth(base) !== 64 || visited.has(base)) continue;
          visited.add(base);
          if (!this.isComputed(base)) continue;
          const e = evolutions.evolutionOf(loop.id, base);
          if (e === null || (e.step.terms.length === 0 && e.step.constant === 0n)) continue;
          if (!isWritable(e.start) || !isWritable(e.step)) continue;
          const key = [e.start, e.step].map((f) => f.terms.map(termKey).sort().join('+')).join('|');
          const full = `${key}|${e.step.constant}`;
          const group = groups.get(full) ?? { start: e.start, step: e.step, members: [] };
          const ahead = BigInt.asIntN(64, e.start.constant - group.start.constant);
          if (!this.reaches(base, ahead)) continue;
          group.members.push({ base, ahead });
          groups.set(full, group);
        }
    return [...groups.values()];
  }

  /** Is the register computed by an instruction of the loop that is not a phi? */
  private isComputed(r: Reg): boolean {
    const def = this.d.def(r);
    return def >= 0 && !isPhi(this.d.at(def)) && this.isInside(def);
  }

  private isInside(n: Ins): boolean {
    return inLoop(loopsOf(this.fn), this.loop.id, this.d.block(n));
  }

  /** Instructions of the loop that read the register only as the base of accesses. */
  private accesses(base: Reg): Ins[] {
    return this.d
      .users(base)
      .filter(
        (n) => this.isInside(n) && this.d.at(n).src.every((o) => o.reg !== base || o.kind === Kind.Addr),
      );
  }

  /** May every access add this much to its offset? */
  private reaches(base: Reg, ahead: bigint): boolean {
    const fits = (v: bigint): boolean => BigInt.asIntN(OFFSET_BITS, v) === v;
    return this.accesses(base).every((n) =>
      this.d.at(n).src.every((o) => o.reg !== base || fits(BigInt(o.lo) + ahead)),
    );
  }

  /** The instructions of the loop that become unused if no access reads the bases of a group. */
  private freed(g: Group): ReadonlySet<Ins> {
    const { d } = this;
    const gone = new Set<Ins>(g.members.map((m) => d.def(m.base)));
    for (const n of gone)
      for (const { reg: r } of d.at(n).src) if (r !== NO_REG && this.isComputed(r)) gone.add(d.def(r));
    const accesses = new Map(g.members.map((m) => [m.base, new Set(this.accesses(m.base))]));
    const isRead = (r: Reg): boolean =>
      d.isReturned(r) || d.users(r).some((u) => !gone.has(u) && accesses.get(r)?.has(u) !== true);
    for (let before = -1; before !== gone.size; ) {
      before = gone.size;
      for (const n of gone) if (d.at(n).dst.some((r) => r !== NO_REG && isRead(r))) gone.delete(n);
    }
    return gone;
  }

  private advance(g: Group, gone: ReadonlySet<Ins>): void {
    const { d, ctx, loop, before } = this;
    const latch = loop.latches[0];
    const at = d.freshReg(RegFile.RD);
    const next = d.freshReg(RegFile.RD);
    const start = this.write(g.start);
    const step = g.step.terms.length === 0 ? immOf(g.step.constant, 64) : this.write(g.step);
    const operands = [label(d.id(before)), start, label(d.id(latch)), reg(next)];
    d.insertAtStart(loop.header, phiOf(ctx.isa, at, operands));
    d.insertAtEnd(latch, this.sum(next, reg(at), step));
    for (const { base, ahead } of g.members)
      for (const n of this.accesses(base)) {
        const x = d.at(n);
        const src = toOperands(x.src, (o) => (o.reg === base ? addr(at, o.lo + Number(ahead), o.sym) : o));
        d.replace(n, withSrc(x, src));
      }
    for (const n of gone) d.remove(n);
  }

  /** The value of a form, computed in the preheader. */
  private write(form: LinearForm): Operand {
    const { d, before, ctx } = this;
    let sum: Operand | null = form.constant === 0n && form.terms.length > 0 ? null : immOf(form.constant, 64);
    for (const t of form.terms) {
      const to = d.freshReg(RegFile.RD);
      if (t.bits === 64) d.insertAtEnd(before, this.sum(to, t.operand, sum ?? RZ));
      else {
        const op = d.opcode('IMAD_WIDE');
        const mods = withMods(op, 0, t.signed ? 'S32' : 'U32');
        const by = immOf(t.coefficient, 32);
        let add = sum ?? RZ;
        if (add.kind === Kind.Imm && sum !== null) {
          const r = d.freshReg(RegFile.RD);
          d.insertAtEnd(before, movesOf(ctx.isa).move(r, add));
          add = reg(r);
        }
        d.insertAtEnd(before, instr(op, mods, [to], [t.operand, by, add]));
      }
      sum = reg(to);
    }
    if (sum!.kind === Kind.Reg) return sum!;
    const r = d.freshReg(RegFile.RD);
    d.insertAtEnd(before, movesOf(ctx.isa).move(r, sum!));
    return reg(r);
  }

  private sum(to: Reg, a: Operand, b: Operand) {
    const op = this.d.opcode('IADD3');
    return instr(op, withMods(op, 0, '64'), [to], [a, b, RZ]);
  }
}

const termKey = (t: LinearForm['terms'][number]): string =>
  `${t.operand.kind},${t.operand.reg},${t.operand.lo},${t.operand.hi},${t.operand.sym}*${t.coefficient}:${t.bits}${t.signed}`;

/** Can a form be computed by wide multiplications and additions? */
const isWritable = (f: LinearForm): boolean =>
  f.width === 64 &&
  f.terms.every((t) => {
    if (t.operand.kind !== Kind.Reg)
      return t.bits === 64 && t.coefficient === 1n && t.operand.kind !== Kind.Sym;
    if (t.bits !== regWidth(t.operand.reg)) return false;
    if (t.bits === 64) return t.coefficient === 1n;
    const c = t.signed ? BigInt.asIntN(64, t.coefficient) : t.coefficient;
    return t.bits === 32 && (t.signed ? BigInt.asIntN(32, c) : BigInt.asUintN(32, c)) === c;
  });
