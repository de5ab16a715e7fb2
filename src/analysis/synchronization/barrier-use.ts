import { NO_REG, type Reg, regName } from '../../ir/operand.ts';
import type { Fn, Instr } from '../../ir/program.ts';
import { printInstr } from '../../ir/text.ts';
import type { VerifyError } from '../../ir/verify.ts';
import { cfgOf } from '../flow/cfg.ts';

/** Number of registers that are analysed together: one for each bit of a word. */
const TOGETHER = 32;

/** A barrier or return of a block. */
interface Site {
  readonly ins: Instr;
  readonly index: number;
  /** Number of the barrier register; -1 for a return. */
  readonly register: number;
}

/**
 * Uses of convergence barriers that are wrong on some path, whatever the lanes do:
 * - `barrier-free`: a BSYNC that a path reaches without a BSSY, or after another BSYNC;
 * - `barrier-taken`: a BSSY that a path reaches while the register is still waited for;
 * - `barrier-kept`: a return from a device function inside a region, whose other lanes would wait for those that returned.
 *
 * Cost: for each 32 barrier registers, each block once whenever its state grows.
 */
export function barrierFaults(fn: Fn): VerifyError[] {
  const registers = new Map<Reg, number>();
  const sites = fn.blocks.map((b) =>
    b.ins.flatMap((ins, index): Site[] => {
      if (ins.op.primitive === 'return' && fn.kind !== 'entry') return [{ ins, index, register: -1 }];
      const r = ins.op.primitive === 'convergence' ? registerOf(ins) : NO_REG;
      if (r === NO_REG) return [];
      if (!registers.has(r)) registers.set(r, registers.size);
      return [{ ins, index, register: registers.get(r)! }];
    }),
  );
  const names = [...registers.keys()];
  const errors: VerifyError[] = [];
  for (let from = 0; from < names.length; from += TOGETHER)
    errors.push(...faultsOf(fn, names.slice(from, from + TOGETHER), from, sites));
  return errors;
}

const registerOf = (x: Instr): Reg => x.dst[0] ?? x.src[0]?.reg ?? NO_REG;

/** The faults of some registers, one after the other; the first has the number `from`. */
function faultsOf(
  fn: Fn,
  names: readonly Reg[],
  from: number,
  sites: readonly (readonly Site[])[],
): VerifyError[] {
  const { rpo, succStart, succ, count } = cfgOf(fn);
  /** By block: registers that may be free where it begins, and those that a region may use there. */
  const free = new Int32Array(count);
  const set = new Int32Array(count);
  const errors: VerifyError[][] = names.map(() => []);
  /** The state at the end of a block. @param report whether to add errors */
  const walk = (b: number, report: boolean): readonly [number, number] => {
    let [f, s] = [free[b], set[b]];
    for (const { ins: x, index, register } of sites[b]) {
      const addError = (k: number, rule: string, why: string): void => {
        if (!report) return;
        const message = `'${printInstr(x)}' ${why.replace('%', regName(names[k]))}`;
        errors[k].push({ rule, message, fn: fn.name, block: fn.blocks[b].id, index, loc: x.loc });
      };
      if (register < 0) {
        names.forEach((_, k) => {
          if ((s & (1 << k)) !== 0) addError(k, 'barrier-kept', 'returns from a region of %');
        });
        continue;
      }
      const k = register - from;
      if (k < 0 || k >= names.length) continue;
      const bit = 1 << k;
      const sets = x.dst.length > 0;
      if (sets && (s & bit) !== 0) addError(k, 'barrier-taken', 'sets %, on which lanes may still wait');
      if (!sets && (f & bit) !== 0) addError(k, 'barrier-free', 'waits on %, which may not be set');
      if (x.guard === NO_REG) {
        f &= ~bit;
        s &= ~bit;
      }
      if (sets) s |= bit;
      else f |= bit;
    }
    return [f, s];
  };
  free[0] = -1;
  const work = [...rpo].reverse();
  for (let b = work.pop(); b !== undefined; b = work.pop()) {
    if ((free[b] | set[b]) === 0) continue;
    const [f, s] = walk(b, false);
    for (let e = succStart[b]; e < succStart[b + 1]; e++) {
      const to = succ[e];
      if ((f & ~free[to]) === 0 && (s & ~set[to]) === 0) continue;
      free[to] |= f;
      set[to] |= s;
      work.push(to);
    }
  }
  for (const b of rpo) walk(b, true);
  return errors.flat();
}
