import { type Table, Unsupported } from '../table/case.ts';
import { TABLE } from '../table/index.ts';
import { parse } from '../text/parse.ts';
import type { Module, Variable } from '../text/syntax.ts';
import { SyntaxFault } from '../text/tokens.ts';
import { placed } from './code.ts';
import { RunFault } from './faults.ts';
import { Machine, type Shape } from './machine.ts';

/** A kernel argument: the bytes of a value, or a buffer whose address is passed. */
export type Argument =
  | { readonly kind: 'value'; readonly bytes: Uint8Array }
  | { readonly kind: 'buffer'; readonly bytes: Uint8Array };

export interface Launch {
  readonly kernel: string;
  readonly grid: readonly [number, number, number];
  readonly block: readonly [number, number, number];
  /** Default: the cluster that the kernel declares, or one block. */
  readonly cluster?: readonly [number, number, number];
  readonly dynamicShared: number;
  readonly args: readonly Argument[];
}

export interface RunOptions {
  /** See Options of the machine. Default 0. */
  readonly seed?: number;
  /** Default 50 million. */
  readonly budget?: number;
  /** Another instruction table, for tests that plant faults. */
  readonly table?: Table;
}

export type Outcome =
  | {
      readonly status: 'ended';
      /** Contents of the buffers, by argument; null for values. */
      readonly buffers: readonly (Uint8Array | null)[];
      /** What the kernel printed, sorted. */
      readonly output: readonly string[];
      /** An approximate instruction was executed. */
      readonly approximate: boolean;
      /** Number of executed instructions, summed over all lanes. */
      readonly steps: number;
    }
  /** A feature that the interpreter lacks, undefined behaviour, or text that is not valid PTX. */
  | { readonly status: 'unsupported' | 'fault' | 'syntax'; readonly why: string };

const parsed = new Map<string, Module>();

/** The parsed module of a text; the modules of a few recent texts are cached. */
function moduleOf(text: string): Module {
  let m = parsed.get(text);
  if (m === undefined) {
    m = parse(text);
    if (parsed.size > 8) parsed.clear();
    parsed.set(text, m);
  }
  return m;
}

function shapeOf(module: Module, launch: Launch): Shape {
  const stated = module.functions.find((f) => f.name === launch.kernel)?.directives.get('reqnctapercluster');
  const cluster =
    launch.cluster ?? (stated === undefined ? [1, 1, 1] : [stated[0], stated[1] ?? 1, stated[2] ?? 1]);
  return {
    grid: launch.grid,
    block: launch.block,
    cluster: cluster as [number, number, number],
    dynamicShared: launch.dynamicShared,
  };
}

/** Runs a kernel of a module, given as text. Does not modify the arguments' bytes. */
export function run(text: string, launch: Launch, options: RunOptions = {}): Outcome {
  try {
    const module = moduleOf(text);
    const kernel = module.functions.find((f) => f.name === launch.kernel && f.kind === 'entry');
    if (kernel === undefined) return { status: 'syntax', why: `there is no kernel '${launch.kernel}'` };
    const params = kernel.params.filter((p): p is Variable => p.kind === 'variable');
    const { offsets, end } = placed(params);
    const machine = new Machine(
      module,
      options.table ?? TABLE,
      shapeOf(module, launch),
      { seed: options.seed ?? 0, budget: options.budget ?? 50_000_000 },
      end,
    );
    const buffers = launch.args.map((a, k) => {
      const at = offsets.get(params[k])!;
      if (a.kind === 'value') machine.params.bytes.set(a.bytes, at);
      else {
        const r = machine.global.add(`argument ${k}`, a.bytes.slice());
        if (params[k].elementBytes === 4) machine.params.view.setUint32(at, r.base, true);
        else machine.params.view.setBigUint64(at, BigInt(r.base), true);
        return r.bytes;
      }
      return null;
    });
    machine.run(kernel);
    return {
      status: 'ended',
      buffers,
      output: machine.output.sort(),
      approximate: machine.approximate,
      steps: machine.steps,
    };
  } catch (e) {
    if (e instanceof Unsupported) return { status: 'unsupported', why: e.message };
    if (e instanceof RunFault) return { status: 'fault', why: e.message };
    if (e instanceof SyntaxFault) return { status: 'syntax', why: e.message };
    throw e;
  }
}
