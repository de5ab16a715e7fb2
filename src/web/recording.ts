/**
 * What a page reads: a run of a plan over a program as plain data. Texts stand once in tables and are named by number, so that 160
 * snapshots take little more than the instructions that differ between them. It goes from the worker to the page, and into the
 * file that `orrery trace` writes.
 */

/** An instruction: its text, the PTX line that it came from (0: none), and the registers that it defines, spaces between them. */
export type InsRow = readonly [text: string, line: number, defines: string];

/** A basic block. */
export interface BlockRow {
  readonly id: number;
  /** Label of the source; '' if it had none. */
  readonly name: string;
  readonly ins: readonly number[];
}

/** A version of a function. */
export interface FnRow {
  readonly name: string;
  readonly kind: 'entry' | 'func';
  /** Lines of its listing before the code. */
  readonly head: readonly string[];
  readonly blocks: readonly number[];
  /** Most general registers that live at one place. */
  readonly pressure: number;
  /** Number of instructions. */
  readonly size: number;
}

/** Rows that were added to the tables. Numbers count on from the rows that were there before; `fresh` begins anew. */
export interface TableRows {
  readonly fresh: boolean;
  readonly ins: readonly InsRow[];
  readonly blocks: readonly BlockRow[];
  readonly fns: readonly FnRow[];
}

/** A remark of a pass. */
export interface RemarkRow {
  readonly kind: 'passed' | 'missed' | 'note' | 'advice';
  readonly name: string;
  readonly message: string;
  readonly fn: string;
  readonly block: number;
  /** PTX line, 0 for none. */
  readonly line: number;
}

/** One application of a rule. */
export interface HitRow {
  readonly rule: string;
  readonly fn: string;
  readonly before: number;
  readonly after: readonly number[];
}

/** A rule that fired. */
export interface RuleRow {
  readonly id: string;
  readonly title: string;
  readonly group: string;
  readonly match: string;
  readonly when: string | null;
  readonly rewrite: string;
  readonly source: string;
  /** What is known of it; null where nobody has asked. */
  readonly verdict: { readonly kind: string; readonly text: string } | null;
}

/** One phase of the plan, run or not. */
export interface PhaseRow {
  readonly id: string;
  readonly name: string;
  readonly index: number | null;
  readonly position: number;
  readonly stage: number;
  readonly category: string;
  readonly status: string;
  readonly purpose: string;
  readonly note: string;
  readonly required: boolean;
  readonly ran: boolean;
  /** Why it did not run, or when it runs. */
  readonly why: string;
  readonly shutFor: readonly { readonly fn: string; readonly why: string }[];
  readonly level: number;
  /** What is bound to it, a line each. */
  readonly steps: readonly string[];
  /** Milliseconds when it last ran. */
  readonly ms: number;
  /** The result is that of an earlier run. */
  readonly cached: boolean;
  readonly before: number;
  readonly after: number;
  readonly blocksChanged: number;
  /** Highest register pressure of any function afterwards. */
  readonly pressure: number;
  /** Functions of the snapshot after it, by number; null where it changed nothing. */
  readonly program: readonly number[] | null;
  readonly remarks: readonly RemarkRow[];
  readonly hits: readonly HitRow[];
  readonly knobs: readonly string[];
  readonly facts: readonly string[];
}

/** A knob that a phase of the plan read, or that has another value than its default. */
export interface KnobRow {
  readonly name: string;
  readonly index: number | null;
  readonly type: string;
  readonly value: string;
  readonly origin: string;
  readonly effect: string;
}

/** What was asked for, as the page edits it. */
export interface Request {
  /** null: that of a recipe, or 3. */
  readonly level: number | null;
  /** null: the one that the text names. */
  readonly sm: string | null;
  readonly order: string;
  readonly recipes: readonly string[];
  readonly knobSets: readonly string[];
  readonly set: readonly string[];
  readonly disable: readonly string[];
  readonly rules: readonly string[];
  readonly nvopt?: number;
}

/** A text and the plan for it: all that a result depends on, and what a link carries. */
export interface Source {
  readonly file: string;
  readonly text: string;
  readonly request: Request;
  /** Specs of the user, by file name. */
  readonly documents: Readonly<Record<string, string>>;
}

/** A run. */
export interface RunRow {
  readonly source: Source;
  readonly plan: {
    readonly hash: string;
    readonly level: number;
    readonly sm: string;
    readonly order: string;
    readonly recipe: string | null;
  };
  /** Functions of the program as it was lowered. */
  readonly input: readonly number[];
  readonly phases: readonly PhaseRow[];
  readonly knobs: readonly KnobRow[];
  readonly rules: readonly RuleRow[];
  /** Warnings, as they are shown. */
  readonly warnings: readonly string[];
  /** Time of all phases that ran anew, in milliseconds. */
  readonly ms: number;
}

/** How control goes through a version of a function. Blocks by position. */
export interface FlowRow {
  /**
   * Position of the block where an edge begins, and where it ends; `back`: against the flow; `kind`: of two ways, the taken or the other.
   */
  readonly edges: readonly {
    readonly from: number;
    readonly to: number;
    readonly back: boolean;
    readonly kind: '' | 'taken' | 'falls';
  }[];
  /** Positions such that edges that are no back edges lead from earlier to later. */
  readonly order: readonly number[];
  readonly blocks: readonly {
    readonly depth: number;
    readonly header: boolean;
    readonly reachable: boolean;
    /** Threads of a warp may part at its branch. */
    readonly parts: boolean;
    /** Runs for each call of the function, as estimated or profiled. */
    readonly frequency: number;
    readonly pressure: number;
  }[];
}

/** A recording that needs no engine to be read: what `orrery trace` writes. */
export interface Recording {
  readonly kind: 'recording';
  readonly version: 1;
  readonly orrery: string;
  readonly tables: TableRows;
  readonly run: RunRow;
  /** PTX of the result; null with the reason where it cannot be written. */
  readonly output:
    | { readonly text: string; readonly warnings: readonly string[] }
    | { readonly fault: string };
  /** Flow of the versions that a page can ask for, by number. */
  readonly flows: Readonly<Record<number, FlowRow>>;
}

export const DEFAULT_REQUEST: Request = {
  level: null,
  sm: null,
  order: 'binary',
  recipes: [],
  knobSets: [],
  set: [],
  disable: [],
  rules: [],
};
