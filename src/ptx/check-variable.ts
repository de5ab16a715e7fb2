/** Checks the shapes of variables and their initialisers (PTX ISA 9.0, 5.4). */
import { didYouMean } from '../ir/diagnostic.ts';
import type { Init, VarDecl } from './ast.ts';
import type { CheckReport, Global } from './check-report.ts';
import { type Home, wordFault } from './check-spelling.ts';
import { bitsOf, versionNumber } from './forms.ts';

/**
 * Maximum bytes of constant memory of a module (ptxas 13.0: 0x10000), and of one initialised variable, whose contents are held in memory.
 * Shared memory is limited by entry (`checkShared`).
 */
const MOST_BYTES: Readonly<Record<string, number>> = { const: 65_536, initialised: 2 ** 28 };

/** Bytes of an element; a vector counts as one element. */
export const elementBytes = (v: VarDecl): number => (Math.max(bitsOf(v.type), 8) / 8) * v.vector;

/** Bytes of a variable; 0 for an array of unknown size. */
export function bytesOf(v: VarDecl): number {
  const inner = v.dims.slice(1).reduce((n, d) => n * d, elementBytes(v));
  const [first = 1] = v.dims;
  // The initialiser determines the size of an array without a first dimension.
  return inner * (first === 0 && v.init?.kind === 'list' ? v.init.items.length : first);
}

/** Reports the first variable with which the constants of a module exceed constant memory. */
export function checkConstants(constants: readonly VarDecl[], report: CheckReport): void {
  let bytes = 0;
  for (const v of constants) {
    bytes += bytesOf(v);
    if (bytes <= MOST_BYTES['const']) continue;
    report(
      v.span,
      'ptx-size',
      `with '${v.name}', constants have ${bytes} bytes: at most ${MOST_BYTES['const']} have room`,
    );
    return;
  }
}

/** Checks a variable: type, space, size and initialiser. @param global whether it is declared at module level */
export function checkVariable(
  v: VarDecl,
  global: boolean,
  globals: ReadonlyMap<string, Global>,
  home: Home,
  report: CheckReport,
): void {
  const lacking = wordFault(v.type, home);
  if (lacking !== null) report(v.span, 'ptx-version', lacking.message, () => lacking.notes);
  if (v.space === 'tex') checkTexture(v, home, report);
  if (v.vector > 1 && v.type === 'pred')
    report(v.span, 'ptx-size', `'${v.name}' is a vector of predicates, which PTX does not have`);
  else if (v.vector * bitsOf(v.type) > 128)
    report(v.span, 'ptx-size', `'${v.name}' is a vector of more than 128 bits`);
  if (v.space === 'reg' && v.dims.length > 0)
    report(v.span, 'ptx-space', `'${v.name}' is an array, which cannot be a register`);
  if (global && v.space === 'param')
    report(v.span, 'ptx-space', `'${v.name}' is .${v.space}: it must be declared in a function`);
  if (v.linkage === 'common' && v.space !== 'global')
    report(v.span, 'ptx-space', `'${v.name}' is .common and must be .global, not .${v.space}`);
  if (v.type === 'pred' && v.space !== 'reg')
    report(v.span, 'ptx-space', `'${v.name}' is a predicate and must be a register`);
  const open = v.dims.length > 0 && v.dims[0] === 0;
  if (open && v.init === null && v.linkage !== 'extern')
    report(v.span, 'ptx-size', `the size of '${v.name}' is unknown`, () => [
      "give the first dimension, or an initialiser, or declare it '.extern'",
    ]);
  const space = v.init !== null && v.space !== 'const' ? 'initialised' : v.space;
  if (v.linkage !== 'extern' && bytesOf(v) > (MOST_BYTES[space] ?? Number.POSITIVE_INFINITY))
    report(v.span, 'ptx-size', `'${v.name}' has ${bytesOf(v)} bytes: at most ${MOST_BYTES[space]} have room`);
  if (v.init === null) return;
  if (v.linkage === 'extern')
    report(v.span, 'ptx-init', `'${v.name}' cannot have an initialiser: it is .extern`, () => [
      'its value is given where it is defined',
    ]);
  if (v.space !== 'global' && v.space !== 'const')
    report(v.span, 'ptx-init', `'${v.name}' cannot have an initialiser: it is .${v.space}`);
  if (/^b?f16/.test(v.type))
    report(v.span, 'ptx-init', `'${v.name}' cannot have an initialiser: it is .${v.type}`, () => [
      'declare it .b16 and write the bits',
    ]);
  const shape = v.vector > 1 ? [...v.dims, v.vector] : v.dims;
  checkInit(v, v.init, shape, 0, globals, report);
}

/** The first PTX version without `.tex` (ptxas 13.0; PTX ISA 9.0, 5.1.8, calls it deprecated). */
export const WITHOUT_TEX = '1.5';

/** Checks a variable in the deprecated texture space. */
function checkTexture(v: VarDecl, home: Home, report: CheckReport): void {
  if ((v.type !== 'u32' && v.type !== 'u64') || v.vector > 1 || v.dims.length > 0)
    report(v.span, 'ptx-space', `'${v.name}' is .tex: it must be one .u32 or .u64`);
  else if (home.version >= versionNumber(WITHOUT_TEX))
    report(v.span, 'ptx-version', `'.tex' was removed in PTX ${WITHOUT_TEX}`, () => [
      `write '.global .texref ${v.name}'`,
    ]);
}

function checkInit(
  v: VarDecl,
  init: Init,
  shape: readonly number[],
  depth: number,
  globals: ReadonlyMap<string, Global>,
  report: CheckReport,
): void {
  if (init.kind === 'list') {
    if (depth >= shape.length)
      report(v.span, 'ptx-init', `the initialiser of '${v.name}' is nested deeper than the variable`);
    else if (shape[depth] > 0 && init.items.length > shape[depth])
      report(
        v.span,
        'ptx-init',
        `the initialiser of '${v.name}' has ${init.items.length} elements where ${shape[depth]} have room`,
      );
    else for (const x of init.items) checkInit(v, x, shape, depth + 1, globals, report);
    return;
  }
  if (depth < shape.length)
    report(
      v.span,
      'ptx-init',
      `the initialiser of '${v.name}' needs braces for ${shape.length - depth} more dimensions`,
    );
  else if (init.kind === 'address' && !globals.has(init.symbol))
    report(v.span, 'ptx-undeclared', `'${init.symbol}' is not declared`, () =>
      didYouMean(init.symbol, globals.keys()),
    );
  else if (init.kind === 'address' && isLater(globals.get(init.symbol), v))
    report(
      v.span,
      'ptx-undeclared',
      `'${init.symbol}' is declared after '${v.name}', which holds its address`,
    );
  else if (init.kind === 'int' && (v.type === 'f32' || v.type === 'f64'))
    report(
      v.span,
      'ptx-init',
      `'${v.name}' is .${v.type}: its initialiser must be a floating-point constant`,
    );
  else if (init.kind === 'float' && /^[us]/.test(v.type))
    report(v.span, 'ptx-init', `'${v.name}' is .${v.type}: its initialiser must be an integer`);
}

const isLater = (g: Global | undefined, v: VarDecl): boolean =>
  g?.kind === 'variable' && g.declaration.span.start > v.span.start;
