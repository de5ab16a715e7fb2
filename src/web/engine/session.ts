import type { MachineSpecs } from '../../codegen/machine-specs.ts';
import {
  type Diagnostic,
  DiagnosticError,
  type Journal,
  openSpecs,
  optimize,
  type Plan,
  planOf,
  type Read,
  readOri,
  readPtx,
  type Specs,
  targetOf,
  writePtx,
} from '../../core.ts';
import type { PhaseRecord } from '../../engine/journal.ts';
import { MemoryCache } from '../../engine/memory-cache.ts';
import { host } from '../../engine/pipeline.ts';
import { fileFault } from '../../ir/diagnostic.ts';
import { hashText } from '../../ir/hash.ts';
import type { RuleHit } from '../../rules/engine.ts';
import { readSpec } from '../../spec/document.ts';
import { legalPlaces } from '../../spec/suggest.ts';
import type { Edit, EngineData, Move, Places, Questions, RunAnswer } from '../protocol.ts';
import type { FlowRow, Recording, RunRow, Source } from '../recording.ts';
import { editedSource, newOrder } from './edits.ts';
import { flowOf } from './flow.ts';
import { Recorder } from './recorder.ts';
import { type PhaseExtra, runRow } from './rows.ts';

/** Maximum number of instructions in snapshots that are kept for later runs. */
const KEPT = 4_000_000;
/** Target for a text that names none, as on the command line. */
const USUAL_TARGET = 'sm_75';
/** Number of complete runs that are kept: the shown one and the one that it is compared with, among others. */
const RUNS = 4;

/** A run with its objects. */
export interface Ran {
  readonly specs: Specs;
  readonly plan: Plan;
  readonly read: Read;
  readonly journal: Journal;
  readonly extras: ReadonlyMap<PhaseRecord, PhaseExtra>;
}

/** Maximum number of phases whose rule hits and times are kept, about a hundred runs of a plan. */
const MOST_EXTRAS = 16_384;

/**
 * The back end of a page: runs plans over programs and answers requests about them. It keeps specs, programs and results of phases, so that
 * a change of a late phase costs only that phase and the later ones.
 */
export class Session {
  readonly data: EngineData;
  recorder = new Recorder();
  /** Forms of machine code, once they are loaded. */
  machine: MachineSpecs | null = null;
  private readonly cache = new MemoryCache(KEPT);
  private readonly specs = new Map<string, Specs>();
  private readonly reads = new Map<string, Read>();
  private readonly extras = new Map<string, PhaseExtra>();
  private readonly runs = new Map<string, Ran>();

  constructor(data: EngineData) {
    this.data = data;
  }

  /** Runs a source. Faults of the text or the specs are returned as the answer. */
  run(source: Source): RunAnswer {
    try {
      if (this.recorder.full) this.recorder = new Recorder();
      const run = this.row(source);
      return { ok: true, rows: this.recorder.take(), run };
    } catch (e) {
      if (e instanceof DiagnosticError) return { ok: false, faults: e.diagnostics };
      throw e;
    }
  }

  /** The run of a source as rows; the recorder then has the table rows that it needs. */
  row(source: Source): RunRow {
    const { specs, plan, read, journal, extras } = this.ran(source);
    const warnings = [...plan.warnings, ...read.warnings].map(oneLine);
    return runRow(source, journal, extras, this.recorder, specs, this.data.verdicts, warnings);
  }

  /**
   * The run of a source.
   *
   * @throws DiagnosticError with its faults
   */
  ran(source: Source): Ran {
    const key = JSON.stringify(source);
    let ran = this.runs.get(key);
    if (ran !== undefined) return ran;
    const specs = this.specsOf(source.documents);
    const plan = this.planOf(source, specs);
    const read = this.readOf(source, plan);
    const inputKey = hashText(source.text, `${plan.sm}|${plan.isa.hash}`);
    let before = inputKey;
    let hits: RuleHit[] = [];
    const extras = new Map<PhaseRecord, PhaseExtra>();
    const journal = optimize(read.program, plan, {
      cache: this.cache,
      inputKey,
      onRuleHit: (h) => void hits.push(h),
      onPhase: (r) => {
        const place = `${before}|${r.phase.id}|${r.key}`;
        const kept = r.cached ? this.extras.get(place) : undefined;
        const extra = kept ?? { hits, ms: r.ms };
        if (r.outcome === 'ran') {
          // Without an entry, a phase from the cache shows no rules and no time.
          if (this.extras.size === MOST_EXTRAS) this.extras.clear();
          this.extras.set(place, extra);
          extras.set(r, extra);
        }
        hits = [];
        before = r.key;
      },
    });
    ran = { specs, plan, read, journal, extras };
    this.runs.set(key, ran);
    for (const old of this.runs.keys()) {
      if (this.runs.size <= RUNS) break;
      this.runs.delete(old);
    }
    return ran;
  }

  /** The result as PTX. */
  output(source: Source): Questions['output']['answer'] {
    const { journal, plan, specs, read } = this.ran(source);
    if (read.module === null) return { fault: 'the input is Ori text, for which no PTX is written' };
    try {
      const { text, warnings } = writePtx(journal.last, plan, specs, { module: read.module });
      return { text, warnings: warnings.map(oneLine) };
    } catch (e) {
      if (e instanceof DiagnosticError) return { fault: e.diagnostics.map(oneLine).join('\n') };
      throw e;
    }
  }

  flow(fn: number): FlowRow {
    return flowOf(this.recorder.fns[fn]);
  }

  /** Faults of a single spec: its YAML and its form. */
  checkSpec(file: string, text: string): readonly Diagnostic[] {
    return readSpec(file, text, (kind) => this.data.shipped.schemas[kind]).diagnostics;
  }

  /** Diagnostics of the plan with a phase moved: errors, and warnings that the current plan does not have. */
  tryMove(source: Source, { phase, after }: Move): readonly Diagnostic[] {
    const now = this.ran(source).plan;
    const others = now.phases.filter((p) => p.id !== phase);
    const move = after === null ? { move: phase, before: others[0].id } : { move: phase, after };
    const file = '<moved>';
    const tried: Source = {
      ...source,
      request: { ...source.request, order: file },
      documents: { ...source.documents, [file]: newOrder(source.request.order, move) },
    };
    try {
      const warnedBefore = new Set(now.warnings.map((w) => w.message));
      const { warnings } = this.planOf(tried, this.specsOf(tried.documents));
      return warnings.filter((w) => !warnedBefore.has(w.message));
    } catch (e) {
      if (e instanceof DiagnosticError) return e.diagnostics;
      throw e;
    }
  }

  edited(source: Source, edit: Edit): Source {
    const { phases } = this.ran(source).plan;
    const first = phases.find((p) => edit.kind !== 'move' || p.id !== edit.phase)!.id;
    return editedSource(source, edit, first);
  }

  places(source: Source, phase: string): Places | null {
    const { specs, plan } = this.ran(source);
    const found = legalPlaces(specs, { ...source.request, sm: plan.sm, level: plan.level }, host, phase);
    if (found === null) return null;
    return {
      position: found.position,
      legal: found.legal.map(({ after, before, warnings, current }) => ({
        after: after?.id ?? null,
        before: before?.id ?? null,
        warnings,
        current,
      })),
      reasons: found.reasons.map((r) => (r.label === undefined ? r.message : `${r.message}: ${r.label}`)),
    };
  }

  /**
   * Everything that a page can request about the run of a source, for use without a session.
   *
   * @throws DiagnosticError with the faults of the source
   */
  recording(source: Source): Recording {
    const run = this.row(source);
    const shown = new Set([...run.input, ...run.phases.flatMap((p) => p.program ?? [])]);
    return {
      kind: 'recording',
      version: 1,
      orrery: this.data.version,
      run,
      output: this.output(source),
      flows: Object.fromEntries([...shown].map((f) => [f, this.flow(f)])),
      tables: this.recorder.take(),
    };
  }

  private specsOf(documents: Source['documents']): Specs {
    const key = JSON.stringify(documents);
    let specs = this.specs.get(key);
    if (specs === undefined) {
      specs = openSpecs(this.data.shipped, documents);
      if (this.specs.size > 2 * RUNS) this.specs.clear();
      this.specs.set(key, specs);
    }
    return specs;
  }

  private planOf({ text, request }: Source, specs: Specs): Plan {
    const sm = request.sm ?? targetOf(text) ?? USUAL_TARGET;
    return planOf(specs, { ...request, sm, wrongRules: 'warn' });
  }

  private readOf({ file, text }: Source, plan: Plan): Read {
    const key = hashText(text, `${file}|${plan.sm}|${plan.isa.hash}`);
    let read = this.reads.get(key);
    if (read === undefined) {
      read = file.endsWith('.ori') ? readOri(text, plan, file) : readPtx(text, plan, file);
      if (this.reads.size > RUNS) this.reads.clear();
      this.reads.set(key, read);
    }
    return read;
  }
}

/** A diagnostic in a line. */
export const oneLine = (d: Diagnostic): string =>
  `${d.file === '' ? '' : `${d.file}${d.line > 0 ? `:${d.line}` : ''}: `}${d.message}${d.label === undefined ? '' : `: ${d.label}`}`;

/** Converts an error without a location to diagnostics. */
export const faultOf = (e: unknown): readonly Diagnostic[] =>
  e instanceof DiagnosticError
    ? e.diagnostics
    : [fileFault('', `internal fault: ${e instanceof Error ? e.message : String(e)}`)];
