import { existsSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { barrierFaults } from '../../analysis/synchronization/barrier-use.ts';
import { planOf } from '../../core.ts';
import { host } from '../../engine/pipeline.ts';
import { grouped } from '../../ir/counts.ts';
import { type Diagnostic, DiagnosticError, fileFault, gathered, nearest } from '../../ir/diagnostic.ts';
import type { Isa } from '../../ir/opcode.ts';
import { visible } from '../../ir/quote.ts';
import { parseProgram } from '../../ir/text.ts';
import { verifyMessage, verifyProgram } from '../../ir/verify.ts';
import { buildIsa } from '../../isa/build.ts';
import { faultWarnings, KnownFaults, sitesInPtx } from '../../known-faults.ts';
import { checkMeasured } from '../../lab/exact-metric.ts';
import { loadExperiment } from '../../lab/experiment.ts';
import { filesBelow, seeFound } from '../../lab/files.ts';
import { Plans } from '../../lab/plans.ts';
import { plural } from '../../lab/render/table.ts';
import { checkPtx } from '../../ptx/check.ts';
import { checkPtxTable, type PtxDoc } from '../../ptx/emit/table.ts';
import { readForm } from '../../ptx/forms.ts';
import { loweringFaults } from '../../ptx/lower/by-form.ts';
import { shadowedRows } from '../../ptx/lower/shadowed.ts';
import { parsePtx } from '../../ptx/parse.ts';
import { mostShared, paramBase, readOri, readPtx, targetFor, targetOf } from '../../read.ts';
import { budgetOf } from '../../review/budget.ts';
import { reviewFaults } from '../../review/rule-reviews.ts';
import { rulesOfDoc } from '../../rules/group.ts';
import { REFUTED } from '../../rules/prove/refute.ts';
import { KINDS, type SpecFile, specError } from '../../spec/document.ts';
import { issueDiagnostics } from '../../spec/issue-diagnostics.ts';
import { Issues } from '../../spec/issues.ts';
import { loadShipped, loadSpec, ROOT } from '../../spec/node.ts';
import { checkFile } from '../../spec/node-check.ts';
import { isHeld } from '../../spec/node-held.ts';
import { fitLaunch, loadLaunch } from '../../spec/node-launch.ts';
import type { Plan } from '../../spec/plan.ts';
import { isaDocs } from '../../spec/plan-skeleton.ts';
import { PTXAS_LEVEL, ptxasFaultIssues, ptxasFaults } from '../../spec/ptxas-faults.ts';
import { textOrFault } from '../input/files.ts';
import { planFor } from '../input/input.ts';
import { readVerdicts, verdictFaults } from '../rules/verdicts.ts';
import { CliExit, err, out, pc, show } from '../terminal/ui.ts';

/** Maximum number of faults shown per file; --json has all. */
const MOST_SHOWN = 100;

/**
 * `orrery check`: prints every fault of every file.
 *
 * @throws CliExit with code 1 if there is any error
 */
export async function check(
  names: readonly string[],
  o: { readonly json?: boolean; readonly isa?: readonly string[] },
): Promise<void> {
  const all: Diagnostic[] = [];
  for (const file of new Set(names.flatMap(filesOf))) {
    const found = await checkOne(file, o.isa);
    all.push(...found);
    if (o.json !== true) {
      const merged = gathered(found);
      show(merged.slice(0, MOST_SHOWN));
      if (merged.length > MOST_SHOWN)
        err(`  and ${grouped(merged.length - MOST_SHOWN)} more of ${visible(file)}`);
      const errors = found.filter((d) => d.severity === 'error').length;
      const counts = [
        ...(errors > 0 ? [plural(errors, 'error')] : []),
        ...(found.length > errors ? [plural(found.length - errors, 'warning')] : []),
      ];
      out(
        [errors > 0 ? pc.red('bad ') : pc.green('good'), visible(file), counts.join(', ')]
          .join('  ')
          .trimEnd(),
      );
    }
  }
  if (o.json === true) {
    const of = (severity: Diagnostic['severity']) => all.filter((d) => d.severity === severity);
    out(JSON.stringify({ errors: of('error'), warnings: of('warning') }, null, 2));
  }
  if (all.some((d) => d.severity === 'error')) throw new CliExit(1);
}

/** The file itself, or the files in and below a folder that can be checked; the folder itself if it has none. */
function filesOf(name: string): string[] {
  if (!isFolder(name)) return [name];
  const found = filesBelow(name).filter((f) => {
    if (!/\.(ptx|ori|ya?ml)$/.test(f)) return false;
    seeFound(name, f);
    return !/ml$/.test(f) || isSpec(f);
  });
  return found.length > 0 ? found : [name];
}

const isFolder = (name: string): boolean => statSync(name, { throwIfNoEntry: false })?.isDirectory() === true;

/** Whether a YAML file is meant to be a spec, by its `kind`: folders may contain other YAML files. */
function isSpec(file: string): boolean {
  const text = textOrFault(file);
  const kind =
    typeof text === 'string' ? /^\{?\s*["']?kind["']?\s*:\s*["']?([\w-]+)/m.exec(text)?.[1] : undefined;
  return kind !== undefined && nearest(kind, KINDS).length > 0;
}

/**
 * Faults of a file of any kind and content.
 *
 * @param isa files that declare instructions that PTX may have besides its own
 */
export async function checkOne(file: string, isa: readonly string[] = []): Promise<Diagnostic[]> {
  if (isFolder(file))
    return [
      fileFault('', `there is nothing to check in ${file}`, [
        'of a folder, PTX and Ori files are checked, and YAML files with the `kind` of a spec',
      ]),
    ];
  if (/\.ya?ml$/.test(file) && (existsSync(file) || isHeld(file))) return checkSpec(file);
  const text = textOrFault(file);
  if (typeof text !== 'string') return [fileFault('', text.fault, text.notes)];
  if (file.endsWith('.ptx') || (!file.endsWith('.ori') && /^[^\S\n\r]*\.version\s/m.test(text))) {
    const target = targetOf(text);
    const plan = target === null && isa.length === 0 ? null : await planFor({ isa }, target, undefined, true);
    const { module, diagnostics } = parsePtx(text, file, plan?.isa.declared);
    const found = [...diagnostics, ...checkPtx(module)];
    if (plan === null || found.some((d) => d.severity === 'error')) return found;
    return [...found, ...(await shapesOf(text, file, plan, target))];
  }
  if (file.endsWith('.ori')) {
    const isa = await shippedIsa();
    const { program, diagnostics } = parseProgram(text, isa, file);
    return diagnostics.length > 0
      ? diagnostics
      : [...verifyProgram(program), ...program.functions.flatMap(barrierFaults)].map((e) =>
          fileFault(file, verifyMessage(e)),
        );
  }
  return [fileFault(file, 'unknown kind of file', ['it ends in .yaml, .ptx or .ori, or carries PTX'])];
}

/** Warnings about shapes that ptxas miscompiles, for the target that the PTX names. */
async function shapesOf(
  text: string,
  file: string,
  plan: Plan,
  target: string | null,
): Promise<Diagnostic[]> {
  if (target === null) return [];
  const faults = KnownFaults.of(await loadShipped(), plan.isa, target, PTXAS_LEVEL);
  if (faults === null) return [];
  const sites = sitesInPtx(text, faults, { isa: plan.isa, paramBase: paramBase(plan), sm: plan.sm });
  return faultWarnings(sites, file, text, ['`orrery opt --emit ptx` writes it so that ptxas gets it right']);
}

async function shippedIsa(): Promise<Isa> {
  return buildIsa(isaDocs(await loadShipped())).isa;
}

/** Checks a table of PTX forms against the shipped instruction set, and for rows that are shadowed. */
async function ptxFaults(spec: SpecFile): Promise<Diagnostic[]> {
  const doc = spec.data as unknown as PtxDoc;
  const faults = checkPtxTable(doc, await shippedIsa());
  if (faults.length > 0) return faults.map((m) => fileFault(spec.file, m));
  const { isa } = buildIsa(isaDocs({ ...(await loadShipped()), ptx: spec }));
  const unread = loweringFaults(isa);
  if (unread.length > 0)
    return unread.map((f) => specError(spec, ['lowering', 'rows', f.row, 'ori'], 'ptx-lowering', f.message));
  return shadowedRows(isa).map(({ row, form, by }) => {
    const rows = doc.opcodes[row.op.name];
    const place = rows.findIndex((r) => r.both === true && r.ptx === row.ptx && r.src === row.src);
    return specError(
      spec,
      ['opcodes', row.op.name, Math.max(0, place), 'both'],
      'ptx-shadowed',
      `${row.op.name} is never made of '${form}': its lowering comes first`,
      {
        notes: [by === null ? 'a handler in src/ptx/lower has the form' : `the row '${by.ptx}' has the form`],
      },
    );
  });
}

/** Forms of PTX instructions that cannot be parsed, each at its line. */
function syntaxFaults(spec: SpecFile): Diagnostic[] {
  const { sets, instructions } = spec.data as {
    sets: Readonly<Record<string, string>>;
    instructions: Readonly<Record<string, readonly string[]>>;
  };
  return Object.entries(instructions).flatMap(([opcode, forms]) =>
    forms.flatMap((form, k) => {
      try {
        readForm(form, sets);
        return [];
      } catch (e) {
        return [specError(spec, ['instructions', opcode, k], 'ptx-syntax', (e as Error).message)];
      }
    }),
  );
}

/** Checks that names in an experiment exist in the shipped specs and that its base resolves to a plan, or that a budget names metrics. */
async function labFaults(file: string, spec: SpecFile): Promise<Diagnostic[]> {
  try {
    if (spec.kind === 'budget') {
      await budgetOf(spec);
      return [];
    }
    const specs = await loadShipped();
    const { base } = await loadExperiment(file, specs);
    const { diagnostics } = await new Plans(base, Promise.resolve(specs)).tryPlan({ name: 'base' }, null);
    return diagnostics.filter((d) => d.severity === 'error');
  } catch (e) {
    if (!(e instanceof DiagnosticError)) throw e;
    return [...e.diagnostics];
  }
}

/** Checks a launch against its module, as `orrery run` does; also reports faults of the module itself. */
async function launchFaults(file: string): Promise<Diagnostic[]> {
  try {
    const launch = await loadLaunch(file, true);
    const text = textOrFault(launch.modulePath);
    if (typeof text !== 'string')
      return [specError(launch.spec, ['module'], 'launch-module', text.fault, { notes: text.notes })];
    const specs = await loadShipped();
    const plan = planOf(specs, { sm: targetFor(specs, targetOf(text) ?? 'sm_75').sm });
    const read = launch.modulePath.endsWith('.ori') ? readOri : readPtx;
    await fitLaunch(launch, read(text, plan, launch.modulePath).program, mostShared(plan));
    return [];
  } catch (e) {
    if (!(e instanceof DiagnosticError)) throw e;
    return [...e.diagnostics];
  }
}

/** Checks that reviews match the shipped rules as they are now. */
async function reviewIssues(spec: SpecFile): Promise<Diagnostic[]> {
  const specs = await loadShipped();
  const isa = await shippedIsa();
  const rules = [...(specs.rules?.values() ?? [])].flatMap((f) => rulesOfDoc(f.data, isa, 'texts').rules);
  return issueDiagnostics(reviewFaults(spec, rules, readVerdicts()));
}

/** Checks that the entries of ptxas faults name existing rules and targets of the shipped specs, and inputs in the repository. */
async function faultFaults(spec: SpecFile): Promise<Diagnostic[]> {
  const missing = ptxasFaults(spec).flatMap((f, at) =>
    existsSync(join(ROOT, f.input))
      ? []
      : [specError(spec, ['faults', at, 'input'], 'fault-input', `there is no file ${f.input}`)],
  );
  return [...issueDiagnostics(ptxasFaultIssues(spec, await loadShipped())), ...missing];
}

/** Faults from stored verdicts, in addition to the rules that sampled values have refuted. */
async function verdictsBeside(errors: readonly Diagnostic[], spec: SpecFile): Promise<Diagnostic[]> {
  const known = verdictFaults(spec, await shippedIsa());
  if (errors.length === 0) return known;
  return known.filter(
    (d) => d.severity === 'error' && !errors.some((e) => e.line === d.line && e.column === d.column),
  );
}

/** Checks a spec in the context where it is used: in plans, with the shipped specs around it, including the meanings of opcodes. */
async function checkSpec(file: string): Promise<Diagnostic[]> {
  const found = await checkFile(file, host);
  const errors = found.filter((d) => d.severity === 'error');
  if (errors.some((d) => d.code !== REFUTED)) return found;
  const spec = await loadSpec(file);
  if (spec.kind === 'rules') return [...found, ...(await verdictsBeside(errors, spec))];
  if (errors.length > 0) return found;
  if (spec.kind === 'experiment' || spec.kind === 'budget')
    return [...found, ...(await labFaults(file, spec))];
  if (spec.kind === 'recipe') {
    const issues = new Issues();
    checkMeasured(spec, issues);
    return [...found, ...issueDiagnostics(issues.list)];
  }
  if (spec.kind === 'launch') return [...found, ...(await launchFaults(file))];
  if (spec.kind === 'reviews') return [...found, ...(await reviewIssues(spec))];
  if (spec.kind === 'ptxas-faults') return [...found, ...(await faultFaults(spec))];
  if (spec.kind === 'ptx') return [...found, ...(await ptxFaults(spec))];
  return spec.kind === 'ptx-syntax' ? [...found, ...syntaxFaults(spec)] : found;
}
