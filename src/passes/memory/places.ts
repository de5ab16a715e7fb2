import { NO_REG } from '../../ir/operand.ts';
import type { Instr } from '../../ir/program.ts';
import { accessBytes } from '../../isa/accesses.ts';

/**
 * Places in memory as instructions name them: base register and symbol, and the range of bytes accessed with that
 * base. A cheap test before passes query the address analysis, which costs more than most of them do.
 */
export class Places {
  /** By base: the first byte, and one past the last. */
  private readonly ranges = new Map<number | string, [number, number]>();

  get isEmpty(): boolean {
    return this.ranges.size === 0;
  }

  /** Adds the bytes that a load or store touches. */
  add(x: Instr): void {
    const { lo } = x.src[0];
    const end = lo + accessBytes(x.op.accesses[0], x.mods);
    const key = keyOf(x);
    const range = this.ranges.get(key);
    if (range === undefined) this.ranges.set(key, [lo, end]);
    else {
      if (lo < range[0]) range[0] = lo;
      if (end > range[1]) range[1] = end;
    }
  }

  /** May it touch an added place, judged by the text? */
  mayHold(x: Instr): boolean {
    const range = this.ranges.get(keyOf(x));
    if (range === undefined) return false;
    const { lo } = x.src[0];
    return lo < range[1] && lo + accessBytes(x.op.accesses[0], x.mods) > range[0];
  }
}

const keyOf = (x: Instr): number | string => {
  const { reg, sym } = x.src[0];
  return sym === '' ? reg : reg === NO_REG ? sym : `${sym}+${reg}`;
};
