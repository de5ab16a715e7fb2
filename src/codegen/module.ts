import { INSTRUCTION_BYTES } from '../cubin/code-size.ts';
import {
  addressOffsets,
  type KernelCode as CubinKernel,
  type ModuleData,
  type ModuleVariable,
  makeCubin,
  placesOf,
} from '../cubin/make.ts';
import { dimensions } from '../ir/directives.ts';
import type { Fn, Program, Variable } from '../ir/program.ts';
import type { EncodedFunction } from './encode-function.ts';
import { calledOutside } from './kernel.ts';
import { KernelCode, NoCode } from './kernel-code.ts';

/** The recipe with what the pipeline must do for machine code. Recipes of the user win over it. */
export const RECIPE = 'machine-code';

/** Targets for which machine code is written. */
export const TARGETS: readonly string[] = ['sm_80', 'sm_86', 'sm_87', 'sm_88', 'sm_89', 'sm_90'];

/** The code of a kernel, and the memory that it needs. */
export interface KernelResult extends EncodedFunction {
  readonly frameBytes: number;
  readonly sharedBytes: number;
  readonly sharedAlign: number;
  readonly hasDynamicShared: boolean;
  /** True if its lanes may part: a branch has a condition. */
  readonly isDivergent: boolean;
  /** Number of values that were moved to local memory, and of predicates that were moved to general registers. */
  readonly spills: number;
  readonly heldPredicates: number;
}

/** A kernel's code, or why it has none. */
export type Compiled =
  | { readonly fn: Fn; readonly code: KernelResult }
  | { readonly fn: Fn; readonly why: string; readonly loc: number };

/** What the phases of the back end have made of the kernels of a program. What no kernel can have is said of the first of them. */
export function compiledKernels(program: Program): Compiled[] {
  const [first, ...others] = program.functions.filter((f) => f.kind === 'entry');
  if (first === undefined) return [];
  const why = whyNoModule(program);
  return [why === null ? compiledKernel(first) : { fn: first, why, loc: 0 }, ...others.map(compiledKernel)];
}

/** Sections of the largest module: their numbers have 16 bits, and the last of them are reserved (System V ABI). */
const MOST_SECTIONS = 0xfeff;
/** Sections of a kernel at most, and of the rest of a module. */
const [SECTIONS_OF_KERNEL, OTHER_SECTIONS] = [8, 64];

/** Why a program has no cubin, whatever its kernels do; null if it may have one. */
function whyNoModule({ functions, variables }: Program): string | null {
  const most = Math.floor((MOST_SECTIONS - OTHER_SECTIONS) / SECTIONS_OF_KERNEL);
  const kernels = functions.filter((f) => f.kind === 'entry').length;
  if (kernels > most) return `it is one of ${kernels} kernels: a cubin has at most ${most} here`;
  const own = new Set(variables.flatMap((v) => (hasPlace(v) ? [v.name] : [])));
  for (const v of variables) {
    if (!hasPlace(v)) continue;
    for (const { symbol, bytes, byte } of v.relocs) {
      const of = `the variable '${v.name}' begins with`;
      if (!own.has(symbol)) return `${of} the address of '${symbol}', which is no variable of this file`;
      if (bytes !== ADDRESS_BYTES || byte >= 0) return `${of} a part of the address of '${symbol}'`;
      if (v.space === 'const') return `${of} the address of '${symbol}', and is a constant`;
    }
  }
  return null;
}

function compiledKernel(fn: Fn): Compiled {
  const { code } = fn;
  if (code instanceof NoCode) return { fn, why: code.why, loc: code.loc };
  if (!(code instanceof KernelCode) || code.parts.encoded === null)
    return { fn, why: 'no phase of the pipeline writes its machine code', loc: 0 };
  const { encoded, memory, spills, heldPredicates, fn: own } = code.parts;
  const isDivergent = own.blocks.some((b) => b.ops.some((x) => x.target !== null && x.guard >= 0));
  return { fn, code: { ...encoded, ...memory, isDivergent, spills, heldPredicates } };
}

/** Offsets of constant variables in bank 3, and of the addresses of global ones and of other files' functions in bank 4. */
export function variablesOf(program: Program): {
  readonly constants: ReadonlyMap<string, number>;
  readonly addresses: ReadonlyMap<string, number>;
} {
  const { variables } = moduleData(program);
  const kernels = inCubin(program.functions.filter((f) => f.kind === 'entry'));
  return {
    constants: placesOf(variables.filter((v) => v.space === 'const')),
    addresses: addressOffsets(
      kernels.map((fn) => ({ calls: declared(program, calledOutside(fn, program)) })),
      variables,
    ),
  };
}

/** Functions in the order in which a program declares them. */
const declared = (program: Program, names: readonly string[]): string[] =>
  [...new Set(program.prototypes.map((p) => p.name))].filter((name) => names.includes(name));

/** ptxas' order of kernels: the last that is declared comes first. */
const inCubin = <T>(kernels: readonly T[]): T[] => [...kernels].reverse();

/** Bytes of an address in a variable. */
const ADDRESS_BYTES = 8;

/** True for a variable that a cubin of the program has: not for one of another file, since nothing links it. */
const hasPlace = ({ space, linkage }: Variable): boolean =>
  (space === 'global' || space === 'const') && linkage !== 'extern';

/** Variables of a program as the writer of cubins takes them. */
function moduleData(program: Program): ModuleData {
  return {
    variables: program.variables.flatMap((v): ModuleVariable[] => {
      const { name, space, size, align, init, relocs, linkage } = v;
      return !hasPlace(v)
        ? []
        : [
            {
              name,
              space: space === 'const' ? 'const' : 'global',
              size,
              align,
              bytes: init,
              addresses: relocs.map(({ at, symbol, generic, addend }) => ({
                ...{ offset: at, symbol, generic, addend },
              })),
              visible: linkage === 'visible',
            },
          ];
    }),
    source: program.target.split(',')[0].trim(),
  };
}

/** Lines of a kernel's instructions, where they change. */
function linesOf(program: Program, { locs }: KernelResult): NonNullable<CubinKernel['lines']> {
  const files = new Map(program.files.map((f, k) => [f.index, k + 1]));
  const out: { at: number; ptx: number; file: number; line: number }[] = [];
  locs.forEach((loc, k) => {
    const { line, file, srcLine } = program.locs[loc] ?? program.locs[0];
    if (line === 0) return;
    const number = files.get(file) ?? 0;
    const here = { at: INSTRUCTION_BYTES * k, ptx: line, file: number, line: number === 0 ? 0 : srcLine };
    const last = out.at(-1);
    if (last?.ptx !== here.ptx || last.file !== here.file || last.line !== here.line) out.push(here);
  });
  return out;
}

/**
 * Makes a cubin of kernels that have been compiled.
 * @param ptx the text that they were compiled from, if there are to be tables of lines
 * @throws RangeError if the target's cubins are not made
 */
export function cubinFrom(
  program: Program,
  sm: string,
  kernels: readonly { readonly fn: Fn; readonly code: KernelResult }[],
  ptx: string | null = null,
): Uint8Array {
  // Shared memory whose size a launch gives belongs to every kernel of a module that declares it.
  const dynamic = program.variables.filter((v) => v.space === 'shared' && v.size === 0);
  const codes = kernels.map(
    ({ fn, code }): CubinKernel => ({
      name: fn.name,
      code: code.code,
      registers: code.registers,
      barriers: code.barriers,
      frameBytes: code.frameBytes,
      sharedBytes: code.sharedBytes,
      ...((code.sharedBytes > 0 || dynamic.length > 0) && {
        sharedAlign: Math.max(code.sharedAlign, ...dynamic.map((v) => v.align)),
      }),
      dynamicShared: code.hasDynamicShared,
      params: fn.params.map(({ offset, size }) => ({ offset, size })),
      exits: code.exits,
      divergent: code.isDivergent || code.calls.length > 0,
      calls: declared(program, calledOutside(fn, program)),
      firstCalls: code.calls,
      systemCalls: code.callsAt,
      warpWide: [],
      grouped: code.warpWide.map((at) => ({ at, mask: -1 })),
      branches: code.branches,
      constants: code.tables.length === 0 ? undefined : new Uint8Array(code.tables.buffer),
      required: dimensions(fn, '.reqntid') ?? undefined,
      most: dimensions(fn, '.maxntid') ?? undefined,
      relocations: [],
      ...(ptx !== null && { lines: linesOf(program, code) }),
    }),
  );
  const lines = ptx === null ? {} : { lines: { ptx, files: program.files.map((f) => f.name) } };
  return makeCubin(sm, inCubin(codes), { ...moduleData(program), ...lines });
}
