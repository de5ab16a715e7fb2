import { type Question, readModel } from './question.ts';

/**
 * A running solver: takes SMT-LIB commands and gives what it printed for them. It restarts by itself after it has
 * ended. If the backstop cuts it off, the text is what it had printed before.
 * @param backstop milliseconds after which it is ended, far beyond what the limit of a question takes
 */
export type Solver = (commands: string, backstop: number) => Promise<string>;

export type Answer = (
  | { readonly k: 'unsat' }
  | { readonly k: 'sat'; readonly model: ReadonlyMap<string, bigint> }
  /** No answer. `late`: the clock and not the limit ended the question, so that another machine may answer it. */
  | { readonly k: 'unknown'; readonly why: string; readonly late: boolean }
) & {
  /** Steps that it took, of a solver that tells them; else the limit if there was no answer, and 0 if there was. */
  readonly spent: number;
};

/**
 * Milliseconds after which a solver that neither answered nor came to its limit is ended. Limits are steps of the
 * solver, the same on every machine; 40 million of them take some 20 seconds on one core. The clock is only there for
 * a solver that hangs or knows no such limit, and an answer that it prevents decides nothing.
 */
export const BACKSTOP = 600_000;

/** Milliseconds by which a timer may come before its time, since it counts whole ones. */
const EARLY = 2;

/** A number of steps for people. */
export const stepsText = (steps: number): string =>
  steps >= 1_000_000
    ? `${Number((steps / 1_000_000).toPrecision(3))} million steps`
    : `${Math.floor(steps)} steps`;

/**
 * Asks one question; earlier questions are forgotten.
 * @param limit steps of the solver: z3 counts them under `:rlimit`, cvc5 under `:rlimit` too
 */
export async function ask(
  solver: Solver,
  q: Question,
  limit: number,
  backstop: number = BACKSTOP,
): Promise<Answer> {
  const began = performance.now();
  const text = await solver(
    `(reset)\n(set-option :produce-models true)\n(set-option :rlimit ${Math.max(1, Math.floor(limit))})\n(get-info :rlimit)\n${q.text}\n(check-sat)\n(get-info :rlimit)`,
    backstop,
  );
  // Complaints about options that this solver lacks are harmless; a fault in a command makes the answer worthless.
  const fault = /\(error "?(?!.*(?:option|rlimit|keyword|info))(.*?)"?\)/.exec(text);
  const word = /^(unsat|sat|unknown|timeout)\s*$/m.exec(text)?.[1];
  const [from, to] = [...text.matchAll(/\(:rlimit (\d+)\)/g)].map((m) => Number(m[1]));
  const spent = to === undefined ? (word === 'sat' || word === 'unsat' ? 0 : limit) : to - from;
  if (fault !== null) return { k: 'unknown', why: `the solver says: ${fault[1]}`, late: false, spent };
  if (word === 'unsat') return { k: 'unsat', spent };
  if (word !== 'sat') {
    const late = word === undefined && performance.now() - began >= backstop - EARLY;
    const why = late
      ? `the solver was ended by the clock after ${backstop / 1000} s`
      : word === undefined
        ? 'the solver ended without an answer'
        : `no answer within ${stepsText(limit)}`;
    return { k: 'unknown', why, late, spent };
  }
  if (q.names.length === 0) return { k: 'sat', model: new Map(), spent };
  return { k: 'sat', model: readModel(await solver(`(get-value (${q.names.join(' ')}))`, backstop)), spent };
}
