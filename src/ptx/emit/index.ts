import type { Diagnostic } from '../../ir/diagnostic.ts';
import { Kind } from '../../ir/operand.ts';
import type { Fn, Program, Variable } from '../../ir/program.ts';
import { Unsupported } from '../../ir/unsupported.ts';
import type { PtxFunction, PtxItem, PtxModule, VarDecl } from '../ast.ts';
import { sizeOf } from '../lower/variables.ts';
import { scalars } from '../lower/vectors.ts';
import { printPtxHeader, printPtxVariable } from '../print.ts';
import { isThreadVariable } from '../thread.ts';
import { paramDecl, type Signature } from './call.ts';
import { functionText, type ModuleContext } from './function.ts';
import type { PtxTable } from './table.ts';
import { variableText } from './variable.ts';
import { headerFor, texturesFor } from './version.ts';

/** Options of `emitPtx`. */
export interface EmitOptions {
  readonly table: PtxTable;
  /** Offset of kernel parameters in constant bank 0, as used by lowering. */
  readonly paramBase: number;
  /** The module that was lowered to the program; everything other than code is copied from it. Null for a program read as Ori. */
  readonly module: PtxModule | null;
  /** Architecture for `.target`; null keeps the one that the module names. */
  readonly target?: string | null;
  /** Functions whose text is copied from the module instead of being written from the program. */
  readonly keep?: ReadonlySet<string>;
}

/** Result of `emitPtx`. */
export interface Emitted {
  readonly text: string;
  /** Warnings about functions kept unchanged, debug sections dropped and raised versions; errors about functions that are missing. */
  readonly diagnostics: readonly Diagnostic[];
}

/**
 * Writes a program as PTX. Functions are written from Ori; everything else is copied from the module: variables, declarations, functions
 * that were not lowered, directives, files.
 *
 * Never throws because of its input: functions without a PTX form are reported in `diagnostics`.
 */
export function emitPtx(program: Program, opts: EmitOptions): Emitted {
  const diagnostics: Diagnostic[] = [];
  const { module } = opts;
  const warn = (severity: 'warning' | 'error', message: string, line = 0, notes: readonly string[] = []) =>
    diagnostics.push({
      severity,
      code: 'no-ptx-form',
      message,
      file: program.name,
      line,
      column: line > 0 ? 1 : 0,
      length: 1,
      notes,
    });
  const context = contextOf(program, opts);
  const functions = new Map(program.functions.map((f) => [f.name, f]));
  const placed = module === null ? NOT_PLACED : placedAnew(program, module);
  const local = functionVariables(program, module, placed);
  const write: Write = (fn, source) =>
    functionText(fn, context, { source, variables: local.get(fn.name) ?? [] });
  const target = module?.target ?? [program.target];
  const debug = module?.items.some((i) => i.kind === 'verbatim' && describesCode(i, module.text)) === true;
  const named =
    opts.target === undefined || opts.target === null ? target : [opts.target, ...target.slice(1)];
  const out: string[] = [];
  if (module === null) plainModule(program, write, out, warn);
  else sourceModule(program, module, placed, functions, opts.keep ?? NONE, write, out, warn);
  const header = headerFor(
    out,
    module?.version ?? program.version,
    // The target option `debug` would require the sections that were dropped.
    named.filter((t) => !debug || t !== 'debug'),
    program.addressSize,
    opts.table,
  );
  for (const r of header.raised) warn('warning', r);
  const body = texturesFor(header.version, out);
  return { text: `${[...header.lines, '', ...body].join('\n')}\n`, diagnostics };
}

const NONE: ReadonlySet<string> = new Set();

type Warn = (
  severity: 'warning' | 'error',
  message: string,
  line?: number,
  notes?: readonly string[],
) => void;
type Write = (fn: Fn, source: PtxFunction | null) => string[];

/** Writes every item of the module in its order; lowered functions are written from the program. */
function sourceModule(
  program: Program,
  module: PtxModule,
  placed: Placed,
  functions: ReadonlyMap<string, Fn>,
  keep: ReadonlySet<string>,
  write: Write,
  out: string[],
  warn: Warn,
): void {
  const { texts, kept } = functionTexts(module, functions, keep, write);
  for (const { fn, why, line, asked } of kept)
    if (!asked) warn('warning', `'${fn}' is kept unchanged: ${why}`, line);
  const inParts = !kept.some((k) => k.vectors);
  const skipped = new Set(program.skipped.map((f) => f.name));
  const gone = new Set<string>();
  let keepsText = false;
  for (const i of module.items)
    if (i.kind === 'function' && i.body !== null && !texts.has(i.name)) {
      if (functions.has(i.name) || skipped.has(i.name)) keepsText = true;
      else gone.add(i.name);
    }
  // A function whose text is kept may call any that passes have removed.
  if (keepsText) gone.clear();
  let sections = 0;
  const declared = moduleVariables(program, module);
  for (const v of declared) if (!placed.has(v.name)) out.push(`${variableText(v)};`);
  for (const d of placed.values()) out.push(`${d};`);
  for (const item of module.items) {
    switch (item.kind) {
      case 'file':
        out.push(`.file ${item.index} "${item.name}"`);
        break;
      case 'variable':
        // Registers and local variables of the module are declared inside the functions instead.
        if (!placed.has(item.name) && (keepsText || !isThreadVariable(item)))
          out.push(`${printPtxVariable(aligned(item, program))};`);
        break;
      case 'alias':
        out.push(module.text.slice(item.span.start, item.span.end));
        break;
      case 'verbatim':
        if (describesCode(item, module.text)) sections++;
        else out.push(module.text.slice(item.span.start, item.span.end));
        break;
      case 'function':
        if (gone.has(item.name) || item.implied === true) break;
        // One string for each function: spreading its lines into `push` could exceed the maximum number of arguments.
        if (item.body !== null)
          out.push('', texts.get(item.name) ?? module.text.slice(item.span.start, item.span.end));
        else out.push(`${printPtxHeader(inParts ? partsOf(item) : item)};`);
    }
  }
  if (sections > 0)
    warn('warning', `debug sections are left out: they describe registers and labels of the original code`);
}

/** The original declaration, with the larger alignment that passes may have given the variable. */
function aligned(item: VarDecl, program: Program): VarDecl {
  const align = program.variables.find((v) => v.name === item.name)?.align ?? 0;
  return align > sizeOf(item).align ? { ...item, align } : item;
}

/** A declaration whose vector registers are split into scalars, as they are in written functions. */
const partsOf = (item: PtxFunction): PtxFunction => ({
  ...item,
  params: scalars(item.params),
  returns: scalars(item.returns),
});

interface Kept {
  readonly fn: string;
  readonly why: string;
  readonly line: number;
  /** Whether the only reason is that it takes or passes vector registers and another function is kept. */
  readonly vectors: boolean;
  /** Whether all functions that are kept for other reasons are kept at the caller's request. */
  readonly asked: boolean;
}

/**
 * Divides functions into those that are written and those that are kept unchanged: at the caller's request, or because they have no PTX
 * form. Written functions take vector registers as scalars, so if a function is kept, all functions that take or pass vector registers are
 * kept.
 */
function functionTexts(
  module: PtxModule,
  functions: ReadonlyMap<string, Fn>,
  keep: ReadonlySet<string>,
  write: Write,
): { texts: ReadonlyMap<string, string>; kept: readonly Kept[] } {
  const texts = new Map<string, string>();
  const kept: Kept[] = [];
  const items = module.items.filter((i): i is PtxFunction => i.kind === 'function');
  const bodies = items.filter((i) => i.body !== null);
  for (const item of bodies) {
    const fn = functions.get(item.name);
    if (fn === undefined || keep.has(item.name)) continue;
    try {
      texts.set(item.name, write(fn, item).join('\n'));
    } catch (e) {
      if (!(e instanceof Unsupported)) throw e;
      kept.push({ fn: item.name, why: e.message, line: item.span.line, vectors: false, asked: false });
    }
  }
  const vectors = new Set(
    items
      .filter((i) => [...i.params, ...i.returns].some((d) => d.space === 'reg' && d.vector > 1))
      .map((i) => i.name),
  );
  const asCame = bodies.filter((i) => !texts.has(i.name));
  if (asCame.length === 0 || vectors.size === 0) return { texts, kept };
  const passes = (fn: Fn): boolean =>
    vectors.has(fn.name) ||
    fn.blocks.some((b) => b.ins.some((i) => i.src.some((o) => o.sym !== '' && vectors.has(o.sym))));
  const asked = asCame.every((i) => keep.has(i.name));
  if (asked && !asCame.some((i) => passes(functions.get(i.name)!))) return { texts, kept };
  for (const { name, span } of bodies)
    if (texts.has(name) && passes(functions.get(name)!)) {
      texts.delete(name);
      const why = 'it takes or passes vector registers, and another function of the module is kept';
      kept.push({ fn: name, why, line: span.line, vectors: true, asked });
    }
  return { texts, kept };
}

/** Is it a debug section other than the strings that `.loc` refers to? Such sections describe the original code. */
const describesCode = (item: PtxItem & { kind: 'verbatim' }, text: string): boolean =>
  item.directive === 'dwarf' ||
  (item.directive === 'section' &&
    !/^\.section\s+\.debug_str\b/.test(text.slice(item.span.start, item.span.end)));

/** Writes a module from the program alone. */
function plainModule(program: Program, write: Write, out: string[], warn: Warn): void {
  for (const f of program.files) out.push(`.file ${f.index} ${JSON.stringify(f.name)}`);
  for (const v of program.variables) out.push(`${variableText(v)};`);
  const called = new Set<string>();
  for (const fn of program.functions)
    for (const b of fn.blocks)
      for (const i of b.ins) for (const o of i.src) if (o.sym !== '') called.add(o.sym);
  const aliases = new Set(program.aliases.map((a) => a.name));
  for (const p of program.prototypes) {
    const alias = aliases.has(p.name);
    if ((!called.has(p.name) && !alias) || p.name.includes('$')) continue;
    out.push(`${declarationText(p.name, p.params, p.returns, p.noreturn, alias ? '' : 'extern')};`);
  }
  for (const s of program.skipped)
    warn('error', `'${s.name}' was left out of this program and cannot be written: ${s.why[0] ?? ''}`);
  // A function is declared before it is called.
  for (const fn of program.functions)
    if (fn.kind === 'func')
      out.push(`${declarationText(fn.name, fn.params, fn.returns, fn.attrs.noreturn, fn.attrs.linkage)};`);
  for (const { name, of } of program.aliases) out.push(`.alias ${name}, ${of};`);
  for (const fn of program.functions)
    try {
      out.push('', write(fn, null).join('\n'));
    } catch (e) {
      if (!(e instanceof Unsupported)) throw e;
      warn('error', `'${fn.name}' has no PTX form: ${e.message}`);
    }
}

function declarationText(
  name: string,
  params: Fn['params'],
  returns: Fn['params'],
  noreturn: boolean,
  linkage: PtxFunction['linkage'] = 'extern',
): string {
  const decl = (p: Fn['params'][number]) => paramDecl(p, p.name, p.reg < 0 ? 'param' : 'reg');
  return printPtxHeader({
    kind: 'function',
    span: { start: 0, end: 0, line: 0, column: 0 },
    linkage,
    entry: false,
    name,
    returns: returns.map(decl),
    params: params.map(decl),
    directives: noreturn ? ['.noreturn'] : [],
    body: null,
  });
}

function contextOf(program: Program, opts: EmitOptions): ModuleContext {
  const signatures = new Map<string, Signature>();
  const enter = ({ name, params, returns, implied }: Signature & { name: string }) =>
    signatures.set(name, { params, returns, implied });
  const implied = new Set<string>();
  for (const item of opts.module?.items ?? [])
    if (item.kind === 'function') {
      if (item.implied === true) implied.add(item.name);
      enter({ name: item.name, params: scalars(item.params), returns: scalars(item.returns) });
    }
  for (const p of program.prototypes) enter({ ...p, implied: implied.has(p.name) });
  for (const f of program.functions) enter(f);
  const prototypes = new Map(program.prototypes.map((p) => [p.name, p]));
  const names = new Set(
    [program.variables, program.functions, program.prototypes, program.skipped].flatMap((list) =>
      list.map((x) => x.name),
    ),
  );
  return {
    program,
    table: opts.table,
    sm: Number(/\d+/.exec(opts.target ?? opts.module?.target[0] ?? program.target)?.[0] ?? 0),
    paramBase: opts.paramBase,
    names,
    likeRegisters: [...names].filter((name) => name.startsWith('%')),
    signatureOf: (name) => signatures.get(name),
    prototypeOf: (name) => prototypes.get(name),
  };
}

/** By function: variables that the source declares in a body and that only this function uses, so that they are declared in its body. */
function functionVariables(
  program: Program,
  module: PtxModule | null,
  placed: Placed,
): ReadonlyMap<string, readonly Variable[]> {
  const out = new Map<string, Variable[]>();
  for (const { v, users } of bodyVariables(program, module)) {
    if (users.length !== 1 || v.linkage === 'extern' || placed.has(v.name)) continue;
    const list = out.get(users[0]) ?? [];
    list.push(v);
    out.set(users[0], list);
  }
  return out;
}

/** Variables that the source declares in a body and that must be declared at module level now. */
const moduleVariables = (program: Program, module: PtxModule): Variable[] =>
  bodyVariables(program, module)
    .filter(({ v, users }) => users.length > 1 || (users.length === 1 && v.linkage === 'extern'))
    .map(({ v }) => v);

/** Declarations by the name of the variable. */
type Placed = ReadonlyMap<string, string>;
const NOT_PLACED: Placed = new Map();

/**
 * Declarations of shared variables, by name, if their order in memory, which is that of the program, is no longer that of the source. The
 * module then declares all of them before anything else. Empty if the declarations can stay where they are.
 */
function placedAnew(program: Program, module: PtxModule): Placed {
  const items = new Map(
    module.items.filter((i): i is VarDecl & PtxItem => i.kind === 'variable').map((i) => [i.name, i]),
  );
  const shared = program.variables.filter((v) => v.space === 'shared');
  const inBodies = new Set(bodyVariables(program, module).map(({ v }) => v.name));
  // The order in which ptxas places them: variables of bodies, then those of the module, each in order of declaration.
  const sourceOrder = [...shared].sort((a, b) => rank(a) - rank(b));
  function rank(v: Variable): number {
    return inBodies.has(v.name) ? -1 : (items.get(v.name)?.span.start ?? 0);
  }
  if (sourceOrder.every((v, i) => v === shared[i])) return NOT_PLACED;
  return new Map(
    shared.map((v) => {
      const item = items.get(v.name);
      return [v.name, item === undefined ? variableText(v) : printPtxVariable(aligned(item, program))];
    }),
  );
}

/** Variables that the source declares in a body, and the functions that use each. */
function bodyVariables(program: Program, module: PtxModule | null): { v: Variable; users: string[] }[] {
  if (module === null) return [];
  const global = new Set(module.items.filter((x) => x.kind === 'variable').map((x) => x.name));
  const users = new Map<string, string[]>();
  for (const v of program.variables) if (!global.has(v.name)) users.set(v.name, []);
  if (users.size === 0) return [];
  for (const fn of program.functions)
    for (const b of fn.blocks)
      for (const i of b.ins)
        for (const o of i.src) {
          if (o.sym === '' || o.kind === Kind.Label) continue;
          const list = users.get(o.sym);
          if (list !== undefined && !list.includes(fn.name)) list.push(fn.name);
        }
  return program.variables.filter((v) => users.has(v.name)).map((v) => ({ v, users: users.get(v.name)! }));
}
