import type { Diagnostic } from '../../ir/diagnostic.ts';
import { endsFlow } from '../../ir/flow.ts';
import type { Isa, Space } from '../../ir/opcode.ts';
import { NO_REG } from '../../ir/operand.ts';
import {
  type Fn,
  type Loc,
  makeFn,
  newShape,
  type Param,
  type Program,
  type Prototype,
  type Variable,
} from '../../ir/program.ts';
import { UniqueNames } from '../../ir/unique-names.ts';
import { verifyFn } from '../../ir/verify.ts';
import type { PtxFunction, PtxInstr, PtxModule, PtxStatement, Span, VarDecl } from '../ast.ts';
import { homeOf } from '../check.ts';
import { isUnknown } from '../check-spelling.ts';
import { isThreadVariable, threadVariables } from '../thread.ts';
import { formOf, hasForm, lowerByForm } from './by-form.ts';
import { controlHandlers } from './control.ts';
import { convertHandlers } from './convert.ts';
import { flusherFor } from './flush.ts';
import { groundLoads, lowerForeign, nameFlights } from './foreign.ts';
import { FnLower, type ModuleScope, NoForm } from './function.ts';
import type { Handler } from './handler.ts';
import { memoryHandlers } from './memory.ts';
import { addressTaken, copyIn } from './params.ts';
import { hasRow, lowerByRow } from './table-rows.ts';
import { layout, makePrototype, makeVariable } from './variables.ts';
import { scalars, withParts } from './vectors.ts';
import { videoHandlers, withSelectors } from './video.ts';

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
  const ofBodies: Variable[] = [];
  const sharedNames = new UniqueNames(variables.keys());
  const bodies = module.items.filter((x): x is PtxFunction => x.kind === 'function' && x.body !== null);
  const lowered = bodies.map((item) => lowerFunction(item, scope, sharedNames, ofBodies, prototypes));
  if (thread.length > 0) refuseShared(bodies, lowered);
  for (const [k, item] of bodies.entries()) {
    const r = lowered[k];
    if (r.fn !== null) out.push(r.fn);
    else
      skipped.push({
        name: item.name,
        why: r.missing.map(
          (m) =>
            `${m.form} (${m.count} time${m.count === 1 ? '' : 's'}, first at line ${m.line}${m.reason === '' ? '' : `: ${m.reason}`})`,
        ),
      });
    if (r.fn !== null)
      for (const m of r.unknown)
        diagnostics.push({
          severity: 'warning',
          code: 'foreign-unknown',
          message: `'${item.name}': ${m.form} is not known (${m.count} time${m.count === 1 ? '' : 's'})`,
          file: module.name,
          line: m.line,
          column: m.column,
          length: m.length,
          notes: [
            'it is carried unchanged, and assumed to read and write all of its registers and all memory',
          ],
        });
    for (const m of r.missing)
      diagnostics.push({
        severity: 'warning',
        code: 'no-ori-form',
        message: `'${item.name}' is left out: ${m.form} has no Ori form yet (${m.count} time${m.count === 1 ? '' : 's'})`,
        file: module.name,
        line: m.line,
        column: m.column,
        length: m.length,
        notes: m.reason === '' ? [] : [m.reason],
      });
  }
  return {
    program: {
      name: module.name,
      version: module.version,
      target: opts.sm,
      addressSize: module.addressSize,
      functions: out,
      // The order in which ptxas places shared variables: those of bodies before those of the module.
      variables: [...ofBodies, ...variables.values()],
      prototypes,
      aliases,
      locs,
      files,
      skipped,
    },
    diagnostics,
  };
}

/** The result of lowering a function. */
interface Lowered {
  fn: Fn | null;
  missing: readonly Missing[];
  /** Unknown instructions, which are carried unchanged. */
  readonly unknown: readonly Missing[];
  /** Names of registers and local variables at module level that it uses. */
  readonly threadUses: ReadonlySet<string>;
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

/** An instruction that has no Ori form. */
interface Missing {
  /** Opcode and modifiers as in PTX. */
  readonly form: string;
  /** The part that has no form; '' for the instruction as a whole. */
  readonly reason: string;
  readonly count: number;
  /** Position of the first occurrence. */
  readonly line: number;
  readonly column: number;
  readonly length: number;
}

/** Collects instructions without an Ori form, once for each form and reason. */
class MissingForms {
  private readonly found = new Map<string, { -readonly [K in keyof Missing]: Missing[K] }>();

  add(form: string, span: Span, reason: string): void {
    const key = `${form} ${reason}`;
    const known = this.found.get(key);
    if (known !== undefined) {
      known.count++;
      return;
    }
    const { line, column, start, end } = span;
    this.found.set(key, { form, reason, count: 1, line, column, length: end - start });
  }

  get list(): Missing[] {
    return [...this.found.values()];
  }
}

/** Runs a lowering step. @returns null if it succeeds; the reason if it throws NoForm */
function attempt(lower: () => void): string | null {
  try {
    lower();
    return null;
  } catch (e) {
    if (!(e instanceof NoForm)) throw e;
    return e.reason;
  }
}

const formText = (i: PtxInstr): string => [i.opcode, ...i.mods].join('.');

/** Do some forms of a PTX opcode have Ori opcodes of their own? */
export const hasOpcodes = (opcode: string, isa: Isa): boolean =>
  hasForm(isa, opcode) ||
  handlerOf({ opcode, mods: [] } as unknown as PtxInstr) !== undefined ||
  hasRow(isa.spelling, opcode);

/** The handler of an instruction by its opcode; undefined if there is none. */
export const handlerOf = (i: PtxInstr): Handler | undefined =>
  convertHandlers[i.opcode] ??
  memoryHandlers[i.opcode] ??
  controlHandlers[i.opcode] ??
  videoHandlers[i.opcode];

/** Lowers an instruction by its row of `lowering`, otherwise by its handler. @throws NoForm if it has neither */
function lowerInstr(f: FnLower, i: PtxInstr): void {
  const form = formOf(f.module.isa, i);
  if (form !== undefined) return lowerByForm(f, form, i);
  const handler = handlerOf(i);
  if (handler === undefined) throw new NoForm();
  handler(f, i);
}

function lowerFunction(
  ptx: PtxFunction,
  module: ModuleScope,
  sharedNames: UniqueNames,
  shared: Variable[],
  prototypes: Prototype[],
): Lowered {
  const f = new FnLower(module, ptx.entry);
  const lacks = new MissingForms();
  const unknown = new MissingForms();
  const firstLoc = module.locs.length;
  /** Instructions in the order of their places in `module.locs`. */
  const instrs: PtxInstr[] = [];
  const declare = (d: VarDecl) => {
    if (d.space === 'reg') f.declareRegs(d);
    else if (d.space === 'param') {
      const name = f.unique(d.name);
      f.variables.push(makeVariable(d, name, 'param'));
      f.scope.symbols.set(d.name, { kind: 'call-param', name });
    } else if (d.space === 'local') {
      const name = f.unique(d.name);
      f.variables.push(makeVariable(d, name, 'local'));
      f.scope.symbols.set(d.name, { kind: 'variable', name, space: 'local' });
    } else {
      const name = sharedNames.take(d.name);
      shared.push(makeVariable(d, name, d.space as Space));
      f.scope.symbols.set(d.name, { kind: 'variable', name, space: d.space as Space });
    }
  };

  const { threadUses } = f;
  if (module.thread.length > 0) {
    f.push();
    module.thread.forEach(declare);
  }
  f.push();
  const params = layout(ptx.params);
  const returns = layout(ptx.returns);
  const formals = [...ptx.returns, ...ptx.params].filter((d) => d.space === 'param').map((d) => d.name);
  const inMemory = addressTaken(ptx.body!, new Set(ptx.entry ? [] : formals));
  const bind = (decls: readonly VarDecl[], list: Param[], result: boolean) => {
    for (const d of decls) if (d.space === 'reg' && d.vector > 1) f.nameVector(d.name, d.vector);
    scalars(decls).forEach((d, k) => {
      if (d.space === 'reg') {
        f.declareRegs(d);
        list[k] = { ...list[k], reg: f.find(d.name)?.reg ?? NO_REG };
        return;
      }
      // A kernel and its parameter may have the same name: nothing in the body refers to the kernel.
      const name = ptx.entry && d.name === ptx.name ? d.name : f.unique(d.name);
      if (name !== d.name) list[k] = { ...list[k], name };
      if (ptx.entry) f.scope.symbols.set(d.name, { kind: 'entry-param', param: list[k] });
      else {
        if (!inMemory.has(d.name)) return void f.scope.symbols.set(d.name, { kind: 'call-param', name });
        const local = f.unique(`${d.name}_local`);
        f.variables.push(makeVariable(d, local, 'local'));
        f.scope.symbols.set(d.name, { kind: 'variable', name: local, space: 'local' });
        if (result) f.localResults.push({ param: list[k], name, local });
        else copyIn(f, list[k], name, local);
      }
    });
  };
  bind(ptx.returns, returns, true);
  bind(ptx.params, params, false);

  const directives = [...ptx.directives];
  const pragmas: { block: number; text: string }[] = [];
  let source = { file: 0, line: 0, column: 0 };
  // Labels of a scope are entered before its first branch, and jump tables and prototypes before their uses.
  const open = (body: readonly PtxStatement[]) => {
    f.push();
    for (const s of body) if (s.kind === 'label') f.scope.labels.set(s.name, f.newBlockId());
  };
  const tablesOf = (body: readonly PtxStatement[]) => {
    for (const s of body) {
      if (s.kind === 'branchtargets') {
        f.scope.tables.set(s.name, f.tables.length);
        try {
          f.tables.push(s.labels.map((l) => f.labelBlock(l)));
        } catch (e) {
          if (!(e instanceof NoForm)) throw e;
          lacks.add('.branchtargets', s.span, e.reason);
        }
      } else if (s.kind === 'callprototype') {
        const name = f.unique(`${ptx.name}$${s.name}`);
        f.scope.prototypes.set(s.name, name);
        prototypes.push({ name, params: layout(s.params), returns: layout(s.returns), noreturn: s.noreturn });
      } else if (s.kind === 'calltargets') {
        // `checkPtx` has verified that the signature of each target matches the calls.
        const callee = module.functions.get(s.functions[0]);
        if (callee === undefined) {
          lacks.add('.calltargets', s.span, `the function '${s.functions[0]}' is not declared`);
          continue;
        }
        const name = f.unique(`${ptx.name}$${s.name}`);
        f.scope.prototypes.set(s.name, name);
        prototypes.push({ ...makePrototype(callee), name });
      }
    }
  };

  // An explicit stack, since the input determines the depth of scopes.
  const stack: { body: readonly PtxStatement[]; at: number }[] = [];
  open(ptx.body!);
  tablesOf(ptx.body!);
  stack.push({ body: ptx.body!, at: 0 });
  while (stack.length > 0) {
    const top = stack[stack.length - 1];
    if (top.at >= top.body.length) {
      stack.pop();
      f.pop();
      continue;
    }
    const s = top.body[top.at++];
    switch (s.kind) {
      case 'variable':
        declare(s);
        break;
      case 'scope':
        open(s.body);
        tablesOf(s.body);
        stack.push({ body: s.body, at: 0 });
        break;
      case 'label':
        f.startBlock(f.labelBlock(s.name), s.name);
        break;
      case 'loc':
        source = { file: s.file, line: s.line, column: s.column };
        break;
      case 'pragma':
        pragmas.push({ block: f.blocks[f.blocks.length - 1].id, text: s.text });
        break;
      case 'instr': {
        const loc = module.locs.length;
        module.locs.push({
          line: s.span.line,
          file: source.file,
          srcLine: source.line,
          srcColumn: source.column,
        });
        instrs.push(s);
        const before = f.emitted;
        const flushed = module.flush === null ? s : module.flush(s);
        const i = f.hasVectors ? withParts(flushed, (name) => f.vectorLength(name)) : flushed;
        const isNew = isUnknown(s, module.home);
        const why = attempt(() => {
          f.begin(s, loc);
          if (isNew) throw new NoForm();
          lowerInstr(f, i);
        });
        if (why !== null) {
          f.takeBack(before);
          if (isNew || attempt(() => lowerByRow(f, withSelectors(f, i))) !== null) {
            f.takeBack(before);
            const whyForeign = attempt(() => {
              if (lowerForeign(f, i, isNew).unknown) unknown.add(formText(s), s.span, '');
            });
            if (whyForeign !== null) lacks.add(formText(s), s.span, why === '' ? whyForeign : why);
          }
        }
        f.end();
        break;
      }
      default:
        break;
    }
  }
  f.pop();
  if (lacks.list.length > 0) return { fn: null, missing: lacks.list, unknown: [], threadUses };
  groundLoads(f.blocks, f.tables);
  nameFlights(f.blocks);
  const last = f.blocks[f.blocks.length - 1].ins.at(-1);
  if (last === undefined || !endsFlow(last)) {
    // Control that reaches the end of a PTX function returns.
    const end: PtxInstr = {
      kind: 'instr',
      span: ptx.span,
      opcode: ptx.entry ? 'exit' : 'ret',
      mods: [],
      guard: null,
      operands: [],
    };
    f.begin(end, 0);
    lowerInstr(f, end);
  }
  const fn = makeFn({
    name: ptx.name,
    kind: ptx.entry ? 'entry' : 'func',
    params,
    returns,
    blocks: f.blocks,
    regCount: f.regCount,
    blockCount: f.blockCount,
    variables: usedVariables(f),
    tables: f.tables,
    attrs: {
      directives: directives.filter((d) => d !== '.noreturn'),
      pragmas,
      linkage: ptx.linkage,
      noreturn: directives.includes('.noreturn'),
      counts: [],
    },
    shape: newShape(),
  });
  // Rejects input that the handlers accept but should not, such as operands of different widths, before any pass runs.
  const reported = new Set<number>();
  for (const e of verifyFn(fn)) {
    if (reported.has(e.loc)) continue;
    reported.add(e.loc);
    const i = instrs[e.loc - firstLoc];
    const sizes = e.rule === 'operand-file' || e.rule === 'register-file';
    const reason = sizes ? 'its operands are not of the sizes or kinds that it takes' : e.message;
    lacks.add(i === undefined ? ptx.name : formText(i), i?.span ?? ptx.span, reason);
  }
  const missing = lacks.list;
  return { fn: missing.length === 0 ? fn : null, missing, unknown: unknown.list, threadUses };
}

/** The variables of a function, without unused ones that are declared at module level. */
function usedVariables(f: FnLower): Variable[] {
  if (f.module.thread.length === 0) return f.variables;
  const unused = new Set(f.module.thread.map((d) => d.name).filter((name) => !f.threadUses.has(name)));
  return f.variables.filter((v) => !unused.has(v.name));
}
