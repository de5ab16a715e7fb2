import { batch, computed, effect, signal } from '@preact/signals';
import { type Diagnostic, DiagnosticError } from '../../ir/diagnostic.ts';
import { substanceOf } from '../model/documents.ts';
import { Alignments, namesOf } from '../model/history.ts';
import { fnIn, snapshotsOf, Tables } from '../model/tables.ts';
import type { About, Edit, GalleryRow, OpenedFile } from '../protocol.ts';
import { DEFAULT_REQUEST, type FlowRow, type Recording, type RunRow, type Source } from '../recording.ts';
import { Cancelled, Engine, failureText } from './engine.ts';
import type { Pane, View } from './linked.ts';

export type { Pane, View };

/** The picked part of a listing. */
export interface Picked {
  /** Snapshot in which it was clicked. */
  readonly snapshot: number;
  /** Instruction; -1 if a source line was clicked. */
  readonly ins: number;
  /** Register; '' for none. */
  readonly register: string;
  /** PTX line; 0 for none. */
  readonly line: number;
}

export const tables = new Tables();
export const alignments = new Alignments(tables);

export const about = signal<About | null>(null);
export const gallery = signal<readonly GalleryRow[]>([]);
export const files = signal<readonly OpenedFile[]>([]);

export const source = signal<Source | null>(null);
export const run = signal<RunRow | null>(null);
/** The run to compare with: that of the source as it was opened, or pinned. */
export const baseline = signal<Source | null>(null);
export const baselineRun = signal<RunRow | null>(null);
export const faults = signal<readonly Diagnostic[]>([]);
export const busy = signal(false);
export const undoable = signal<readonly Source[]>([]);
/** Milliseconds from request to answer. */
export const answered = signal(0);
export const note = signal('');

export const view = signal<View>('code');
/** The part of the page that a small screen shows. */
export type Part = 'phases' | 'view' | 'details';
export const part = signal<Part>('view');
/** Whether the list of phases is folded away, for views that need the width. */
export const narrow = signal(false);
export const phase = signal(-1);
export const left = signal<Pane>(0);
export const right = signal<Pane>(0);
export const fnName = signal('');
export const picked = signal<Picked | null>(null);
export const launches = signal<readonly { readonly name: string; readonly text: string }[]>([]);
export const launchData = signal<Readonly<Record<string, Uint8Array>>>({});

/** Texts that the PTX was compiled from, by the names in its `.file` directives. */
export const sources = signal<Readonly<Record<string, string>>>({});
/** Whether the server has ptxas compile the files that it shows. */
export const ptxasOf = signal(false);
/** Where the server has the opened file, and its text there; null for a text of the page. */
export const origin = signal<{ readonly path: string; readonly text: string } | null>(null);

/** Executions of blocks in the simulator, before and after the plan: by function and block id. */
export const blockRuns = signal<Readonly<
  Record<'before' | 'after', Readonly<Record<string, Readonly<Record<string, number>>>>>
> | null>(null);

/** The recording that the page shows if there is no engine. */
export const still = signal<Recording | null>(null);
export const live = computed(() => still.value === null);
let engine: Engine | null = null;
let runner: Engine | null = null;

export const engineOf = (): Engine => (engine ??= new Engine());
/** A second engine for what may take long, so that the first goes on answering: launches, and comparisons without one. */
export const runnerOf = (): Engine => (runner ??= new Engine());

export const snapshots = computed(() => (run.value === null ? [] : snapshotsOf(run.value)));
export const fnNames = computed(() => (run.value?.input ?? []).map((f) => tables.fns[f].name));
/** Number of the shown function in a snapshot; -1 for none. */
export const fnAt = (snapshot: number): number => fnIn(tables, snapshots.value[snapshot] ?? [], fnName.value);

/** The picked register: the one that was clicked, or the one that the instruction defines. */
export const register = computed(() => {
  const p = picked.value;
  if (p === null || p.ins < 0) return '';
  return p.register !== '' ? p.register : (tables.ins[p.ins]?.[2].split(' ')[0] ?? '');
});
/** Names of its value in each snapshot. */
export const valueNames = computed<readonly string[]>(() => {
  const [p, r] = [picked.value, run.value];
  return p === null || r === null || register.value === ''
    ? []
    : namesOf(tables, alignments, r, fnName.value, p.snapshot, register.value);
});

/** Whether the source differs from the one that it is compared with. */
export const differs = computed(
  () =>
    baseline.value !== null &&
    source.value !== null &&
    substanceOf(baseline.value) !== substanceOf(source.value),
);

/** Shows the run of a recording. */
export function showRecording(r: Recording): void {
  still.value = r;
  sources.value = r.sources ?? {};
  tables.add(r.tables);
  batch(() => {
    source.value = r.run.source;
    arrived(r.run);
  });
}

/** Handles a new run: earlier selections are kept if the new run has them. */
function arrived(next: RunRow): void {
  const before = run.value;
  const chosen = before?.phases[phase.value]?.id;
  const sides = [left.value, right.value];
  run.value = next;
  blockRuns.value = null;
  faults.value = [];
  if (!fnNames.value.includes(fnName.value)) fnName.value = fnNames.value[0] ?? '';
  const at = next.phases.findIndex((p) => p.id === chosen);
  if (at >= 0) {
    const shift = (p: Pane): Pane => (typeof p === 'number' ? p + at - phase.value : p);
    const whole = sides[0] === phase.value && sides[1] === phase.value + 1;
    // A run updates the current view: a spec or a launch stays visible.
    show(at, !whole);
    if (!whole) [left.value, right.value] = sides.map((p) => clamp(shift(p), next.phases.length));
  } else {
    showAll();
  }
  picked.value = null;
}

const clamp = (p: Pane, most: number): Pane => (typeof p === 'number' ? Math.max(0, Math.min(most, p)) : p);

/** Shows the combined changes of all phases. */
export function showAll(): void {
  batch(() => {
    phase.value = -1;
    left.value = 0;
    right.value = run.value?.phases.length ?? 0;
  });
}

/** Views that show the selected phase. */
const OF_PHASES: ReadonlySet<View> = new Set(['code', 'graph', 'levels', 'phases', 'film', 'registers']);

/** Selects a phase, and shows what it changed. */
export function select(at: number, keepPanes = false): void {
  batch(() => {
    show(at, keepPanes);
    if (!keepPanes) part.value = 'view';
    if (!keepPanes && at >= 0 && !OF_PHASES.has(view.value)) view.value = 'code';
  });
}

/** Makes a phase the one whose changes the code and the graph show. */
function show(at: number, keepPanes: boolean): void {
  batch(() => {
    phase.value = at;
    if (keepPanes || at < 0) return;
    left.value = at;
    right.value = at + 1;
    // If a phase did not change the shown function, a function that it changed is shown.
    const changed = (run.value?.phases[at]?.program ?? []).filter((f) => !snapshots.value[at].includes(f));
    const names = changed.map((f) => tables.fns[f].name);
    if (names.length > 0 && !names.includes(fnName.value)) fnName.value = names[0];
  });
}

let requestCount = 0;

/** Requests the run of a source and shows it. Of several in quick succession only the last is shown. */
export async function open(next: Source, how: 'new' | 'edit' | 'undo' = 'edit'): Promise<void> {
  const turn = ++requestCount;
  if (how === 'edit' && source.value !== null && run.value !== null)
    undoable.value = [...undoable.value.slice(-99), source.value];
  if (how === 'new') undoable.value = [];
  source.value = next;
  busy.value = true;
  const began = performance.now();
  try {
    const answer = await engineOf().ask('run', next);
    if (answer.ok) {
      if (answer.rows.fresh) forget();
      tables.add(answer.rows);
    }
    if (turn !== requestCount) return;
    answered.value = performance.now() - began;
    batch(() => {
      if (!answer.ok) {
        faults.value = answer.faults;
        if (how === 'new') run.value = null;
      } else {
        if (how === 'new' || baseline.value === null) {
          baseline.value = next;
          baselineRun.value = answer.run;
          if (how === 'new') phase.value = -1;
        }
        arrived(answer.run);
      }
    });
  } catch (e) {
    if (e instanceof DiagnosticError && turn === requestCount) faults.value = e.diagnostics;
    else if (!(e instanceof Cancelled)) note.value = failureText(e);
  } finally {
    if (turn === requestCount) busy.value = false;
  }
  if (baselineRun.value === null && baseline.value !== null) void pin(baseline.value);
}

/** Resets state that refers to numbers of tables that were restarted. */
function forget(): void {
  alignments.clear();
  baselineRun.value = null;
  picked.value = null;
  run.value = null;
}

/** Makes a source the one that others are compared with. */
export async function pin(s: Source): Promise<void> {
  baseline.value = s;
  const answer = await engineOf().ask('run', s);
  if (!answer.ok) return;
  tables.add(answer.rows);
  baselineRun.value = answer.run;
}

let editing: Promise<void> = Promise.resolve();

/** Makes typed text part of the source; false if it has faults and is not applied. */
type Apply = () => Promise<boolean>;

let typed: Apply | null = null;
let pause: number | undefined;

/**
 * Takes over text typed into an editor. It is applied after a pause, or before the next edit: an edit of the old source would undo the
 * typed text.
 *
 * @param wait the pause, in milliseconds
 */
export function takeTyped(apply: Apply, wait: number): void {
  typed = apply;
  clearTimeout(pause);
  pause = window.setTimeout(() => void applyTyped(), wait);
}

/** Applies typed text without waiting for the pause. */
export function applyTyped(): Promise<void> {
  editing = editing.then(async () => void (await flush()));
  return editing;
}

/** Drops typed text, because its document is gone. */
export function forgetTyped(): void {
  typed = null;
}

async function flush(): Promise<boolean> {
  clearTimeout(pause);
  const apply = typed;
  if (apply === null || !(await apply())) return apply === null;
  if (typed === apply) typed = null;
  return true;
}

/** Changes the source. Edits are applied one after another; one whose source was replaced meanwhile is dropped. */
export function edit(change: Edit): Promise<void> {
  editing = editing.then(async () => {
    // A move is written into a spec, possibly the one being typed.
    if ((await flush()) || change.kind !== 'move') return editNow(change);
    note.value = 'That was not done: the spec that you are typing has faults. Mend it or remove it first.';
  });
  return editing;
}

async function editNow(change: Edit): Promise<void> {
  const from = source.value;
  if (from === null) return;
  try {
    const to = await engineOf().ask('edited', { source: from, edit: change });
    if (source.value === from) await open(to);
  } catch (e) {
    if (e instanceof DiagnosticError) faults.value = e.diagnostics;
  }
}

export function undo(): void {
  const before = undoable.value.at(-1);
  if (before === undefined) return;
  undoable.value = undoable.value.slice(0, -1);
  void open(before, 'undo');
}

/** Aborts the work of the engine, and goes back to what was shown before. */
export function cancel(): void {
  engineOf().restart();
  busy.value = false;
  if (undoable.value.length > 0) undo();
  else note.value = 'Stopped. The next change starts the engine anew.';
}

/** Aborts a launch. */
export const stopLaunch = (): void => runnerOf().restart();

/** The plan options of the command line, with which every source starts. */
let commandLineOptions: Pick<Source, 'request' | 'documents'> = { request: DEFAULT_REQUEST, documents: {} };

export const startWith = (request: Partial<Source['request']>, documents: Source['documents']): void => {
  commandLineOptions = { request: { ...DEFAULT_REQUEST, ...request }, documents };
};

export const newSource = (file: string, text: string, more: Partial<Source> = {}): Source => ({
  file,
  text,
  ...commandLineOptions,
  ...more,
});

/** Control flow of a function, by its number. */
export const flowOf = async (fn: number): Promise<FlowRow> =>
  still.value === null ? engineOf().ask('flow', fn) : still.value.flows[fn];

export const outputOf = async (s: Source): Promise<Recording['output']> =>
  still.value === null ? engineOf().ask('output', s) : still.value.output;

effect(() => {
  const name = source.value?.file.replace(/^.*[\\/]/, '');
  document.title = name === undefined ? 'Orrery explorer' : `${name} · Orrery explorer`;
});
