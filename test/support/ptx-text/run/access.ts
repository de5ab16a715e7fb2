import type { Modifiers } from '../table/case.ts';
import type { Lane, Wait } from './lane.ts';
import { TURN } from './lane.ts';
import { BLOCK_BYTES, fromGeneric, load, type Region, type StateSpace, store, within } from './memory.ts';

/** Words of memory instructions that change no result: order among threads, scopes, caches (PTX ISA, 8 and 9.7.9.1). */
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

/** Takes the space of an instruction; without one its addresses are generic. */
export function spaceOf(m: Modifiers): StateSpace {
  const word = m.oneOf(Object.keys(SPACES));
  return word === null ? 'generic' : SPACES[word];
}

/** What the modifiers of a memory instruction say. */
export interface MemoryWords {
  readonly space: StateSpace;
  /** Other lanes see the access at once, so they have a turn then. */
  readonly strong: boolean;
  /** A last operand holds a cache policy. */
  readonly policy: boolean;
}

export function memoryWords(m: Modifiers): MemoryWords {
  const strong = ['volatile', 'relaxed', 'acquire', 'release', 'acq_rel'].some((w) => m.has(w));
  const policy = m.has('L2::cache_hint');
  m.ignore(HINTS);
  return { space: spaceOf(m), strong, policy };
}

/** Lets other lanes have a turn where they may see what happened. */
export const after = (lane: Lane, strong: boolean): Wait | undefined =>
  strong || lane.machine.turn() ? TURN : undefined;

function regionOf(lane: Lane, space: StateSpace, address: number): readonly [Region | null, number] {
  const { machine, block } = lane;
  switch (space) {
    case 'global':
      return [machine.global.find(address), address];
    case 'shared': {
      // Addresses of other blocks of the cluster hold one more than their number.
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

/** Bytes in memory. */
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

/** What memory holds. */
export function loadFrom(lane: Lane, space: StateSpace, address: bigint, size: number): bigint {
  const { region, at } = place(lane, space, address, size);
  return load(region, at, size);
}

/** Changes memory. Constants and parameters of kernels cannot be written. */
export function storeTo(lane: Lane, space: StateSpace, address: bigint, size: number, bits: bigint): void {
  const p = place(lane, space, address, size);
  if (p.space === 'const' || p.space === 'param') lane.machine.fail(lane, `a store to ${p.space} memory`);
  store(p.region, p.at, size, bits);
}
