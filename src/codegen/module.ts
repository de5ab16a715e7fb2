import { occupancyUnder, statedThreads } from '../analysis/registers/occupancy.ts';
import {
  addressOffsets,
  type KernelCode,
  type ModuleData,
  type ModuleVariable,
  makeCubin,
  placesOf,
} from '../cubin/make.ts';
import { targetOf } from '../cubin/make-target.ts';
import { dimensions } from '../ir/directives.ts';
import type { Isa } from '../ir/opcode.ts';
import type { Fn, Program } from '../ir/program.ts';
import { Unsupported } from '../ir/unsupported.ts';
import type { Machine } from '../machine/forms.ts';
import { NoMachineCode } from './emitter.ts';
import type { Waiting } from './encode-function.ts';
import { compileKernel, type KernelResult } from './kernel.ts';
import type { Latencies } from './order.ts';
import type { Selection } from './selection.ts';

/** Targets for which machine code is written. */
export const TARGETS: readonly string[] = ['sm_80', 'sm_86', 'sm_87', 'sm_88', 'sm_89', 'sm_90'];

/** What the back end needs besides the program. */
export interface Target {
  readonly sm: string;
  readonly machine: Machine;
  readonly isa: Isa;
  readonly selection: Selection;
  /** Facts of the back end: `limits`, `capabilities`, `latencies`. */
  readonly facts: Readonly<Record<string, unknown>>;
}

const factsOf = (
  t: Target,
  group: 'limits' | 'capabilities' | 'latencies',
): Readonly<Record<string, unknown>> => t.facts[group] as Readonly<Record<string, unknown>>;

/** A kernel's code, or why it has none. */
export type Compiled =
  | { readonly fn: Fn; readonly code: KernelResult }
  | { readonly fn: Fn; readonly why: string; readonly loc: number };

/** Generates the code of all kernels of a program. */
export function compileKernels(program: Program, target: Target, waiting: Waiting): Compiled[] {
  const data = moduleData(program);
  const code = {
    program,
    machine: target.machine,
    isa: target.isa,
    selection: target.selection,
    readsBanks: factsOf(target, 'capabilities')['constant-operands'] === true,
    latencies: factsOf(target, 'latencies') as Latencies,
    reservedShared: targetOf(target.sm).reservedShared,
    constants: placesOf(data.variables.filter((v) => v.space === 'const')),
    addresses: addressOffsets([], data.variables),
  };
  return program.functions
    .filter((f) => f.kind === 'entry')
    .map((fn): Compiled => {
      try {
        return { fn, code: compileKernel(fn, code, waiting, mostRegisters(fn, factsOf(target, 'limits'))) };
      } catch (e) {
        if (e instanceof Unsupported)
          return { fn, why: e.message, loc: e instanceof NoMachineCode ? e.loc : 0 };
        throw e;
      }
    });
}

/**
 * The most registers that a kernel's threads may have: as `.maxnreg` states it, and so many that the blocks fit that `.minnctapersm` asks
 * for, or one.
 */
function mostRegisters(fn: Fn, limits: Readonly<Record<string, unknown>>): number {
  const stated = dimensions(fn, '.maxnreg')?.[0] ?? Infinity;
  const threads = statedThreads(fn);
  const all = Math.min(stated, Number(limits['max-registers']));
  if (threads === undefined) return all;
  const blocks = dimensions(fn, '.minnctapersm')?.[0] ?? 1;
  const fits = (registers: number): boolean =>
    occupancyUnder(limits, { threads, registers, shared: 0 }).by.registers >= blocks;
  let most = all;
  while (most > Number(limits['min-registers']) && !fits(most)) most--;
  return most;
}

/** Variables of a program as the writer of cubins takes them. */
function moduleData(program: Program): ModuleData {
  return {
    variables: program.variables.flatMap(
      ({ name, space, size, align, init, relocs, linkage }): ModuleVariable[] =>
        space !== 'global' && space !== 'const'
          ? []
          : [
              {
                name,
                space,
                size,
                align,
                bytes: init,
                addresses: relocs.map((r) => ({ offset: r.at, symbol: r.symbol, generic: r.generic })),
                visible: linkage === 'visible',
              },
            ],
    ),
    source: program.target.split(',')[0].trim(),
  };
}

/**
 * Makes a cubin of kernels that have been compiled.
 * @throws RangeError if the target's cubins are not made
 */
export function cubinFrom(
  program: Program,
  sm: string,
  kernels: readonly { readonly fn: Fn; readonly code: KernelResult }[],
): Uint8Array {
  const codes = kernels.map(
    ({ fn, code }): KernelCode => ({
      name: fn.name,
      code: code.code,
      registers: code.registers,
      barriers: code.barriers,
      frameBytes: code.frameBytes,
      sharedBytes: code.sharedBytes,
      sharedAlign: code.sharedAlign,
      dynamicShared: code.hasDynamicShared,
      params: fn.params.map(({ offset, size }) => ({ offset, size })),
      exits: code.exits,
      divergent: code.isDivergent,
      warpWide: [],
      grouped: code.warpWide.map((at) => ({ at, mask: -1 })),
      branches: code.branches,
      constants: code.tables.length === 0 ? undefined : new Uint8Array(code.tables.buffer),
      required: dimensions(fn, '.reqntid') ?? undefined,
      most: dimensions(fn, '.maxntid') ?? undefined,
      relocations: [],
    }),
  );
  // ptxas' order: the last kernel that is declared comes first.
  return makeCubin(sm, [...codes].reverse(), moduleData(program));
}
