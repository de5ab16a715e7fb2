import type { Automaton } from './automaton.ts';
import type { Rule } from './rule.ts';

/** One document of kind `rules`, already checked against its schema. */
export interface RulesDoc {
  readonly group: string;
  /** Priority of rules that do not state their own. */
  readonly priority?: number;
  readonly owner?: readonly string[];
  readonly tables?: Readonly<Record<string, Readonly<Record<string, string>>>>;
  readonly when?: string;
  readonly rules: readonly {
    readonly id: string;
    readonly title: string;
    readonly match: string;
    readonly rewrite: string;
    readonly when?: string;
    readonly owner?: readonly string[];
    readonly priority?: number;
    readonly cost?: number;
    readonly holds?: string;
    readonly inexact?: string;
    readonly source: string;
  }[];
}

/** The document of a rule group, as a plan holds it. */
export interface GroupDoc {
  readonly data: unknown;
  readonly file: string;
  readonly hash: string;
  /** Hash of the instruction set for which its rules are known to have no faults; null: unknown. */
  readonly wholeFor: string | null;
  /** The automaton that matches its rules for that instruction set; null: not built yet. */
  readonly automaton: Automaton | null;
}

/** The three texts of a rule. */
export const textOf = ({ match, rewrite, when }: RulesDoc['rules'][number]): Rule['text'] => ({
  match,
  rewrite,
  when: when ?? null,
});
