import type { Command } from 'commander';
import { withPlan } from './command-options.ts';
import { guarded } from './terminal/ui.ts';

/** Adds `rules` and its commands. */
export function addRuleCommands(program: Command): void {
  const rules = program
    .command('rules')
    .description('rewrite rules: what there is, what fired, what is proved');
  withPlan(
    rules
      .command('list')
      .description('every rule by group, and the phases that run it')
      .option('--group <name>', 'only this group')
      .option('--json', 'for scripts'),
  ).action((o) => guarded(async () => (await import('./rules/rules.ts')).list(o)));
  withPlan(
    rules
      .command('show')
      .description('one rule in full')
      .argument('<id>', 'rule id')
      .option('--json', 'for scripts'),
  ).action((id, o) => guarded(async () => (await import('./rules/rules.ts')).showRule(id, o)));
  withPlan(
    rules
      .command('prove')
      .description(
        'prove rules by a solver: with --rules, those of these files; a rule with a verdict is proved again only if its text or ' +
          'a meaning has changed. ' +
          'Exit code 1 if a rule is refuted, or is neither proved nor accepted',
      )
      .option('--rule <id>', 'only this rule, in full')
      .option('--group <name>', 'only this group')
      .option(
        '--solver <command>',
        'a solver that reads SMT-LIB from its standard input (default: the z3-solver package)',
      )
      .option('--all', 'also rules whose verdict is current')
      .option(
        '--accept [rules...]',
        'state that you have read why these rules hold (without ids: all rules of the run), so that less than a proof is enough: ' +
          'stores the verdicts of shipped rules, and keeps those of your own as accepted; never refuted ones',
      )
      .option('-j, --jobs <n>', 'workers that prove at the same time (default: one for each core)')
      .option(
        '--effort <factor>',
        'factor on the usual limits, which are steps of the solver, so that no verdict depends on the machine (default: 1)',
      )
      .option('--reviews', 'print reviews in full, as with --rule')
      .option('--json', 'for scripts, with reviews in full'),
  ).action((o) => guarded(async () => (await import('./rules/prove.ts')).proveRules(o)));
  withPlan(
    rules
      .command('explain')
      .description('which rules fired in a kernel, where, and why others did not')
      .argument('<file>', 'PTX or Ori text')
      .option('--rule <id>', 'every place where this rule fired or nearly fired')
      .option('--function <name>', 'only this function')
      .option('--json', 'for scripts'),
  ).action((file, o) => guarded(async () => (await import('./rules/rules.ts')).explain(file, o)));
  withPlan(
    rules
      .command('coverage')
      .description('rules that fire over a folder of kernels, and rules that never do')
      .argument('[folder]', 'PTX files (default: the test kernels)')
      .option('--all', 'also name the rules whose shape does not occur')
      .option('--json', 'for scripts'),
  ).action((folder, o) =>
    guarded(async () => (await import('./rules/rules-coverage.ts')).coverage(folder, o)),
  );
}
