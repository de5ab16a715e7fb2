import type { Isa } from '../ir/opcode.ts';
import type { ParamTypes, PassNeeds } from '../ir/pass.ts';

/** What the code around the resolver can run. */
export interface Host {
  /** Names of registered passes. */
  readonly passes: ReadonlySet<string>;
  /** Whether it can run rule groups. */
  readonly rules?: boolean;
  /** Knobs that are read wherever rules run, whichever rules they are. */
  readonly ruleKnobs?: readonly string[];
  /** What a pass reads and requires wherever it runs. */
  readonly passNeeds?: (pass: string) => PassNeeds;
  /** Parameters that a pass reads; absent, they are not checked. */
  readonly passParams?: (pass: string) => ParamTypes;
  /** Checks the rules of one group together with those of the groups that run beside it. */
  readonly checkRules?: (
    docs: readonly unknown[],
    group: string,
    isa: Isa,
    costs: Readonly<Record<string, number>>,
  ) => readonly RuleFault[];
  /** Rules of a group that are wrong, and for which values: what evaluation finds, without a solver. */
  readonly refuteRules?: (doc: unknown, isa: Isa) => readonly RuleFault[];
}

/** What is wrong with a rule: its place in the group's file, and the field that says it. */
export interface RuleFault {
  readonly severity: 'error' | 'warning';
  readonly code: string;
  readonly rule: number;
  readonly field: string;
  readonly message: string;
  readonly notes: readonly string[];
}
