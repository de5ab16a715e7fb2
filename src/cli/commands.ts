import { Command } from 'commander';
import { visible } from '../ir/quote.ts';
import { allowPaths } from '../spec/node-paths.ts';
import { addBuildCommands } from './build-commands.ts';
import {
  collect,
  withCache,
  withJudge,
  withPaths,
  withPlan,
  withProfiledPlan,
  withServer,
} from './command-options.ts';
import { HELP_LAYOUT } from './help.ts';
import { addLabCommands } from './lab-commands.ts';
import { addMachineCommands } from './machine-commands.ts';
import { addRuleCommands } from './rule-commands.ts';
import { printable } from './terminal/colours.ts';
import { answerInJson, guarded, noteUsage } from './terminal/ui.ts';
import { ORRERY_VERSION } from './version.ts';

/**
 * A message of Commander in which the quoted words of the command line are escaped: names that a pattern matched may contain line breaks.
 */
function quotedWords(text: string): string {
  const words = process.argv.slice(2).flatMap((word) => [word, ...word.split('=')]);
  return words.reduce((t, word) => (visible(word) === word ? t : t.replaceAll(word, visible(word))), text);
}

const program = new Command('orrery')
  .description(
    'An open, data-driven GPU optimizing assembler pipeline: PTX in, 159 phases, checked by running it.',
  )
  .version(ORRERY_VERSION)
  .showHelpAfterError('(orrery --help lists the commands)')
  .showSuggestionAfterError(true)
  // Options are shown by the help of each command; here they would leave no room for descriptions.
  .configureHelp({ ...HELP_LAYOUT, sortSubcommands: false, subcommandTerm: (c) => c.name() })
  .configureOutput({
    outputError: (text, write) => {
      const message = quotedWords(text);
      noteUsage(message);
      write(printable(message));
    },
  })
  .addHelpText(
    'after',
    `
Examples:
  $ orrery opt kernel.ptx -O3 --sm sm_90 --check auto
      optimize, and compare both by running them
  $ orrery opt kernel.ptx --print-changed
      what each phase did
  $ orrery phases
      the table of all phases
  $ orrery plan --order my-order.yaml --diff
      what a changed order means, or what is illegal
  $ orrery run test/kernels/saxpy/launch.yaml
      run a kernel in the simulator
  $ orrery bisect kernel.ptx --rules mine.yaml
      which phase, function and rewrite make it wrong
  $ orrery reduce kernel.ptx --rules mine.yaml
      the smallest kernel for which they do`,
  );

withCache(
  withProfiledPlan(program.command('opt'))
    .description('optimize PTX (or .ori) files')
    .argument(
      '<file...>',
      "PTX or Ori text; folders and patterns ('k/**/*.ptx') stand for the files in them, - for standard input",
    )
    .option(
      '--emit <ori|ptx|json|cubin|none>',
      'what to write (default: by the extension of -o, or else ori; nothing with --ptxas, --why or --json); a cubin is what asm makes',
    )
    .option(
      '-o, --output <file>',
      'write there instead of standard output (-); for several files: the folder',
    )
    .option('-j, --jobs <n>', 'number of files that are processed at the same time (default: 1)')
    .option('--verify-each', 'check every changed snapshot with the verifier and a print-parse round trip')
    .option(
      '--check <auto|thorough|prove|machine|launch.yaml>',
      'compare input and result by running both in the simulator; with --emit ptx or --ptxas, the result is the ' +
        'written PTX; prove: prove the changes of each phase, and run what is not proved; machine: the result is ' +
        'the code that ptxas generates',
      collect,
    )
    .option(
      '--check-limit <10s|400MB>',
      'limit of --check auto and thorough on time or memory (repeatable)',
      collect,
    )
    .option('--counterexample <file>', 'with --check prove: write a launch that shows a phase to be wrong')
    .option('--check-each', 'with --check: compare after every phase that changed something')
    .option('--print-after <phase|all>', 'print the program after a phase (repeatable)', collect)
    .option('--print-changed', 'print each function that a phase changed, as a diff')
    .option('--remarks', 'print what each pass did and did not do, and why')
    .option(
      '--why <line>',
      'what each phase did to the instructions of a line: 57 of the PTX, kernel.cu:12 of its source',
    )
    .option('--start-at <phase>', 'begin with this phase: the input is the result of the phases before it')
    .option('--until <phase>', 'stop after this phase')
    .option(
      '--rewrite-limit <phase=n>',
      'let a phase make only n rewrites (phase:function=n: in that function); orrery bisect finds n',
    )
    .option(
      '--retarget',
      'with --emit ptx: state the target of --sm in .target, not the one that the file names',
    )
    .option(
      '--lowest-version',
      'with --emit ptx: state the lowest .version that has the target and all written instructions',
    )
    .option('--strict', 'treat functions that cannot be lowered, or not be written as PTX, as errors')
    .option(
      '--ptxas',
      'results of ptxas for input and output: registers, spills, stack, code size, side by side',
    )
    .option(
      '--max-loss <percent>',
      'with --emit ptx or --ptxas: a kernel that needs this much more code or registers than in the input, ' +
        'or more spills, is optimized less, or kept unchanged',
    )
    .option('--stat', 'time and memory of the phases that ran, the most expensive first')
    .option('--json', 'a summary for scripts; with --ptxas, --stat or --why: that')
    .option(
      '--trace-events <file>',
      'write when each phase ran, for chrome://tracing or Perfetto; for several files: the folder',
    )
    .option('--print-phases', "print 'Before PHASE' and 'After PHASE' around each phase that runs")
    .option('--ftrace-phase-after <phase>', 'the same, for the phases after this one')
    .option('-q, --quiet', 'no account on standard error, except reports that are requested by name'),
)
  .addHelpText(
    'after',
    `
Two knobs print reports of ptxas on standard error:
  --set PhaseTiming         the memory of each phase, of all and of the pool
  --set DumpIR=PHASE+PHASE  each function after those phases, under a header of
                            statistics`,
  )
  .action((files, o) => guarded(async () => (await import('./optimize/opt.ts')).opt(files, o)));

withPlan(
  program
    .command('explore')
    .description('the explorer in a browser: what each phase does to a kernel, on a local port')
    .argument(
      '[file...]',
      'PTX or Ori text that is opened, and run again when it changes (default: the gallery)',
    )
    .option('--port <n>', 'listen there (default: a free port)')
    .option('--open', 'open it in the browser too'),
)
  .addHelpText('after', '\nIt listens only on 127.0.0.1 and sends nothing anywhere. Ctrl-C ends it.')
  .action((files, o) => guarded(async () => (await import('./explore/explore.ts')).explore(files, o)));

withPlan(
  program
    .command('trace')
    .description('write what each phase did as a single page, to attach to a bug or a pull request')
    .argument('<file>', 'PTX or Ori text, - for standard input')
    .option('-o, --output <file>', 'write there, - for standard output')
    .option(
      '--site <address>',
      'address of a site made by `npm run site`: the page leads there to change what it shows',
    )
    .option('--json', 'the recording alone, for scripts'),
).action((file, o) => guarded(async () => (await import('./debug/trace.ts')).trace(file, o)));

withProfiledPlan(
  program
    .command('run')
    .description('run a launch file in the simulator and check what it expects')
    .argument('<launch.yaml...>', 'launch files')
    .option('--no-opt', 'run the program as it was lowered')
    .option('--module <file>', 'use this PTX instead of the one the launch names')
    .option('--counters', 'count instructions, divergence, memory transactions, barriers')
    .option(
      '--profile-out <file>',
      'write how often each block ran, for --profile of opt (with --no-opt) and measure',
    )
    .option(
      '--cubin <file>',
      'run this machine code instead; the module is the PTX that it was compiled from',
    )
    .option(
      '--budget <n>',
      'stop after exactly this many warp instructions (default: 200 million); a matrix product or a bulk copy counts as several',
    )
    .option(
      '--stack <bytes>',
      'stack of each thread, for recursion (default: what the launch says, or 65536; at most 524288)',
    )
    .option('--schedule <seed>', 'let warps and diverged lanes take turns at random (default: fixed turns)')
    .option('--json', 'result for scripts'),
)
  .addHelpText(
    'after',
    `
A launch file says what to run and which results to expect. Paths are relative
to it:
  kind: launch
  module: saxpy.ptx
  kernel: saxpy
  grid: [4, 1, 1]
  block: [128, 1, 1]
  dynamic-shared: 0     # bytes
  params:               # in the order of the kernel
    - { scalar: s32, value: 500 }
    - { scalar: f32, value: 2.5 }
    - { buffer: f32, length: 512, fill: iota }
    - { buffer: f32, length: 512, data: y.bin, expect: z.bin, tolerance: 1e-6 }
schemas/launch.schema.json describes every key; \`orrery check\` reports errors
in a file.`,
  )
  .action((files, o) => guarded(async () => (await import('./check/run.ts')).run(files, o)));

withJudge(withProfiledPlan(program.command('bisect')))
  .description('find the phase, the function and the single rewrite that make a result wrong')
  .argument('<file>', 'PTX or Ori text for which the plan gives a wrong result')
  .option(
    '--good <options>',
    "between two plans: what the good one has in addition to the plan options, as '--set X=1 move:A@after:B' (see orrery ab)",
  )
  .option('--bad <options>', 'the same for the bad one; finds a minimal set of differences that make it bad')
  .option(
    '--linear',
    'judge phase after phase: finds the very first bad phase, where bisection finds one of them',
  )
  .option('--json', 'for scripts')
  .addHelpText(
    'after',
    '\nA result is also wrong if a pass throws, or the verifier rejects the program.\n' +
      'Exit code: 0 if the cause was found, 1 for errors and if there is nothing to\nfind.',
  )
  .action((file, o) => guarded(async () => (await import('./debug/bisect.ts')).bisect(file, o)));

withJudge(withProfiledPlan(program.command('reduce')))
  .description('make a plan and a program that fail as small as possible, still failing')
  .argument('<file>', 'PTX or Ori text for which the plan gives a wrong result')
  .option(
    '-o, --output <file>',
    'write the program there (default: NAME.reduced.ptx or .ori, in the current folder)',
  )
  .option('--no-plan', 'leave the plan as it is')
  .option('--no-program', 'leave the program as it is')
  .option('--tests <n>', 'maximum number of programs to try (default: 20000)')
  .option('--json', 'for scripts')
  .addHelpText(
    'after',
    `
The plan is reduced first: phases, then settings; it is written next to the
program as an order. Then functions, instructions, guards, values, operands,
constants and parameters are removed. A smaller program counts only if it fails
in the same way, is good before any phase, and reads nothing that it has not
written before. Ctrl-C keeps the best so far.
Exit code: 0 if it was written, 1 for errors and if there is nothing to reduce.`,
  )
  .action((file, o) => guarded(async () => (await import('./debug/reduce.ts')).reduce(file, o)));

program
  .command('repro')
  .description('run a command again that failed because of an internal error, and say whether it still does')
  .argument(
    '<file>',
    'the orrery-repro-*.json that the failure wrote (ORRERY_REPRO names its folder; empty: none)',
  )
  .option('--keep <folder>', 'run nothing: write its files there, and say how to run it')
  .option(
    '--allow-commands',
    'run it although it starts other programs, or names files outside its folder: read it first',
  )
  .option('--timeout <seconds>', 'time limit of its command', '600')
  .option('--json', 'for scripts')
  .addHelpText(
    'after',
    `
It runs in its own empty folder. A reproducer from somebody else may contain
anything: one that would start other programs, or names files outside that
folder, is shown and rejected.
Exit code: 0 if it still happens, 2 if it does not, 1 for errors.`,
  )
  .action((file, o) => guarded(async () => (await import('./debug/repro.ts')).repro(file, o)));

withPlan(
  program
    .command('phases')
    .description('the table of phases; for a named phase: what runs there, when, and what it requires')
    .argument('[phase...]', 'phases by name, in any case')
    .option('--status <status>', 'only rows of one status')
    .option('--category <category>', 'only rows of one category')
    .option('--wide', 'every column in full, whatever the width of the terminal')
    .option('--json', 'for scripts'),
).action((names, o) => guarded(async () => (await import('./plan/plan.ts')).phases(names, o)));

withPlan(
  program
    .command('plan')
    .description('the resolved plan: order, knobs and where each value came from, and its hash')
    .option('--all', 'every knob, not only those that differ from the catalog')
    .option(
      '--diff [order]',
      'only its differences from an order alone, by name or file (default: the one that its order extends)',
    )
    .option('--json', 'for scripts'),
).action((o) => guarded(async () => (await import('./plan/plan.ts')).plan(o)));

withPlan(
  program
    .command('order')
    .description('orders of phases')
    .command('suggest')
    .description('the legal places of a phase, and why others are illegal')
    .argument('<phase>', 'name of a phase, or name#n')
    .option('--json', 'for scripts'),
).action((phase, o) => guarded(async () => (await import('./plan/order.ts')).suggest(phase, o)));

const server = program
  .command('server')
  .description('keep a process that runs commands: they then take a fraction of their time');
withServer(server.command('start'))
  .description('start it in the background')
  .addHelpText(
    'after',
    `
While it runs, commands of this user and this build run in it, with the same
results. Commands that find it busy, read standard input, measure costs, or run
until they are interrupted run without it, as do all with ORRERY_SERVER=off.`,
  )
  .action((o) => guarded(async () => (await import('./server/server.ts')).startServer(o)));
withServer(server.command('run'))
  .description('the same in this terminal')
  .action((o) => guarded(async () => (await import('./server/server.ts')).runServer(o)));
server
  .command('status')
  .description('what it has done')
  .option('--json', 'for scripts')
  .action((o) => guarded(async () => (await import('./server/server.ts')).serverStatus(o)));
server
  .command('stop')
  .description('end it')
  .action(() => guarded(async () => (await import('./server/server.ts')).stopServer()));
program
  .command('server-process', { hidden: true })
  .argument('<folder>')
  .argument('<seconds>')
  .action((folder, seconds) =>
    guarded(async () =>
      (await import('./server/server-process.ts')).serverProcess(
        folder,
        () => guarded(runCommand),
        Number(seconds),
      ),
    ),
  );

program
  .command('lsp')
  .description('the language server, for editors: specs, PTX, Ori, and PTX inside of CUDA sources')
  .option('--stdio', 'talk on standard input and output, as it always does; clients name it')
  .addHelpText(
    'after',
    `
An editor starts it, and it ends with the editor. It writes no file of yours,
and checks texts as they are typed, saved or not. In Neovim:
  vim.lsp.start({ name = 'orrery', cmd = { 'orrery', 'lsp' } })
Settings, under 'orrery':
  kernels   PTX files, folders or patterns over which lenses measure edits
  lenses    figures above kernels and specs (default: true)
  hints     what inlay hints show: becomes, frequency, live, lanes
            (default: none)
docs/editors.md has Neovim, VS Code, Helix, Emacs and JetBrains.`,
  )
  .action((o) => guarded(async () => (await import('./lsp/lsp.ts')).lsp(o)));

program
  .command('completion')
  .description(
    'a script that completes commands, options, phases, knobs, recipes, rules, metrics and targets',
  )
  .argument('[shell]', 'bash, zsh or fish')
  .option('--json', 'commands, options and names as data, for scripts and other shells')
  .addHelpText(
    'after',
    `
It completes words after orrery. If that is not a command, make it one:
  $ alias orrery='npx orrery'
In bash, and with the other word in zsh:
  $ source <(orrery completion bash)
In fish:
  $ orrery completion fish > ~/.config/fish/completions/orrery.fish`,
  )
  .action((shell, o) => guarded(async () => (await import('./completion.ts')).completion(shell, o, program)));

withPlan(
  program
    .command('recipes')
    .description('recipes that ship; for a file: those that are applied to each function, and its hash')
    .argument('[file]', 'PTX or Ori text')
    .option('--measure <recipe>', 'measure the stated effects of a recipe, by name or file, again')
    .option('--json', 'for scripts'),
).action((file, o) => guarded(async () => (await import('./plan/recipes.ts')).recipes(file, o)));

addLabCommands(program);

addBuildCommands(program);

withProfiledPlan(
  program
    .command('cfg')
    .description('control flow of the functions of a PTX or Ori file, as AnalyzeControlFlow sees it')
    .argument('<file>', 'PTX or Ori text')
    .option('--format <text|dot|svg|json>', 'output (default: by the extension of -o, or else text)')
    .option('--json', 'for scripts: --format json')
    .option('--function <name>', 'only this function')
    .option('--changes', 'before and after the plan side by side, changed edges marked')
    .option('--phase <phase>', 'the same before and after this phase alone')
    .option('--force', 'force mode of the analysis')
    .option('-o, --output <file>', 'write there instead of standard output'),
).action((file, o) => guarded(async () => (await import('./plan/cfg.ts')).cfg(file, o)));

addMachineCommands(program);

withPaths(program.command('check'))
  .description('check specs, launches, PTX or Ori files; report all errors')
  .argument('<file...>', 'YAML, PTX or Ori files; a folder stands for the specs, PTX and Ori files in it')
  .option('--isa <file>', 'PTX may hold the instructions that this file declares (repeatable)', collect)
  .option('--json', 'for scripts')
  .action((files, o) => guarded(async () => (await import('./check/check.ts')).check(files, o)));

addRuleCommands(program);

program
  .command('start', { hidden: true })
  .description('the tour of npm start: optimize and check a bundled kernel')
  .action(() => guarded(async () => (await import('./optimize/start.ts')).start()));

program.hook('preAction', (_, command) =>
  allowPaths((command.opts() as { allowPath?: readonly string[] }).allowPath ?? []),
);
/** Commands grouped by purpose, as --help lists them. */
const JOBS: Readonly<Record<string, readonly string[]>> = {
  'Optimize a kernel and look at it': ['opt', 'asm', 'explore', 'trace', 'cfg', 'run', 'disasm'],
  'Plans: phases, orders, recipes, rules': ['phases', 'plan', 'order', 'recipes', 'rules', 'check'],
  'Measure and compare': ['measure', 'ab', 'tune', 'sweep', 'merge', 'evaluate'],
  'Review a change': ['diff'],
  'Find what breaks a kernel': ['verify', 'bisect', 'reduce', 'repro'],
  'In a build': ['ptxas', 'toolkit', 'faults'],
  'In an editor': ['lsp'],
  'This command itself': ['server', 'completion', 'help'],
};

const subcommandsOf = (c: Command): readonly Command[] => c.commands;

// Commander's own help says nothing about an unknown command, and for a command in a group it shows the group.
for (const group of [program, ...subcommandsOf(program)].filter((c) => c.commands.length > 0))
  group
    .command('help')
    .description('what a command does, and its options')
    .argument('[command...]', 'its name')
    .action((words: readonly string[]) => commandOf(words, group).help());

for (const [job, names] of Object.entries(JOBS))
  for (const name of names)
    subcommandsOf(program)
      .find((c) => c.name() === name)
      ?.helpGroup(`${job}:`);
const listed = Object.values(JOBS).flat();
// Groups are listed in the order of their first command.
(program.commands as Command[]).sort((a, b) => listed.indexOf(a.name()) - listed.indexOf(b.name()));

/** The command that the first words name. An unknown name ends the process with suggestions. */
function commandOf(words: readonly string[], group: Command = program): Command {
  const [word, ...rest] = words;
  if (word === undefined || word.startsWith('-') || group.commands.length === 0) return group;
  const command = subcommandsOf(group).find((c) => c.name() === word);
  // This fails with Commander's error for an unknown command.
  return command === undefined ? group.parse([word], { from: 'user' }) : commandOf(rest, command);
}

/** Runs the command that `process.argv` names. */
export async function runCommand(): Promise<void> {
  // The options of ptxas are not parsed here: they are passed on unchanged.
  if (process.argv[2] === 'ptxas') await (await import('./optimize/ptxas.ts')).ptxas(process.argv.slice(3));
  else {
    if (process.argv.includes('--json')) answerInJson();
    commandOf(process.argv.slice(2));
    await program.parseAsync(process.argv);
  }
}
