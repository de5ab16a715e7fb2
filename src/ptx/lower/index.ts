import { append } from '../../ir/append.ts';
import { counted } from '../../ir/counts.ts';
import type { Diagnostic } from '../../ir/diagnostic.ts';
import type { Isa, Space } from '../../ir/opcode.ts';
import type { Fn, Loc, Program, Prototype, Variable } from '../../ir/program.ts';
import { UniqueNames } from '../../ir/unique-names.ts';
import type { PtxFunction, PtxModule } from '../ast.ts';
import { homeOf } from '../check.ts';
import { isThreadVariable, threadVariables } from '../thread.ts';
import { type Lowered, lowerFunction } from './body.ts';
import { flusherFor } from './flush.ts';
import type { ModuleScope } from './function.ts';
import type { Missing } from './missing.ts';
import { makePrototype, makeVariable } from './variables.ts';

/** Options of `lowerPtx`. */
export interface LowerOptions {
  readonly isa: Isa;
  /** Offset of kernel parameters in constant bank 0, by back end. */
  readonly paramBase: number;
  /** Target of the program. */
  readonly sm: string;
}

/**
 * Lowers a PTX module to Ori. A function with an instruction that has no Ori form is left out, listed in `Program.skipped`, and reported:
 * one warning for each form, with its first line and the number of occurrences.
 *
 * Never throws because of its input.
 */
export function lowerPtx(
  module: PtxModule,
  opts: LowerOptions,
): { program: Program; diagnostics: Diagnostic[] } {
  const diagnostics: Diagnostic[] = [];
  const variables = new Map<string, Variable>();
  const handles = new Set<string>();
  const functions = new Map<string, PtxFunction>();
  const prototypes: Prototype[] = [];
  const aliases: { name: string; of: string }[] = [];
  const files: { index: number; name: string }[] = [];
  const locs: Loc[] = [{ line: 0, file: 0, srcLine: 0, srcColumn: 0 }];
  const defined = new Set(
    module.items.filter((x): x is PtxFunction => x.kind === 'function' && x.body !== null).map((x) => x.name),
  );
  for (const item of module.items) {
    if (item.kind === 'variable') {
      if (isThreadVariable(item)) continue;
      if (item.space === 'tex' || /ref$/.test(item.type)) {
        handles.add(item.name);
        continue;
      }
      variables.set(item.name, makeVariable(item, item.name, item.space as Space));
    } else if (item.kind === 'function') {
      if (item.body === null && !defined.has(item.name) && !functions.has(item.name))
        prototypes.push(makePrototype(item));
      functions.set(item.name, item);
    } else if (item.kind === 'file') files.push({ index: item.index, name: item.name });
    else if (item.kind === 'alias') aliases.push({ name: item.name, of: item.of });
  }
  const thread = threadVariables(module);
  const { isa, paramBase } = opts;
  const home = homeOf(module);
  const flush = flusherFor(home);
  const jumps = { targets: 0 };
  const scope: ModuleScope = {
    isa,
    paramBase,
    variables,
    functions,
    locs,
    jumps,
    handles,
    thread,
    home,
    flush,
  };
  const out: Fn[] = [];
  const skipped: { name: string; why: string[] }[] = [];
  const parts = { sharedNames: new UniqueNames(variables.keys()), variables: [] as Variable[], prototypes };
  const bodies = module.items.filter((x): x is PtxFunction => x.kind === 'function' && x.body !== null);
  const lowered = bodies.map((item) => lowerFunction(item, scope, parts));
  if (thread.length > 0) refuseShared(bodies, lowered);
  for (const [k, item] of bodies.entries()) {
    const r = lowered[k];
    if (r.fn !== null) out.push(r.fn);
    else
      skipped.push({
        name: item.name,
        why: r.missing.map(
          (m) => `${m.form} (${times(m)}, first at line ${m.line}${m.reason === '' ? '' : `: ${m.reason}`})`,
        ),
      });
    append(diagnostics, reportsOf(item.name, r, module.name));
  }
  return {
    program: {
      name: module.name,
      version: module.version,
      target: opts.sm,
      addressSize: module.addressSize,
      functions: out,
      // The order in which ptxas places shared variables: those of bodies before those of the module.
      variables: [...parts.variables, ...variables.values()],
      prototypes,
      aliases,
      locs,
      files,
      skipped,
    },
    diagnostics,
  };
}

const times = ({ count }: Missing): string => counted(count, 'time');

/** Warnings about the instructions of a function that are carried unchanged, or for which it is left out. */
function reportsOf(name: string, { fn, unknown, missing }: Lowered, file: string): Diagnostic[] {
  const warning = (m: Missing, code: string, message: string, notes: readonly string[]): Diagnostic => ({
    severity: 'warning',
    code,
    message,
    file,
    line: m.line,
    column: m.column,
    length: m.length,
    notes,
  });
  const carried =
    'it is carried unchanged, and assumed to read and write all of its registers and all memory';
  return [
    ...(fn === null ? [] : unknown).map((m) =>
      warning(m, 'foreign-unknown', `'${name}': ${m.form} is not known (${times(m)})`, [carried]),
    ),
    ...missing.map((m) =>
      warning(
        m,
        'no-ori-form',
        `'${name}' is left out: ${m.form} has no Ori form yet (${times(m)})`,
        m.reason === '' ? [] : [m.reason],
      ),
    ),
  ];
}

/**
 * Rejects entries that share registers or local variables at module level with device functions. Others are declared anew in each entry
 * that uses them, which is correct since a thread runs only one entry.
 */
function refuseShared(items: readonly PtxFunction[], lowered: readonly Lowered[]): void {
  const inDeviceFunctions = new Set<string>();
  for (const [k, item] of items.entries())
    if (!item.entry) for (const name of lowered[k].threadUses) inDeviceFunctions.add(name);
  for (const [k, { span }] of items.entries()) {
    const r = lowered[k];
    const name = r.fn === null ? undefined : [...r.threadUses].find((n) => inDeviceFunctions.has(n));
    if (name === undefined) continue;
    const { line, column, start, end } = span;
    const reason = `'${name}' is shared with device functions`;
    r.fn = null;
    r.missing = [
      { form: 'a variable outside of functions', reason, count: 1, line, column, length: end - start },
    ];
  }
}
