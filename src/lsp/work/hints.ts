import { Pool } from '../../analysis/registers/liveness.ts';
import { pressureOf } from '../../analysis/registers/pressure.ts';
import { divergenceOf } from '../../analysis/uniformity/divergence.ts';
import { runPipeline } from '../../engine/pipeline.ts';
import { Lanes } from '../../ir/opcode.ts';
import type { Program } from '../../ir/program.ts';
import { loadModules, lowerModule } from '../../lab/kernels.ts';
import { blockWeights } from '../../lab/weights.ts';
import { planOfModule } from './kernels.ts';

/** What hints can tell, in the order in which a line has them. */
export const HINT_KINDS = ['becomes', 'frequency', 'live', 'lanes'] as const;
export type HintKind = (typeof HINT_KINDS)[number];

/** What is known of a line of a PTX text. */
export interface Hint {
  /** From 1. */
  readonly line: number;
  readonly kind: HintKind;
  readonly text: string;
}

/** Digits of a frequency. */
const DIGITS = 3;
/** Opcodes that are named for one line. */
const MOST_OPCODES = 4;

/**
 * For each line of a PTX file: what its instructions become or which phase removes them, how often a warp runs its block (by the static
 * estimate, at the first line of a block), how many general registers are live there before any phase, and for branches whether the
 * threads of a warp may diverge.
 */
export async function hintsOf(path: string): Promise<Hint[]> {
  const [module] = await loadModules([path]);
  const plan = await planOfModule(module);
  const { program } = lowerModule(module, plan);
  return [...fates(program, runPipeline(program, plan).records), ...analyses(program)].sort(
    (a, b) => a.line - b.line || HINT_KINDS.indexOf(a.kind) - HINT_KINDS.indexOf(b.kind),
  );
}

/** What becomes of each line. */
function fates(
  program: Program,
  records: readonly { readonly program: Program; readonly phase: { readonly id: string } }[],
): Hint[] {
  const first = opcodesByLine(program);
  const gone = new Map<number, string>();
  let now = first;
  let last = program;
  for (const r of records) {
    if (r.program === last) continue;
    last = r.program;
    const next = opcodesByLine(last);
    for (const line of now.keys()) if (!next.has(line)) gone.set(line, r.phase.id);
    now = next;
  }
  return [...first].flatMap(([line, was]): Hint[] => {
    const is = now.get(line);
    if (is === undefined)
      return [{ line, kind: 'becomes', text: `removed by ${gone.get(line) ?? 'a phase'}` }];
    return is.join() === was.join() ? [] : [{ line, kind: 'becomes', text: `becomes ${is.join(', ')}` }];
  });
}

/** What analyses say of the program before any phase. */
function analyses(program: Program): Hint[] {
  const out = new Map<string, Hint>();
  const add = (line: number, kind: HintKind, text: string): void => {
    const key = `${kind} ${line}`;
    if (line > 0 && !out.has(key)) out.set(key, { line, kind, text });
  };
  for (const fn of program.functions) {
    const weights = blockWeights(fn);
    const { branch } = divergenceOf(fn);
    const pressure = pressureOf(fn);
    fn.blocks.forEach((b, at) => {
      const live = pressure.at(at, Pool.R);
      const line = (i: number): number => program.locs[b.ins[i]?.loc]?.line ?? 0;
      add(line(0), 'frequency', `runs ${Number(weights[at].toPrecision(DIGITS))} times`);
      b.ins.forEach((_, i) => add(line(i), 'live', `${live[i]} live`));
      const end = b.ins[b.ins.length - 1];
      if (end?.op.primitive === 'branch' || end?.op.name === 'BRA')
        add(line(b.ins.length - 1), 'lanes', branch[at] === Lanes.Varying ? 'may diverge' : 'uniform');
    });
  }
  return [...out.values()];
}

/** Names of the opcodes that stem from each line. */
function opcodesByLine(program: Program): Map<number, string[]> {
  const out = new Map<number, string[]>();
  for (const fn of program.functions)
    for (const b of fn.blocks)
      for (const i of b.ins) {
        const line = program.locs[i.loc]?.line ?? 0;
        if (line === 0) continue;
        const known = out.get(line);
        if (known === undefined) out.set(line, [i.op.name]);
        else if (known.length < MOST_OPCODES) known.push(i.op.name);
      }
  return out;
}
