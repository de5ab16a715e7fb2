import { describe, expect, it } from 'vitest';
import { type Opcode, slotWidth } from '../../src/ir/opcode.ts';
import { imm, immOf, makeReg, NO_REG, RegFile, reg, withOperandMods } from '../../src/ir/operand.ts';
import { instr } from '../../src/ir/program.ts';
import { Bounds } from '../../src/isa/bounds.ts';
import {
  type BoundsProgram,
  boundsProgram,
  evaluate,
  programOfGraph,
  SPARE,
} from '../../src/isa/bounds-program.ts';
import { EqualSource, mayEqualSource } from '../../src/isa/equal-source.ts';
import { evalGraph } from '../../src/isa/lang/evaluate.ts';
import type { CoreOp, Graph, Node } from '../../src/isa/lang/graph.ts';
import { isConstantSlot } from '../../src/isa/meaning.ts';
import { evalBig } from '../../src/isa/reference.ts';
import { testIsa } from '../support/isa.ts';
import { modChoices, operandValue, Random } from '../support/meaning.ts';

const isa = testIsa();

const u = (low: number, high: number): bigint => (BigInt(high >>> 0) << 32n) | BigInt(low >>> 0);
const text = (p: Bounds, i: number): string =>
  `zeros ${u(p.zeroLow[i], p.zeroHigh[i]).toString(16)} ones ${u(p.oneLow[i], p.oneHigh[i]).toString(16)} unsigned ${p.least[i]}..${p.most[i]} signed ${p.signedLeast[i]}..${p.signedMost[i]}`;

/** Exact value of a double that is an integer. */
const big = (x: number): bigint => BigInt(x);

/** Does the slot allow the value? */
function allows(p: Bounds, i: number, width: number, v: bigint): boolean {
  const s = BigInt.asIntN(width, v);
  return (
    (v & u(p.zeroLow[i], p.zeroHigh[i])) === 0n &&
    (v & u(p.oneLow[i], p.oneHigh[i])) === u(p.oneLow[i], p.oneHigh[i]) &&
    v >= big(p.least[i]) &&
    v <= big(p.most[i]) &&
    s >= big(p.signedLeast[i]) &&
    s <= big(p.signedMost[i])
  );
}

/** A random abstract value that allows `v`: some bits forgotten, bounds moved away by random steps. */
function around(p: Bounds, i: number, width: number, v: bigint, rnd: Random): void {
  const random64 = (): bigint => (BigInt(rnd.next() >>> 0) << 32n) | BigInt(rnd.next() >>> 0);
  const hide = [0n, random64(), random64() | random64(), -1n, random64() & random64()][rnd.below(5)];
  const all = (1n << BigInt(width)) - 1n;
  const zeros = ~v & all & ~hide;
  const ones = v & ~hide & all;
  p.setTop(i, width);
  p.zeroLow[i] |= Number(BigInt.asIntN(32, zeros));
  p.zeroHigh[i] |= Number(BigInt.asIntN(32, zeros >> 32n));
  p.oneLow[i] = Number(BigInt.asIntN(32, ones));
  p.oneHigh[i] = Number(BigInt.asIntN(32, ones >> 32n));
  const step = (): bigint => random64() >> BigInt(rnd.below(65));
  const below = (x: bigint, least: bigint): number => {
    const y = x - step();
    const d = Number(y < least ? least : y);
    return BigInt(d) > x ? Number(least) : d;
  };
  const above = (x: bigint, most: bigint): number => {
    const y = x + step();
    const d = Number(y > most ? most : y);
    return BigInt(d) < x ? Number(most) : d;
  };
  const s = BigInt.asIntN(width, v);
  const half = 1n << BigInt(width - 1);
  if (rnd.below(3) > 0) {
    p.least[i] = below(v, 0n);
    p.most[i] = above(v, all);
  }
  if (rnd.below(3) > 0) {
    p.signedLeast[i] = below(s, -half);
    p.signedMost[i] = above(s, half - 1n);
  }
  // What the parts tell each other is part of the value.
  const other = new Bounds(1);
  other.setTop(0, width);
  if (!p.meet(i, width, other, 0)) expect.fail(`nothing is left of ${text(p, i)}`);
  if (!allows(p, i, width, v)) expect.fail(`${v.toString(16)} is not in ${text(p, i)}`);
}

const pool = new Bounds(400);

function run(g: BoundsProgram): void {
  if (g.count + SPARE >= 400) expect.fail(`${g.count} values are too many`);
  evaluate(g, pool);
}

const equal = new EqualSource();
let kept = 0;

describe('every meaning, on random sets of values', () => {
  const opcodes = isa.opcodes.filter((o) => o.means !== null && o.dsts.length > 0);
  it.each(opcodes.map((op) => [op.name, op] as const))('%s', (_name, op: Opcode) => {
    const rnd = new Random(`bounds ${op.name}`);
    const choices = modChoices(op);
    const rounds = Math.max(2, Math.ceil(200 / choices.length));
    for (const mods of choices)
      for (let round = 0; round < rounds; round++) {
        const values = op.srcs.map((s) => operandValue(rnd, slotWidth(op, mods, s) || 32));
        const srcs = op.srcs.map((s, k) => {
          const w = slotWidth(op, mods, s);
          if (isConstantSlot(s))
            return imm(Number((values[k] = BigInt(rnd.below(op.name === 'LEA' ? 70 : 256)))));
          const m = rnd.next() & s.mods;
          return withOperandMods(reg(makeReg(k, w === 1 ? RegFile.P : w === 64 ? RegFile.RD : RegFile.R)), m);
        });
        const x = instr(
          op,
          mods,
          op.dsts.map(() => NO_REG),
          srcs,
        );
        const g = boundsProgram(x)!;
        g.sources.forEach((node, k) => {
          if (node >= 0) around(pool, node, g.widths[node], values[k], rnd);
        });
        run(g);
        const want = evalBig(
          op,
          mods,
          values,
          srcs.map((o) => o.mods),
        );
        if (mayEqualSource(g))
          equal.of(g, pool).forEach((k, d) => {
            if (k < 0) return;
            kept++;
            if (want[d] !== values[k])
              expect.fail(
                `result ${d} of ${op.name} ${mods} is ${want[d]}, and not operand ${k}, ${values[k]}`,
              );
          });
        g.graph.dsts.forEach((node, d) => {
          if (!allows(pool, node, g.widths[node], want[d]))
            throw new Error(
              `${op.name} ${mods} of ${values.map((v) => v.toString(16))}: ${want[d].toString(16)} is not in ${text(pool, node)}; ` +
                [...g.sources].map((n, k) => (n < 0 ? '' : `${k}: ${text(pool, n)}`)).join('; '),
            );
        });
      }
  });

  it('results that are an operand were among them', () => {
    expect(kept).toBeGreaterThan(500);
  });

  it('constants give constants', () => {
    // Integer opcodes on known operands: the transfer functions lose nothing.
    const rnd = new Random('constants');
    for (const name of [
      'IADD3',
      'IADDX',
      'IMAD',
      'IMAD_WIDE',
      'LEA',
      'SHL',
      'SHR',
      'SHF',
      'LOP3',
      'BFE',
      'BFI',
      'SGXT',
      'PRMT',
      'SEL',
      'ISETP',
      'IMNMX',
      'POPC',
      'FLO',
      'PAIR',
    ]) {
      const op = isa.byName.get(name)!;
      for (const mods of modChoices(op)) {
        // The high half of a product is known as a range, which is exact for small numbers only.
        const size = name === 'IMAD' ? 1000 : 0x7fffffff;
        const values = op.srcs.map((s) =>
          BigInt(
            isConstantSlot(s) ? rnd.below(64) : slotWidth(op, mods, s) === 1 ? rnd.below(2) : rnd.below(size),
          ),
        );
        const srcs = op.srcs.map((s, k) => immOf(values[k], isConstantSlot(s) ? 32 : slotWidth(op, mods, s)));
        const g = boundsProgram(
          instr(
            op,
            mods,
            op.dsts.map(() => NO_REG),
            srcs,
          ),
        )!;
        g.sources.forEach((node, k) => {
          if (node >= 0) pool.setConstant(node, g.widths[node], srcs[k].lo, srcs[k].hi);
        });
        run(g);
        const want = evalBig(op, mods, values);
        g.graph.dsts.forEach((node, d) => {
          if (!pool.isConstant(node) || u(pool.oneLow[node], pool.oneHigh[node]) !== want[d])
            expect.fail(`${name} ${mods} of ${values} is not ${want[d]}: ${text(pool, node)}`);
        });
      }
    }
  });
});

/** A graph of one operation on two sources of `width` bits. */
function graphOfOp(op: CoreOp, width: number, result: number, aux = '', n = 0, count = 2): Graph {
  const nodes: Node[] = [];
  for (let k = 0; k < count; k++)
    nodes.push({ op: 'src', width, args: [], fmt: '', aux: '', n: k, value: 0n });
  nodes.push({
    op,
    width: result,
    args: Array.from({ length: count }, (_, k) => k),
    fmt: '',
    aux,
    n,
    value: 0n,
  });
  return { nodes, dsts: [count], srcWidths: Array.from({ length: count }, () => width) };
}

describe('every operator, on every set of small numbers', () => {
  const W = 3;
  const binary: [CoreOp, number, number][] = [
    ...(
      [
        'add',
        'sub',
        'mul',
        'umulh',
        'smulh',
        'udiv',
        'sdiv',
        'urem',
        'srem',
        'and',
        'or',
        'xor',
        'shl',
        'lshr',
        'ashr',
      ] as const
    ).map((op): [CoreOp, number, number] => [op, W, 0]),
    ['eq', 1, 0],
    ['ult', 1, 0],
    ['slt', 1, W],
    ['concat', 2 * W, W],
  ];
  const unary: [CoreOp, number, number][] = [
    ['not', W, 0],
    ['zext', 2 * W, 0],
    ['sext', 2 * W, W],
    ['extract', 2, 0],
    ['extract', 2, 1],
    ['extract', 1, 2],
    ['popc', 32, W],
    ['clz', 32, W],
    ['brev', W, 0],
  ];
  /** Abstract values of W bits: every unsigned interval, every signed one, every pattern of known bits. */
  const sets: Bounds = new Bounds(600);
  let count = 0;
  const members: bigint[][] = [];
  const take = (fill: (i: number) => void): void => {
    sets.setTop(count, W);
    fill(count);
    const any = new Bounds(1);
    any.setTop(0, W);
    if (!sets.meet(count, W, any, 0)) return;
    members.push(
      Array.from({ length: 1 << W }, (_, v) => BigInt(v)).filter((v) => allows(sets, count, W, v)),
    );
    count++;
  };
  for (let a = 0; a < 1 << W; a++)
    for (let b = a; b < 1 << W; b++)
      take((i) => {
        sets.least[i] = a;
        sets.most[i] = b;
      });
  for (let a = -4; a < 4; a++)
    for (let b = a; b < 4; b++)
      if (a < 0)
        take((i) => {
          sets.signedLeast[i] = a;
          sets.signedMost[i] = b;
        });
  for (let z = 0; z < 1 << W; z++)
    for (let o = 0; o < 1 << W; o++)
      if ((z & o) === 0)
        take((i) => {
          sets.zeroLow[i] |= z;
          sets.oneLow[i] = o;
        });

  it('sets are reduced without loss of members', () => {
    expect(count).toBeGreaterThan(70);
    for (const m of members) expect(m.length).toBeGreaterThan(0);
  });

  it.each(unary)('%s to %i bits (%i)', (op, result, n) => {
    const graph = graphOfOp(op, W, result, '', n, 1);
    const g = programOfGraph(graph);
    for (let i = 0; i < count; i++) {
      pool.copy(0, sets, i);
      run(g);
      for (const v of members[i]) {
        const want = evalGraph(graph, [v])[0];
        if (!allows(pool, 1, result, want))
          throw new Error(`${op} of ${v} in ${text(sets, i)}: ${want} not in ${text(pool, 1)}`);
      }
    }
  });

  it.each(binary)('%s to %i bits (%i)', (op, result, n) => {
    const graph = graphOfOp(op, W, result, '', n);
    const g = programOfGraph(graph);
    const table = Array.from({ length: 256 }, (_, k) => evalGraph(graph, [BigInt(k >> 3), BigInt(k & 7)])[0]);
    let found = 0;
    let missed = 0;
    for (let i = 0; i < count; i++)
      for (let j = 0; j < count; j++) {
        pool.copy(0, sets, i);
        pool.copy(1, sets, j);
        run(g);
        if (mayEqualSource(g)) {
          const same = equal.of(g, pool)[0];
          const all = members[i].flatMap((a) =>
            members[j].map((b) => [table[Number(a) * 8 + Number(b)], a, b]),
          );
          const is = [1, 2].filter((k) => all.every((r) => r[0] === r[k]));
          if (same >= 0) {
            found++;
            if (!is.includes(1 + same))
              expect.fail(`${op} of ${text(sets, i)} and ${text(sets, j)} is not operand ${same}`);
          } else if (is.length > 0) missed++;
        }
        for (const a of members[i])
          for (const b of members[j]) {
            const want = table[Number(a) * 8 + Number(b)];
            if (!allows(pool, 2, result, want))
              throw new Error(
                `${op} of ${a} in ${text(sets, i)} and ${b} in ${text(sets, j)}: ${want} not in ${text(pool, 2)}`,
              );
          }
      }
    // Bits tell all of these; a remainder by 0 is its first operand, which bounds do not say.
    if (['and', 'or', 'xor'].includes(op)) expect([found > 300, missed]).toEqual([true, 0]);
    if (op === 'urem') expect(found).toBeGreaterThan(900);
  });

  it('lop3, for each table', () => {
    const rnd = new Random('lop3');
    for (let t = 0; t < 256; t++) {
      const graph = graphOfOp('lop3', W, W, '', t, 3);
      const g = programOfGraph(graph);
      for (let k = 0; k < 5; k++) {
        const at = [0, 1, 2].map(() => rnd.below(count));
        at.forEach((s, slot) => pool.copy(slot, sets, s));
        run(g);
        const same = equal.of(g, pool)[0];
        for (const a of members[at[0]])
          for (const b of members[at[1]])
            for (const c of members[at[2]]) {
              const want = evalGraph(graph, [a, b, c])[0];
              if (!allows(pool, 3, W, want)) throw new Error(`table ${t}`);
              if (same >= 0 && want !== [a, b, c][same]) throw new Error(`table ${t} is not operand ${same}`);
            }
      }
    }
  });

  it('a smaller set gives no larger result', () => {
    for (const [op, result, n] of binary) {
      const g = programOfGraph(graphOfOp(op, W, result, '', n));
      const rnd = new Random(`monotone ${op}`);
      for (let k = 0; k < 1000; k++) {
        const [i, j] = [rnd.below(count), rnd.below(count)];
        // The join of a set with another one is above it.
        pool.copy(0, sets, i);
        pool.copy(1, sets, j);
        run(g);
        const small = new Bounds(1);
        small.copy(0, pool, 2);
        pool.copy(0, sets, i);
        pool.join(0, W, sets, rnd.below(count));
        run(g);
        pool.join(2, result, small, 0);
        const joined = new Bounds(1);
        joined.copy(0, pool, 2);
        run(g);
        if (!pool.same(2, joined, 0)) expect.fail(`${op}: ${text(small, 0)} is not in ${text(pool, 2)}`);
      }
    }
  });
});

describe('bits of sums and logic', () => {
  it.each([
    ['add', 64],
    ['sub', 64],
    ['and', 64],
    ['or', 64],
    ['xor', 64],
    ['add', 32],
    ['sub', 32],
  ] as const)('%s of %i bits: all that can be known, across the border of the words', (op, width) => {
    const graph = graphOfOp(op, width, width);
    const g = programOfGraph(graph);
    const at = BigInt(width === 64 ? 30 : 13);
    const all = (1n << BigInt(width)) - 1n;
    const rnd = new Random(`bits ${op} ${width}`);
    for (let round = 0; round < 300; round++) {
      // Four bits in the middle may be unknown; those around them are drawn.
      const members = [0, 1].map((slot) => {
        const value = ((BigInt(rnd.next() >>> 0) << 32n) | BigInt(rnd.next() >>> 0)) & all;
        const hidden = BigInt(rnd.below(16)) << at;
        const zeros = ~value & ~hidden & all;
        const ones = value & ~hidden;
        pool.setTop(slot, width);
        pool.zeroLow[slot] |= Number(BigInt.asIntN(32, zeros));
        pool.zeroHigh[slot] |= Number(BigInt.asIntN(32, zeros >> 32n));
        pool.oneLow[slot] = Number(BigInt.asIntN(32, ones));
        pool.oneHigh[slot] = Number(BigInt.asIntN(32, ones >> 32n));
        return Array.from({ length: 16 }, (_, k) => (value & ~hidden) | ((BigInt(k) << at) & hidden));
      });
      run(g);
      const results = members[0].flatMap((a) => members[1].map((b) => evalGraph(graph, [a, b])[0]));
      const ones = results.reduce((x, y) => x & y, all);
      const zeros = results.reduce((x, y) => x & ~y, all);
      const known = [u(pool.oneLow[2], pool.oneHigh[2]), u(pool.zeroLow[2], pool.zeroHigh[2]) & all];
      if (known[0] !== ones || known[1] !== zeros) expect(known, text(pool, 2)).toEqual([ones, zeros]);
    }
  });
});

describe('known numbers of 64 bits', () => {
  it('bounds beyond 2^53 hold', () => {
    const p = new Bounds(2);
    for (const v of [
      2n ** 63n - 1n,
      2n ** 63n,
      2n ** 64n - 1n,
      2n ** 53n + 1n,
      0x7ffffffffffffc01n,
      0xfedcba9876543210n,
    ]) {
      p.setConstant(0, 64, Number(BigInt.asIntN(32, v)), Number(BigInt.asIntN(32, v >> 32n)));
      expect(allows(p, 0, 64, v), v.toString(16)).toBe(true);
      expect(p.isConstant(0)).toBe(true);
    }
  });
});
