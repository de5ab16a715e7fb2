import { getHeapStatistics } from 'node:v8';
import { LineHistory } from '../../debug/line-history.ts';
import { now } from '../../engine/clock.ts';
import { timesPhases } from '../../engine/dumps.ts';
import { countInstructions, type Journal } from '../../engine/journal.ts';
import { type PipelineOptions, runPipeline } from '../../engine/pipeline.ts';
import type { RecipeManager } from '../../engine/recipe-manager.ts';
import { summaryLines } from '../../engine/report.ts';
import type { RewriteLimit } from '../../engine/rewrites.ts';
import { type Span, traceOf } from '../../engine/trace-events.ts';
import { grouped } from '../../ir/counts.ts';
import type { Diagnostic } from '../../ir/diagnostic.ts';
import type { Remark } from '../../ir/pass.ts';
import type { Program } from '../../ir/program.ts';
import { printProgram } from '../../ir/text.ts';
import type { Avoided } from '../../known-faults.ts';
import { wrapped } from '../../lab/render/table.ts';
import { targetOf } from '../../read.ts';
import type { Plan } from '../../spec/plan.ts';
import type { Check, Verdict } from '../check/checks.ts';
import type { Step } from '../check/proof.ts';
import { keepInputs, STANDARD_INPUT, STANDARD_OUTPUT, writeWhole } from '../input/files.ts';
import {
  functionsOf,
  type Input,
  planFor,
  programFor,
  readText,
  warnNewerTarget,
  warnOtherConditions,
  warnOtherVersions,
} from '../input/input.ts';
import { roomFault } from '../input/room.ts';
import { placeOf, watchOf } from '../input/watch.ts';
import {
  columnsOf,
  duration,
  err,
  failWith,
  out,
  outExactly,
  pc,
  pcErr,
  show,
  uncoloured,
} from '../terminal/ui.ts';
import type { UsePair } from './compare-ptxas.ts';
import type { PtxHow } from './emit.ts';
import { type Limited, percentOf } from './max-loss.ts';
import { emitOf } from './opt-emit.ts';
import type { Optimized, OptOptions } from './opt-options.ts';
import { changedPhases, classTable, journalJson, lineText } from './report.ts';

/** Parses `--rewrite-limit PHASE=N`. */
function limitOf(
  text: string | undefined,
  plan: Plan,
  file: string,
  program: Program,
): RewriteLimit | undefined {
  if (text === undefined) return undefined;
  const m = /^([^:=]+)(?::([^=]+))?=(\d+)$/.exec(text);
  if (m === null)
    failWith(
      `--rewrite-limit ${text} names no phase and number`,
      '`--rewrite-limit GeneralOptimize=12` lets that phase make 12, `GeneralOptimize:saxpy=12` 12 in that function',
    );
  const phase = plan.phases[placeOf(plan, m[1])];
  if (m[2] !== undefined) functionsOf(file, program, m[2]);
  return { phase: phase.id, fn: m[2] ?? null, count: Number(m[3]) };
}

/** The first and the last phase to run, by id; undefined for the ends of the plan. */
function rangeOf(o: OptOptions, plan: Plan): { startAt: string | undefined; until: string | undefined } {
  const at = (name: string | undefined) => (name === undefined ? undefined : placeOf(plan, name));
  const [first, last] = [at(o.startAt), at(o.until)];
  if (first !== undefined && last !== undefined && first > last)
    failWith(
      `--until ${plan.phases[last].id} (position ${last}) stands before --start-at ${plan.phases[first].id} (position ${first})`,
    );
  const idOf = (k: number | undefined) => (k === undefined ? undefined : plan.phases[k].id);
  return { startAt: idOf(first), until: idOf(last) };
}

/**
 * Optimizes one file and writes the requested outputs.
 *
 * @param detailed whether to print the account of the phases on standard error
 * @param planOf makes the plan for a target
 * @param recipes shares decisions about recipes with other files
 */
export async function optimize(
  file: string,
  o: OptOptions,
  detailed: boolean,
  planOf: (target: string | null) => Promise<Plan> = (target) => planFor(o, target),
  recipes?: RecipeManager,
): Promise<Optimized> {
  const emit = emitOf(o);
  for (const how of o.check ?? []) (await import('../check/checks.ts')).checkWord(how);
  const spans: Span[] = [];
  const text = readText(file);
  const cramped = roomFault(text, undefined, 'optimize');
  if (cramped !== null) failWith(`cannot optimize ${file}: ${cramped.fault}`, ...cramped.notes);
  const plan = await timed(spans, 'plan', () => planOf(targetOf(text)));
  keepInputs([o.output, o.traceEvents]);
  const range = rangeOf(o, plan);
  const watch = await watchOf(o, plan);
  const input = await timed(spans, 'read', () => programFor(file, text, plan, o.strict));
  if (o.profile !== undefined) warnOtherVersions(o.profile, input.program);
  if (detailed) {
    warnOtherConditions(file, plan, input.program);
    if (o.sm !== undefined) warnNewerTarget(file, plan, input.module, o.retarget === true);
  }
  const memory = o.stat === true || o.traceEvents !== undefined || emit === 'json';
  const steps: Step[] = [];
  const proves = o.check?.includes('prove') === true;
  const lines = o.why === undefined ? null : await import('../plan/why.ts');
  const history = lines && new LineHistory(input.program, lines.locsOf(input.program, o.why!));
  const disk =
    o.cache === undefined && o.cacheLimit === undefined ? undefined : (await import('./cache.ts')).cacheOf(o);
  const part = {
    ...range,
    rewriteLimit: limitOf(o.rewriteLimit, plan, file, input.program),
  };
  const journal = runPipeline(input.program, plan, {
    // Rewrites of a phase whose result comes from the cache are not known.
    cache: history !== null ? undefined : disk?.shelf(input.key, plan.isa),
    inputKey: disk && input.key,
    recipes,
    verify: o.verifyEach,
    ...part,
    heap: memory || timesPhases(plan) ? () => getHeapStatistics().used_heap_size : undefined,
    memory,
    snapshots: o.checkEach === true || proves ? 'all' : 'ends',
    onBegin: watch.onBegin,
    onRewrite: history?.rewrite,
    onPhase: (r, before) => {
      watch.onPhase?.(r, before);
      history?.phase(r, before);
      if ((o.checkEach === true || proves) && r.program !== before) steps.push({ record: r, before });
    },
  });
  if (timesPhases(plan)) for (const line of summaryLines(journal)) err(line);
  if (o.quiet !== true) show(adviceOf(file, text, input.module !== null, journal));
  const limited =
    o.maxLoss === undefined
      ? null
      : await timed(spans, 'max-loss', () => limitedLoss(text, input, journal.last, plan, o, part));
  const result = limited?.program ?? journal.last;
  let faults: Avoided | null = null;
  const onFaults = (a: Avoided): void => void (faults = a);
  const byMachine = o.check?.includes('machine') === true;
  const writes = emit === 'ptx' || o.ptxas === true || byMachine;
  const ptx = writes
    ? await timed(spans, 'write PTX', () =>
        ptxText(result, input, plan, o, { keep: limited?.keep, file: o.output, onFaults }),
      )
    : '';
  const { shapesOf } = await import('../machine/fault-shapes.ts');
  const shapes = await shapesOf(file, text, input, plan, faults);
  if (o.quiet !== true) {
    show(shapes.warnings);
    for (const note of shapes.notes) err(note);
  }
  const checks = await checksOf({ file, input, plan, result, ptx, steps, spans }, o);
  const equal = checks.every((c) => c.ok);
  const proof = checks.find((c) => c.proof !== undefined)?.proof;
  const verdicts = checks.map((c) => c.text);
  const found = checks.map(({ ran: _, stopped: __, unrun: ___, ...c }) => ({
    ...c,
    text: uncoloured(c.text),
  }));
  if (emit === 'ori') write(printProgram(journal.last), o.output);
  else if (emit === 'ptx') write(ptx, o.output);
  else if (emit === 'json') write(`${JSON.stringify(journalJson(journal), null, 2)}\n`, o.output);
  const uses = o.ptxas === true ? await timed(spans, 'ptxas', () => usesOf(text, ptx, input, plan, o)) : [];
  if (o.traceEvents !== undefined) writeWhole(o.traceEvents, `${JSON.stringify(traceOf(journal, spans))}\n`);
  if (o.json === true && o.stat === true) printJson((await import('./stat.ts')).statJson(journal, found));
  if (o.json === true && o.ptxas !== true && o.stat !== true && lines === null)
    printJson((await import('./summary-json.ts')).summaryJson(journal, result, found, shapes.rows));
  if (o.json === true && o.ptxas === true)
    printJson({ version: 1, functions: uses, checks: found, ptxasFaults: shapes.rows });
  if (lines !== null) {
    const { functions } = history!;
    if (o.json === true) printJson(lines.whyJson(file, o.why!, input.program, functions, found));
    else {
      const title = lines.titleOf(file, o.why!, input.module === null ? null : text);
      out(lines.whyText(title, input.program, functions));
    }
  }
  await report(journal, o, { file, detailed, beside: lines !== null, verdicts, equal });
  if (o.ptxas === true && o.json !== true) out(`\n${(await import('./compare-ptxas.ts')).usesTable(uses)}`);
  return {
    before: countInstructions(journal.input),
    after: countInstructions(result),
    ms: journal.records.reduce((t, r) => t + r.ms, 0),
    equal: checks.length === 0 ? null : equal,
    ran: leastRun(checks),
    stopped: checks.some((c) => c.stopped === true),
    proof: proof === undefined ? null : { regions: proof.regions, proved: proof.proved },
    unrun: checks.length > 0 && checks.every((c) => c.unrun === true),
    decisions: journal.decisions,
    functions: input.program.functions.map((f) => f.name),
  };
}

const printJson = (data: unknown): void => out(JSON.stringify(data, null, 2));

/** What the checks of a result look at. */
interface Checked {
  readonly file: string;
  readonly input: Input;
  readonly plan: Plan;
  readonly result: Program;
  readonly ptx: string;
  /** Phases that changed something, if they are checked. */
  readonly steps: readonly Step[];
  readonly spans: Span[];
}

/** Runs the checks that were asked for: of the whole result, then of each phase. */
async function checksOf(
  { file, input, plan, result, ptx, steps, spans }: Checked,
  o: OptOptions,
): Promise<Check[]> {
  const checks: Check[] = [];
  for (const how of o.check ?? []) {
    const { checkResult, limitsOf } = await import('../check/checks.ts');
    const verdict = await timed(spans, `check ${how}`, () =>
      how === 'machine'
        ? machineVerdict(ptx, input, plan, o)
        : how === 'prove'
          ? proofVerdict(steps, { file, input: input.program, result, ptx }, plan, o)
          : checkResult(how, input.program, result, ptx, plan, limitsOf(o.checkLimit)),
    );
    checks.push({ check: how, ...verdict });
  }
  let same = 0;
  for (const { record, before } of o.checkEach === true ? steps : []) {
    const check = `after ${record.phase.id}`;
    const { ok, text: found } = await timed(spans, `check ${check}`, async () =>
      (await import('../check/checks.ts')).checkOpen(before, record.program, plan),
    );
    if (ok) same++;
    else checks.push({ check, ok, text: `${check}: ${found}` });
  }
  if (o.checkEach === true)
    checks.push({
      check: 'each',
      ok: same === steps.length,
      text: `${grouped(same)} of ${steps.length} phases that changed something left it equal`,
    });
  return checks;
}

/** Percentage of a program that ran, in the check with the least coverage; null if all checks ran everything. */
function leastRun(checks: readonly Check[]): number | null {
  const ran = checks.flatMap((c) => (c.ran === undefined ? [] : [c.ran]));
  return ran.length === 0 ? null : Math.min(...ran);
}

/** Verdict of `--check prove`: unproved regions, and the written PTX, are compared by running them as with `--check auto`. */
async function proofVerdict(
  steps: readonly Step[],
  { file, input, result, ptx }: { file: string; input: Program; result: Program; ptx: string },
  plan: Plan,
  o: OptOptions,
): Promise<Omit<Check, 'check'>> {
  const { proofText, proveSteps } = await import('../check/proof.ts');
  const { checkResult, limitsOf } = await import('../check/checks.ts');
  const limits = limitsOf(o.checkLimit);
  const found = await proveSteps(steps, plan, limits.milliseconds);
  const { refuted, ...proof } = found;
  const written =
    o.counterexample === undefined || refuted === null
      ? null
      : (await import('../machine/verify-text.ts')).writeLaunch(o.counterexample, file, [
          { launch: refuted },
        ]);
  const proofSummary = proofText(found, written);
  if (refuted !== null) return { ok: false, text: proofSummary, proof };
  if (proof.left.length === 0 && ptx === '') return { ok: true, text: proofSummary, proof, unrun: true };
  const runs = await checkResult('auto', input, result, ptx, plan, limits);
  return { ...runs, text: `${proofSummary}\n${runs.text}`, proof };
}

const ptxText = async (
  program: Program,
  input: Input,
  plan: Plan,
  o: OptOptions,
  how: PtxHow = {},
): Promise<string> => {
  const { ptxOf } = await import('./emit.ts');
  const retarget = o.retarget === true ? plan.sm : null;
  const { strict, lowestVersion } = o;
  return ptxOf(program, input.module, plan, { retarget, strict, lowestVersion, ...how });
};

/** Applies `--max-loss`: gives a program in which no kernel gets much larger than in the input. */
async function limitedLoss(
  text: string,
  input: Input,
  made: Program,
  plan: Plan,
  o: OptOptions,
  part: Pick<PipelineOptions, 'startAt' | 'until' | 'rewriteLimit'>,
): Promise<Limited> {
  const { FALLBACKS, fallbackPlan, limitLoss, retreatText } = await import('./max-loss.ts');
  const { assemble, ptxasLevel } = await import('./ptxas-run.ts');
  const { ptxasNeeded } = await import('./compare-ptxas.ts');
  if (input.module === null)
    failWith('--max-loss compares PTX with PTX', 'the input is Ori text; write it with --emit ptx first');
  ptxasNeeded();
  const options = [`-arch=${archOf(input, plan, o)}`, `-O${ptxasLevel(plan)}`];
  const limited = await limitLoss({
    text:
      o.retarget === true
        ? text.replace(/^([^\S\n\r\u2028\u2029]*\.target\s+)sm_\w+/m, `$1${plan.sm}`)
        : text,
    input: input.program,
    made,
    makeWith: async (recipe) => {
      const less = await fallbackPlan(o, recipe, text);
      return runPipeline(input.program, less, { ...part, verify: o.verifyEach, snapshots: 'ends' }).last;
    },
    fallbacks: FALLBACKS,
    write: (program, keep) => ptxText(program, input, plan, o, { keep, quiet: true }),
    assemble: (t) => assemble(t, options),
    percent: percentOf(o.maxLoss!, '--max-loss'),
  });
  if (o.quiet !== true) for (const r of limited.retreats) err(`note: ${retreatText(r)}`);
  return limited;
}

/** The target for which ptxas assembles. */
const archOf = (input: Input, plan: Plan, o: OptOptions): string =>
  o.sm ?? input.module?.target[0] ?? plan.sm;

/** Compares the input with the code that ptxas generates for the output. */
async function machineVerdict(ptx: string, input: Input, plan: Plan, o: OptOptions): Promise<Verdict> {
  if (input.module === null)
    failWith('--check machine needs PTX', 'the input is Ori text; write it with --emit ptx first');
  (await import('./compare-ptxas.ts')).ptxasNeeded();
  const { checkMachine } = await import('../machine/machine-findings.ts');
  return checkMachine(input.program, ptx, archOf(input, plan, o), plan);
}

/** Resource use of each function before and after, according to ptxas, for the requested target or the one that the file names. */
async function usesOf(
  before: string,
  after: string,
  input: Input,
  plan: Plan,
  o: OptOptions,
): Promise<readonly UsePair[]> {
  if (input.module === null)
    failWith('--ptxas compares PTX with PTX', 'the input is Ori text; write it with --emit ptx first');
  const { comparePtxas } = await import('./compare-ptxas.ts');
  return comparePtxas(before, after, archOf(input, plan, o), plan.level);
}

/** Writes a result: to standard output, or completely to a file. */
function write(text: string, file: string | undefined): void {
  if (file === undefined || file === STANDARD_OUTPUT) return outExactly(text);
  writeWhole(file, text);
}

const KIND_OF_REMARK: Readonly<Record<Remark['kind'], string>> = {
  passed: pc.green('passed'),
  missed: pc.yellow('missed'),
  note: pc.dim('note  '),
  advice: pc.yellow('advice'),
};

/** Advice of phases for the author of the code, at lines of the input if it is PTX. */
function adviceOf(file: string, text: string, isPtx: boolean, journal: Journal): Diagnostic[] {
  const advice = journal.records.flatMap((r) => r.remarks.filter((m) => m.kind === 'advice'));
  if (advice.length === 0) return [];
  const lines = text.split('\n');
  return advice.map((m): Diagnostic => {
    // Locations of Ori text name lines of the PTX that it was lowered from.
    const line = isPtx ? (journal.last.locs[m.loc]?.line ?? 0) : 0;
    const code = lines[line - 1] ?? '';
    return {
      severity: 'warning',
      code: m.name,
      message: `'${m.fn}': ${m.message} (${m.name})`,
      file,
      line,
      column: code.length - code.trimStart().length + 1,
      length: code.trim().length || 1,
      notes: [],
    };
  });
}

/** Options of the account on standard error. */
interface Account {
  readonly file: string;
  /** Whether it is printed, in addition to reports requested by name. */
  readonly detailed: boolean;
  /** Whether it would accompany an answer about one line: then it is omitted. */
  readonly beside: boolean;
  readonly verdicts: readonly string[];
  readonly equal: boolean;
}

/** Prints on standard error the reports that were requested by name, after the account if it is wanted, and the results of checks. */
async function report(journal: Journal, o: OptOptions, a: Account): Promise<void> {
  const named = [
    ...(o.remarks === true ? [remarkLines(journal)] : []),
    ...(o.stat === true && o.json !== true ? [(await import('./stat.ts')).costTable(journal)] : []),
  ].filter((text) => text !== '');
  const whole = a.detailed && (!a.beside || o.stat === true || o.remarks === true);
  const texts = [
    ...(whole ? [accountOf(journal, a.file)] : []),
    ...named,
    ...(a.detailed || !a.equal ? a.verdicts : []),
  ];
  if (texts.length > 0) err(texts.join('\n\n'));
}

/** Instruction counts before and after, and the phases that changed them. */
function accountOf(journal: Journal, file: string): string {
  const { plan } = journal;
  const ran = journal.records.filter((r) => r.outcome === 'ran').length;
  const ms = journal.records.reduce((t, r) => t + r.ms, 0);
  const name = file === STANDARD_INPUT ? '<stdin>' : file;
  const cached = journal.records.filter((r) => r.cached).length;
  const fromCache = cached > 0 ? `, ${cached} of them kept from before` : '';
  const limited = journal.records.find((r) => r.rewrites !== null);
  return [
    `${wrapped(
      `${name}  -O${plan.level} ${plan.sm}, order ${plan.order}, plan ${plan.hash}`,
      columnsOf(process.stderr),
    )
      .join('\n  ')
      .replace(name, () =>
        pcErr.bold(name),
      )}\n${ran} of ${journal.records.length} phases ran in ${duration(ms)}${fromCache}`,
    ...(limited?.rewrites == null
      ? []
      : [
          `${limited.phase.id} made ${grouped(limited.rewrites.made)} rewrites${limited.rewrites.refused ? ', and wanted more' : ', all that it wanted'}`,
        ]),
    classTable(journal.input, journal.last),
    changedPhases(journal, columnsOf(process.stderr)),
  ].join('\n\n');
}

/** One line per remark. */
const remarkLines = (journal: Journal): string =>
  journal.records
    .flatMap((r) =>
      r.remarks.map((m) => {
        const line = lineText(journal.last, m.loc);
        return `${KIND_OF_REMARK[m.kind]} ${r.phase.id} ${m.fn}${m.block >= 0 ? ` BB${m.block}` : ''}${line === '' ? '' : ` ${line}`}: ${m.name}: ${m.message}`;
      }),
    )
    .join('\n');

/** Runs a body and records its duration. */
async function timed<T>(spans: Span[], name: string, body: () => T | Promise<T>): Promise<T> {
  const began = now();
  const result = await body();
  spans.push({ name, began, ms: now() - began });
  return result;
}
