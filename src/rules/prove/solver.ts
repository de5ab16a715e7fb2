import { type Question, readModel } from './question.ts';

/**
 * A running solver: takes SMT-LIB commands and returns its output. It restarts by itself after it has ended. If the backstop ends it, the
 * result is the output so far.
 * @param backstop milliseconds after which it is ended, far more than the limit of a query takes
 */
export type Solver = (commands: string, backstop: number) => Promise<string>;

/** The answer to a query. */
export type Answer = (
  | { readonly k: 'unsat' }
  | { readonly k: 'sat'; readonly model: ReadonlyMap<string, bigint> }
  /** No answer. `late`: the clock and not the limit ended the query, so that a faster machine may answer it. */
  | { readonly k: 'unknown'; readonly why: string; readonly late: boolean }
) & {
  /** Steps taken, if the solver reports them; otherwise the limit if there was no answer, and 0 if there was. */
  readonly spent: number;
};

/**
 * Milliseconds after which a solver that has neither answered nor reached its limit is ended. Limits are solver steps, the same on every
 * machine; 40 million take about 20 seconds on one core. The clock is only for a solver that hangs or does not support limits; a query that
 * it ends decides nothing.
 */
export const BACKSTOP = 600_000;

/** Milliseconds by which a timer may fire early, since it counts whole milliseconds. */
const EARLY = 2;

/** A number of steps as text, in millions from one million on. */
export const stepsText = (steps: number): string =>
  steps >= 1_000_000
    ? `${Number((steps / 1_000_000).toPrecision(3))} million steps`
    : `${Math.floor(steps)} steps`;

/**
 * Makes one query, after a reset of the solver.
 * @param limit maximum number of solver steps, set as `:rlimit`, which z3 and cvc5 support
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
  // Errors about options that the solver does not support are harmless; any other error makes the answer worthless.
  const fault = /\(error "?(?!.*(?:option|rlimit|keyword|info))(.*?)"?\)/.exec(text);
  const word = /^(unsat|sat|unknown|timeout)\s*$/m.exec(text)?.[1];
  const [from, to] = [...text.matchAll(/\(:rlimit (\d+)\)/g)].map((m) => Number(m[1]));
  const spent = to === undefined ? (word === 'sat' || word === 'unsat' ? 0 : limit) : to - from;
  if (fault !== null) return { k: 'unknown', why: `the solver reports: ${fault[1]}`, late: false, spent };
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
