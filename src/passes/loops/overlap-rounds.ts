import { type ModuloSchedule, roundOrder, stageOf } from '../../analysis/loops/modulo-schedule.ts';
import { type BlockNo, type Draft, type Ins, preheader } from '../../ir/draft/index.ts';
import { toOperands, toRegs, withGuard } from '../../ir/edit.ts';
import { movesOf } from '../../ir/moves.ts';
import type { Isa } from '../../ir/opcode.ts';
import { Kind, NO_REG, type Operand, type Reg, reg, regFile, withReg } from '../../ir/operand.ts';
import { type Instr, instr } from '../../ir/program.ts';
import { phiOf } from '../../ssa/construct.ts';

/** A loop of one block that control leaves only at its end, by a branch. */
export interface OneBlock {
  readonly block: BlockNo;
  /** The instructions of its body, in the order of the schedule's places. */
  readonly body: readonly Ins[];
}

/** A block that runs stages of several iterations. Iterations are counted back from the youngest one that was started. */
interface Round {
  readonly block: BlockNo;
  readonly before: Round[];
  /** Iterations that it starts: 1, or 0 if it only finishes those under way. */
  readonly starts: 0 | 1;
  /** Number of its youngest iteration if that is known. */
  readonly youngest: number;
  /** Values by register of the loop and iteration; see `Rounds.read`. */
  readonly values: Map<number, Reg>;
  /** Phis whose operands are not there yet; null once all blocks before it are complete. */
  open: { readonly phi: Ins; readonly of: Reg; readonly age: number }[] | null;
}

/**
 * Replaces a loop by one in which a round runs each stage for a different iteration.
 *
 *     before           after, two stages, one copy
 *     BB1:             BB3:  stage 0 of iteration 0
 *           body             @!P BRA BB5
 *       @P BRA BB1     BB4:  stage 1 of an iteration, stage 0 of the next one
 *     BB2:                   @P BRA BB4
 *                      BB5:  stage 1 of the last iteration
 *                      BB2:
 *
 * Stage 0 of an iteration contains the test, and runs only once the test of the previous iteration has decided to continue. So exactly
 * the iterations of the loop run, however many there are, and each of them completely: no trip count is needed, and no access runs that
 * did not. With more stages, there is one such prologue for each further iteration under way, and its exit finishes as many as were
 * started.
 *
 * Values are found as in "Simple and Efficient Construction of Static Single Assignment Form" (Braun, Buchwald, Hack, Leißa, Mallon and
 * Zwinkau, 2013), where the variables are pairs of a register of the loop and an iteration.
 *
 * @returns the first block of the new loop
 */
export function overlapRounds(d: Draft, loop: OneBlock, schedule: ModuloSchedule, isa: Isa): BlockNo {
  return new Rounds(d, loop, schedule, isa).run();
}

class Rounds {
  private readonly d: Draft;
  private readonly loop: OneBlock;
  private readonly isa: Isa;
  private readonly order: readonly number[];
  private readonly stage: (i: number) => number;
  private readonly stages: number;
  private readonly copies: number;
  private readonly exit: BlockNo;
  private readonly end: Instr;
  private readonly jumpsBack: boolean;
  /** Registers that the loop writes, except phis; and by phi, the register with its value for the next iteration. */
  private readonly written = new Set<Reg>();
  private readonly next = new Map<Reg, Reg>();
  /** By phi: its value in the first iteration. */
  private readonly initial = new Map<Reg, Reg>();
  /** By phi whose next value comes from outside the loop: that value. */
  private readonly fixed = new Map<Reg, Reg>();
  private place: BlockNo;

  constructor(d: Draft, loop: OneBlock, schedule: ModuloSchedule, isa: Isa) {
    const { block, body } = loop;
    this.d = d;
    this.loop = loop;
    this.isa = isa;
    this.order = roundOrder(schedule);
    this.stage = (i) => stageOf(schedule, i);
    this.stages = schedule.stages;
    this.copies = schedule.copies;
    this.end = d.at(d.terminator(block));
    this.jumpsBack = d.blockById(this.end.src[0].lo) === block;
    this.exit = d.edges(block).find((b) => b !== block)!;
    this.place = block;
    for (const n of body) for (const r of d.at(n).dst) if (r !== NO_REG) this.written.add(r);
  }

  run(): BlockNo {
    const { d, loop, stages, copies } = this;
    const before = preheader(d, { header: loop.block, contains: (b) => b === loop.block });
    this.handOver(before);
    const starts: Round[] = [];
    for (let k = 0; k + 1 < stages; k++) starts.push(this.round(starts.slice(-1), 1, k));
    for (const [k, start] of starts.entries()) this.fill(start, 0, k);
    const rounds: Round[] = [];
    for (let k = 0; k < copies; k++)
      rounds.push(this.round(k === 0 ? starts.slice(-1) : [rounds[k - 1]], 1, -1));
    rounds[0].before.push(rounds[copies - 1]);
    rounds[0].open = [];
    for (const r of rounds) this.fill(r, 0, stages - 1);
    this.close(rounds[0]);

    // The epilogues, by the number of iterations under way and the stage that the youngest of them reaches.
    const finish = new Map<number, Round>();
    const finishing = (under: number, stage: number): Round => finish.get(under * stages + stage)!;
    for (let stage = 1; stage < stages; stage++)
      for (let under = stages - stage; under >= 1; under--) {
        const from: Round[] = [];
        if (stage === 1) from.push(starts[under - 1], ...(under === stages - 1 ? rounds : []));
        else from.push(finishing(under, stage - 1));
        // If as many as possible were under way, the oldest is finished by now.
        if (stage > 1 && under === stages - stage) from.push(finishing(under + 1, stage - 1));
        const r = this.round(from, 0, -1);
        finish.set(under * stages + stage, r);
        this.fill(r, stage, under + stage - 1);
        for (const b of stage > 1 ? from : []) d.setFall(b.block, r.block);
      }

    for (const [k, r] of starts.entries()) this.branch(r, starts[k + 1] ?? rounds[0], finishing(k + 1, 1));
    for (const [k, r] of rounds.entries()) this.branch(r, rounds[(k + 1) % copies], finishing(stages - 1, 1));
    this.leave(finishing(1, stages - 1), before, starts[0]);
    return rounds[0].block;
  }

  /** Puts the first value of each phi, and next values that come from outside, into registers. */
  private handOver(before: BlockNo): void {
    const { d, loop } = this;
    const held = (o: Operand, like: Reg, loc: number): Reg => {
      if (o.kind === Kind.Reg) return o.reg;
      const r = d.freshReg(regFile(like));
      d.insertAtEnd(before, movesOf(this.isa).move(r, o, loc));
      return r;
    };
    for (const n of d.phis(loop.block)) {
      const x = d.at(n);
      const [phi] = x.dst;
      this.initial.set(phi, held(d.incoming(n, before)!, phi, x.loc));
      const next = held(d.incoming(n, loop.block)!, phi, x.loc);
      this.next.set(phi, next);
      if (!this.written.has(next)) this.fixed.set(phi, next);
    }
  }

  private round(before: readonly Round[], starts: 0 | 1, youngest: number): Round {
    // The successor is set at the end.
    this.place = this.d.newBlock(this.place, this.exit);
    const r: Round = {
      block: this.place,
      before: [...before],
      starts,
      youngest,
      values: new Map(),
      open: null,
    };
    for (const [phi, value] of starts === 1 ? this.fixed : []) r.values.set(keyOf(phi, 0), value);
    return r;
  }

  /** Appends the instructions of stages `from` to `to`; the youngest iteration is at stage `from`. */
  private fill(r: Round, from: number, to: number): void {
    const { d, loop } = this;
    for (const i of this.order) {
      const stage = this.stage(i);
      if (stage < from || stage > Math.min(to, this.stages - 1)) continue;
      const age = stage - from;
      const x = d.at(loop.body[i]);
      const now = (u: Reg): Reg => (u === NO_REG ? u : this.valueOf(r, u, age));
      const src = toOperands(x.src, (o) => (o.reg === NO_REG ? o : withReg(o, now(o.reg))));
      const guard = now(x.guard);
      const otherwise = toRegs(x.otherwise, now);
      const dst = toRegs(x.dst, (u) => (u === NO_REG ? u : d.freshReg(regFile(u))));
      d.append(r.block, instr(x.op, x.mods, dst, src, x.loc, guard, x.guardNot, otherwise));
      for (const [k, u] of x.dst.entries()) {
        if (u === NO_REG) continue;
        r.values.set(keyOf(u, age), dst[k]);
        for (const [phi, next] of this.next) if (next === u) r.values.set(keyOf(phi, age), dst[k]);
      }
    }
  }

  /** The value of a register of the original function in the iteration `age` before the youngest of a round. */
  private valueOf(r: Round, u: Reg, age: number): Reg {
    if (this.written.has(u)) return this.read(r, u, age);
    return this.next.has(u) ? this.read(r, u, age + 1) : u;
  }

  /**
   * The value that iteration `age` before the youngest of a round wrote to a register; for a phi, the value that it passed to the next
   * iteration. What precedes the first iteration passes the phi's value from outside.
   */
  private read(r: Round, name: Reg, age: number): Reg {
    // An iteration that certainly ran passed on what it wrote.
    const surely = r.youngest >= 0 ? r.youngest : r.starts === 1 ? this.stages - 1 : -1;
    const next = this.next.get(name);
    const u = age <= surely && next !== undefined && this.written.has(next) ? next : name;
    const key = keyOf(u, age);
    const cached = r.values.get(key);
    if (cached !== undefined) return cached;
    const older = age - r.starts;
    let value: Reg;
    if (r.before.length === 0) {
      if (age !== 1 || !this.initial.has(u)) throw new Error('a value is read before it is defined');
      value = this.initial.get(u)!;
    } else if (r.before.length === 1) value = this.read(r.before[0], u, older);
    else return this.join(r, u, age, key);
    r.values.set(key, value);
    return value;
  }

  private join(r: Round, u: Reg, age: number, key: number): Reg {
    const { d } = this;
    const value = d.freshReg(regFile(u));
    const phi = d.insertAtStart(r.block, phiOf(this.isa, value, []));
    r.values.set(key, value);
    if (r.open !== null) r.open.push({ phi, of: u, age });
    else this.complete(r, phi, u, age);
    return value;
  }

  private complete(r: Round, phi: Ins, u: Reg, age: number): void {
    for (const b of r.before) this.d.setIncoming(phi, b.block, reg(this.read(b, u, age - r.starts)));
  }

  /** Completes the phis of a round, once the block that leads back to it is complete. */
  private close(r: Round): void {
    for (let next = r.open!.pop(); next !== undefined; next = r.open!.pop())
      this.complete(r, next.phi, next.of, next.age);
    r.open = null;
  }

  private branch(r: Round, on: Round, out: Round): void {
    const { d, end } = this;
    const [to, fall] = this.jumpsBack ? [on, out] : [out, on];
    const jump = { ...d.branchTo(to.block, end.loc), mods: end.mods };
    d.setTerminator(r.block, withGuard(jump, this.valueOf(r, end.guard, 0), end.guardNot), fall.block);
  }

  /** Makes all code after the loop read the values of the last iteration, and replaces the loop by the new blocks. */
  private leave(last: Round, before: BlockNo, first: Round): void {
    const { d, loop, exit } = this;
    const results = [...this.next.keys(), ...this.written];
    const isOutside = (n: Ins): boolean => d.block(n) !== loop.block;
    const used = results.filter((u) => d.users(u).some(isOutside));
    const value = new Map(used.map((u) => [u, this.valueOf(last, u, 0)]));
    for (const phi of d.phis(exit)) {
      const o = d.incoming(phi, loop.block)!;
      const now = o.reg === NO_REG ? undefined : value.get(o.reg);
      d.setIncoming(phi, last.block, now === undefined ? o : withReg(o, now));
    }
    d.redirect(before, loop.block, first.block);
    d.eraseBlock(loop.block);
    for (const [u, now] of value) d.replaceUses(u, now);
  }
}

/** Greater than any age: there are fewer stages, and reads go back at most one iteration beyond the oldest. */
const AGES = 256;
const keyOf = (u: Reg, age: number): number => u * AGES + age;
