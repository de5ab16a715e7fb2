import type { Block, Program } from '../ir/program.ts';
import type { Remark } from '../passes/pass.ts';
import type { Plan, PlanPhase } from '../spec/plan.ts';
import type { PhaseMemory, RunMemory } from './memory.ts';
import type { DecisionCounts } from './recipe-manager.ts';
import type { RewriteCounter } from './rewrites.ts';

/** A report whose text is built when it is first read, because most reports are never read. */
export class Report {
  private make: (() => string) | null;
  private made = '';

  constructor(make: () => string) {
    this.make = make;
  }

  get text(): string {
    if (this.make !== null) {
      this.made = this.make();
      this.make = null;
    }
    return this.made;
  }
}

/** What one phase did to one snapshot. Every phase of the plan has a record, whether it ran or not. */
export interface PhaseRecord {
  readonly phase: PlanPhase;
  readonly outcome: 'ran' | 'skipped';
  /** Why it was skipped; '' if it ran. */
  readonly why: string;
  /** Functions for which the gate was shut while the phase ran for others, and why. */
  readonly shutFor: readonly { readonly fn: string; readonly why: string }[];
  /** Effective level at the gate; if it differs between functions, that of the first function for which it was open. */
  readonly level: number;
  /** Start of the phase, in milliseconds after the start of the run. */
  readonly began: number;
  /** Wall time in milliseconds (0 if it was skipped or came from the cache). */
  readonly ms: number;
  /** Growth of the heap in bytes, or 0 if the host cannot measure it. May be negative after a garbage collection. */
  readonly bytes: number;
  /**
   * Its effect on the memory of snapshots, in estimated bytes; null if the run does not track it
   * (`RunOptions.memory`).
   */
  readonly memory: PhaseMemory | null;
  /** Knobs and facts that the gate and the passes read. */
  readonly knobsRead: readonly string[];
  readonly factsRead: readonly string[];
  /** Number of functions and blocks that differ from the previous snapshot. */
  readonly functionsChanged: number;
  readonly blocksChanged: number;
  readonly instructionsBefore: number;
  readonly instructionsAfter: number;
  readonly remarks: readonly Remark[];
  readonly reports: readonly Report[];
  /** The listing that knob DumpIR requests after this phase; null if the knob does not name it. */
  readonly dump: Report | null;
  /** The counted rewrites if `rewriteLimit` names the phase; otherwise null. */
  readonly rewrites: RewriteCounter | null;
  /** The progress counter after the phase. Hooks and some other phases write to it even if nothing runs in them. */
  readonly progress: number;
  /** True if the result came from the prefix cache. */
  readonly cached: boolean;
  /** Key of the snapshot after the phase, within one cache. */
  readonly key: string;
  /**
   * The snapshot after the phase; the same object as before it if nothing changed. A run that keeps only the first and last snapshot
   * (`RunOptions.snapshots`) releases it after `onPhase`, and reading it later throws.
   */
  readonly program: Program;
}

/** The record of one run of a plan over one program. */
export interface Journal {
  readonly plan: Plan;
  readonly input: Program;
  readonly records: readonly PhaseRecord[];
  readonly last: Program;
  /** When the run began, in milliseconds of `now`. */
  readonly began: number;
  /** Memory of snapshots, in estimated bytes; null if the run does not track it. */
  readonly memory: RunMemory | null;
  /** How many functions were tested for `when` conditions, and how many results were shared; zeros if no recipe or knob set has `when`. */
  readonly decisions: DecisionCounts;
}

/** Number of instructions of a program; of functions with machine code, the number of those. */
export function countInstructions(p: Program): number {
  let n = 0;
  for (const f of p.functions)
    if (f.code !== undefined) n += f.code.instructions;
    else for (const b of f.blocks) n += b.ins.length;
  return n;
}

/**
 * The number of changed or new functions in `after`, and the number of blocks in them that are changed, new or removed. Parts are compared
 * by identity. Takes time linear in the blocks of changed functions.
 */
export function changedBlocks(before: Program, after: Program): { functions: number; blocks: number } {
  if (before === after) return { functions: 0, blocks: 0 };
  let functions = 0;
  let blocks = 0;
  const old = new Map(before.functions.map((f) => [f.name, f]));
  for (const f of after.functions) {
    const was = old.get(f.name);
    if (was === f) continue;
    functions++;
    blocks += differing(was?.blocks ?? [], f.blocks);
  }
  return { functions, blocks };
}

/** Number of blocks of `after` that are not the same object in `before`, plus blocks of `before` whose id no block of `after` has. */
export function differing(before: readonly Block[], after: readonly Block[]): number {
  // Fast path: most changes do not affect the block order.
  if (before.length === after.length) {
    let changed = 0;
    let i = 0;
    for (; i < after.length && before[i].id === after[i].id; i++) if (before[i] !== after[i]) changed++;
    if (i === after.length) return changed;
  }
  let blocks = 0;
  const seen = new Set(before);
  for (const b of after) if (!seen.delete(b)) blocks++;
  const ids = new Set(after.map((b) => b.id));
  for (const b of seen) if (!ids.has(b.id)) blocks++;
  return blocks;
}

const NO_REPORTS: readonly Report[] = [];

/** A record without its snapshot and its reports, which would keep functions alive. */
export const withoutSnapshot = (r: PhaseRecord): PhaseRecord => new Released(r);

class Released implements PhaseRecord {
  readonly phase: PlanPhase;
  readonly outcome: PhaseRecord['outcome'];
  readonly why: string;
  readonly shutFor: PhaseRecord['shutFor'];
  readonly level: number;
  readonly began: number;
  readonly ms: number;
  readonly bytes: number;
  readonly memory: PhaseMemory | null;
  readonly knobsRead: readonly string[];
  readonly factsRead: readonly string[];
  readonly functionsChanged: number;
  readonly blocksChanged: number;
  readonly instructionsBefore: number;
  readonly instructionsAfter: number;
  readonly remarks: readonly Remark[];
  readonly reports: readonly Report[] = NO_REPORTS;
  readonly dump = null;
  readonly rewrites: RewriteCounter | null;
  readonly progress: number;
  readonly cached: boolean;
  readonly key: string;

  constructor(r: PhaseRecord) {
    this.phase = r.phase;
    this.outcome = r.outcome;
    this.why = r.why;
    this.shutFor = r.shutFor;
    this.level = r.level;
    this.began = r.began;
    this.ms = r.ms;
    this.bytes = r.bytes;
    this.memory = r.memory;
    this.knobsRead = r.knobsRead;
    this.factsRead = r.factsRead;
    this.functionsChanged = r.functionsChanged;
    this.blocksChanged = r.blocksChanged;
    this.instructionsBefore = r.instructionsBefore;
    this.instructionsAfter = r.instructionsAfter;
    this.remarks = r.remarks;
    this.rewrites = r.rewrites;
    this.progress = r.progress;
    this.cached = r.cached;
    this.key = r.key;
  }

  get program(): never {
    throw new Error(`the run did not keep the snapshot after ${this.phase.id}`);
  }
}
