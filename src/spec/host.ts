import type { Isa } from '../ir/opcode.ts';
import type { ParamTypes, PassNeeds } from '../ir/pass.ts';

/** What the program that embeds the resolver can run. */
export interface Host {
  /** Names of registered passes. */
  readonly passes: ReadonlySet<string>;
  /** True if it can run rule groups. */
  readonly rules?: boolean;
  /** Knobs that the rule engine reads, whatever the rules. */
  readonly ruleKnobs?: readonly string[];
  /** Knobs and facts that a pass reads, and properties that it requires, independent of the phase that runs it. */
  readonly passNeeds?: (pass: string) => PassNeeds;
  /** Parameters that a pass reads; absent: parameters are not checked. */
  readonly passParams?: (pass: string) => ParamTypes;
  /** Checks the rules of one group together with those of the groups that run in the same step. */
  readonly checkRules?: (
    docs: readonly unknown[],
    group: string,
    isa: Isa,
    costs: Readonly<Record<string, number>>,
  ) => readonly RuleFault[];
  /** Finds unsound rules of a group by evaluation, without a solver; each fault has a counterexample. */
  readonly refuteRules?: (doc: unknown, isa: Isa) => readonly RuleFault[];
}

/** A fault of a rule: its index in the group's file, and the faulty field. */
export interface RuleFault {
  readonly severity: 'error' | 'warning';
  readonly code: string;
  readonly rule: number;
  readonly field: string;
  readonly message: string;
  readonly notes: readonly string[];
}
