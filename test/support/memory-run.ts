import { type Opcode, slotWidth, srcSlot } from '../../src/ir/opcode.ts';
import { immValue, Kind, NO_REG, type Operand, type Reg, regWidth } from '../../src/ir/operand.ts';
import type { Fn, Instr } from '../../src/ir/program.ts';
import { evalBig } from '../../src/isa/reference.ts';

/*
 * Executes one thread of a function and records every memory access. It is written from the definitions alone and shares no code with the
 * analyses, so that it can judge them. The spaces are far apart in one address range; a generic address is the address itself.
 */
export const SHARED = 2n ** 40n;
export const LOCAL = 2n ** 44n;

/** An event: control entered a block, or an instruction accessed memory. */
export type Event =
  | { readonly k: 'enter'; readonly block: number }
  /** Control reached an instruction; its guard may have been false. */
  | { readonly k: 'came'; readonly n: number }
  /** `value`: the memory contents afterwards, lowest byte first. */
  | {
      readonly k: 'read' | 'write';
      readonly n: number;
      readonly at: bigint;
      readonly bytes: number;
      readonly value: bigint;
    }
  /** Other threads may have written anywhere in shared and global memory. */
  | { readonly k: 'others'; readonly n: number };

/** Initial state of the run. */
export interface World {
  /** Address of each variable in its own space. */
  readonly symbols: ReadonlyMap<string, bigint>;
  /** 64-bit words of constant bank 0. */
  readonly bank: ReadonlyMap<number, bigint>;
  readonly registers: ReadonlyMap<Reg, bigint>;
}

const START: Readonly<Record<string, bigint>> = { shared: SHARED, local: LOCAL };
const BYTES: Readonly<Record<string, number>> = { U8: 1, S8: 1, U16: 2, B32: 4, B64: 8 };
const choice = (op: Opcode, mods: number, group: string): string => {
  const g = op.groupByName.get(group)!;
  return g.values[(mods >>> g.shift) & g.mask].name;
};

/** Executes at most `most` instructions of `fn`. */
export function runMemory(fn: Fn, world: World, most: number): Event[] {
  const events: Event[] = [];
  const regs = new Map<Reg, bigint>(world.registers);
  const bytes = new Map<bigint, number>();
  const first: number[] = [];
  const position = new Map(fn.blocks.map((b, i) => [b.id, i]));
  fn.blocks.reduce((n, b) => (first.push(n), n + b.ins.length), 0);

  const value = (o: Operand, width: number): bigint => {
    switch (o.kind) {
      case Kind.Imm:
        return immValue(o, width);
      case Kind.CBank:
        return BigInt.asUintN(width, world.bank.get(o.lo) ?? 0n);
      case Kind.Sym:
        return BigInt.asUintN(width, world.symbols.get(o.sym)! + BigInt(o.lo));
      default:
        return BigInt.asUintN(width, regs.get(o.reg) ?? 0n);
    }
  };
  const place = (x: Instr, o: Operand): bigint => {
    const width = o.reg === NO_REG ? 64 : regWidth(o.reg);
    const a = (o.reg === NO_REG ? 0n : (regs.get(o.reg) ?? 0n)) + BigInt(o.lo);
    const own = BigInt.asUintN(width, a) + (o.sym === '' ? 0n : world.symbols.get(o.sym)!);
    return own + (START[x.op.space ?? ''] ?? 0n);
  };
  const read = (at: bigint, size: number): bigint => {
    let v = 0n;
    for (let i = size - 1; i >= 0; i--) v = (v << 8n) | BigInt(bytes.get(at + BigInt(i)) ?? 0);
    return v;
  };
  const execute = (x: Instr, n: number): void => {
    const set = (k: number, v: bigint): void => {
      if (x.dst[k] !== NO_REG && x.dst[k] !== undefined) regs.set(x.dst[k], v);
    };
    switch (x.op.primitive) {
      case 'load': {
        if (x.src[0].kind === Kind.CBank) return set(0, value(x.src[0], 64));
        const size = BYTES[choice(x.op, x.mods, 'type')];
        const at = place(x, x.src[0]);
        const all = read(at, size * x.dst.length);
        events.push({ k: 'read', n, at, bytes: size * x.dst.length, value: all });
        x.dst.forEach((_, k) => void set(k, BigInt.asUintN(8 * size, all >> BigInt(8 * size * k))));
        return;
      }
      case 'store': {
        const size = BYTES[choice(x.op, x.mods, 'type')];
        const at = place(x, x.src[0]);
        const count = x.src.length - 1;
        let all = 0n;
        for (let k = count; k > 0; k--)
          all = (all << BigInt(8 * size)) | BigInt.asUintN(8 * size, value(x.src[k], 64));
        for (let i = 0; i < size * count; i++)
          bytes.set(at + BigInt(i), Number((all >> BigInt(8 * i)) & 255n));
        events.push({ k: 'write', n, at, bytes: size * count, value: all });
        return;
      }
      case 'barrier':
      case 'fence':
        events.push({ k: 'others', n });
        return;
      case 'cvta':
        return set(0, value(x.src[0], 64) + START[choice(x.op, x.mods, 'space').toLowerCase()]);
    }
    if (x.op.means === null) throw new Error(`no meaning for ${x.op.name}`);
    const width = (i: number): number => slotWidth(x.op, x.mods, srcSlot(x.op, i)!);
    const r = evalBig(
      x.op,
      x.mods,
      x.src.map((o, i) => value(o, width(i))),
      x.src.map((o) => o.mods),
    );
    r.forEach((v, k) => set(k, v));
  };

  let from = -1;
  let block = 0;
  let left = most;
  for (;;) {
    events.push({ k: 'enter', block });
    const { ins } = fn.blocks[block];
    const phis = new Map<Reg, bigint>();
    for (const x of ins) {
      if (x.op.primitive !== 'phi') break;
      const k = x.src.findIndex((o) => o.kind === Kind.Label && position.get(o.lo) === from);
      phis.set(x.dst[0], value(x.src[k + 1], regWidth(x.dst[0])));
    }
    for (const [r, v] of phis) regs.set(r, v);
    let to = block + 1;
    for (const [i, x] of ins.entries()) {
      if (x.op.primitive === 'phi') continue;
      if (left-- <= 0) return events;
      events.push({ k: 'came', n: first[block] + i });
      if (x.guard !== NO_REG && (regs.get(x.guard) === 1n) === x.guardNot) {
        x.otherwise.forEach((r, k) => {
          if (r !== NO_REG && x.dst[k] !== NO_REG) regs.set(x.dst[k], regs.get(r) ?? 0n);
        });
        continue;
      }
      if (x.op.primitive === 'exit') return events;
      if (x.op.primitive === 'branch') {
        to = position.get(x.src[0].lo)!;
        break;
      }
      execute(x, first[block] + i);
    }
    from = block;
    block = to;
  }
}
