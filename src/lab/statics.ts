import { inBasicBlocks } from '../analysis/flow/basic-blocks.ts';
import { isControl, targets } from '../analysis/flow/cfg.ts';
import { namesReached, sharedBytes } from '../analysis/memory/shared-layout.ts';
import { Pool } from '../analysis/registers/liveness.ts';
import { statedThreads, USUAL_BLOCK } from '../analysis/registers/occupancy.ts';
import { pressureOf } from '../analysis/registers/pressure.ts';
import { ENTRY_BYTES } from '../ir/jump-table.ts';
import { CLASSES } from '../ir/opcode.ts';
import type { Fn, Program } from '../ir/program.ts';
import { factOf } from '../spec/backend.ts';
import type { Backend } from '../spec/plan.ts';
import type { Profile } from '../spec/profile.ts';
import { type BlockUse, occupancyOf } from './backend-occupancy.ts';
import { branchDivergenceOf } from './branch-divergence.ts';
import { MEMORY, type Values } from './metrics.ts';
import { blockWeights } from './weights.ts';

/** Register files whose pressure is a metric. */
const FILES = ['R', 'UR', 'P', 'UP'] as const;
/** Sums of estimated frequencies are rounded to multiples of 1 / DIGITS, so that the order of addition does not matter. */
const DIGITS = 1000;

/** Known launch parameters of a kernel. */
export interface LaunchShape {
  readonly threads?: number;
  readonly dynamicShared?: number;
}

/** A kernel and the functions that it refers to, directly or indirectly. */
export function functionsOf(program: Program, kernel: Fn): Fn[] {
  const names = namesReached(program, kernel);
  return [kernel, ...program.functions.filter((f) => f !== kernel && names.has(f.name))];
}

/** Metrics that do not require running the kernel. */
export function staticValues(
  program: Program,
  kernel: Fn,
  backend: Backend,
  start: LaunchShape = {},
  profile?: Profile,
): Values {
  const v: Record<string, number> = {};
  const add = (name: string, n: number): void => {
    v[name] = (v[name] ?? 0) + n;
  };
  for (const name of ['instructions', 'weighted', 'blocks', 'branches', 'divergence-points', 'table-bytes'])
    v[name] = 0;
  for (const c of CLASSES) v[`instructions.${c}`] = v[`weighted.${c}`] = 0;
  for (const s of MEMORY) v[`memory.${s}`] = 0;
  // The frequency estimate needs basic blocks: after a branch in the middle of a block, the rest runs less often. A profile has counts for
  // the blocks as they are.
  const functions = functionsOf(program, kernel).map((f) =>
    profile?.[f.name] === undefined ? inBasicBlocks(f) : f,
  );
  const calls = callWeights(functions, profile);
  const pressure = { R: 0, UR: 0, P: 0, UP: 0 };
  let depth = 0;
  for (const fn of functions) {
    const weights = blockWeights(fn, profile);
    add('blocks', fn.blocks.length);
    fn.blocks.forEach((b, at) => {
      const weight = weights[at] * (calls.get(fn.name) ?? 1);
      for (const ins of b.ins) {
        const c = ins.op.class;
        add('instructions', 1);
        add(`instructions.${c}`, 1);
        add('weighted', weight);
        add(`weighted.${c}`, weight);
        if (ins.op.space !== null) add(`memory.${ins.op.space}`, 1);
        if (isControl(ins)) {
          let goes = false;
          targets(fn, ins, () => {
            goes = true;
          });
          if (goes) add('branches', 1);
        }
      }
    });
    for (const t of fn.tables) add('table-bytes', ENTRY_BYTES * t.length);
    const divergence = branchDivergenceOf(fn);
    add('divergence-points', divergence.points.length);
    depth = Math.max(depth, divergence.depth);
    const { most } = pressureOf(fn);
    for (const file of FILES) pressure[file] = Math.max(pressure[file], most[Pool[file]]);
  }
  for (const name of Object.keys(v)) v[name] = Math.round(v[name] * DIGITS) / DIGITS;
  v['convergence-depth'] = depth;
  v['shared-bytes'] = sharedBytes(program, kernel);
  v['code-bytes'] = v.instructions * Number(factOf(backend, 'encoding.instruction-bytes') ?? 0);
  for (const [file, n] of Object.entries(pressure)) v[`pressure.${file}`] = n;
  v.occupancy = residentPercent(backend, blockUse(program, kernel, pressure.R, start));
  return v;
}

/** The occupancy of a kernel: its resident warps in percent of those that an SM of the target can hold, rounded to a tenth. */
export function residentPercent(backend: Backend, use: BlockUse): number {
  const { warps, most } = occupancyOf(backend, use);
  return Math.round((1000 * warps) / most) / 10;
}

/** The resources of a thread block of a kernel, from its directives and its launch. */
export const blockUse = (program: Program, kernel: Fn, registers: number, start: LaunchShape) => ({
  threads: start.threads ?? statedThreads(kernel) ?? USUAL_BLOCK,
  registers,
  shared: sharedBytes(program, kernel) + (start.dynamicShared ?? 0),
});

/**
 * How often each function is called in one run of the kernel: the sum over its direct calls, with callers processed first. A function that
 * is only called through a pointer or recursively counts as called once.
 */
function callWeights(functions: readonly Fn[], profile: Profile | undefined): Map<string, number> {
  const byName = new Map(functions.map((f) => [f.name, f]));
  const order: Fn[] = [];
  const seen = new Set<Fn>();
  const callees = (fn: Fn, visit: (callee: Fn, block: number) => void): void => {
    fn.blocks.forEach((b, at) => {
      for (const ins of b.ins)
        if (ins.op.primitive === 'call') {
          const callee = byName.get(ins.src[0]?.sym ?? '');
          if (callee !== undefined) visit(callee, at);
        }
    });
  };
  const visit = (fn: Fn): void => {
    if (seen.has(fn)) return;
    seen.add(fn);
    callees(fn, visit);
    order.unshift(fn);
  };
  visit(functions[0]);
  const place = new Map(order.map((f, i) => [f, i]));
  const out = new Map<string, number>([[functions[0].name, 1]]);
  for (const fn of order) {
    const own = out.get(fn.name) ?? 1;
    const weights = blockWeights(fn, profile);
    callees(fn, (callee, at) => {
      if ((place.get(callee) ?? 0) <= (place.get(fn) ?? 0)) return;
      out.set(callee.name, (out.get(callee.name) ?? 0) + own * weights[at]);
    });
  }
  return out;
}
