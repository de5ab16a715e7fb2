import { useMemo, useRef } from 'preact/hooks';
import { bendyPath, curvedPath } from '../../analysis/render/paths.ts';
import { useFlow } from './graph.tsx';
import { type Drawn, draw, idOf } from './graph-draw.ts';
import { useSize } from './size.ts';
import { plural } from './words.ts';

interface Place {
  readonly id: number;
  readonly x: number;
  readonly y: number;
  readonly width: number;
  readonly height: number;
  readonly opacity: number;
}

interface Line {
  readonly key: string;
  readonly back: boolean;
  readonly route: readonly { readonly x: number; readonly y: number }[];
  readonly opacity: number;
}

const mix = (a: number, b: number, t: number): number => a + (b - a) * t;

/** A drawing by block ids. */
interface Named {
  readonly drawn: Drawn;
  readonly boxes: ReadonlyMap<number, Omit<Place, 'opacity'>>;
  readonly lines: ReadonlyMap<string, Omit<Line, 'opacity'>>;
}

function named(fn: number, drawn: Drawn): Named {
  const boxes = new Map(
    drawn.boxes.map(({ width, height }, i) => {
      const id = idOf(fn, i);
      return [id, { id, x: drawn.at.x[i], y: drawn.at.y[i], width, height }];
    }),
  );
  const lines = new Map<string, Omit<Line, 'opacity'>>();
  drawn.flow.edges.forEach((e, i) => {
    let key = `${idOf(fn, e.from)} ${idOf(fn, e.to)}`;
    while (lines.has(key)) key += "'";
    lines.set(key, { key, back: e.back, route: drawn.at.routes[i] });
  });
  return { drawn, boxes, lines };
}

function boxesBetween(a: Named, b: Named, t: number): Place[] {
  const out: Place[] = [];
  for (const [id, x] of a.boxes) {
    const y = b.boxes.get(id);
    if (y === undefined) out.push({ ...x, opacity: 1 - t });
    else
      out.push({
        id,
        x: mix(x.x, y.x, t),
        y: mix(x.y, y.y, t),
        width: mix(x.width, y.width, t),
        height: mix(x.height, y.height, t),
        opacity: 1,
      });
  }
  for (const [id, y] of b.boxes) if (!a.boxes.has(id)) out.push({ ...y, opacity: t });
  return out.filter((p) => p.opacity > 0);
}

function linesBetween(a: Named, b: Named, t: number): Line[] {
  const out: Line[] = [];
  for (const [key, x] of a.lines) {
    const y = b.lines.get(key);
    if (y !== undefined && y.route.length === x.route.length)
      out.push({
        ...x,
        route: x.route.map((p, i) => ({ x: mix(p.x, y.route[i].x, t), y: mix(p.y, y.route[i].y, t) })),
        opacity: 1,
      });
    else out.push({ ...x, key: `${key} before`, opacity: 1 - t });
  }
  for (const [key, y] of b.lines)
    if (a.lines.get(key)?.route.length !== y.route.length) out.push({ ...y, opacity: t });
  return out.filter((l) => l.opacity > 0);
}

/** The flow graph between two versions of a function: blocks move, appear and fade. It fits its pane. */
export function FilmGraph({
  from,
  to,
  t,
}: {
  readonly from: number;
  readonly to: number;
  readonly t: number;
}) {
  const [x, y] = [useFlow(from), useFlow(to)];
  const a = useMemo(() => (x === null ? null : named(from, draw(from, x.flow))), [x, from]);
  const b = useMemo(() => (y === null ? null : named(to, draw(to, y.flow))), [y, to]);
  const last = useRef<readonly [Named, Named] | null>(null);
  // Until the graphs of the next versions have come, those before stay.
  if (a !== null && b !== null) last.current = [a, b];
  const pane = useRef<HTMLDivElement>(null);
  const seen = useSize(pane, [400, 400]);
  const both = last.current;
  if (both === null) return <div ref={pane} class="film-graph" />;
  const width = mix(both[0].drawn.at.width, both[1].drawn.at.width, t);
  const height = mix(both[0].drawn.at.height, both[1].drawn.at.height, t);
  const scale = Math.min(1, (seen[0] - 16) / width, (seen[1] - 44) / height);
  return (
    <div ref={pane} class="film-graph">
      <svg
        width={width * scale}
        height={height * scale}
        viewBox={`0 0 ${width} ${height}`}
        role="img"
        aria-label={`Flow graph: ${both[1].boxes.size} blocks`}
      >
        {linesBetween(both[0], both[1], t).map((l) => (
          <path
            key={l.key}
            class={l.back ? 'edge back' : 'edge'}
            opacity={l.opacity}
            d={l.back || l.route.length === 6 ? bendyPath(l.route) : curvedPath(l.route)}
          />
        ))}
        {boxesBetween(both[0], both[1], t).map((p) => (
          <g key={p.id} class="box" opacity={p.opacity} transform={`translate(${p.x} ${p.y})`}>
            <rect width={p.width} height={p.height} rx="4" />
            <text
              class="title"
              text-anchor="middle"
              x={p.width / 2}
              y={p.height / 2 + 4 / scale}
              style={{ fontSize: `${Math.min(12 / scale, p.height * 0.8)}px` }}
            >
              BB{p.id}
            </text>
          </g>
        ))}
      </svg>
      <p class="dim">{graphText(both[1])}</p>
    </div>
  );
}

function graphText({ drawn }: Named): string {
  const depth = Math.max(0, ...drawn.flow.blocks.map((x) => x.depth));
  return `${plural(drawn.boxes.length, 'block')}, ${plural(drawn.flow.edges.length, 'edge')}${depth === 0 ? '' : `, loops nested ${depth} deep`}`;
}
