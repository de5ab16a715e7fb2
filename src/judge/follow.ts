import { NO_REG, regWidth } from '../ir/operand.ts';
import type { Fn, Instr } from '../ir/program.ts';
import { holdsFloats, pageOf } from '../sim/open-memory.ts';
import {
  floatLoads,
  floatOffsets,
  matrixElements,
  pointerLoads,
  pointerOffsets,
  type UsedAs,
} from '../sim/used-as.ts';
import { isMixed } from './contents.ts';
import { type Run, type RunOptions, runIn, type Subject } from './run.ts';
import type { World } from './world.ts';

/** How a kernel uses the values that it reads, as determined from its code; compare `UsedAs`. */
export interface Uses {
  readonly parameters: ReadonlySet<number>;
  readonly offsets: ReadonlySet<number>;
  readonly floatParameters: ReadonlyMap<number, number>;
  readonly toWords: ReadonlySet<Instr>;
  readonly toFloats: ReadonlySet<Instr>;
  readonly elements: string | null;
}

/** Analyzes a kernel and the functions that it may call. @param paramBase offset of parameters in constant bank 0 */
export function usesOf(kernel: Fn, functions: readonly Fn[], paramBase: number): Uses {
  const pointers = pointerOffsets(kernel, paramBase);
  return {
    parameters: pointers.all,
    offsets: pointers.added,
    floatParameters: floatOffsets(kernel, paramBase),
    toWords: new Set(functions.flatMap((f) => [...pointerLoads(f)])),
    toFloats: new Set(functions.flatMap((f) => [...floatLoads(f)])),
    elements: matrixElements(functions),
  };
}

/** Maximum number of repetitions; each finds the uses that depend on values of the previous ones. */
const ROUNDS = 4;

/**
 * Runs a kernel with pointers in all words that it loads and uses as addresses and, unless values are plain, with floats wherever it uses
 * words as such: roundings show only in floats, whereas integers keep it on the paths that zeros take. The first run shows which words
 * those are, and the run is repeated as long as there are more.
 *
 * @returns the last run, the uses found, and the warp instructions of all runs
 */
export function runFollowing(
  s: Subject,
  uses: Uses,
  world: World,
  opts: RunOptions = {},
): { run: Run; used: UsedAs; executed: number } {
  const toFloats = world.profile === 'plain' ? NONE : uses.toFloats;
  const [words, floats, doubles] = [new Set<number>(), new Set<number>(), new Set<number>()];
  let executed = 0;
  for (let round = 0; ; round++) {
    const used: UsedAs = {
      parameters: uses.parameters,
      offsets: uses.offsets,
      floatParameters: uses.floatParameters,
      elements: uses.elements,
      words: new Set(words),
      floats: new Set(floats),
      doubles: new Set(doubles),
    };
    const note = (ins: Instr, address: number): void => {
      if (uses.toWords.has(ins))
        for (let k = 0; k < ins.dst.length; k++) words.add(address - (address % 8) + 8 * k);
      if (!toFloats.has(ins)) return;
      const page = pageOf(address);
      if (world.profile === 'extreme' && ins.dst.some((r) => r !== NO_REG && regWidth(r) === 64))
        doubles.add(page);
      else if (!holdsFloats(page, { seed: world.seed, mixed: isMixed(world) })) floats.add(page);
    };
    const followed = uses.toWords.size + toFloats.size === 0 ? null : { note };
    const run = runIn(s, world, used, { ...opts, followed });
    executed += run.executed;
    if (
      words.size === used.words.size &&
      floats.size === used.floats.size &&
      doubles.size === used.doubles.size
    )
      return { run, used, executed };
    if (round === ROUNDS) return { run, used, executed };
  }
}

const NONE: ReadonlySet<Instr> = new Set();
