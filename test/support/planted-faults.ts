import { withBlocks, withGuard, withIns, withModsOf, withSource, withSrc } from '../../src/ir/edit.ts';
import { Kind, makeOperand, NO_REG, regFile } from '../../src/ir/operand.ts';
import type { Fn, Instr } from '../../src/ir/program.ts';

/*
 * Functions with one small fault: another constant, offset, operand, modifier or condition, a removed instruction, or two exchanged ones.
 * Most of them change behaviour; some do not, as in dead instructions.
 */

/** Draws integers below a bound. */
type Draw = (below: number) => number;

/** xorshift32 (Marsaglia, "Xorshift RNGs", 2003). */
export function drawing(seed: number): Draw {
  let x = (seed * 2_654_435_761) >>> 0 || 1;
  return (below) => {
    x ^= x << 13;
    x ^= x >>> 17;
    x ^= x << 5;
    return (x >>> 0) % below;
  };
}

/** Plants a fault and describes it; null if the drawn place has none of the drawn kind. */
export function withFault(fn: Fn, draw: Draw): { fn: Fn; what: string } | null {
  const b = draw(fn.blocks.length);
  const block = fn.blocks[b];
  if (block.ins.length === 0) return null;
  const at = draw(block.ins.length);
  const list = changed(block.ins, at, draw);
  if (list === null) return null;
  const blocks = fn.blocks.map((x, i) => (i === b ? withIns(x, list.ins) : x));
  return {
    fn: withBlocks(fn, blocks),
    what: `${list.what} at ${at} of block ${b}: ${block.ins[at].op.name}`,
  };
}

function changed(list: readonly Instr[], at: number, draw: Draw): { ins: Instr[]; what: string } | null {
  const ins = list[at];
  const put = (x: Instr | null, what: string) => ({
    ins: list.flatMap((y, i) => (i !== at ? [y] : x === null ? [] : [x])),
    what,
  });
  const control = ins.src.some((o) => o.kind === Kind.Label || o.kind === Kind.Table);
  switch (draw(7)) {
    case 0: {
      const k = ins.src.findIndex((o) => o.kind === Kind.Imm);
      if (k < 0 || control) return null;
      const o = ins.src[k];
      const next = makeOperand(Kind.Imm, NO_REG, o.lo ^ (1 << draw(4)), o.hi, '', o.mods);
      return put(withSource(ins, k, next), 'another constant');
    }
    case 1: {
      const k = ins.src.findIndex((o) => o.kind === Kind.Addr || o.kind === Kind.CBank);
      if (k < 0) return null;
      const o = ins.src[k];
      return put(
        withSource(ins, k, makeOperand(o.kind, o.reg, o.lo + 4, o.hi, o.sym, o.mods)),
        'another offset',
      );
    }
    case 2:
      return control || ins.op.primitive === 'return' || ins.op.primitive === 'exit'
        ? null
        : put(null, 'removed');
    case 3:
      if (ins.src.length < 2 || ins.src[0].kind !== Kind.Reg || ins.src[1].kind !== Kind.Reg) return null;
      if (regFile(ins.src[0].reg) !== regFile(ins.src[1].reg)) return null;
      return put(withSrc(ins, [ins.src[1], ins.src[0], ...ins.src.slice(2)]), 'operands exchanged');
    case 4:
      return ins.guard === NO_REG ? null : put(withGuard(ins, ins.guard, !ins.guardNot), 'guard inverted');
    case 5: {
      const g = ins.op.groups[draw(Math.max(1, ins.op.groups.length))];
      // The number of registers of an access is part of its form.
      if (g === undefined || g.name === 'vec') return null;
      const value = draw(g.values.length);
      const mods = ((ins.mods & ~(g.mask << g.shift)) | (value << g.shift)) >>> 0;
      return mods === ins.mods ? null : put(withModsOf(ins, mods), 'another modifier');
    }
    default: {
      if (at + 1 >= list.length || control) return null;
      const next = list[at + 1];
      if (next.src.some((o) => o.kind === Kind.Label) || next.op.primitive === 'return') return null;
      const out = [...list];
      [out[at], out[at + 1]] = [next, ins];
      return { ins: out, what: 'exchanged with the next' };
    }
  }
}
