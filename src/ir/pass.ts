import type { Isa } from './opcode.ts';
import type { Fn, Instr, Program } from './program.ts';

/** Value of a knob as a pass sees it. `null`: not set. */
export type KnobValue = null | boolean | number | string | readonly number[] | readonly [number, number];

/** A knob counts as set unless it is absent, false or zero. */
export const isSet = (v: KnobValue): boolean => v !== null && v !== false && v !== 0;

/**
 * Why a pass did (`passed`) or did not do (`missed`) something, a number that it measured (`note`), or advice for the author of the
 * code (`advice`), which is shown by default.
 */
export interface Remark {
  readonly kind: 'passed' | 'missed' | 'note' | 'advice';
  /** Short stable name: 'branch-folded', 'dead-removed'. */
  readonly name: string;
  readonly message: string;
  readonly fn: string;
  /** Block id, -1 for none. */
  readonly block: number;
  /** Index into `Program.locs`. */
  readonly loc: number;
  /** Number of occurrences that it stands for. */
  readonly count: number;
}

/** Where a remark applies, and the number of occurrences that it stands for (default 1). */
export interface RemarkPlace {
  readonly block?: number;
  readonly ins?: Instr;
  readonly count?: number;
}

/** A recipe of the plan, and whether it applies to a function. */
export interface RecipeForFn {
  readonly name: string;
  /** Its condition on functions; '' for all. */
  readonly when: string;
  readonly holds: boolean;
}

/**
 * The context of a pass: everything that it may read besides its function. Reading an undeclared knob or fact throws.
 * Everything read becomes part of the result's cache key, so read nothing that does not matter.
 */
export interface PassContext {
  readonly program: Program;
  readonly isa: Isa;
  /** Name of the phase that runs this pass, for remarks. */
  readonly phase: string;
  /** Parameters of this binding, from YAML. */
  readonly params: Readonly<Record<string, unknown>>;
  /** Budget knob from which each rewrite by a rule takes one unit; null: none. */
  readonly ruleBudget: string | null;
  /** Effective optimization level. */
  readonly level: number;
  /** Name of the target: sm_80. */
  readonly sm: string;
  /** Value of a knob; must be in the phase's `knobs`. */
  knob(name: string): KnobValue;
  /** Takes one unit of a budget knob: false once its limit is reached; always true if the knob is unset. */
  budget(name: string): boolean;
  /** Does a budget knob have a unit left? Takes none. */
  budgetLeft(name: string): boolean;
  /** Recipes of the plan, and whether each applies to the function. */
  recipes(): readonly RecipeForFn[];
  /** How often blocks of the function ran, by id, if the plan has a profile that covers it; else null. */
  profile(): ReadonlyMap<number, number> | null;
  /**
   * Requests permission for one rewrite; call it right before the rewrite and after every other check. False once the phase
   * has made as many rewrites as allowed (`RewriteLimit`). Mandatory changes need no permission.
   *
   * @param name name of the rewrite, as in remarks, or the rule's id
   * @param block block id
   * @param ins first instruction that it changes
   */
  mayRewrite(name: string, block?: number, ins?: Instr): boolean;
  /** A fact of the back end, by path: 'limits.max-registers', 'capabilities.uniform-registers'. */
  fact(path: string): unknown;
  /** Records a remark. */
  remark(kind: Remark['kind'], name: string, message: string, at?: RemarkPlace): void;
  /** Text for the phase's report in the journal (reporting phases); `make` is called only if the report is requested. */
  report(make: () => string): void;
}

/**
 * A pass maps one function to an equivalent one. It returns `fn` itself if there was nothing to do, shares every
 * block and instruction that it did not change, and depends only on its arguments.
 */
export type Pass = (fn: Fn, ctx: PassContext) => Fn;

/** The context of a pass over a whole program: everything that it may read besides the program. */
export interface ProgramContext {
  readonly isa: Isa;
  /** Name of the phase that runs this pass. */
  readonly phase: string;
  /** Parameters of this binding, from YAML. */
  readonly params: Readonly<Record<string, unknown>>;
  /** Functions that the phase may change. The pass may read all others, but must not change them. */
  readonly functions: readonly Fn[];
  /** Knobs, budgets, facts and remarks of one of `functions`, which may differ between functions. */
  of(fn: Fn): PassContext;
}

/**
 * A pass over the whole module, for calls, variables and other relations between functions. It returns `program` itself if
 * there was nothing to do, and shares everything that it did not change. It may add and remove functions; the next phase is
 * the first to process added ones.
 */
export type ProgramPass = (program: Program, ctx: ProgramContext) => Program;

/** Allowed values of a pass parameter: a number with a lower bound, a flag, or one of several words. */
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
  /** Properties of the program that it requires. */
  readonly requires?: readonly string[];
}
