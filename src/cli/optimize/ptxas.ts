import { spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { targetName } from '../../cubin/functions.ts';
import { runPipeline } from '../../engine/pipeline.ts';
import { DiagnosticError } from '../../ir/diagnostic.ts';
import { fileWord, visible } from '../../ir/quote.ts';
import { baseTarget } from '../../ir/target.ts';
import type { Avoided } from '../../known-faults.ts';
import { wrapped } from '../../lab/render/table.ts';
import { targetOf } from '../../read.ts';
import { readRegular, reason } from '../../spec/node-files.ts';
import { PTXAS_LEVEL } from '../../spec/ptxas-faults.ts';
import { seeOutput, writeWhole } from '../input/files.ts';
import { planFor, programFor } from '../input/input.ts';
import type { PlanOptions } from '../input/options.ts';
import { roomFault } from '../input/room.ts';
import { CliExit, err, failWith, out, outExactly, USUAL_COLUMNS } from '../terminal/ui.ts';
import { ptxOf } from './emit.ts';
import { FALLBACKS, fallbackPlan, limitLoss, percentOf, retreatText } from './max-loss.ts';
import {
  bytesFor,
  fileOf,
  filesIn,
  optionsIn,
  optionValue,
  outputOf,
  withOptionsFiles,
  withoutOutputWarning,
  writingTo,
} from './ptxas-options.ts';
import { assemble, ptxasCommand, ptxasPresent, takenApart } from './ptxas-run.ts';

/** Our options among those of ptxas. */
interface Ours {
  readonly order?: string;
  readonly recipe: readonly string[];
  readonly knobs: readonly string[];
  readonly set: readonly string[];
  /** Percentage of `--orrery-max-loss`. */
  readonly maxLoss: number | null;
  readonly own: boolean;
  readonly strict: boolean;
  readonly verbose: boolean;
  readonly verify: boolean;
}

/** Our options that take a value, with the name of the value and a description. */
const VALUE_OPTIONS: Readonly<Record<string, readonly [value: string, does: string]>> = {
  order: ['<name|file>', 'phase order (default: binary)'],
  recipe: ['<name|file>', 'recipe to apply (repeatable)'],
  knobs: ['<name|file>', 'knob set to apply (repeatable)'],
  set: ['<NAME=VALUE>', 'set one knob (repeatable)'],
  'max-loss': [
    '<percent>',
    'a kernel that needs this much more code or registers than in the input, or more spills, is optimized less, or kept unchanged',
  ],
};
/** Our options without a value, with a description. */
const FLAG_OPTIONS: Readonly<Record<string, string>> = {
  own:
    'make the machine code here, without ptxas; where an instruction or an option has no machine code here yet, ptxas makes it, and a ' +
    'warning says why',
  strict: 'a failure on our side is an error; by default the input is then used as it came, with a warning',
  verbose: 'say which plan was run, and of what',
  verify:
    'compare the machine code with the input as it came; code that does something else is removed, and the exit code is 1',
};
const VALUES = Object.keys(VALUE_OPTIONS);
const FLAGS = Object.keys(FLAG_OPTIONS);
/** Width of the option column in the help. */
const OPTION = 34;

/** Our own options, for `orrery ptxas --help`. */
function help(): string {
  const rows = [
    ...Object.entries(VALUE_OPTIONS).map(([name, [value, does]]) => [`--orrery-${name} ${value}`, does]),
    ...Object.entries(FLAG_OPTIONS).map(([name, does]) => [`--orrery-${name}`, does]),
  ];
  const width = process.stdout.columns || USUAL_COLUMNS;
  const lines = rows.flatMap(([option, does]) =>
    wrapped(does, width - OPTION).map((l, i) => `${(i === 0 ? `  ${option}` : '').padEnd(OPTION)}${l}`),
  );
  return [
    'Usage: orrery ptxas [options] <ptx file>,...',
    '',
    ...wrapped(
      'Optimizes every PTX input, then runs the real ptxas with the same options: a drop-in for it. What ORRERY_PTXAS_FLAGS holds ' +
        'comes before what is given here; ORRERY_PTXAS names the ptxas to run.',
      width,
    ),
    '',
    'Options of orrery:',
    ...lines,
    '',
    `Options of ${ptxasCommand()}:`,
  ].join('\n');
}

/**
 * `orrery ptxas`: optimizes every PTX input, then runs the real ptxas with the given options. If anything on our side fails, the unmodified
 * input is used and a warning says so, unless `--orrery-strict` is given.
 */
export async function ptxas(argv: readonly string[]): Promise<void> {
  const { ours, theirs } = split([
    ...(process.env.ORRERY_PTXAS_FLAGS ?? '').split(/\s+/).filter(Boolean),
    ...argv,
  ]);
  if (theirs.some((a) => a === '--help' || a === '-h')) {
    out(help());
    // Without ptxas, only our own options can be listed.
    if (ptxasPresent()) run(theirs, 'show');
    else out(`  '${ptxasCommand()}' cannot be run`);
    return;
  }
  const files = inputs(theirs);
  const all = withOptionsFiles(theirs);
  const output = outputOf(all);
  const written = seeOutput(output, filesIn(all));
  const dir = mkdtempSync(join(tmpdir(), 'orrery-ptxas-'));
  try {
    // What stands in files of others may name an output, by links and for ptxas alone: it writes here, and its result is placed by us.
    const made = join(dir, 'made.cubin');
    const args = [...theirs];
    let changed = 0;
    if (ours.own) {
      const done = await ownOutput(theirs, files, ours, made, output);
      if (done) return writeWhole(output, readFileSync(made));
    }
    const trial = trialOptions(theirs, files);
    for (const [k, file] of files) {
      const text = await optimized(file, all, ours, trial);
      if (text === null) continue;
      // Each input gets its own folder, so that messages keep the file name and equal names do not collide.
      const at = join(mkdtempSync(join(dir, 'in-')), basename(file));
      writeFileSync(at, text);
      args[k] = at;
      changed++;
    }
    const ran = (given: readonly string[], show: boolean) => {
      rmSync(made, { force: true });
      return run(writingTo(made, given), show ? 'show' : 'keep');
    };
    const verified = async (r: { status: number }, last: boolean): Promise<boolean> =>
      r.status !== 0 || !ours.verify || (await rightCode(theirs, files, made, output, last));
    const place = (r: { status: number }): void => {
      if (r.status === 0 && existsSync(made)) writeWhole(output, readFileSync(made));
      end(r);
    };
    if (changed === 0) {
      const r = ran(theirs, true);
      await verified(r, true);
      return place(r);
    }
    const r = ran(args, ours.strict);
    if (r.status === 0 && (await verified(r, ours.strict))) return place(r);
    if (ours.strict) return end(r);
    const again = ran(theirs, true);
    if (again.status === 0 && r.status === 0)
      warn('the machine code of the optimized input does something else, the unmodified one was used');
    else if (again.status === 0) {
      warn('ptxas refuses the optimized input, the unmodified one was used:');
      err(r.output);
    }
    await verified(again, true);
    place(again);
  } finally {
    written();
    rmSync(dir, { recursive: true, force: true });
  }
}

/** Prints a one-line message among those of ptxas, with quoted names escaped. */
const say = (message: string): void => err(`orrery: ${visible(message)}`);
const warn = (message: string): void => say(`warning: ${message}`);

/**
 * Makes the machine code here; a warning says why it cannot be, which with `--orrery-strict` is an error.
 *
 * @param made where it goes until it is known to be right
 * @returns false if ptxas has to make it
 */
async function ownOutput(
  args: readonly string[],
  files: readonly [number, string][],
  ours: Ours,
  made: string,
  output: string,
): Promise<boolean> {
  const { ownCode } = await import('./ptxas-own.ts');
  const own = await attempt(async () =>
    ownCode(
      args,
      files.map(([, file]) => ({ file, text: textOf(file) })),
      planOptions(args, ours),
    ),
  );
  const [name = 'the input'] = files.map(([, file]) => file);
  const refuse = (why: string): false =>
    ours.strict ? failWith(`${name} has no machine code from here: ${why}`) : refused(name, why);
  if (typeof own === 'string') return refuse(own);
  writeFileSync(made, own.cubin);
  if (ours.verify && !(await rightCode(args, files, made, output, ours.strict, 'here')))
    return refused(name, 'the code that was made here does something else');
  if (ours.verbose) say(`${name}: the machine code is made here`);
  if (optionsIn(args).options.some(({ name }) => name === '-v' || name === '--verbose'))
    for (const line of own.uses) err(`orrery info    : ${visible(line)}`);
  return true;
}

function refused(name: string, why: string): false {
  warn(`${name}: ptxas makes the machine code: ${why}`);
  return false;
}

/** The text of an input, which must not be larger than can be compiled. */
function textOf(file: string): string {
  const text = readRegular(file, 'input').toString();
  const cramped = roomFault(text, undefined, 'optimize');
  if (cramped !== null) throw new Error(cramped.fault);
  return text;
}

/** What options of ptxas, and ours, say of the plan. */
function planOptions(args: readonly string[], ours: Ours): PlanOptions {
  const arch = /sm_\d+/.exec(optionValue(args, ['-arch', '--gpu-name']) ?? '')?.[0];
  return {
    level: levelOf(args),
    order: ours.order,
    recipe: ours.recipe,
    knobs: ours.knobs,
    set: ours.set,
    ...(arch === undefined ? {} : { sm: arch }),
  };
}

/** What a function gives; a string says why it failed. */
async function attempt<T>(make: () => Promise<T>): Promise<T | string> {
  try {
    return await make();
  } catch (e) {
    if (e instanceof CliExit) return 'see above';
    if (e instanceof DiagnosticError) return `line ${e.diagnostics[0].line}: ${e.diagnostics[0].message}`;
    return e instanceof Error ? e.message : String(e);
  }
}

/** The level that is passed to ptxas, or its default. */
const levelOf = (args: readonly string[]): string =>
  optionValue(args, ['-O', '--opt-level']) ?? String(PTXAS_LEVEL);

/**
 * Whether the machine code behaves like the unmodified inputs; warns about kernels that cannot be compared.
 *
 * @param made where ptxas has written
 * @param output where the result belongs
 * @param last whether different code is removed and ends the command
 * @param by who has made it
 */
async function rightCode(
  args: readonly string[],
  files: readonly [number, string][],
  made: string,
  output: string,
  last: boolean,
  by: 'ptxas' | 'here' = 'ptxas',
): Promise<boolean> {
  if (!existsSync(made)) {
    warn(`ptxas has not written ${output}, so nothing is compared`);
    return true;
  }
  const { differenceText, machineFindings } = await import('../machine/machine-findings.ts');
  const elf = takenApart(readFileSync(made), output);
  const target = typeof elf === 'string' ? null : targetName(elf);
  for (const [, file] of files) {
    const text = readRegular(file, 'input').toString();
    const plan = await planFor({ sm: target === null ? undefined : baseTarget(target) }, targetOf(text));
    const found = await machineFindings(elf, output, programFor(file, text, plan).program, plan);
    const wrong = found.find((f) => f.verdict === 'different');
    if (wrong !== undefined) {
      if (!last) return false;
      // What an earlier run has left would be taken for its result.
      const there = fileOf(output)?.isFile() === true;
      if (there) rmSync(output, { force: true });
      const how = `-O ${levelOf(args)} --sm ${target}`;
      failWith(
        `${file}: the machine code of '${wrong.kernel}' ${differenceText(wrong)}: ${wrong.why}`,
        `${output} is ${there ? 'removed' : 'not written'}`,
        by === 'here'
          ? `\`orrery asm ${fileWord(file)} ${how} --check\` shows it again`
          : `\`orrery verify ${fileWord(file)} --ptxas ${how}\` says whether ptxas does so of the input as it came`,
      );
    }
    for (const f of found.filter((x) => x.verdict === 'not compared'))
      warn(`${file}: '${f.kernel}' is not compared: ${f.why}`);
  }
  return true;
}

/** Separates `--orrery-NAME[=VALUE]` from the options for ptxas. */
function split(argv: readonly string[]): { ours: Ours; theirs: readonly string[] } {
  const given: Record<string, string[]> = {
    order: [],
    recipe: [],
    knobs: [],
    set: [],
    'max-loss': [],
    own: [],
    strict: [],
    verbose: [],
    verify: [],
  };
  const theirs: string[] = [];
  for (let k = 0; k < argv.length; k++) {
    const m = /^--orrery-([a-z-]+)(?:=(.*))?$/s.exec(argv[k]);
    if (m === null) {
      theirs.push(argv[k]);
      continue;
    }
    const name = m[1];
    if (VALUES.includes(name))
      given[name].push(m[2] ?? argv[++k] ?? failWith(`--orrery-${name} needs a value`));
    else if (FLAGS.includes(name)) given[name].push('');
    else
      failWith(
        `there is no option --orrery-${name}`,
        `they are ${[...VALUES, ...FLAGS].map((n) => `--orrery-${n}`).join(', ')}`,
      );
  }
  const loss = given['max-loss'].at(-1);
  if (loss !== undefined && given.own.length > 0)
    failWith('--orrery-max-loss compares code of ptxas, which --orrery-own does without', 'give one of them');
  const ours: Ours = {
    order: given.order.at(-1),
    recipe: given.recipe,
    knobs: given.knobs,
    set: given.set,
    maxLoss: loss === undefined ? null : percentOf(loss, '--orrery-max-loss'),
    own: given.own.length > 0,
    strict: given.strict.length > 0,
    verbose: given.verbose.length > 0,
    verify: given.verify.length > 0,
  };
  return { ours, theirs };
}

/** Positions of the arguments that are PTX files: readable, not the value of an option, and containing `.version`. */
function inputs(args: readonly string[]): [number, string][] {
  const out: [number, string][] = [];
  for (const [k, a] of args.entries()) {
    if (
      a.startsWith('-') ||
      /^(-o|--output-file|-optf|--options-file|-ias|--input-as-string)$/.test(args[k - 1] ?? '')
    )
      continue;
    const seen = fileOf(a);
    if (seen?.isFIFO()) warn(`${a} is a pipe, which can be read once, so it is not optimized`);
    else if (/^[^\S\n\r\u2028\u2029]*\.version\s/m.test(bytesFor(a)?.toString('latin1') ?? ''))
      out.push([k, a]);
  }
  return out;
}

/**
 * Options for a trial run on one file: without those that name other inputs and outputs. Null if ptxas also reads a pipe, which a trial
 * would drain.
 */
function trialOptions(args: readonly string[], files: readonly [number, string][]): string[] | null {
  if (args.some((a) => fileOf(a)?.isFIFO())) return null;
  const read = new Set(files.map(([k]) => k));
  return args.filter(
    (a, k) =>
      !read.has(k) && !/^(-o|--output-file)(=|$)/.test(a) && !/^(-o|--output-file)$/.test(args[k - 1] ?? ''),
  );
}

/**
 * The optimized text of a file; null if the file is to be used unchanged.
 *
 * @param trial options for a trial run of ptxas; null: none is possible
 */
async function optimized(
  file: string,
  args: readonly string[],
  ours: Ours,
  trial: readonly string[] | null,
): Promise<string | null> {
  if (args.some((a) => /^(-g|--device-debug)$/.test(a))) {
    warn(`${file} is for a debugger (-g), so it is not optimized`);
    return null;
  }
  const make = async (): Promise<{ readonly text: string }> => {
    const text = textOf(file);
    const options = planOptions(args, ours);
    const plan = await planFor(options, targetOf(text));
    const { program, module } = programFor(file, text, plan, ours.strict);
    const journal = runPipeline(program, plan);
    if (ours.verbose) say(`${file}: -O${plan.level} ${plan.sm}, order ${plan.order}, plan ${plan.hash}`);
    const how = { strict: ours.strict, file, onFaults: ours.verbose ? sayAvoided(file) : undefined };
    if (ours.maxLoss === null || trial === null)
      return { text: await ptxOf(journal.last, module, plan, how) };
    const {
      program: made,
      keep,
      retreats,
    } = await limitLoss({
      text,
      input: program,
      made: journal.last,
      makeWith: async (recipe) =>
        runPipeline(program, await fallbackPlan(options, recipe, text), { snapshots: 'ends' }).last,
      fallbacks: FALLBACKS,
      write: (p, keep) => ptxOf(p, module, plan, { keep, quiet: true }),
      assemble: (t) => assemble(t, trial),
      percent: ours.maxLoss,
    });
    if (ours.verbose) for (const r of retreats) say(`${file}: ${retreatText(r)}`);
    return { text: await ptxOf(made, module, plan, { ...how, keep }) };
  };
  if (ours.strict) return (await make()).text;
  const made = await attempt(make);
  if (typeof made !== 'string') return made.text;
  warn(`${file} is used unmodified: ${made}`);
  return null;
}

/** Reports which faults of ptxas are avoided. */
const sayAvoided =
  (file: string) =>
  ({ found }: Avoided): void => {
    for (const name of new Set(found.map((s) => s.fault.name))) say(`${file}: avoids ${name}`);
  };

/** Runs the real ptxas; its output is printed, or kept if it fails and `how` is 'keep'. */
function run(args: readonly string[], how: 'show' | 'keep'): { status: number; output: string } {
  const r = spawnSync(ptxasCommand(), args, {
    stdio: ['inherit', 'pipe', 'pipe'],
    encoding: 'utf8',
    maxBuffer: 1 << 28,
  });
  if (r.error !== undefined)
    failWith(
      `'${ptxasCommand()}' cannot be run: ${reason(r.error)}`,
      'put the ptxas of a CUDA toolkit on PATH, or name it in ORRERY_PTXAS',
    );
  const status = r.status ?? 1;
  const [stdout, stderr] = [r.stdout, r.stderr].map(withoutOutputWarning);
  if (how === 'show' || status === 0) {
    // It quotes names of files and of PTX unescaped.
    if (stdout !== '') outExactly(stdout);
    if (stderr !== '') err(stderr);
  }
  return { status, output: how === 'show' ? '' : `${stdout}${stderr}` };
}

function end(r: { status: number }): void {
  if (r.status !== 0) throw new CliExit(r.status);
}
