import type { Program } from '../ir/program.ts';
import type { Remark } from '../passes/pass.ts';
import type { Plan, PlanPhase } from '../spec/plan.ts';
import type { PhaseMemory, RunMemory } from './memory.ts';
import type { DecisionCounts } from './recipe-manager.ts';
import type { RewriteCounter } from './rewrites.ts';

/** A text built on first read, because most reports are never read. */
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

/** What one phase did to one snapshot. Recorded for every phase of the plan, run or not. */
export interface PhaseRecord {
  readonly phase: PlanPhase;
  readonly outcome: 'ran' | 'skipped';
  /** Why it was skipped, or ''. */
  readonly why: string;
  /** Functions for which the gate was shut while the phase ran for others, and why. */
  readonly shutFor: readonly { readonly fn: string; readonly why: string }[];
  /** Effective level at the gate; if it differs between functions, that of the first function for which it was open. */
  readonly level: number;
  /** When it began, in milliseconds after the start of the run. */
  readonly began: number;
  /** Wall time in milliseconds (0 if it was skipped or came from the cache). */
  readonly ms: number;
  /** Growth of the heap in bytes if the host can measure it, else 0. May be negative after a collection. */
  readonly bytes: number;
  /**
   * Its effect on the memory of snapshots, in estimated bytes; null if the run does not track it
   * (`RunOptions.memory`).
   */
  readonly memory: PhaseMemory | null;
  /** Knobs and facts that the gate and the passes read. */
  readonly knobsRead: readonly string[];
  readonly factsRead: readonly string[];
  /** How many functions, blocks and instructions differ from the previous snapshot. */
  readonly functionsChanged: number;
  readonly blocksChanged: number;
  readonly instructionsBefore: number;
  readonly instructionsAfter: number;
  readonly remarks: readonly Remark[];
  readonly reports: readonly Report[];
  /** The listing that knob DumpIR requests after this phase; null if the knob does not name it. */
  readonly dump: Report | null;
  /** The rewrites counted if `rewriteLimit` names the phase; else null. */
  readonly rewrites: RewriteCounter | null;
  /** The progress counter after the phase. Hooks and some phases write to it, whether or not something runs in them. */
  readonly progress: number;
  /** Whether the result came from the prefix cache. */
  readonly cached: boolean;
  /** Key of the snapshot after the phase, within one cache. */
  readonly key: string;
  /**
   * The snapshot after the phase; the same object as before it if nothing changed. A run that keeps only the first
   * and last snapshot (`RunOptions.snapshots`) releases it after `onPhase`: reading it later throws.
   */
  readonly program: Program;
}

/** The record of one run of a plan over one program. */
export interface Journal {
  readonly plan: Plan;
  readonly input: Program;
  readonly records: readonly PhaseRecord[];
  readonly last: Program;
  /** When the run began, in milliseconds of `performance.now()`. */
  readonly began: number;
  /** Memory of snapshots, in estimated bytes; null if the run does not track it. */
  readonly memory: RunMemory | null;
  /** How it was decided which recipes and knob sets with `when` apply to the functions; zeros if none has `when`. */
  readonly decisions: DecisionCounts;
}

/** Number of instructions of a program. */
export function countInstructions(p: Program): number {
  let n = 0;
  for (const f of p.functions) for (const b of f.blocks) n += b.ins.length;
  return n;
}

/**
 * Number of blocks of `after` that are not the same object in `before` (changed or new), plus blocks of `before` that
 * are gone. Linear in the number of blocks; functions with an unchanged reference cost nothing.
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
    const seen = new Set(was?.blocks);
    for (const b of f.blocks) if (!seen.delete(b)) blocks++;
    const ids = new Set(f.blocks.map((b) => b.id));
    for (const b of seen) if (!ids.has(b.id)) blocks++;
  }
  return { functions, blocks };
}

/** A record without its snapshot and its reports, which hold on to functions. */
export function withoutSnapshot(r: PhaseRecord): PhaseRecord {
  const { program: _, ...rest } = r;
  return Object.defineProperty(
    { ...rest, reports: [], dump: null } as Omit<PhaseRecord, 'program'> as PhaseRecord,
    'program',
    {
      get() {
        throw new Error(`the run did not keep the snapshot after ${r.phase.id}`);
      },
    },
  );
}
