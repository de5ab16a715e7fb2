import { modOf, OpFlag } from '../ir/opcode.ts';
import type { Instr } from '../ir/program.ts';
import { isClock, semOf } from './features.ts';

/** What one thread did at one moment, as far as it may matter to others in which order it did things. */
export interface Item {
  readonly ins: Instr;
  /** `wait` and `barrier` order accesses and name no place; `clock` shows the time. */
  readonly what: 'load' | 'store' | 'atomic' | 'fence' | 'barrier' | 'wait' | 'clock';
  /** Others may hear of it: volatile, relaxed or more (PTX ISA 9.0, 8.3). */
  readonly strong: boolean;
  /** Its number and its order among its like stay as they are: volatile accesses and clocks. */
  readonly fixed: boolean;
  readonly acquires: boolean;
  readonly releases: boolean;
  /** A sequentially consistent fence. */
  readonly total: boolean;
  /** 1 for a block, 2 for a cluster, 3 for the device, 4 for the system; 0 for none. */
  readonly scope: number;
  /** What must stay as it is: operation, type, proxy. */
  readonly words: string;
  /** First byte and number of bytes; 0 bytes for what names no place. */
  readonly at: number;
  readonly bytes: number;
  /** What a store writes, byte by byte; else what distinguishes two of its kind. */
  readonly data: Uint8Array | null;
  readonly value: number;
}

/** Where the places of shared memory begin, behind those of global memory. */
export const SHARED_PLACES = 2 ** 48;

const SCOPES = ['NONE', 'CTA', 'CLUSTER', 'GPU', 'SYS'];
const BLOCK = 1;
const SYSTEM = 4;

/** The scope of an access or fence, as a number. */
export const scopeOf = ({ op, mods }: Pick<Instr, 'op' | 'mods'>): number =>
  op.groupByName.has('scope') ? Math.max(0, SCOPES.indexOf(modOf(op, mods, 'scope'))) : 0;

/** What of an instruction is the same whenever it runs. */
type Shape = Omit<Item, 'at' | 'bytes' | 'data' | 'value'>;

const shapes = new WeakMap<Instr, Shape | null>();

/** How an instruction orders accesses, or is ordered; null if neither. */
export function shapeOf(ins: Instr): Shape | null {
  let s = shapes.get(ins);
  if (s === undefined) shapes.set(ins, (s = makeShape(ins)));
  return s;
}

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
      return of('barrier', 'WARP', { acquires: true, releases: true, scope: BLOCK });
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

/** What one thread did, in order. */
export class OrderLog {
  readonly items: Item[] = [];

  /** Items beyond which nothing is recorded: what follows is left out of the comparison. */
  static readonly MOST = 120;

  get isFull(): boolean {
    return this.items.length >= OrderLog.MOST;
  }

  add(shape: Shape, at: number, bytes: number, data: Uint8Array | null, value: number): void {
    if (!this.isFull) this.items.push({ ...shape, at, bytes, data, value });
  }
}
