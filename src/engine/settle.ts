import type { Isa } from '../ir/opcode.ts';
import type { Fn, Program } from '../ir/program.ts';
import type { KnobValue, PassContext } from '../passes/pass.ts';
import { passes } from '../passes/registry.ts';
import { Driver, type DriverOptions } from '../rules/driver.ts';
import type { Matcher } from '../rules/matcher.ts';
import { EditRunner, type EditStep } from './edits.ts';

const CLEANING = ['copy-propagation', 'constant-folding', 'constant-guards', 'dead-results'];

/** Maximum number of rounds of rules and cleanup passes; a rule set that does not terminate reaches its own bound first. */
const ROUNDS = 1000;

/** A context for passes outside of any plan: nothing is limited or recorded, and no knob, fact or profile is there. */
export const contextOutside = (program: Program, isa: Isa): PassContext => ({
  program,
  isa,
  phase: '',
  params: {},
  level: 3,
  sm: '',
  ruleBudget: null,
  recipes: () => [],
  profile: () => null,
  knob: () => null,
  budget: () => true,
  budgetLeft: () => true,
  mayRewrite: () => true,
  fact: () => undefined,
  remark: () => {},
  report: () => {},
});

/**
 * Runs a set of rules together with cleanup passes over a function until nothing changes, outside of any phase. Used to check rule sets.
 *
 * @param knob values of knobs for the cleanup passes
 * @throws RulesDiverge if the rules reach their bound
 */
export function settle(
  fn: Fn,
  matcher: Matcher,
  isa: Isa,
  opts: DriverOptions,
  knob: (name: string) => KnobValue = () => null,
): Fn {
  const program: Program = {
    name: '',
    version: '',
    target: '',
    addressSize: 64,
    functions: [fn],
    variables: [],
    prototypes: [],
    aliases: [],
    locs: [],
    files: [],
    skipped: [],
  };
  const ctx: PassContext = { ...contextOutside(program, isa), level: opts.level, knob };
  const steps: EditStep[] = CLEANING.map((name) => {
    const entry = passes.get(name)!;
    if (!('edit' in entry)) throw new Error(`${name} edits no draft`);
    return { key: null, open: (d) => (work) => entry.edit(d, work, ctx) };
  });
  steps.push({
    key: null,
    open: (d) => {
      const driver = new Driver(d, matcher, opts);
      return (work) => driver.run(work);
    },
  });
  return new EditRunner().run(fn, [{ steps, rounds: ROUNDS, ended: () => {} }]);
}
