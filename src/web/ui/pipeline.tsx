import { signal } from '@preact/signals';
import { useMemo } from 'preact/hooks';
import type { Diagnostic } from '../../ir/diagnostic.ts';
import { movedBetween } from '../model/moved.ts';
import { changes, pipelineRows, STAGES } from '../model/pipeline.ts';
import type { PhaseRow } from '../recording.ts';
import { Curves } from './curves.tsx';
import { baselineRun, differs, edit, engineOf, live, phase, run, select, source } from './store.ts';
import { VirtualList } from './virtual.tsx';
import { classes, duration, plural, signed } from './words.ts';

const search = signal('');
const all = signal(false);
const opened = signal<ReadonlySet<number>>(new Set());

/** A phase that is being dragged, its current target, and what would be illegal there. */
interface Dragged {
  readonly from: number;
  /** Index of the phase before which it would be placed. */
  readonly to: number;
  readonly faults: readonly Diagnostic[] | null;
}
const dragged = signal<Dragged | null>(null);

const ROW = 26;

/** The plan as a list of phases by stage. */
export function Pipeline() {
  const r = run.value;
  const phases = r?.phases ?? [];
  const words = search.value.trim().toLowerCase();
  const found = (p: PhaseRow): boolean =>
    words !== '' &&
    (p.id.toLowerCase().includes(words) ||
      p.steps.some((s) => s.toLowerCase().includes(words)) ||
      p.knobs.some((k) => k.toLowerCase().includes(words)) ||
      p.hits.some((h) => h.rule.includes(words)));
  const moved = useMemo(movedPhases, [r, baselineRun.value]);
  const rows = useMemo(
    () =>
      pipelineRows(
        phases,
        (p, i) => (words === '' ? all.value || changes(p) || i === phase.value || moved.has(p.id) : found(p)),
        opened.value,
        words !== '',
      ),
    [r, words, all.value, opened.value, phase.value],
  );
  const slowest = Math.max(0.001, ...phases.map((p) => p.ms));
  const current = rows.findIndex((x) => x.kind === 'phase' && x.at === phase.value);
  const goto = (i: number): void => {
    const step = i >= current ? 1 : -1;
    for (let k = i; k >= 0 && k < rows.length; k += step) {
      const row = rows[k];
      if (row.kind === 'phase') return select(row.at);
    }
  };
  const toggle = (at: number): void => {
    const next = new Set(opened.value);
    if (!next.delete(at)) next.add(at);
    opened.value = next;
  };
  const keys = (e: KeyboardEvent): boolean => {
    if (!e.altKey || (e.key !== 'ArrowUp' && e.key !== 'ArrowDown') || !live.value || phase.value < 0)
      return false;
    void moveTo(phase.value, e.key === 'ArrowUp' ? phase.value - 1 : phase.value + 2);
    return true;
  };
  const changed = phases.filter(changes).length;
  return (
    <section class="pipeline" aria-label="Pipeline">
      <Curves phases={phases} />
      <div class="find">
        <input
          type="search"
          placeholder="Find phase, pass, rule or knob"
          aria-label="Find phase, pass, rule or knob"
          value={search.value}
          onInput={(e) => {
            search.value = e.currentTarget.value;
          }}
        />
        <label class="check">
          <input
            type="checkbox"
            checked={all.value}
            onChange={(e) => {
              all.value = e.currentTarget.checked;
            }}
          />
          all
        </label>
      </div>
      <p class="summary">
        {words !== ''
          ? `${plural(rows.filter((x) => x.kind === 'phase').length, 'phase')} found`
          : phases.length === 0
            ? 'Nothing has run yet'
            : `${changed} of ${plural(phases.length, 'phase')} changed something`}
      </p>
      <VirtualList
        class="phases"
        label="Phases; arrow keys select, Alt and an arrow key move the selected one"
        count={rows.length}
        height={ROW}
        current={current}
        reveal={phase.value}
        onCurrent={goto}
        onKey={keys}
        row={(i) => {
          const row = rows[i];
          if (row.kind === 'stage')
            return (
              <div key={i} class="row stage">
                <span>{STAGES[row.stage] ?? `Stage ${row.stage}`}</span>
                <span class="dim">{row.changed > 0 ? `${row.changed} of ${row.phases}` : row.phases}</span>
              </div>
            );
          if (row.kind === 'fold')
            return (
              <button
                key={i}
                type="button"
                class="row fold"
                onClick={() => toggle(row.from)}
                aria-expanded={opened.value.has(row.from)}
              >
                {opened.value.has(row.from) ? '▾' : '▸'} {plural(row.to - row.from, 'phase')} changed nothing
                {row.skipped > 0 && <span class="dim">, {row.skipped} not run</span>}
              </button>
            );
          return (
            <Phase
              key={i}
              p={phases[row.at]}
              at={row.at}
              slowest={slowest}
              moved={moved.has(phases[row.at].id)}
            />
          );
        }}
      />
      <DragNote />
    </section>
  );
}

interface PhaseProps {
  readonly p: PhaseRow;
  readonly at: number;
  readonly slowest: number;
  readonly moved: boolean;
}

function Phase({ p, at, slowest, moved }: PhaseProps) {
  const delta = p.after - p.before;
  const d = dragged.value;
  return (
    <button
      type="button"
      class={classes(
        'row phase',
        changes(p) && 'changes',
        !p.ran && 'skipped',
        at === phase.value && 'selected',
        moved && 'moved',
        d !== null &&
          d.to === at &&
          (d.faults?.some((f) => f.severity === 'error') === true ? 'no-drop' : 'drop'),
      )}
      aria-current={at === phase.value ? 'true' : undefined}
      title={`${p.id}: ${p.purpose}`}
      tabIndex={-1}
      draggable={live.value}
      onClick={() => select(at)}
      onDragStart={(e) => {
        e.dataTransfer?.setData('text/plain', p.id);
        dragged.value = { from: at, to: at, faults: null };
      }}
      onDragOver={(e) => {
        if (dragged.value === null) return;
        e.preventDefault();
        if (dragged.value.to !== at) void tryAt(at);
      }}
      onDrop={(e) => {
        e.preventDefault();
        if (dragged.value !== null) void moveTo(dragged.value.from, at);
        dragged.value = null;
      }}
      onDragEnd={() => {
        dragged.value = null;
      }}
    >
      <span class="at">{at}</span>
      <span class="name">{p.id}</span>
      {changes(p) && (
        <span class={classes('delta', delta < 0 ? 'good' : delta > 0 && 'bad')}>
          {delta === 0 ? plural(p.blocksChanged, 'block') : signed(delta)}
        </span>
      )}
      <span class="time" title={duration(p.ms)}>
        <i style={{ width: `${Math.round((100 * p.ms) / slowest)}%` }} />
      </span>
    </button>
  );
}

/** The phase after which a phase is placed that moves in front of index `to`; null: it becomes the first. */
function anchorFor(from: number, to: number): string | null {
  const others = run.value!.phases.filter((_, i) => i !== from);
  const k = to > from ? to - 1 : to;
  return k <= 0 ? null : (others[k - 1]?.id ?? null);
}

/** Requests what would be illegal at a place. */
async function tryAt(to: number): Promise<void> {
  const d = dragged.value;
  if (d === null || source.value === null || run.value === null) return;
  dragged.value = { ...d, to, faults: null };
  const ask = { source: source.value, phase: run.value.phases[d.from].id, after: anchorFor(d.from, to) };
  const faults = await engineOf().ask('tryMove', ask);
  const now = dragged.peek();
  if (now?.to === to && now.from === d.from) dragged.value = { ...now, faults };
}

/** Moves a phase in front of an index of the order. */
export async function moveTo(from: number, to: number): Promise<void> {
  const phases = run.value?.phases ?? [];
  if (to === from || to === from + 1 || to < 0 || to > phases.length) return;
  await edit({ kind: 'move', phase: phases[from].id, after: anchorFor(from, to) });
}

/** While a phase is dragged: why the place is illegal. */
function DragNote() {
  const d = dragged.value;
  if (d === null || d.faults === null || d.to === d.from) return null;
  const errors = d.faults.filter((f) => f.severity === 'error');
  if (errors.length === 0)
    return (
      <p class="drag-note ok" role="status">
        Legal here{d.faults.length > 0 && `, with a warning: ${d.faults[0].message}`}
      </p>
    );
  return (
    <p class="drag-note" role="status">
      <b>{errors[0].message}</b>
      {errors[0].label !== undefined && <>: {errors[0].label}</>}
    </p>
  );
}

/** Phases whose place differs from the run that is compared with. */
function movedPhases(): ReadonlySet<string> {
  const [now, before] = [run.value, baselineRun.value];
  if (!differs.value || now === null || before === null) return new Set();
  return movedBetween(
    before.phases.map((p) => p.id),
    now.phases.map((p) => p.id),
  );
}
