import type { PlanRequest } from '../../spec/resolve.ts';
import { DEFAULT_ORDER } from '../../spec/specs.ts';

/** Options that select a plan; the same on every command that needs one. */
export interface PlanOptions {
  readonly level?: string;
  readonly sm?: string;
  readonly order?: string;
  /** Recipes in order; later ones win. */
  readonly recipe?: readonly string[];
  readonly nvopt?: string;
  readonly knobs?: readonly string[];
  readonly set?: readonly string[];
  readonly disable?: readonly string[];
  readonly rules?: readonly string[];
  /** Files of instructions that PTX does not have. */
  readonly isa?: readonly string[];
  /** Whether rules run that are known to be wrong: with a warning; 'quiet' for commands that search for wrong results. */
  readonly forceRules?: boolean | 'quiet';
  /** Profile that phase 20 attaches to functions. */
  readonly profile?: string;
  /** Folders in which files may name other files. */
  readonly allowPath?: readonly string[];
}

const NAMES: Readonly<Record<keyof PlanOptions, true>> = {
  level: true,
  sm: true,
  order: true,
  recipe: true,
  nvopt: true,
  knobs: true,
  set: true,
  disable: true,
  rules: true,
  isa: true,
  forceRules: true,
  profile: true,
  allowPath: true,
};

/** The plan options among the options of a command. */
export const planOptionsOf = (o: PlanOptions): PlanOptions =>
  Object.fromEntries((Object.keys(NAMES) as (keyof PlanOptions)[]).map((name) => [name, o[name]]));

/** The plan options that a plan request takes unchanged, with defaults. */
export const requestedSpecs = (
  o: PlanOptions,
): Pick<
  PlanRequest,
  'order' | 'recipes' | 'nvopt' | 'knobSets' | 'set' | 'disable' | 'rules' | 'isa' | 'wrongRules'
> => ({
  order: o.order ?? DEFAULT_ORDER,
  recipes: o.recipe ?? [],
  ...(o.nvopt === undefined ? {} : { nvopt: Number(o.nvopt) }),
  knobSets: o.knobs ?? [],
  set: o.set ?? [],
  disable: o.disable ?? [],
  rules: o.rules ?? [],
  isa: o.isa ?? [],
  wrongRules: o.forceRules === 'quiet' ? 'run' : o.forceRules === true ? 'warn' : 'refuse',
});
