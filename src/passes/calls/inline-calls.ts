import { calleeName } from '../../analysis/calls/call-graph.ts';
import { loopsOf } from '../../analysis/loops/loops.ts';
import { isCall } from '../../analysis/memory/memory-ops.ts';
import { type BlockNo, type Draft, edit, type Ins, spliceFunction } from '../../ir/draft/index.ts';
import { withDeclarations } from '../../ir/edit.ts';
import { hasSsaForms } from '../../ir/flow.ts';
import { isOfStack } from '../../ir/foreign-text.ts';
import { movesOf } from '../../ir/moves.ts';
import { chosen, type Isa, withMods } from '../../ir/opcode.ts';
import {
  immOf,
  immValue,
  Kind,
  makeOperand,
  NO_REG,
  type Operand,
  type Reg,
  reg,
  regWidth,
} from '../../ir/operand.ts';
import { type Fn, type Instr, instr, type Param, type Program, type Variable } from '../../ir/program.ts';
import { printInstr } from '../../ir/text.ts';
import { UniqueNames } from '../../ir/unique-names.ts';
import type { PassContext } from '../pass.ts';

/** Limits on inlining, in instructions: a call beyond one of them stays. */
export interface Limits {
  /** Largest callee that has several calls. */
  readonly usual: number;
  /** Largest callee that has a single call, and disappears when that is inlined. */
  readonly once: number;
  /** Largest growth of a caller. */
  readonly growth: number;
}

/** A function that may be inlined. */
export interface Callee {
  readonly fn: Fn;
  /** Whether it has a single call, and nothing else reaches it. */
  readonly once: boolean;
}

/** Does it load or store a parameter or result of a function, or a variable of a call site? */
const accessesParameter = ({ op }: Instr): boolean =>
  op.space === 'param' && (op.primitive === 'load' || op.primitive === 'store');

/** Why no call of a function can be inlined; null if there is no such reason. */
export function whyNever(fn: Fn): string | null {
  if (fn.kind !== 'func') return 'it is a kernel';
  if (fn.attrs.linkage === 'weak') return 'another definition may replace the function, which is weak';
  if (fn.attrs.directives.length > 0) return `the function has the directive ${fn.attrs.directives[0]}`;
  if (hasSsaForms(fn)) return 'the function is in SSA';
  if (usesStack(fn)) return 'memory that the function takes from the stack is freed when it returns';
  const params = new Set([...fn.params, ...fn.returns].filter(isVariable).map((p) => p.name));
  const other = otherUse(fn, params, () => true);
  return other === null ? null : `the function uses its parameter ${other} other than by loads and stores`;
}

/** Does a function allocate stack memory, or read or set the end of the stack? */
const usesStack = (fn: Fn): boolean =>
  fn.blocks.some((b) => b.ins.some((x) => x.src[0]?.kind === Kind.Text && isOfStack(x.src[0].sym)));

/** Is the parameter or result a variable, and not a register? */
const isVariable = (p: Param): boolean => p.reg === NO_REG;

/**
 * A variable of `names` that has a use other than as the address of a plain access; null if there is none.
 * @param counts whether its use by a call counts, too
 */
function otherUse(fn: Fn, names: ReadonlySet<string>, counts: (call: Instr) => boolean): string | null {
  for (const b of fn.blocks)
    for (const x of b.ins)
      for (let i = 0; i < x.src.length; i++) {
        const o = x.src[i];
        if (o.kind === Kind.Text || !names.has(o.sym)) continue;
        if (accessesParameter(x) && i === 0 && o.kind === Kind.Addr && o.reg === NO_REG) continue;
        if (!isCall(x) || counts(x)) return o.sym;
      }
  return null;
}

/**
 * Inlines calls of a function: see `inlineFunctions`.
 * @param calleeOf maps a name to its function, or to the reason why its calls stay
 */
export const inlineCalls = (
  program: Program,
  fn: Fn,
  ctx: PassContext,
  limits: Limits,
  calleeOf: (name: string) => Callee | string,
): Fn => new Inliner(program, fn, ctx, limits, calleeOf).run();

const sizeOf = (fn: Fn): number => fn.blocks.reduce((n, b) => n + b.ins.length, 0);

class Inliner {
  private readonly fn: Fn;
  private readonly ctx: PassContext;
  private readonly limits: Limits;
  private readonly calleeOf: (name: string) => Callee | string;
  private readonly names: UniqueNames;
  /** Variables of the function, in order, by name. */
  private readonly variables: Map<string, Variable>;
  /** Variables of call sites that become local ones. */
  private readonly local = new Set<string>();
  /** Instructions by which the function may still grow. */
  private room: number;

  constructor(program: Program, fn: Fn, ctx: PassContext, limits: Limits, calleeOf: Inliner['calleeOf']) {
    this.fn = fn;
    this.ctx = ctx;
    this.limits = limits;
    this.calleeOf = calleeOf;
    this.room = limits.growth;
    this.variables = new Map(fn.variables.map((v) => [v.name, v]));
    const all = [
      program.variables,
      program.functions,
      program.prototypes,
      fn.variables,
      fn.params,
      fn.returns,
    ];
    this.names = new UniqueNames(all.flatMap((list) => list.map((x) => x.name)));
  }

  run(): Fn {
    const { fn, ctx } = this;
    if (!fn.blocks.some((b) => b.ins.some(isCall)) || hasSsaForms(fn)) return fn;
    const out = edit(
      fn,
      (d) => {
        for (const b of d.layout()) {
          const n = d.terminator(b);
          if (n < 0 || !isCall(d.at(n))) continue;
          const call = d.at(n);
          const where = { block: d.id(b), ins: call };
          const why = this.inline(d, n, call);
          if (why === null)
            ctx.remark('passed', 'inlined', `${printInstr(call)}: replaced by its code`, where);
          else if (why !== '')
            ctx.remark('missed', 'call', `${printInstr(call)} is not inlined: ${why}`, where);
        }
        if (this.local.size > 0) this.accessLocally(d);
      },
      ctx.isa,
    );
    if (out === fn) return fn;
    const variables = [...this.variables.values()];
    return withDeclarations(
      out,
      variables.map((v) => (this.local.has(v.name) ? { ...v, space: 'local' as const } : v)),
    );
  }

  /** Inlines the call `n`. @returns null if it was inlined, else why it stays; '' if the limit on rewrites is reached */
  private inline(d: Draft, n: Ins, call: Instr): string | null {
    if (call.guard !== NO_REG) return 'it is guarded';
    const callee = this.calleeOf(calleeName(call));
    if (typeof callee === 'string') return callee;
    const size = sizeOf(callee.fn);
    const most = callee.once ? this.limits.once : this.limits.usual;
    if (size > most) return `${size} instructions are more than ${most}`;
    if (size > this.room) return `the function has grown by ${this.limits.growth - this.room} instructions`;
    const site = this.siteOf(call, callee.fn);
    if (typeof site === 'string') return site;
    if (!this.ctx.mayRewrite('inlined', d.id(d.block(n)), call)) return '';
    this.room -= size;
    this.splice(d, d.block(n), call, callee.fn, site);
    return null;
  }

  /** Binds the callee's parameters and results to what the call site passes; or gives the reason why that is impossible. */
  private siteOf(call: Instr, callee: Fn): Site | string {
    const site: Site = { variables: new Map(), args: [], results: [] };
    let next = 2;
    let result = 0;
    const bind = (p: Param): string | null => {
      const v = this.variables.get(call.src[next++]?.sym ?? '');
      if (v === undefined || v.space !== 'param' || v.size < p.size)
        return `${p.name} gets no variable of its size`;
      if (otherUse(this.fn, new Set([v.name]), (x) => x !== call) !== null)
        return `${v.name} is used other than by this call, loads and stores`;
      // The function may write a result before it has read the last argument.
      if ([...site.variables.values()].includes(v.name)) return `${v.name} is passed to it more than once`;
      site.variables.set(p.name, v.name);
      return null;
    };
    for (const p of callee.params) {
      if (!isVariable(p)) site.args.push({ to: p.reg, from: call.src[next++] });
      else {
        const why = bind(p);
        if (why !== null) return why;
      }
    }
    for (const r of callee.returns) {
      if (!isVariable(r)) site.results.push({ to: call.dst[result++] ?? NO_REG, from: r.reg });
      else {
        const why = bind(r);
        if (why !== null) return why;
      }
    }
    return site;
  }

  private splice(d: Draft, b: BlockNo, call: Instr, callee: Fn, site: Site): void {
    const moves = movesOf(this.ctx.isa);
    const { loc } = call;
    const names = new Map(site.variables);
    for (const [param, name] of site.variables) {
      this.local.add(name);
      const p = [...callee.params, ...callee.returns].find((x) => x.name === param)!;
      const v = this.variables.get(name)!;
      if (v.align < p.align) this.variables.set(name, { ...v, align: p.align });
    }
    for (const v of callee.variables) {
      const name = this.names.take(v.name);
      names.set(v.name, name);
      this.variables.set(name, { ...v, name });
    }
    const rename = (o: Operand): Operand => {
      const name = o.kind === Kind.Text || o.sym === '' ? undefined : names.get(o.sym);
      return name === undefined ? o : makeOperand(o.kind, o.reg, o.lo, o.hi, name, o.mods);
    };
    const after = d.fall(b);
    const back = site.results.length > 0 ? d.newBlock(b, after) : after;
    const copy = spliceFunction(d, callee, b, back, rename);
    d.setTerminator(b, null, copy.entry);
    // A constant argument has 64 bits, since a call does not know how wide its parameters are.
    for (const { to, from } of site.args) {
      const value = from.kind === Kind.Imm ? immOf(immValue(from, 64), regWidth(to)) : from;
      d.append(b, moves.move(copy.register(to), value, loc));
    }
    for (const { to, from } of site.results)
      if (to !== NO_REG) d.append(back, moves.move(to, reg(copy.register(from)), loc));
    // A pragma at the entry applies to the whole function: here it is copied to each of its loops.
    const entry = callee.blocks[0].id;
    const headers = loopsOf(callee).loops.map((l) => d.id(copy.blocks.get(l.header)!));
    const added = callee.attrs.pragmas
      .filter((p) => p.block === entry)
      .flatMap(({ text }) => headers.map((block) => ({ block, text })));
    if (added.length > 0) d.pragmas = [...d.pragmas, ...added];
  }

  /** Turns accesses to variables that are now local into accesses to local memory. */
  private accessLocally(d: Draft): void {
    for (const b of d.layout())
      for (let n = d.first(b); n >= 0; n = d.next(n)) {
        const x = d.at(n);
        if (accessesParameter(x) && this.local.has(x.src[0].sym)) d.replace(n, locally(x, this.ctx.isa));
      }
  }
}

/** What a call site passes and receives. */
interface Site {
  /** By name of the parameter or result: the variable of the call site. */
  readonly variables: Map<string, string>;
  /** Parameter registers, and the values passed in them. */
  readonly args: { to: Reg; from: Operand }[];
  /** Registers of the caller, and the callee's result registers. */
  readonly results: { to: Reg; from: Reg }[];
}

/** The same access, to local memory. */
function locally(x: Instr, isa: Isa): Instr {
  const op = isa.opcodes.find((o) => o.space === 'local' && o.primitive === x.op.primitive)!;
  const mods = withMods(op, 0, ...x.op.groups.map((g) => chosen(g, x.mods).name));
  return instr(op, mods, x.dst, x.src, x.loc, x.guard, x.guardNot, x.otherwise);
}
