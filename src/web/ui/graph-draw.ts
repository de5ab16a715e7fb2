import { type Layout, layout } from '../../analysis/render/layout.ts';
import type { FlowRow } from '../recording.ts';
import { tables } from './store.ts';
import { grouped } from './words.ts';

/** Maximum number of instructions in a box. */
const SHOWN = 8;
/** Size of the text of a box in units of the drawing, and the width of a character in it. */
export const FONT = 12;
export const CHAR = 7.25;
export const [LINE, PAD] = [16, 8];
/** Maximum number of characters of an instruction that are shown. */
const COLUMNS = 40;
/** Maximum number of blocks of a graph that is drawn with instructions. */
const DETAILED = 60;

/** A flow graph with the positions and the texts of its boxes. */
export interface Drawn {
  readonly flow: FlowRow;
  readonly at: Layout;
  readonly boxes: readonly {
    readonly width: number;
    readonly height: number;
    readonly lines: readonly string[];
  }[];
}

/** Id of a block of a function, by its position. */
export const idOf = (fn: number, at: number): number => tables.blocks[tables.fns[fn].blocks[at]].id;

/** Ids of blocks that only one of two versions has, or that differ in them. */
export function changedIds(a: number, b: number): ReadonlySet<number> {
  const blocksOf = (fn: number): readonly number[] => (fn < 0 ? [] : tables.fns[fn].blocks);
  const [x, y] = [new Set(blocksOf(a)), new Set(blocksOf(b))];
  return new Set(
    [...blocksOf(a).filter((n) => !y.has(n)), ...blocksOf(b).filter((n) => !x.has(n))].map(
      (n) => tables.blocks[n].id,
    ),
  );
}

/** The uppermost box among those of the given ids; the entry if there is none. */
export function firstOf(fn: number, drawn: Drawn, ids: ReadonlySet<number>): number {
  let first = -1;
  for (let i = 0; i < drawn.boxes.length; i++)
    if (ids.has(idOf(fn, i)) && (first < 0 || drawn.at.y[i] < drawn.at.y[first])) first = i;
  return Math.max(0, first);
}

/** Boxes with their texts and positions. */
export function draw(fn: number, flow: FlowRow): Drawn {
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
