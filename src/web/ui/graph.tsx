import { signal } from '@preact/signals';
import { useEffect, useLayoutEffect, useMemo, useRef, useState } from 'preact/hooks';
import { type Layout, layout } from '../../analysis/render/layout.ts';
import { bendyPath, curvedPath } from '../../analysis/render/paths.ts';
import type { FlowRow } from '../recording.ts';
import { PaneChoice } from './panes.tsx';
import { blockRuns, flowOf, fnAt, fnName, left, picked, right, run, tables, view } from './store.ts';
import { classes, grouped, plural } from './words.ts';

type Shade = 'loop' | 'frequency' | 'simulator' | 'pressure';
const shade = signal<Shade>('loop');
/** 0: as large as fits, within limits. */
const scale = signal(0);
/** Minimum scale at which text is readable. */
const LEAST_FIT = 0.55;

/** Maximum number of instructions in a box. */
const SHOWN = 8;
const [CHAR, LINE, PAD] = [6.3, 15, 8];
/** Maximum number of characters of an instruction that are shown. */
const COLUMNS = 40;
/** Maximum number of blocks of a graph that is drawn with instructions. */
const DETAILED = 60;

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
          <span class="key added">only after</span>
          <span class="key removed">only before</span>
        </span>
        <span class="zoom">
          <button
            type="button"
            class="plain"
            aria-label="Smaller"
            onClick={() => (scale.value = Math.max(0.2, (scale.value || 0.8) / 1.25))}
          >
            −
          </button>
          <button
            type="button"
            class="plain"
            aria-label="Fit, or actual size"
            onClick={() => (scale.value = scale.value === 0 ? 1 : 0)}
          >
            {scale.value === 0 ? 'fit' : `${Math.round(scale.value * 100)} %`}
          </button>
          <button
            type="button"
            class="plain"
            aria-label="Larger"
            onClick={() => (scale.value = Math.min(3, (scale.value || 0.8) * 1.25))}
          >
            +
          </button>
        </span>
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

interface Drawn {
  readonly flow: FlowRow;
  readonly at: Layout;
  readonly boxes: readonly {
    readonly width: number;
    readonly height: number;
    readonly lines: readonly string[];
  }[];
}

/** The flow graph of a function, once it has arrived. */
function useFlow(fn: number): { readonly fn: number; readonly flow: FlowRow } | null {
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

const idOf = (fn: number, at: number): number => tables.blocks[tables.fns[fn].blocks[at]].id;
const edgeKeys = ({ fn, flow }: { readonly fn: number; readonly flow: FlowRow }): ReadonlySet<string> =>
  new Set(flow.edges.map((e) => `${idOf(fn, e.from)} ${idOf(fn, e.to)}`));

function OneGraph({
  fn,
  other,
  side,
}: {
  readonly fn: number;
  readonly other: number;
  readonly side: 'before' | 'after';
}) {
  const found = useFlow(fn);
  const theirs = useFlow(other);
  const drawn = useMemo(() => (found === null ? null : draw(fn, found.flow)), [found, fn]);
  const shared = useMemo(() => (theirs === null || fn === other ? null : edgeKeys(theirs)), [theirs, fn]);
  const view = useRef<HTMLDivElement>(null);
  const [seen, setSeen] = useState(0);
  const size =
    scale.value === 0 ? Math.max(LEAST_FIT, Math.min(1, seen / (drawn?.at.width ?? 1))) : scale.value;
  useLayoutEffect(() => {
    const el = view.current;
    if (el === null || drawn === null) return;
    setSeen(el.clientWidth - 24);
    // The entry is shown first.
    el.scrollLeft = (drawn.at.x[0] + drawn.boxes[0].width / 2) * size - el.clientWidth / 2;
  }, [drawn, size]);
  if (fn < 0) return <p class="empty">There is no function {fnName.value} here.</p>;
  if (drawn === null) return <p class="empty">Drawing…</p>;
  const ids = new Set(other < 0 ? [] : tables.fns[other].blocks.map((b) => tables.blocks[b].id));
  const values = drawn.flow.blocks.map((b, i) => shadeOf(b, fn, i, side));
  const most = Math.max(1, ...values);
  const { width, height } = drawn.at;
  return (
    <div ref={view} class="graph" tabIndex={0} role="group" aria-label={`Flow graph ${side}`}>
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
        {drawn.boxes.map((box, i) => (
          <Box
            key={i}
            fn={fn}
            at={i}
            drawn={drawn}
            box={box}
            level={Math.min(4, Math.ceil((4 * values[i]) / most))}
            only={other >= 0 && !ids.has(tables.blocks[tables.fns[fn].blocks[i]].id) ? side : ''}
          />
        ))}
      </svg>
    </div>
  );
}

interface BoxProps {
  readonly fn: number;
  readonly at: number;
  readonly drawn: Drawn;
  readonly box: Drawn['boxes'][number];
  /** Shade from 0 to 4. */
  readonly level: number;
  readonly only: '' | 'before' | 'after';
}

function Box({ fn, at, drawn, box, level, only }: BoxProps) {
  const b = drawn.flow.blocks[at];
  const first = tables.blocks[tables.fns[fn].blocks[at]].ins[0];
  return (
    // biome-ignore lint/a11y/noStaticElementInteractions: the listing has the same for the keyboard
    <g
      class={classes(
        'box',
        `shade-${level}`,
        b.header && 'header',
        b.parts && 'parts',
        !b.reachable && 'unreachable',
        only !== '' && `only-${only}`,
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
      {box.lines.map((l, i) => (
        <text key={i} x={PAD} y={PAD + 9 + i * LINE} class={i === 0 ? 'title' : i === 1 ? 'figures' : ''}>
          {l}
        </text>
      ))}
    </g>
  );
}

function shadeOf(b: FlowRow['blocks'][number], fn: number, at: number, side: 'before' | 'after'): number {
  if (shade.value === 'loop') return b.depth;
  if (shade.value === 'pressure') return b.pressure;
  if (shade.value === 'frequency') return Math.log2(1 + b.frequency);
  const { id } = tables.blocks[tables.fns[fn].blocks[at]];
  const runs = blockRuns.value?.[side]?.[fnName.value]?.[id] ?? 0;
  return Math.log2(1 + runs);
}

/** Boxes with their texts and positions. */
function draw(fn: number, flow: FlowRow): Drawn {
  const { blocks } = tables.fns[fn];
  const boxes = blocks.map((n, i) => {
    const block = tables.blocks[n];
    const { frequency, pressure } = flow.blocks[i];
    const often =
      frequency === 1 ? '' : ` · ×${frequency >= 10 ? grouped(Math.round(frequency)) : frequency}`;
    const lines = [
      `BB${block.id}${block.name === '' ? '' : ` ${block.name}`}`,
      `${block.ins.length} ins · ${pressure} regs${often}`,
    ];
    if (blocks.length <= DETAILED) {
      const shown = block.ins.length > SHOWN ? SHOWN - 1 : SHOWN;
      for (const ins of block.ins.slice(0, shown)) {
        const text = tables.ins[ins][0].trim();
        lines.push(text.length > COLUMNS ? `${text.slice(0, COLUMNS - 1)}…` : text);
      }
      if (block.ins.length > shown) lines.push(`… ${block.ins.length - shown} more`);
    }
    const width = Math.max(...lines.map((l) => l.length)) * CHAR + 2 * PAD;
    return { width, height: lines.length * LINE + 2 * PAD - 4, lines };
  });
  return { flow, boxes, at: layout({ boxes, edges: flow.edges, order: flow.order }) };
}
