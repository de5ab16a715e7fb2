import type { SpecFile } from './document.ts';
import type { Profile } from './profile.ts';

/** All specs that a plan can be resolved from, by kind and name. */
export interface Specs {
  readonly phases: SpecFile;
  readonly constraints: SpecFile;
  readonly knobs: SpecFile;
  readonly isa: readonly SpecFile[];
  /** How opcodes are written as PTX; absent for hosts that do not write PTX. */
  readonly ptx?: SpecFile;
  readonly orders: ReadonlyMap<string, SpecFile>;
  readonly backends: ReadonlyMap<string, SpecFile>;
  readonly recipes: ReadonlyMap<string, SpecFile>;
  readonly knobSets: ReadonlyMap<string, SpecFile>;
  /** Rule groups; absent means none. */
  readonly rules?: ReadonlyMap<string, SpecFile>;
  /** Reasons why rules are correct that no solver proves in full. No plan reads it. */
  readonly reviews?: SpecFile;
  /** Known faults of ptxas; absent: none. No plan reads it. */
  readonly ptxasFaults?: SpecFile;
}

/** The user's request for a plan. */
export interface PlanRequest {
  /** Optimization level; null: that of a recipe, or 3. */
  readonly level: number | null;
  readonly sm: string;
  readonly order: string;
  /** Recipes, by name or file; later ones win. Absent is the same as none. */
  readonly recipes?: readonly string[];
  /** NvOpt level; it overrides those of recipes. */
  readonly nvopt?: number;
  /** Knob sets, by name or file; later ones win. */
  readonly knobSets: readonly string[];
  /** Texts of the form `NAME=VALUE`, `NAME` or `WHEN=...`. */
  readonly set: readonly string[];
  /** Ids of phases to switch off. */
  readonly disable: readonly string[];
  /** Additional rule groups, by name or file. They run in the phases that own them, or in all that run rules. */
  readonly rules?: readonly string[];
  /** Additional files of PTX instructions that Ori carries unchanged. */
  readonly isa?: readonly string[];
  /** How to treat rules from files that evaluation refutes: as an error (the default), with a warning, or not at all. */
  readonly wrongRules?: 'refuse' | 'warn' | 'run';
  /** Execution counts of blocks from earlier runs. */
  readonly profile?: Profile | null;
}

/** Level if neither the request nor a recipe states one: the documented default of -O (reference, levels 1). */
export const DEFAULT_LEVEL = 3;

/** Default order: the one that the modelled compiler executes. `seed` follows the numbers of a trace instead. */
export const DEFAULT_ORDER = 'binary';

/** Levels 0 to 5 exist internally, 0 to 4 are documented (reference, levels 1). */
export const MAX_LEVEL = 5;
