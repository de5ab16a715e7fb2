import type { Isa } from '../ir/opcode.ts';
import type { Fn } from '../ir/program.ts';
import type { DriverOptions } from './driver.ts';
import type { Matcher } from './matcher.ts';
import type { Rule, RuleIssue } from './rule.ts';

/** Are faults of this rule reported? */
export type IsReported = (rule: Rule) => boolean;

export type Report = (
  rule: Rule,
  field: RuleIssue['field'],
  code: string,
  message: string,
  notes?: readonly string[],
  severity?: RuleIssue['severity'],
) => void;

/**
 * Runs a set of rules over a function until none fires, together with the cleanup passes around them, which this
 * layer does not know.
 */
export type Settle = (fn: Fn, matcher: Matcher, isa: Isa, opts: DriverOptions) => Fn;

export interface Setting {
  readonly isa: Isa;
  readonly matcher: Matcher;
  readonly settle: Settle;
}

export const named = (r: Rule): string => `'${r.id}' of group '${r.group}'`;

export const rootName = (r: Rule): string => r.match[r.match.length - 1].op?.name ?? '*';

/** How many modifier choices of one rule are tried; further ones would differ only in widths. */
export const MOST_INSTANCES = 6;
/** Rewrites of a function of a few instructions after which the rules count as not terminating. */
const MOST_STEPS = 60;

export const options = (more: Partial<DriverOptions> = {}): DriverOptions => ({
  level: 3,
  sm: 90,
  knob: () => true,
  mode: 'precedence',
  bound: MOST_STEPS,
  ...more,
});

/** `most` elements of the list, evenly spread. */
export function spread<T>(all: readonly T[], most: number): T[] {
  if (all.length <= most) return [...all];
  return Array.from({ length: most }, (_, i) => all[Math.floor((i * all.length) / most)]);
}

/** The instructions of a printed function, without labels and header. */
export const instructionLines = (text: string): string[] =>
  text.split('\n').filter((l) => /^ +(@|[A-Z])/.test(l));
