import type { Isa } from '../ir/opcode.ts';
import type { Fn } from '../ir/program.ts';
import { constantFolding } from '../passes/constant-folding.ts';
import { constantGuards } from '../passes/constant-guards.ts';
import { copyPropagation } from '../passes/copy-propagation.ts';
import { deadResults } from '../passes/dead-results.ts';
import type { EditPass, KnobValue, PassContext } from '../passes/pass.ts';
import { Driver, type DriverOptions } from '../rules/driver.ts';
import type { Trie } from '../rules/trie.ts';
import { EditRunner, type EditStep } from './edits.ts';

const CLEANING: readonly EditPass[] = [copyPropagation, constantFolding, constantGuards, deadResults];

/** Rules with the passes that clean up behind them may alternate this often; a set that does not end reaches its own bound first. */
const ROUNDS = 1000;

/**
 * What becomes of a function under a set of rules and the passes that clean up around them, run to the end outside of any phase: how a
 * set of rules is checked before it ships.
 *
 * @param knob knobs of the cleaning passes
 * @throws RulesDiverge when the rules' bound is reached
 */
export function settle(
  fn: Fn,
  trie: Trie,
  isa: Isa,
  opts: DriverOptions,
  knob: (name: string) => KnobValue = () => null,
): Fn {
  const ctx: PassContext = {
    program: {
      name: '',
      version: '',
      target: '',
      addressSize: 64,
      functions: [fn],
      variables: [],
      prototypes: [],
      locs: [],
      files: [],
      skipped: [],
    },
    isa,
    phase: '',
    params: {},
    level: opts.level,
    sm: '',
    knob,
    budget: () => true,
    fact: () => undefined,
    remark: () => {},
    report: () => {},
  };
  const steps: EditStep[] = CLEANING.map((edit) => ({
    key: null,
    open: (d) => (work) => edit(d, work, ctx),
  }));
  steps.push({
    key: null,
    open: (d) => {
      const driver = new Driver(d, trie, opts);
      return (work) => driver.run(work);
    },
  });
  return new EditRunner().run(fn, [{ steps, rounds: ROUNDS, unfinished: () => {} }]);
}
