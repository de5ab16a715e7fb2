import { existsSync } from 'node:fs';
import pc from 'picocolors';
import { type Diagnostic, DiagnosticError } from '../ir/diagnostic.ts';
import { parseProgram } from '../ir/text.ts';
import { verifyMessage, verifyProgram } from '../ir/verify.ts';
import { buildIsa } from '../isa/build.ts';
import { checkMeaning } from '../isa/lang/check.ts';
import { checkPtx } from '../ptx/check.ts';
import { parsePtx } from '../ptx/parse.ts';
import { loadLaunch } from '../spec/launch.ts';
import { loadShipped, loadSpec, makePlan } from '../spec/node.ts';
import { passNames } from './input.ts';
import { CliExit, out, readTextOrFail, show } from './ui.ts';

/** `orrery check`: every fault of every file, and exit code 1 if there is any error. */
export async function check(files: readonly string[], o: { json?: boolean }): Promise<void> {
  const all: Diagnostic[] = [];
  for (const file of files) {
    const found = await checkOne(file);
    all.push(...found);
    if (o.json !== true) {
      show(found);
      const errors = found.filter((d) => d.severity === 'error').length;
      out(
        `${errors > 0 ? pc.red('bad ') : pc.green('good')}  ${file}${found.length > errors ? `  ${found.length - errors} warnings` : ''}`,
      );
    }
  }
  if (o.json === true) out(JSON.stringify(all, null, 2));
  if (all.some((d) => d.severity === 'error')) throw new CliExit(1);
}

const plain = (file: string, message: string, notes: readonly string[] = []): Diagnostic => ({
  severity: 'error',
  code: 'file',
  message,
  file,
  line: 0,
  column: 0,
  length: 0,
  notes,
});

async function checkOne(file: string): Promise<Diagnostic[]> {
  if (!existsSync(file)) return [plain(file, 'there is no such file')];
  if (/\.ya?ml$/.test(file)) return checkSpec(file);
  const text = readTextOrFail(file);
  if (file.endsWith('.ptx')) {
    const { module, diagnostics } = parsePtx(text, file);
    return [...diagnostics, ...checkPtx(module)];
  }
  if (file.endsWith('.ori')) {
    const { isa } = (
      await makePlan(
        { level: 3, sm: 'sm_75', order: 'seed', recipe: null, knobSets: [], set: [], disable: [] },
        passNames,
      )
    ).plan!;
    const { program, diagnostics } = parseProgram(text, isa, file);
    return diagnostics.length > 0
      ? diagnostics
      : verifyProgram(program).map((e) => plain(file, verifyMessage(e)));
  }
  return [plain(file, 'unknown kind of file', ['it ends in .yaml, .ptx or .ori'])];
}

async function checkSpec(file: string): Promise<Diagnostic[]> {
  try {
    const spec = await loadSpec(file);
    if (spec.kind === 'launch') {
      await loadLaunch(file);
      return [];
    }
    const request = {
      level: 3,
      sm: 'sm_80',
      order: 'seed',
      recipe: null as string | null,
      knobSets: [] as string[],
      set: [],
      disable: [],
    };
    const path = file.includes('/') ? file : `./${file}`;
    if (spec.kind === 'isa') {
      const { isa, diagnostics } = buildIsa([{ file: spec.file, data: spec.data }]);
      return [...diagnostics, ...isa.opcodes.flatMap((op) => checkMeaning(op, spec.file))];
    }
    if (spec.kind === 'order') request.order = path;
    if (spec.kind === 'recipe') {
      request.recipe = path;
      request.sm = (spec.data.sm as string[] | undefined)?.[0] ?? request.sm;
    }
    if (spec.kind === 'knob-set') request.knobSets = [path];
    if (spec.kind === 'backend' && typeof spec.data.sm === 'string') request.sm = spec.data.sm;
    // The spec is tried where it is used: in a plan, with the shipped specs around it.
    return (await makePlan(request, passNames, await loadShipped())).diagnostics;
  } catch (e) {
    if (e instanceof DiagnosticError) return [...e.diagnostics];
    throw e;
  }
}
