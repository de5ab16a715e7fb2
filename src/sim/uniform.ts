import { RegFile, regFile } from '../ir/operand.ts';
import type { LaneRegs } from '../isa/lanes.ts';
import type { Decoded } from './decode.ts';
import { lowest } from './masks.ts';
import type { Frame } from './state.ts';

/**
 * A uniform register exists once per warp, so a result is copied to all lanes, inactive ones included. The value is that of the lowest lane
 * that executed the instruction.
 */
export function shareResults(f: Frame, d: Decoded, mask: number): void {
  if (d.uniform === null || mask === 0) return;
  const l = lowest(mask);
  for (const k of d.uniform) share(f.regs, f.code.operands[d.k + k], regFile(d.ins.dst[k]), l);
}

function share({ i32, p }: LaneRegs, at: number, file: number, l: number): void {
  if (file === RegFile.UP) p[at] = -((p[at] >>> l) & 1);
  else if (file === RegFile.UR) i32.fill(i32[at + l], at, at + 32);
  else {
    const [lo, hi] = [i32[at + 2 * l], i32[at + 2 * l + 1]];
    for (let k = 0; k < 64; k += 2) {
      i32[at + k] = lo;
      i32[at + k + 1] = hi;
    }
  }
}
