import { signal } from '@preact/signals';
import { useEffect, useLayoutEffect, useMemo, useRef, useState } from 'preact/hooks';
import { bendyPath, curvedPath } from '../../analysis/render/paths.ts';
import type { FlowRow } from '../recording.ts';
import { CHAR, changedIds, type Drawn, draw, FONT, firstOf, idOf, LINE, PAD } from './graph-draw.ts';
import { PaneChoice } from './panes.tsx';
import { useSize } from './size.ts';
import { blockRuns, flowOf, fnAt, fnName, left, picked, right, run, tables, view } from './store.ts';
import { classes, plural } from './words.ts';

type Shade = 'loop' | 'frequency' | 'simulator' | 'pressure';
type Which = 'before' | 'after';
const shade = signal<Shade>('loop');
/** Scale of both drawings; null: so small that each is seen whole. */
const scale = signal<number | null>(1);
/** Where the pane that was scrolled last stands: a block, and its place relative to the centre of the pane. */
const anchor = signal<{
  readonly by: Which;
  readonly id: number;
  readonly dx: number;
  readonly dy: number;
} | null>(null);

const [LEAST, MOST] = [0.2, 3];
/** Smallest size in pixels at which instructions are legible; in a smaller drawing boxes have only their names. */
const LEGIBLE = 8;

/** The flow graph before and after. */
export function Graph() {
  if (run.value === null) return null;
  const [a, b] = [left.value, right.value].map((p) =>
    p === 'ptx' ? 0 : p === 'out' ? run.value!.phases.length : p,
  );
  const [x, y] = [fnAt(a), fnAt(b)];
  return (
    <section class="graph-view" aria-label="Flow graph">
      <PaneChoice />
      <div class="code-bar">
        <label class="field">
          <span>Colour</span>
          <select value={shade.value} onChange={(e) => (shade.value = e.currentTarget.value as Shade)}>
            <option value="loop">loop depth</option>
            <option value="frequency">estimated frequency</option>
            <option value="simulator" disabled={blockRuns.value === null}>
              runs in the simulator{blockRuns.value === null ? ' (launch it first)' : ''}
            </option>
            <option value="pressure">register pressure</option>
          </select>
        </label>
        <span class="legend">
          <span class="key header">loop header</span>
          <span class="key parts">threads may part</span>
          <span class="key differs">changed</span>
          <span class="key added">only after</span>
          <span class="key removed">only before</span>
        </span>
        <Zoom />
      </div>
      <div class={classes('graphs', x === y && 'one')}>
        {x === y ? (
          <OneGraph fn={x} other={x} side="after" />
        ) : (
          <>
            <OneGraph fn={x} other={y} side="before" />
            <OneGraph fn={y} other={x} side="after" />
          </>
        )}
      </div>
    </section>
  );
}

const Zoom = () => {
  const by = (factor: number): void => {
    scale.value = Math.max(LEAST, Math.min(MOST, (scale.value ?? 0.5) * factor));
  };
  return (
    <span class="zoom">
      <button type="button" class="plain" aria-label="Smaller" onClick={() => by(1 / 1.25)}>
        −
      </button>
      <button
        type="button"
        class="plain"
        title="Actual size"
        aria-label={`Actual size; now ${scale.value === null ? 'the whole graph' : `${Math.round(scale.value * 100)} %`}`}
        onClick={() => (scale.value = 1)}
      >
        {scale.value === null ? '100 %' : `${Math.round(scale.value * 100)} %`}
      </button>
      <button type="button" class="plain" aria-label="Larger" onClick={() => by(1.25)}>
        +
      </button>
      <button
        type="button"
        class="plain"
        aria-pressed={scale.value === null}
        onClick={() => (scale.value = scale.value === null ? 1 : null)}
      >
        Whole graph
      </button>
    </span>
  );
};

/** The flow graph of a function, once it has arrived. */
export function useFlow(fn: number): { readonly fn: number; readonly flow: FlowRow } | null {
  const [found, setFound] = useState<{ readonly fn: number; readonly flow: FlowRow } | null>(null);
  useEffect(() => {
    let here = true;
    if (fn >= 0)
      flowOf(fn)
        .then((flow) => here && setFound({ fn, flow }))
        // The engine was stopped: the next run brings the graph.
        .catch(() => undefined);
    return () => {
      here = false;
    };
  }, [fn]);
  return found?.fn === fn ? found : null;
}

const edgeKeys = ({ fn, flow }: { readonly fn: number; readonly flow: FlowRow }): ReadonlySet<string> =>
  new Set(flow.edges.map((e) => `${idOf(fn, e.from)} ${idOf(fn, e.to)}`));

interface GraphProps {
  readonly fn: number;
  readonly other: number;
  readonly side: Which;
}

function OneGraph({ fn, other, side }: GraphProps) {
  const found = useFlow(fn);
  const theirs = useFlow(other);
  const drawn = useMemo(() => (found === null ? null : draw(fn, found.flow)), [found, fn]);
  const shared = useMemo(() => (theirs === null || fn === other ? null : edgeKeys(theirs)), [theirs, fn]);
  const changed = useMemo(() => changedIds(fn, other), [fn, other]);
  const pane = useRef<HTMLDivElement>(null);
  const size = useScale(pane, drawn);
  const onScroll = usePlace(pane, drawn, { fn, other, side }, changed, size);
  if (fn < 0) return <p class="empty">There is no function {fnName.value} here.</p>;
  if (drawn === null) return <p class="empty">Drawing…</p>;
  const ids = new Set(other < 0 ? [] : tables.fns[other].blocks.map((b) => tables.blocks[b].id));
  const values = drawn.flow.blocks.map((b, i) => shadeOf(b, fn, i, side));
  const most = Math.max(1, ...values);
  const { width, height } = drawn.at;
  return (
    <div
      ref={pane}
      class="graph"
      tabIndex={0}
      role="group"
      aria-label={`Flow graph ${side}`}
      onScroll={onScroll}
    >
      <p class="graph-head">
        {side}{' '}
        <span class="dim">
          {plural(drawn.boxes.length, 'block')}, {plural(drawn.flow.edges.length, 'edge')}
        </span>
      </p>
      <svg
        width={width * size}
        height={height * size}
        viewBox={`0 0 ${width} ${height}`}
        role="img"
        aria-label={`Flow graph of ${fnName.value} ${side}: ${drawn.boxes.length} blocks`}
      >
        <Edges fn={fn} drawn={drawn} shared={shared} side={side} />
        {drawn.boxes.map((box, i) => {
          const id = idOf(fn, i);
          return (
            <Box
              key={i}
              fn={fn}
              at={i}
              drawn={drawn}
              box={box}
              size={size}
              level={Math.min(4, Math.ceil((4 * values[i]) / most))}
              mark={other >= 0 && !ids.has(id) ? `only-${side}` : changed.has(id) ? 'differs' : ''}
            />
          );
        })}
      </svg>
    </div>
  );
}

/** The scale of a drawing: as chosen, or so that it fits its pane. */
function useScale(pane: { readonly current: HTMLElement | null }, drawn: Drawn | null): number {
  const seen = useSize(pane, [600, 400], drawn);
  if (scale.value !== null || drawn === null) return scale.value ?? 1;
  // The margins of the pane, and its head.
  return Math.min(1, (seen[0] - 20) / drawn.at.width, (seen[1] - 36) / drawn.at.height);
}

/**
 * Places a drawing in its pane: it opens on the first block that changed, keeps its centre when the scale changes, and moves with the
 * other pane.
 *
 * @returns the handler for scrolling
 */
function usePlace(
  pane: { readonly current: HTMLDivElement | null },
  drawn: Drawn | null,
  { fn, other, side }: GraphProps,
  changed: ReadonlySet<number>,
  size: number,
): () => void {
  const last = useRef<{ drawn: Drawn | null; size: number }>({ drawn: null, size: 1 });
  /** Where the pane was put: the event that follows is not one of the user. */
  const put = useRef<readonly [number, number]>([-1, -1]);
  const offset = (el: HTMLElement): readonly [number, number] => {
    return [8, el.querySelector<HTMLElement>('.graph-head')!.offsetHeight + 4];
  };
  const centreOf = (el: HTMLElement, i: number): readonly [number, number] => {
    const [x0, y0] = offset(el);
    return [
      x0 + (drawn!.at.x[i] + drawn!.boxes[i].width / 2) * size,
      y0 + (drawn!.at.y[i] + drawn!.boxes[i].height / 2) * size,
    ];
  };
  const show = (el: HTMLElement, x: number, y: number): void => {
    el.scrollLeft = x;
    el.scrollTop = y;
    put.current = [el.scrollLeft, el.scrollTop];
  };
  useLayoutEffect(() => {
    const el = pane.current;
    if (el === null || drawn === null) return;
    const { clientWidth: w, clientHeight: h } = el;
    if (last.current.drawn !== drawn) {
      const i = firstOf(fn, drawn, changed);
      const [x, y] = centreOf(el, i);
      // A block higher than the pane is shown from its beginning.
      const top = Math.min(y - h / 2, y - (drawn.boxes[i].height / 2) * size - 30);
      show(el, x - w / 2, top);
    } else {
      const k = size / last.current.size;
      show(el, (el.scrollLeft + w / 2) * k - w / 2, (el.scrollTop + h / 2) * k - h / 2);
    }
    last.current = { drawn, size };
  }, [drawn, size]);
  const followed = anchor.value;
  useLayoutEffect(() => {
    const el = pane.current;
    if (el === null || drawn === null || followed === null || followed.by === side) return;
    const i = drawn.boxes.findIndex((_, k) => idOf(fn, k) === followed.id);
    if (i < 0) return;
    const [x, y] = centreOf(el, i);
    show(el, x - followed.dx - el.clientWidth / 2, y - followed.dy - el.clientHeight / 2);
  }, [followed, drawn]);
  const publish = (el: HTMLElement): void => {
    if (drawn === null || fn === other) return;
    const ids = new Set(other < 0 ? [] : tables.fns[other].blocks.map((n) => tables.blocks[n].id));
    const [x, y] = [el.scrollLeft + el.clientWidth / 2, el.scrollTop + el.clientHeight / 2];
    let best: { id: number; dx: number; dy: number } | null = null;
    for (let i = 0; i < drawn.boxes.length; i++) {
      const id = idOf(fn, i);
      if (!ids.has(id)) continue;
      const [bx, by] = centreOf(el, i);
      const [dx, dy] = [bx - x, by - y];
      if (best === null || Math.hypot(dx, dy) < Math.hypot(best.dx, best.dy)) best = { id, dx, dy };
    }
    if (best !== null) anchor.value = { by: side, ...best };
  };
  // Both panes open at the same place.
  useEffect(() => {
    if (pane.current !== null && side === 'before') publish(pane.current);
  }, [drawn]);
  return () => {
    const el = pane.current;
    if (el === null || (el.scrollLeft === put.current[0] && el.scrollTop === put.current[1])) return;
    publish(el);
  };
}

const Edges = ({
  fn,
  drawn,
  shared,
  side,
}: {
  readonly fn: number;
  readonly drawn: Drawn;
  readonly shared: ReadonlySet<string> | null;
  readonly side: Which;
}) => (
  <>
    <defs>
      <marker
        id={`tip-${side}`}
        viewBox="0 0 8 8"
        refX="7"
        refY="4"
        markerWidth="7"
        markerHeight="7"
        orient="auto"
        markerUnits="userSpaceOnUse"
      >
        <path class="tip" d="M0 0L8 4L0 8z" />
      </marker>
    </defs>
    {drawn.flow.edges.map((e, i) => {
      const route = drawn.at.routes[i];
      return (
        <path
          key={i}
          class={classes(
            'edge',
            e.kind,
            e.back && 'back',
            shared?.has(`${idOf(fn, e.from)} ${idOf(fn, e.to)}`) === false && 'own',
          )}
          d={e.back || route.length === 6 ? bendyPath(route) : curvedPath(route)}
          marker-end={`url(#tip-${side})`}
        />
      );
    })}
  </>
);

interface BoxProps {
  readonly fn: number;
  readonly at: number;
  readonly drawn: Drawn;
  readonly box: Drawn['boxes'][number];
  readonly size: number;
  /** Shade from 0 to 4. */
  readonly level: number;
  /** How it differs from the other side: a class. */
  readonly mark: string;
}

function Box({ fn, at, drawn, box, size, level, mark }: BoxProps) {
  const b = drawn.flow.blocks[at];
  const first = tables.blocks[tables.fns[fn].blocks[at]].ins[0];
  const small = FONT * size < LEGIBLE;
  return (
    // biome-ignore lint/a11y/noStaticElementInteractions: the listing has the same for the keyboard
    <g
      class={classes(
        'box',
        `shade-${level}`,
        b.header && 'header',
        b.parts && 'parts',
        !b.reachable && 'unreachable',
        mark,
      )}
      transform={`translate(${drawn.at.x[at]} ${drawn.at.y[at]})`}
      onClick={() => {
        if (first === undefined) return;
        picked.value = {
          snapshot: typeof right.value === 'number' ? right.value : 0,
          ins: first,
          register: '',
          line: tables.ins[first][1],
        };
        view.value = 'code';
      }}
    >
      <rect width={box.width} height={box.height} rx="4" />
      {small ? (
        <SmallTitle box={box} size={size} />
      ) : (
        box.lines.map((l, i) => (
          <text key={i} x={PAD} y={PAD + 9 + i * LINE} class={i === 0 ? 'title' : i === 1 ? 'figures' : ''}>
            {l}
          </text>
        ))
      )}
      {small && <title>{box.lines.join('\n')}</title>}
    </g>
  );
}

/** The name of a block, as large as it is legible or as its box allows. */
function SmallTitle({ box, size }: { readonly box: Drawn['boxes'][number]; readonly size: number }) {
  const name = box.lines[0].split(' ')[0];
  const font = Math.min(11 / size, box.height * 0.8, ((box.width - 4) / name.length) * (FONT / CHAR));
  return (
    <text
      class="title"
      style={{ fontSize: `${font}px` }}
      text-anchor="middle"
      x={box.width / 2}
      y={box.height / 2 + font * 0.35}
    >
      {name}
    </text>
  );
}

function shadeOf(b: FlowRow['blocks'][number], fn: number, at: number, side: Which): number {
  if (shade.value === 'loop') return b.depth;
  if (shade.value === 'pressure') return b.pressure;
  if (shade.value === 'frequency') return Math.log2(1 + b.frequency);
  const runs = blockRuns.value?.[side]?.[fnName.value]?.[idOf(fn, at)] ?? 0;
  return Math.log2(1 + runs);
}
