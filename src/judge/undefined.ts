import { slotWidth, srcSlot } from '../ir/opcode.ts';
import { Kind } from '../ir/operand.ts';
import type { Instr } from '../ir/program.ts';
import type { Code, Decoded } from '../sim/decode.ts';
import { lowest } from '../sim/masks.ts';
import type { Frame } from '../sim/state.ts';
import type { Probe } from './watcher.ts';

/** Replacement for undefined values in the second run. */
export const UNDEFINED = 0x5e1f3a7b;

/**
 * Replaces results that PTX leaves undefined: of integer divisions and remainders by zero (PTX ISA 9.0, div) and, if requested, of bit
 * fields whose position or length exceeds 255 (bfe, bfi: both are restricted to 0 to 255), which Orrery and ptxas treat differently.
 */
export class Zeros implements Probe {
  /** @param fields whether bit fields are included */
  found = false;
  private readonly fields: boolean;

  constructor(fields = false) {
    this.fields = fields;
  }

  *wants(code: Code): Iterable<number> {
    for (const [pc, d] of code.ins.entries())
      if (DIVIDES.test(d.ins.op.name) || (this.fields && FIELDS.test(d.ins.op.name))) yield pc;
  }

  asked(f: Frame, pc: number, lanes: number): number {
    const d = f.code.ins[pc];
    const open = FIELDS.test(d.ins.op.name) ? longFields(f, d, lanes) : byZero(f, d, lanes);
    this.found ||= open !== 0;
    return open;
  }

  loaded(): void {}
}

/** Lanes that divide by zero. */
function byZero(f: Frame, d: Decoded, lanes: number): number {
  const at = f.code.operands[d.k + d.ins.dst.length + 1];
  const slot = srcSlot(d.ins.op, 1);
  if (at < 0 || slot === undefined) return lanes;
  const wide = slotWidth(d.ins.op, d.ins.mods, slot) === 64;
  const i = f.regs.i32;
  let found = 0;
  for (let r = lanes; r !== 0; r &= r - 1) {
    const l = lowest(r);
    if (wide ? (i[at + 2 * l] | i[at + 2 * l + 1]) === 0 : i[at + l] === 0) found |= r & -r;
  }
  return found;
}

/** Lanes whose bit field has a position or length above 255. */
function longFields(f: Frame, d: Decoded, lanes: number): number {
  let found = 0;
  d.ins.op.srcs.forEach((s, k) => {
    if (s.name !== 'pos' && s.name !== 'len') return;
    const at = f.code.operands[d.k + d.ins.dst.length + k];
    for (let r = lanes; r !== 0; r &= r - 1) if (f.regs.i32[at + lowest(r)] >>> 0 > 255) found |= r & -r;
  });
  return found;
}

/** Bit-field opcodes. */
const FIELDS = /^BF[EI]$/;

/** True if an instruction may use a bit field with a position or length above 255. */
export const mayAskLongField = ({ op, src }: Instr): boolean =>
  FIELDS.test(op.name) &&
  op.srcs.some(
    (s, k) =>
      (s.name === 'pos' || s.name === 'len') && !(src[k]?.kind === Kind.Imm && src[k].lo >>> 0 <= 255),
  );
/** Opcodes of integer division and remainder. */
const DIVIDES = /^I(DIV|REM)$/;
