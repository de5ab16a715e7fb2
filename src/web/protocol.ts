import type { Diagnostic } from '../ir/diagnostic.ts';
import type { MachineCode } from './machine-code.ts';
import type { FlowRow, RunRow, Source, TableRows } from './recording.ts';

/** Requests of the page to the engine, each with its answer. All are plain data, so they can be sent to a worker. */
export interface Questions {
  /** Available names and schemas. */
  readonly about: { readonly ask: null; readonly answer: About };
  /** Runs a plan over a program. */
  readonly run: { readonly ask: Source; readonly answer: RunAnswer };
  /** The result as PTX. */
  readonly output: {
    readonly ask: Source;
    readonly answer:
      | { readonly text: string; readonly warnings: readonly string[] }
      | { readonly fault: string };
  };
  /** Control flow of a function, by its number. */
  readonly flow: { readonly ask: number; readonly answer: FlowRow };
  /** Live ranges of a version of a function, by its number, and what registers cost on the target of a source. */
  readonly registers: {
    readonly ask: { readonly source: Source; readonly fn: number };
    readonly answer: LiveRanges;
  };
  /** Machine code of a source, as `orrery asm` writes it. */
  readonly machine: { readonly ask: Source; readonly answer: MachineCode };
  /** Faults of a single spec. */
  readonly checkSpec: {
    readonly ask: { readonly file: string; readonly text: string };
    readonly answer: readonly Diagnostic[];
  };
  /** Diagnostics for a phase placed after another one (null: first). */
  readonly tryMove: {
    readonly ask: Move & { readonly source: Source };
    readonly answer: readonly Diagnostic[];
  };
  /** The source with a phase moved, switched off or on again. */
  readonly edited: {
    readonly ask: { readonly source: Source; readonly edit: Edit };
    readonly answer: Source;
  };
  /** Legal places of a phase, and why others are illegal. */
  readonly places: {
    readonly ask: { readonly source: Source; readonly phase: string };
    readonly answer: Places | null;
  };
  /** Compares two plans over their programs. */
  readonly compare: { readonly ask: { readonly a: Source; readonly b: Source }; readonly answer: Comparison };
  /** Runs a launch in the simulator, before and after the plan. */
  readonly simulate: { readonly ask: SimulateAsk; readonly answer: Simulated };
  /** Whether the program behaves alike before and after, in open worlds. */
  readonly equal: { readonly ask: Source; readonly answer: readonly EqualRow[] };
}

export type Ask = keyof Questions;

/** A request in transit. */
export interface Message<K extends Ask = Ask> {
  readonly id: number;
  readonly kind: K;
  readonly ask: Questions[K]['ask'];
}
export type Reply<K extends Ask = Ask> =
  | { readonly id: number; readonly answer: Questions[K]['answer'] }
  | { readonly id: number; readonly faults: readonly Diagnostic[] };

/** The general registers of a function: where each holds a value that is still read. Instructions are counted through all blocks. */
export interface LiveRanges {
  /** 32-bit registers that are live at each instruction. */
  readonly pressure: readonly number[];
  readonly ranges: readonly LiveRange[];
  /** Number of lanes in which all ranges can be drawn without touching. */
  readonly lanes: number;
  /** Threads of a block for which occupancy is meant, and whether the kernel states them. */
  readonly threads: number;
  readonly stated: boolean;
  /** Warps that an SM holds with up to so many registers a thread, from few registers to many; empty if the target does not say. */
  readonly cliffs: readonly { readonly registers: number; readonly warps: number }[];
}

export interface LiveRange {
  readonly register: string;
  /** 32-bit registers that it takes. */
  readonly units: number;
  readonly lane: number;
  /** First and last instruction of each part. */
  readonly parts: readonly (readonly [from: number, to: number])[];
  readonly defined: readonly number[];
  readonly used: readonly number[];
}

/** A name that can be chosen, with its description. */
export interface Choice {
  readonly name: string;
  readonly title: string;
}

export interface KnobChoice {
  readonly name: string;
  readonly index: number | null;
  readonly type: string;
  readonly value: string;
  readonly effect: string;
  readonly readers: readonly string[];
}

/** Names and schemas for menus and completion. */
export interface About {
  readonly version: string;
  readonly orders: readonly Choice[];
  readonly recipes: readonly Choice[];
  readonly knobSets: readonly Choice[];
  readonly targets: readonly string[];
  readonly phases: readonly string[];
  readonly passes: readonly string[];
  readonly groups: readonly string[];
  readonly knobs: readonly KnobChoice[];
  /** JSON Schemas of the kinds of specs that can be edited. */
  readonly schemas: Readonly<Record<string, object>>;
}

export type RunAnswer =
  | { readonly ok: true; readonly rows: TableRows; readonly run: RunRow }
  | { readonly ok: false; readonly faults: readonly Diagnostic[] };

export interface Move {
  readonly phase: string;
  /** The phase after which it is placed; null: before all others. */
  readonly after: string | null;
}

export type Edit =
  | ({ readonly kind: 'move' } & Move)
  | { readonly kind: 'switch'; readonly phase: string; readonly on: boolean }
  | { readonly kind: 'knob'; readonly name: string; readonly value: string | null };

export interface Places {
  readonly position: number;
  readonly legal: readonly {
    readonly after: string | null;
    readonly before: string | null;
    readonly warnings: readonly string[];
    readonly current: boolean;
  }[];
  readonly reasons: readonly string[];
}

/** A metric of a kernel with two plans. */
export interface MetricRow {
  readonly name: string;
  readonly title: string;
  readonly unit: string;
  readonly a: number;
  readonly b: number;
  readonly verdict: 'helped' | 'HURT' | 'same' | 'differs';
}

export interface KernelComparison {
  readonly kernel: string;
  readonly metrics: readonly MetricRow[];
  /** The first phase after which the programs differ; null if they never do. */
  readonly first: {
    readonly phase: string;
    readonly a: string;
    readonly b: string;
    readonly because: readonly string[];
  } | null;
  /** Whether both results behave alike in open worlds; the text gives details. */
  readonly equal: EqualRow;
}

export interface Comparison {
  readonly rows: TableRows;
  readonly a: RunRow;
  readonly b: RunRow;
  readonly differences: readonly {
    readonly kind: string;
    readonly name: string;
    readonly a: string;
    readonly b: string;
  }[];
  readonly kernels: readonly KernelComparison[];
}

export interface EqualRow {
  readonly kernel: string;
  readonly same: boolean;
  readonly text: string;
}

export interface SimulateAsk {
  readonly source: Source;
  /** YAML text of the launch. */
  readonly launch: string;
  /** The data files that it names. */
  readonly data: Readonly<Record<string, Uint8Array>>;
}

/** Contents of a buffer as text, as far as they are shown. */
export interface BufferRow {
  readonly param: number;
  readonly name: string;
  readonly type: string;
  readonly length: number;
  readonly before: readonly string[];
  readonly after: readonly string[];
  readonly expected: readonly string[] | null;
  /** Number of elements that differ from the expected ones. */
  readonly wrong: number;
}

/** Result of one run of a launch. */
export interface LaunchRow {
  readonly status: 'ok' | 'mismatch' | 'fault' | 'budget';
  readonly error: string | null;
  readonly buffers: readonly BufferRow[];
  readonly counters: readonly { readonly name: string; readonly value: number }[];
  /** Executions of each block by warps: function, then block id. */
  readonly blocks: Readonly<Record<string, Readonly<Record<string, number>>>>;
  readonly output: string;
}

export interface Simulated {
  readonly kernel: string;
  readonly lowered: LaunchRow;
  readonly optimized: LaunchRow;
  /** Whether both left the same bytes in every buffer. */
  readonly same: boolean;
}

/** A kernel of the gallery, with everything that is needed to run it. */
export interface GalleryEntry {
  readonly name: string;
  readonly file: string;
  readonly text: string;
  readonly launches: readonly { readonly name: string; readonly text: string }[];
  /** Data files, in base64. */
  readonly data: Readonly<Record<string, string>>;
  /** Texts that the PTX was compiled from, by the names in its `.file` directives, as far as they are beside it. */
  readonly sources: Readonly<Record<string, string>>;
}

/** A kernel of the gallery in its list. */
export interface GalleryRow {
  readonly name: string;
  readonly title: string;
  readonly lines: number;
}

/** A file of the command line, with the launches next to it and their data in base64. */
export interface OpenedFile extends Pick<GalleryEntry, 'launches' | 'data' | 'sources'> {
  readonly file: string;
  readonly text: string;
}

/** Start data of the page, from the server or the site. */
export interface Start {
  /** Files that were named on the command line; none: only the gallery is shown. */
  readonly files: readonly OpenedFile[];
  readonly request: Partial<Source['request']>;
  readonly documents: Readonly<Record<string, string>>;
  /** Whether the server sends notifications about changed files (`/events`). */
  readonly live: boolean;
  /** Whether the server has ptxas compile the files that it shows (`/ptxas/`). */
  readonly ptxas: boolean;
}

/** Data that the worker loads before its first answer. */
export interface EngineData {
  readonly shipped: import('../spec/collect.ts').ShippedSpecs;
  readonly verdicts: import('../rules/prove/verdict.ts').Verdicts;
  readonly version: string;
}
