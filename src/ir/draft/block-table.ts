import { endsFlow } from '../flow.ts';
import type { Fn, Shape } from '../program.ts';
import { Carver, grown } from './grow.ts';

/** Arrays that functions of one shape have in common. Most passes keep the shape, so most drafts copy them. */
interface Layout {
  /** `ids`, `fall`, `next`, `prev` and `numberOf`, one after the other. */
  readonly words: Int32Array;
  readonly numbers: number;
}
const layouts = new WeakMap<Shape, Layout>();

/**
 * Blocks of a draft by number: ids, first and last instructions, fall-throughs, and the layout as a doubly linked
 * list.
 */
export class BlockTable {
  private readonly fn: Fn;
  /** Names of blocks that the function did not have. */
  private readonly newNames: string[] = [];
  count: number;
  ids: Int32Array;
  first: Int32Array;
  last: Int32Array;
  fall: Int32Array;
  next: Int32Array;
  prev: Int32Array;
  alive: Uint8Array;
  touched: Uint8Array;
  /** Block number by id, -1 if there is none. */
  numberOf: Int32Array;
  nextId: number;
  /** First and last block of the layout, -1 if there is none. */
  head: number;
  tail: number;

  /**
   * The blocks of `fn`; the caller fills in first and last instructions.
   * @param innerControl whether control operations may occur inside blocks
   */
  constructor(fn: Fn, innerControl: boolean) {
    this.fn = fn;
    const { blocks } = fn;
    const n = blocks.length;
    const room = n + (n >> 3) + 16;
    this.count = n;
    this.nextId = fn.blockCount;
    this.head = n > 0 ? 0 : -1;
    this.tail = n - 1;
    const numbers = fn.blockCount + (n >> 3) + 16;
    let layout = layouts.get(fn.shape);
    if (layout?.numbers !== numbers)
      layouts.set(fn.shape, (layout = layoutOf(fn, room, numbers, innerControl)));
    const { words } = layout;
    const carver = new Carver(4 * words.length + 10 * room);
    this.ids = carver.words(room);
    this.fall = carver.words(room);
    this.next = carver.words(room);
    this.prev = carver.words(room);
    this.numberOf = carver.words(numbers);
    new Int32Array(this.ids.buffer, 0, words.length).set(words);
    this.first = carver.words(room);
    this.last = carver.words(room);
    this.alive = carver.bytes(room).fill(1, 0, n);
    this.touched = carver.bytes(room);
  }

  name(b: number): string {
    const { blocks } = this.fn;
    return b < blocks.length ? blocks[b].name : this.newNames[b - blocks.length];
  }

  /** Adds an empty block after `after` in the layout (-1: before everything), without a fall-through. */
  add(after: number, name: string): number {
    const b = this.count++;
    if (b >= this.ids.length) this.grow();
    if (this.nextId >= this.numberOf.length) this.numberOf = grown(this.numberOf, this.nextId);
    this.ids[b] = this.nextId;
    this.numberOf[this.nextId++] = b;
    this.newNames.push(name);
    this.first[b] = -1;
    this.last[b] = -1;
    this.fall[b] = -1;
    this.alive[b] = 1;
    this.touched[b] = 1;
    this.link(b, after);
    return b;
  }

  link(b: number, after: number): void {
    const below = after < 0 ? this.head : this.next[after];
    this.prev[b] = after;
    this.next[b] = below;
    if (after < 0) this.head = b;
    else this.next[after] = b;
    if (below >= 0) this.prev[below] = b;
    else this.tail = b;
  }

  unlink(b: number): void {
    const above = this.prev[b];
    const below = this.next[b];
    if (above >= 0) this.next[above] = below;
    else this.head = below;
    if (below >= 0) this.prev[below] = above;
    else this.tail = above;
  }

  private grow(): void {
    const at = this.ids.length;
    this.ids = grown(this.ids, at);
    this.first = grown(this.first, at);
    this.last = grown(this.last, at);
    this.fall = grown(this.fall, at);
    this.next = grown(this.next, at);
    this.prev = grown(this.prev, at);
    const bytes = (a: Uint8Array): Uint8Array => {
      const out = new Uint8Array(this.ids.length);
      out.set(a);
      return out;
    };
    this.alive = bytes(this.alive);
    this.touched = bytes(this.touched);
  }
}

function layoutOf(fn: Fn, room: number, numbers: number, innerControl: boolean): Layout {
  const { blocks } = fn;
  const n = blocks.length;
  const carver = new Carver(16 * room + 4 * numbers);
  const ids = carver.words(room);
  const fall = carver.words(room);
  const next = carver.words(room);
  const prev = carver.words(room);
  const numberOf = carver.words(numbers).fill(-1);
  for (let b = 0; b < n; b++) {
    const { id, ins } = blocks[b];
    ids[b] = id;
    numberOf[id] = b;
    const below = b + 1 < n ? b + 1 : -1;
    next[b] = below;
    prev[b] = b - 1;
    const ends = innerControl ? ins.some(endsFlow) : ins.length > 0 && endsFlow(ins[ins.length - 1]);
    fall[b] = ends ? -1 : below;
  }
  return { words: new Int32Array(ids.buffer), numbers };
}
