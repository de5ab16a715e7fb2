import { type Tie, tiesOf } from '../ir/foreign-text.ts';
import { NO_REG } from '../ir/operand.ts';
import type { Instr } from '../ir/program.ts';
import { inSsa } from './registers.ts';

/**
 * Results that take the register of a source. Where a guard leaves another value than that source, both would have to be in the
 * register in front of the instruction; it stays apart then.
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
