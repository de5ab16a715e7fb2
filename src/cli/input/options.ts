import type { PlanRequest } from '../../spec/resolve.ts';
import { DEFAULT_ORDER } from '../../spec/specs.ts';

/** Options that say which plan to resolve; the same on every command that needs one. */
export interface PlanOptions {
  readonly level?: string;
  readonly sm?: string;
  readonly order?: string;
  /** Later ones win. */
  readonly recipe?: readonly string[];
  readonly nvopt?: string;
  readonly knobs?: readonly string[];
  readonly set?: readonly string[];
  readonly disable?: readonly string[];
  readonly rules?: readonly string[];
  /** Files of instructions that PTX does not have. */
  readonly isa?: readonly string[];
  /** Rules that are known to be wrong run: with a warning; 'quiet' for commands that look for what is wrong. */
  readonly forceRules?: boolean | 'quiet';
  /** Profile that phase 20 gives to functions. */
  readonly profile?: string;
  /** Folders in which files may name others. */
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

/** What a plan request takes from plan options as it stands there, with defaults. */
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
