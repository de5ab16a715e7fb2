import { signal } from '@preact/signals';
import { useMemo } from 'preact/hooks';
import { changesIn, placesOf, type Version, versionsOf } from '../model/tracks.ts';
import type { PhaseRow, RunRow } from '../recording.ts';
import { Ins } from './ins.tsx';
import { FnChoice } from './panes.tsx';
import { alignments, fnName, phase, picked, run, select, tables, valueNames } from './store.ts';
import { VirtualList } from './virtual.tsx';
import { classes, plural, signed } from './words.ts';

const ROW = 20;

/** Snapshots whose columns are folded, and phases whose folds are open. */
const folded = signal<ReadonlySet<number>>(new Set());
const opened = signal<ReadonlySet<number>>(new Set());

const toggled = (set: ReadonlySet<number>, n: number): ReadonlySet<number> => {
  const next = new Set(set);
  if (!next.delete(n)) next.add(n);
  return next;
};

/** Every phase that changed the function as a column; a value that is clicked is marked in all. */
export function Phases() {
  const r = run.value;
  const name = fnName.value;
  const versions = useMemo(() => (r === null ? [] : versionsOf(tables, r, name)), [r, name]);
  const p = picked.value;
  const places = useMemo(
    () =>
      r === null || p === null || p.ins < 0 ? null : placesOf(tables, alignments, r, name, p.snapshot, p.ins),
    [r, name, p],
  );
  if (r === null) return null;
  return (
    <section class="all-phases" aria-label="Phases">
      <div class="code-bar">
        <FnChoice />
        <span class="legend">
          <span class="changed">changed</span>
          <span class="added">added</span>
          <span class="moved">moved</span>
        </span>
        <span class="dim">
          {p === null || p.ins < 0
            ? `${plural(versions.length, 'version')}. Click a register: its value is marked in all, whatever it is called there.`
            : 'Every column shows the instruction that was clicked, where it has it.'}
        </span>
      </div>
      <div class="phase-columns" tabIndex={0} role="group" aria-label="One column a phase">
        {versions.flatMap((v, i) => {
          const until = versions[i + 1]?.phase ?? r.phases.length;
          const idle = r.phases.slice(v.phase + 1, until);
          return [
            folded.value.has(v.snapshot) ? (
              <Folded key={v.snapshot} v={v} r={r} />
            ) : (
              <Column key={v.snapshot} v={v} before={versions[i - 1]} r={r} places={places} />
            ),
            ...(idle.length === 0
              ? []
              : [<Idle key={`idle ${v.snapshot}`} at={v.phase + 1} phases={idle} />]),
          ];
        })}
      </div>
    </section>
  );
}

const titleOf = (v: Version, r: RunRow): string => (v.phase < 0 ? 'as lowered' : r.phases[v.phase].id);

/** A column that was folded: its name, from bottom to top. */
const Folded = ({ v, r }: { readonly v: Version; readonly r: RunRow }) => (
  <button
    type="button"
    class="phase-strip own"
    aria-expanded="false"
    onClick={() => (folded.value = toggled(folded.value, v.snapshot))}
  >
    <span>{titleOf(v, r)}</span>
  </button>
);

/** Phases between two columns that did not change the function. */
function Idle({ at, phases }: { readonly at: number; readonly phases: readonly PhaseRow[] }) {
  const open = opened.value.has(at);
  const text = `${plural(phases.length, 'phase')} changed nothing here`;
  if (!open)
    return (
      <button
        type="button"
        class="phase-strip"
        aria-expanded="false"
        title={phases.map((p) => p.id).join('\n')}
        onClick={() => (opened.value = toggled(opened.value, at))}
      >
        <span>{text}</span>
      </button>
    );
  return (
    <div class="phase-column idle">
      <button
        type="button"
        class="phase-head"
        aria-expanded="true"
        onClick={() => (opened.value = toggled(opened.value, at))}
      >
        ◂ {text}
      </button>
      <ul tabIndex={0} aria-label={text}>
        {phases.map((p) => (
          <li key={p.id} title={p.why} class={p.ran ? '' : 'dim'}>
            {p.position} {p.id}
            {!p.ran && ', not run'}
          </li>
        ))}
      </ul>
    </div>
  );
}

interface ColumnProps {
  readonly v: Version;
  readonly before: Version | undefined;
  readonly r: RunRow;
  /** Number of the picked instruction in each snapshot; null if none is picked. */
  readonly places: readonly number[] | null;
}

function Column({ v, before, r, places }: ColumnProps) {
  const marks = useMemo(
    () => (before === undefined ? new Map() : changesIn(alignments, before.fn, v.fn)),
    [before?.fn, v.fn],
  );
  const rows = useMemo(
    () =>
      tables.fns[v.fn].blocks.flatMap((b) => [
        { block: b, ins: -1 },
        ...tables.blocks[b].ins.map((ins) => ({ block: b, ins })),
      ]),
    [v.fn],
  );
  const ins = places?.[v.snapshot] ?? -1;
  // Where nothing is picked, a column begins with what its phase changed.
  const current =
    places === null
      ? rows.findIndex((x) => marks.has(x.ins))
      : rows.findIndex((x) => x.ins >= 0 && x.ins === ins);
  const register = valueNames.value[v.snapshot] ?? '';
  const pick = (i: number, reg: string): void => {
    const row = rows[i];
    if (row !== undefined && row.ins >= 0)
      picked.value = { snapshot: v.snapshot, ins: row.ins, register: reg, line: tables.ins[row.ins][1] };
  };
  const size = tables.fns[v.fn].size;
  const delta = before === undefined ? 0 : size - tables.fns[before.fn].size;
  const name = titleOf(v, r);
  return (
    <div class={classes('phase-column', v.phase === phase.value && v.phase >= 0 && 'selected')}>
      <div class="phase-head">
        <button
          type="button"
          class="link"
          title={v.phase < 0 ? undefined : `${r.phases[v.phase].purpose} Click: what it changed.`}
          onClick={() => {
            if (v.phase >= 0) select(v.phase);
          }}
        >
          {v.phase >= 0 && <span class="dim">{r.phases[v.phase].position} </span>}
          {name}
        </button>
        <span class="dim">
          {size}
          {delta !== 0 && <b class={delta < 0 ? 'good' : 'bad'}> {signed(delta)}</b>}
        </span>
        <button
          type="button"
          class="plain"
          aria-label={`Fold ${name}`}
          onClick={() => (folded.value = toggled(folded.value, v.snapshot))}
        >
          ◂
        </button>
      </div>
      <VirtualList
        class="listing"
        label={`Code after ${name}`}
        count={rows.length}
        height={ROW}
        current={current}
        reveal={places ?? r}
        onCurrent={(i) => pick(rows[i].ins < 0 ? i + (i >= current ? 1 : -1) : i, '')}
        row={(i) => {
          const row = rows[i];
          if (row.ins < 0)
            return (
              <div key={i} class="line block">
                <span class="side">
                  <b>BB{tables.blocks[row.block].id}</b>
                </span>
              </div>
            );
          return (
            // biome-ignore lint/a11y/noStaticElementInteractions: keys act on the list
            // biome-ignore lint/a11y/useKeyWithClickEvents: keys act on the list
            <div
              key={i}
              class={classes('line ins', marks.get(row.ins), places !== null && i === current && 'current')}
              onClick={(e) =>
                pick(i, (e.target as HTMLElement).closest<HTMLElement>('[data-reg]')?.dataset['reg'] ?? '')
              }
            >
              <code>
                <Ins text={tables.ins[row.ins][0]} other="" register={register} />
              </code>
            </div>
          );
        }}
      />
    </div>
  );
}
