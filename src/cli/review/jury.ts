import { textInPlace } from '../../lab/refs.ts';
import type { Jury } from '../../review/rules.ts';
import { prove, quicklyRefuted } from '../../rules/prove/prove.ts';
import { isVerdict, stillCounts, type Verdict, type Verdicts } from '../../rules/prove/verdict.ts';
import { parseJson } from '../../spec/json.ts';
import { ROOT } from '../../spec/node.ts';
import { openSolver, packagedSolver } from '../rules/solver.ts';
import { keepForeign, readForeign, VERDICTS_FILE } from '../rules/verdicts.ts';
import { millisecondsOf } from '../terminal/times.ts';
import { failWith } from '../terminal/ui.ts';

/** Options that select how rules are judged. */
export interface JuryOptions {
  readonly prove: boolean;
  readonly proveLimit: string;
  readonly solver?: string;
  readonly accept?: readonly string[];
}

/**
 * Judges of the rules of the head of a review, in order: sample values that refute a rule; the verdict that the base has stored for exactly
 * its meaning, if it still counts; a verdict of a solver for that on this machine, earlier or now. A verdict that the head stores is only a
 * claim.
 *
 * @param base a commit or a folder
 * @param head the same; undefined: the working tree of this installation
 * @param tell is called for each rule
 */
export function juryFor(
  o: JuryOptions,
  base: string,
  head: string | undefined,
  tell: (text: string) => void,
): Jury & { close: () => void } {
  const stored = [verdictsAt(base), verdictsAt(head ?? ROOT)] as const;
  const ofBase = new Map(
    Object.values(stored[0]).flatMap((v) => (stillCounts(v) ? [[v.hash, v] as const] : [])),
  );
  const kept = readForeign();
  const asked = new Map<string, Verdict>();
  const limit = timeOf(o.proveLimit);
  let spent = 0;
  let solver: ReturnType<typeof openSolver> | null = null;
  return {
    tell,
    accepted: new Set(o.accept ?? []),
    stored,
    ask: async (rule, [nth, of]) => {
      tell(`proof ${nth} of ${of}: ${rule.id}`);
      const refuted = quicklyRefuted(rule);
      if (refuted !== null) return { verdict: refuted };
      const known = ofBase.get(rule.hash) ?? kept[rule.hash] ?? asked.get(rule.hash);
      if (known !== undefined) return { verdict: known };
      const isLate = spent >= limit;
      if (!o.prove || isLate || (o.solver === undefined && !packagedSolver())) {
        const claimed = stored[1][rule.id];
        return {
          verdict: null,
          ...(claimed?.hash === rule.hash && { claimed }),
          ...(o.prove && isLate && { unasked: `the time of --prove-limit ${o.proveLimit} was over` }),
        };
      }
      const began = performance.now();
      solver ??= openSolver(o.solver);
      const verdict = await prove(rule, solver.solve);
      spent += performance.now() - began;
      asked.set(rule.hash, verdict);
      // A solver that the user names is not trusted to answer correctly.
      if (o.solver === undefined) keepForeign(new Map([[rule, verdict]]));
      return { verdict };
    },
    close: () => solver?.close(),
  };
}

/** Milliseconds of a time limit for all proofs. */
function timeOf(text: string): number {
  const found = millisecondsOf(text);
  if (found === null) failWith(`--prove-limit ${text} is not a time`, 'such as 30s or 10min');
  return found;
}

/** Verdicts in a folder or commit; none if it has no file of them, or an unreadable one. */
function verdictsAt(place: string): Verdicts {
  try {
    const data: unknown = parseJson(textInPlace(place, VERDICTS_FILE) ?? '{}');
    if (data === null || typeof data !== 'object') return {};
    return Object.fromEntries(
      Object.entries(data).filter(([, v]) => isVerdict(v) && typeof v.hash === 'string'),
    ) as Verdicts;
  } catch (e) {
    if (e instanceof SyntaxError) return {};
    throw e;
  }
}
