import type { Opcode } from '../ir/opcode.ts';
import type { Graph } from '../isa/lang/graph.ts';
import type { Expr } from '../isa/lang/parse.ts';

/**
 * A rule, for the engine, the checks and the prover. What its file states literally is available at once; `root` and the members of
 * `RuleBody` are compiled on first use.
 *
 * @throws DiagnosticError on access to a compiled member, if the rule's text has faults
 */
export interface Rule extends RuleBody {
  readonly id: string;
  readonly group: string;
  readonly title: string;
  readonly source: string;
  /** Phases that may run it; null: all. */
  readonly owner: readonly string[] | null;
  readonly priority: number;
  /** Whether the rule itself states a priority; its overlaps with other rules are then taken to be intended. */
  readonly ranked: boolean;
  /** Index in its group's file, from 0. */
  readonly place: number;
  /**
   * Opcode of the last line of `match`; null: the root is any instruction with an address, and its line is just the
   * address.
   */
  readonly root: Opcode | null;
  /** Conditions of the group and the rule that read only target, level and knobs. */
  readonly statics: readonly Expr[];
  /** Whether a condition that is not static reads a knob. */
  readonly readsKnobs: boolean;
  /** Whether a condition that is not static reads the level or the target. */
  readonly readsLevelOrSm: boolean;
  /** The author's argument for the rule where no solver decides it. */
  readonly holds: string | null;
  /** How results differ, for a rule that is not exact and runs only on request; null for an exact rule. */
  readonly inexact: string | null;
  /** The saving in cycles that the file states; null: `checks.ts` compares costs. The number itself is not used. */
  readonly cost: number | null;
  /** The texts as written. */
  readonly text: { readonly match: string; readonly rewrite: string; readonly when: string | null };
}

/** The compiled texts of a rule: variables are numbers, opcodes are resolved, and each choice of modifiers is an instance. */
export interface RuleBody {
  /** Operands and constants: `$a`, `#k`. */
  readonly vars: readonly Variable[];
  /** Modifier variables: `.$type`. */
  readonly modVars: readonly string[];
  /** The pattern: inner lines define values that later lines use; the last line is the root. */
  readonly match: readonly Line[];
  readonly rewrite: readonly Line[];
  /** Conditions on use counts, positions, target, level and knobs; those on constants are in the instances. */
  readonly structural: readonly Expr[];
  /** Every choice of modifiers under which the widths agree and the condition may hold; computed on first use. */
  readonly instances: readonly Instance[];
  /** The instance for the modifiers of the matched lines; null if there is none. */
  readonly instanceFor: (mods: readonly number[]) => Instance | null;
  /** Hash of everything that can change the meaning of the rule; computed on first use. */
  readonly hash: string;
}

/** A variable of a rule: a value, or a constant. */
export interface Variable {
  readonly name: string;
  readonly kind: 'value' | 'const';
  /** Line of `match` that defines it, and the index of the destination; -1: defined outside the match. */
  readonly line: number;
  readonly dst: number;
  /** Defined only by `rewrite`. */
  readonly fresh: boolean;
}

/** One source of a line of a pattern or replacement. */
export type Source =
  | { readonly k: 'any' }
  | { readonly k: 'var'; readonly v: number; readonly mods: number }
  | { readonly k: 'const'; readonly v: number }
  | { readonly k: 'literal'; readonly value: bigint }
  /** Rewrite only: output `x` of the instance's constants. */
  | { readonly k: 'computed'; readonly x: number }
  | { readonly k: 'address'; readonly base: Source; readonly offset: Source };

/** One line of a pattern or replacement. */
export interface Line {
  /** null: the root is any instruction with an address. */
  readonly op: Opcode | null;
  /** Variable of each destination; -1: not named. */
  readonly dst: readonly number[];
  readonly src: readonly Source[];
  /** Value index of each modifier group that is written out; -1 elsewhere. */
  readonly fixed: readonly number[];
  readonly text: string;
}

/** One choice of all modifiers. */
export interface Instance {
  /** `mods` of each line of `match` and of `rewrite`; 0 for the address root. */
  readonly match: readonly number[];
  readonly rewrite: readonly number[];
  /** Width in bits of each variable. */
  readonly widths: readonly number[];
  /** Variables that are read in several ways (as integer, as f32, ...): their operands must not have modifiers. */
  readonly plain: readonly number[];
  /** Names of the modifier variables' values. */
  readonly modNames: readonly string[];
  /** The condition and the computed sources as a graph: source k is variable k, destination 0 the condition (one bit). */
  readonly constants: Graph;
  /** The condition is known to hold. */
  readonly always: boolean;
}

/** A fault of a rule, with the field that has it. */
export interface RuleIssue {
  readonly severity: 'error' | 'warning';
  readonly code: string;
  readonly group: string;
  /** Index in the group's file. */
  readonly rule: number;
  readonly field: 'id' | 'match' | 'rewrite' | 'when' | 'priority' | 'cost';
  readonly message: string;
  readonly notes: readonly string[];
}
