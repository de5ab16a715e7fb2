import type { Modifiers } from '../table/case.ts';
import type { Lane, Wait } from './lane.ts';
import { TURN } from './lane.ts';
import { BLOCK_BYTES, fromGeneric, load, type Region, type StateSpace, store, within } from './memory.ts';

/** Modifiers of memory instructions that do not change results: memory order, scopes, caches (PTX ISA, 8 and 9.7.9.1). */
const HINTS =
  /^(weak|relaxed|acquire|release|acq_rel|mmio|volatile|nc|ca|cg|cs|lu|cv|wb|wt|cta|cluster|gpu|sys|unified|L[12]::\w+)$/;

const SPACES: Readonly<Record<string, StateSpace>> = {
  global: 'global',
  shared: 'shared',
  'shared::cta': 'shared',
  'shared::cluster': 'shared',
  local: 'local',
  const: 'const',
  param: 'param',
  'param::entry': 'param',
  'param::func': 'param',
};

/** Consumes the state space of an instruction; without one, its addresses are generic. */
export function spaceOf(m: Modifiers): StateSpace {
  const word = m.oneOf(Object.keys(SPACES));
  return word === null ? 'generic' : SPACES[word];
}

/** The modifiers of a memory instruction. */
export interface MemoryWords {
  readonly space: StateSpace;
  /** Other lanes observe the access immediately, so they are scheduled after it. */
  readonly strong: boolean;
  /** The last operand is a cache policy. */
  readonly policy: boolean;
}

export function memoryWords(m: Modifiers): MemoryWords {
  const strong = ['volatile', 'relaxed', 'acquire', 'release', 'acq_rel'].some((w) => m.has(w));
  const policy = m.has('L2::cache_hint');
  m.ignore(HINTS);
  return { space: spaceOf(m), strong, policy };
}

/** Yields to other lanes after an access that they can observe; after others, now and then. */
export const after = (lane: Lane, strong: boolean): Wait | undefined =>
  strong || lane.machine.turn() ? TURN : undefined;

function regionOf(lane: Lane, space: StateSpace, address: number): readonly [Region | null, number] {
  const { machine, block } = lane;
  switch (space) {
    case 'global':
      return [machine.global.find(address), address];
    case 'shared': {
      // Addresses in the shared memory of block r of the cluster start at (r + 1) * BLOCK_BYTES.
      const rank = Math.floor(address / BLOCK_BYTES) - 1;
      const of = rank < 0 ? block : block.cluster.blocks[rank];
      return [of?.shared ?? null, address % BLOCK_BYTES];
    }
    case 'local':
      return [lane.local, address];
    case 'const':
      return [machine.constants, address];
    default:
      return [machine.params, address];
  }
}

/** A location in memory. */
export interface Place {
  readonly space: StateSpace;
  readonly region: Region;
  readonly at: number;
}

/** The `size` bytes at an address. @throws RunFault if there are none, or the address is not a multiple of the size */
export function place(lane: Lane, space: StateSpace, address: bigint, size: number): Place {
  const found = space === 'generic' ? fromGeneric(address) : { space, address };
  const [region, at] = regionOf(lane, found.space, Number(found.address));
  try {
    return { space: found.space, region: region!, at: within(region, found.space, at, size) };
  } catch (e) {
    return lane.machine.fail(lane, (e as Error).message);
  }
}

/** Loads a number from memory. */
export function loadFrom(lane: Lane, space: StateSpace, address: bigint, size: number): bigint {
  const { region, at } = place(lane, space, address, size);
  return load(region, at, size);
}

/** Stores a number to memory. @throws RunFault for constants and kernel parameters, which cannot be written */
export function storeTo(lane: Lane, space: StateSpace, address: bigint, size: number, bits: bigint): void {
  const p = place(lane, space, address, size);
  if (p.space === 'const' || p.space === 'param') lane.machine.fail(lane, `a store to ${p.space} memory`);
  store(p.region, p.at, size, bits);
}
