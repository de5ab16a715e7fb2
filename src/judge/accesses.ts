import { memo } from '../ir/memo.ts';
import { modOf, OpFlag } from '../ir/opcode.ts';
import type { Instr } from '../ir/program.ts';
import { isClock, semOf } from './features.ts';

/** One memory operation of a thread, as far as its order relative to others may be visible to other threads. */
export interface Item {
  readonly ins: Instr;
  /** `wait` and `barrier` order accesses and have no address; `clock` reads a clock. */
  readonly what: 'load' | 'store' | 'atomic' | 'fence' | 'barrier' | 'wait' | 'clock';
  /** A strong operation: volatile, relaxed or stronger (PTX ISA 9.0, 8.3). */
  readonly strong: boolean;
  /** Neither the number of these items nor their order may change: volatile accesses and clocks. */
  readonly fixed: boolean;
  readonly acquires: boolean;
  readonly releases: boolean;
  /** A sequentially consistent fence. */
  readonly total: boolean;
  /** Scope: 1 for a block, 2 for a cluster, 3 for the device, 4 for the system; 0 for none. */
  readonly scope: number;
  /** Properties that must not change: operation, type, proxy. */
  readonly words: string;
  /** First byte and number of bytes; 0 bytes for an item without address. */
  readonly at: number;
  readonly bytes: number;
  /** The bytes that a store writes, null for others; `value` distinguishes items of one kind. */
  readonly data: Uint8Array | null;
  readonly value: number;
}

/** Start of the shared-memory addresses of items, above those of global memory. */
export const SHARED_PLACES = 2 ** 48;

/** Words of a meeting of a warp. */
export const WARP = 'WARP';

const SCOPES = ['NONE', 'CTA', 'CLUSTER', 'GPU', 'SYS'];
const BLOCK = 1;
const SYSTEM = 4;

/** Scope of an access or fence as a number, as in `Item.scope`. */
export const scopeOf = ({ op, mods }: Pick<Instr, 'op' | 'mods'>): number =>
  op.groupByName.has('scope') ? Math.max(0, SCOPES.indexOf(modOf(op, mods, 'scope'))) : 0;

/** The properties of an item that are the same in every execution of its instruction. */
type Shape = Omit<Item, 'at' | 'bytes' | 'data' | 'value'>;

/** How an instruction orders accesses or is ordered; null if neither. */
export const shapeOf: (ins: Instr) => Shape | null = memo(makeShape);

function makeShape(ins: Instr): Shape | null {
  const { op, mods } = ins;
  const sem = semOf(ins);
  const has = (group: string): string => (op.groupByName.has(group) ? modOf(op, mods, group) : '');
  const of = (what: Item['what'], words: string, how: Partial<Shape> = {}): Shape => ({
    ins,
    what,
    strong: true,
    fixed: false,
    acquires: false,
    releases: false,
    total: false,
    scope: scopeOf(ins),
    words,
    ...how,
  });
  switch (op.primitive) {
    case 'fence':
      return of('fence', `${sem === 'PROXY' ? has('proxy') : ''} ${has('restrict')}`.trim(), {
        acquires: sem !== 'RELEASE',
        releases: sem !== 'ACQUIRE',
        total: sem === 'SC',
      });
    case 'barrier':
      return of('barrier', `BAR ${has('mode')}`, {
        acquires: has('mode') !== 'ARRIVE',
        releases: true,
        scope: BLOCK,
      });
    case 'cluster-barrier':
      return of('barrier', `CLUSTER ${has('mode')}`, {
        acquires: has('mode') === 'WAIT',
        releases: has('mode') === 'ARRIVE' && sem !== 'RELAXED',
        scope: 2,
      });
    case 'warpsync':
      return of('barrier', WARP, { acquires: true, releases: true, scope: BLOCK });
    case 'mbarrier-arrive':
      return of('atomic', `ARRIVE ${has('op')}`, { releases: true, scope: BLOCK });
    case 'mbarrier-wait':
      return of('load', 'WAIT', { acquires: true, scope: BLOCK });
    case 'mbarrier-init':
    case 'mbarrier-inval':
      return of('store', op.name, { scope: BLOCK });
    case 'hint':
      if (op.name === 'ACQBULK') return of('wait', op.name, { acquires: true, scope: SYSTEM });
      return null;
    default:
  }
  if (isClock(ins)) return of('clock', has('sr'), { fixed: true });
  const strong = sem !== '' && sem !== 'WEAK';
  if (op.primitive === 'load' || op.primitive === 'store' || op.primitive === 'atomic')
    return of(op.primitive, op.primitive === 'atomic' ? `${has('op')} ${has('type')}` : '', {
      strong: strong || op.primitive === 'atomic',
      fixed: sem === 'VOLATILE' || sem === 'MMIO',
      acquires: sem === 'ACQUIRE' || sem === 'ACQ_REL',
      releases: sem === 'RELEASE' || sem === 'ACQ_REL',
      ...(sem === 'VOLATILE' || sem === 'MMIO' ? { scope: SYSTEM } : {}),
    });
  if ((op.flags & OpFlag.Barrier) !== 0)
    return of('wait', op.name, { acquires: true, releases: true, scope: SYSTEM });
  return null;
}

/** The memory operations of one thread, in program order. */
export class OrderLog {
  readonly items: Item[] = [];

  /** Number of items after which recording stops; the rest is excluded from the comparison. */
  static readonly MOST = 120;

  get isFull(): boolean {
    return this.items.length >= OrderLog.MOST;
  }

  add(shape: Shape, at: number, bytes: number, data: Uint8Array | null, value: number): void {
    if (this.isFull) return;
    const { ins, what, strong, fixed, acquires, releases, total, scope, words } = shape;
    // Spreading the shape takes several times as long.
    const item = {
      ins,
      what,
      strong,
      fixed,
      acquires,
      releases,
      total,
      scope,
      words,
      at,
      bytes,
      data,
      value,
    };
    this.items.push(item);
  }
}
