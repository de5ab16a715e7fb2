import type { Elf } from '../cubin/elf.ts';
import { branchTargets, type CubinFunction, functionsOf } from '../cubin/functions.ts';
import { describe, EIATTR } from '../cubin/info.ts';
import type { Isa } from '../ir/opcode.ts';
import { Kind, makeReg, NO_REG, RegFile, sym } from '../ir/operand.ts';
import {
  type Block,
  type Fn,
  type Instr,
  instr,
  type Loc,
  makeFn,
  newShape,
  type Program,
  type Prototype,
  type Variable,
} from '../ir/program.ts';
import { Unsupported } from '../ir/unsupported.ts';
import { argumentRegisters } from '../machine/calling-convention.ts';
import type { Instruction } from '../machine/decode.ts';
import type { Machine } from '../machine/forms.ts';
import { type Listed, listCode } from '../machine/listing.ts';
import { instructionText, WORD_BYTES } from '../machine/text.ts';
import { checkAgreement } from './agreement.ts';
import { type BankContext, Banks } from './banks.ts';
import { Builder } from './builder.ts';
import { CONTROL, type Flow } from './control.ts';
import { externalCall } from './external-calls.ts';
import { FLOAT } from './float.ts';
import { HALF } from './half.ts';
import { INTEGER } from './integer.ts';
import { MATRIX } from './matrix.ts';
import { MEMORY } from './memory.ts';
import { FIRST_TEMPORARY } from './registers.ts';
import { liftedVariables, plainVariable, SHARED } from './variables.ts';
import { WARP } from './warp.ts';

/** One machine instruction of a lifted function. */
export interface LiftedWord {
  /** Function of the cubin that contains it, and its byte offset there. */
  readonly fn: string;
  readonly offset: number;
  readonly text: string;
  readonly listed: Listed;
  /** Id of the block that contains it. */
  readonly block: number;
}

/** A reachable instruction without a translation. */
export interface Gap {
  readonly word: LiftedWord;
  readonly why: string;
}

/** A kernel of a cubin, lifted to Ori. */
export interface Lifted {
  readonly program: Program;
  readonly kernel: string;
  /** Offsets of the module's constant variables in their bank, by name. */
  readonly constantsAt: ReadonlyMap<string, number>;
  /** Indexed by `Instr.loc` minus one. */
  readonly words: readonly LiftedWord[];
  /** Number of machine instructions in each block, by block id. */
  readonly sizes: ReadonlyMap<number, number>;
  readonly gaps: readonly Gap[];
}

/** Translators of instructions other than control flow, by row of the form. */
const MEANINGS = { ...INTEGER, ...FLOAT, ...HALF, ...MEMORY, ...WARP, ...MATRIX };

/** Rows that end a block. */
const ENDS = new Set([
  'EXIT',
  'BRA',
  'BRA.u',
  'BRA.up',
  'BRX',
  'BRXU',
  'CALL.REL',
  'CALL.REL.r',
  'CALL.ABS',
  'RET',
]);
/** Rows whose operand `t` is the address of a block. */
const NAMES_A_PLACE = new Set(['BRA', 'BRA.u', 'BRA.up', 'CALL.REL', 'BSSY']);
const CALLS = new Set(['CALL.REL', 'CALL.REL.r', 'CALL.ABS']);

/** Alignment of code sections in their common address space. */
const SECTION_ALIGN = 128;
/** Stack bytes of a thread if functions call each other, which may be recursive. */
const CALL_STACK = 1 << 15;
/**
 * Maximum number of entries in all jump tables of a kernel. A table has one entry per word between its first and last target, so a few
 * indirect jumps across much code could exhaust memory.
 */
const MOST_TARGETS = 2 ** 20;

const NOWHERE: Flow = { blockAt: () => 0, tableOf: () => ({ first: 0, index: 0 }) };

/**
 * Translates a single instruction; jump targets are replaced by dummies. Null if its meaning is unknown.
 *
 * @param banks the constant banks of its function
 */
export function meaningOf(isa: Isa, machine: Machine, banks: Banks, i: Instruction): Instr[] | null {
  const b = new Builder(isa, machine, banks, i, 0, 0);
  const { row } = i.form;
  try {
    if (row in MEANINGS) MEANINGS[row](b);
    else if (row in CONTROL) CONTROL[row](b, NOWHERE);
    else return null;
    return b.finish();
  } catch (e) {
    if (e instanceof Unsupported) return null;
    throw e;
  }
}

/** Constant banks of a function when nothing is known about its module. */
export const plainBanks = (elf: Elf, fn: CubinFunction, machine: Machine): Banks =>
  new Banks(elf, fn, {
    paramBase: 0,
    params: [],
    driver: machine.driver,
    stack: 0,
    functionAddress: () => 0,
  });

/**
 * Lifts a kernel's machine code to one Ori function over hardware registers. It includes the code of every function that may be called,
 * since calls and returns are jumps. Convergence barriers are kept.
 *
 * @param module the module that the code was compiled from: its variables, and the kernel's parameters
 * @param paramBase offset of arguments in constant bank 0 of Ori
 * @throws Unsupported if the cubin or the module has no such kernel
 */
export function liftKernel(
  elf: Elf,
  machine: Machine,
  isa: Isa,
  module: Program,
  kernel: string,
  paramBase: number,
): Lifted {
  return new Lifter(elf, machine, isa, module, kernel, paramBase).lift();
}

/** A function that is called and has no code in the cubin. */
interface External {
  readonly prototype: Prototype;
  /** The first register of each parameter. */
  readonly places: readonly number[];
  readonly at: number;
}

interface Section {
  readonly fn: CubinFunction;
  readonly code: readonly Listed[];
  readonly base: number;
}

class Lifter {
  private readonly machine: Machine;
  private readonly isa: Isa;
  private readonly elf: Elf;
  private readonly module: Program;
  private readonly kernel: string;
  private readonly paramBase: number;
  private readonly sections: Section[] = [];
  private readonly functions = new Map<string, number>();
  private readonly starts = new Map<number, number>();
  private readonly tables: number[][] = [];
  private readonly tablesByKey = new Map<string, { first: number; index: number }>();
  /** Number of entries left for further tables. */
  private room = MOST_TARGETS;
  /** Cached results of `branchTargets`. */
  private readonly targets = new Map<CubinFunction, Map<number, number[]>>();
  private readonly returns: number[] = [];
  private trapBlock = -1;

  constructor(elf: Elf, machine: Machine, isa: Isa, module: Program, kernel: string, paramBase: number) {
    this.elf = elf;
    this.machine = machine;
    this.isa = isa;
    this.module = module;
    this.kernel = kernel;
    this.paramBase = paramBase;
  }

  lift(): Lifted {
    const end = this.placeSections();
    const externals = this.placeExternals(end);
    const leaders = this.leaders();
    for (const e of externals) leaders.add(e.at);
    let next = 0;
    for (const a of [...leaders].sort((x, y) => x - y)) this.starts.set(a, next++);
    this.trapBlock = next;
    const { fn } = this.sections[0];
    checkAgreement(this.elf, fn, this.module);
    const formal = this.module.functions.find((f) => f.name === this.kernel);
    if (formal === undefined) throw new Unsupported(`${this.module.name} has no kernel '${this.kernel}'`);
    const stack = this.stackBytes(fn);
    const banks = new Banks(this.elf, fn, this.bankContext(formal.params, stack));
    banks.copies = this.sections.some((s) => s.code.some((w) => w.instruction?.form.row === 'LDGDEPBAR'));
    const words: LiftedWord[] = [];
    const locs: Loc[] = [{ line: 0, file: 0, srcLine: 0, srcColumn: 0 }];
    const blocks: Block[] = [];
    const sizes = new Map<number, number>();
    const gaps = new Map<number, string>();
    let registers = FIRST_TEMPORARY;
    let current: { id: number; name: string; ins: Instr[]; count: number } | null = null;
    const close = (): void => {
      if (current === null) return;
      blocks.push({ id: current.id, name: current.name, ins: current.ins });
      sizes.set(current.id, current.count);
      current = null;
    };
    for (const s of this.sections)
      for (const w of s.code) {
        const at = s.base + w.address;
        const id = this.starts.get(at);
        if (id !== undefined || current === null) {
          close();
          if (id === undefined) continue;
          current = { id, name: w.address === 0 ? s.fn.name : '', ins: [], count: 0 };
        }
        const text = w.instruction === null ? '' : instructionText(this.machine, w.instruction, w.address);
        const loc = words.push({
          fn: s.fn.name,
          offset: w.address,
          text,
          listed: w,
          block: current.id,
        });
        locs.push({ line: w.places.ptx?.line ?? 0, file: 0, srcLine: 0, srcColumn: 0 });
        current.count++;
        const made = this.meaningOf(w, at, loc, banks);
        if (typeof made === 'string') {
          gaps.set(loc, made);
          current.ins.push(this.trap(loc));
        } else {
          current.ins.push(...made.ins);
          registers = Math.max(registers, made.registers);
        }
        if (w.instruction !== null && ENDS.has(w.instruction.form.row)) close();
      }
    close();
    const variables: Variable[] = [];
    for (const { prototype, places, at } of externals) {
      if (this.returns.length === 0) break;
      const call = externalCall(this.isa, prototype, places, this.tableOf('return', at));
      blocks.push({ id: this.starts.get(at)!, name: prototype.name, ins: [...call.ins] });
      registers = Math.max(registers, call.registers);
      for (const v of call.variables) if (!variables.includes(v)) variables.push(v);
    }
    blocks.push({ id: this.trapBlock, name: '', ins: [this.trap(0)] });
    blocks[0] = { ...blocks[0], ins: [this.mention(registers), ...blocks[0].ins] };
    const attrs: Fn['attrs'] = { ...formal.attrs, pragmas: [], counts: [] };
    const lifted = makeFn({
      name: this.kernel,
      kind: 'entry',
      params: formal.params,
      returns: [],
      blocks: blocks.map((b) =>
        b.ins.length > 0 ? b : { ...b, ins: [instr(this.isa.byName.get('NOP')!, 0, [], [])] },
      ),
      regCount: registers + 4,
      blockCount: this.trapBlock + 1,
      variables: [...(stack > 0 ? [plainVariable('stack', 'local', stack, 16, null)] : []), ...variables],
      tables: this.tables,
      attrs,
      shape: newShape(),
    });
    const reached = reachable(lifted);
    const program: Program = {
      ...this.module,
      functions: [lifted],
      variables: liftedVariables(this.elf, this.machine, this.module, fn, banks),
      locs,
      skipped: [],
    };
    return {
      program,
      kernel: this.kernel,
      constantsAt: new Map(banks.variables(3).map((v) => [v.symbol.sym, v.at])),
      words,
      sizes,
      gaps: [...gaps].flatMap(([loc, why]) =>
        blocks.some((b) => reached.has(b.id) && b.ins.some((x) => x.loc === loc))
          ? [{ word: words[loc - 1], why }]
          : [],
      ),
    };
  }

  /** Lays out the kernel's section, followed by the sections of all functions that are not kernels. @returns the first free address */
  private placeSections(): number {
    const all = listCode(this.elf, this.machine);
    const own = all.find((s) => s.fn.name === this.kernel);
    if (own === undefined) {
      const names = all.filter((s) => s.fn.entry).map((s) => s.fn.name);
      throw new Unsupported(`the cubin has no kernel '${this.kernel}'; it has ${names.join(', ') || 'none'}`);
    }
    let base = 0;
    for (const s of [own, ...all.filter((x) => x !== own && !x.fn.entry)]) {
      this.sections.push({ fn: s.fn, code: s.code, base });
      for (const l of s.fn.labels) this.functions.set(l.name, base + l.offset);
      base += Math.ceil((s.code.length * WORD_BYTES) / SECTION_ALIGN) * SECTION_ALIGN;
    }
    return base;
  }

  /** Gives functions that the module declares only, and whose address the kernel may take, addresses from `base` on. */
  private placeExternals(base: number): External[] {
    const out: External[] = [];
    const { fn } = this.sections[0];
    for (const name of new Banks(this.elf, fn, this.bankContext([], 0)).addressed) {
      const prototype = this.module.prototypes.find((p) => p.name === name);
      if (prototype === undefined || this.functions.has(name)) continue;
      const places = argumentRegisters(prototype);
      if (places === null) continue;
      const at = base + out.length * SECTION_ALIGN;
      this.functions.set(name, at);
      out.push({ prototype, places, at });
    }
    return out;
  }

  private bankContext(params: Fn['params'], stack: number): BankContext {
    return {
      paramBase: this.paramBase,
      params,
      driver: this.machine.driver,
      stack,
      functionAddress: (symbol) => this.functions.get(symbol),
    };
  }

  /** Addresses at which blocks begin. */
  private leaders(): Set<number> {
    const out = new Set<number>();
    for (const s of this.sections) {
      out.add(s.base);
      for (const l of s.fn.labels) out.add(s.base + l.offset);
      for (const t of branchTargets(s.fn).values()) for (const x of t) out.add(s.base + x);
      for (const w of s.code) {
        const row = w.instruction?.form.row ?? '';
        if (ENDS.has(row)) out.add(s.base + w.address + WORD_BYTES);
        if (CALLS.has(row)) this.returns.push(s.base + w.address + WORD_BYTES);
        if (NAMES_A_PLACE.has(row)) out.add(placeOf(w.instruction!, s.base + w.address));
      }
    }
    const exists = new Set(this.sections.flatMap((s) => s.code.map((w) => s.base + w.address)));
    return new Set([...out].filter((a) => exists.has(a)));
  }

  private stackBytes(fn: CubinFunction): number {
    let bytes = fn.frameBytes ?? 0;
    // Another kernel's stack is not there when this one runs.
    const others = new Set(
      functionsOf(this.elf).flatMap((f) => (f.entry && f.symbol !== fn.symbol ? [f.symbol] : [])),
    );
    for (const s of this.elf.sections)
      if (s.content.kind === 'attributes')
        for (const a of s.content.attributes) {
          const d = describe(a);
          if (d.symbols.some((k) => others.has(k))) continue;
          if (d.code === EIATTR.leastStackBytes || d.code === EIATTR.frameBytes)
            bytes = Math.max(bytes, d.numbers[0] ?? 0);
        }
    if (this.returns.length > 0) bytes = Math.max(bytes, CALL_STACK);
    return Math.ceil(bytes / 16) * 16;
  }

  private meaningOf(
    w: Listed,
    at: number,
    loc: number,
    banks: Banks,
  ): string | { ins: Instr[]; registers: number } {
    if (w.instruction === null) return w.why ?? 'the word is of no form that is known';
    if (w.relocations.length > 0) return `it refers to ${w.relocations.map((r) => r.symbol).join(', ')}`;
    const b = new Builder(this.isa, this.machine, banks, w.instruction, at, loc);
    const { row } = w.instruction.form;
    try {
      const flow: Flow = {
        blockAt: (a) => this.starts.get(a) ?? b.fail(`no code is at ${a.toString(16)}`),
        tableOf: (kind, from) => this.tableOf(kind, from),
      };
      if (row in MEANINGS) MEANINGS[row](b);
      else if (row in CONTROL) CONTROL[row](b, flow);
      else return `${w.instruction.form.name} is not supported yet`;
      return { ins: b.finish(), registers: b.registers };
    } catch (e) {
      if (e instanceof Unsupported) return e.message;
      throw e;
    }
  }

  /** @throws Unsupported if its targets are unknown or too many */
  private tableOf(kind: 'return' | 'branch' | 'call', at: number): { first: number; index: number } {
    const key = kind === 'branch' ? `branch ${at}` : kind;
    const known = this.tablesByKey.get(key);
    if (known !== undefined) return known;
    const places =
      kind === 'return' ? this.returns : kind === 'call' ? [...this.functions.values()] : this.targetsAt(at);
    const valid = places.filter((a) => this.starts.has(a));
    if (valid.length === 0) throw new Unsupported('its possible targets are unknown');
    // Not `Math.min(...valid)`: there may be more values than a call may have arguments.
    const first = valid.reduce((x, y) => Math.min(x, y));
    const length = (valid.reduce((x, y) => Math.max(x, y)) - first) / WORD_BYTES + 1;
    if (length > this.room) throw new Unsupported(`indirect jumps lead to more than ${MOST_TARGETS} places`);
    this.room -= length;
    const table = new Array<number>(length).fill(this.trapBlock);
    for (const a of valid) table[(a - first) / WORD_BYTES] = this.starts.get(a)!;
    const made = { first, index: this.tables.push(table) - 1 };
    this.tablesByKey.set(key, made);
    return made;
  }

  private targetsAt(at: number): number[] {
    const s = this.sections.findLast((x) => at >= x.base)!;
    let own = this.targets.get(s.fn);
    if (own === undefined) this.targets.set(s.fn, (own = branchTargets(s.fn)));
    return (own.get(at - s.base) ?? []).map((t) => s.base + t);
  }

  private trap(loc: number): Instr {
    const op = this.isa.byName.get('BPT')!;
    return instr(op, op.modByName.get('TRAP')!.index << op.modByName.get('TRAP')!.group.shift, [], [], loc);
  }

  /** Mentions the shared memory, since a launch allocates only variables that are mentioned. */
  private mention(register: number): Instr {
    return instr(this.isa.byName.get('MOV')!, 0, [makeReg(register + 3, RegFile.R)], [sym(SHARED)]);
  }
}

/** Target address of a direct jump. */
function placeOf(i: Instruction, at: number): number {
  const slot = i.form.operands.find((o) => o.name === 't')!;
  const a = slot.atom!;
  return at + WORD_BYTES + i.values[a.field] * a.scale;
}

/** Ids of the reachable blocks. */
function reachable(fn: Fn): Set<number> {
  const position = new Map(fn.blocks.map((b, k) => [b.id, k]));
  const seen = new Set<number>();
  const work = [fn.blocks[0].id];
  while (work.length > 0) {
    const id = work.pop()!;
    if (seen.has(id)) continue;
    seen.add(id);
    const k = position.get(id)!;
    const b = fn.blocks[k];
    for (const x of b.ins)
      for (const o of x.src) {
        if (o.kind === Kind.Label && x.op.name !== 'BSSY') work.push(o.lo);
        if (o.kind === Kind.Table) for (const target of fn.tables[o.lo]) work.push(target);
      }
    const last = b.ins.at(-1);
    const falls =
      last === undefined || !['BRA', 'BRX', 'EXIT', 'BPT'].includes(last.op.name) || last.guard !== NO_REG;
    if (falls && k + 1 < fn.blocks.length) work.push(fn.blocks[k + 1].id);
  }
  return seen;
}
