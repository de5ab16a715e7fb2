import type { Command } from 'commander';
import { guarded } from './terminal/ui.ts';

/** Adds the commands around ptxas: `ptxas`, `toolkit`, `faults`. */
export function addBuildCommands(program: Command): void {
  program
    .command('ptxas')
    .description('optimize the PTX inputs, then run the real ptxas with the same options (a drop-in for it)')
    .argument(
      '[args...]',
      'options and files of ptxas, and our own, which begin with --orrery-: `orrery ptxas --help` lists both',
    )
    .allowUnknownOption();

  program
    .command('toolkit')
    .description('make a CUDA toolkit of links whose ptxas is `orrery ptxas`; print its nvcc')
    .argument('<folder>', 'where to make it')
    .option('--from <toolkit>', 'the CUDA toolkit to link to (default: that of the nvcc on PATH)')
    .option('--json', 'for scripts')
    .action((folder, o) => guarded(async () => (await import('./optimize/toolkit.ts')).toolkit(folder, o)));

  program
    .command('faults')
    .description(
      'known faults of ptxas: PTX that it miscompiles, for which targets, and what to write instead',
    )
    .argument('[name]', 'one of them, in full')
    .option('--sm <target>', 'only those of this target')
    .option('--ptxas', 'test the installed ptxas: assemble the input of each, and run the code in its launch')
    .option('--json', 'for scripts')
    .addHelpText(
      'after',
      `
\`orrery check FILE.ptx\` warns about their shapes. PTX that orrery writes
avoids them, unless --set KeepPtxasFaults is given.
The list is pipelines/ptxas-faults.yaml.`,
    )
    .action((name, o) => guarded(async () => (await import('./machine/faults.ts')).faults(name, o)));
}
