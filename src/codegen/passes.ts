import { targetOf } from '../cubin/make-target.ts';
import { memo } from '../ir/memo.ts';
import type { Pass, PassContext } from '../ir/pass.ts';
import type { Fn, Program } from '../ir/program.ts';
import { Unsupported } from '../ir/unsupported.ts';
import type { Machine } from '../machine/forms.ts';
import { withoutIdleCopies } from './dead-code.ts';
import { checkEncoding, encodeFunction } from './encode-function.ts';
import { allocateKernel, type ModuleCode, selectKernel, withPrologue } from './kernel.ts';
import { KernelCode, NoCode } from './kernel-code.ts';
import { laidOut } from './layout.ts';
import { variablesOf } from './module.ts';
import { type Latencies, ordered } from './order.ts';
import { mostRegisters } from './register-limit.ts';
import { controlWords, waitingForAll, withRoom } from './schedule.ts';
import type { Selection } from './selection.ts';

/*
 * The passes of the back end, by the names to which rows of pipelines/phases.yaml are bound. Each takes the machine code of a kernel a step
 * further; the Ori of the kernel stays as it is. They run only where machine code is asked for.
 */

/** What the back end needs besides the program and its plan. */
export interface Target {
  readonly sm: string;
  readonly machine: Machine;
  readonly selection: Selection;
}

/** A step of a kernel whose instructions are selected. */
type Step = (code: KernelCode, fn: Fn, ctx: PassContext) => KernelCode;

/** The passes of the back end for a target, as a run of a plan takes them (`RunOptions.codePasses`). */
export function codePasses(target: Target): ReadonlyMap<string, Pass> {
  const { machine } = target;
  const steps: Readonly<Record<string, Step>> = {
    // Within blocks, instructions that wait for a result get others before them.
    'order-instructions': (code, _fn, ctx) =>
      ctx.level === 0
        ? code
        : code.with({ fn: ordered(code.parts.fn, machine, ctx.fact('latencies') as Latencies) }),
    // Registers get numbers; those that find none move to local memory.
    'allocate-registers': (code, fn, ctx) =>
      allocateKernel(code, mostRegisters(fn, ctx.fact('limits') as Readonly<Record<string, unknown>>)),
    // The stack pointer and the descriptor of global memory are loaded where a kernel needs them.
    'expand-prologue': (code, _fn, ctx) => withPrologue(code, readsBanks(ctx)),
    // A copy to its own register goes.
    'remove-idle-copies': (code) => code.with({ fn: withoutIdleCopies(code.parts.fn, allocated(code)) }),
    // Blocks take the order of Ori's blocks, and branches are made to fit.
    'lay-out-code': (code, fn) =>
      code.with({
        fn: laidOut(
          code.parts.fn,
          fn.blocks.map((b) => b.id),
          machine,
        ),
      }),
    // Each instruction waits for what it depends on.
    'control-words': (code) => {
      const paused = withPauses(code);
      return paused.with({ controls: controlWords(paused.parts.fn, allocated(code), machine) });
    },
    // Each instruction waits for all earlier ones.
    'wait-for-all': (code, _fn, ctx) => {
      if (ctx.fact('slots.336') !== 'conservative-scoreboards')
        throw new Unsupported('the target has no control words that always wait');
      const paused = withPauses(code);
      return paused.with({ controls: waitingForAll(paused.parts.fn, allocated(paused), machine) });
    },
    'check-encoding': (code) => {
      checkEncoding(code.parts.fn, allocated(code), machine);
      return code;
    },
    'encode-instructions': (code) => {
      const { fn, controls } = code.parts;
      if (controls === null) throw new Unsupported('no phase has chosen its control words');
      return code.with({ encoded: encodeFunction(fn, allocated(code), controls, machine) });
    },
    'report-code': (code, fn, ctx) => {
      ctx.report(() => [fn.name, ...code.lines()].join('\n'));
      return code;
    },
    'report-words': (code, fn, ctx) => {
      ctx.report(() => [fn.name, ...wordLines(code)].join('\n'));
      return code;
    },
  };
  const select: Pass = (fn, ctx) => {
    if (fn.kind !== 'entry') return fn;
    return attempt(fn, () => selectKernel(fn, ctx.program, ctx.isa, moduleOf(ctx, target)));
  };
  return new Map([
    ['select-instructions', select],
    ...Object.entries(steps).map(([name, step]): [string, Pass] => [
      name,
      (fn, ctx) => {
        const { code } = fn;
        return code instanceof KernelCode ? attempt(fn, () => step(code, fn, ctx)) : fn;
      },
    ]),
  ]);
}

/** The code with NOPs where a result is waited for longer than one instruction can stall. */
function withPauses(code: KernelCode): KernelCode {
  const { fn, machine } = code.parts;
  const blocks = withRoom(fn.blocks, allocated(code), machine);
  return blocks.every((b, k) => b === fn.blocks[k]) ? code : code.with({ fn: { ...fn, blocks } });
}

/** The function with other code; with the reason if it can have none. */
function attempt(fn: Fn, make: () => KernelCode): Fn {
  try {
    const code = make();
    return code === fn.code ? fn : { ...fn, code };
  } catch (e) {
    if (e instanceof Unsupported) return { ...fn, code: new NoCode(e) };
    throw e;
  }
}

function allocated(code: KernelCode): readonly number[] {
  const { of } = code.parts;
  if (of === null) throw new Unsupported('no phase has allocated its registers');
  return of;
}

const readsBanks = (ctx: PassContext): boolean => ctx.fact('capabilities.constant-operands') === true;

const moduleOf = (ctx: PassContext, { sm, machine, selection }: Target): ModuleCode => ({
  machine,
  selection,
  readsBanks: readsBanks(ctx),
  reservedShared: targetOf(sm).reservedShared,
  ...placesIn(ctx.program),
});

/** Offsets of constant variables in their bank, and of addresses of global ones in theirs; the same for all kernels of a module. */
const placesIn = memo((program: Program) => variablesOf(program));

/** Words in hexadecimal, one instruction a line. */
function wordLines(code: KernelCode): string[] {
  const { encoded } = code.parts;
  if (encoded === null) return [];
  const view = new DataView(encoded.code.buffer);
  const hex = (at: number): string => `0x${view.getBigUint64(at, true).toString(16).padStart(16, '0')}`;
  return Array.from(
    { length: encoded.code.length / 16 },
    (_, k) => `/*${(16 * k).toString(16).padStart(4, '0')}*/ ${hex(16 * k)} ${hex(16 * k + 8)}`,
  );
}
