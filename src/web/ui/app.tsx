import { useEffect } from 'preact/hooks';
import type { Diagnostic } from '../../ir/diagnostic.ts';
import { Code } from './code.tsx';
import { Compare } from './compare.tsx';
import { FaultBanner } from './faults.tsx';
import { Film } from './film.tsx';
import { Graph } from './graph.tsx';
import { Changed, Header } from './header.tsx';
import { Inspector } from './inspector.tsx';
import { Launch } from './launch.tsx';
import { Levels } from './levels.tsx';
import { openEmpty, openFiles } from './open.ts';
import { Phases } from './phases.tsx';
import { Pipeline } from './pipeline.tsx';
import { Registers } from './registers.tsx';
import { SourceView } from './source.tsx';
import { Specs } from './specs.tsx';
import { faults, narrow, note, type Part, part, run, source, undo, type View, view } from './store.ts';
import { StoryBar } from './story.tsx';

const VIEWS: readonly (readonly [View, string])[] = [
  ['source', 'Source'],
  ['code', 'Code'],
  ['levels', 'Levels'],
  ['phases', 'Phases'],
  ['film', 'Film'],
  ['graph', 'Flow graph'],
  ['registers', 'Registers'],
  ['compare', 'A/B'],
  ['run', 'Run'],
  ['specs', 'Specs'],
];

/** Views below which the details of what is selected stand. */
const WITH_DETAILS: ReadonlySet<View> = new Set(['code', 'graph', 'levels', 'registers']);

/** The page. */
export function App() {
  useSwipes();
  useEffect(() => {
    const over = (e: DragEvent): void => {
      if (e.dataTransfer?.types.includes('Files') === true) e.preventDefault();
    };
    const dropped = (e: DragEvent): void => {
      const files = [...(e.dataTransfer?.files ?? [])];
      if (files.length === 0) return;
      e.preventDefault();
      void openFiles(files);
    };
    const keys = (e: KeyboardEvent): void => {
      const typing = e
        .composedPath()
        .some(
          (t) =>
            t instanceof HTMLElement && (t.isContentEditable || /^(INPUT|TEXTAREA|SELECT)$/.test(t.tagName)),
        );
      if ((e.ctrlKey || e.metaKey) && e.key === 'z' && !typing) {
        e.preventDefault();
        undo();
      }
      if (e.key === '/' && !typing) {
        e.preventDefault();
        document.querySelector<HTMLInputElement>('.pipeline input[type=search]')?.focus();
      }
    };
    addEventListener('dragover', over);
    addEventListener('drop', dropped);
    addEventListener('keydown', keys);
    return () => {
      removeEventListener('dragover', over);
      removeEventListener('drop', dropped);
      removeEventListener('keydown', keys);
    };
  }, []);
  return (
    <div class="app">
      <Header />
      <Changed />
      <StoryBar />
      <main data-part={WITH_DETAILS.has(view.value) || part.value === 'phases' ? part.value : 'view'}>
        {source.value === null ? (
          <Welcome />
        ) : (
          <>
            {(!narrow.value || part.value === 'phases') && <Pipeline />}
            <div class="work">
              <Views />
              {WITH_DETAILS.has(view.value) && <Inspector />}
            </div>
          </>
        )}
      </main>
      {source.value !== null && <Parts />}
      {note.value !== '' && (
        <div class="note" role="status">
          {note.value}
          <button type="button" class="plain" aria-label="Close" onClick={() => (note.value = '')}>
            ×
          </button>
        </div>
      )}
    </div>
  );
}

const PARTS: readonly (readonly [Part, string])[] = [
  ['phases', 'Phases'],
  ['view', 'View'],
  ['details', 'Details'],
];

/** On a small screen: which part of the page is shown. */
const Parts = () => (
  <nav class="page-parts" aria-label="Parts of the page">
    {PARTS.map(([id, text]) => (
      <button
        key={id}
        type="button"
        aria-current={part.value === id ? 'true' : undefined}
        disabled={id === 'details' && !WITH_DETAILS.has(view.value)}
        onClick={() => (part.value = id)}
      >
        {text}
      </button>
    ))}
  </nav>
);

/** Shortest way in pixels of a swipe, and how much it may lean. */
const [SWIPE, LEAN] = [70, 0.5];
/** What moves sideways itself, or is drawn across. */
const SIDEWAYS = '.graph, .phase-columns, .level-columns, .tabs, .editor, input, select, .top, .film';

/** Swipes from one part of a small page to the next. */
function useSwipes(): void {
  useEffect(() => {
    let from: { readonly x: number; readonly y: number } | null = null;
    const begin = (e: TouchEvent): void => {
      const t = e.touches[0];
      const own = (e.target as Element).closest(SIDEWAYS) !== null;
      from = own || e.touches.length !== 1 ? null : { x: t.clientX, y: t.clientY };
    };
    const end = (e: TouchEvent): void => {
      const t = e.changedTouches[0];
      if (from === null) return;
      const [dx, dy] = [t.clientX - from.x, t.clientY - from.y];
      from = null;
      const nav = document.querySelector('.page-parts');
      if (nav === null || getComputedStyle(nav).display === 'none') return;
      if (Math.abs(dx) < SWIPE || Math.abs(dy) > LEAN * Math.abs(dx)) return;
      const at = PARTS.findIndex(([id]) => id === part.value);
      const next = PARTS[at + (dx < 0 ? 1 : -1)]?.[0];
      if (next !== undefined && (next !== 'details' || WITH_DETAILS.has(view.value))) part.value = next;
    };
    addEventListener('touchstart', begin, { passive: true });
    addEventListener('touchend', end, { passive: true });
    return () => {
      removeEventListener('touchstart', begin);
      removeEventListener('touchend', end);
    };
  }, []);
}

function Views() {
  const now = view.value;
  return (
    <div class="views">
      <div class="tab-line">
        <button
          type="button"
          class="plain fold-pipeline"
          aria-expanded={!narrow.value}
          aria-label="Pipeline"
          title={narrow.value ? 'Show the pipeline' : 'Fold the pipeline'}
          onClick={() => (narrow.value = !narrow.value)}
        >
          {narrow.value ? '▸' : '◂'}
        </button>
        <div role="tablist" aria-label="Views" class="tabs">
          {VIEWS.map(([id, text]) => (
            <button
              key={id}
              type="button"
              role="tab"
              id={`view-${id}`}
              aria-selected={now === id}
              aria-controls="view-panel"
              onClick={() => {
                view.value = id;
              }}
            >
              {text}
              {id === 'source' &&
                faults.value.some((f) => f.severity === 'error' && f.file === source.value?.file) && (
                  <i class="dot" title="has errors" />
                )}
            </button>
          ))}
        </div>
      </div>
      <FaultBanner faults={faults.value.filter((f) => f.severity === 'error' && !inSight(f, now))} />
      <div class="view" role="tabpanel" id="view-panel" aria-labelledby={`view-${now}`}>
        {run.value === null && now !== 'source' && now !== 'specs' ? (
          <p class="empty">
            {faults.value.length > 0 ? 'There is no result yet, because of the errors above.' : 'Running…'}
          </p>
        ) : now === 'source' ? (
          <SourceView />
        ) : now === 'code' ? (
          <Code />
        ) : now === 'graph' ? (
          <Graph />
        ) : now === 'levels' ? (
          <Levels />
        ) : now === 'phases' ? (
          <Phases />
        ) : now === 'film' ? (
          <Film />
        ) : now === 'registers' ? (
          <Registers />
        ) : now === 'compare' ? (
          <Compare />
        ) : now === 'run' ? (
          <Launch />
        ) : (
          <Specs />
        )}
      </div>
    </div>
  );
}

/** Whether a view already shows a fault under its line. */
const inSight = (f: Diagnostic, now: View): boolean =>
  f.line > 0 &&
  ((now === 'source' && f.file === source.value?.file) ||
    (now === 'specs' && f.file in (source.value?.documents ?? {})));

const Welcome = () => (
  <div class="empty welcome">
    <p>
      <b>Drop a PTX file here, or choose a kernel above.</b>
    </p>
    <p>It is optimized in this page, phase by phase; nothing is sent anywhere.</p>
    <button type="button" class="main" onClick={openEmpty}>
      Write a kernel
    </button>
  </div>
);
