import type { Modifiers } from '../../table/case.ts';
import { Unsupported } from '../../table/case.ts';
import { B64, PREDICATE, U32 } from '../../values/types.ts';
import { after, loadFrom, place, spaceOf, storeTo } from '../access.ts';
import type { Effect, Effects } from '../effects.ts';
import { type Lane, type Step, TURN } from '../lane.ts';
import type { StateSpace } from '../memory.ts';
import type { Operands, Read } from '../operands.ts';

/*
 * Asynchronous copies and mbarriers: PTX ISA, 9.7.9.25.3 and 9.7.13.15.
 */

/** Performs the copies of all committed groups except the last `keep`. */
function complete(lane: Lane, keep: number): void {
  const committed = lane.copies.slice(0, -1);
  const done = committed.slice(0, Math.max(0, committed.length - keep));
  for (const copy of done.flat()) copy();
  lane.copies = [...committed.slice(done.length), lane.copies.at(-1)!];
}

const commit = (lane: Lane): void => {
  lane.copies.push([]);
};

/** A copy of `size` bytes: the first `taken` are read, the others are set to 0. It is performed at once or when it is waited for. */
function copyStep(m: Modifiers, o: Operands): Step {
  const level = m.need(['ca', 'cg']);
  m.need(['shared', 'shared::cta']);
  m.need(['global']);
  const policy = m.has('L2::cache_hint');
  m.ignore(/^L2::\w+$/);
  const to = o.memory(0, 'shared');
  const from = o.memory(1, 'global');
  const sizeOperand = o.at(2);
  if (sizeOperand.kind !== 'constant' || sizeOperand.constant.kind !== 'integer')
    throw new Unsupported('a copy whose size is no constant');
  const size = Number(sizeOperand.constant.value);
  if (level === 'cg' && size !== 16) throw new Unsupported(`cp.async.cg of ${size} bytes`);
  const optional = o.count - (policy ? 1 : 0) > 3 ? o.at(3) : null;
  const ignores = optional?.kind === 'name' && o.register(optional.name)?.type.kind === 'predicate';
  const last = optional === null ? null : o.read(3, ignores ? PREDICATE : U32);
  return (lane) => {
    const [dst, src] = [to.read(lane), from.read(lane)];
    const extra = last?.(lane) ?? null;
    const taken = extra === null ? size : ignores ? (extra === 1n ? 0 : size) : Math.min(Number(extra), size);
    place(lane, 'shared', dst, size);
    if (taken > 0) place(lane, 'global', src, size);
    const copy = (): void => {
      for (let k = 0; k < size; k++) {
        const byte = k < taken ? loadFrom(lane, 'global', src + BigInt(k), 1) : 0n;
        storeTo(lane, 'shared', dst + BigInt(k), 1, byte);
      }
    };
    if (lane.machine.now()) copy();
    else lane.copies.at(-1)!.push(copy);
    return after(lane, false);
  };
}

const cp: Effect = (m, o) => {
  m.need(['async']);
  if (m.flag('commit_group'))
    return (lane) => {
      commit(lane);
      return undefined;
    };
  if (m.flag('wait_all'))
    return (lane) => {
      commit(lane);
      complete(lane, 0);
      return undefined;
    };
  if (m.flag('wait_group')) {
    const keep = o.read(0, U32);
    return (lane) => {
      complete(lane, Number(keep(lane)));
      return undefined;
    };
  }
  if (m.flag('mbarrier')) {
    m.need(['arrive']);
    const counted = m.flag('noinc');
    const space = spaceOf(m);
    m.need(['b64']);
    const address = o.memory(0, space);
    return (lane) => {
      commit(lane);
      complete(lane, 0);
      // Without .noinc, the pending count is first incremented by the arrival that later decrements it.
      if (counted) change(lane, address.space, address.read(lane), (b) => arrived(b, 1));
      return after(lane, true);
    };
  }
  return copyStep(m, o);
};

/** The decoded contents of an mbarrier. */
interface Mbarrier {
  readonly phase: number;
  readonly pending: number;
  readonly expected: number;
  readonly transactions: number;
}

const COUNT = (1n << 20n) - 1n;

/** The layout of an mbarrier is implementation-defined; here: counts of 20 bits each, then the phase. */
const decoded = (bits: bigint): Mbarrier => ({
  pending: Number(bits & COUNT),
  expected: Number((bits >> 20n) & COUNT),
  transactions: Number(BigInt.asIntN(21, bits >> 40n)),
  phase: Number((bits >> 61n) & 1n),
});
const encoded = (b: Mbarrier): bigint =>
  BigInt(b.pending) |
  (BigInt(b.expected) << 20n) |
  (BigInt.asUintN(21, BigInt(b.transactions)) << 40n) |
  (BigInt(b.phase) << 61n);

/** Starts the next phase if this one is complete. */
const settled = (b: Mbarrier): Mbarrier =>
  b.pending === 0 && b.transactions === 0 ? { ...b, phase: 1 - b.phase, pending: b.expected } : b;
const arrived = (b: Mbarrier, count: number): Mbarrier => settled({ ...b, pending: b.pending - count });

/** Updates the mbarrier at an address. @returns its old contents */
function change(lane: Lane, space: StateSpace, address: bigint, of: (b: Mbarrier) => Mbarrier): bigint {
  const old = loadFrom(lane, space, address, 8);
  storeTo(lane, space, address, 8, encoded(of(decoded(old))));
  return old;
}

type Change = (b: Mbarrier, operand: number) => Mbarrier;

const expects = (b: Mbarrier, n: number): Mbarrier => ({ ...b, transactions: b.transactions + n });
const completes = (b: Mbarrier, n: number): Mbarrier => settled({ ...b, transactions: b.transactions - n });

/** An mbarrier operation without a result: `[addr], count`. */
function changing(o: Operands, space: StateSpace, of: Change): Step {
  const address = o.memory(0, space);
  const n = o.count > 1 ? o.read(1, U32) : () => 0n;
  return (lane) => {
    change(lane, address.space, address.read(lane), (b) => of(b, Number(n(lane))));
    return after(lane, true);
  };
}

/** An mbarrier arrival: `state, [addr], count`. */
function arriving(o: Operands, space: StateSpace, drops: boolean, expectsBytes: boolean): Step {
  const write = o.write(0, B64);
  const address = o.memory(1, space);
  const last: Read = o.count > 2 ? o.read(2, U32) : () => 1n;
  return (lane) => {
    const n = Number(last(lane));
    const count = expectsBytes ? 1 : n;
    const old = change(lane, address.space, address.read(lane), (b) => {
      const more = expectsBytes ? expects(b, n) : b;
      return arrived(drops ? { ...more, expected: more.expected - count } : more, count);
    });
    write(lane, old);
    return after(lane, true);
  };
}

/** A test for the completion of a phase: `p, [addr], state`, or with the parity of the phase. */
function testing(o: Operands, space: StateSpace, parity: boolean): Step {
  const write = o.write(0, PREDICATE);
  const address = o.memory(1, space);
  const state = parity ? o.read(2, U32) : o.read(2, B64);
  return (lane) => {
    const { phase } = decoded(loadFrom(lane, address.space, address.read(lane), 8));
    const asked = parity ? Number(state(lane) & 1n) : decoded(state(lane)).phase;
    write(lane, phase !== asked ? 1n : 0n);
    return TURN;
  };
}

const mbarrier: Effect = (m, o) => {
  const op = m.need([
    'init',
    'inval',
    'arrive',
    'arrive_drop',
    'test_wait',
    'try_wait',
    'pending_count',
    'expect_tx',
    'complete_tx',
  ]);
  const expectsBytes = m.flag('expect_tx');
  const parity = m.flag('parity');
  m.ignore(/^(noComplete|relaxed|acquire|release|cta|cluster)$/);
  const space = spaceOf(m);
  m.need(['b64']);
  switch (op) {
    case 'init':
      return changing(o, space, (_, n) => ({ phase: 0, pending: n, expected: n, transactions: 0 }));
    case 'inval':
      return changing(o, space, (b) => b);
    case 'expect_tx':
      return changing(o, space, expects);
    case 'complete_tx':
      return changing(o, space, completes);
    case 'arrive':
    case 'arrive_drop':
      return arriving(o, space, op === 'arrive_drop', expectsBytes);
    case 'pending_count': {
      const [write, state] = [o.write(0, U32), o.read(1, B64)];
      return (lane) => {
        write(lane, BigInt(decoded(state(lane)).pending));
        return undefined;
      };
    }
    default:
      return testing(o, space, parity);
  }
};

export const asynchronous: Effects = { cp, mbarrier };
