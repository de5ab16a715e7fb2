import fc from 'fast-check';
import type { Fn } from '../../src/ir/program.ts';
import { parseFn, printFn } from '../../src/ir/text.ts';
import { testIsa } from './isa.ts';

/*
 * Random terminating kernels for several warps: nested conditions, loops of at most five iterations with conditional `break`, `continue`
 * and `return`, switches. R0..R7 are variables, P10..P13 conditions; initially some differ between lanes, some between warps, some not at
 * all.
 */

const variable = fc.constantFrom('R0', 'R1', 'R2', 'R3', 'R4', 'R5', 'R6', 'R7');
const source = fc.oneof({ weight: 3, arbitrary: variable }, fc.integer({ min: 1, max: 9 }).map(String));
const cmp = fc.constantFrom('EQ', 'NE', 'LT', 'LE', 'GT', 'GE');
const pred = fc.constantFrom('P10', 'P11', 'P12', 'P13');
const starts = fc.constantFrom(
  'S2R.TID.X',
  'S2R.TID.Y',
  'S2R.LANEID',
  'S2R.WARPID',
  'S2R.CTAID.X',
  'S2R.NTID.X',
  'MOV 3',
  'MOV 5',
  'MOV 1',
);

interface Out {
  readonly lines: string[];
  next: number;
  tables: string[];
}
/** Emits a statement; `exits` are the labels of the end and of the next iteration of the enclosing loop. */
type Statement = (o: Out, exits: readonly [string, string] | null) => void;

const fresh = (o: Out): string => `BB${o.next++}`;

const simple: fc.Arbitrary<Statement> = fc.oneof(
  fc.tuple(variable, source, source).map(
    ([d, a, b]): Statement =>
      (o) =>
        void o.lines.push(`IADD3 ${d}, ${a}, ${b}`),
  ),
  fc.tuple(variable, variable, fc.integer({ min: 1, max: 7 })).map(
    ([d, a, m]): Statement =>
      (o) =>
        void o.lines.push(`LOP3 ${d}, ${a}, ${m}, RZ, 0xc0`),
  ),
  fc.tuple(cmp, pred, source, source).map(
    ([c, p, a, b]): Statement =>
      (o) =>
        void o.lines.push(`ISETP.${c} ${p}, ${a}, ${b}`),
  ),
  fc.tuple(pred, fc.boolean(), variable, source).map(
    ([p, n, d, a]): Statement =>
      (o) =>
        void o.lines.push(`@${n ? '!' : ''}${p} MOV ${d}, ${a}`),
  ),
  fc.tuple(variable, source).map(
    ([d, a]): Statement =>
      (o) =>
        void o.lines.push(`MOV ${d}, ${a}`),
  ),
  fc.tuple(fc.constantFrom('ANY', 'ALL'), pred, pred, variable).map(
    ([m, d, a, r]): Statement =>
      (o) =>
        void o.lines.push('ACTIVEMASK R20', `VOTE.${m} ${r}, ${d}, ${a}, R20`),
  ),
);

/** A test of two sources, and a branch taken if it fails or holds. */
const jump = (o: Out, [c, a, b]: readonly [string, string, string], to: string): void => {
  o.lines.push(`ISETP.${c} P14, ${a}, ${b}`, `@P14 BRA ${to}`);
  o.lines.push(`${fresh(o)}:`);
};
const test = fc.tuple(cmp, variable, source);

const statements: fc.Arbitrary<Statement> = fc.letrec<{ list: Statement; one: Statement }>((tie) => ({
  list: fc.array(tie('one'), { minLength: 1, maxLength: 4, depthIdentifier: 'nest' }).map(
    (all): Statement =>
      (o, exits) =>
        all.forEach((s) => s(o, exits)),
  ),
  one: fc.oneof(
    { depthIdentifier: 'nest', depthSize: 'small' },
    { weight: 4, arbitrary: simple },
    {
      weight: 2,
      arbitrary: fc.tuple(test, tie('list'), fc.option(tie('list'))).map(
        ([t, then, other]): Statement =>
          (o, exits) => {
            const otherwise = fresh(o);
            const end = fresh(o);
            jump(o, t, otherwise);
            then(o, exits);
            o.lines.push(`BRA ${end}`, `${otherwise}:`);
            other?.(o, exits);
            o.lines.push(`${end}:`);
          },
      ),
    },
    {
      weight: 2,
      arbitrary: fc.tuple(test, tie('list'), fc.boolean()).map(
        ([t, body, atTop]): Statement =>
          (o) => {
            // A separate counter ends the loop after at most five iterations.
            const head = fresh(o);
            const end = fresh(o);
            const latch = fresh(o);
            const count = `R${100 + o.next}`;
            o.lines.push(`MOV ${count}, RZ`, `${head}:`, `IADD3 ${count}, ${count}, 1`);
            jump(o, ['GT', count, '5'], end);
            if (atTop) jump(o, t, end);
            body(o, [end, latch]);
            o.lines.push(`${latch}:`);
            if (!atTop) jump(o, t, end);
            o.lines.push(`BRA ${head}`, `${end}:`);
          },
      ),
    },
    {
      weight: 1,
      arbitrary: fc.tuple(test, fc.integer({ min: 0, max: 8 })).map(
        ([t, kind]): Statement =>
          (o, exits) => {
            if (kind === 0) {
              o.lines.push(`ISETP.${t[0]} P14, ${t[1]}, ${t[2]}`, '@P14 EXIT', `${fresh(o)}:`);
              return;
            }
            if (exits !== null) jump(o, t, exits[kind % 2]);
          },
      ),
    },
    {
      weight: 1,
      arbitrary: fc.tuple(variable, fc.array(tie('list'), { minLength: 2, maxLength: 4 })).map(
        ([v, arms]): Statement =>
          (o, exits) => {
            const labels = arms.map(() => fresh(o));
            const end = fresh(o);
            o.lines.push(`LOP3 R21, ${v}, 3, RZ, 0xc0`, `BRX R21, T${o.tables.length}`);
            o.tables.push([0, 1, 2, 3].map((k) => labels[k % labels.length]).join(' '));
            arms.forEach((arm, k) => {
              o.lines.push(`${labels[k]}:`);
              arm(o, exits);
              // The last arm falls through; some arms fall into the next one.
              if (k + 1 < arms.length && k !== 1) o.lines.push(`BRA ${end}`, `${fresh(o)}:`);
            });
            o.lines.push(`${end}:`);
          },
      ),
    },
  ),
})).list;

/** Sets RD200 to 64 bytes per thread, based on the parameter RD204: a location that all threads store to shows only the last store. */
export const OWN_PLACE: readonly string[] = [
  'S2R.TID.X R22',
  'S2R.CTAID.X R23',
  'S2R.NTID.X R24',
  'IMAD R22, R23, R24, R22',
  'IMAD_WIDE.U32 RD200, R22, 64, RD204',
];

/** An arbitrary terminating kernel for blocks of more than one warp. */
export const randomKernel: fc.Arbitrary<Fn> = fc
  .tuple(fc.array(starts, { minLength: 8, maxLength: 8 }), statements)
  .map(([init, body]) => {
    const o: Out = { lines: [], next: 1, tables: [] };
    init.forEach((s, k) => o.lines.push(s.startsWith('MOV') ? `MOV R${k}, ${s.slice(4)}` : `${s} R${k}`));
    for (const p of [10, 11, 12, 13]) o.lines.push(`ISETP.LT P${p}, R${p - 10}, ${p - 8}`);
    // A loop counter's value before the loop is the same everywhere.
    o.lines.push('MOV R20, RZ', 'MOV R21, RZ', 'PLOP3 P14, PT, PT, PT, 0x0');
    body(o, null);
    o.lines.push(`${fresh(o)}:`, 'STG [RD200], R0', 'EXIT');
    const counters = [...new Set(o.lines.flatMap((l) => /^MOV (R1\d\d), RZ$/.exec(l)?.[1] ?? []))];
    const text = [
      '.entry random',
      '  .param u64 p size 8 align 8 at 0 reg RD204',
      ...o.tables.map((t, i) => `  .table T${i} ${t}`),
      '  .regs 1000',
      '{',
      'BB0:',
      ...OWN_PLACE,
      ...counters.map((c) => `MOV ${c}, RZ`),
      ...o.lines,
      '}',
    ];
    // Two labels must have a block between them: an empty block falls through.
    const fn = parseFn(text.join('\n'), testIsa());
    Object.defineProperty(fn, fc.toStringMethod, { value: () => `\n${printFn(fn)}\n` });
    return fn;
  });
