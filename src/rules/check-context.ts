import type { Isa } from '../ir/opcode.ts';
import type { Fn } from '../ir/program.ts';
import type { DriverOptions } from './driver.ts';
import type { Matcher } from './matcher.ts';
import type { Rule, RuleIssue } from './rule.ts';

/** Is this a rule whose faults are reported? */
export type Judged = (rule: Rule) => boolean;

export type Report = (
  rule: Rule,
  field: RuleIssue['field'],
  code: string,
  message: string,
  notes?: readonly string[],
  severity?: RuleIssue['severity'],
) => void;

/** Runs a set of rules over a function to the end, with what cleans up around them (which this layer does not know). */
export type Settle = (fn: Fn, matcher: Matcher, isa: Isa, opts: DriverOptions) => Fn;

export interface Setting {
  readonly isa: Isa;
  readonly matcher: Matcher;
  readonly settle: Settle;
}

export const named = (r: Rule): string => `'${r.id}' of group '${r.group}'`;

export const rootName = (r: Rule): string => r.match[r.match.length - 1].op?.name ?? '*';

/** How many choices of modifiers of one rule are tried; further ones would differ in widths only. */
export const MOST_INSTANCES = 6;
/** Rewrites of a function of a few instructions before they count as endless. */
const MOST_STEPS = 60;

export const options = (more: Partial<DriverOptions> = {}): DriverOptions => ({
  level: 3,
  sm: 90,
  knob: () => true,
  mode: 'precedence',
  bound: MOST_STEPS,
  ...more,
});

/** `most` elements, evenly spread. */
export function spread<T>(all: readonly T[], most: number): T[] {
  if (all.length <= most) return [...all];
  return Array.from({ length: most }, (_, i) => all[Math.floor((i * all.length) / most)]);
}

/** The instructions of a printed function, without labels and header. */
export const instructionLines = (text: string): string[] =>
  text.split('\n').filter((l) => /^ +(@|[A-Z])/.test(l));
