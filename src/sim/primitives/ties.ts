import type { Tie } from '../../ir/foreign-text.ts';
import { regWidth } from '../../ir/operand.ts';
import type { Decoded } from '../decode.ts';
import { lowest } from '../masks.ts';
import type { Frame } from '../state.ts';
import { opnd } from './primitive.ts';

/** Copies the sources of unwritten ties to their results, as one parallel copy. */
export function keep(f: Frame, d: Decoded, ties: readonly Tie[], mask: number): void {
  const i = f.regs.i32;
  const values: { to: number; size: number; words: Int32Array }[] = [];
  for (const t of ties) {
    const to = opnd(f, d, t.dst);
    const from = opnd(f, d, d.ins.dst.length + t.src);
    if (!t.unwritten || to < 0 || from < 0 || to === from) continue;
    const size = regWidth(d.ins.dst[t.dst]) / 32;
    values.push({ to, size, words: i.slice(from, from + 32 * size) });
  }
  for (const { to, size, words } of values)
    for (let r = mask; r !== 0; r &= r - 1)
      for (let k = 0; k < size; k++) i[to + size * lowest(r) + k] = words[size * lowest(r) + k];
}
