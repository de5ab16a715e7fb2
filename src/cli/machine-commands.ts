import type { Command } from 'commander';
import { collect, withPlan } from './command-options.ts';
import { guarded } from './terminal/ui.ts';

/** Adds the commands that read or write machine code. */
export function addMachineCommands(program: Command): void {
  program
    .command('disasm')
    .description(
      'print the machine code of a cubin, a fat binary, or an object, library or program of the host',
    )
    .argument('<file>', 'a file written by ptxas or nvcc')
    .option('--lines', 'show the lines of the source and of the PTX that instructions come from')
    .option('--sections', 'show sections, attributes, parameters and constant banks instead of code')
    .option(
      '--profile <launch.yaml>',
      'run a launch with this code: how often warps execute each instruction',
    )
    .option(
      '--hazards',
      'instructions that access a register too early, instead of code; exit code 1 if there are any',
    )
    .option('--function <name>', 'only this function')
    .option('--sm <sm_NN>', 'only code for this target')
    .option('--vendor', "in the vendor's spelling: constants are rounded, and redundant operands omitted")
    .option('--json', 'for scripts')
    .addHelpText(
      'after',
      `
Example:
  $ orrery disasm test/cubins/scale.sm_80.cubin --function scale --lines
prints each instruction with its address and its control word, below the line
that it comes from:
  // PTX line 37: mad.lo.s32 %r1, %r4, %r5, %r6;
  0030  [B0-----:R-:W-:-:S05]  IMAD R2, R2, c[0x0][0x0], R3
  // scale.cu:8
  // PTX line 39: setp.ge.s32 %p1, %r1, %r3;
  0040  [B------:R-:W-:-:S13]  ISETP.GE.AND P0, PT, R2, c[0x0][0x160], PT
[B0-----:R-:W-:-:S05]: it waits for barrier 0 (B), raises no barrier when its
operands are read (R) or its result is there (W), and the next instruction is
issued five cycles later (S05); Y before S is a bit whose sense is not known.
Each text stands for exactly one word. A word that is not known is an error with
its address and the bits that no form explains.`,
    )
    .action((file, o) => guarded(async () => (await import('./machine/disasm.ts')).disasm(file, o)));

  withPlan(program.command('asm').description('compile PTX to machine code, without ptxas'))
    .argument('<kernel.ptx>', 'the PTX')
    .option('-o, --output <kernel.cubin>', 'write a cubin there, instead of a listing to standard output')
    .option('--check', 'compare the code with the PTX as verify does')
    .option('--lineinfo', 'tables of lines also where the PTX does not name its source (.loc)')
    .option('--print-after <phase|all>', 'print the program after a phase (repeatable)', collect)
    .option('--print-changed', 'print each function that a phase changed, as a diff')
    .option('--verify-each', 'check every changed snapshot with the verifier and a print-parse round trip')
    .option('--json', 'for scripts')
    .addHelpText(
      'after',
      `
Machine code is written for sm_80 to sm_90; an instruction that has none yet is
an error with its line. The recipe machine-code is applied: functions are
inlined, divisions and roots are expanded, and lanes that part get a place to
meet again. At -O0 every instruction waits for all earlier ones. The phases
that make the code are rows of pipelines/phases.yaml: ScheduleInstructions
selects instructions, and --print-changed shows what each makes of them. The
code runs in the simulator; it has not been tried on a GPU.

Example:
  $ orrery asm test/kernels/saxpy/saxpy.sm_80.ptx --check -o saxpy.cubin
writes a cubin, which orrery disasm prints; --check runs its code in made-up
worlds, beside the PTX.
Exit code 1 if a kernel cannot be compiled, or --check finds a difference.`,
    )
    .action((file, o) => guarded(async () => (await import('./machine/asm.ts')).asm(file, o)));

  program
    .command('verify')
    .description('compare machine code with the PTX that it was compiled from: is it ptxas?')
    .argument('<kernel.ptx>', 'the PTX')
    .argument(
      '[kernel.cubin]',
      'the machine code compiled from it, alone or in a fat binary or an object of the host',
    )
    .option('--ptxas', 'have ptxas make the machine code now')
    .option('-O, --level <n>', 'level of ptxas, 0 to 3 (default: 3)')
    .option('--levels', 'all levels of ptxas')
    .option('--with <path>', 'the ptxas to call')
    .option('--sm <sm_NN>', 'the target: of the code in the file, or to assemble for')
    .option('--kernel <name>', 'only this kernel')
    .option('--thorough', 'try more worlds, as --check thorough does')
    .option('--reduce <file>', 'write the lines of the first miscompiled kernel that ptxas still miscompiles')
    .option('--launch <file>', 'write a launch file, and its data beside it, that shows the first difference')
    .option('--json', 'for scripts')
    .addHelpText(
      'after',
      `
Both run in the same made-up worlds; the contents of global memory, and how
their threads end, must be the same. A result that depends on the last bits of
an approximation, or on products that may be fused with sums, may differ as far
as those allow. The order of accesses to memory is not compared.
Exit code 1 if a kernel is different or was not compared.

Example: of max(max(x, -x), y) ptxas 13.0.88 loses the minus for sm_90. Its code
is test/machine-code/max-of-absolute.sm_90.O3.cubin:
  $ cd test/machine-code
  $ orrery verify max-of-absolute.ptx max-of-absolute.sm_90.O3.cubin
prints the first difference, whose bytes follow from the memory of the world
that it names:
    seed 2: byte 0x2000000034 is 23 by the PTX and 233 by the machine code
    PTX: thread (5, 0, 0) of block (1, 0, 0) stores 0x3ff2b417 at
      0x2000000034, max-of-absolute.ptx:20
    machine code: thread (5, 0, 0) of block (1, 0, 0) stores 0xc00d4be9 at
      0x2000000034
      0090  STG.E desc[UR4][R4.64+0x0], R7
With -O 0 they are equal.`,
    )
    .action((file, cubin, o) =>
      guarded(async () => (await import('./machine/verify.ts')).verify(file, cubin, o)),
    );
}
