import { counted } from '../ir/counts.ts';
import { type Diagnostic, didYouMean } from '../ir/diagnostic.ts';
import type { PtxFunction, PtxModule, Span, VarDecl } from './ast.ts';
import { checkBody } from './check-body.ts';
import { checkAlias, checkHeader } from './check-function.ts';
import type { CheckReport, Global } from './check-report.ts';
import { checkShared } from './check-shared.ts';
import type { Home } from './check-spelling.ts';
import { checkConstants, checkVariable } from './check-variable.ts';
import { versionNumber } from './forms.ts';
import { MOST_ERRORS } from './reader.ts';
import { firstVersion, isNewer, NEWEST_VERSION, PTX_TARGETS } from './targets.ts';
import { threadVariables } from './thread.ts';

/** Codes of warnings: these modules are accepted by ptxas or by another compiler. */
const WARNINGS: ReadonlySet<string> = new Set(['ptx-newer', 'ptx-optix']);

/**
 * Checks a parsed module: version and target, names (every used name is declared, once in its scope), instructions, guards and branch
 * targets, calls, variables and their initialisers.
 *
 * @returns at most `MOST_ERRORS` diagnostics, followed by one with the number of further ones
 */
export function checkPtx(module: PtxModule): Diagnostic[] {
  const out: Diagnostic[] = [];
  let dropped = 0;
  const report: CheckReport = (span, code, message, notes) => {
    if (out.length >= MOST_ERRORS) dropped++;
    else
      out.push({
        severity: WARNINGS.has(code) ? 'warning' : 'error',
        code,
        message,
        file: module.name,
        line: span.line,
        column: span.column,
        length: Math.max(1, Math.min(span.end - span.start, 60)),
        notes: notes?.() ?? [],
      });
  };
  checkHead(module, report);
  const globals = new Map<string, Global>();
  for (const item of module.items) {
    if (item.kind === 'variable') declareVariable(item, globals, report);
    else if (item.kind === 'function') declareFunction(item, globals, report);
  }
  checkConstants(
    module.items.filter((x) => x.kind === 'variable').filter((v) => v.space === 'const'),
    report,
  );
  checkShared(module, report);
  const thread = threadVariables(module);
  const home = homeOf(module);
  for (const item of module.items) {
    if (item.kind === 'variable') checkVariable(item, true, globals, home, report);
    else if (item.kind === 'function' && item.implied !== true)
      checkFunction(module.text, item, globals, thread, home, report);
    else if (item.kind === 'alias') checkAlias(item, globals, home, report);
  }
  const implied = module.items.find((x) => x.kind === 'function' && x.implied === true);
  if (implied !== undefined)
    report(
      implied.span,
      'ptx-optix',
      `'${implied.kind === 'function' ? implied.name : ''}' is not declared`,
      () => ['it is taken for an OptiX intrinsic with unknown effects; ptxas refuses the module'],
    );
  if (dropped > 0)
    out.push({
      severity: 'error',
      code: 'ptx-more',
      message: `and ${counted(dropped, 'more error')}`,
      file: module.name,
      line: 0,
      column: 0,
      length: 0,
    });
  return out;
}

function checkHead(module: PtxModule, report: CheckReport): void {
  const { version, target } = module;
  if (isNewer(version))
    report(
      directiveSpan(module, 'version'),
      'ptx-newer',
      `PTX ${version} is newer than ${NEWEST_VERSION}`,
      () => ['instructions that are new in it are unknown here'],
    );
  if (target.length === 0 && version !== '')
    report(directiveSpan(module, 'version'), 'ptx-target', "there is no '.target'", () => [
      "write '.target sm_80', say, after '.version'",
    ]);
  if (target.length > 0 && !target.some((t) => /^(sm|compute)_/.test(t)))
    report(directiveSpan(module, 'target'), 'ptx-target', "'.target' names no architecture", () => [
      "write '.target sm_80', say",
    ]);
  if ((module.text.match(/^[^\S\n\r\u2028\u2029]*\.address_size\b/gm) ?? []).length > 1)
    report(directiveSpan(module, 'address_size'), 'ptx-target', "'.address_size' occurs twice");
  for (const name of target)
    if (!PTX_TARGETS.has(name))
      report(directiveSpan(module, 'target'), 'ptx-target', `unknown target '${name}'`, () =>
        didYouMean(name, PTX_TARGETS),
      );
    else if (versionNumber(firstVersion(name)) > versionNumber(version))
      report(directiveSpan(module, 'target'), 'ptx-target', `PTX ${version} does not know '${name}'`, () => [
        `'.version ${firstVersion(name)}' is the first that does`,
      ]);
}

/** Version and target of a module, by which forms are selected. Unknown or newer versions and unknown targets have all forms. */
export function homeOf({ version, target, addressSize, text }: PtxModule): Home {
  const sm = target.find((t) => t.startsWith('sm_') && PTX_TARGETS.has(t));
  return {
    newer: isNewer(version),
    version: version === '' || isNewer(version) ? Number.POSITIVE_INFINITY : versionNumber(version),
    sm: sm === undefined ? Number.POSITIVE_INFINITY : Number(/\d+/.exec(sm)![0]),
    suffix: sm === undefined || /[af]$/.test(sm),
    addressSize: /^[^\S\n\r\u2028\u2029]*\.address_size\b/m.test(text) ? addressSize : 0,
  };
}

/** Position of the module's `.version`, `.target` or `.address_size`, which the tree does not record. */
function directiveSpan(module: PtxModule, name: string): Span {
  const m = new RegExp(`^[ \\t]*(\\.${name}\\b[^\\n/]*)`, 'm').exec(module.text);
  if (m === null) return { start: 0, end: 1, line: 1, column: 1 };
  const start = m.index + m[0].indexOf('.');
  const before = module.text.slice(0, start);
  const line = before.split('\n').length;
  return { start, end: start + m[1].trimEnd().length, line, column: start - before.lastIndexOf('\n') };
}

function declareVariable(v: VarDecl, globals: Map<string, Global>, report: CheckReport): void {
  const before = globals.get(v.name)?.declaration;
  if (before?.kind === 'function')
    report(v.span, 'ptx-redeclared', `'${v.name}' is declared before as a function`);
  else if (before?.kind === 'variable') {
    if (before.linkage !== 'extern' ? v.linkage !== 'extern' : v.linkage === '')
      report(v.span, 'ptx-redeclared', `'${v.name}' is declared twice`, () => [
        `the first declaration is at line ${before.span.line}`,
      ]);
    else if (before.type !== v.type || before.vector !== v.vector || before.space !== v.space)
      report(v.span, 'ptx-redeclared', `'${v.name}' is declared before with another type or space`, () => [
        `.${before.space} .${before.type} at line ${before.span.line}`,
      ]);
  }
  if (before === undefined || v.linkage !== 'extern')
    globals.set(v.name, { kind: 'variable', declaration: v });
}

function declareFunction(fn: PtxFunction, globals: Map<string, Global>, report: CheckReport): void {
  const before = globals.get(fn.name)?.declaration;
  if (before?.kind === 'variable')
    report(fn.span, 'ptx-redeclared', `'${fn.name}' is declared before as a variable`);
  else if (before?.kind === 'function') {
    const where = () => [`the first is at line ${before.span.line}`];
    if (before.body !== null && fn.body !== null)
      report(fn.span, 'ptx-redeclared', `'${fn.name}' is defined twice`, where);
    else if (before.entry !== fn.entry)
      report(fn.span, 'ptx-redeclared', `'${fn.name}' is declared as an entry and as a function`, where);
    else if (before.params.length !== fn.params.length || before.returns.length !== fn.returns.length)
      report(fn.span, 'ptx-redeclared', `'${fn.name}' is declared with other parameters`, where);
  }
  if (before?.kind !== 'function' || before.body === null)
    globals.set(fn.name, { kind: 'function', declaration: fn });
}

function checkFunction(
  text: string,
  fn: PtxFunction,
  globals: ReadonlyMap<string, Global>,
  thread: readonly VarDecl[],
  home: Home,
  report: CheckReport,
): void {
  checkHeader(fn, home, report);
  if (fn.body !== null) checkBody(text, fn, fn.body, globals, thread, home, report);
}
