import { isPlainLoad } from '../../analysis/calls/effects.ts';
import { cfgOf } from '../../analysis/flow/cfg.ts';
import { dominates, dominatorsOf } from '../../analysis/flow/dominators.ts';
import {
  type Member,
  type Run,
  runsOf,
  WIDEST,
  withoutCount,
} from '../../analysis/memory/adjacent-accesses.ts';
import { staysInOrder } from '../../analysis/memory/alias.ts';
import { Alignments, type Declared, isMultiple, type LowBits } from '../../analysis/memory/alignment.ts';
import { memorySsaOf } from '../../analysis/memory/memory-ssa.ts';
import { provenanceOf } from '../../analysis/memory/provenance.ts';
import { VariableLayout } from '../../analysis/memory/variable-layout.ts';
import { LiveClass, liveClassOf, Pool } from '../../analysis/registers/liveness.ts';
import { pressureOf } from '../../analysis/registers/pressure.ts';
import { type BlockNo, type Draft, edit, type Ins } from '../../ir/draft/index.ts';
import { withDeclarations } from '../../ir/edit.ts';
import { withMods } from '../../ir/opcode.ts';
import { Kind, makeOperand, NO_REG, type Operand, type Reg, regIndex, regWidth } from '../../ir/operand.ts';
import { type Fn, type Instr, instr, NONE, type Program } from '../../ir/program.ts';
import { printInstr } from '../../ir/text.ts';
import { accessBytes } from '../../isa/accesses.ts';
import { allInSsa } from '../../ssa/registers.ts';
import { isSet, type PassContext, type ProgramPass } from '../pass.ts';

/**
 * Maximum number of accesses that a moving member is compared with; a run that would pass more stays. The walk through memory SSA has
 * the same limit.
 */
const MOST_PASSED = 100;

/**
 * Phases Vectorization and LateVectorization: loads or stores of adjacent places become one vector access.
 *
 *     before                              after
 *     .var shared b32 t size 64 align 4   .var shared b32 t size 64 align 16
 *     BB0:                                BB0:
 *           MOV R1, &t                          MOV R1, &t
 *           LDS R2, [R1]                        LDS.V4 {R2, R4, R6, R7}, [R1]
 *           FADD R3, R2, R9                     FADD R3, R2, R9
 *           LDS R4, [R1+4]                      FADD R5, R3, R4
 *           FADD R5, R3, R4                     STG.V2 [RD8], {R6, R7}
 *           LDS.V2 {R6, R7}, [R1+8]
 *           STG [RD8], R6
 *           STG [RD8+4], R7
 *
 * Members of a run are in one block and have the same opcode, modifiers, guard, base register and symbol; their offsets follow each
 * other without a gap, and together they fill two or four elements, at most 16 bytes. Elements of less than `least-element` bytes stay
 * separate: the hardware has no vectors of them, and extracting one from a word costs as much as a load. Volatile, relaxed and all
 * other strong operations stay, and so do those that bypass or write through the caches.
 *
 * Memory: loads move up to the first member, stores down to the last. Nothing that they pass may touch what they
 * access (`staysInOrder`), and they pass no barrier, fence or operation between lanes. Every member would have run where
 * the vector access does, so that it can only fault if the program did.
 *
 * Alignment: the vector access must be aligned to its size. That is known from declarations (variables, `.ptr` of
 * kernel parameters) and the arithmetic of the address (`Alignments`), or from an access above that dominates the place
 * and has the same base: a misaligned one would have faulted (PTX ISA 9.0, 9.7.9: the address must be aligned to the
 * access). If an address is derived from a variable of the module that other modules cannot define, the variable is
 * aligned as needed, unless this would add more than `most-padding` bytes to the variables of its space in order of
 * declaration.
 *
 * Registers: a loaded value lives from the first member on, a stored value down to the last. A run stays if more than
 * `max-pressure` registers (32-bit units) would be live in between, and more than there were at any of its points
 * before. Loads of kernel parameters, which cost next to nothing, are merged only if they are at most `param-window`
 * instructions apart (0: not at all).
 *
 * Knobs DisableReadVectorization and DisableWriteVectorization: loads or stores stay as they are.
 *
 * Requires: control-last, ssa. Guarantees: ssa; blocks and edges stay. A function is processed again while something changes, at most
 * `ROUNDS` times; a second application may find that a run fits because fewer registers are live; otherwise it changes nothing.
 * Bound: each instruction is examined once; with adjacent accesses, the cost of `accessesOf`, and `MOST_PASSED` comparisons for each
 * member.
 */
export const vectorize: ProgramPass = (program, ctx) => {
  const layout = new VariableLayout(program, Number(ctx.params['most-padding'] ?? 0));
  const open = new Set(ctx.functions);
  let changed = false;
  const functions: Fn[] = [];
  for (const fn of program.functions) {
    const out = open.has(fn) ? overFunction(fn, program, ctx.of(fn), layout) : fn;
    changed ||= out !== fn;
    functions.push(out);
  }
  return changed ? { ...program, functions, variables: layout.of(program.variables) } : program;
};

/** A merged access is a member of a wider one in the next round; there are three widths above the narrowest. */
const ROUNDS = 3;

function overFunction(fn: Fn, program: Program, ctx: PassContext, layout: VariableLayout): Fn {
  const loads = !isSet(ctx.knob('DisableReadVectorization'));
  const stores = !isSet(ctx.knob('DisableWriteVectorization'));
  const least = Number(ctx.params['least-element'] ?? 1);
  const wanted = (x: Instr): boolean => (x.op.primitive === 'load' ? loads : stores) && allInSsa(x);
  for (let round = 0; round < ROUNDS; round++) {
    const runs = runsOf(fn, { wanted, least, paramBase: base(ctx) });
    if (runs.length === 0) return fn;
    const before = fn;
    fn = edit(fn, (d) => new Vectorizer(d, before, program, ctx, layout).run(runs));
    if (fn === before) return fn;
    const variables = layout.of(fn.variables);
    if (variables !== fn.variables) fn = withDeclarations(fn, variables);
  }
  return fn;
}

// -------------------------------------------------------------------- merging

const base = (ctx: PassContext): number => Number(ctx.fact('param-base'));

/** An access that proves the alignment of its base by not faulting. */
interface Proof {
  readonly n: Ins;
  readonly block: BlockNo;
  readonly guard: Reg;
  readonly guardNot: boolean;
  readonly at: number;
  readonly bytes: number;
}

class Vectorizer {
  private readonly d: Draft;
  private readonly fn: Fn;
  private readonly program: Program;
  private readonly ctx: PassContext;
  private readonly layout: VariableLayout;
  private readonly maxPressure: number;
  private readonly paramWindow: number;
  private readonly declared: Declared;
  private readonly alignments: Alignments;
  /** By variable and alignment: the low bits of addresses if the variable were aligned so. */
  private readonly hypothetical = new Map<string, Alignments>();
  /** By base: the accesses that prove its alignment. */
  private proofs: ReadonlyMap<string, readonly Proof[]> | null = null;
  /** By merged access: numbers of the accesses that it replaces. */
  private readonly parts = new Map<Ins, readonly Ins[]>();
  /** For the current block: its memory accesses in order, and the registers live before each instruction. */
  private block = -1;
  private accesses: Ins[] = [];
  private live: Int32Array | null = null;
  private start = 0;

  constructor(d: Draft, fn: Fn, program: Program, ctx: PassContext, layout: VariableLayout) {
    this.d = d;
    this.fn = fn;
    this.program = program;
    this.ctx = ctx;
    this.layout = layout;
    this.maxPressure = Number(ctx.params['max-pressure'] ?? Number.POSITIVE_INFINITY);
    this.paramWindow = Number(ctx.params['param-window'] ?? Number.POSITIVE_INFINITY);
    this.declared = {
      variable: (name) => layout.alignOf(fn, name),
      pointee: (offset) => {
        if (fn.kind !== 'entry') return 1;
        const at = offset - base(ctx);
        return Math.max(1, fn.params.find((p) => p.offset === at)?.pointeeAlign ?? 1);
      },
    };
    this.alignments = new Alignments(fn, this.declared);
  }

  run(runs: readonly Run[]): void {
    const { rpo } = cfgOf(this.fn);
    const reached = new Set(rpo);
    for (const run of runs) {
      if (!reached.has(run.block)) continue;
      if (run.block !== this.block) this.enter(run.block);
      const left = run.members.toSorted((a, b) => a.at - b.at);
      for (let bytes = WIDEST; bytes > run.element; bytes /= 2) {
        const count = bytes / run.element;
        if (count !== 2 && count !== 4) continue;
        for (let i = 0; i + 1 < left.length; i++) {
          const end = tiled(left, i, bytes);
          const n = end < 0 ? -1 : this.merge(run, left.slice(i, end), bytes);
          if (n >= 0) left.splice(i, end - i, { n, at: left[i].at, bytes });
        }
      }
    }
  }

  private enter(b: BlockNo): void {
    const { d } = this;
    this.block = b;
    this.live = null;
    this.accesses = [];
    this.start = d.first(b);
    for (let n = this.start; n >= 0; n = d.next(n)) if (d.at(n).op.accesses.length > 0) this.accesses.push(n);
  }

  /** Merges members that fill `bytes` bytes. @returns the vector access, or -1 if they cannot be merged */
  private merge(run: Run, members: readonly Member[], bytes: number): Ins {
    const { d, ctx } = this;
    const inOrder = members.map((m) => m.n).sort((a, b) => a - b);
    const x = d.at(members[0].n);
    const isLoad = x.op.primitive === 'load';
    const [top, bottom] = [inOrder[0], inOrder[inOrder.length - 1]];
    if (run.param !== null && bottom - top > this.paramWindow) return -1;
    const place = isLoad ? top : bottom;
    const raise = this.alignmentFor(run, members, bytes, place);
    if (raise === null) return this.stays('alignment', `is not known to be aligned to ${bytes} bytes`, x);
    const moving = isLoad ? inOrder.slice(1) : inOrder.slice(0, -1);
    if (!moving.every((n) => (isLoad ? this.mayRise(n, top) : this.mayPass(n, n, bottom)))) return -1;
    const change = this.changeOfLives(members, moving, top, bottom, isLoad);
    const more = this.tooMany(change, top);
    if (more > 0) return this.stays('pressure', `${more} registers would be live`, x);
    if (!ctx.mayRewrite('vectorized', d.id(this.block), x)) return -1;
    if (raise !== '') this.layout.raise(this.fn, raise, bytes);
    const { loc } = d.at(place);
    const merged = joined(
      members.map((m) => d.at(m.n)),
      bytes / run.element,
      loc,
    );
    const message = `${members.length} ${isLoad ? 'loads' : 'stores'} as ${printInstr(merged)}`;
    ctx.remark('passed', 'vectorized', message, { block: d.id(this.block), ins: merged });
    this.parts.set(
      place,
      inOrder.flatMap((n) => this.parts.get(n) ?? [n]),
    );
    if (this.live !== null) for (const [k, c] of change.entries()) this.live[top - this.start + 1 + k] += c;
    for (const n of moving) d.remove(n);
    d.replace(place, merged);
    return place;
  }

  private stays(name: string, why: string, x: Instr): Ins {
    this.ctx.remark('missed', name, `${printInstr(x)} ${why}`, { block: this.d.id(this.block), ins: x });
    return -1;
  }

  // ------------------------------------------------------------------ memory

  /** May a load move up to another one with the same base and guard? */
  private mayRise(n: Ins, top: Ins): boolean {
    const { d } = this;
    const x = d.at(n);
    for (const r of x.otherwise) {
      const def = r === NO_REG ? -1 : d.def(r);
      if (def >= top && d.block(def) === this.block) return false;
    }
    return this.mayPass(n, top, n);
  }

  /** May an access pass all others between two places of its block? Members of its run do not overlap with it. */
  private mayPass(n: Ins, from: Ins, to: Ins): boolean {
    const { d, accesses } = this;
    const isLoad = d.at(n).op.primitive === 'load';
    let passed = 0;
    for (let i = indexAfter(accesses, from); i < accesses.length && accesses[i] < to; i++) {
      const m = accesses[i];
      if (d.isRemoved(m) || (isLoad && isPlainLoad(d.at(m)))) continue;
      if (++passed > MOST_PASSED || this.staysInOrder(n, m)) return false;
    }
    return true;
  }

  private staysInOrder(n: Ins, m: Ins): boolean {
    const { accesses } = memorySsaOf(this.fn, this.program);
    const others = this.parts.get(m) ?? [m];
    return (this.parts.get(n) ?? [n]).some((p) => others.some((q) => staysInOrder(accesses, p, q)));
  }

  // ------------------------------------------------------------------ registers

  /** Registers live before each instruction of the block, including the effect of merged accesses. */
  private units(): Int32Array {
    this.live ??= pressureOf(this.fn).at(this.block, Pool.R).slice();
    return this.live;
  }

  /**
   * By place after the first member: the change in the number of live registers if these accesses move. A base that nothing else reads
   * dies at the first load.
   */
  private changeOfLives(
    members: readonly Member[],
    moving: readonly Ins[],
    top: Ins,
    bottom: Ins,
    up: boolean,
  ): Int32Array {
    const { d } = this;
    const change = new Int32Array(bottom - top);
    for (const n of moving) {
      const units = unitsOf(d.at(n));
      const [from, to] = up ? [top + 1, n] : [n + 1, bottom];
      for (let p = from; p <= to; p++) change[p - top - 1] += units;
    }
    const { reg } = d.at(top).src[0];
    if (up && reg !== NO_REG && d.useCount(reg) === members.length)
      for (let k = 0; k < change.length; k++) change[k] -= regWidth(reg) / 32;
    return change;
  }

  /** The number of registers that would be live after such a change, if it is too high; else 0. */
  private tooMany(change: Int32Array, top: Ins): number {
    if (this.maxPressure === Number.POSITIVE_INFINITY) return 0;
    const live = this.units();
    const from = top - this.start;
    let before = Math.max(live[from], live[from + change.length + 1]);
    let after = 0;
    for (let k = 0; k < change.length; k++) {
      before = Math.max(before, live[from + 1 + k]);
      after = Math.max(after, live[from + 1 + k] + change[k]);
    }
    return after > this.maxPressure && after > before ? after : 0;
  }

  // ------------------------------------------------------------------ alignment

  /**
   * The variable whose alignment must be raised for a vector access; '' if the alignment suffices, null if it is not known and cannot
   * be achieved.
   */
  private alignmentFor(run: Run, members: readonly Member[], bytes: number, place: Ins): string | null {
    const { at } = members[0];
    if (run.param !== null)
      return isMultiple({ known: Math.log2(run.param.align), value: 0 }, at, bytes) &&
        at + bytes <= run.param.size
        ? ''
        : null;
    const x = this.d.at(members[0].n);
    const o = x.src[0];
    if (isMultiple(this.alignments.baseBits(o), at, bytes)) return '';
    if (this.isProved(x, at, bytes, place)) return '';
    const object = this.objectOf(o);
    if (object === null || !this.layout.mayRaise(this.fn, object, bytes)) return null;
    return isMultiple(this.ifAligned(object, bytes, o), at, bytes) ? object : null;
  }

  /** Low bits of a base if a variable were aligned. */
  private ifAligned(variable: string, bytes: number, o: Operand): LowBits {
    const { declared, hypothetical } = this;
    const key = `${variable} ${bytes}`;
    let known = hypothetical.get(key);
    if (known === undefined) {
      const of = (name: string): number => (name === variable ? bytes : declared.variable(name));
      known = new Alignments(this.fn, { variable: of, pointee: declared.pointee });
      hypothetical.set(key, known);
    }
    return known.baseBits(o);
  }

  /** Name of the variable that an address is derived from; null if there is none, or not just one. */
  private objectOf(o: Operand): string | null {
    const { of, objects } = provenanceOf(this.fn, this.program.variables);
    if (o.sym !== '') return o.sym;
    const id = o.reg === NO_REG ? -1 : of[regIndex(o.reg)];
    return id >= 0 && objects[id].kind === 'variable' ? objects[id].name : null;
  }

  /** Does a dominating access with the same base prove the alignment? */
  private isProved(x: Instr, at: number, bytes: number, place: Ins): boolean {
    this.proofs ??= proofsOf(this.fn);
    const tree = dominatorsOf(this.fn);
    return (this.proofs.get(baseKey(x)) ?? []).some(
      (p) =>
        p.bytes >= bytes &&
        ((at - p.at) & (bytes - 1)) === 0 &&
        (p.guard === NO_REG || (p.guard === x.guard && p.guardNot === x.guardNot)) &&
        (p.block === this.block ? p.n <= place : dominates(tree, p.block, this.block)),
    );
  }
}

/** One past the last of the members that, from member `i` on, fill `bytes` bytes without a gap; -1 if they do not. */
function tiled(list: readonly Member[], i: number, bytes: number): number {
  let { at } = list[i];
  const end = at + bytes;
  let k = i;
  while (k < list.length && list[k].at === at && at < end) at += list[k++].bytes;
  return at === end && k > i + 1 ? k : -1;
}

/** Index of the first number greater than `n` in an ascending list; the length if there is none. */
function indexAfter(list: readonly number[], n: number): number {
  let lo = 0;
  let hi = list.length;
  while (lo < hi) {
    const mid = (lo + hi) >> 1;
    if (list[mid] <= n) lo = mid + 1;
    else hi = mid;
  }
  return lo;
}

/** The vector access that replaces these, which are in order of their addresses. */
function joined(members: readonly Instr[], count: number, loc: number): Instr {
  const [x] = members;
  const mods = withMods(x.op, withoutCount(x), `V${count}`);
  const [o] = x.src;
  const to = makeOperand(o.kind, o.reg, o.lo, o.hi, o.sym, o.mods);
  const dst: Reg[] = [];
  const src = [to];
  const otherwise: Reg[] = [];
  for (const m of members) {
    dst.push(...m.dst);
    for (let k = 1; k < m.src.length; k++) src.push(m.src[k]);
    otherwise.push(...m.otherwise);
  }
  return instr(x.op, mods, dst, src, loc, x.guard, x.guardNot, x.otherwise.length === 0 ? NONE : otherwise);
}

/** 32-bit general registers that a load writes or a store reads. */
function unitsOf({ dst, src }: Instr): number {
  let units = 0;
  const add = (r: Reg): void => {
    if (r !== NO_REG && liveClassOf(r) === LiveClass.R) units += regWidth(r) / 32;
  };
  if (dst.length > 0) dst.forEach(add);
  else for (let i = 1; i < src.length; i++) add(src[i].reg);
  return units;
}

const baseKey = ({ src: [o] }: Instr): string => `${o.reg} ${o.sym}`;

/** Accesses of more than one byte, which prove alignment, by base. Of those in one block that prove the same, the first. */
function proofsOf(fn: Fn): Map<string, Proof[]> {
  const out = new Map<string, Proof[]>();
  const known = new Set<string>();
  let n = 0;
  for (const [block, { ins }] of fn.blocks.entries())
    for (const x of ins) {
      const at = n++;
      const { primitive, accesses } = x.op;
      if ((primitive !== 'load' && primitive !== 'store') || x.src[0].kind !== Kind.Addr) continue;
      const bytes = accessBytes(accesses[0], x.mods);
      if (bytes < 2) continue;
      const key = baseKey(x);
      const what = `${key} ${block} ${x.guard} ${x.guardNot} ${bytes} ${x.src[0].lo & (bytes - 1)}`;
      if (known.has(what)) continue;
      known.add(what);
      const proof: Proof = { n: at, block, guard: x.guard, guardNot: x.guardNot, at: x.src[0].lo, bytes };
      const list = out.get(key);
      if (list === undefined) out.set(key, [proof]);
      else list.push(proof);
    }
  return out;
}
