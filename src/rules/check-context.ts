import type { Isa } from '../ir/opcode.ts';
import type { Fn } from '../ir/program.ts';
import type { DriverOptions } from './driver.ts';
import type { Matcher } from './matcher.ts';
import type { Rule, RuleIssue } from './rule.ts';

/** Are faults of this rule reported? */
export type IsReported = (rule: Rule) => boolean;

/** Records a fault of a rule; an error unless `severity` says otherwise. */
export type Report = (
  rule: Rule,
  field: RuleIssue['field'],
  code: string,
  message: string,
  notes?: readonly string[],
  severity?: RuleIssue['severity'],
) => void;

/**
 * Runs a set of rules over a function until none fires, alternating with cleanup passes. A parameter, since rules may not import passes.
 */
export type Settle = (fn: Fn, matcher: Matcher, isa: Isa, opts: DriverOptions) => Fn;

/** The set of rules under check, ready to run. */
export interface Setting {
  readonly isa: Isa;
  readonly matcher: Matcher;
  readonly settle: Settle;
}

/** A rule in a message. */
export const named = (r: Rule): string => `'${r.id}' of group '${r.group}'`;

/** Opcode name of a rule's root; `*` if the root is any instruction with an address. */
export const rootName = (r: Rule): string => r.match[r.match.length - 1].op?.name ?? '*';

/** Maximum number of modifier choices of one rule that a check tries. */
export const MOST_INSTANCES = 6;
/** Rewrites of a function of a few instructions after which a set of rules counts as non-terminating. */
const MOST_STEPS = 60;

/** Driver options for checks: level 3, sm_90 and all knobs on, so that conditions on them exclude few rules. */
export const options = (more: Partial<DriverOptions> = {}): DriverOptions => ({
  level: 3,
  sm: 90,
  knob: () => true,
  mode: 'precedence',
  bound: MOST_STEPS,
  ...more,
});

/** At most `most` elements of the list, evenly spaced. */
export function spread<T>(all: readonly T[], most: number): T[] {
  if (all.length <= most) return [...all];
  return Array.from({ length: most }, (_, i) => all[Math.floor((i * all.length) / most)]);
}

/** The instructions of a printed function, without labels and header. */
export const instructionLines = (text: string): string[] =>
  text.split('\n').filter((l) => /^ +(@|[A-Z])/.test(l));
