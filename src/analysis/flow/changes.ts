import { type Draft, grown, type Ins, type Watcher } from '../../ir/draft/index.ts';
import { NO_REG, type Reg } from '../../ir/operand.ts';
import type { Instr } from '../../ir/program.ts';

/**
 * A log of the changes to a draft, as the instructions that need to be examined again: the changed one, the users of its results, and,
 * if an operand lost its second-to-last or last use, the operand's definition and its remaining user.
 *
 * Several work lists read one log at their own pace: a pass that runs again examines only what has changed since its
 * last run.
 */

/** Registers with several definitions and more uses than this are followed only within the block. */
const MANY_USES = 32;

/** Shared by all empty lists: most passes change nothing, and most functions are small. */
const NOTHING: Int32Array = new Int32Array(0);
const NONE_WAITING: Uint8Array = new Uint8Array(0);

/** The log of one draft, which it watches from its construction on. */
export class ChangeLog implements Watcher {
  readonly d: Draft;
  /** Instructions changed or added so far, and removed ones. */
  changes = 0;
  removals = 0;
  /** Called for each changed, added (`true`) or removed instruction. */
  meter: ((n: Ins, isThere: boolean) => void) | null = null;
  /** Instructions in the order in which they were queued; one that has not been visited since is queued only once. */
  private entries = NOTHING;
  private size = 0;
  /** By instruction: 1 while it is queued and no reader has visited it since. Empty until something is queued. */
  private waiting = NONE_WAITING;
  private readonly note: (n: Ins) => void;

  constructor(d: Draft) {
    this.d = d;
    this.note = (n) => this.add(n);
    d.watcher = this;
  }

  get length(): number {
    return this.size;
  }

  entry(at: number): Ins {
    return this.entries[at];
  }

  changed(n: Ins, before: Instr | null): void {
    const { dst } = this.d.at(n);
    this.changes++;
    if (this.meter !== null) this.meter(n, true);
    this.add(n);
    for (let i = 0; i < dst.length; i++) if (dst[i] !== NO_REG) this.addUsers(dst[i], n);
    if (before !== null) this.lost(n, before);
  }

  removed(n: Ins, before: Instr): void {
    this.removals++;
    if (this.meter !== null) this.meter(n, false);
    this.lost(n, before);
  }

  visited(n: Ins): void {
    if (n < this.waiting.length) this.waiting[n] = 0;
  }

  private add(n: Ins): void {
    if (n >= this.waiting.length) {
      const more = new Uint8Array(Math.max(n, this.d.instructionNumbers) * 2);
      more.set(this.waiting);
      this.waiting = more;
    }
    if (this.waiting[n] === 1) return;
    this.waiting[n] = 1;
    if (this.size === this.entries.length) this.entries = grown(this.entries, this.size);
    this.entries[this.size++] = n;
  }

  /** `before` is no longer at `n`. */
  private lost(n: Ins, before: Instr): void {
    const { dst, src, guard, otherwise } = before;
    const now = this.d.isRemoved(n) ? null : this.d.at(n);
    for (let i = 0; i < dst.length; i++)
      if (dst[i] !== NO_REG && (now === null || now.dst[i] !== dst[i])) this.addUsers(dst[i], n);
    for (let i = 0; i < src.length; i++) {
      const r = src[i].reg;
      if (r !== NO_REG && (now === null || i >= now.src.length || now.src[i].reg !== r)) this.lostUse(r);
    }
    if (guard !== NO_REG && (now === null || now.guard !== guard)) this.lostUse(guard);
    for (let i = 0; i < otherwise.length; i++) if (otherwise[i] !== NO_REG) this.lostUse(otherwise[i]);
  }

  private lostUse(r: Reg): void {
    const left = this.d.useCount(r);
    if (left > 1) return;
    this.d.eachDef(r, this.note);
    // A condition on the number of uses may hold now.
    if (left === 1) this.d.eachUse(r, this.note);
  }

  /** Queues every instruction that may read the old or new value that `n` writes to the register. */
  private addUsers(r: Reg, n: Ins): void {
    const { d } = this;
    let left = d.useCount(r);
    if (d.defCount(r) <= 1 || left <= MANY_USES) return d.eachUse(r, this.note);
    // With several definitions, only instructions that follow in the block are known to see this one.
    for (let q = d.next(n); q >= 0 && left > 0; q = d.next(q)) {
      const x = d.at(q);
      if (reads(x, r)) {
        this.add(q);
        left--;
      }
      if (x.dst.includes(r)) return;
    }
  }
}

/** The instructions that one pass still has to examine: first all of them in layout order, then those in the log. */
export class WorkList {
  private readonly log: ChangeLog;
  private swept = 0;
  private readonly total: number;
  private cursor: number;
  /** By instruction: length of the log at its last visit; earlier entries are done. Empty until the log is read. */
  private visitedAt = NOTHING;

  /** @param settled the pass is known to find nothing in the draft except what has changed since it was opened */
  constructor(log: ChangeLog, settled = false) {
    this.log = log;
    this.total = settled ? 0 : log.d.instructionNumbers;
    this.cursor = settled ? 0 : log.length;
  }

  /** Whether nothing is left to examine. */
  get isEmpty(): boolean {
    return this.swept >= this.total && this.cursor >= this.log.length;
  }

  /** The next instruction to examine; -1 if nothing is left for now. */
  next(): Ins {
    const { log } = this;
    const { d } = log;
    while (this.swept < this.total) {
      const n = this.swept++;
      if (d.isRemoved(n)) continue;
      if (log.length > 0) this.visit(n);
      return n;
    }
    while (this.cursor < log.length) {
      const n = log.entry(this.cursor++);
      if (d.isRemoved(n)) continue;
      if (n < this.visitedAt.length && this.visitedAt[n] >= this.cursor) continue;
      this.visit(n);
      return n;
    }
    return -1;
  }

  private visit(n: Ins): void {
    const { log } = this;
    if (n >= this.visitedAt.length)
      this.visitedAt = grown(this.visitedAt, Math.max(n, log.d.instructionNumbers));
    this.visitedAt[n] = log.length;
    log.visited(n);
  }
}

function reads(x: Instr, r: Reg): boolean {
  if (x.guard === r || x.otherwise.includes(r)) return true;
  for (let i = 0; i < x.src.length; i++) if (x.src[i].reg === r) return true;
  return false;
}
