import type { Isa } from './opcode.ts';
import type { Fn, Instr, Program } from './program.ts';

/** Value of a knob as a pass sees it. `null`: not set. */
export type KnobValue = null | boolean | number | string | readonly number[] | readonly [number, number];

/** Why a pass did (`passed`) or did not do (`missed`) something, or a figure that it found (`note`). */
export interface Remark {
  readonly kind: 'passed' | 'missed' | 'note';
  /** Short stable name: 'branch-folded', 'dead-removed'. */
  readonly name: string;
  readonly message: string;
  readonly fn: string;
  /** Block id, -1 for none. */
  readonly block: number;
  /** Index into `Program.locs`. */
  readonly loc: number;
}

/** A recipe of the plan, and whether it is applied to a function. */
export interface RecipeForFn {
  readonly name: string;
  /** What it asks of functions; '' for all. */
  readonly when: string;
  readonly holds: boolean;
}

/**
 * All that a pass may know beside the function it is given. Reading an undeclared knob or fact throws; what is read is part of
 * the key under which the result is kept, so nothing is to be read that does not matter.
 */
export interface PassContext {
  readonly program: Program;
  readonly isa: Isa;
  /** Name of the phase that runs this pass, for remarks. */
  readonly phase: string;
  /** Parameters of this binding, from YAML. */
  readonly params: Readonly<Record<string, unknown>>;
  /** Budget knob of which each rewrite by a rule takes one unit; null: none. */
  readonly ruleBudget: string | null;
  /** Effective optimization level. */
  readonly level: number;
  /** Name of the target: sm_80. */
  readonly sm: string;
  /** Value of a knob; must be in the phase's `knobs`. */
  knob(name: string): KnobValue;
  /** One unit of a budget knob: false once its limit is reached; always true where it is unset. */
  budget(name: string): boolean;
  /** True while a budget knob has a unit left; takes none. */
  budgetLeft(name: string): boolean;
  /** Recipes of the plan, and whether each is applied to the function. */
  recipes(): readonly RecipeForFn[];
  /** How often blocks of the function ran, by id, where the plan comes with a profile that knows it; else null. */
  profile(): ReadonlyMap<number, number> | null;
  /**
   * Permission for one rewrite, asked just before it is made and after nothing else can stand against it: false where the phase has made
   * as many as it may (`RewriteLimit`), and so for all that follow. What has to happen in any case is not asked for.
   *
   * @param name what it does, as in remarks, or the rule's id
   * @param block block id
   * @param ins where it begins
   */
  mayRewrite(name: string, block?: number, ins?: Instr): boolean;
  /** A fact of the back end, by path: 'limits.max-registers', 'capabilities.uniform-registers'. */
  fact(path: string): unknown;
  remark(kind: Remark['kind'], name: string, message: string, at?: { block?: number; ins?: Instr }): void;
  /** Text for the phase's report in the journal (reporting phases), made only if somebody reads it. */
  report(make: () => string): void;
}

/**
 * A pass maps one function to an equivalent one. It returns `fn` itself when there was nothing to do, shares every
 * block and instruction that it did not change, and knows nothing but its arguments.
 */
export type Pass = (fn: Fn, ctx: PassContext) => Fn;

/** All that a pass over a whole program may know beside it. */
export interface ProgramContext {
  readonly isa: Isa;
  /** Name of the phase that runs this pass. */
  readonly phase: string;
  /** Parameters of this binding, from YAML. */
  readonly params: Readonly<Record<string, unknown>>;
  /** Functions that the phase is open for. The pass may read all others, and leaves them as they are. */
  readonly functions: readonly Fn[];
  /** Knobs, budgets, facts and remarks of one of `functions`: they may differ from function to function. */
  of(fn: Fn): PassContext;
}

/**
 * A pass that looks at several functions at once: calls, variables, what only the whole module shows. It returns `program`
 * itself when there was nothing to do, and shares what it did not change. It may add and remove functions; what it adds is
 * first seen by the next phase.
 */
export type ProgramPass = (program: Program, ctx: ProgramContext) => Program;

/** What a parameter of a pass may be: a number from some value on, a flag, or one of some words. */
export type ParamType =
  | { readonly kind: 'number'; readonly least: number; readonly whole: boolean }
  | { readonly kind: 'flag' }
  | { readonly kind: 'word'; readonly words: readonly string[] };

export type ParamTypes = Readonly<Record<string, ParamType>>;

/** What a pass declares for every phase that runs it. */
export interface PassNeeds {
  /** Knobs that it reads. */
  readonly knobs?: readonly string[];
  /** Facts of the back end that it reads, by path. */
  readonly facts?: readonly string[];
  /** Properties of the program without which it may not run. */
  readonly requires?: readonly string[];
}
