import { Unsupported } from '../../table/case.ts';
import type { Operand } from '../../text/syntax.ts';
import { PREDICATE, type Type, U32 } from '../../values/types.ts';
import { after, memoryWords, place, spaceOf } from '../access.ts';
import type { Effect, Effects } from '../effects.ts';
import { BLOCK_BYTES, fromGeneric, load, store, toGeneric } from '../memory.ts';
import type { Operands, Read } from '../operands.ts';

/*
 * Moves, loads, stores and addresses: PTX ISA, 9.7.9.
 */

const mov: Effect = (m, o) => {
  const t = m.type();
  const [write, read] = [o.write(0, t), o.read(1, t)];
  return (lane) => {
    write(lane, read(lane));
    return undefined;
  };
};

/** The register operands of a vector load or store. */
function elements(o: Operand, n: number): readonly Operand[] {
  if (n === 1) return [o.kind === 'vector' && o.elements.length === 1 ? o.elements[0] : o];
  if (o.kind !== 'vector' || o.elements.length !== n)
    throw new Unsupported(`a vector that is not written with braces`);
  return o.elements;
}

const count = (word: string | null): number => (word === null ? 1 : Number(word[1]));

const ld: Effect = (m, o) => {
  const { space, strong, policy } = memoryWords(m);
  const n = count(m.oneOf(['v2', 'v4', 'v8']));
  const t = m.type();
  expectOperands(o, policy ? 3 : 2);
  const memory = o.memory(1, space);
  const writes = elements(o.at(0), n).map((e) => o.writer(e, t));
  const size = t.width / 8;
  return (lane) => {
    const { region, at } = place(lane, memory.space, memory.read(lane), n * size);
    const values = writes.map((_, k) => load(region, at + k * size, size));
    writes.forEach((w, k) => {
      w(lane, values[k]);
    });
    return after(lane, strong);
  };
};

const st: Effect = (m, o) => {
  const { space, strong, policy } = memoryWords(m);
  const n = count(m.oneOf(['v2', 'v4', 'v8']));
  const t = m.type();
  expectOperands(o, policy ? 3 : 2);
  const memory = o.memory(0, space);
  const reads = elements(o.at(1), n).map((e) => (e.kind === 'sink' ? null : o.reader(e, t)));
  const size = t.width / 8;
  return (lane) => {
    const p = place(lane, memory.space, memory.read(lane), n * size);
    if (p.space === 'const' || p.space === 'param') lane.machine.fail(lane, `a store to ${p.space} memory`);
    reads.forEach((r, k) => {
      if (r !== null) store(p.region, p.at + k * size, size, r(lane));
    });
    return after(lane, strong);
  };
};

function expectOperands(o: Operands, n: number): void {
  if (o.count !== n) throw new Unsupported(`${o.ins.opcode} with ${o.count} operands`);
}

/** The address in an operand: a register's value, or the address of a variable in its own space. */
function addressOperand(o: Operands, k: number, t: Type): Read {
  const a = o.at(k);
  if (a.kind === 'name' && o.register(a.name) === null) {
    const { read } = o.address(a.name, a.offset);
    return (lane) => BigInt.asUintN(t.width, read(lane));
  }
  return o.read(k, t);
}

const cvta: Effect = (m, o) => {
  const back = m.flag('to');
  const space = spaceOf(m);
  const t = m.type();
  const write = o.write(0, t);
  const read = addressOperand(o, 1, t);
  return (lane) => {
    const address = read(lane);
    if (!back) write(lane, toGeneric(space, address));
    else {
      const found = fromGeneric(address);
      // An address of one space has no meaning in another.
      const global = space === 'global' && found.space === 'param';
      write(
        lane,
        found.space === space ? found.address : global ? address : lane.machine.choices.unspecified(t),
      );
    }
    return undefined;
  };
};

const isspacep: Effect = (m, o) => {
  const cluster = m.has('shared::cluster');
  const space = spaceOf(m);
  const t = o.register((o.at(1) as { name: string }).name)?.type ?? U32;
  const [write, read] = [o.write(0, PREDICATE), o.read(1, t)];
  return (lane) => {
    const { space: found, address } = fromGeneric(read(lane));
    const own = found !== 'shared' || cluster || Number(address) < BLOCK_BYTES;
    const inside = (found === space && own) || (space === 'global' && found === 'param');
    write(lane, inside ? 1n : 0n);
    return undefined;
  };
};

const mapa: Effect = (m, o) => {
  const shared = m.flag('shared::cluster');
  const t = m.type();
  const [write, read, rank] = [o.write(0, t), addressOperand(o, 1, t), o.read(2, U32)];
  return (lane) => {
    const address = shared ? read(lane) : fromGeneric(read(lane)).address;
    const mapped = (rank(lane) + 1n) * BigInt(BLOCK_BYTES) + (address % BigInt(BLOCK_BYTES));
    write(lane, shared ? mapped : toGeneric('shared', mapped));
    return undefined;
  };
};

const getctarank: Effect = (m, o) => {
  const shared = m.flag('shared::cluster');
  const t = m.type();
  const [write, read] = [o.write(0, U32), addressOperand(o, 1, t)];
  return (lane) => {
    const address = shared ? read(lane) : fromGeneric(read(lane)).address;
    const rank = address / BigInt(BLOCK_BYTES) - 1n;
    write(lane, rank < 0n ? BigInt(lane.block.rank) : rank);
    return undefined;
  };
};

/** A cache hint, which does nothing. */
const hint: Effect = (m) => {
  m.ignore(/./);
  return () => undefined;
};

const createpolicy: Effect = (m, o) => {
  m.ignore(/^(?!b64$)/);
  const t = m.type();
  const write = o.write(0, t);
  return (lane) => {
    write(lane, lane.machine.choices.unspecified(t));
    return undefined;
  };
};

export const moves: Effects = {
  mov,
  ld,
  ldu: ld,
  st,
  cvta,
  isspacep,
  mapa,
  getctarank,
  prefetch: hint,
  prefetchu: hint,
  applypriority: hint,
  createpolicy,
};
