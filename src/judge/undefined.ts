import { slotWidth, srcSlot } from '../ir/opcode.ts';
import type { Code } from '../sim/decode.ts';
import { lowest } from '../sim/masks.ts';
import type { Frame } from '../sim/state.ts';
import type { Probe } from './watcher.ts';

/** What stands in place of undefined values, the second time. */
export const UNDEFINED = 0x5e1f3a7b;

/** Looks for integer divisions by zero, of which PTX leaves the result undefined (PTX ISA 9.0, div). */
export class Zeros implements Probe {
  found = false;

  *wants(code: Code): Iterable<number> {
    for (const [pc, d] of code.ins.entries()) if (DIVIDES.test(d.ins.op.name)) yield pc;
  }

  asked(f: Frame, pc: number, lanes: number): void {
    const d = f.code.ins[pc];
    const at = f.code.operands[d.k + d.ins.dst.length + 1];
    const slot = srcSlot(d.ins.op, 1);
    if (at < 0 || slot === undefined) {
      this.found = true;
      return;
    }
    const wide = slotWidth(d.ins.op, d.ins.mods, slot) === 64;
    const i = f.regs.i32;
    for (let r = lanes; r !== 0; r &= r - 1) {
      const l = lowest(r);
      if (wide ? (i[at + 2 * l] | i[at + 2 * l + 1]) === 0 : i[at + l] === 0) this.found = true;
    }
  }

  loaded(): void {}
}

/** Opcodes of integer quotients and remainders. */
const DIVIDES = /^I(DIV|REM)$/;
