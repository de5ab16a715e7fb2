/** A work list of small integers that holds each at most once; first in, first out. */
export class WorkList {
  private readonly ring: Int32Array;
  private readonly member: Uint8Array;
  private head = 0;
  private length = 0;

  constructor(capacity: number) {
    this.ring = new Int32Array(capacity);
    this.member = new Uint8Array(capacity);
  }

  push(v: number): void {
    if (this.member[v] === 1) return;
    this.member[v] = 1;
    let at = this.head + this.length++;
    if (at >= this.ring.length) at -= this.ring.length;
    this.ring[at] = v;
  }

  /** The oldest member, or -1 when empty. */
  pop(): number {
    if (this.length === 0) return -1;
    const v = this.ring[this.head++];
    if (this.head === this.ring.length) this.head = 0;
    this.length--;
    this.member[v] = 0;
    return v;
  }
}
