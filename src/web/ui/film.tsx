import { signal } from '@preact/signals';
import type { VNode } from 'preact';
import { useEffect, useMemo, useRef, useState } from 'preact/hooks';
import { countChanges } from '../model/align.ts';
import { type FilmRow, framesOf, type Version, versionsOf } from '../model/tracks.ts';
import type { RunRow } from '../recording.ts';
import { FilmGraph } from './film-graph.tsx';
import { Ins } from './ins.tsx';
import { FnChoice } from './panes.tsx';
import { useSize } from './size.ts';
import { alignments, fnName, phase, run, select, tables } from './store.ts';
import { plural, signed } from './words.ts';

/** Place in the film: the whole part is the version, the rest how far it has become the next one. */
const at = signal(0);
const playing = signal(false);

const ROW = 20;
/** Time in milliseconds that a step of the film takes; half of it stands still. */
const STEP = 1400;

const isCalm = (): boolean => matchMedia('(prefers-reduced-motion: reduce)').matches;

/** Progress of a step: still at first, then quick in the middle. */
const eased = (t: number): number => {
  const x = Math.max(0, Math.min(1, (t - 0.25) / 0.75));
  return x * x * (3 - 2 * x);
};

/** The phases as a film: instructions move, appear and fade, and the flow graph changes its form. */
export function Film() {
  const r = run.value;
  const name = fnName.value;
  const versions = useMemo(() => (r === null ? [] : versionsOf(tables, r, name)), [r, name]);
  const frames = useMemo(() => framesOf(tables, alignments, versions), [versions]);
  const last = versions.length - 1;
  useEffect(() => {
    // The film opens at the selected phase.
    const k = versions.findIndex((v) => v.phase === phase.peek());
    at.value = Math.max(0, k);
    playing.value = false;
  }, [versions]);
  usePlaying(last);
  if (r === null || versions.length === 0) return null;
  const now = Math.min(at.value, last);
  const k = Math.min(Math.floor(now), Math.max(0, last - 1));
  const t = eased(now - k);
  const shown = versions[Math.round(now)];
  return (
    <section class="film" aria-label="Film">
      <Controls versions={versions} r={r} now={now} shown={shown} />
      <div class="film-parts">
        <FilmListing from={frames[k]} to={frames[Math.min(k + 1, last)]} t={t} />
        <FilmGraph from={versions[k].fn} to={versions[Math.min(k + 1, last)].fn} t={t} />
      </div>
    </section>
  );
}

/** Moves the film on while it plays. */
function usePlaying(last: number): void {
  const on = playing.value;
  useEffect(() => {
    if (!on) return undefined;
    let before = performance.now();
    let frame = 0;
    let still = 0;
    const move = (time: number): void => {
      const passed = Math.min(100, time - before);
      before = time;
      // Those who want no motion see one version after the other.
      if (isCalm()) {
        still += passed;
        if (still > STEP) {
          still = 0;
          at.value = Math.min(last, Math.floor(at.value) + 1);
        }
      } else at.value = Math.min(last, at.value + passed / STEP);
      if (at.value >= last) playing.value = false;
      else frame = requestAnimationFrame(move);
    };
    frame = requestAnimationFrame(move);
    return () => cancelAnimationFrame(frame);
  }, [on, last]);
}

interface ControlsProps {
  readonly versions: readonly Version[];
  readonly r: RunRow;
  readonly now: number;
  readonly shown: Version;
}

function Controls({ versions, r, now, shown }: ControlsProps) {
  const last = versions.length - 1;
  const goto = (x: number): void => {
    playing.value = false;
    at.value = Math.max(0, Math.min(last, x));
    const { phase: p } = versions[Math.round(at.value)];
    if (p >= 0 && Number.isInteger(at.value)) select(p);
  };
  const i = versions.indexOf(shown);
  const title =
    shown.phase < 0 ? 'as lowered' : `${r.phases[shown.phase].position} ${r.phases[shown.phase].id}`;
  return (
    <div class="code-bar">
      <FnChoice />
      <button
        type="button"
        class="main"
        onClick={() => {
          if (!playing.value && at.value >= last) at.value = 0;
          playing.value = !playing.value;
        }}
      >
        {playing.value ? 'Pause' : 'Play'}
      </button>
      <button type="button" aria-label="Previous phase" onClick={() => goto(Math.ceil(now) - 1)}>
        ‹
      </button>
      <input
        type="range"
        class="scrub"
        min={0}
        max={last}
        step={0.01}
        value={now}
        aria-label="Place in the film"
        aria-valuetext={title}
        onInput={(e) => {
          playing.value = false;
          at.value = Number(e.currentTarget.value);
        }}
        onKeyDown={(e) => {
          const step = { ArrowLeft: -1, ArrowDown: -1, ArrowRight: 1, ArrowUp: 1 }[e.key];
          if (step === undefined) return;
          e.preventDefault();
          goto(Math.round(now) + step);
        }}
      />
      <button type="button" aria-label="Next phase" onClick={() => goto(Math.floor(now) + 1)}>
        ›
      </button>
      <span class="film-title">
        <b>{title}</b> <span class="dim">{whatOf(versions[i - 1], shown)}</span>
      </span>
      <span class="dim">
        {i} of {last}
      </span>
    </div>
  );
}

/** What a phase changed, in a line. */
function whatOf(before: Version | undefined, v: Version): string {
  const size = tables.fns[v.fn].size;
  if (before === undefined) return plural(size, 'instruction');
  const n = countChanges(alignments.of(before.fn, v.fn));
  const parts = (['changed', 'added', 'removed', 'moved'] as const).flatMap((c) =>
    n[c] === 0 ? [] : [`${n[c]} ${c}`],
  );
  const delta = size - tables.fns[before.fn].size;
  return `${parts.join(', ') || 'blocks only'}: ${plural(size, 'instruction')}${delta === 0 ? '' : ` (${signed(delta)})`}`;
}

/** Contents of rows that were drawn; the same one is not built again for every picture. */
const bodies = new Map<string, VNode>();
const MOST_BODIES = 5000;

function bodyOf(row: FilmRow): VNode {
  const key = `${row.isHead} ${row.of} ${row.isHead ? tables.blocks[row.of].id : tables.ins[row.of][0]}`;
  let found = bodies.get(key);
  if (found === undefined) {
    if (bodies.size > MOST_BODIES) bodies.clear();
    found = row.isHead ? (
      <b>BB{tables.blocks[row.of].id}</b>
    ) : (
      <code>
        <Ins text={tables.ins[row.of][0]} other="" register="" />
      </code>
    );
    bodies.set(key, found);
  }
  return found;
}

interface Placed {
  readonly row: FilmRow;
  readonly y: number;
  readonly opacity: number;
  readonly mark: string;
}

/** Rows between two frames: each at its place, with how visible it is. */
function between(from: readonly FilmRow[], to: readonly FilmRow[], t: number): Placed[] {
  const ends = new Map(to.map((r, i) => [r.key, i]));
  const starts = new Map(from.map((r, i) => [r.key, i]));
  const out: Placed[] = [];
  from.forEach((row, i) => {
    const end = ends.get(row.key);
    if (end === undefined) {
      if (t < 1) out.push({ row, y: i, opacity: 1 - t, mark: t > 0 ? 'removed' : '' });
      return;
    }
    const after = to[end];
    const differs = !row.isHead && tables.ins[after.of][0] !== tables.ins[row.of][0];
    const far = !row.isHead && Math.abs(end - i) > 0 && t > 0 && t < 1;
    out.push({
      row: t > 0.5 ? after : row,
      y: i + (end - i) * t,
      opacity: 1,
      mark: differs && t > 0 ? 'changed' : far && Math.abs(end - i) > 12 ? 'moved' : '',
    });
  });
  to.forEach((row, i) => {
    if (t > 0 && !starts.has(row.key)) out.push({ row, y: i, opacity: t, mark: 'added' });
  });
  return out;
}

function FilmListing({
  from,
  to,
  t,
}: {
  readonly from: readonly FilmRow[];
  readonly to: readonly FilmRow[];
  readonly t: number;
}) {
  const box = useRef<HTMLDivElement>(null);
  const [scroll, setScroll] = useState(0);
  const [, seen] = useSize(box, [400, 600]);
  const rows = useMemo(() => between(from, to, t), [from, to, t]);
  const height = (from.length + (to.length - from.length) * t) * ROW;
  const [top, bottom] = [scroll / ROW - 3, (scroll + seen) / ROW + 3];
  return (
    <div
      ref={box}
      class="film-listing listing"
      tabIndex={0}
      role="group"
      aria-label="Code"
      onScroll={(e) => setScroll(e.currentTarget.scrollTop)}
    >
      <div class="film-all" style={{ height: `${height}px` }}>
        {rows.map(({ row, y, opacity, mark }) =>
          y < top || y > bottom ? null : (
            <div
              key={row.key}
              class={`film-row ${row.isHead ? 'head' : ''} ${mark}`}
              style={{ transform: `translateY(${y * ROW}px)`, opacity }}
            >
              {bodyOf(row)}
            </div>
          ),
        )}
      </div>
    </div>
  );
}
