import { endsFlow } from '../../ir/flow.ts';
import type { Space } from '../../ir/opcode.ts';
import { NO_REG } from '../../ir/operand.ts';
import { type Fn, makeFn, newShape, type Param, type Prototype, type Variable } from '../../ir/program.ts';
import type { UniqueNames } from '../../ir/unique-names.ts';
import { Unsupported } from '../../ir/unsupported.ts';
import { verifyFn } from '../../ir/verify.ts';
import type { PtxFunction, PtxInstr, PtxStatement, VarDecl } from '../ast.ts';
import { isUnknown } from '../check-spelling.ts';
import { groundLoads, lowerForeign, nameFlights } from './foreign.ts';
import { FnLower, type ModuleScope } from './function.ts';
import { lowerInstr } from './handlers.ts';
import { type Missing, MissingForms } from './missing.ts';
import { addressTaken, copyIn } from './params.ts';
import { lowerByRow } from './table-rows.ts';
import { layout, makePrototype, makeVariable } from './variables.ts';
import { scalars, withParts } from './vectors.ts';
import { withSelectors } from './video.ts';

/** The result of lowering a function. */
export interface Lowered {
  fn: Fn | null;
  missing: readonly Missing[];
  /** Unknown instructions, which are carried unchanged. */
  readonly unknown: readonly Missing[];
  /** Names of registers and local variables at module level that it uses. */
  readonly threadUses: ReadonlySet<string>;
}

/** Runs a lowering step. @returns null if it succeeds; the reason if it throws Unsupported */
function attempt(lower: () => void): string | null {
  try {
    lower();
    return null;
  } catch (e) {
    if (!(e instanceof Unsupported)) throw e;
    return e.message;
  }
}

const formText = (i: PtxInstr): string => [i.opcode, ...i.mods].join('.');

/** Where the source of an instruction is, by `.loc`. */
interface SourcePlace {
  readonly file: number;
  readonly line: number;
  readonly column: number;
}

/** What the lowering of a function adds to its module. */
export interface ModuleParts {
  readonly sharedNames: UniqueNames;
  /** Variables of the module that bodies declare. */
  readonly variables: Variable[];
  readonly prototypes: Prototype[];
}

/** Lowers a function with a body. */
export const lowerFunction = (ptx: PtxFunction, module: ModuleScope, parts: ModuleParts): Lowered =>
  new FunctionLowering(ptx, module, parts).run();

/** The lowering of one function: declarations first, then the statements in order, then checks of the result. */
class FunctionLowering {
  private readonly ptx: PtxFunction;
  private readonly module: ModuleScope;
  private readonly parts: ModuleParts;
  private readonly f: FnLower;
  private readonly lacks = new MissingForms();
  private readonly unknown = new MissingForms();
  private readonly firstLoc: number;
  /** Instructions in the order of their places in `module.locs`. */
  private readonly instrs: PtxInstr[] = [];
  private readonly pragmas: { block: number; text: string }[] = [];
  private source: SourcePlace = { file: 0, line: 0, column: 0 };

  constructor(ptx: PtxFunction, module: ModuleScope, parts: ModuleParts) {
    this.ptx = ptx;
    this.module = module;
    this.parts = parts;
    this.f = new FnLower(module, ptx.entry);
    this.firstLoc = module.locs.length;
  }

  run(): Lowered {
    const { f, ptx, module } = this;
    if (module.thread.length > 0) {
      f.push();
      for (const d of module.thread) this.declare(d);
    }
    f.push();
    const params = layout(ptx.params);
    const returns = layout(ptx.returns);
    const formals = [...ptx.returns, ...ptx.params].filter((d) => d.space === 'param').map((d) => d.name);
    const inMemory = addressTaken(ptx.body!, new Set(ptx.entry ? [] : formals));
    this.bind(ptx.returns, returns, inMemory, true);
    this.bind(ptx.params, params, inMemory, false);
    this.lowerBody();
    const { threadUses } = f;
    if (this.lacks.list.length > 0) return { fn: null, missing: this.lacks.list, unknown: [], threadUses };
    const fn = this.finish(params, returns);
    this.check(fn);
    const missing = this.lacks.list;
    return { fn: missing.length === 0 ? fn : null, missing, unknown: this.unknown.list, threadUses };
  }

  private declare(d: VarDecl): void {
    const { f } = this;
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
      const name = this.parts.sharedNames.take(d.name);
      this.parts.variables.push(makeVariable(d, name, d.space as Space));
      f.scope.symbols.set(d.name, { kind: 'variable', name, space: d.space as Space });
    }
  }

  /**
   * Declares the formal parameters or results, whose layout is `list`.
   * @param inMemory those whose address is taken: device functions keep them in local variables
   */
  private bind(
    decls: readonly VarDecl[],
    list: Param[],
    inMemory: ReadonlySet<string>,
    result: boolean,
  ): void {
    const { f, ptx } = this;
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
  }

  /** Enters the labels of a scope, jump tables and prototypes, before its first statement uses them. */
  private open(body: readonly PtxStatement[]): void {
    const { f, ptx, module, lacks } = this;
    const { prototypes } = this.parts;
    f.push();
    for (const s of body) if (s.kind === 'label') f.scope.labels.set(s.name, f.newBlockId());
    for (const s of body) {
      if (s.kind === 'branchtargets') {
        f.scope.tables.set(s.name, f.tables.length);
        try {
          f.tables.push(s.labels.map((l) => f.labelBlock(l)));
        } catch (e) {
          if (!(e instanceof Unsupported)) throw e;
          lacks.add('.branchtargets', s.span, e.message);
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
  }

  private lowerBody(): void {
    const { f, ptx } = this;
    // An explicit stack, since the input determines the depth of scopes.
    const stack: { body: readonly PtxStatement[]; at: number }[] = [];
    this.open(ptx.body!);
    stack.push({ body: ptx.body!, at: 0 });
    while (stack.length > 0) {
      const top = stack[stack.length - 1];
      if (top.at >= top.body.length) {
        stack.pop();
        f.pop();
        continue;
      }
      const s = top.body[top.at++];
      if (s.kind === 'scope') {
        this.open(s.body);
        stack.push({ body: s.body, at: 0 });
      } else this.statement(s);
    }
    f.pop();
  }

  private statement(s: PtxStatement): void {
    const { f } = this;
    switch (s.kind) {
      case 'variable':
        this.declare(s);
        break;
      case 'label':
        f.startBlock(f.labelBlock(s.name), s.name);
        break;
      case 'loc':
        this.source = { file: s.file, line: s.line, column: s.column };
        break;
      case 'pragma':
        this.pragmas.push({ block: f.blocks[f.blocks.length - 1].id, text: s.text });
        break;
      case 'instr':
        this.instruction(s);
        break;
      default:
        break;
    }
  }

  private instruction(s: PtxInstr): void {
    const { f, module, source } = this;
    const loc = module.locs.length;
    module.locs.push({
      line: s.span.line,
      file: source.file,
      srcLine: source.line,
      srcColumn: source.column,
    });
    this.instrs.push(s);
    const before = f.emitted;
    const flushed = module.flush === null ? s : module.flush(s);
    const i = f.hasVectors ? withParts(flushed, (name) => f.vectorLength(name)) : flushed;
    const isNew = isUnknown(s, module.home);
    const why = attempt(() => {
      f.begin(s, loc);
      if (isNew) throw new Unsupported();
      lowerInstr(f, i);
    });
    if (why !== null) {
      f.takeBack(before);
      if (isNew || attempt(() => lowerByRow(f, withSelectors(f, i))) !== null) {
        f.takeBack(before);
        const whyForeign = attempt(() => {
          if (lowerForeign(f, i, isNew).unknown) this.unknown.add(formText(s), s.span, '');
        });
        if (whyForeign !== null) this.lacks.add(formText(s), s.span, why === '' ? whyForeign : why);
      }
    }
    f.end();
  }

  private finish(params: readonly Param[], returns: readonly Param[]): Fn {
    const { f, ptx } = this;
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
    const directives = [...ptx.directives];
    return makeFn({
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
        pragmas: this.pragmas,
        linkage: ptx.linkage,
        noreturn: directives.includes('.noreturn'),
        counts: [],
      },
      shape: newShape(),
    });
  }

  /** Rejects input that the handlers accept but should not, such as operands of different widths, before any pass runs. */
  private check(fn: Fn): void {
    const { ptx } = this;
    const reported = new Set<number>();
    for (const e of verifyFn(fn)) {
      if (reported.has(e.loc)) continue;
      reported.add(e.loc);
      const i = this.instrs[e.loc - this.firstLoc];
      const sizes = e.rule === 'operand-file' || e.rule === 'register-file';
      const reason = sizes ? 'its operands are not of the sizes or kinds that it takes' : e.message;
      this.lacks.add(i === undefined ? ptx.name : formText(i), i?.span ?? ptx.span, reason);
    }
  }
}

/** The variables of a function, without unused ones that are declared at module level. */
function usedVariables(f: FnLower): Variable[] {
  if (f.module.thread.length === 0) return f.variables;
  const unused = new Set(f.module.thread.map((d) => d.name).filter((name) => !f.threadUses.has(name)));
  return f.variables.filter((v) => !unused.has(v.name));
}
