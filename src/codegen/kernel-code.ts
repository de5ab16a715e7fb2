import type { MachineCode } from '../ir/machine-code.ts';
import type { Unsupported } from '../ir/unsupported.ts';
import { NoMachineCode } from './emitter.ts';
import type { KernelParts } from './kernel-parts.ts';
import { listing } from './listing.ts';

/** Machine code of a kernel, from the selection of its instructions to its words. Immutable, as snapshots are. */
export class KernelCode implements MachineCode {
  readonly parts: KernelParts;

  constructor(parts: KernelParts) {
    this.parts = parts;
  }

  /**
   * The code with some parts replaced; this code itself if they are what it has. Control words and words belong to instructions: new
   * instructions have none yet.
   */
  with(change: Partial<KernelParts>): KernelCode {
    const keys = Object.keys(change) as (keyof KernelParts)[];
    if (keys.every((k) => change[k] === this.parts[k])) return this;
    const dropped = change.fn === undefined ? {} : { controls: null, encoded: null };
    return new KernelCode({ ...this.parts, ...dropped, ...change });
  }

  get instructions(): number {
    return this.parts.fn.blocks.reduce((n, b) => n + b.ops.length, 0);
  }

  get registers(): number | null {
    const { fn, of } = this.parts;
    if (of === null) return null;
    const ends = fn.registers.map((r, v) => (r.file === 'R' && of[v] >= 0 ? of[v] + r.words : 0));
    return ends.reduce((a, b) => Math.max(a, b), 0);
  }

  get spills(): number {
    return this.parts.spills;
  }

  lines(): readonly string[] {
    return listing(this.parts);
  }
}

/** A kernel that has no machine code, and why. */
export class NoCode implements MachineCode {
  readonly why: string;
  /** Index into `Program.locs`. */
  readonly loc: number;
  readonly instructions = 0;
  readonly registers = null;
  readonly spills = 0;

  constructor(e: Unsupported) {
    this.why = e.message;
    this.loc = e instanceof NoMachineCode ? e.loc : 0;
  }

  lines(): readonly string[] {
    return [`  no machine code: ${this.why}`];
  }
}
