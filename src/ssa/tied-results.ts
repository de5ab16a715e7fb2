import { type Tie, tiesOf } from '../ir/foreign-text.ts';
import { NO_REG } from '../ir/operand.ts';
import type { Instr } from '../ir/program.ts';
import { inSsa } from './registers.ts';

/**
 * Results that must share the register of a source. If a guarded instruction has another value than that source under a
 * false guard, both would have to be in the register before the instruction, so such a tie is omitted.
 */
export const tiedResults = (x: Instr): readonly Tie[] => {
  const ties = tiesOf(x);
  return ties.length === 0
    ? ties
    : ties.filter(
        ({ dst, src }) =>
          x.dst[dst] !== NO_REG &&
          inSsa(x.dst[dst]) &&
          (x.guard === NO_REG || x.otherwise[dst] === x.src[src].reg),
      );
};
