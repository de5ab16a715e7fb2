import { assembled, noTarget } from '../../assemble.ts';
import { type Compiled, type KernelResult, RECIPE } from '../../codegen/module.ts';
import { readCubin } from '../../cubin/read.ts';
import { counted } from '../../ir/counts.ts';
import { type Diagnostic, fileFault } from '../../ir/diagnostic.ts';
import type { Fn, Instr, Program } from '../../ir/program.ts';
import { baseTarget } from '../../ir/target.ts';
import type { Machine } from '../../machine/forms.ts';
import { functionWords } from '../../machine/listing.ts';
import { targetOf } from '../../read.ts';
import { loadMachine } from '../../spec/node-machine.ts';
import { loadSelection } from '../../spec/node-selection.ts';
import type { Plan } from '../../spec/plan.ts';
import { keepInputs, readText, STANDARD_OUTPUT, writeWhole } from '../input/files.ts';
import { planFor, programFor, warnOtherFunctions } from '../input/input.ts';
import type { PlanOptions } from '../input/options.ts';
import { type WatchOptions, watchOf } from '../input/watch.ts';
import { table } from '../terminal/table.ts';
import { CliExit, err, fail, failWith, out, pc, show } from '../terminal/ui.ts';
import { codeLines } from './disasm-text.ts';
import { findingsOf, kernelsOf } from './machine-findings.ts';
import type { Finding } from './verify-finding.ts';

/** Options for the pipeline of a file. */
export interface CodeOptions extends PlanOptions, WatchOptions {
  readonly verifyEach?: boolean;
  /** True: tables of lines also where PTX does not name its source. */
  readonly lineinfo?: boolean;
}

export interface AsmOptions extends CodeOptions {
  readonly output?: string;
  readonly check?: boolean;
  readonly json?: boolean;
  readonly quiet?: boolean;
}

/** Machine code of a file, and what it was made of. */
export interface MadeCode {
  readonly plan: Plan;
  readonly machine: Machine;
  /** The program before optimization. */
  readonly program: Program;
  readonly kernels: readonly { readonly fn: Fn; readonly code: KernelResult }[];
  readonly cubin: Uint8Array;
}

/** Compiles PTX to a cubin. Faults, and instructions that have no machine code, end the command. */
export async function codeOf(file: string, text: string, o: CodeOptions): Promise<MadeCode> {
  const made = await tryCode(file, text, o);
  return 'faults' in made ? fail(made.faults) : made;
}

/** Compiles PTX to a cubin, or says what has no machine code. Other faults end the command. */
export async function tryCode(
  file: string,
  text: string,
  o: CodeOptions,
): Promise<MadeCode | { readonly faults: readonly Diagnostic[] }> {
  const plan = await planFor({ ...o, recipe: [RECIPE, ...(o.recipe ?? [])] }, targetOf(text));
  const { program, module } = programFor(file, text, plan);
  const none = noTarget(plan.sm);
  const machine = none === null ? await loadMachine(plan.sm) : null;
  if (none !== null || machine === null)
    return lacks(
      file,
      ...[none?.message ?? `the forms of ${plan.sm} are not there`, ...(none?.notes ?? [])],
      'another target: --sm; `orrery opt --ptxas` has ptxas compile for any',
    );
  const selection = await loadSelection();
  const watch = await watchOf(o, plan);
  const late = new Set<string>();
  const { journal, compiled, cubin } = assembled(
    program,
    plan,
    { selection, machine: () => machine },
    {
      snapshots: 'ends',
      // As ptxas does it.
      ...((o.lineinfo === true || program.files.length > 0) && module !== null && { lines: text }),
      verify: o.verifyEach,
      onBegin: watch.onBegin,
      onPhase: (r, before) => {
        watch.onPhase?.(r, before);
        if (isLost(before, r.program)) late.add(r.phase.id);
      },
    },
  );
  for (const id of late)
    show([
      {
        ...fileFault(
          file,
          `the code does not have what phase ${id} did: its instructions were selected before`,
          ['behind the phase that selects instructions, only the order of blocks counts'],
          'after-selection',
        ),
        severity: 'warning',
      },
    ]);
  if (compiled.length === 0)
    return lacks(file, 'it has no kernel', 'machine code is written for kernels and what they inline');
  const lacking = compiled.flatMap((c) =>
    'why' in c ? [missing(file, module === null ? '' : text, c, journal.last)] : [],
  );
  if (cubin === null) return { faults: lacking };
  const kernels = compiled.flatMap((c) => ('why' in c ? [] : [c]));
  return { plan, machine, program, kernels, cubin };
}

const lacks = (file: string, message: string, ...notes: string[]) => ({
  faults: [fileFault(file, message, notes, 'no-machine-code')],
});

/** True if Ori whose instructions are selected has changed, apart from the order of blocks and the branches that follow from it. */
function isLost(before: Program, after: Program): boolean {
  const own = (f: Fn): Set<Instr> =>
    new Set(f.blocks.flatMap((b) => b.ins.filter((i) => i.op.name !== 'BRA')));
  return after.functions.some((fn) => {
    const was = before.functions.find((f) => f.name === fn.name);
    if (was === fn || was?.code === undefined || was.code !== fn.code) return false;
    const [x, y] = [own(was), own(fn)];
    return x.size !== y.size || [...y].some((i) => !x.has(i));
  });
}

/** `orrery asm`: compiles PTX to machine code without ptxas. */
export async function asm(file: string, o: AsmOptions): Promise<void> {
  if (o.output === STANDARD_OUTPUT)
    failWith('a cubin is not written to standard output (-)', '-o names a file');
  const text = readText(file);
  keepInputs([o.output], [file]);
  const { plan, machine, program, kernels: done, cubin } = await codeOf(file, text, o);
  if (o.profile !== undefined)
    warnOtherFunctions(
      o.profile,
      program.functions.map((f) => f.name),
    );
  const sm = baseTarget(plan.sm);
  const elf = readCubin(cubin);
  const found: Finding[] =
    o.check === true
      ? findingsOf(
          [{ name: o.output ?? 'the code', elf, level: null }],
          kernelsOf(program),
          program,
          machine,
          plan,
          {},
        )
      : [];
  if (o.output !== undefined) writeWhole(o.output, cubin);
  const wrong = found.filter((f) => f.verdict === 'different');
  const rows = done.map(({ fn, code }) => ({
    kernel: fn.name,
    instructions: code.instructions,
    bytes: code.code.length,
    registers: code.registers,
    spills: code.spills,
    heldPredicates: code.heldPredicates,
    frameBytes: code.frameBytes,
    sharedBytes: code.sharedBytes,
    barriers: code.barriers,
    check: found.find((f) => f.kernel === fn.name)?.verdict ?? null,
  }));
  if (o.json === true)
    out(
      JSON.stringify(
        { version: 1, file, sm, plan: plan.hash, output: o.output ?? null, kernels: rows },
        null,
        2,
      ),
    );
  else if (o.quiet !== true || o.output === undefined || wrong.length > 0) {
    if (o.output === undefined)
      for (const line of codeLines(functionWords(elf, machine), { machine, vendor: false }, null)) out(line);
    err(
      table(
        [
          ['kernel', 'instructions', 'registers', 'spilled', 'stack', 'shared', 'check'],
          ...rows.map((r) => [
            r.kernel,
            String(r.instructions),
            String(r.registers),
            r.spills === 0 ? '' : String(r.spills),
            r.frameBytes === 0 ? '' : `${r.frameBytes} B`,
            r.sharedBytes === 0 ? '' : `${r.sharedBytes} B`,
            r.check === null ? '' : r.check === 'equal' ? pc.green('equal') : r.check,
          ]),
        ],
        'lrrrrrl',
      ),
    );
    if (o.output !== undefined)
      err(
        `written: ${o.output}, ${counted(cubin.length, 'byte')} for ${sm}; orrery disasm ${o.output} prints it`,
      );
  }
  if (wrong.length > 0) throw new CliExit(1);
}

/** The error for a kernel that has no machine code. @param text the PTX; '' for Ori, which has no such lines */
function missing(
  file: string,
  text: string,
  c: Exclude<Compiled, { code: unknown }>,
  program: Program,
): Diagnostic {
  const line = program.locs[c.loc]?.line ?? 0;
  const source = text.split('\n', line)[line - 1] ?? '';
  return {
    severity: 'error',
    code: 'no-machine-code',
    file,
    line,
    column: source.length - source.trimStart().length + 1,
    length: source.trim().length,
    message: `${c.fn.name}: ${c.why}`,
    notes: ['`orrery opt --ptxas` has ptxas compile the optimized PTX'],
  };
}
