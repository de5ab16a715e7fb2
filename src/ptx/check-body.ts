/** Checks names in a function's body: scopes, registers declared by count, labels and their uses (PTX ISA 9.0, 5.4 and 6). */
import { didYouMean } from '../ir/diagnostic.ts';
import type { PtxFunction, PtxInstr, PtxOperand, PtxStatement, Span, VarDecl } from './ast.ts';
import { type Callee, checkCall } from './check-call.ts';
import { InstructionChecker } from './check-instruction.ts';
import type { CheckReport, Global } from './check-report.ts';
import { directiveFault, type Home } from './check-spelling.ts';
import { checkVariable } from './check-variable.ts';
import { type Declared, declaredAs, type Named } from './declared.ts';
import { placeOf } from './place.ts';

/** The meaning of a name in a body: the declaration of a register or variable, or the kind of label. */
type Entity = Declared | 'label' | 'branchtargets' | 'calltargets' | 'callprototype' | 'special';

interface Scope {
  readonly names: Map<string, Entity>;
  /** Registers declared by count, by their common prefix. */
  readonly ranges: Map<string, Declared>;
  readonly rangeList: Declared[];
  /** By label of a `.callprototype` or `.calltargets`: what a call through it may call. */
  readonly callees: Map<string, readonly Callee[]>;
  readonly body: readonly PtxStatement[];
  /** The next statement to check. */
  at: number;
}

/** Special registers and predefined names (PTX ISA 9.0, 4.5.3 and chapter 10). */
const SPECIAL =
  /^(%(tid|ntid|ctaid|nctaid|clusterid|nclusterid|cluster_ctaid|cluster_nctaid)(\.[xyzwrgba])?|%(laneid|warpid|nwarpid|smid|nsmid|gridid|is_explicit_cluster|cluster_ctarank|cluster_nctarank|lanemask_(eq|le|lt|ge|gt)|clock|clock_hi|clock64|pm[0-7](_64)?|envreg([12]?\d|3[01])|globaltimer|globaltimer_lo|globaltimer_hi|reserved_smem_offset_(begin|end|cap|0|1)|total_smem_size|aggr_smem_size|dynamic_smem_size|current_graph_exec)|WARP_SZ)$/;

/** Maximum number of names compared with a misspelt one, so that a suggestion takes about a millisecond in any function. */
const MOST_CANDIDATES = 4000;

/**
 * Checks the body of one function.
 *
 * @param text the source of the module
 * @param thread registers and local variables at module level, which are visible in all functions
 * @param home version and target of the module
 */
export function checkBody(
  text: string,
  fn: PtxFunction,
  body: readonly PtxStatement[],
  globals: ReadonlyMap<string, Global>,
  thread: readonly VarDecl[],
  home: Home,
  report: CheckReport,
): void {
  new BodyChecker(text, globals, home, report).run(fn, body, thread);
}

class BodyChecker {
  private readonly text: string;
  private readonly globals: ReadonlyMap<string, Global>;
  private readonly report: CheckReport;
  private readonly scopes: Scope[] = [];

  private readonly home: Home;
  private readonly instructions: InstructionChecker;

  constructor(text: string, globals: ReadonlyMap<string, Global>, home: Home, report: CheckReport) {
    this.text = text;
    this.globals = globals;
    this.report = report;
    this.home = home;
    this.instructions = new InstructionChecker(text, home, report, (name) => this.named(name));
  }

  /** Resolves a name for the checks of operands. */
  private readonly named = (name: string): Named => {
    const e = this.find(name);
    if (e === undefined) {
      const global = this.globals.get(name);
      if (global === undefined) return undefined;
      return global.kind === 'function' ? 'function' : declaredAs(global.declaration as VarDecl);
    }
    return typeof e !== 'string' || e === 'label' || e === 'special' ? e : 'other';
  };

  run(fn: PtxFunction, body: readonly PtxStatement[], thread: readonly VarDecl[]): void {
    if (thread.length > 0) this.open([], thread);
    this.open(body, fn.returns, fn.params);
    // An explicit stack, since the input determines the depth of scopes.
    for (let top = this.scopes.at(-1); top !== undefined; top = this.scopes.at(-1)) {
      if (top.at === top.body.length) {
        this.scopes.pop();
        continue;
      }
      const s = top.body[top.at++];
      switch (s.kind) {
        case 'instr':
          this.instruction(s);
          break;
        case 'variable':
          this.declare(top, s);
          checkVariable(s, false, this.globals, this.home, this.report);
          break;
        case 'scope':
          this.open(s.body, []);
          break;
        case 'loc': {
          const fault = s.rest === '' ? null : directiveFault('inlined_at', this.home);
          if (fault !== null) this.report(s.span, 'ptx-version', fault.message, () => fault.notes);
          break;
        }
        case 'branchtargets':
          for (const l of s.labels) this.expectLabel(l, s.span);
          break;
        case 'calltargets':
          for (const f of s.functions)
            if (this.globals.get(f)?.kind !== 'function') this.undeclared(f, s.span, 'function');
            else if (this.functionNamed(f)?.entry === true)
              this.report(s.span, 'ptx-call', `'${f}' is an entry: only device functions are called`);
          break;
      }
    }
  }

  /** Enters a scope. Its labels are visible before their definition. */
  private open(
    body: readonly PtxStatement[],
    variables: readonly VarDecl[],
    inputs: readonly VarDecl[] = [],
  ): void {
    const scope: Scope = {
      names: new Map(),
      ranges: new Map(),
      rangeList: [],
      callees: new Map(),
      body,
      at: 0,
    };
    for (const v of variables) this.declare(scope, v);
    for (const v of inputs) this.declare(scope, v, true);
    for (const s of body)
      if (
        s.kind === 'label' ||
        s.kind === 'branchtargets' ||
        s.kind === 'calltargets' ||
        s.kind === 'callprototype'
      ) {
        if (scope.names.has(s.name))
          this.report(s.span, 'ptx-redeclared', `label '${s.name}' is declared twice`);
        scope.names.set(s.name, s.kind);
        if (s.kind === 'callprototype') scope.callees.set(s.name, [s]);
        else if (s.kind === 'calltargets')
          scope.callees.set(
            s.name,
            s.functions.map((f) => this.functionNamed(f)).filter((f) => f?.entry === false) as PtxFunction[],
          );
      }
    this.scopes.push(scope);
  }

  private declare(scope: Scope, v: VarDecl, input = false): void {
    const twice =
      v.count > 0
        ? scope.ranges.has(v.name) || this.namedWithin(scope, v)
        : scope.names.has(v.name) || rangeOf(scope, v.name, digitsAt(v.name)) !== undefined;
    if (twice) this.report(v.span, 'ptx-redeclared', `'${v.name}' is declared twice`);
    const d = declaredAs(v, input);
    if (v.count === 0) scope.names.set(v.name, d);
    else {
      scope.ranges.set(v.name, d);
      scope.rangeList.push(d);
    }
  }

  /**
   * Does a declaration by count include a name that the scope already declares? Labels are exempt: ptxas 13.0 accepts a label with the name
   * of a counted register, and the name then means the register. Skipped in scopes with very many names.
   */
  private namedWithin(scope: Scope, v: VarDecl): boolean {
    if (scope.names.size > MOST_CANDIDATES) return false;
    for (const [name, entity] of scope.names)
      if (entity !== 'label' && name.startsWith(v.name) && /^\d+$/.test(name.slice(v.name.length)))
        if (Number(name.slice(v.name.length)) < v.count) return true;
    return false;
  }

  /** Resolves a name in the scopes of the body, innermost first; undefined if they do not declare it. */
  private find(name: string): Entity | undefined {
    const cut = digitsAt(name);
    for (let i = this.scopes.length - 1; i >= 0; i--) {
      const scope = this.scopes[i];
      // Most names are registers declared by count, which have no entries of their own.
      const range = rangeOf(scope, name, cut);
      if (range !== undefined) return range;
      const known = scope.names.get(name);
      if (known !== undefined) return known;
    }
    if (SPECIAL.test(name)) {
      this.scopes[0].names.set(name, 'special');
      return 'special';
    }
    return undefined;
  }

  /** Declarations of the operands of the current instruction. */
  private readonly declared: (Declared | undefined)[] = [];

  private instruction(s: PtxInstr): void {
    const { guard, operands } = s;
    if (guard !== null) this.predicate(guard.name, s.span);
    const { declared } = this;
    if (s.opcode === 'bra') {
      this.instructions.check(s, declared);
      for (const o of operands)
        if ((o.kind === 'sym' && o.offset === 0n) || this.isLabel(o)) this.expectLabel(o.name, s.span);
        else this.report(s.span, 'ptx-label', "'bra' takes a label");
      return;
    }
    for (let i = 0; i < operands.length; i++) declared[i] = this.operand(operands[i], s.span);
    if (s.opcode === 'call') this.call(s);
    else this.instructions.check(s, declared);
    if (s.opcode === 'brx' && operands.length > 1) this.targets(operands[1], s.span);
  }

  /** Is an operand that looks like a register a label? Labels may begin with a % too. */
  private isLabel(o: PtxOperand): o is Extract<PtxOperand, { kind: 'reg' }> {
    return o.kind === 'reg' && !o.neg && !o.not && o.part === '' && this.find(o.name) === 'label';
  }

  private functionNamed(name: string): PtxFunction | undefined {
    const known = this.globals.get(name);
    return known?.kind === 'function' ? (known.declaration as PtxFunction) : undefined;
  }

  private call(s: PtxInstr): void {
    const fault = checkCall(s, {
      find: this.named,
      functionOf: (name) => (this.find(name) === undefined ? this.functionNamed(name) : undefined),
      calleesOf: (name) => this.scopes.findLast((scope) => scope.callees.has(name))?.callees.get(name) ?? [],
    });
    if (fault !== null) this.report(s.span, 'ptx-call', fault.message, () => fault.notes);
  }

  /** Checks the target list of `brx.idx`. */
  private targets(o: PtxOperand | undefined, at: Span): void {
    if (o?.kind === 'sym' && this.find(o.name) === 'branchtargets') return;
    this.report(at, 'ptx-label', "'brx.idx' takes an index and the label of a '.branchtargets'");
  }

  /** Checks that the names in an operand are declared. @returns the declaration, if the operand is a single name */
  private operand(o: PtxOperand, at: Span): Declared | undefined {
    switch (o.kind) {
      case 'reg':
      case 'sym': {
        const e = this.find(o.name);
        if (e === undefined && !this.globals.has(o.name)) this.undeclared(o.name, at, 'name');
        return typeof e === 'string' ? undefined : e;
      }
      case 'addr':
        if (o.base !== '') this.address(o.base, at);
        for (const x of o.extra) this.operand(x, at);
        return undefined;
      case 'vector':
      case 'list':
        for (const x of o.items) this.operand(x, at);
        return undefined;
      case 'pair':
        this.operand(o.first, at);
        this.operand(o.second, at);
        return undefined;
      default:
        return undefined;
    }
  }

  /** Checks that the base of an address is declared; `addressFault` checks the rest. */
  private address(name: string, at: Span): void {
    if (this.find(name) === undefined && !this.globals.has(name)) this.undeclared(name, at, 'name');
  }

  private predicate(name: string, at: Span): void {
    const e = this.find(name);
    if (e === undefined) this.undeclared(name, at, 'name');
    else if (typeof e === 'string' || e.v.space !== 'reg' || e.v.type !== 'pred') {
      const what = typeof e === 'string' ? `a ${e}` : `.${e.v.space} .${e.v.type}`;
      this.report(placeOf(this.text, at, name), 'ptx-guard', `the guard '${name}' is ${what}`, () => [
        'a guard is a register of type .pred',
      ]);
    }
  }

  private expectLabel(name: string, at: Span): void {
    const e = this.find(name);
    if (e === 'label') return;
    if (e === undefined && !this.globals.has(name)) this.undeclared(name, at, 'label');
    else this.report(placeOf(this.text, at, name), 'ptx-label', `'${name}' is not a label`);
  }

  private undeclared(name: string, at: Span, what: 'name' | 'label' | 'function'): void {
    this.report(placeOf(this.text, at, name), 'ptx-undeclared', `'${name}' is not declared`, () => {
      const counted = /^(.*?)(\d+)$/.exec(name);
      for (const { ranges } of this.scopes) {
        const range = counted === null ? undefined : ranges.get(counted[1])?.v;
        if (range !== undefined)
          return [
            `'${range.name}<${range.count}>' declares ${range.name}0 to ${range.name}${range.count - 1}`,
          ];
      }
      const near: string[] = [];
      for (const { names } of this.scopes)
        for (const [n, e] of names) {
          if (near.length === MOST_CANDIDATES) break;
          if (what === 'name' || (what === 'label' && e === 'label')) near.push(n);
        }
      if (what !== 'label')
        for (const n of this.globals.keys()) {
          if (near.length === MOST_CANDIDATES) break;
          near.push(n);
        }
      return didYouMean(name, near);
    });
  }
}

/** Index at which the trailing digits of a name begin. */
function digitsAt(name: string): number {
  let cut = name.length;
  while (cut > 0 && name.charCodeAt(cut - 1) >= 48 && name.charCodeAt(cut - 1) <= 57) cut--;
  return cut;
}

/** The declaration by count that includes a name: `%r<10>` for `%r7`. @param cut index at which its number begins */
function rangeOf(scope: Scope, name: string, cut: number): Declared | undefined {
  if (cut === name.length) return undefined;
  const range = prefixOf(scope, name, cut);
  if (range === undefined) return undefined;
  let n = 0;
  for (let k = cut; k < name.length; k++) n = 10 * n + name.charCodeAt(k) - 48;
  return n < range.v.count ? range : undefined;
}

/** The declaration by count with the prefix that ends at `cut`. If there are few, as is usual, no string is created. */
function prefixOf(scope: Scope, name: string, cut: number): Declared | undefined {
  const { rangeList } = scope;
  if (rangeList.length > 12) return scope.ranges.get(name.slice(0, cut));
  for (let i = 0; i < rangeList.length; i++) {
    const p = rangeList[i].v.name;
    if (p.length === cut && p.charCodeAt(cut - 1) === name.charCodeAt(cut - 1) && name.startsWith(p))
      return rangeList[i];
  }
  return undefined;
}
