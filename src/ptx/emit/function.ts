import { withSource } from '../../ir/edit.ts';
import { hasMod, OpFlag, slotWidth, withMods } from '../../ir/opcode.ts';
import { Kind, label, NO_REG, type Reg, RegFile, RZ, reg, regIndex, regWidth } from '../../ir/operand.ts';
import type { Block, Fn, Instr, Param, Program, Prototype, Variable } from '../../ir/program.ts';
import { UniqueNames } from '../../ir/unique-names.ts';
import { Unsupported } from '../../ir/unsupported.ts';
import type { PtxFunction } from '../ast.ts';
import { flightFault } from '../async-fault.ts';
import { scalars } from '../lower/vectors.ts';
import { printPtxHeader } from '../print.ts';
import { shiftedWords, writeBytes } from './bytes.ts';
import { paramDecl, prototypeLine, type Signature, writeCall } from './call.ts';
import { planCarries } from './carry.ts';
import { expand, guardOf, NO_CARRY, rowOf } from './expand.ts';
import { writeForeign } from './foreign.ts';
import { Halves, withHalves } from './halves.ts';
import { planIndices } from './indices.ts';
import { packedHalves, signedLoads } from './loads.ts';
import { LineInfo } from './locs.ts';
import { hasTwoConstants, writeLogic, writeLogicTest, writeTable } from './logic.ts';
import { MASK, sharedMasks } from './masks.ts';
import { factorsOf, type ProductPlan, planProducts } from './products.ts';
import type { PtxTable, Row } from './table.ts';
import { variableText } from './variable.ts';
import { Writer } from './writer.ts';

/** Context shared by all functions of a module during emission. */
export interface ModuleContext {
  readonly program: Program;
  readonly table: PtxTable;
  /** Number of the target: 80 for sm_80. */
  readonly sm: number;
  /** Offset of kernel parameters in constant bank 0. */
  readonly paramBase: number;
  /** Names of variables and functions of the module. */
  readonly names: ReadonlySet<string>;
  /** Those that begin with `%`, as names of registers do. */
  readonly likeRegisters: readonly string[];
  readonly signatureOf: (name: string) => Signature | undefined;
  readonly prototypeOf: (name: string) => Prototype | undefined;
}

/** Context of one function during emission. */
export interface FunctionContext {
  /** The parsed function, whose header is kept; null if the program was read as Ori. */
  readonly source: PtxFunction | null;
  /** Module variables to declare in its body. */
  readonly variables: readonly Variable[];
}

/** The PTX text of a function, as lines. @throws Unsupported if an instruction has no PTX form or registers in flight are misused */
export function functionText(fn: Fn, module: ModuleContext, at: FunctionContext): string[] {
  const fault = flightFault(fn);
  if (fault !== null) throw new Unsupported(fault);
  const halves = new Halves(fn, module.table);
  const own = [...fn.params, ...fn.returns, ...fn.variables, ...at.variables, ...fn.blocks].map(
    (x) => x.name,
  );
  const likeRegisters = [...own.filter((name) => name.startsWith('%')), ...module.likeRegisters];
  const w = new Writer(fn, module.paramBase, (r) => halves.has(r), likeRegisters);
  const body = new BodyWriter(fn, w, halves, module, at);
  body.enter();
  fn.blocks.forEach((b, k) => body.block(b, fn.blocks[k + 1] ?? null));
  return [
    header(fn, at.source),
    '{',
    ...fn.attrs.pragmas
      .filter((p) => p.block === fn.blocks[0]?.id)
      .map((p) => `\t.pragma ${JSON.stringify(p.text)};`),
    ...w.declarations(),
    ...[...at.variables, ...fn.variables].map((v) => `\t${variableText(v)};`),
    ...body.declarations(),
    '',
    ...w.atEntry,
    ...w.out,
    '}',
  ];
}

/** Name of a formal parameter or result: `%in0`, `%out0` for registers, from and to which the body's own registers are copied. */
const formal = (p: Param, k: number, result: boolean): string =>
  p.reg === NO_REG ? p.name : `%${result ? 'out' : 'in'}${k}`;

function header(fn: Fn, source: PtxFunction | null): string {
  const directives = [...fn.attrs.directives, ...(fn.attrs.noreturn ? ['.noreturn'] : [])];
  const list = (ps: readonly Param[], result: boolean) => {
    const decls = source === null ? [] : scalars(result ? source.returns : source.params);
    return ps.map((p, k) => {
      const parsed = decls.at(k);
      const name = formal(p, k, result);
      return parsed === undefined
        ? paramDecl(p, name, p.reg === NO_REG ? 'param' : 'reg')
        : { ...parsed, name };
    });
  };
  return printPtxHeader({
    kind: 'function',
    span: { start: 0, end: 0, line: 0, column: 0 },
    linkage: fn.attrs.linkage,
    entry: fn.kind === 'entry',
    name: fn.name,
    returns: list(fn.returns, true),
    params: list(fn.params, false),
    directives,
    body: null,
  });
}

const identifier = /^[A-Za-z_$%][\w$]*$/;

/** The branch at the end of a block if it is taken when its predicate is false; otherwise null. */
function branchesWhereFalse(b: Block): Instr | null {
  const last = b.ins.at(-1);
  return last !== undefined && last.op.primitive === 'branch' && last.guardNot ? last : null;
}

/** Writes the instructions of a function. */
class BodyWriter {
  private readonly fn: Fn;
  private readonly w: Writer;
  private readonly halves: Halves;
  private readonly module: ModuleContext;
  private readonly lines: LineInfo;
  private readonly taken: UniqueNames;
  private readonly labels = new Map<number, string>();
  private readonly tableNames = new Map<number, string>();
  private readonly targets = new Set<number>();
  private readonly pragmas = new Map<number, string[]>();
  private readonly tables = new Set<number>();
  private readonly prototypes = new Map<string, string>();
  private readonly plan: ReturnType<typeof planCarries>;
  private readonly indices: ReturnType<typeof planIndices>;
  private readonly products: ProductPlan;
  private readonly shifted: Uint8Array;
  private readonly signed: ReadonlyMap<Instr, string>;
  private readonly packed: ReadonlySet<Instr>;
  private readonly masked: ReadonlySet<Instr>;
  /** By constant mask: the register that holds it in the block being written. */
  private readonly masks = new Map<number, Reg>();
  /** By number of a shared product: the register that holds it; NO_REG until it is written. */
  private readonly written: Reg[];
  /** Number of instructions visited so far. */
  private place = 0;

  constructor(fn: Fn, w: Writer, halves: Halves, module: ModuleContext, at: FunctionContext) {
    this.fn = fn;
    this.w = w;
    this.halves = halves;
    this.module = module;
    this.lines = new LineInfo(module.program.locs, at.source);
    this.plan = planCarries(fn);
    this.indices = planIndices(fn);
    this.products = planProducts(fn);
    this.shifted = shiftedWords(fn);
    this.signed = signedLoads(fn);
    this.packed = packedHalves(fn);
    this.masked = sharedMasks(fn);
    this.written = [...this.products.ready];
    this.findTargets();
    const own = [...fn.params, ...fn.returns, ...fn.variables, ...at.variables].map((x) => x.name);
    this.taken = new UniqueNames(own, (name) => module.names.has(name));
    // Several scopes of the source may use the same label.
    for (const b of fn.blocks)
      this.labels.set(b.id, this.taken.take(identifier.test(b.name) ? b.name : `$BB${b.id}`));
    for (const t of [...this.tables].sort((a, b) => a - b))
      this.tableNames.set(t, this.taken.take(`$ts${t}`));
    for (const p of fn.attrs.pragmas) {
      if (p.block === fn.blocks[0]?.id) continue;
      const list = this.pragmas.get(p.block);
      if (list === undefined) this.pragmas.set(p.block, [p.text]);
      else list.push(p.text);
    }
  }

  private findTargets(): void {
    for (const b of this.fn.blocks)
      for (const i of b.ins)
        for (const o of i.src) {
          if (o.kind === Kind.Label && (i.op.flags & OpFlag.Control) !== 0) this.targets.add(o.lo);
          else if (o.kind === Kind.Table) this.tables.add(o.lo);
        }
    for (const t of this.tables) for (const id of this.fn.tables[t]) this.targets.add(id);
    for (let b = 0; b + 1 < this.fn.blocks.length; b++)
      if (branchesWhereFalse(this.fn.blocks[b]) !== null) this.targets.add(this.fn.blocks[b + 1].id);
  }

  private label(block: number): string {
    const l = this.labels.get(block);
    if (l === undefined) throw new Unsupported(`BB${block} is branched to and does not exist`);
    return l;
  }

  private readonly names = {
    label: (block: number) => this.label(block),
    table: (index: number) => this.tableNames.get(index)!,
  };

  /** Declarations of jump tables and of prototypes of indirect calls, which precede their uses. */
  declarations(): string[] {
    return [
      ...[...this.tableNames].map(
        ([t, name]) => `\t${name}: .branchtargets ${this.fn.tables[t].map((b) => this.label(b)).join(', ')};`,
      ),
      ...[...this.prototypes].map(([name, line]) => prototypeLine(line, this.module.prototypeOf(name)!)),
    ];
  }

  /** Copies formal parameters in registers to the registers that the body reads. */
  enter(): void {
    for (const [k, p] of this.fn.params.entries())
      if (p.reg !== NO_REG) this.move(p, this.w.name(p.reg), formal(p, k, false), '');
  }

  private move(p: Param, to: string, from: string, guard: string): void {
    const bits = Number(/\d+$/.exec(p.type)?.[0] ?? 1);
    const into = to.startsWith('%out');
    if (p.type === 'pred') this.w.line(`${guard}mov.pred ${to}, ${from}`);
    else if (bits >= 32 || /x2$/.test(p.type)) this.w.line(`${guard}mov.b${regWidth(p.reg)} ${to}, ${from}`);
    else this.w.line(`${guard}cvt.${into ? `u${bits}.u32` : `u32.u${bits}`} ${to}, ${from}`);
  }

  /**
   * Writes a block, which is followed by `next`. A branch on a false predicate, `@!%p bra A`, becomes `@%p bra next; bra.uni A`, as nvcc
   * writes it: ptxas 13.0.88 does not unroll a loop behind `@!%p bra`.
   */
  block(b: Block, next: Block | null): void {
    const pragmas = this.pragmas.get(b.id) ?? [];
    if (this.targets.has(b.id) || pragmas.length > 0) this.w.out.push(`${this.label(b.id)}:`);
    for (const p of pragmas) this.w.out.push(`\t.pragma ${JSON.stringify(p)};`);
    const last = next === null ? null : branchesWhereFalse(b);
    this.masks.clear();
    for (const i of b.ins) {
      const product = this.products.shared.get(this.place++);
      if (product !== undefined) this.sumOfProduct(i, product);
      else if (this.masked.has(i)) this.instruction(this.withMask(i));
      else if (i === last) {
        this.instruction({ ...i, guardNot: false, src: [label(next!.id)] });
        this.instruction({ ...i, mods: withMods(i.op, i.mods, 'U'), guard: NO_REG, guardNot: false });
      } else this.instruction(this.indices.jumps.get(i) ?? i);
    }
  }

  /** A shuffle that reads its constant mask from a register, which is written before the first one of a block. */
  private withMask(i: Instr): Instr {
    const { lo } = i.src[MASK];
    const mask = this.masks.get(lo) ?? this.w.register(RegFile.R);
    if (!this.masks.has(lo)) {
      this.masks.set(lo, mask);
      this.w.line(`mov.b32 ${this.w.name(mask)}, ${this.w.value(i.src[MASK], 32, 'u32', 0)}`);
    }
    return withSource(i, MASK, reg(mask));
  }

  /** Writes the sum of a shared product and an addend, preceded by the product if it has not been written yet. */
  private sumOfProduct(i: Instr, product: number): void {
    const [factor, by, more] = factorsOf(i);
    if (this.written[product] === NO_REG) {
      this.written[product] = this.w.register(RegFile.RD);
      const src = i.op.name === 'LEA' ? [factor, RZ, by] : [factor, by, RZ];
      this.instruction({ ...i, dst: [this.written[product]], src });
    }
    for (const l of this.lines.before(i.loc)) this.w.out.push(`\t${l}`);
    const addend = this.w.value(more, 64, 's64', more.mods);
    this.w.line(`add.s64 ${this.w.name(i.dst[0])}, ${this.w.name(this.written[product])}, ${addend}`);
  }

  private instruction(instr: Instr): void {
    const signed = this.halves.has(instr.dst[0] ?? NO_REG) ? undefined : this.signed.get(instr);
    const i = signed === undefined ? instr : { ...instr, mods: withMods(instr.op, instr.mods, signed) };
    if (this.plan.dropped.has(i) || this.indices.dropped.has(i)) return;
    for (const l of this.lines.before(i.loc)) this.w.out.push(`\t${l}`);
    const bank =
      i.op.primitive === 'cvta' &&
      this.fn.kind === 'entry' &&
      hasMod(i.op, i.mods, 'PARAM') &&
      !hasMod(i.op, i.mods, 'TO');
    if (bank && i.src[0].kind !== Kind.Sym) return this.parameterAddress(i);
    if (this.halves.any && this.halves.writePair(this.w, i)) return;
    if (this.packed.has(i)) return this.pack(i);
    const row = rowOf(this.module.table, i, this.module.sm, this.plan.carries.get(i) ?? NO_CARRY);
    if (row.by === 'logic') {
      const width = slotWidth(i.op, i.mods, i.op.dsts[0]);
      if (width === 32 && this.isShifted(i.dst[0]) && writeBytes(this.w, i)) return;
      if (width === 32 && hasTwoConstants(i) && this.halves.isPair(i.dst[0])) writeTable(this.w, i);
      else writeLogic(this.w, i, width);
    } else if (row.by === 'logic-test') writeLogicTest(this.w, i);
    else if (row.by === 'foreign') writeForeign(this.w, i);
    else if (row.by === 'call')
      writeCall(this.w, i, this.module.signatureOf, (p) => this.prototype(p), hasMod(i.op, i.mods, 'U'));
    else {
      if (i.op.primitive === 'return') this.leave(i);
      if (this.halves.any) this.withHalves(i, row);
      else expand(this.w, row, i, this.names);
    }
  }

  /** Writes a word whose upper half is a loaded half, and whose lower one is 0. */
  private pack(i: Instr): void {
    const { w } = this;
    const word = w.value(i.src[0], 32, 'b32', 0);
    const half = w.temp('h');
    w.line(`cvt.u16.u32 ${half}, ${word}`);
    w.line(`mov.b32 ${w.name(i.dst[0])}, {0, ${half}}`);
  }

  private isShifted(r: Reg): boolean {
    return r !== NO_REG && this.shifted[regIndex(r)] === 1;
  }

  /** Writes the lines of a row that may have 16-bit registers as operands. */
  private withHalves(i: Instr, row: Row): void {
    const { w, halves } = this;
    const first = w.out.length;
    w.takesHalves = halves.readsHalves(i);
    expand(w, row, i, this.names);
    w.takesHalves = false;
    const scalar = halves.isScalar(i);
    for (let k = first; k < w.out.length; k++) w.out[k] = withHalves(w.out[k], scalar);
  }

  /** Writes the generic address of a parameter: Ori has its offset in the constant bank, PTX its name. */
  private parameterAddress(i: Instr): void {
    if (i.dst[0] === NO_REG) return;
    const at = this.w.bankAddress(this.w.value(i.src[0], 64, 'reg', 0), 64, 0);
    const [base, offset] = at.split('+');
    let from = base;
    if (offset !== undefined) {
      from = this.w.temp('w');
      this.w.line(`add.s64 ${from}, ${base}, ${at.slice(base.length + 1)}`);
    }
    this.w.line(`${guardOf(this.w, i)}cvta.param.u64 ${this.w.name(i.dst[0])}, ${from}`);
  }

  private leave(i: Instr): void {
    for (const [k, p] of this.fn.returns.entries())
      if (p.reg !== NO_REG) this.move(p, formal(p, k, true), this.w.name(p.reg), guardOf(this.w, i));
  }

  private prototype(name: string): string {
    if (this.module.prototypeOf(name) === undefined)
      throw new Unsupported(`the prototype '${name}' is not declared`);
    let short = this.prototypes.get(name);
    if (short === undefined) {
      short = this.taken.take(`$proto${this.prototypes.size}`);
      this.prototypes.set(name, short);
    }
    return short;
  }
}
