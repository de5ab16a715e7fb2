import { type BlockNo, type Draft, edit, type Ins } from '../../ir/draft/index.ts';
import { Kind, NO_REG, type Operand, RegFile, regFile } from '../../ir/operand.ts';
import { printInstr } from '../../ir/text.ts';
import { allInSsa } from '../../ssa/registers.ts';
import type { Pass, PassContext } from '../pass.ts';
import { type Chain, Chains } from '../values/chains.ts';

/** Knob 31: 0 disables the pass, any other value enables it at every tier. */
const ALLOW = 'AllowReassociateCSE';
/** Knob 605: if set, a pair whose first instruction has left the window is not taken. */
const WINDOW = 'ReassociateCSEWindow';
/** Knob 603: each removed pair takes a unit; once it is spent, the rest of the block stays. */
const BUDGET = 'Knob603';

/** Slots of the window (seed 001, phase 58). */
const SLOTS = 6;
/** Class of the back end that needs no tier (reference passes-g: class 4, which the seed calls Maxwell). */
const ANY_TIER = 'SM50';

/**
 * Phase 58, GeneralOptimizeLate: pairs of equal operations in a window of six slots.
 *
 *     before                          after
 *     BB0:                            BB0:
 *           IADD3 R5, R1, R2                IADD3 R5, R1, R2
 *           IADD3 R6, R5, R3                IADD3 R6, R5, R3
 *           IADD3 R7, R3, R1                STG [RD4], R6
 *           IADD3 R8, R7, R2                STG [RD4+8], R6
 *           STG [RD4], R6
 *           STG [RD4+8], R8
 *
 * A pair is an integer sum, product, logic operation, minimum or maximum that only one instruction reads, and that
 * instruction, if it is the same operation in the same block. Two pairs that combine the same operands, in any order,
 * have the same result. Each block is visited once. A slot holds the first instruction of a pair, and the second once
 * it comes by; a new first instruction, and a pair whose first has left the window, take the slot of the oldest.
 *
 * Knobs: 31, 603, 605 (above). Parameters: `tier`, in the words of reference passes-g for two bits of the original:
 * `reduced` never runs; without knob 31, `standard` does, and the others only for targets of class SM50. `registers`
 * and `immediates`: whether the second instruction of a pair may add a register, or a constant.
 *
 * Requires: control-last, ssa. Guarantees: ssa; blocks and edges stay. A second application may find pairs of what the
 * first made equal.
 * Bound: each instruction is compared with at most six others.
 */
export const pairWindow: Pass = (fn, ctx) => {
  const tier = ctx.params.tier ?? 'standard';
  if (tier === 'reduced') return fn;
  const allow = ctx.knob(ALLOW);
  const allowed = allow === null ? tier === 'standard' : allow !== 0;
  if (!allowed && ctx.fact('class') !== ANY_TIER) return fn;
  return edit(fn, (d) => {
    const window = new Window(d, ctx);
    for (const b of d.layout()) window.visit(b);
  });
};

interface Slot {
  readonly first: Ins;
  second: Ins;
  /** Operation and operands of both; '' without a second instruction. */
  key: string;
}

class Window {
  private readonly d: Draft;
  private readonly ctx: PassContext;
  private readonly chains: Chains;
  private readonly closed: boolean;
  private slots: (Slot | null)[] = [];
  private oldest = 0;

  constructor(d: Draft, ctx: PassContext) {
    this.d = d;
    this.ctx = ctx;
    this.chains = new Chains(ctx.isa);
    const closed = ctx.knob(WINDOW);
    this.closed = closed !== null && closed !== 0;
  }

  visit(b: BlockNo): void {
    const { d } = this;
    this.slots = new Array<Slot | null>(SLOTS).fill(null);
    this.oldest = 0;
    for (let n = d.first(b), next: Ins; n >= 0; n = next) {
      next = d.next(n);
      const chain = this.chainOf(n);
      if (chain === null) continue;
      const first = this.firstOf(n, chain);
      const slot = first < 0 ? null : this.slotOf(first, n, chain);
      if (slot !== null) {
        const same = this.slots.find((s) => s !== null && s !== slot && this.isSame(s, slot));
        if (same && !this.join(same, slot)) return;
      }
      if (!d.isRemoved(n)) this.enter({ first: n, second: -1, key: '' });
    }
  }

  private enter(slot: Slot): Slot {
    this.slots[this.oldest] = slot;
    this.oldest = (this.oldest + 1) % SLOTS;
    return slot;
  }

  private chainOf(n: Ins): Chain | null {
    const { d } = this;
    const x = d.at(n);
    if (x.guard !== NO_REG || !allInSsa(x) || x.dst.slice(1).some((r) => r !== NO_REG)) return null;
    const chain = this.chains.of(x);
    return chain !== null && d.defCount(x.dst[0]) === 1 ? chain : null;
  }

  /** The instruction that makes a pair with `n` as its second; -1 if there is none. */
  private firstOf(n: Ins, chain: Chain): Ins {
    const { d } = this;
    const operands = this.chains.operands(d.at(n), chain);
    for (const o of operands) {
      const def = isPlainRegister(o) && d.useCount(o.reg) === 1 ? d.def(o.reg) : -1;
      if (def < 0 || d.block(def) !== d.block(n) || this.chainOf(def) !== chain) continue;
      return operands.every((p) => p === o || this.mayBeAdded(p)) ? def : -1;
    }
    return -1;
  }

  private mayBeAdded(o: Operand): boolean {
    const { ctx } = this;
    return (o.kind === Kind.Imm ? ctx.params.immediates : ctx.params.registers) !== false;
  }

  /** The slot of a pair; null if the pair is not taken. */
  private slotOf(first: Ins, second: Ins, chain: Chain): Slot | null {
    const { d } = this;
    const { dst } = d.at(first);
    const operands = [
      ...this.chains.operands(d.at(first), chain),
      ...this.chains.operands(d.at(second), chain),
    ];
    const key = [
      chain.op.id,
      chain.mods,
      ...operands
        .filter((o) => o.reg !== dst[0])
        .map(textOf)
        .sort(),
    ].join();
    const slot = this.slots.find((s) => s?.first === first) ?? null;
    if (slot === null && this.closed) return null;
    const taken = slot ?? this.enter({ first, second, key });
    taken.second = second;
    taken.key = key;
    return taken;
  }

  private isSame(a: Slot, b: Slot): boolean {
    const apart = a.first !== b.first && a.second !== b.first && a.first !== b.second;
    return apart && a.key !== '' && a.key === b.key && this.chainOf(a.second) === this.chainOf(b.second);
  }

  /** Replaces the later of two pairs by the result of the earlier. @returns whether it was allowed */
  private join(earlier: Slot, later: Slot): boolean {
    const { d, ctx } = this;
    const ins = d.at(later.second);
    const [from, to] = [ins.dst[0], d.at(earlier.second).dst[0]];
    if (d.isReturned(from) || regFile(from) !== regFile(to)) return true;
    const at = { block: d.id(d.block(later.second)), ins };
    if (!ctx.mayRewrite('pair-common', at.block, ins)) return false;
    if (!ctx.budget(BUDGET)) {
      ctx.remark('missed', 'budget-spent', `${BUDGET} is spent: the rest of BB${at.block} stays`, at);
      return false;
    }
    ctx.remark(
      'passed',
      'pair-common',
      `${printInstr(ins)} is what ${printInstr(d.at(earlier.second))} gives`,
      at,
    );
    d.replaceUses(from, to);
    d.remove(later.second);
    d.remove(later.first);
    const gone = [later.first, later.second];
    this.slots = this.slots.map((s) =>
      s !== null && gone.some((n) => s.first === n || s.second === n) ? null : s,
    );
    return true;
  }
}

const isPlainRegister = (o: Operand): boolean =>
  o.kind === Kind.Reg &&
  o.mods === 0 &&
  o.reg !== NO_REG &&
  (regFile(o.reg) === RegFile.R || regFile(o.reg) === RegFile.RD);

const textOf = (o: Operand): string => `${o.kind}.${o.mods}.${o.reg}.${o.lo}.${o.hi}.${o.sym}`;
