import fc from 'fast-check';
import { isPhi } from '../../src/ir/flow.ts';
import { entryOf } from '../../src/ir/jump-table.ts';
import { slotWidth, srcSlot } from '../../src/ir/opcode.ts';
import { immValue, Kind, NO_REG, type Operand, type Reg, regOf } from '../../src/ir/operand.ts';
import type { Fn } from '../../src/ir/program.ts';
import { parseFn, printFn } from '../../src/ir/text.ts';
import { evalBig } from '../../src/isa/reference.ts';
import { testIsa } from './isa.ts';

/*
 * Random code that branches on one register: chains and trees of all kinds of comparisons, ranges, jump tables, in any combination, with
 * values and stores between them, jumps into the middle, arms that fall through or exit, and a loop around it all. It is not in SSA: R10
 * to R12 are variables, R1 (RD1 in 64 bits) is the selector.
 */

/** A random switch, and values of its selector to test. */
export interface RandomSwitch {
  readonly fn: Fn;
  readonly selector: Reg;
  readonly values: readonly bigint[];
}

interface Test {
  readonly cmp: string;
  readonly sign: string;
  readonly value: bigint;
  readonly plus: bigint;
  /** Code before the comparison. */
  readonly between: number;
}
type Node =
  | { readonly arm: number }
  | { readonly test: Test; readonly turned: boolean; readonly yes: Node; readonly no: Node }
  | { readonly low: bigint; readonly table: readonly number[]; readonly clamped: boolean; readonly no: Node }
  /** A jump into the middle of existing code. */
  | { readonly back: number };

const ARMS = 6;

const values = (width: number): fc.Arbitrary<bigint> => {
  const half = 1n << BigInt(width - 1);
  return fc
    .oneof(
      { weight: 6, arbitrary: fc.bigInt(0n, 20n) },
      { weight: 2, arbitrary: fc.bigInt(-6n, 70n) },
      {
        weight: 1,
        arbitrary: fc.constantFrom(half, half - 1n, -1n, 0n, half + 1n, half - 2n, 1n << 31n, 1n << 32n),
      },
      { weight: 1, arbitrary: fc.bigInt(0n, 2n * half - 1n) },
    )
    .map((v) => BigInt.asUintN(width, v));
};

const tests = (width: number): fc.Arbitrary<Test> =>
  fc.record({
    cmp: fc.oneof({ weight: 4, arbitrary: fc.constant('EQ') }, fc.constantFrom('NE', 'LT', 'LE', 'GT', 'GE')),
    sign: fc.constantFrom('S', 'U'),
    value: values(width),
    plus: fc.oneof({ weight: 4, arbitrary: fc.constant(0n) }, fc.bigInt(-9n, 9n), values(width)),
    between: fc.oneof({ weight: 8, arbitrary: fc.constant(0) }, fc.integer({ min: 1, max: 5 })),
  });

const nodes = (width: number): fc.Arbitrary<Node> => {
  const arm = fc.oneof(
    { weight: 20, arbitrary: fc.integer({ min: 0, max: ARMS }).map((a): Node => ({ arm: a })) },
    { weight: 1, arbitrary: fc.nat(30).map((back): Node => ({ back })) },
  );
  const equal = fc
    .tuple(
      fc.uniqueArray(values(width), { minLength: 2, maxLength: 14 }),
      fc.array(tests(width), { maxLength: 14 }),
      fc.nat(),
    )
    .map(([list, like, seed]) => {
      const at = (rest: Node): Node =>
        list.reduceRight<Node>(
          (no, value, k) => ({
            test: { ...(like[k] ?? { plus: 0n, between: 0, sign: 'S' }), cmp: 'EQ', value },
            turned: false,
            yes: { arm: (seed + k * ((seed >> 3) % 5)) % (ARMS + 1) },
            no,
          }),
          rest,
        );
      return at;
    });
  return fc.letrec<{ node: Node }>((tie) => ({
    node: fc.oneof(
      { depthSize: 'small', depthIdentifier: 'switch' },
      { weight: 2, arbitrary: arm },
      {
        weight: 3,
        arbitrary: fc
          .record({ test: tests(width), turned: fc.boolean(), yes: tie('node'), no: tie('node') })
          .map((n): Node => n),
      },
      { weight: 3, arbitrary: fc.tuple(equal, tie('node')).map(([row, rest]) => row(rest)) },
      ...(width === 64
        ? []
        : [
            {
              weight: 1,
              arbitrary: fc
                .record({
                  low: values(width),
                  clamped: fc.boolean(),
                  table: fc.array(fc.integer({ min: 0, max: ARMS }), { minLength: 1, maxLength: 9 }),
                  no: tie('node'),
                })
                .map((n): Node => n),
            },
          ]),
    ),
  })).node;
};

/** An arbitrary switch on 32 or 64 bits. */
export const randomSwitch: fc.Arbitrary<RandomSwitch> = fc
  .constantFrom(32, 32, 64)
  .chain((width) =>
    fc.record({
      width: fc.constant(width),
      node: fc
        .tuple(tests(width), nodes(width), nodes(width))
        .map(([test, yes, no]): Node => ({ test, turned: false, yes, no })),
      masked: fc.constantFrom(-1n, -1n, -1n, 15n, 255n),
      loop: fc.boolean(),
      ends: fc.array(fc.constantFrom('fall', 'join', 'join', 'exit'), { minLength: ARMS, maxLength: ARMS }),
      more: fc.array(values(width), { maxLength: 4 }),
    }),
  )
  .map(({ width, node, masked, loop, ends, more }) => {
    const wide = width === 64 ? '.64' : '';
    const file = width === 64 ? 'RD' : 'R';
    const selector = `${file}1`;
    const lines: string[] = [];
    const tables: string[] = [];
    const constants = new Set<bigint>(more);
    let block = 100;
    let register = 200;
    const tested: number[] = [];
    const label = (n: Node): number => {
      if ('arm' in n) return n.arm;
      if ('back' in n) return tested.length === 0 ? 0 : tested[n.back % tested.length];
      return block++;
    };
    const add = (plus: bigint): string => {
      if (plus === 0n) return selector;
      const r = `${file}${register++}`;
      lines.push(`IADD3${wide} ${r}, ${selector}, ${BigInt.asIntN(width, plus)}`);
      return r;
    };
    const work: [number, Node][] = [[block++, node]];
    for (let w = work.pop(); w !== undefined; w = work.pop()) {
      const [at, n] = w;
      if ('arm' in n || 'back' in n) continue;
      lines.push(`BB${at}:`);
      const no = label(n.no);
      const p = `P${register++}`;
      if ('test' in n) {
        tested.push(at);
        const { cmp, sign, value, plus, between } = n.test;
        if (between === 1) lines.push('IADD3 R10, R11, 3');
        if (between === 2) lines.push(`MOV R12, ${register}`);
        if (between === 3) lines.push('STG [RD90], R10');
        if (between === 4) lines.push(`IADD3 R11, R10, ${at}`, 'IADD3 R10, R11, R12');
        const yes = label(n.yes);
        const x = add(plus);
        const c = BigInt.asUintN(width, value + plus);
        lines.push(`ISETP.${cmp}.${sign}${width} ${p}, ${x}, 0x${c.toString(16)}`);
        if (between === 5) lines.push(`@!${p} MOV R12, R10`);
        constants.add(value);
        lines.push(n.turned ? `@!${p} BRA BB${no}` : `@${p} BRA BB${yes}`);
        const rest: [number, Node] = n.turned ? [yes, n.yes] : [no, n.no];
        const other: [number, Node] = n.turned ? [no, n.no] : [yes, n.yes];
        // The block to fall into comes next, or is jumped to.
        if ('arm' in rest[1] || 'back' in rest[1]) lines.push(`BB${block++}:`, `BRA BB${rest[0]}`);
        work.push(other, rest);
      } else {
        const x = add(BigInt.asUintN(width, -n.low));
        const entries = n.table.map((a) => `BB${a}`);
        let place = x;
        if (n.clamped) {
          place = `R${register++}`;
          lines.push(`IMNMX.MIN.U32 ${place}, ${x}, ${n.table.length}`);
          entries.push(`BB${no}`);
        } else lines.push(`ISETP.GE.U32 ${p}, ${x}, ${n.table.length}`, `@${p} BRA BB${no}`, `BB${block++}:`);
        lines.push(`BRX ${place}, T${tables.length}`);
        tables.push(entries.join(' '));
        n.table.forEach((_, k) => constants.add(n.low + BigInt(k)));
        work.push([no, n.no]);
      }
    }
    const arms: string[] = [];
    for (let a = 0; a < ARMS; a++) {
      arms.push(`BB${a}:`, a % 2 === 0 ? `MOV R10, ${a}` : `IADD3 R11, R10, ${a}`);
      if (a === 3) arms.push('STG [RD90], R12');
      if (ends[a] === 'join') arms.push(`BRA BB${ARMS}`);
      if (ends[a] === 'exit') arms.push('STG [RD90], R11', 'EXIT');
    }
    const text = [
      '.func random',
      `  .param u${width} x size ${width / 8} align ${width / 8} at 0 reg ${file}99`,
      ...tables.map((t, i) => `  .table T${i} ${t}`),
      '  .regs 2000',
      '{',
      `BB${block++}:`,
      ...['R10', 'R11', 'R12'].map((r, k) => `MOV ${r}, ${1000 * (k + 1)}`),
      'MOV R20, RZ',
      masked === -1n
        ? `MOV${wide} ${selector}, ${file}99`
        : `LOP3${wide} ${selector}, ${file}99, ${masked}, RZ, 0xc0`,
      ...lines,
      ...arms,
      `BB${ARMS}:`,
      ...['R10', 'R11', 'R12'].map((r) => `STG [RD90], ${r}`),
      'IADD3 R20, R20, 1',
      `ISETP.LT P30, R20, ${loop ? 3 : 0}`,
      `IADD3${wide} ${selector}, ${selector}, 1`,
      '@P30 BRA BB100',
      `BB${block++}:`,
      'EXIT',
      '}',
    ];
    const fn = parseFn(text.join('\n'), testIsa());
    const half = 1n << BigInt(width - 1);
    const near = [...constants, 0n, half, 2n * half].flatMap((v) => [v - 1n, v, v + 1n]);
    const all = [...new Set(near.map((v) => BigInt.asUintN(width, v)))];
    const out = { fn, selector: regOf(`${file}99`), values: all };
    Object.defineProperty(out, fc.toStringMethod, { value: () => `\n${printFn(fn)}\n` });
    return out;
  });

/** The stores of one thread, and whether it ends, by the exact reference of every opcode. */
export function runSwitch(fn: Fn, selector: Reg, input: bigint, most = 2000): string {
  const values = new Map<Reg, bigint>([[selector, input]]);
  const at = new Map(fn.blocks.map((b, i) => [b.id, i]));
  const read = (o: Operand, width: number): bigint =>
    o.kind === Kind.Imm ? immValue(o, width) : (values.get(o.reg) ?? 0n);
  const stored: bigint[] = [];
  let from = -1;
  let b = 0;
  for (let left = most; left > 0; ) {
    const { ins } = fn.blocks[b];
    const taken: [Reg, bigint][] = [];
    for (const x of ins) {
      if (!isPhi(x)) break;
      const k = x.src.findIndex((o, i) => i % 2 === 0 && o.lo === from);
      if (k < 0) throw new Error(`no value from BB${from} in BB${fn.blocks[b].id}`);
      taken.push([x.dst[0], read(x.src[k + 1], 64)]);
    }
    for (const [r, v] of taken) values.set(r, v);
    let to = b + 1;
    left -= ins.length + 1;
    for (const x of ins) {
      if (isPhi(x)) continue;
      if (x.guard !== NO_REG && ((values.get(x.guard) ?? 0n) === 1n) === x.guardNot) {
        x.otherwise.forEach((r, k) => {
          if (r !== NO_REG && x.dst[k] !== NO_REG) values.set(x.dst[k], values.get(r) ?? 0n);
        });
        continue;
      }
      const { primitive } = x.op;
      if (primitive === 'branch') {
        to = at.get(x.src[0].lo)!;
        break;
      }
      if (primitive === 'branch-table') {
        const table = fn.tables[x.src[1].lo];
        const index = entryOf(x, Number(read(x.src[0], 32)));
        if (index < 0 || index >= table.length)
          throw new Error(`place ${index} of a table with ${table.length}`);
        to = at.get(table[index])!;
        break;
      }
      if (primitive === 'exit') return `${stored.join(' ')} end`;
      if (x.op.means === null) {
        stored.push(read(x.src[1], 32));
        continue;
      }
      const results = evalBig(
        x.op,
        x.mods,
        x.src.map((o, i) => read(o, slotWidth(x.op, x.mods, srcSlot(x.op, i)!))),
        x.src.map((o) => o.mods),
      );
      x.dst.forEach((d, k) => {
        if (d !== NO_REG) values.set(d, results[k] ?? 0n);
      });
    }
    from = fn.blocks[b].id;
    b = to;
  }
  return `${stored.slice(0, 20).join(' ')} ...`;
}
