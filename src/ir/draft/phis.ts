import { withSource, withSrc } from '../edit.ts';
import { isPhi } from '../flow.ts';
import { label, type Operand } from '../operand.ts';
import type { BlockNo, Ins } from './instruction-list.ts';
import { InstructionDraft } from './instructions.ts';

/** The part of a draft for block ids, which labels refer to, and for phis with their operands. See `Draft`. */
export class PhiDraft extends InstructionDraft {
  /** Id of a block, which labels and tables refer to. */
  id(b: BlockNo): number {
    return this.blocks.ids[b];
  }

  /** The block with this id, -1 if there is none. */
  blockById(id: number): BlockNo {
    const b = this.blocks.numberOf[id] ?? -1;
    return b >= 0 && this.blocks.alive[b] === 1 ? b : -1;
  }

  /** The block's label in the source, '' if it had none. */
  name(b: BlockNo): string {
    return this.blocks.name(b);
  }

  /** A label operand that names the block. */
  labelOf(b: BlockNo): Operand {
    return label(this.blocks.ids[b]);
  }

  /** Phis at the top of a block. */
  phis(b: BlockNo): Ins[] {
    const out: Ins[] = [];
    for (let n = this.blocks.first[b]; n >= 0 && isPhi(this.at(n)); n = this.nextOf[n]) out.push(n);
    return out;
  }

  /** The operand of a phi for a predecessor, or null if it has none. */
  incoming(phi: Ins, from: BlockNo): Operand | null {
    const { src } = this.at(phi);
    for (let k = 0; k + 1 < src.length; k += 2) if (src[k].lo === this.blocks.ids[from]) return src[k + 1];
    return null;
  }

  /** Sets the operand of a phi for a predecessor; null removes it. */
  setIncoming(phi: Ins, from: BlockNo, value: Operand | null): void {
    const x = this.at(phi);
    const src = [...x.src];
    const id = this.blocks.ids[from];
    let k = 0;
    while (k < src.length && src[k].lo !== id) k += 2;
    if (value === null) {
      if (k >= src.length) return;
      src.splice(k, 2);
    } else if (k < src.length) src[k + 1] = value;
    else src.push(label(id), value);
    this.replace(phi, withSrc(x, src));
  }

  /** Sets the operands of a phi for many predecessors in one edit. */
  setAllIncoming(phi: Ins, values: ReadonlyMap<BlockNo, Operand>): void {
    const x = this.at(phi);
    const src = [...x.src];
    const left = new Map(values);
    for (let k = 0; k + 1 < src.length; k += 2) {
      const from = this.blocks.numberOf[src[k].lo];
      const value = left.get(from);
      if (value === undefined) continue;
      src[k + 1] = value;
      left.delete(from);
    }
    for (const [from, value] of left) src.push(this.labelOf(from), value);
    this.replace(phi, withSrc(x, src));
  }

  /** Replaces the predecessor `from` by `to` in the phis of `b`. */
  renamePredecessor(b: BlockNo, from: BlockNo, to: BlockNo): void {
    for (const phi of this.phis(b)) {
      const x = this.at(phi);
      const k = x.src.findIndex((o, i) => i % 2 === 0 && o.lo === this.blocks.ids[from]);
      if (k >= 0) this.replace(phi, withSource(x, k, this.labelOf(to)));
    }
  }

  /** Removes the operands of the phis of `b` for the predecessors that `gone` accepts. */
  dropIncoming(b: BlockNo, gone: (from: BlockNo) => boolean): void {
    for (const phi of this.phis(b)) {
      const x = this.at(phi);
      const left: Operand[] = [];
      for (let k = 0; k + 1 < x.src.length; k += 2)
        if (!gone(this.blocks.numberOf[x.src[k].lo])) left.push(x.src[k], x.src[k + 1]);
      if (left.length < x.src.length) this.replace(phi, withSrc(x, left));
    }
  }
}
