import { html } from '../../ir/quote.ts';
import type { Experiment } from '../experiment.ts';
import type { Metric } from '../metrics.ts';
import type { ArmScore, SweepReport } from '../sweep-report.ts';
import { ratioText } from './sweep.ts';

/** Size of a scatter plot in SVG units, and its margins. */
const WIDTH = 400;
const HEIGHT = 300;
const LEFT = 62;
const BOTTOM = 34;
const EDGE = 14;
/** Maximum number of points outside of the front in a scatter plot; of more, only every n-th is drawn. */
const MOST_POINTS = 4000;
/** Maximum number of lines outside of the front in a parallel-coordinates plot; of more, only every n-th is drawn. */
const MOST_LINES = 400;
/** Distance between parallel axes, their height, and the margin above them. */
const AXES = 130;
const TALL = 260;
const TOP = 56;
/** Maximum length of an axis label in characters. */
const LABEL = 18;

/** Maps a value to a coordinate. */
type Scale = (v: number) => number;

const px = (n: number): string => n.toFixed(1);

/** Tick positions of an axis; the step is 1, 2 or 5 times a power of ten. */
function ticks(low: number, high: number, about: number): number[] {
  const raw = (high - low) / about;
  const power = 10 ** Math.floor(Math.log10(raw));
  const step = [1, 2, 5, 10].map((f) => f * power).find((s) => s >= raw)!;
  const out: number[] = [];
  for (let k = Math.ceil(low / step); k * step <= high + step * 1e-9; k++) out.push(k * step);
  return out;
}

/** The range of an axis: all finite values and zero, with a margin. */
function rangeOf(values: readonly number[]): readonly [number, number] {
  const known = values.filter(Number.isFinite);
  const [low, high] = [Math.min(0, ...known), Math.max(0, ...known)];
  const room = Math.max((high - low) * 0.06, 1e-4);
  return [low - room, high + room];
}

const changeOf = (s: ArmScore, m: Metric): number => s.ratio[m.name] - 1;

const tickText = (v: number): string => {
  const p = v * 100;
  return `${Number(p.toPrecision(6))} %`;
};

/** The arms to draw: the front, the base, and at most `most` others; `left` is the number of omitted arms. */
function drawn(r: SweepReport, most: number): { readonly arms: readonly ArmScore[]; readonly left: number } {
  const front = new Set(r.front.map((s) => s.arm));
  const others = r.scores.filter((s) => s.arm !== 0 && !front.has(s.arm));
  const every = Math.max(1, Math.ceil(others.length / most));
  const shown = others.filter((_, i) => i % every === 0);
  return {
    // Later elements are drawn on top: the base and the front.
    arms: [...shown, ...r.scores.filter((s) => s.arm === 0), ...r.front.filter((s) => s.arm !== 0)],
    left: others.length - shown.length,
  };
}

const kindOf = (s: ArmScore, front: ReadonlySet<number>): string =>
  s.refused !== '' ? 'refused' : front.has(s.arm) ? 'front' : '';

/** An arm with its results, as text. */
const armSummary = (s: ArmScore, r: SweepReport): string =>
  `${s.name}: ${r.metrics.map((m) => `${m.name} ${ratioText(s.ratio[m.name])}`).join(', ')}${s.refused === '' ? '' : `; ${s.refused}`}`;

const tooltip = (s: ArmScore, r: SweepReport): string => `<title>${html(armSummary(s, r))}</title>`;

/** Groups elements by a key, in the order of first occurrence. */
function grouped<T>(list: readonly T[], keyOf: (x: T) => string): Map<string, T[]> {
  const out = new Map<string, T[]>();
  for (const x of list) {
    const key = keyOf(x);
    const known = out.get(key);
    if (known === undefined) out.set(key, [x]);
    else known.push(x);
  }
  return out;
}

/** An SVG scatter plot of arms by two metrics, with the Pareto front as steps. */
export function scatter(r: SweepReport, across: Metric, up: Metric): string {
  const { arms } = drawn(r, MOST_POINTS);
  const legal = arms.filter((s) => Number.isFinite(s.ratio[across.name]) && !s.refused.startsWith('no plan'));
  const [x0, x1] = rangeOf(legal.map((s) => changeOf(s, across)));
  const [y0, y1] = rangeOf(legal.map((s) => changeOf(s, up)));
  const x: Scale = (v) => LEFT + ((v - x0) / (x1 - x0)) * (WIDTH - LEFT - EDGE);
  const y: Scale = (v) => EDGE + ((y1 - v) / (y1 - y0)) * (HEIGHT - BOTTOM - EDGE);
  const front = new Set(r.front.map((s) => s.arm));
  const base = HEIGHT - BOTTOM;
  const grid = [
    ...ticks(x0, x1, 5).map(
      (v) =>
        `<line class="${v === 0 ? 'axis' : 'grid'}" x1="${px(x(v))}" y1="${EDGE}" x2="${px(x(v))}" y2="${base}"/><text x="${px(x(v))}" y="${base + 16}" text-anchor="middle">${tickText(v)}</text>`,
    ),
    ...ticks(y0, y1, 5).map(
      (v) =>
        `<line class="${v === 0 ? 'axis' : 'grid'}" x1="${LEFT}" y1="${px(y(v))}" x2="${WIDTH - EDGE}" y2="${px(y(v))}"/><text x="${LEFT - 6}" y="${px(y(v) + 4)}" text-anchor="end">${tickText(v)}</text>`,
    ),
  ];
  const points = [...grouped(legal, (s) => `${px(x(changeOf(s, across)))} ${px(y(changeOf(s, up)))}`)].map(
    ([at, same]) => {
      const [cx, cy] = at.split(' ');
      // The last arm is the most important one (see `drawn`).
      const s = same.at(-1)!;
      const size = s.arm === 0 ? 6 : (front.has(s.arm) ? 5 : 3.5) + Math.log2(same.length) / 2;
      const more =
        same.length > 1
          ? `<title>${html(`${same.length} arms, among them ${armSummary(s, r)}`)}</title>`
          : tooltip(s, r);
      return `<circle class="dot ${s.arm === 0 ? 'base' : kindOf(s, front)}" cx="${cx}" cy="${cy}" r="${px(size)}">${more}</circle>`;
    },
  );
  const label = `${across.name} and ${up.name} of ${legal.length} arms`;
  return `<svg viewBox="0 0 ${WIDTH} ${HEIGHT}" role="img" aria-label="${html(label)}">${grid.join('')}${frontLine(r, across, up, x, y)}${points.join('')}</svg>`;
}

/** The Pareto front as steps if the sweep has only these two metrics; a projection of a front of more metrics is not a line. */
function frontLine(r: SweepReport, across: Metric, up: Metric, x: Scale, y: Scale): string {
  if (r.metrics.length !== 2 || r.front.length < 2) return '';
  const points = [...r.front].sort((a, b) => a.ratio[across.name] - b.ratio[across.name]);
  const steps = points.flatMap((s, i) => {
    const [a, b] = [x(changeOf(s, across)), y(changeOf(s, up))];
    return i === 0 ? [`M${px(a)} ${px(b)}`] : [`H${px(a)}`, `V${px(b)}`];
  });
  return `<path class="front-line" d="${steps.join('')}"/>`;
}

/** An axis of a parallel-coordinates plot: the coordinate of each arm, and the tick marks. */
interface Axis {
  readonly name: string;
  readonly at: (s: ArmScore) => number | null;
  readonly marks: readonly (readonly [y: number, text: string])[];
}

const short = (text: string): string => (text.length <= LABEL ? text : `${text.slice(0, LABEL - 1)}…`);

/** The axis of a factor: levels are evenly spaced in the order of the experiment, or placed by value for a range. */
function factorAxis(e: Experiment, name: string): Axis {
  const seen = [...new Set(e.arms.map((a) => a.choice.get(name)?.name).filter((n) => n !== undefined))];
  const factor = e.factors.find((f) => f.name === name)!;
  const numbers = 'range' in factor;
  const levels = numbers
    ? seen.sort((a, b) => Number(a) - Number(b))
    : factor.levels.map((l) => l.name).filter((l) => seen.includes(l));
  const [low, high] = [Number(levels[0]), Number(levels.at(-1))];
  const share = (level: string): number =>
    levels.length < 2
      ? 0.5
      : numbers
        ? (Number(level) - low) / (high - low || 1)
        : levels.indexOf(level) / (levels.length - 1);
  const y = (level: string): number => TOP + TALL * (1 - share(level));
  const marked = levels.length <= 12 ? levels : [levels[0], levels.at(-1)!];
  return {
    name,
    at: (s) => {
      const level = e.arms[s.arm].choice.get(name)?.name;
      return level === undefined ? null : y(level);
    },
    marks: marked.map((l) => [y(l), l] as const),
  };
}

function metricAxis(r: SweepReport, m: Metric): Axis {
  const counted = r.scores.filter((s) => !s.refused.startsWith('no plan'));
  const [low, high] = rangeOf(counted.map((s) => changeOf(s, m)));
  const y = (v: number): number => TOP + TALL * (1 - (v - low) / (high - low));
  return {
    name: m.name,
    at: (s) => (counted.includes(s) && Number.isFinite(s.ratio[m.name]) ? y(changeOf(s, m)) : null),
    marks: ticks(low, high, 5).map((v) => [y(v), tickText(v)] as const),
  };
}

/** An SVG parallel-coordinates plot of arms over all factors and metrics; `left` is the number of omitted arms. */
export function parallel(e: Experiment, r: SweepReport): { readonly svg: string; readonly left: number } {
  const axes = [...e.factors.map((f) => factorAxis(e, f.name)), ...r.metrics.map((m) => metricAxis(r, m))];
  const { arms, left } = drawn(r, MOST_LINES);
  const front = new Set(r.front.map((s) => s.arm));
  const x = (i: number): number => 60 + i * AXES;
  const width = x(axes.length - 1) + 110;
  const height = TOP + TALL + 20;
  const lines = arms.flatMap((s) => {
    // A line has a gap where the arm has no level of a factor, as may be the case for the base.
    let d = '';
    let open = false;
    axes.forEach((a, i) => {
      const y = a.at(s);
      if (y !== null) d += `${open ? 'L' : 'M'}${px(x(i))} ${px(y)}`;
      open = y !== null;
    });
    return d === ''
      ? []
      : [
          `<path class="arm-line ${s.arm === 0 ? 'base' : kindOf(s, front)}" d="${d}">${tooltip(s, r)}</path>`,
        ];
  });
  const marks = axes.map((a, i) => {
    // Adjacent names are drawn at alternating heights, so that long ones do not overlap.
    const name = `<text x="${px(x(i))}" y="${i % 2 === 0 ? 16 : 34}" text-anchor="middle" font-weight="600"><title>${html(a.name)}</title>${html(a.name.length <= 2 * LABEL ? a.name : `${a.name.slice(0, 2 * LABEL - 1)}…`)}</text>`;
    const texts = a.marks.map(
      ([y, text]) =>
        `<line class="axis" x1="${px(x(i) - 4)}" y1="${px(y)}" x2="${px(x(i))}" y2="${px(y)}"/><text x="${px(x(i) + 5)}" y="${px(y - 3)}"><title>${html(text)}</title>${html(short(text))}</text>`,
    );
    return `<line class="axis" x1="${px(x(i))}" y1="${TOP}" x2="${px(x(i))}" y2="${TOP + TALL}"/>${name}${texts.join('')}`;
  });
  return {
    svg: `<svg width="${width}" height="${height}" viewBox="0 0 ${width} ${height}" role="img" aria-label="${arms.length} arms over ${axes.length} axes">${lines.join('')}${marks.join('')}</svg>`,
    left,
  };
}
