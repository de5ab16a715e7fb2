import { type Command, Option } from 'commander';
import { DEFAULT_ORDER } from '../spec/specs.ts';

/*
 * Options that several commands take.
 */

/** Collects the values of a repeatable option. */
export const collect = (v: string, before: readonly string[] | undefined): readonly string[] => [
  ...(before ?? []),
  v,
];

/** Adds the option that allows files to name other files elsewhere. */
export const withPaths = (c: Command): Command =>
  c.option(
    '--allow-path <folder>',
    'let files name others in this folder, in addition to their own and the project (repeatable; ORRERY_ALLOW_PATH)',
    collect,
  );

/** The knob that `--no-phase` sets: parts of names of phases. */
const DISABLE_PHASES = 'DisablePhases';

/** An option that sets a knob, by the name that it has on the command line of the original. */
function settingOption(
  flags: string,
  description: string,
  setting: (v: string, before: readonly string[] | undefined) => readonly string[],
): Option {
  const option = new Option(flags, description).argParser<readonly string[] | undefined>(setting);
  // Not the negation of an option `--phase`.
  option.negate = false;
  option.attributeName = () => 'set';
  return option;
}

/** Settings with further phases switched off. Several `--no-phase`, and a `--set DisablePhases` before them, are one list. */
function withoutPhases(names: string, before: readonly string[] = []): readonly string[] {
  const isList = (s: string): boolean => s.toLowerCase().startsWith(`${DISABLE_PHASES.toLowerCase()}=`);
  const lists = [...before.filter(isList).map((s) => s.slice(DISABLE_PHASES.length + 1)), names];
  // A list without `+` is separated by commas.
  const parts = lists.map((l) => (l.includes('+') ? l : l.replaceAll(',', '+')));
  return [...before.filter((s) => !isList(s)), `${DISABLE_PHASES}=${parts.join('+')}`];
}

/** Adds the plan options to a command. */
export function withPlan(c: Command): Command {
  return withPaths(c)
    .option('-O, --level <0-5>', "optimization level (default: the recipe's, or 3)")
    .option('--sm <sm_NN>', 'target; default: the one the PTX names')
    .option(
      '--order <name|file>',
      `phase order: binary, late-branches, seed, or a YAML file (default: ${DEFAULT_ORDER})`,
    )
    .option('--recipe <name|file>', 'recipe to apply (repeatable; later ones win)', collect)
    .option('--nvopt <0-5>', 'NvOpt level: how aggressive the phases are that the optimization level enables')
    .option('--knobs <name|file>', 'knob set to apply (repeatable; later ones win)', collect)
    .option('--set <NAME=VALUE>', 'set one knob (repeatable; wins over everything)', collect)
    .option('--disable <phase>', 'switch one phase off (repeatable)', collect)
    .addOption(
      settingOption(
        '--no-phase <part>',
        'switch off all phases with this in their names (repeatable; as --set DisablePhases=<part>)',
        withoutPhases,
      ),
    )
    .addOption(
      settingOption(
        '--limit-fold-fp',
        'fold floats only in the peephole phases (as --set LimitFoldFp)',
        collect,
      ).preset('LimitFoldFp'),
    )
    .option('--rules <group|file>', 'also run these rules, wherever rules run (repeatable)', collect)
    .option(
      '--isa <file>',
      'accept instructions that this file declares and PTX does not have (repeatable)',
      collect,
    )
    .option(
      '--force-rules',
      'run rules that are known to be wrong, with a warning, and those that are not proved, without one',
    );
}

/** Adds the plan options, including a profile, to a command that runs plans on one program. */
export const withProfiledPlan = (c: Command): Command =>
  withPlan(c).option('--profile <file>', 'optimize by this profile (orrery run --no-opt --profile-out)');

/** Adds the options that select the judge of a result. */
export function withJudge(c: Command): Command {
  return c
    .option('--check <launch.yaml|auto>', 'auto: good means equal to the input in open worlds (default)')
    .option('--launch <launch.yaml>', 'good means the results that this launch expects; or --check')
    .option(
      '--command <command>',
      'good means PTX for which this command exits with 0; 125: undecided. {} is the file, or it comes last',
    )
    .option('--timeout <seconds>', 'with --command: longer runs count as bad (default: 60)')
    .option('--ptxas', 'good means PTX that ptxas accepts');
}

/** Adds the options of the cache for results of phases. */
export function withCache(c: Command): Command {
  return c
    .option('--cache <folder>', 'cache results of phases there')
    .option('--cache-limit <MB>', 'maximum size of the cache (default: 1024)');
}

/** Adds the options of a server. */
export const withServer = (c: Command): Command =>
  c
    .option('-j, --jobs <n>', 'commands that run at the same time (default: 1)')
    .option('--idle <minutes>', 'end after this time without a command (default: 60)')
    .option('--warm-up <seconds>', 'processor time for running the bundled kernels first (default: 6)')
    .option('--no-warm-up', 'do not run the bundled kernels first: the first commands then take longer');
