import {
  type BlockNo,
  cloneBlocks,
  type Draft,
  type Ins,
  preheader,
  splitPredecessors,
} from '../../ir/draft/index.ts';
import { withGuard } from '../../ir/edit.ts';
import { movesOf } from '../../ir/moves.ts';
import { type Isa, withMods } from '../../ir/opcode.ts';
import {
  immOf,
  immValue,
  Kind,
  Mod,
  NO_REG,
  type Operand,
  PT,
  type Reg,
  RegFile,
  RZ,
  reg,
  withOperandMods,
} from '../../ir/operand.ts';
import { type Instr, instr } from '../../ir/program.ts';
import type { CountedLoop } from './counted-loop.ts';
import type { BottomTested } from './unroll-shape.ts';

/**
 * Inserts a loop with `factor` iterations at once before a counted loop, which stays for the remaining iterations.
 *
 *     before                     after, factor 2
 *     BB0:                       BB0:
 *                                      IADD3 R8, R9, -1
 *                                      ISETP.LE P10, R8, R9
 *                                      ISETP.LT P11, R1, R8, P10
 *                                 @!P11 BRA BB1
 *                                BB3:
 *                                      (body, R1 = R1 + 1)
 *                                      (body, R1 = R1 + 1)
 *     BB1:                             ISETP.LT P2, R1, R9
 *           (body, R1 = R1 + 1)        ISETP.LT P7, R1, R8
 *           ISETP.LT P2, R1, R9    @P7 BRA BB3
 *       @P2 BRA BB1              BB4:
 *     BB2:                        @!P2 BRA BB2
 *           EXIT                 BB1: as before
 *
 * With `ladder`, groups of the powers of two below the factor come between: each runs once if that many iterations are left, so that the
 * original loop runs at most one (reference passes-c, epilogue).
 *
 * Correctness, for a step s > 0 and `<` (others are analogous): let reach = (factor - 1) * s and limit = bound -
 * reach, where limit must not wrap, which is tested once (limit <= bound). If counter < limit, each of counter + s,
 * ..., counter + reach is below the bound as an integer, so none of them wraps. The tests between the iterations
 * examine these values or, if they precede the update, those from the counter itself on. For `!=` the same follows
 * from bound - counter > reach, unsigned and modulo 2^width: none of these values is the bound. If a group may not
 * run, the original loop runs, whatever it does. Where the counter starts, and whether it ever wraps, does not
 * matter.
 */
export function unrollPartly(
  d: Draft,
  loop: BottomTested,
  counted: CountedLoop,
  factor: number,
  isa: Isa,
  ladder: boolean,
): void {
  const groups = new Groups(d, counted, factor, isa);
  const { header, latch, blocks } = loop;
  const inside = new Set(blocks);
  const before = preheader(d, { header, contains: (b) => inside.has(b) });
  const rest = splitPredecessors(d, header, [before]);
  const end = d.at(d.terminator(latch));

  const entry = d.newBlock(before, -1);
  const group = iterations(d, loop, factor, entry);
  // The test of the last iteration decides whether iterations remain.
  const after = d.newBlock(group.place, -1);
  const leave = (b: BlockNo, next: BlockNo): void => {
    d.setTerminator(b, end, d.fall(latch));
    d.redirect(b, header, next);
  };
  const rungs = ladder ? ladderSizes(factor) : [];
  let next = rest;
  for (const size of [...rungs].reverse()) {
    const rung = d.newBlock(after, -1);
    const copies = iterations(d, loop, size, rung);
    leave(copies.last, next);
    const enough = new Groups(d, counted, size, isa).testOnEntry(rung);
    d.setTerminator(rung, withGuard(d.branchTo(next, end.loc), enough, true), copies.first);
    next = rung;
  }
  leave(after, next);
  const more = groups.testBehind(testIn(d, loop, counted, group.last));
  d.setTerminator(group.last, withGuard(d.branchTo(group.first, end.loc), more), after);
  const enough = groups.testOnEntry(before);
  d.setTerminator(before, withGuard(d.branchTo(next, end.loc), enough, true), entry);
  d.setTerminator(entry, null, group.first);
  keepRolled(d, [group.first, header]);
}

/** Sizes of the groups behind a loop of `factor` iterations at once: the powers of two below it, from the largest down to 2. */
export const ladderSizes = (factor: number): number[] => {
  const out: number[] = [];
  for (let size = 2; size < factor; size *= 2) out.unshift(size);
  return out;
};

/**
 * Unrolls a loop whose number of iterations is known: those that do not fill a group run first, one after the other; then groups of
 * `factor` iterations run, with one test each.
 *
 *     before, 7 iterations       after, factor 3
 *     BB1:                             (body)
 *           (body)               BB3:
 *       @P2 BRA BB1                    (body)
 *     BB2:                             (body)
 *                                      (body)
 *                                  @P2 BRA BB3
 *                                BB2:
 */
export function unrollKnown(d: Draft, loop: BottomTested, factor: number, remainder: number): void {
  const { header, latch, blocks } = loop;
  const inside = new Set(blocks);
  const before = preheader(d, { header, contains: (b) => inside.has(b) });
  const entry = d.newBlock(before, -1);
  let last = entry;
  let place = entry;
  let first = -1;
  for (let k = 0; k < remainder + factor - 1; k++) {
    const copy = iterations(d, loop, 1, place);
    d.setTerminator(last, null, copy.first);
    if (k === remainder) first = copy.first;
    last = copy.last;
    place = copy.place;
  }
  d.redirect(latch, header, first);
  d.redirect(before, header, entry);
  d.setTerminator(last, null, header);
  keepRolled(d, [first]);
}

/** Copies of iterations, one after the other; the test of the last one is still to be written. */
function iterations(
  d: Draft,
  loop: BottomTested,
  count: number,
  after: BlockNo,
): { readonly first: BlockNo; readonly last: BlockNo; readonly place: BlockNo } {
  let place = after;
  let first: BlockNo = -1;
  let last: BlockNo = -1;
  for (let k = 0; k < count; k++) {
    const copy = cloneBlocks(d, loop.blocks, place, false).blocks;
    const top = copy.get(loop.header)!;
    if (k === 0) first = top;
    else d.setTerminator(last, null, top);
    last = copy.get(loop.latch)!;
    place = copy.get(loop.blocks[loop.blocks.length - 1])!;
  }
  return { first, last, place };
}

/** Tells later phases and ptxas not to unroll the loops at these blocks. */
function keepRolled(d: Draft, headers: readonly BlockNo[]): void {
  d.pragmas = [...d.pragmas, ...headers.map((b) => ({ block: d.id(b), text: 'nounroll' }))];
}

/** The copy of the loop's test in the copy of its latch. */
function testIn(d: Draft, loop: BottomTested, counted: CountedLoop, copy: BlockNo): Ins {
  let n = d.first(copy);
  for (let o = d.first(loop.latch); o !== counted.test; o = d.next(o)) n = d.next(n);
  return n;
}

/** How far the counter moves within a group, as an absolute value. */
const reachOf = (c: CountedLoop, factor: number): bigint =>
  BigInt(factor - 1) * (c.step < 0n ? -c.step : c.step);

/** The constant that a counter must be below, or above, for a group to run, if the bound is a constant. */
function limitOf(c: CountedLoop, reach: bigint): bigint {
  const bound = immValue(c.bound, c.width);
  const b = c.signed ? BigInt.asIntN(c.width, bound) : BigInt.asUintN(c.width, bound);
  return c.step > 0n ? b - reach : b + reach;
}

/** May a group of this many iterations ever run? Not if the limit is known to wrap. */
export function groupsArePossible(c: CountedLoop, factor: number): boolean {
  const reach = reachOf(c, factor);
  if (reach >= 1n << BigInt(c.width - 1)) return false;
  if (c.relation === 'NE' || c.bound.kind !== Kind.Imm) return true;
  const limit = limitOf(c, reach);
  return (c.signed ? BigInt.asIntN(c.width, limit) : BigInt.asUintN(c.width, limit)) === limit;
}

/** Tests whether a group of iterations may run. */
class Groups {
  private readonly d: Draft;
  private readonly c: CountedLoop;
  private readonly isa: Isa;
  /** How far the counter moves within a group, as an absolute value. */
  private readonly reach: bigint;
  private readonly limit: Reg;

  constructor(d: Draft, c: CountedLoop, factor: number, isa: Isa) {
    this.d = d;
    this.c = c;
    this.isa = isa;
    this.reach = reachOf(c, factor);
    this.limit = c.relation === 'NE' ? NO_REG : d.freshReg(this.file);
  }

  private get file(): number {
    return this.c.width === 64 ? RegFile.RD : RegFile.R;
  }

  /** Before the loop: may the first group run? */
  testOnEntry(b: BlockNo): Reg {
    const { d, c, isa, limit, reach } = this;
    const put = (x: Instr): void => void d.insertAtEnd(b, x);
    const { loc } = d.at(c.test);
    if (c.relation === 'NE') return this.test(put, loc);
    if (c.bound.kind === Kind.Imm) {
      put(movesOf(isa).move(limit, immOf(limitOf(c, reach), c.width), loc));
      return this.test(put, loc);
    }
    put(this.sum(limit, c.bound, immOf(c.step > 0n ? -reach : reach, c.width), loc));
    const exact = this.compare(put, c.step > 0n ? 'LE' : 'GE', c.signed, reg(limit), c.bound, loc);
    return this.test(put, loc, reg(exact));
  }

  /** After the test of an iteration: may another group follow? */
  testBehind(test: Ins): Reg {
    const { d } = this;
    const at = d.next(test);
    return this.test((x) => void d.insertBefore(at, x), d.at(test).loc);
  }

  private test(put: (x: Instr) => void, loc: number, and: Operand = PT): Reg {
    const { d, c, reach, limit } = this;
    const counter = reg(c.counter);
    if (c.relation !== 'NE') return this.compare(put, c.relation, c.signed, counter, reg(limit), loc, and);
    const left = d.freshReg(this.file);
    const [from, to] = c.step > 0n ? [counter, c.bound] : [c.bound, counter];
    put(this.sum(left, to, minus(from, c.width), loc));
    return this.compare(put, 'GT', false, reg(left), immOf(reach, c.width), loc, and);
  }

  private sum(to: Reg, a: Operand, b: Operand, loc: number): Instr {
    const op = this.d.opcode('IADD3');
    return instr(op, this.c.width === 64 ? withMods(op, 0, '64') : 0, [to], [a, b, RZ], loc);
  }

  private compare(
    put: (x: Instr) => void,
    cmp: string,
    signed: boolean,
    a: Operand,
    b: Operand,
    loc: number,
    and: Operand = PT,
  ): Reg {
    const op = this.d.opcode('ISETP');
    const p = this.d.freshReg(RegFile.P);
    put(
      instr(op, withMods(op, 0, cmp, `${signed ? 'S' : 'U'}${this.c.width}`), [p, NO_REG], [a, b, and], loc),
    );
    return p;
  }
}

const minus = (o: Operand, width: number): Operand =>
  o.kind === Kind.Imm ? immOf(-immValue(o, width), width) : withOperandMods(o, Mod.Neg);
