import type { Fn } from '../program.ts';
import { grown } from './grow.ts';

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
  /** By id. */
  numberOf: Int32Array;
  nextId: number;
  /** First and last block of the layout, -1 if there is none. */
  head: number;
  tail: number;

  /** The blocks of `fn`; the caller fills in first and last instructions and fall-throughs. */
  constructor(fn: Fn) {
    this.fn = fn;
    const { blocks } = fn;
    const n = blocks.length;
    const room = n + (n >> 3) + 16;
    this.count = n;
    this.ids = new Int32Array(room);
    this.first = new Int32Array(room);
    this.last = new Int32Array(room);
    this.fall = new Int32Array(room);
    this.next = new Int32Array(room);
    this.prev = new Int32Array(room);
    this.alive = new Uint8Array(room).fill(1, 0, n);
    this.touched = new Uint8Array(room);
    this.numberOf = new Int32Array(fn.blockCount + (n >> 3) + 16).fill(-1);
    this.nextId = fn.blockCount;
    this.head = n > 0 ? 0 : -1;
    this.tail = n - 1;
    for (let b = 0; b < n; b++) {
      const { id } = blocks[b];
      this.ids[b] = id;
      this.numberOf[id] = b;
      this.next[b] = b + 1 < n ? b + 1 : -1;
      this.prev[b] = b - 1;
    }
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
