import { aligned } from '../cubin/bytes.ts';
import type { Isa } from '../ir/opcode.ts';
import type { Fn, Program, Variable } from '../ir/program.ts';
import { Unsupported } from '../ir/unsupported.ts';
import type { Machine } from '../machine/forms.ts';
import { allocate, type Limits, STUCK } from './allocate.ts';
import { type Arg, assemble } from './assemble.ts';
import { withoutDeadCode } from './dead-code.ts';
import type { Surroundings } from './emitter.ts';
import { KernelCode } from './kernel-code.ts';
import type { KernelMemory } from './kernel-parts.ts';
import type { MachineBlock, MachineFunction, MachineOp } from './machine-op.ts';
import { select } from './select.ts';
import type { Selection } from './selection.ts';
import { spill } from './spill.ts';
import { DESCRIPTOR, STACK } from './stack.ts';

/* The steps from a kernel of Ori to allocated registers. */

/** What all kernels of a module share. */
export interface ModuleCode {
  readonly machine: Machine;
  readonly selection: Selection;
  /** Whether arithmetic takes an operand from a constant bank. */
  readonly readsBanks: boolean;
  /** Bytes at the beginning of shared memory that are the driver's. */
  readonly reservedShared: number;
  /** Offsets of constant variables in bank 3, and of the addresses of global ones in bank 4. */
  readonly constants: ReadonlyMap<string, number>;
  readonly addresses: ReadonlyMap<string, number>;
}

/** Registers of a thread that can be allocated: R0 to R254, P0 to P6, UR0 to UR62, B0 to B15. */
const ALL: Limits = { R: 255, P: 7, UR: 63, B: 16 };
/** A function of n registers spills at most n times; this bounds what cannot be coloured at all. */
const MOST_SPILLS = 4000;
/** Maximum number of instructions that are looked at to find out which values to move: all of a kernel for each that is moved. */
const MOST_LOOKED_AT = 10_000_000;

/**
 * Selects the instructions of a kernel, over virtual registers.
 * @throws Unsupported on an instruction without machine code
 */
export function selectKernel(fn: Fn, program: Program, isa: Isa, code: ModuleCode): KernelCode {
  const { machine, selection, readsBanks } = code;
  const frame = layOut(fn.variables.filter((v) => v.space === 'local'));
  const shared = layOut(sharedOf(fn, program));
  const called = calledOutside(fn, program);
  const descriptor = called.length > 0 ? DESCRIPTOR.acrossCalls : DESCRIPTOR.usual;
  const around: Surroundings = {
    machine,
    descriptor,
    prototype: (name) => (called.includes(name) ? program.prototypes.find((p) => p.name === name)! : null),
    readsBanks,
    isa,
    selection,
    address(symbol) {
      const local = frame.at.get(symbol);
      if (local !== undefined) return { kind: 'frame', offset: local };
      const inShared = shared.at.get(symbol);
      if (inShared !== undefined) return { kind: 'number', offset: code.reservedShared + inShared };
      const constant = code.constants.get(symbol);
      if (constant !== undefined) return { kind: 'constant', offset: constant };
      const inBank = code.addresses.get(symbol);
      if (inBank === undefined) throw new Unsupported(`the address of '${symbol}' has no machine code yet`);
      return { kind: 'bank', offset: inBank };
    },
  };
  const memory: KernelMemory = {
    frameBytes: aligned(frame.size, 16),
    sharedBytes: shared.size,
    sharedAlign: shared.align,
    hasDynamicShared: shared.hasDynamic,
  };
  const selected = withoutDeadCode(select(fn, around));
  return new KernelCode({
    machine,
    fn: selected,
    memory,
    descriptor,
    of: null,
    spills: 0,
    heldPredicates: 0,
    controls: null,
    encoded: null,
  });
}

/**
 * Gives the registers of a kernel numbers, and moves those to memory that find none.
 *
 * @param mostRegisters as directives of the kernel and the target limit them
 * @param mostLookedAt instructions that may be looked at, those of each round counted
 * @throws Unsupported if the registers do not suffice
 */
export function allocateKernel(
  code: KernelCode,
  mostRegisters: number,
  mostLookedAt = MOST_LOOKED_AT,
): KernelCode {
  const { machine, memory, descriptor } = code.parts;
  const limits = { ...ALL, R: Math.min(ALL.R, mostRegisters) };
  let now = code.parts.fn;
  let bytes = memory.frameBytes;
  let [spills, heldPredicates, lookedAt] = [0, 0, 0];
  for (;;) {
    lookedAt += now.blocks.reduce((n, b) => n + b.ops.length, 0);
    if (lookedAt > mostLookedAt && spills + heldPredicates > 0)
      throw new Unsupported(
        `its values do not fit ${limits.R} registers, and it is too long to move more than ${spills + heldPredicates} to memory`,
      );
    const reserved = { R: bytes > 0 ? [STACK] : [], UR: [descriptor, descriptor + 1] };
    const { of, spilled } = allocate(now, limits, reserved);
    if (spilled === -1)
      return code.with({
        ...{ fn: now, of, spills, heldPredicates },
        memory: { ...memory, frameBytes: aligned(bytes, 16) },
      });
    if (spilled === STUCK || spills + heldPredicates === MOST_SPILLS)
      throw new Unsupported(`its values do not fit ${limits.R} registers`);
    const { file, words } = now.registers[spilled];
    if (file === 'UR' || file === 'B')
      throw new Unsupported(`its values do not fit the registers ${file}0 to ${file}${limits[file] - 1}`);
    const slot = file === 'R' ? aligned(bytes, 4 * words) : 0;
    now = spill(now, spilled, slot, machine);
    if (file === 'R') {
      bytes = slot + 4 * words;
      spills++;
    } else heldPredicates++;
  }
}

/** Functions that a function calls and the module only declares. */
export function calledOutside(fn: Fn, program: Program): string[] {
  const names = fn.blocks.flatMap((b) => b.ins.flatMap((i) => (i.op.name === 'CALL' ? [i.src[0].sym] : [])));
  const own = new Set(program.functions.map((f) => f.name));
  const declared = new Set(program.prototypes.map((p) => p.name));
  return [...new Set(names)].filter((name) => !own.has(name) && declared.has(name));
}

/** Offsets of variables one after the other, each aligned. */
function layOut(variables: readonly Variable[]): {
  at: Map<string, number>;
  size: number;
  align: number;
  hasDynamic: boolean;
} {
  const at = new Map<string, number>();
  let [size, align] = [0, 1];
  for (const v of variables) {
    size = aligned(size, v.align);
    at.set(v.name, size);
    size += v.size;
    align = Math.max(align, v.align);
  }
  return { at, size, align, hasDynamic: variables.some((v) => v.size === 0) };
}

/** Shared variables that a function names; those whose size the launch decides come last. */
function sharedOf(fn: Fn, program: Program): Variable[] {
  const named = new Set(fn.blocks.flatMap((b) => b.ins.flatMap((i) => i.src.map((o) => o.sym))));
  const list = program.variables.filter((v) => v.space === 'shared' && named.has(v.name));
  return [...list.filter((v) => v.size > 0), ...list.filter((v) => v.size === 0)];
}

/** Adds what a kernel does first: it sets the stack pointer, and loads the descriptor of global memory. */
export function withPrologue(code: KernelCode, readsBanks: boolean): KernelCode {
  const { machine, fn, memory, descriptor } = code.parts;
  const ops: MachineOp[] = [];
  const emit = (name: readonly string[], args: Readonly<Record<string, Arg>>): void => {
    const built = assemble(machine, name, new Map(Object.entries(args)));
    if (built === null) throw new Error(`the target has no form of ${name.join('.')} for the prologue`);
    ops.push({ ...built, guard: -1, guardNot: false, loc: 0 });
  };
  const fixed = (file: string, number: number): Arg => ({ kind: 'fixed', file, number, mods: 0 });
  const word = (name: string, words: number): Arg => ({
    kind: 'bank',
    bank: 0,
    index: null,
    offset: machine.driver.get(name)!,
    words,
    mods: 0,
  });
  const number = (lo: number): Arg => ({ kind: 'number', lo, hi: null, mods: 0 });
  if (memory.frameBytes > 0) {
    const stack = fixed('R', STACK);
    const pointer = word('stack', 1);
    if (readsBanks) emit(['MOV'], { d: stack, b: pointer, m: number(15) });
    else emit(['LDC'], { d: stack, ad: pointer });
    emit(['IADD3'], { d: stack, a: stack, b: number(-memory.frameBytes) });
  }
  if (machine.driver.has('descriptor') && usesDescriptor(fn))
    emit(['ULDC', '64'], { d: fixed('UR', descriptor), ad: word('descriptor', 2) });
  if (ops.length === 0) return code;
  const [first, ...rest] = fn.blocks;
  const entry: MachineBlock = { ...first, ops: [...ops, ...first.ops] };
  // A loop may begin at the first block.
  const isTarget = fn.blocks.some((b) => b.next.includes(first.id));
  const blocks = isTarget ? [{ id: -1, ops, next: [first.id] }, first, ...rest] : [entry, ...rest];
  return code.with({ fn: { ...fn, blocks } });
}

const usesDescriptor = (fn: MachineFunction): boolean =>
  fn.blocks.some((b) =>
    b.ops.some((x) => /^(?:LDG|STG|LD|ST|ATOMG|ATOM|RED|LDGSTS)(?:\.|$)/.test(x.form.row)),
  );
