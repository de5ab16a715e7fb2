import { afterAll, describe, expect, it } from 'vitest';
import { openSolver, packagedSolver } from '../../src/cli/rules/solver.ts';
import { type Opcode, OpFlag, slotWidth } from '../../src/ir/opcode.ts';
import { isConstantSlot } from '../../src/isa/meaning.ts';
import { evalBig } from '../../src/isa/reference.ts';
import { smtConst, toSmt } from '../../src/isa/smt.ts';
import { testIsa } from '../support/isa.ts';
import { modChoices, operandValue, Random } from '../support/meaning.ts';

const opcodes = testIsa().opcodes.filter((o) => o.means !== null && o.srcs.length > 0);
/** Number of modifier choices queried per opcode. */
const MOST = 16;
/** Number of operand values for each. */
const VALUES = 3;
/** Number of rounding modes for a query with many. */
const MANY = 4;
/** Timeout in milliseconds for the queries of one opcode. */
const LIMIT = 60_000;

/** Two queries that are `sat` and `unsat` exactly if the terms give the reference's result for these sources. */
function question(op: Opcode, mods: number, rnd: Random): string {
  const srcMods = op.srcs.map((s) => rnd.next() & s.mods);
  const values = op.srcs.map((s) =>
    isConstantSlot(s) ? BigInt(rnd.below(70)) : operandValue(rnd, slotWidth(op, mods, s)),
  );
  const consts = op.srcs.map((s, i) => (isConstantSlot(s) ? Number(values[i]) : null));
  const terms = values.map((v, i) => smtConst(v, slotWidth(op, mods, op.srcs[i])));
  const smt = toSmt(op, mods, terms, 'n', srcMods, consts);
  const want = evalBig(op, mods, values, srcMods);
  const equal = smt.dsts.map((d, i) => `(= ${d} ${smtConst(want[i], slotWidth(op, mods, op.dsts[i]))})`);
  const holds = `(and ${equal.join(' ')} true)`;
  const text = [...smt.functions, ...smt.commands].join('\n');
  const [yes, no] = [holds, `(not ${holds})`].map((h) => `(assert ${h})\n(check-sat)`);
  // Many roundings take the solver four times as long within `(push)`; for what is easy, `(reset)` costs more than that saves.
  if (text.split('(declare-fun').length > MANY) return `(reset)\n${text}\n${yes}\n(reset)\n${text}\n${no}`;
  return `(push)\n${text}\n(push)\n${yes}\n(pop)\n${no}\n(pop)`;
}

const solver = packagedSolver() ? openSolver(undefined) : null;
if (solver === null)
  console.warn('smt.test.ts: z3-solver is not installed, so that terms are only written, not solved');
afterAll(() => solver?.close());

describe('SMT terms', () => {
  it.each(opcodes.map((op) => [op.name, op] as const))(
    '%s',
    async (name, op) => {
      const rnd = new Random(name);
      const all = modChoices(op);
      const some = all.length <= MOST ? all : Array.from({ length: MOST }, () => all[rnd.below(all.length)]);
      const questions = some.flatMap((m) => Array.from({ length: VALUES }, () => question(op, m, rnd)));
      const faults: string[] = [];
      for (const q of questions) {
        // Balanced, and every name is defined before its use.
        if (q.split('(').length !== q.split(')').length) faults.push(`not balanced: ${q}`);
        const defined = new Set<string>();
        for (const line of q.split('\n')) {
          const made = /^\((?:define|declare)-fun (\S+)/.exec(line)?.[1];
          for (const [used] of line.matchAll(/\bn\d+(_p)?\b/g))
            if (used !== made && !defined.has(used)) faults.push(`${used} in ${line}`);
          if (made !== undefined) defined.add(made);
        }
      }
      expect(faults).toEqual([]);
      // An approximate function is unknown to the solver; only its text is checked.
      if (solver === null || (op.flags & OpFlag.Approximate) !== 0) return;
      const answers = await solver.solve(`(reset)\n${questions.join('\n')}`, LIMIT);
      expect(answers.trim().split('\n')).toEqual(questions.flatMap(() => ['sat', 'unsat']));
    },
    LIMIT,
  );
});
