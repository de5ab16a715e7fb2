import { largestOf } from '../../ir/append.ts';
import type { Fn } from '../../ir/program.ts';
import { html } from '../../ir/quote.ts';
import { printGuarded } from '../../ir/text.ts';
import { fallsThrough } from '../flow/cfg.ts';
import { analyzeControlFlow, type ControlFlow } from '../flow/control-flow.ts';
import { loopDepth, loopsOf } from '../loops/loops.ts';
import type { CfgChanges } from './cfg-changes.ts';
import type { CfgRenderOptions, Marks } from './cfg-text.ts';
import { flowEdges } from './flow-edges.ts';
import { type Layout, layout } from './layout.ts';
import { bendyPath, curvedPath, round } from './paths.ts';

/** Options of a drawing. */
export interface CfgSvgOptions extends CfgRenderOptions {
  /** Instructions shown in each block; default: 14 for up to 60 blocks, none for more. */
  readonly instructions?: number;
}

const CHAR = 6.65;
const LINE = 14;
const PAD = 8;
/** Characters shown of an instruction. */
const COLUMNS = 52;

/** Fill of blocks by loop depth, light to dark. */
const FILLS = ['#ffffff', '#eaf3fb', '#cfe4f5', '#b0d2ee', '#8dbde4'] as const;

const STYLE = `text{font:11px ui-monospace,Menlo,Consolas,monospace;fill:#1c2733}
.t{font-weight:700}.d{fill:#6b7885}.b rect{stroke:#5b6b7b}.h rect{stroke:#1f5f99;stroke-width:2.4}.u rect{stroke-dasharray:4 3}
path{fill:none;stroke:#5b6b7b;stroke-width:1.3}.k{stroke:#2b8a3e}.f{stroke:#8a5a2b}.x{stroke:#b3261e;stroke-dasharray:5 3}
.m{stroke:#c2255c;stroke-width:3}.n rect{stroke:#c2255c;stroke-width:3}`;

/**
 * Control flow as a picture: one box per block, shaded by loop depth, headers framed; edges are taken (green),
 * fall-through of a branch (brown), only successor (grey) or back (red, dashed). It needs only an SVG viewer.
 */
export function renderCfgSvg(fn: Fn, opts: CfgSvgOptions = {}): string {
  const p = picture(fn, opts, null);
  return framed(p.width, p.height, `control flow of ${fn.name}`, [
    `<text x="12" y="20" class="t">${html(fn.name)}</text>`,
    ...p.parts,
  ]);
}

/** Space between two pictures side by side. */
const BETWEEN = 40;

/**
 * Two flow graphs side by side as a picture; blocks and edges that only one of them has are drawn thick.
 * @param heads titles of the two
 */
export function renderCfgChangesSvg(
  c: CfgChanges,
  heads: readonly [string, string],
  opts: CfgSvgOptions = {},
): string {
  const [x, y] = [picture(c.before, opts, c), picture(c.after, opts, c)];
  const side = (p: Picture, head: string, left: number): string[] => [
    `<g transform="translate(${left} 0)">`,
    `<text x="12" y="20" class="t">${html(`${c.before.name}, ${head}`)}</text>`,
    ...p.parts,
    '</g>',
  ];
  const left = Math.max(x.width, heads[0].length * CHAR + 60) + BETWEEN;
  const width = left + Math.max(y.width, (c.before.name.length + heads[1].length + 4) * CHAR);
  return framed(
    Math.ceil(width),
    Math.max(x.height, y.height),
    `changes of the control flow of ${c.before.name}`,
    [...side(x, heads[0], 0), ...side(y, heads[1], left)],
  );
}

function framed(w: number, h: number, label: string, parts: readonly string[]): string {
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" width="${w}" height="${h}" viewBox="0 0 ${w} ${h}" role="img" aria-label="${html(label)}">`,
    `<style>${STYLE}</style>`,
    '<defs><marker id="a" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" orient="auto" markerUnits="userSpaceOnUse"><path d="M0 0L8 4L0 8z" style="fill:context-stroke;stroke:none"/></marker></defs>',
    '<rect width="100%" height="100%" fill="#fbfcfd"/>',
    ...parts,
    '</svg>',
  ].join('\n');
}

interface Picture {
  readonly width: number;
  readonly height: number;
  readonly parts: readonly string[];
}

function picture(fn: Fn, opts: CfgSvgOptions, marks: Marks | null): Picture {
  const cf = analyzeControlFlow(fn, opts);
  const { cfg } = cf;
  const forest = loopsOf(fn);
  const shown = opts.instructions ?? (cfg.count <= 60 ? 14 : 0);
  const texts = fn.blocks.map((_, b) => blockText(fn, cf, b, shown));
  const boxes = texts.map((lines) => ({
    width:
      largestOf(
        lines.map((l) => l.length),
        0,
      ) *
        CHAR +
      2 * PAD,
    height: lines.length * LINE + 2 * PAD - 4,
  }));
  const { order, edges: ways } = flowEdges(fn);
  const edges = ways.map(({ way, ...e }) => ({
    ...e,
    kind: e.back ? 'x' : way === 'only' ? '' : way === 'next' && fallsThrough(fn.blocks[e.from]) ? 'f' : 'k',
  }));
  const l = layout({ boxes, edges, order });
  const w = Math.ceil(Math.max(l.width, fn.name.length * CHAR + 40));
  const out: string[] = [];
  edges.forEach((e, i) => {
    const marked = marks?.edge(fn.blocks[e.from].id, fn.blocks[e.to].id) === true;
    out.push(
      `<path class="${marked ? `${e.kind} m` : e.kind}" d="${e.back || l.routes[i].length === 6 ? bendyPath(l.routes[i]) : curvedPath(l.routes[i])}" marker-end="url(#a)"/>`,
    );
  });
  for (let b = 0; b < cfg.count; b++)
    out.push(
      box(
        l,
        boxes,
        b,
        texts[b],
        marks?.block(fn.blocks[b].id) === true ? `${classOf(cf, b)} n` : classOf(cf, b),
        FILLS[Math.min(loopDepth(forest, b), FILLS.length - 1)],
      ),
    );
  return { width: w, height: Math.ceil(l.height), parts: out };
}

const classOf = (cf: ControlFlow, b: number): string =>
  cf.rpoNumber[b] < 0 ? 'b u' : cf.latch[b] >= 0 ? 'b h' : 'b';

function blockText(fn: Fn, cf: ControlFlow, b: number, shown: number): string[] {
  const block = fn.blocks[b];
  const rpo = cf.rpoNumber[b] < 0 ? 'unreachable' : `rpo ${cf.rpoNumber[b]}`;
  const title = `BB${block.id}${block.name === '' ? '' : ` ${block.name}`}`;
  const lines = [title, `${rpo}, ${block.ins.length} ins`];
  const cut = block.ins.length > shown ? shown - 1 : shown;
  for (let i = 0; i < Math.min(cut, block.ins.length); i++) {
    const s = printGuarded(block.ins[i]);
    lines.push(s.length > COLUMNS ? `${s.slice(0, COLUMNS - 1)}…` : s);
  }
  if (shown > 0 && block.ins.length > shown) lines.push(`       … ${block.ins.length - cut} more`);
  return lines;
}

function box(
  l: Layout,
  boxes: readonly { width: number; height: number }[],
  b: number,
  lines: readonly string[],
  cls: string,
  fill: string,
): string {
  const texts = lines.map(
    (s, i) =>
      `<text x="${PAD}" y="${PAD + 8 + i * LINE}"${i === 0 ? ' class="t"' : i === 1 ? ' class="d"' : ''} xml:space="preserve">${html(s)}</text>`,
  );
  return `<g class="${cls}" transform="translate(${round(l.x[b])} ${round(l.y[b])})"><rect width="${round(boxes[b].width)}" height="${boxes[b].height}" rx="4" fill="${fill}"/>${texts.join('')}</g>`;
}
