import type { SpecFile } from './document.ts';
import type { Profile } from './profile.ts';

/** All specs that a plan can be resolved from, by kind and name. */
export interface Specs {
  readonly phases: SpecFile;
  readonly constraints: SpecFile;
  readonly knobs: SpecFile;
  readonly isa: readonly SpecFile[];
  /** How opcodes are written as PTX; absent for hosts that write none. */
  readonly ptx?: SpecFile;
  readonly orders: ReadonlyMap<string, SpecFile>;
  readonly backends: ReadonlyMap<string, SpecFile>;
  readonly recipes: ReadonlyMap<string, SpecFile>;
  readonly knobSets: ReadonlyMap<string, SpecFile>;
  /** Rule groups; absent means none. */
  readonly rules?: ReadonlyMap<string, SpecFile>;
  /** Why rules hold that no solver proves in full; no plan reads it. */
  readonly reviews?: SpecFile;
  /** What ptxas is known to do wrong; absent: nothing is. No plan reads it. */
  readonly ptxasFaults?: SpecFile;
}

/** What the user asks for. */
export interface PlanRequest {
  /** Optimization level; null: that of a recipe, or 3. */
  readonly level: number | null;
  readonly sm: string;
  readonly order: string;
  /** Recipes, by name or file; later ones win. Absent is the same as none. */
  readonly recipes?: readonly string[];
  /** NvOpt level, whatever recipes say. */
  readonly nvopt?: number;
  /** Later ones win. */
  readonly knobSets: readonly string[];
  /** `NAME=VALUE` texts. */
  readonly set: readonly string[];
  readonly disable: readonly string[];
  /** Rule groups, by name or file, that run in addition: in the phases that own them, or in all that run rules. */
  readonly rules?: readonly string[];
  /** Files of PTX instructions that Ori carries as they are, besides those that ship. */
  readonly isa?: readonly string[];
  /** What becomes of rules from files that evaluation refutes: an error (also where this is absent), a warning, nothing. */
  readonly wrongRules?: 'refuse' | 'warn' | 'run';
  /** How often blocks ran, from earlier runs. */
  readonly profile?: Profile | null;
}

/** Level where neither the request nor the recipe names one: the documented default of -O (reference, levels 1). */
export const DEFAULT_LEVEL = 3;

/** Order where none is named: the one that the modelled compiler executes. `seed` follows the numbers of a trace instead. */
export const DEFAULT_ORDER = 'binary';

/** Levels 0 to 5 exist internally, 0 to 4 are documented (reference, levels 1). */
export const MAX_LEVEL = 5;
