import { type Question, readModel } from './question.ts';

/**
 * A running solver: takes SMT-LIB commands and gives what it printed for them. It restarts by itself after it has
 * ended. If the limit cuts it off, the text is what it had printed before.
 * @param limit milliseconds after which it is ended
 */
export type Solver = (commands: string, limit: number) => Promise<string>;

export type Answer =
  | { readonly k: 'unsat' }
  | { readonly k: 'sat'; readonly model: ReadonlyMap<string, bigint> }
  | { readonly k: 'unknown'; readonly why: string };

/** Extra time for a solver that knows its limit from the question, before it is ended from outside. */
const GRACE = 3000;

/** Asks one question; earlier questions are forgotten. */
export async function ask(solver: Solver, q: Question, limit: number): Promise<Answer> {
  const text = await solver(
    `(reset)\n(set-option :produce-models true)\n(set-option :timeout ${limit})\n${q.text}\n(check-sat)`,
    limit + GRACE,
  );
  // Complaints about options that this solver lacks are harmless; a fault in a command makes the answer worthless.
  const fault = /\(error "?(?!.*(?:option|timeout|keyword))(.*?)"?\)/.exec(text);
  const word = /^(unsat|sat|unknown|timeout)\s*$/m.exec(text)?.[1];
  if (fault !== null) return { k: 'unknown', why: `the solver says: ${fault[1]}` };
  if (word === 'unsat') return { k: 'unsat' };
  if (word !== 'sat') return { k: 'unknown', why: `no answer within ${limit / 1000} s` };
  if (q.names.length === 0) return { k: 'sat', model: new Map() };
  return { k: 'sat', model: readModel(await solver(`(get-value (${q.names.join(' ')}))`, GRACE)) };
}
