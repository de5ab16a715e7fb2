import type { MachineCode } from './machine-code.ts';

/**
 * A run of a plan over a program as plain data, for a page. Texts are stored once in tables and referred to by number, so that 160
 * snapshots take little more than the instructions that differ between them. The worker sends it to the page, and `orrery trace` writes it
 * to its file.
 */

/** An instruction: its text, the PTX line that it comes from (0: none), and the registers that it defines, separated by spaces. */
export type InsRow = readonly [text: string, line: number, defines: string];

/** A basic block. */
export interface BlockRow {
  readonly id: number;
  /** Label in the source; '' if it had none. */
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
  /** Maximum number of live general registers. */
  readonly pressure: number;
  /** Number of instructions. */
  readonly size: number;
}

/** Rows that were added to the tables. Numbering continues from earlier rows; `fresh` restarts it. */
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
  /** Its verdict; null if there is none. */
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
  /** Its steps, one line each. */
  readonly steps: readonly string[];
  /** Duration of its last run in milliseconds. */
  readonly ms: number;
  /** Whether the result comes from an earlier run. */
  readonly cached: boolean;
  readonly before: number;
  readonly after: number;
  readonly blocksChanged: number;
  /** Maximum register pressure of any function afterwards. */
  readonly pressure: number;
  /** Functions of the snapshot after it, by number; null if it changed nothing. */
  readonly program: readonly number[] | null;
  readonly remarks: readonly RemarkRow[];
  readonly hits: readonly HitRow[];
  readonly knobs: readonly string[];
  readonly facts: readonly string[];
}

/** A knob that a phase of the plan read, or whose value differs from its default. */
export interface KnobRow {
  readonly name: string;
  readonly index: number | null;
  readonly type: string;
  readonly value: string;
  readonly origin: string;
  readonly effect: string;
}

/** The requested plan, as the page edits it. */
export interface Request {
  /** null: the level of a recipe, or 3. */
  readonly level: number | null;
  /** null: the target that the text names. */
  readonly sm: string | null;
  readonly order: string;
  readonly recipes: readonly string[];
  readonly knobSets: readonly string[];
  readonly set: readonly string[];
  readonly disable: readonly string[];
  readonly rules: readonly string[];
  readonly nvopt?: number;
}

/** A text and the plan for it: everything that a result depends on, and the content of a link. */
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
  /** Warnings as shown. */
  readonly warnings: readonly string[];
  /** Time of all phases that were run and not cached, in milliseconds. */
  readonly ms: number;
}

/** Control flow of a version of a function. Blocks by position. */
export interface FlowRow {
  /** Positions of the source and target block of an edge; `back`: a back edge; `kind`: of a two-way branch, taken or fall-through. */
  readonly edges: readonly {
    readonly from: number;
    readonly to: number;
    readonly back: boolean;
    readonly kind: '' | 'taken' | 'falls';
  }[];
  /** An order of positions in which all edges except back edges lead forward. */
  readonly order: readonly number[];
  readonly blocks: readonly {
    readonly depth: number;
    readonly header: boolean;
    readonly reachable: boolean;
    /** Whether its branch may diverge. */
    readonly parts: boolean;
    /** Executions per call of the function, as estimated or profiled. */
    readonly frequency: number;
    readonly pressure: number;
  }[];
}

/** A recording that can be viewed without an engine: the output of `orrery trace`. */
export interface Recording {
  readonly kind: 'recording';
  readonly version: 1;
  readonly orrery: string;
  /** Address of a site with an engine, where what the recording shows can be changed; absent if none was named. */
  readonly site?: string;
  readonly tables: TableRows;
  readonly run: RunRow;
  /** PTX of the result; null with the reason if it cannot be written. */
  readonly output:
    | { readonly text: string; readonly warnings: readonly string[] }
    | { readonly fault: string };
  /** Machine code of the result by our own code generation; absent in files of earlier versions. */
  readonly machine?: MachineCode;
  /** Texts that the PTX was compiled from, by the names in its `.file` directives. */
  readonly sources?: Readonly<Record<string, string>>;
  /** Flow graphs of the versions that a page can request, by number. */
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
