import fc from 'fast-check';
import type { Fn } from '../../src/ir/program.ts';
import { parseFn, printFn } from '../../src/ir/text.ts';
import { testIsa } from './isa.ts';

/*
 * Random functions as Ori text. R0..R5 hold numbers, P10..P13 are free predicates, P14 and P15 are constants written once at the top; RD20
 * is the address of stores. Jump tables have four entries and are indexed by R6, which is always between 0 and 3.
 */

const gpr = fc.constantFrom('R0', 'R1', 'R2', 'R3', 'R4', 'R5');
const free = fc.constantFrom('P10', 'P11', 'P12', 'P13');
const anyPred = fc.constantFrom('P10', 'P11', 'P12', 'P13', 'P14', 'P15');
const small = fc.integer({ min: -3, max: 5 }).map((n) => (n === 0 ? 'RZ' : String(n)));
const source = fc.oneof(gpr, small);
const guard = fc.oneof(
  { weight: 4, arbitrary: fc.constant('') },
  { weight: 1, arbitrary: fc.tuple(fc.boolean(), anyPred).map(([n, p]) => `@${n ? '!' : ''}${p} `) },
);
const cmp = fc.constantFrom('EQ', 'NE', 'LT', 'LE', 'GT', 'GE');

const plain = fc
  .tuple(
    guard,
    fc.oneof(
      fc.tuple(gpr, small).map(([d, a]) => `MOV ${d}, ${a}`),
      fc.tuple(gpr, source, source).map(([d, a, b]) => `IADD3 ${d}, ${a}, ${b}`),
      fc.tuple(cmp, free, source, source).map(([c, p, a, b]) => `ISETP.${c} ${p}, ${a}, ${b}`),
      fc.tuple(free, anyPred, anyPred).map(([d, a, b]) => `PLOP3 ${d}, ${a}, !${b}, PT, 0x6a`),
      gpr.map((r) => `STG [RD20], ${r}`),
    ),
  )
  .map(([g, s]) => g + s);

const control = (n: number, returns: boolean): fc.Arbitrary<string[]> => {
  const to = fc.integer({ min: 0, max: n - 1 }).map((b) => `BB${b}`);
  return fc.oneof(
    { weight: 3, arbitrary: fc.constant<string[]>([]) },
    { weight: 3, arbitrary: to.map((t) => [`BRA ${t}`]) },
    {
      weight: 5,
      arbitrary: fc.tuple(fc.boolean(), anyPred, to).map(([s, p, t]) => [`@${s ? '!' : ''}${p} BRA ${t}`]),
    },
    { weight: 1, arbitrary: fc.constantFrom<string[]>(['EXIT'], ['@P10 EXIT'], ['@!P14 EXIT'], ['RET']) },
    ...(returns
      ? [{ weight: 2, arbitrary: fc.constantFrom<string[]>(['RET'], ['@P10 RET'], ['@!P11 RET']) }]
      : []),
    { weight: 1, arbitrary: fc.constantFrom<string[]>(['BRX R6, T0'], ['BRX R6, T1'], ['BRX 2, T0']) },
  );
};

/** Options of `randomFn`. */
export interface RandomOptions {
  /** Control instructions may occur before the end of a block. */
  readonly midBlock?: boolean;
  readonly most?: number;
  /** Every register is initialised. */
  readonly defined?: boolean;
  /** A function that returns R0, R1 and P10 instead of a kernel, with frequent returns, some of them guarded. */
  readonly returns?: boolean;
}

/** An arbitrary function that passes the verifier. */
export function randomFn(opts: RandomOptions = {}): fc.Arbitrary<Fn> {
  const body = (n: number): fc.Arbitrary<string[]> => {
    const straight = fc.array(plain, { maxLength: 4 });
    if (opts.midBlock !== true)
      return fc
        .tuple(fc.oneof(straight, fc.constant<string[]>([])), control(n, opts.returns === true))
        .map(([b, c]) => [...b, ...c]);
    return fc
      .array(fc.tuple(straight, control(n, opts.returns === true)), { maxLength: 3 })
      .map((parts) => parts.flat(2));
  };
  return fc.integer({ min: 1, max: opts.most ?? 9 }).chain((n) =>
    fc
      .record({
        bodies: fc.array(body(n), { minLength: n, maxLength: n }),
        constants: fc.tuple(fc.constantFrom('0x0', '0xff'), fc.constantFrom('EQ', 'NE')),
        index: fc.integer({ min: 0, max: 3 }),
        tables: fc.array(fc.array(fc.integer({ min: 0, max: n - 1 }), { minLength: 4, maxLength: 4 }), {
          minLength: 2,
          maxLength: 2,
        }),
      })
      .map(({ bodies, constants, index, tables }) => {
        const lines = opts.returns === true ? ['.func random'] : ['.entry random'];
        if (opts.returns === true)
          lines.push(
            '  .return u32 a size 4 align 4 at 0 reg R0',
            '  .return u32 b size 4 align 4 at 4 reg R1',
            '  .return pred c size 1 align 1 at 8 reg P10',
          );
        lines.push('  .param u64 p size 8 align 8 at 0 reg RD20');
        for (const [i, t] of tables.entries())
          lines.push(`  .table T${i} ${t.map((b) => `BB${b}`).join(' ')}`);
        lines.push('  .regs 24', '{');
        // The constants are in a separate block, so that branches to BB0 do not execute them again.
        lines.push(
          `BB${n}:`,
          ...(opts.defined === true
            ? [0, 1, 2, 3, 4, 5]
                .map((i) => `MOV R${i}, ${i + 1}`)
                .concat([10, 11, 12, 13].map((i) => `ISETP.EQ P${i}, R1, ${i - 10}`))
            : []),
          `PLOP3 P14, PT, PT, PT, ${constants[0]}`,
          `ISETP.${constants[1]} P15, R1, R1`,
          `MOV R6, ${index === 0 ? 'RZ' : index}`,
        );
        for (const [i, b] of bodies.entries()) lines.push(`BB${i}:`, ...b);
        lines.push(`BB${n + 1}:`, 'EXIT', '}');
        const fn = parseFn(lines.join('\n'), testIsa());
        // Counterexamples are shown as text.
        Object.defineProperty(fn, fc.toStringMethod, { value: () => `\n${printFn(fn)}\n` });
        return fn;
      }),
  );
}
