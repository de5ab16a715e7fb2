/** What is known about a rule. */
export type Verdict =
  /** Holds for all values, under every choice of modifiers; `how` names the method if it was not a single question. */
  | { readonly verdict: 'verified'; readonly instances: number; readonly how?: string }
  /** Holds within bounds: `to` names them, for the choices that could not be decided in full. */
  | { readonly verdict: 'bounded'; readonly instances: number; readonly to: string }
  /** No solver decides all of it. The rule says why it holds, exact samples agree, and `to` says what was proved. */
  | {
      readonly verdict: 'by argument';
      readonly instances: number;
      readonly samples: number;
      readonly to?: string;
    }
  | { readonly verdict: 'unknown'; readonly why: string }
  /** No theory states what the rule depends on. */
  | { readonly verdict: 'out of scope'; readonly why: string }
  /** Not meant to be exact: `why` says what it changes. */
  | { readonly verdict: 'inexact'; readonly why: string }
  | { readonly verdict: 'refuted'; readonly counterexample: string };

/** Verdicts by rule id, each with the hash of the rule that it is about. */
export type Verdicts = Readonly<Record<string, Verdict & { readonly hash: string }>>;

/** One line for people. */
export function verdictText(v: Verdict): string {
  switch (v.verdict) {
    case 'verified':
      return `verified (${v.instances} choice${v.instances === 1 ? '' : 's'} of modifiers${v.how === undefined ? '' : `, ${v.how}`})`;
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
