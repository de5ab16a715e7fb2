import fc from 'fast-check';
import type { Fn } from '../../src/ir/program.ts';
import { parseFn, printFn } from '../../src/ir/text.ts';
import { testIsa } from './isa.ts';
import { OWN_PLACE } from './random-kernel.ts';

/*
 * Random terminating kernels with much to merge: repeated conditions, and arms of branches and switches that share their first or last
 * instructions, with separate registers for values that only they use. R0..R5 are variables, P10..P13 conditions; loops have three
 * iterations.
 */

interface Out {
  readonly lines: string[];
  next: number;
  /** Next register for a single use. */
  own: number;
  readonly tables: string[];
}
type Statement = (o: Out) => void;

const variable = fc.constantFrom('R0', 'R1', 'R2', 'R3', 'R4', 'R5');
const source = fc.oneof({ weight: 3, arbitrary: variable }, fc.integer({ min: 1, max: 9 }).map(String));
const pred = fc.constantFrom('P10', 'P11', 'P12', 'P13');
const place = fc.constantFrom('[RD200]', '[RD200+4]', '[RD200+8]', '[RD202+4]');
const cmp = fc.constantFrom('EQ', 'NE', 'LT', 'LE', 'GT', 'GE');
const fresh = (o: Out): string => `BB${o.next++}`;
const put =
  (text: string): Statement =>
  (o) =>
    void o.lines.push(text);

const simple: fc.Arbitrary<Statement> = fc.oneof(
  {
    weight: 3,
    arbitrary: fc.tuple(variable, source, source).map(([d, a, b]) => put(`IADD3 ${d}, ${a}, ${b}`)),
  },
  {
    weight: 4,
    arbitrary: fc.tuple(variable, source, source).map(
      ([d, a, b]): Statement =>
        (o) => {
          const t = o.own++;
          o.lines.push(
            `IADD3 R${t}, ${a}, ${b}`,
            `IADD3 R${t + 1}, R${t}, ${a}`,
            `IADD3 ${d}, R${t + 1}, R${t}`,
          );
          o.own++;
        },
    ),
  },
  { weight: 2, arbitrary: variable.map((r) => put(`STG [RD200], ${r}`)) },
  {
    weight: 1,
    arbitrary: fc.tuple(cmp, pred, source, source).map(([c, p, a, b]) => put(`ISETP.${c} ${p}, ${a}, ${b}`)),
  },
  {
    weight: 1,
    arbitrary: fc
      .tuple(pred, fc.boolean(), variable, source)
      .map(([p, n, d, a]) => put(`@${n ? '!' : ''}${p} IADD3 ${d}, ${a}, 2`)),
  },
);
const between: fc.Arbitrary<Statement> = fc.oneof(
  fc.tuple(pred, variable).map(
    ([p, r]): Statement =>
      (o) =>
        void o.lines.push('ACTIVEMASK R20', `VOTE.ANY ${r}, P15, ${p}, R20`),
  ),
  variable.map(
    (r): Statement =>
      (o) =>
        void o.lines.push('ACTIVEMASK R20', `IADD3 ${r}, ${r}, R20`),
  ),
  fc.integer({ min: 8, max: 15 }).map((k) => put(`ACTIVEMASK R20\nSTG [RD200+${4 * k}], R20`)),
);

const all =
  (list: readonly Statement[]): Statement =>
  (o) =>
    list.forEach((s) => s(o));

/** A branch to `to` if the predicate is true, or false. */
const jump = (o: Out, p: string, not: boolean, to: string): void => {
  o.lines.push(`@${not ? '!' : ''}${p} BRA ${to}`, `${fresh(o)}:`);
};

const accesses: fc.Arbitrary<Statement> = fc.oneof(
  { weight: 6, arbitrary: fc.tuple(variable, place).map(([r, m]) => put(`LDG ${r}, ${m}`)) },
  { weight: 4, arbitrary: fc.tuple(variable, place).map(([r, m]) => put(`STG ${m}, ${r}`)) },
  {
    weight: 1,
    arbitrary: fc.tuple(variable, place).map(([r, m]) => put(`ATOMG.ADD ${r}, ${m}, 1, RZ`)),
  },
  { weight: 1, arbitrary: fc.constantFrom('MEMBAR', 'BAR.SYNC RZ').map(put) },
);

const statements = (kind: Kind): fc.Arbitrary<Statement> =>
  fc.letrec<{ list: Statement; one: Statement; few: Statement }>((tie) => ({
    few: fc
      .array(kind === 'memory' ? fc.oneof(simple, accesses) : simple, {
        maxLength: kind === 'memory' ? 3 : 2,
      })
      .map(all),
    list: fc.array(tie('one'), { minLength: 1, maxLength: 3, depthIdentifier: 'nest' }).map(all),
    one: fc.oneof(
      { depthIdentifier: 'nest', depthSize: 'small' },
      { weight: 4, arbitrary: simple },
      { weight: kind === 'warps' ? 4 : 0, arbitrary: between },
      {
        weight: 4,
        arbitrary: fc
          .record({
            p: pred,
            not: fc.boolean(),
            test: fc.option(fc.tuple(cmp, variable, variable), { freq: 3 }),
            first: tie('few'),
            body: tie('list'),
            other: fc.option(tie('few')),
            last: tie('few'),
          })
          .map(
            ({ p, not, test, first, body, other, last }): Statement =>
              (o) => {
                const no = fresh(o);
                const end = fresh(o);
                let by: string = p;
                if (test !== null) {
                  by = `P${o.own++}`;
                  o.lines.push(`ISETP.${test[0]} ${by}, ${test[1]}, ${test[2]}`);
                }
                jump(o, by, not, no);
                all([first, body])(o);
                if (other !== null) last(o);
                o.lines.push(`BRA ${end}`, `${no}:`);
                if (other !== null) all([first, other, last])(o);
                o.lines.push(`${end}:`);
              },
          ),
      },
      {
        // Only one path knows the condition at the join: lanes that reconverged there would diverge afterwards.
        weight: kind === 'warps' ? 4 : 0,
        arbitrary: fc
          .record({
            p: pred,
            q: pred,
            not: fc.boolean(),
            again: fc.boolean(),
            body: tie('few'),
            behind: tie('list'),
            vote: between,
          })
          .map(
            ({ p, q, not, again, body, behind, vote }): Statement =>
              (o) => {
                const meet = fresh(o);
                const end = fresh(o);
                jump(o, q, again, meet);
                jump(o, p, not, end);
                body(o);
                o.lines.push(`${meet}:`);
                jump(o, p, again, end);
                all([vote, behind])(o);
                o.lines.push(`${end}:`);
                vote(o);
              },
          ),
      },
      {
        weight: 1,
        arbitrary: tie('list').map(
          (body): Statement =>
            (o) => {
              const head = fresh(o);
              const count = `R${o.own++}`;
              const p = `P${o.own++}`;
              o.lines.push(`MOV ${count}, RZ`, `${head}:`, `IADD3 ${count}, ${count}, 1`);
              body(o);
              o.lines.push(`ISETP.LT ${p}, ${count}, 3`);
              jump(o, p, false, head);
            },
        ),
      },
      {
        // Where lanes exit, others may reconverge elsewhere once the exit is known; nothing specifies where.
        weight: kind === 'warps' ? 0 : 1,
        arbitrary: fc.tuple(pred, fc.boolean()).map(
          ([p, n]): Statement =>
            (o) =>
              void o.lines.push(`@${n ? '!' : ''}${p} EXIT`, `${fresh(o)}:`),
        ),
      },
      {
        weight: 2,
        arbitrary: fc
          .record({
            arms: fc.array(tie('few'), { minLength: 2, maxLength: 4 }),
            tails: fc.array(tie('few'), { minLength: 1, maxLength: 2 }),
            ends: fc.array(fc.constantFrom('BRA', 'BRA', 'EXIT', 'IF'), { minLength: 2, maxLength: 2 }),
            p: pred,
          })
          .map(
            ({ arms, tails, ends, p }): Statement =>
              (o) => {
                const end = fresh(o);
                const labels = arms.map(() => fresh(o));
                const t = o.tables.push([0, 1, 2, 3].map((k) => labels[k % labels.length]).join(' ')) - 1;
                o.lines.push(`ISETP.LT P16, R6, 0`, `BRX R6, T${t}`);
                arms.forEach((arm, k) => {
                  o.lines.push(`${labels[k]}:`);
                  all([arm, tails[k % tails.length]])(o);
                  const e = ends[k % ends.length];
                  const leaves = e === 'EXIT' && kind !== 'warps';
                  if (leaves) o.lines.push('EXIT', `${fresh(o)}:`);
                  else if (e === 'IF') jump(o, p, false, end);
                  else if (k + 1 < arms.length) o.lines.push(`BRA ${end}`, `${fresh(o)}:`);
                });
                o.lines.push(`${end}:`);
              },
          ),
      },
    ),
  })).list;

/** For one thread; for warps, with operations between lanes and registers that differ between them; for one thread, with loads. */
type Kind = 'thread' | 'warps' | 'memory';

/** An arbitrary kernel of this kind. */
export const randomArms = (kind: Kind): fc.Arbitrary<Fn> =>
  fc
    .tuple(fc.array(statements(kind), { minLength: 2, maxLength: 5 }), fc.nat(3), fc.nat(2 ** 24))
    .map(([list, index, start]) => {
      const o: Out = { lines: [], next: 1, own: 300, tables: [] };
      for (let k = 0; k < 6; k++)
        o.lines.push(
          kind === 'warps' && ((start >> k) & 1) === 1
            ? `${['S2R.TID.X', 'S2R.LANEID', 'S2R.WARPID', 'S2R.TID.X', 'S2R.CTAID.X', 'S2R.LANEID'][k]} R${k}`
            : `MOV R${k}, ${((start >> (2 * k)) & 3) + 1}`,
        );
      o.lines.push(`MOV R6, ${index === 0 ? 'RZ' : index}`);
      // Bits of the lane number: conditions of a warp hold in unrelated lanes.
      for (let k = 0; k < 4; k++)
        if (kind === 'warps')
          o.lines.push(`LOP3 R25, R${k}, ${1 << k}, RZ, 0xc0`, `ISETP.EQ P1${k}, R25, RZ`);
        else o.lines.push(`ISETP.LT P1${k}, R${k}, ${3 - (k & 1)}`);
      if (kind === 'warps') o.lines.push('MOV R20, RZ');
      if (kind === 'memory') o.lines.push('LDG.B64 RD202, [RD200+16]');
      all(list)(o);
      o.lines.push(`${fresh(o)}:`, ...[0, 1, 2, 3].map((k) => `STG [RD200+${4 * k}], R${k}`), 'EXIT');
      const text = [
        '.entry random',
        `  .param u64 p size 8 align 8 at 0 reg ${kind === 'warps' ? 'RD204' : 'RD200'}`,
        ...o.tables.map((t, i) => `  .table T${i} ${t}`),
        `  .regs ${o.own + 4}`,
        '{',
        'BB0:',
        ...(kind === 'warps' ? OWN_PLACE : []),
        ...o.lines,
        '}',
      ];
      const fn = parseFn(text.join('\n'), testIsa());
      Object.defineProperty(fn, fc.toStringMethod, { value: () => `\n${printFn(fn)}\n` });
      return fn;
    });
