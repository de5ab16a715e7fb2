import type { Command } from 'commander';
import { armLines } from '../lab/arm-words.ts';
import { collect, withCache, withPaths, withPlan } from './command-options.ts';
import { guarded } from './terminal/ui.ts';

const BY =
  'decides whether a kernel was helped: a metric, or registers, code or executed (default: warp-instructions if every ' +
  'kernel has a launch, else weighted)';

/** Adds the options that control what is measured. */
const withMeasure = (c: Command, mayLeaveOutLaunches = true): Command => {
  const own = withCache(withPlan(c))
    .option('--ptxas <level>', 'level of ptxas for registers and code size (default: 3)')
    .option('--no-ptxas', 'do not run ptxas')
    .option('--profile <file>', 'weigh blocks by this profile (orrery run --profile-out), not by loops');
  return mayLeaveOutLaunches
    ? own.option('--no-launches', 'do not run the launch files beside the kernels')
    : own;
};

/** Adds the commands that measure and compare, and `diff`, which reviews. */
export function addLabCommands(program: Command): void {
  withMeasure(
    program
      .command('measure')
      .description('metrics of kernels after a plan: instructions, registers, memory, launches, ptxas')
      .argument('<kernel...>', "PTX files, folders, patterns ('k/**/*.ptx') or launch files")
      .option('--metrics <names>', 'only these, between commas; weighted.* is a family')
      .option('--no-opt', 'as the program was lowered')
      .option('--json', 'for scripts'),
  ).action((files, o) => guarded(async () => (await import('./lab/measure.ts')).measure(files, o)));

  withMeasure(
    program
      .command('ab')
      .description(
        'compare two plans over kernels: what got better, what worse, why, and whether results hold',
      )
      .argument('<arm...>', 'A and B, as below; or main..branch')
      .option('--kernels <file...>', 'PTX files, folders, patterns or launch files')
      .option('--by <metric>', BY)
      .option('--repeat <n>', 'timed runs of each arm; 0: none', '5')
      .option('--min-effect <percent>', 'smallest change of a noisy metric that counts', '2')
      .option('--seed <n>', 'seed of the bootstrap', '1')
      .option(
        '--diff <kernel>',
        'print how the code of this kernel differs, after the first phase that differs',
      )
      .option(
        '--format <text|markdown|json|html|csv>',
        'output (default: by the extension of -o, or else text)',
      )
      .option('--json', 'for scripts: --format json')
      .option('-o, --output <file>', 'write there instead of standard output')
      .addHelpText(
        'after',
        `
An arm lists what it adds to the plan options, in quotes if it has several words
('recipe:mine.yaml level:2'); options ('--set NAME=VALUE') work too:
${armLines().join('\n')}`,
      )
      .allowUnknownOption(),
  ).action((arms, o) => guarded(async () => (await import('./lab/ab.ts')).ab(arms, o)));

  program
    .command('diff')
    .description('what changed between two states of the specs: plans, rules with proofs, and kernels')
    .argument('<base>', 'a git ref, or a folder with pipelines/ and knobs/')
    .argument('[head]', 'the same (default: the working tree)')
    .option('-O, --level <0-5>', 'only this level (default: all)')
    .option('--sm <sm_NN>', 'only this target (default: all)')
    .option('--kernels <file...>', 'kernels on which the effect is shown (default: the test kernels)')
    .option('--no-kernels', 'compare what plans mean, and run nothing')
    .option('--by <metric>', BY)
    .option('--ptxas <level>', 'level of ptxas, if it is on the PATH (default: 3)')
    .option('--no-ptxas', 'do not run ptxas, not even for limits of the budget on its metrics')
    .option('-j, --jobs <n>', 'kernels that are measured at the same time (default: one for each core)')
    .option('--no-prove', 'do not prove rules for which the base has no verdict')
    .option(
      '--prove-limit <time>',
      'time limit of all proofs; verdicts so far are kept, and another run continues from there',
      '10min',
    )
    .option(
      '--accept <rule>',
      'a person has read why this rule of the head holds although no solver proves it: its review, ' +
        'or its intent; `budget`: why its limits may replace those of the base (repeatable)',
      collect,
    )
    .option('--solver <command>', 'a solver that reads SMT-LIB from its standard input')
    .option('--format <text|markdown|json>', 'output (default: by the extension of -o, or else text)')
    .option('--json', 'for scripts: --format json')
    .option('-o, --output <file>', 'write there instead of standard output')
    .option(
      '--budget <file>',
      'limits on the effect (default: orrery.budget.yaml of the head and of the base, or else pipelines/budget.yaml)',
    )
    .option('--fail-on <alarm>', 'exit with 1 for an ALARM too: a removed constraint, a raised limit')
    .option('--annotations', 'also print each finding as an annotation of GitHub Actions: ::error file=...')
    .addHelpText(
      'after',
      [
        '\nExit code: 0 if nothing differs, 2 if something does (specs, or files that',
        'only a person can judge: code, schemas, workflows, kernels), 1 for errors,',
        'refuted rules, broken kernels and broken limits.',
      ].join('\n'),
    )
    .action((base, head, o) => guarded(async () => (await import('./review/review.ts')).diff(base, head, o)));
  addSweepCommands(program);
}

/** Adds the commands that run many arms. */
function addSweepCommands(program: Command): void {
  withCache(withPaths(program.command('sweep')))
    .description('run an experiment: arms over knobs, places of phases and switches, on many kernels')
    .argument('<experiment.yaml>', 'a file of the kind experiment')
    .option(
      '-o, --output <file>',
      'results as JSON lines (default: EXPERIMENT.results.jsonl); an existing file is continued. With --emit: the job',
    )
    .option('--best <file>', 'write the best arm as a recipe there (default: EXPERIMENT.best.yaml)')
    .option('--csv [file]', 'write the results as a table too (default: EXPERIMENT.csv)')
    .option(
      '--html [file]',
      'write the report as a page too: arms by metrics, effects of factors (default: EXPERIMENT.html)',
    )
    .option('--restart', 'discard existing results')
    .option('-j, --jobs <n>', 'worker threads that run cells at the same time', '1')
    .option(
      '--shard <i/n>',
      'run only this part of the cells, for several machines; `merge` joins the results',
    )
    .option('--emit <slurm|k8s|github>', 'run nothing: write the job of a batch engine that runs every shard')
    .option('--shards <n>', 'with --emit: how many (default: 8)')
    .option('--command <words>', 'with --emit: how orrery is called there')
    .option('--image <name>', 'with --emit k8s: image of the containers (default: orrery)')
    .option('--claim <name>', 'with --emit k8s: claim of the volume with the files (default: orrery)')
    .option('--format <text|markdown|json>', 'output')
    .option('--json', 'for scripts: --format json')
    .action((file, o) => guarded(async () => (await import('./lab/sweep.ts')).sweep(file, o)));

  withMeasure(program.command('tune'), false)
    .description(
      'search knobs, recipes, switches and places of phases for a goal, and write the result as a recipe',
    )
    .argument('<kernel...>', "PTX files, folders, patterns ('k/**/*.ptx') or launch files")
    .option(
      '--goal <goal>',
      'registers<=64, code<=-10% (against the base), occupancy>=50, or a metric that is to improve: registers, code, executed, ' +
        'cycles, ... (repeatable; the first counts most)',
      collect,
    )
    .option('--only <pattern>', 'only kernels with such names count, and the recipe is for them')
    .option('--budget <time>', 'time limit of the search: 90s, 10m, 1h', '2m')
    .option(
      '-o, --output <file>',
      'write the recipe there (default: KERNEL.tuned.yaml, in the current folder)',
    )
    .option('--json', 'for scripts')
    .addHelpText(
      'after',
      '\nEvery arm is checked as by `orrery ab`; one that is wrong does not count.\n' +
        'Exit code: 0 if every bound is kept, 2 if one is not, 1 for errors.',
    )
    .action((files, o) => guarded(async () => (await import('./lab/tune.ts')).tune(files, o)));

  withPaths(program.command('merge'))
    .description('join the results of the shards of a sweep, and report on them as if it had been run in one')
    .argument('<experiment.yaml>', 'the experiment')
    .argument('<results...>', 'the files that its shards wrote')
    .option('-o, --output <file>', 'results as JSON lines (default: EXPERIMENT.results.jsonl)')
    .option('--best <file>', 'write the best arm as a recipe there (default: EXPERIMENT.best.yaml)')
    .option('--csv [file]', 'write the results as a table too (default: EXPERIMENT.csv)')
    .option(
      '--html [file]',
      'write the report as a page too: arms by metrics, effects of factors (default: EXPERIMENT.html)',
    )
    .option('--format <text|markdown|json>', 'output')
    .option('--json', 'for scripts: --format json')
    .action((file, parts, o) => guarded(async () => (await import('./lab/sweep.ts')).merge(file, parts, o)));

  withMeasure(
    program
      .command('evaluate')
      .description('read arms as JSON lines, answer metrics as JSON lines: for optimizers')
      .option('--kernels <file...>', 'PTX files, folders, patterns or launch files')
      .option('--metrics <names>', 'exact metrics of kernels, between commas', 'weighted,pressure.R')
      .option('--per-kernel', 'answer with the values of each kernel too')
      .option('--json', 'if the command itself fails, say so as JSON'),
  ).action((o) => guarded(async () => (await import('./lab/evaluate.ts')).evaluate(o)));
}
