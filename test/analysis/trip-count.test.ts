import { describe, expect, it } from 'vitest';
import { inLoop, loopsOf } from '../../src/analysis/loops/loops.ts';
import { mostRounds } from '../../src/analysis/loops/trip-bounds.ts';
import { type TripCount, tripCountsOf } from '../../src/analysis/loops/trip-count.ts';
import type { LinearForm } from '../../src/analysis/values/linear.ts';
import { Kind, type Reg, regName, regOf, regWidth } from '../../src/ir/operand.ts';
import type { Fn } from '../../src/ir/program.ts';
import { parseFn, printFn } from '../../src/ir/text.ts';
import { verifyFn } from '../../src/ir/verify.ts';
import { extend } from '../../src/isa/polynomial.ts';
import { verifySsa } from '../../src/ssa/verify.ts';
import { programOf } from '../support/context.ts';
import { testIsa } from '../support/isa.ts';
import { CMP, type Cmp, generator, randomLoops } from '../support/random-loops.ts';
import { allRuns } from '../support/size.ts';
import { runSsa } from '../support/ssa-run.ts';

const isa = testIsa();

const parse = (text: string): Fn => {
  const fn = parseFn(text, isa);
  expect([...verifyFn(fn, programOf(fn)), ...verifySsa(fn)]).toEqual([]);
  return fn;
};

/** Evaluates a form with the current values of registers. */
function sumOf(f: LinearForm, values: ReadonlyMap<Reg, bigint>): bigint {
  let v = f.constant;
  for (const t of f.terms) {
    if (t.operand.kind !== Kind.Reg) throw new Error('the tests use registers only');
    v += t.coefficient * extend(values.get(t.operand.reg) ?? 0n, t.bits, t.signed);
  }
  return BigInt.asUintN(f.width, v);
}

/** The formulas that `SymbolicCount` states, on integers; null where the value would wrap before the bound. */
function formula(c: NonNullable<TripCount['symbolic']>, values: ReadonlyMap<Reg, bigint>): bigint | null {
  const { width } = c.start;
  const [start, bound] = [c.start, c.bound].map((f) => extend(sumOf(f, values), width, c.signed));
  const step = BigInt.asIntN(width, sumOf(c.step, values));
  if (c.relation === '!=') return BigInt.asUintN(width, (bound - start) * step);
  const up = c.relation.startsWith('<');
  if (step === 0n || step > 0n !== up) return null;
  const [distance, size] = up ? [bound - start, step] : [start - bound, -step];
  const wide = c.relation.endsWith('=');
  const count = wide
    ? distance < 0n
      ? 0n
      : distance / size + 1n
    : distance <= 0n
      ? 0n
      : (distance + size - 1n) / size;
  const last = start + count * step;
  return extend(last, width, c.signed) === last ? count : null;
}

interface Seen {
  exact: number;
  most: number;
  symbolic: number;
  evolutions: number;
  unknown: number;
  extended: number;
}

/** Runs the function and holds every count and every evolution against what happens. */
function check(fn: Fn, inputs: ReadonlyMap<Reg, bigint>, steps: number, seen: Seen): void {
  const forest = loopsOf(fn);
  const trips = tripCountsOf(fn);
  const counts = forest.loops.map((l) => trips.of(l.id));
  const runs = new Map<number, bigint>();
  const entryValues = new Map<number, ReadonlyMap<Reg, bigint>>();
  const told = (message: string, ...what: unknown[]): never => {
    throw new Error(`${message} ${what.map(String).join(' ')}\n${printFn(fn)}`);
  };
  const leave = (id: number): void => {
    const c = counts[id];
    const n = runs.get(id)!;
    if (c.endless) told('left an endless loop', id);
    if (c.exact !== null && c.exact !== n) told('exact count', id, c.exact, 'but it was', n);
    if (c.most !== null && n > c.most) told('at most', id, c.most, 'but it was', n);
    const rounds = mostRounds(fn, id);
    if (Number(n) + 1 > rounds) told('at most', id, rounds, 'rounds, but it was', n + 1n);
    if (c.exact !== null) seen.exact++;
    else if (c.most !== null) seen.most++;
    else seen.unknown++;
    if (c.symbolic !== null) {
      const f = formula(c.symbolic, entryValues.get(id)!);
      if (f === null && c.symbolic.always) told('the formula should always hold', id);
      if (f !== null && f !== n) told('formula', id, f, 'but it was', n);
      if (f !== null) seen.symbolic++;
    }
    runs.delete(id);
  };
  const ended = runSsa(
    fn,
    inputs,
    steps,
    (from, to, { values }) => {
      for (const id of [...runs.keys()]) if (!inLoop(forest, id, to)) leave(id);
      for (const l of forest.loops) {
        if (l.header !== to) continue;
        if (l.latches.includes(from)) runs.set(l.id, runs.get(l.id)! + 1n);
        else {
          runs.set(l.id, 0n);
          entryValues.set(l.id, new Map(values));
        }
      }
    },
    (ins, _block, { values }) => {
      for (const d of ins.dst) {
        if (d < 0 || regWidth(d) === 1) continue;
        // A form of values is true wherever it is read.
        const form = trips.evolutions.value(d);
        if (sumOf(form, values) !== values.get(d)) told('form of', regName(d));
        for (const [id, k] of runs) {
          const e = trips.evolutions.evolutionOf(id, d);
          if (e === null) continue;
          const now = sumOf(e.start, values) + k * sumOf(e.step, values);
          if (BigInt.asUintN(e.width, now) !== values.get(d))
            told('evolution of', regName(d), 'in loop', id, 'run', k);
          seen.evolutions++;
          if (ins.op.name === 'I2I' && ins.src[0].reg >= 0 && e.step.constant !== 0n) seen.extended++;
        }
      }
    },
  );
  if (ended) for (const id of [...runs.keys()]) leave(id);
  else
    for (const [id, n] of runs) {
      const c = counts[id];
      if (c.exact !== null && c.exact < n) told('exact count', id, c.exact, 'but it goes on after', n);
      if (c.most !== null && c.most < n) told('at most', id, c.most, 'but it goes on after', n);
    }
}

const holds = (cmp: Cmp, a: bigint, b: bigint): boolean =>
  cmp === 'EQ'
    ? a === b
    : cmp === 'NE'
      ? a !== b
      : cmp === 'LT'
        ? a < b
        : cmp === 'LE'
          ? a <= b
          : cmp === 'GT'
            ? a > b
            : a >= b;

interface Simple {
  width: 32 | 64;
  signed: boolean;
  start: bigint;
  step: bigint;
  bound: bigint;
  cmp: Cmp;
  /** The loop goes on while the comparison holds, or leaves when it does. */
  stay: boolean;
  top: boolean;
  /** The value that is tested, and on which side of the comparison. */
  next: boolean;
  swapped: boolean;
}

const constant = (v: bigint, width: number): string => `0x${BigInt.asUintN(width, v).toString(16)}`;

/** A loop that counts from `start` by `step` and tests against `bound`. */
function simpleLoop(c: Simple): string {
  const wide = c.width === 64;
  const [r, size] = wide ? ['RD', '.64'] : ['R', ''];
  const type = `${c.signed ? 'S' : 'U'}${c.width}`;
  const value = `${r}${c.next ? 2 : 1}`;
  const bound = constant(c.bound, c.width);
  const test = `ISETP.${c.cmp}.${type} P3, ${c.swapped ? `${r}9, ${value}` : `${value}, ${bound}`}`;
  const step = `IADD3${size} ${r}2, ${r}1, ${constant(c.step, c.width)}`;
  const phi = `MOVPHI${size} ${r}1, {BB0: ${constant(c.start, c.width)}, BB2: ${r}2}`;
  // With the value after the step, the step stands before the test.
  const early = c.next || !c.top ? step : '';
  const late = c.next || !c.top ? '' : step;
  return c.top
    ? `BB0:\nMOV${size} ${r}9, ${bound}\nBB1:\n${phi}\n${early}\n${test}\n@${c.stay ? '!' : ''}P3 BRA BB3\nBB2:\n${late}\nBRA BB1\nBB3:\nEXIT`
    : `BB0:\nMOV${size} ${r}9, ${bound}\nBB2:\n${phi.replace('BB2', 'BB2')}\n${early}\n${test}\n@${c.stay ? '' : '!'}P3 BRA BB2\nBB3:\nEXIT`;
}

/** How often the loop comes back, by running it on integers; null if that is more than `cap`. */
function counted(c: Simple, cap: number): bigint | null {
  const see = (x: bigint): bigint => extend(x, c.width, c.signed);
  let i = BigInt.asUintN(c.width, c.start);
  for (let k = 0; k <= cap; k++) {
    const next = BigInt.asUintN(c.width, i + c.step);
    const [v, b] = [see(c.next ? next : i), see(c.bound)];
    if (holds(c.cmp, ...((c.swapped ? [b, v] : [v, b]) as [bigint, bigint])) !== c.stay) return BigInt(k);
    i = next;
  }
  return null;
}

describe('trip counts of constant loops', () => {
  it('are what running them on integers gives, at the edges of 32 and 64 bits, signed and unsigned', () => {
    const below = generator(20261126);
    const CAP = 700;
    let counts = 0;
    let long = 0;
    let zero = 0;
    for (let n = 0; n < 6000; n++) {
      const width = below(2) === 0 ? 32 : 64;
      const edge = [0n, 1n << BigInt(width - 1), -1n, 1n << BigInt(width - 2)][below(4)];
      const near = (spread: number): bigint => edge + BigInt(below(2 * spread + 1) - spread);
      const big = [
        1n << BigInt(width - 1),
        1n << BigInt(width - 3),
        (1n << BigInt(width - 1)) - 1n,
        3n << BigInt(width - 4),
      ];
      const c: Simple = {
        width,
        signed: below(2) === 0,
        start: near(40),
        step: below(5) === 0 ? big[below(4)] + BigInt(below(3) - 1) : BigInt(below(15) - 7),
        bound: below(4) === 0 ? BigInt(below(200) - 100) : near(60),
        cmp: CMP[below(6)],
        stay: below(2) === 0,
        top: below(2) === 0,
        next: below(2) === 0,
        swapped: below(2) === 0,
      };
      const text = simpleLoop(c);
      const t = tripCountsOf(parseFn(text, isa)).of(0);
      const expected = counted(c, CAP);
      if (expected !== null) {
        counts++;
        if (expected === 0n) zero++;
        if (t.exact !== expected || t.most !== expected)
          expect([t.exact, t.most], text).toEqual([expected, expected]);
      } else {
        long++;
        if (t.endless) continue;
        if (t.exact === null || t.exact <= BigInt(CAP)) expect.fail(`${t.exact} times: ${text}`);
        // The first run that leaves, and none of those around it before.
        const at = (k: bigint): bigint =>
          extend(c.start + (k + (c.next ? 1n : 0n)) * c.step, c.width, c.signed);
        const stays = (k: bigint): boolean => {
          const [v, b] = [at(k), extend(c.bound, c.width, c.signed)];
          return holds(c.cmp, ...((c.swapped ? [b, v] : [v, b]) as [bigint, bigint])) === c.stay;
        };
        const { exact } = t;
        if (stays(exact)) expect.fail(`goes on after ${exact} times: ${text}`);
        for (let d = 1n; d < 50n; d++)
          if (!stays(exact - d)) expect.fail(`ends after ${exact - d} times, not ${exact}: ${text}`);
      }
    }
    expect([counts > 1000, long > 300, zero > 300]).toEqual([true, true, true]);
  });

  it.each([
    ['for (i = 0; i < 10; i++)', { start: 0n, step: 1n, bound: 10n, cmp: 'LT' }, 10n],
    ['no run of the body', { start: 10n, step: 1n, bound: 10n, cmp: 'LT' }, 0n],
    ['steps that pass the bound', { start: 0n, step: 3n, bound: 10n, cmp: 'LT' }, 4n],
    ['downwards to zero, signed', { start: 9n, step: -1n, bound: 0n, cmp: 'GE' }, 10n],
    [
      'downwards to zero, unsigned: never',
      { start: 9n, step: -1n, bound: 0n, cmp: 'GE', signed: false },
      null,
    ],
    ['up to the largest, inclusive: never', { start: 0n, step: 1n, bound: 0x7fffffffn, cmp: 'LE' }, null],
    ['through the wrap of a signed number', { start: 0x7ffffffen, step: 1n, bound: 5n, cmp: 'GT' }, 2n],
    [
      'not equal, by an odd step through all numbers',
      { start: 1n, step: 3n, bound: 0n, cmp: 'NE' },
      1431655765n,
    ],
    ['not equal, past it by an even step: never', { start: 1n, step: 2n, bound: 0n, cmp: 'NE' }, null],
    ['while equal', { start: 4n, step: 1n, bound: 4n, cmp: 'EQ' }, 1n],
  ] as [string, Partial<Simple>, bigint | null][])('%s', (_, some, expected) => {
    const base = { width: 32, signed: true, stay: true, top: true, next: false, swapped: false };
    const t = tripCountsOf(parse(simpleLoop({ ...base, ...some } as Simple))).of(0);
    expect(t).toMatchObject({ exact: expected, endless: expected === null });
  });
});

describe('trip counts of other loops', () => {
  const count = (text: string, loop = 0): TripCount => tripCountsOf(parse(text)).of(loop);

  it('name the bound where it is no constant', () => {
    const t = count(`.entry k
  .param u32 n size 4 align 4 at 0 reg R9
{
BB0:
BB1:
MOVPHI R1, {BB0: 0, BB2: R2}
ISETP.GE P3, R1, R9
@P3 BRA BB3
BB2:
IADD3 R2, R1, 1
BRA BB1
BB3:
EXIT
}`);
    expect(t).toMatchObject({ exact: null, most: 0x7fffffffn, endless: false });
    expect(t.symbolic).toMatchObject({ relation: '<', signed: true, always: true });
    expect(t.symbolic!.bound.terms.map((x) => regName(x.operand.reg))).toEqual(['R9']);
    expect(t.symbolic!.start).toMatchObject({ terms: [], constant: 0n });
  });

  it('bound a strided loop by its start at worst', () => {
    const t = count(`.entry k
  .param u32 tid size 4 align 4 at 0 reg R9
{
BB0:
BB1:
MOVPHI R1, {BB0: R9, BB2: R2}
ISETP.GE.U32 P3, R1, 256
@P3 BRA BB3
BB2:
IADD3 R2, R1, 32
BRA BB1
BB3:
EXIT
}`);
    expect(t).toMatchObject({ exact: null, most: 8n });
  });

  it('take the first of several exits, and no side exit for granted', () => {
    const loop = (side: string): string => `.entry k
  .param u32 n size 4 align 4 at 0 reg R9
{
BB0:
ISETP.EQ P8, R9, 3
BB1:
MOVPHI R1, {BB0: 0, BB3: R2}
ISETP.GE P3, R1, 10
@P3 BRA BB4
BB2:
IADD3 R2, R1, 1
ISETP.EQ P5, R1, ${side}
@P5 BRA BB4
BB3:
BRA BB1
BB4:
EXIT
}`;
    expect(count(loop('7'))).toMatchObject({ exact: 7n, most: 7n });
    expect(count(loop('20'))).toMatchObject({ exact: 10n, most: 10n });
    expect(count(loop('R9'))).toMatchObject({ exact: null, most: 10n, symbolic: null });
  });

  it('count a guarded EXIT as a loop exit', () => {
    const t = count(`BB0:
BB1:
MOVPHI R1, {BB0: 0, BB2: R2}
IADD3 R2, R1, 1
ISETP.EQ P3, R2, 5
@P3 EXIT
BB2:
BRA BB1`);
    expect(t).toMatchObject({ exact: 4n, exits: [{ block: 1, at: 4n }] });
  });

  it('ignore an unreachable edge', () => {
    const t = count(`BB0:
BRA BB1
BB3:
MOV R9, 100
BB1:
MOVPHI R1, {BB0: 0, BB1: R2, BB3: R9}
IADD3 R2, R1, 1
ISETP.LT P3, R2, 5
@P3 BRA BB1
BB2:
EXIT`);
    expect(t).toMatchObject({ exact: 4n, exits: [{ block: 2, at: 4n }] });
  });

  it('join tests', () => {
    const both = (bool: string): string => `BB0:
BB1:
MOVPHI R1, {BB0: 0, BB2: R2}
IADD3 R2, R1, 1
ISETP.LT P3, R1, 9
ISETP.NE.S32.${bool} P4, R1, 6, P3
@!P4 BRA BB3
BB2:
BRA BB1
BB3:
EXIT`;
    // Goes on while i != 6 && i < 9; while i != 6 || i < 9: nothing is said of two tests at once.
    expect(count(both('AND'))).toMatchObject({ exact: 6n });
    expect(count(both('OR'))).toMatchObject({ exact: null, most: null, endless: false });
    // Of two ways out, one at a value that is not known: no later than the other.
    const unknown = both('AND').replace('ISETP.LT P3, R1, 9', 'LDG R7, [RD8]\nISETP.LT P3, R1, R7');
    expect(count(unknown)).toMatchObject({ exact: null, most: 6n, endless: false });
    // Goes on while i != 6 || i >= 0, without a sign: for ever.
    const ever = both('OR').replace('ISETP.LT P3, R1, 9', 'ISETP.GE.U32 P3, R1, 0');
    expect(count(ever)).toMatchObject({ exact: null, most: null, endless: true });
    const table = (lut: string): string =>
      both('AND').replace(
        'ISETP.NE.S32.AND P4, R1, 6, P3',
        `ISETP.EQ P5, R1, 6\nPLOP3 P4, P5, P3, PT, ${lut}`,
      );
    // !a & b, in the rows 010 and 011.
    expect(count(table('0xc'))).toMatchObject({ exact: 6n });
  });

  it('see through phis of one value, as at the exit of an inner loop', () => {
    const around = (last: string): string => `BB0:
BB1:
MOVPHI R1, {BB0: 0, BB3: R3}
IADD3 R2, R1, 1
@P30 BRA BB3
BB2:
STG [RD8], R1
BB3:
MOVPHI R3, {BB1: R2, BB2: ${last}}
ISETP.LT P4, R3, 5
@P4 BRA BB1
BB4:
EXIT`;
    expect(count(around('R2'))).toMatchObject({ exact: 4n });
    expect(count(around('7'))).toMatchObject({ exact: null });
  });

  it('extend a counter where it does not wrap', () => {
    const loop = (start: string, signed: string, bound: string): Fn =>
      parse(`.entry k
  .param u32 n size 4 align 4 at 0 reg R9
  .param u64 p size 8 align 8 at 8 reg RD8
{
BB0:
BB1:
MOVPHI R1, {BB0: ${start}, BB2: R2}
IMAD_WIDE.${signed} RD4, R1, 4, RD8
ISETP.GE.${signed} P3, R1, ${bound}
@P3 BRA BB3
BB2:
IADD3 R2, R1, 1
BRA BB1
BB3:
EXIT
}`);
    const step = (fn: Fn): bigint | null =>
      tripCountsOf(fn).evolutions.evolutionOf(0, regOf('RD4'))?.step.constant ?? null;
    expect(step(loop('RZ', 'S32', '100'))).toBe(4n);
    expect(step(loop('RZ', 'S32', 'R9'))).toBe(4n);
    expect(step(loop('R9', 'U32', '100'))).toBe(4n);
    // Signed by the test, unsigned by the address.
    const mixed = loop('R9', 'S32', '100');
    expect(step(mixed)).toBe(4n);
    expect(step(parse(printFn(mixed).replace('IMAD_WIDE', 'IMAD_WIDE.U32')))).toBeNull();
    // Goes on through the wrap.
    expect(step(parse(printFn(loop('RZ', 'S32', 'R9')).replace('ISETP.GE', 'ISETP.EQ')))).toBeNull();
  });

  it('say nothing where a step may pass the bound and wrap', () => {
    const loop = (step: number): string => `.entry k
  .param u32 n size 4 align 4 at 0 reg R9
{
BB0:
BB1:
MOVPHI R1, {BB0: 0, BB1: R2}
IADD3 R2, R1, ${step}
ISETP.LT P3, R2, R9
@P3 BRA BB1
BB2:
EXIT
}`;
    // With n = 0x7fffffff a step of two goes from 0x7ffffffe to the least number, which is below n again.
    expect(count(loop(2))).toMatchObject({ exact: null, most: null, symbolic: { always: false } });
    expect(count(loop(1))).toMatchObject({ exact: null, most: 0x7ffffffen, symbolic: { always: true } });
    expect(count(loop(-1))).toMatchObject({ exact: null, most: null, symbolic: null });
  });

  it('do not extend a counter over the first step, which no test has seen', () => {
    const loop = (start: string): Fn =>
      parse(`.entry k
  .param u32 n size 4 align 4 at 0 reg R9
{
BB0:
BB1:
MOVPHI R1, {BB0: ${start}, BB1: R2}
I2I.S64.S32 RD4, R1
IADD3 R2, R1, 1
ISETP.LT P3, R2, R9
@P3 BRA BB1
BB2:
EXIT
}`);
    const step = (fn: Fn): bigint | undefined =>
      tripCountsOf(fn).evolutions.evolutionOf(0, regOf('RD4'))?.step.constant;
    expect(step(loop('0x7ffffffe'))).toBe(1n);
    expect(step(loop('0x7fffffff'))).toBeUndefined();
  });

  it('ask every latch', () => {
    const loop = (other: number): Fn =>
      parse(`.entry k
  .param u32 n size 4 align 4 at 0 reg R9
{
BB0:
ISETP.EQ P8, R9, 3
BB1:
MOVPHI R1, {BB0: 0, BB2: R2, BB4: R3}
ISETP.GE P7, R1, 12
@P7 BRA BB5
BB6:
@P8 BRA BB4
BB2:
IADD3 R2, R1, 2
BRA BB1
BB4:
IADD3 R3, R1, ${other}
BRA BB1
BB5:
EXIT
}`);
    expect(tripCountsOf(loop(2)).of(0)).toMatchObject({ exact: 6n });
    expect(tripCountsOf(loop(3)).of(0)).toMatchObject({ exact: null, most: null });
    expect(tripCountsOf(loop(2)).evolutions.inductionVariables(0)).toMatchObject([
      { phi: regOf('R1'), evolution: { start: { constant: 0n }, step: { constant: 2n } } },
    ]);
  });

  it('know nothing outside of SSA', () => {
    const fn = parseFn(
      'BB0:\nMOV R1, 0\nBB1:\nIADD3 R1, R1, 1\nISETP.LT P2, R1, 5\n@P2 BRA BB1\nBB2:\nEXIT',
      isa,
    );
    expect(tripCountsOf(fn).of(0)).toMatchObject({ exact: null, most: null, endless: false });
    expect(tripCountsOf(fn).evolutions.evolutionOf(0, regOf('R1'))).toBeNull();
    expect(tripCountsOf(fn).evolutions.inductionVariables(0)).toEqual([]);
  });

  it('hold for exits from loops inside, with any number of entries, and not for what may be passed by', () => {
    const fn = (from: string): Fn =>
      parse(`.entry k
  .param u32 n size 4 align 4 at 0 reg R9
{
BB0:
ISETP.EQ P8, R9, 3
BB1:
MOVPHI R1, {BB0: 0, BB5: R2}
IADD3 R2, R1, 1
ISETP.EQ P3, R1, 6
@P8 BRA BB3
BB2:
${from === 'BB2' ? '@P3 BRA BB6' : ''}
BB7:
BRA BB3
BB3:
${from === 'BB3' ? '@P3 BRA BB6' : ''}
BB4:
ISETP.EQ P10, R1, 4
@P10 BRA BB2
BB5:
BRA BB1
BB6:
EXIT
}`);
    // BB2 to BB4 form a cycle with two entries inside the loop of BB1; only BB3 is on every way around.
    expect(tripCountsOf(fn('BB3')).of(0)).toMatchObject({ exact: 6n });
    expect(tripCountsOf(fn('BB2')).of(0)).toMatchObject({ exact: null, most: null });
  });
});

describe('the most rounds of a loop', () => {
  const REMAINDER = (size: string, r: string, type: string): string => `.entry k
  .param ${type} n size 8 align 8 at 0 reg ${r}1
{
BB0:
LOP3${size} ${r}2, ${r}1, 3, RZ, 0xc0
ISETP.EQ.${type.toUpperCase()} P3, ${r}2, 0
@P3 BRA BB3
BB1:
IADD3${size} ${r}4, RZ, -${r}2
BB2:
MOVPHI${size} ${r}5, {BB1: ${r}4, BB2: ${r}6}
IADD3${size} ${r}6, ${r}5, 1
ISETP.NE.${type.toUpperCase()} P7, ${r}6, 0
@P7 BRA BB2
BB3:
EXIT
}`;

  // The loop that nvcc makes of what is left over when it has unrolled another one.
  it.each([
    ['32 bits', REMAINDER('', 'R', 'u32')],
    ['64 bits', REMAINDER('.64', 'RD', 'u64')],
  ])('are three for what unrolling by four leaves, of %s', (_, text) => {
    expect(mostRounds(parse(text), 0)).toBe(3);
  });

  it('are no fewer than run, whatever masks, signs and relations they are counted with', () => {
    const below = generator(20261127);
    let tight = 0;
    for (let n = 0; n < 600; n++) {
      const masks = [1, 3, 6, 7, 12].map(String);
      const mask = () => masks[below(masks.length)];
      const c = () => String(below(13) - 6);
      const [a, b] = [mask(), mask()];
      const step = [1, -1, 1, -1, 2, -3][below(6)];
      const bound = below(2) === 0 ? c() : 'R23';
      const text = `BB0:
LOP3 R20, R1, ${a}, RZ, 0xc0
LOP3 R21, R2, ${b}, RZ, 0xc0
IADD3 R22, ${below(2) === 0 ? '' : '-'}R20, ${c()}
IADD3 R23, ${below(2) === 0 ? '' : '-'}R21, ${c()}
BB1:
MOVPHI R5, {BB0: R22, BB1: R6}
IADD3 R6, R5, ${step}
ISETP.${CMP[below(6)]}${below(2) === 0 ? '.U32' : ''} P7, R6, ${bound}
@P7 BRA BB1
BB2:
EXIT`;
      const fn = parse(text);
      const rounds = mostRounds(fn, 0);
      let most = 0;
      for (const x of maskedBy(Number(a)))
        for (const y of bound === 'R23' ? maskedBy(Number(b)) : [0]) {
          let k = 0;
          const inputs = new Map([
            [regOf('R1'), BigInt(x)],
            [regOf('R2'), BigInt(y)],
          ]);
          runSsa(fn, inputs, 400, (_from, to) => {
            if (to === 1) k++;
          });
          most = Math.max(most, k);
        }
      if (most > rounds) expect.fail(`${most} rounds, not ${rounds}: ${text}`);
      if (rounds < 40 && most === rounds) tight++;
    }
    expect(tight).toBeGreaterThan(150);
  });
});

/** The numbers that have no bits but those of a mask. */
const maskedBy = (mask: number): number[] =>
  Array.from({ length: mask + 1 }, (_, x) => x).filter((x) => (x & ~mask) === 0);

describe('random loops', () => {
  it('count and change as the interpreter sees it', () => {
    const below = generator(20261127);
    const seen: Seen = { exact: 0, most: 0, symbolic: 0, evolutions: 0, unknown: 0, extended: 0 };
    const values = [0n, 1n, 3n, 7n, 40n, 0x7fffffffn, 0x80000000n, 0xfffffff0n, -1n, -9n];
    for (let n = 0; n < allRuns(400); n++) {
      const fn = parse(randomLoops(below));
      for (let k = 0; k < 2; k++) {
        const inputs = new Map<Reg, bigint>();
        for (const r of ['R1', 'R2', 'R3', 'RD4', 'RD5'].map(regOf))
          inputs.set(r, BigInt.asUintN(regWidth(r), values[below(values.length)]));
        check(fn, inputs, 1500, seen);
      }
    }
    expect(seen.exact).toBeGreaterThan(80);
    expect(seen.most).toBeGreaterThan(25);
    expect(seen.symbolic).toBeGreaterThan(25);
    expect(seen.extended).toBeGreaterThan(8);
    expect(seen.evolutions).toBeGreaterThan(2500);
  });
});
