import { counted } from '../../ir/counts.ts';
/**
 * Version of the search for counterexamples that is made when there is no full proof; raised when the search covers more. 2: constants on
 * the arms of conditions and of computed constants, within the bounds of `arms.ts` and `rare.ts`; further sides of conditions count as
 * open.
 */
export const THOROUGHNESS = 2;

/** The `THOROUGHNESS` of the prover that found a verdict short of a full proof; absent in verdicts older than the number. */
interface Looked {
  readonly prover?: number;
}

/** What is known about a rule. */
export type Verdict =
  /** Holds for all values, under every choice of modifiers; `how` names the method if it was not a single question. */
  | { readonly verdict: 'verified'; readonly instances: number; readonly how?: string }
  /** Holds within bounds: `to` names them, for the choices of modifiers that could not be decided in full. */
  | ({ readonly verdict: 'bounded'; readonly instances: number; readonly to: string } & Looked)
  /** No solver decides all of it. The rule argues why it holds, exact samples agree, and `to` names the part that was proved. */
  | ({
      readonly verdict: 'by argument';
      readonly instances: number;
      readonly samples: number;
      readonly to?: string;
    } & Looked)
  | ({ readonly verdict: 'unknown'; readonly why: string } & Looked)
  /** No solver theory defines an operation of the rule. */
  | ({ readonly verdict: 'out of scope'; readonly why: string } & Looked)
  /** Not meant to be exact: `why` names the differences. */
  | { readonly verdict: 'inexact'; readonly why: string }
  | { readonly verdict: 'refuted'; readonly counterexample: string };

/** The required fields of each kind of verdict. */
const PARTS: Readonly<Record<Verdict['verdict'], Readonly<Record<string, 'number' | 'string'>>>> = {
  verified: { instances: 'number' },
  bounded: { instances: 'number', to: 'string' },
  'by argument': { instances: 'number', samples: 'number' },
  unknown: { why: 'string' },
  'out of scope': { why: 'string' },
  inexact: { why: 'string' },
  refuted: { counterexample: 'string' },
};

/** Whether data from a file is a verdict: the required fields have their types, and no field is an object. */
export function isVerdict(data: unknown): data is Verdict & { readonly hash?: unknown } {
  const v = data as Readonly<Record<string, unknown>> | null;
  if (v === null || typeof v !== 'object' || typeof v.verdict !== 'string') return false;
  if (!Object.hasOwn(PARTS, v.verdict)) return false;
  if (Object.values(v).some((x) => typeof x === 'object')) return false;
  const parts = Object.entries(PARTS[v.verdict as Verdict['verdict']]);
  return (
    parts.every(([key, type]) => typeof v[key] === type) &&
    ['how', 'to'].every((key) => v[key] === undefined || typeof v[key] === 'string')
  );
}

/** Verdicts by rule id, each with the hash of the rule that it is about. */
export type Verdicts = Readonly<Record<string, Verdict & { readonly hash: string }>>;

/** How strongly each kind of verdict supports a rule; the kinds that are not listed do not support it. */
const STRENGTH: Readonly<Partial<Record<Verdict['verdict'], number>>> = {
  inexact: 4,
  verified: 4,
  'by argument': 2,
  bounded: 1,
};

/**
 * Whether one verdict on a rule outweighs another on the same rule. A proof stays true when a run with smaller limits
 * does not find it again; a refutation, which exact evaluation has confirmed, outweighs everything.
 */
export function outweighs(a: Verdict, b: Verdict): boolean {
  if (a.verdict === 'refuted' || b.verdict === 'refuted')
    return a.verdict === 'refuted' && b.verdict !== 'refuted';
  return strength(a) > strength(b);
}

/** An argued rule that was proved in part is one step stronger. */
const strength = (v: Verdict): number =>
  (STRENGTH[v.verdict] ?? 0) + (v.verdict === 'by argument' && v.to !== undefined ? 1 : 0);

/** Whether a verdict needs no review: a proof, a refutation, or a change of results that the rule itself declares. */
export const settles = (v: Verdict): boolean =>
  v.verdict === 'verified' || v.verdict === 'inexact' || v.verdict === 'refuted';

/** Whether a stored verdict is still valid. A proof stays one; a rule that was merely not refuted may be refuted by a later prover. */
export const stillCounts = (v: Verdict): boolean => settles(v) || (v as Looked).prover === THOROUGHNESS;

/** Whether a verdict relies on judgement beyond proof and exact evaluation: on bounds, or on an argument that a person gave. */
export const needsReview = (v: Verdict): boolean => v.verdict === 'bounded' || v.verdict === 'by argument';

/** The verdict in one line. */
export function verdictText(v: Verdict): string {
  switch (v.verdict) {
    case 'verified':
      return `verified (${counted(v.instances, 'choice')} of modifiers${v.how === undefined ? '' : `, ${v.how}`})`;
    case 'bounded':
      return `bounded: ${v.to}`;
    case 'by argument':
      return `by argument; ${v.to === undefined ? '' : `verified for ${v.to}; `}${v.samples} exact samples agree`;
    case 'unknown':
      return `unknown: ${v.why}`;
    case 'out of scope':
      return `out of scope: ${v.why}`;
    case 'inexact':
      return `inexact by intent: ${v.why}`;
    case 'refuted':
      return 'refuted';
  }
}

/** Text of the stored verdicts: one line per rule, by id, so that a change is one line in a review. */
export const printVerdicts = (v: Verdicts): string =>
  `{\n${Object.keys(v)
    .sort()
    .map((id) => `  ${JSON.stringify(id)}: ${JSON.stringify(v[id])}`)
    .join(',\n')}\n}\n`;
