import { NO_REG, type Reg, regName } from '../ir/operand.ts';
import type { Fn, Instr } from '../ir/program.ts';
import { printInstr } from '../ir/text.ts';
import type { VerifyError } from '../ir/verify.ts';
import { cfgOf } from './cfg.ts';

/** What may be true of a barrier register at a place: that no region uses it, that one does. */
const FREE = 1;
const SET = 2;

/**
 * Uses of convergence barriers that are wrong on some path, whatever the lanes do:
 * - `barrier-free`: a BSYNC to which a path leads with no BSSY, or past another BSYNC;
 * - `barrier-taken`: a BSSY to which a path leads on which the register is still to be waited for;
 * - `barrier-kept`: a return from a device function inside of a region, whose other lanes would wait for those that returned.
 *
 * Cost: for each barrier register, each block as often as what may be true of it grows, twice at most.
 */
export function barrierFaults(fn: Fn): VerifyError[] {
  const registers = new Set<Reg>();
  for (const b of fn.blocks) for (const x of b.ins) if (isBarrier(x)) registers.add(registerOf(x));
  registers.delete(NO_REG);
  return [...registers].flatMap((r) => faultsOf(fn, r));
}

const isBarrier = (x: Instr): boolean => x.op.primitive === 'convergence';
const registerOf = (x: Instr): Reg => x.dst[0] ?? x.src[0]?.reg ?? NO_REG;

function faultsOf(fn: Fn, r: Reg): VerifyError[] {
  const { rpo, succStart, succ, count } = cfgOf(fn);
  const at = new Uint8Array(count);
  const errors: VerifyError[] = [];
  const walk = (b: number, report: boolean): number => {
    let state = at[b];
    fn.blocks[b].ins.forEach((x, index) => {
      const say = (rule: string, why: string): void => {
        if (report)
          errors.push({
            rule,
            message: `'${printInstr(x)}' ${why}`,
            fn: fn.name,
            block: fn.blocks[b].id,
            index,
            loc: x.loc,
          });
      };
      if (x.op.primitive === 'return' && fn.kind !== 'entry' && (state & SET) !== 0)
        say('barrier-kept', `returns from a region of ${regName(r)}`);
      if (!isBarrier(x) || registerOf(x) !== r) return;
      const sets = x.dst.length > 0;
      if (sets && (state & SET) !== 0)
        say('barrier-taken', `sets ${regName(r)}, on which lanes may still wait`);
      if (!sets && (state & FREE) !== 0) say('barrier-free', `waits on ${regName(r)}, which may not be set`);
      state = (x.guard === NO_REG ? 0 : state) | (sets ? SET : FREE);
    });
    return state;
  };
  at[0] = FREE;
  const work = [...rpo].reverse();
  for (let b = work.pop(); b !== undefined; b = work.pop()) {
    if (at[b] === 0) continue;
    const out = walk(b, false);
    for (let e = succStart[b]; e < succStart[b + 1]; e++) {
      if ((out & ~at[succ[e]]) === 0) continue;
      at[succ[e]] |= out;
      work.push(succ[e]);
    }
  }
  for (const b of rpo) walk(b, true);
  return errors;
}
