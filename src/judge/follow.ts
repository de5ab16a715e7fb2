import { NO_REG, regWidth } from '../ir/operand.ts';
import type { Fn, Instr } from '../ir/program.ts';
import { holdsFloats, type OpenMemory, pageOf } from '../sim/open-memory.ts';
import type { Followed } from '../sim/simulation.ts';
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
 * words as such: roundings show only in floats, whereas integers keep it on the paths that zeros take. What a word is used as is known when
 * it is loaded. If its memory has been accessed before, as something else, the run is repeated with what is known by then.
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
  const used: UsedAs = {
    parameters: uses.parameters,
    offsets: uses.offsets,
    floatParameters: uses.floatParameters,
    elements: uses.elements,
    words,
    floats,
    doubles,
  };
  let executed = 0;
  for (let round = 0; ; round++) {
    let late = false;
    const add = (to: Set<number>, at: number, isKnown: () => boolean): void => {
      if (to.has(at)) return;
      late ||= isKnown();
      to.add(at);
    };
    const following = (memory: OpenMemory): Followed => ({
      wants: (ins) => uses.toWords.has(ins) || toFloats.has(ins),
      note: (ins, address) => {
        if (uses.toWords.has(ins))
          for (let k = 0; k < ins.dst.length; k++) {
            const word = address - (address % 8) + 8 * k;
            add(words, word, () => memory.hasLine(word));
          }
        if (!toFloats.has(ins)) return;
        const page = pageOf(address);
        if (world.profile === 'extreme' && ins.dst.some((r) => r !== NO_REG && regWidth(r) === 64))
          add(doubles, page, () => memory.hasPage(page));
        else if (!holdsFloats(page, { seed: world.seed, mixed: isMixed(world) }))
          add(floats, page, () => memory.hasPage(page));
      },
    });
    // The last round takes what is known as it is.
    const isFixed = round === ROUNDS || uses.toWords.size + toFloats.size === 0;
    const run = runIn(s, world, used, isFixed ? opts : { ...opts, following });
    executed += run.executed;
    if (!late) return { run, used, executed };
  }
}

const NONE: ReadonlySet<Instr> = new Set();
