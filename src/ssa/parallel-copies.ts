import { Kind, type Operand, type Reg, reg, withReg } from '../ir/operand.ts';

/** A copy into one register. */
export interface Copy {
  readonly to: Reg;
  readonly from: Operand;
}

/**
 * Sequentializes parallel copies: a copy is emitted once no pending copy reads the old value of its target. The remaining
 * copies form cycles, each of which needs one additional register.
 *
 * Source: Boissinot, Darte, Rastello, Dupont de Dinechin and Guillon, "Revisiting Out-of-SSA Translation for
 * Correctness, Code Quality, and Efficiency" (CGO 2009), algorithm 1.
 *
 * @param copies with distinct targets; copies of a register to itself are omitted
 * @param fresh returns an unused register of the same file
 */
export function sequence(copies: readonly Copy[], fresh: (like: Reg) => Reg): Copy[] {
  const out: Copy[] = [];
  const pending = new Map<Reg, Operand>();
  /** By register: number of pending copies that read it. */
  const readers = new Map<Reg, number>();
  for (const c of copies) {
    if (c.from.kind === Kind.Reg && c.from.reg === c.to && c.from.mods === 0) continue;
    pending.set(c.to, c.from);
    if (c.from.kind === Kind.Reg) readers.set(c.from.reg, (readers.get(c.from.reg) ?? 0) + 1);
  }
  const ready = [...pending.keys()].filter((r) => !readers.has(r));
  const drain = (): void => {
    for (let to = ready.pop(); to !== undefined; to = ready.pop()) {
      const from = pending.get(to)!;
      pending.delete(to);
      out.push({ to, from });
      if (from.kind !== Kind.Reg) continue;
      const left = readers.get(from.reg)! - 1;
      readers.set(from.reg, left);
      if (left === 0 && pending.has(from.reg)) ready.push(from.reg);
    }
  };
  drain();
  for (const to of [...pending.keys()]) {
    const from = pending.get(to);
    if (from === undefined) continue;
    // A cycle: the old value of its first target is saved, so that the target can be overwritten.
    const saved = fresh(to);
    out.push({ to: saved, from: reg(to) });
    for (const [t, f] of pending)
      if (f.kind === Kind.Reg && f.reg === to) {
        pending.set(t, withReg(f, saved));
        readers.set(saved, 1);
      }
    ready.push(to);
    drain();
  }
  return out;
}
