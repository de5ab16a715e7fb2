/** Checks headers of functions, and aliases (PTX ISA 9.0, 5.4.2, 7.1 and 11.4). */
import { didYouMean } from '../ir/diagnostic.ts';
import type { PtxFunction, PtxItem } from './ast.ts';
import type { CheckReport, Global } from './check-report.ts';
import { directiveFault, type Home, wordFault } from './check-spelling.ts';
import { bitsOf, versionNumber } from './forms.ts';

/** Maximum bytes of parameters of an entry (ptxas 13.0: 0x7ffc); before PTX 8.1, and for targets before sm_70, 0x1100. */
const MOST_PARAMETERS = 32_764;
const FEW_PARAMETERS = 4_352;
const MANY_FROM = { version: versionNumber('8.1'), sm: 70 };

/** Checks parameters and results: their spaces, types and sizes (PTX ISA 9.0, 5.1.6 and 5.4.2). */
function checkParameters(fn: PtxFunction, home: Home, report: CheckReport): void {
  let bytes = 0;
  for (const [k, p] of [...fn.returns, ...fn.params].entries()) {
    const last = k === fn.returns.length + fn.params.length - 1;
    if (fn.entry && p.space !== 'param')
      report(
        p.span,
        'ptx-space',
        `'${p.name}' is a parameter of an entry: it must be .param, not .${p.space}`,
      );
    const lacking = wordFault(p.type, home);
    if (lacking !== null) report(p.span, 'ptx-version', lacking.message, () => lacking.notes);
    if (p.init !== null) report(p.span, 'ptx-init', `'${p.name}' is a parameter: it has no initialiser`);
    if (!fn.entry && p.ptr !== null)
      report(p.span, 'ptx-space', `'${p.name}' is a parameter of a function: '.ptr' is for entries`);
    if (p.space !== 'param') continue;
    if (p.type === 'pred' || p.type === 'f16x2' || p.vector > 1)
      report(
        p.span,
        'ptx-space',
        `'${p.name}' is ${p.vector > 1 ? 'a vector' : `.${p.type}`}: parameters are scalars and arrays`,
        () => ["an array of .b8 has room for anything: '.param .align 8 .b8 name[16]'"],
      );
    if (p.dims[0] === 0 && (fn.entry || !last))
      report(p.span, 'ptx-size', `the size of '${p.name}' is unknown`, () => [
        'only the last parameter of a function, not of an entry, may have any size',
      ]);
    bytes += (bitsOf(p.type) / 8) * p.dims.reduce((n, d) => n * d, 1);
  }
  const many = home.version >= MANY_FROM.version && home.sm >= MANY_FROM.sm;
  const most = many ? MOST_PARAMETERS : FEW_PARAMETERS;
  if (fn.entry && bytes > most)
    report(
      fn.span,
      'ptx-size',
      `'${fn.name}' has ${bytes} bytes of parameters: at most ${most} are passed`,
      () => (many ? [] : [`from PTX 8.1 and sm_70 on, at most ${MOST_PARAMETERS}`]),
    );
}

/** Checks parameters, results and directives of a function. */
export function checkHeader(fn: PtxFunction, home: Home, report: CheckReport): void {
  checkParameters(fn, home, report);
  const present = new Set(fn.directives.map((d) => /^\.?(\w*)/.exec(d)![1]));
  if (present.has('maxntid') && present.has('reqntid'))
    report(fn.span, 'ptx-directive', `'.maxntid' and '.reqntid' of '${fn.name}' exclude each other`);
  for (const d of fn.directives) {
    const m = /^\.(maxntid|reqntid|maxnreg|minnctapersm)\b(.*)$/.exec(d);
    if (m === null) continue;
    if (!fn.entry)
      report(fn.span, 'ptx-directive', `'.${m[1]}' is for entries, and '${fn.name}' is a function`);
    else if (/(^|[ ,])0+(,|$)/.test(m[2].trim()))
      report(fn.span, 'ptx-directive', `'.${m[1]}' of '${fn.name}' takes numbers above 0`);
  }
  if (fn.entry && present.has('noreturn'))
    report(fn.span, 'ptx-directive', `'.noreturn' is for functions, and '${fn.name}' is an entry`);
  if (fn.linkage === 'extern' && fn.body !== null)
    report(fn.span, 'ptx-redeclared', `'${fn.name}' is .extern, so that its body is elsewhere`);
  for (const d of fn.directives) {
    const fault = directiveFault(/^\.?(\w*)/.exec(d)![1], home);
    if (fault !== null) report(fn.span, 'ptx-version', fault.message, () => fault.notes);
  }
}

/** Checks `.alias a, b;`: both must be functions with as many parameters and results, the first without a body. */
export function checkAlias(
  { name, of: aliasee, span }: PtxItem & { kind: 'alias' },
  globals: ReadonlyMap<string, Global>,
  home: Home,
  report: CheckReport,
): void {
  const fault = directiveFault('alias', home);
  if (fault !== null) report(span, 'ptx-version', fault.message, () => fault.notes);
  const functions: PtxFunction[] = [];
  for (const one of [name, aliasee]) {
    const g = globals.get(one);
    if (g?.kind === 'function') functions.push(g.declaration as PtxFunction);
    else
      report(span, 'ptx-undeclared', `'${one}' is not a declared function`, () =>
        didYouMean(one, globals.keys()),
      );
  }
  const [as, of] = functions;
  if (of === undefined) return;
  if (as.body !== null)
    report(span, 'ptx-redeclared', `'${as.name}' has a body: it cannot be another name of '${of.name}'`);
  else if (as.params.length !== of.params.length || as.returns.length !== of.returns.length)
    report(span, 'ptx-redeclared', `'${as.name}' is declared with other parameters than '${of.name}'`);
}
