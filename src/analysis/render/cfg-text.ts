import type { Fn } from '../../ir/program.ts';
import { dotString } from '../../ir/quote.ts';
import { fallsThrough } from '../flow/cfg.ts';
import { analyzeControlFlow, BlockFlag, type ControlFlow } from '../flow/control-flow.ts';
import { loopContents, loopDepth, loopsOf, preheader } from '../loops/loops.ts';

/** Options of the analysis behind a picture. */
export interface CfgRenderOptions {
  /** Force mode of AnalyzeControlFlow. */
  readonly force?: boolean;
}

/** Characters of the widest column. */
const WIDEST = 48;
/** Maximum number of blocks listed for a loop. */
const MOST_BLOCKS = 64;
/** Maximum number of levels of indentation. */
const DEEPEST = 32;

const FLAG_NAMES: readonly (readonly [number, string])[] = [
  [BlockFlag.LoopHeader, 'header'],
  [BlockFlag.HasPredecessor, 'has-pred'],
  [BlockFlag.InLoop, 'in-loop'],
  [BlockFlag.BackEdgeCandidate, 'latch'],
  [BlockFlag.Leaves, 'leaves'],
];

/** Names of the flags of a block. */
export const flagNames = (cf: ControlFlow, b: number): string[] =>
  FLAG_NAMES.filter(([bit]) => (cf.flags[b] & bit) !== 0).map(([, name]) => name);

/**
 * Control flow as text: state of each block, traversal order, back edges, loops. `bix` numbers are block ids;
 * headings and the first two columns follow the dumps of the original (reference: blocks and CFG).
 */
export function renderCfgText(fn: Fn, opts: CfgRenderOptions = {}): string {
  const cf = analyzeControlFlow(fn, opts);
  const { cfg } = cf;
  const forest = loopsOf(fn);
  const bix = (b: number): string => `bix${fn.blocks[b].id}`;
  const at = (rpo: number): string => (rpo < 0 ? '-' : bix(cfg.rpo[rpo]));
  const list = (start: Int32Array, items: Int32Array, b: number): string =>
    `[${Array.from(items.subarray(start[b], start[b + 1]), bix).join(' ')}]`;
  const out = [`Control flow of ${fn.name}: ${cfg.count} blocks, ${cfg.succ.length} edges`, ''];

  out.push('Showing RPO state for each basic block:');
  const rows = fn.blocks.map((block, b) => [
    bix(b),
    `-> RPONum: ${cf.rpoNumber[b] < 0 ? 'unreachable' : cf.rpoNumber[b]}`,
    `preds ${list(cfg.predStart, cfg.pred, b)}`,
    `succs ${list(cfg.succStart, cfg.succ, b)}`,
    `depth ${loopDepth(forest, b)}`,
    flagNames(cf, b).join(',') || '-',
    block.name,
  ]);
  // A few long cells exceed their column, so that they do not widen every line.
  const widths = rows.reduce<number[]>(
    (w, r) => r.map((c, i) => Math.max(w[i] ?? 0, Math.min(c.length, WIDEST))),
    [],
  );
  for (const r of rows)
    out.push(
      `  ${r
        .map((c, i) => c.padEnd(widths[i]))
        .join('  ')
        .trimEnd()}`,
    );

  out.push('', `RPO traversal order: [${Array.from(cfg.rpo, bix).join(', ')}]`, '', 'Showing backedge info:');
  let backEdges = 0;
  for (let b = 0; b < cfg.count; b++) {
    for (let e = cfg.succStart[b]; e < cfg.succStart[b + 1]; e++) {
      const t = cfg.succ[e];
      if (cf.rpoNumber[b] < 0 || cf.rpoNumber[t] > cf.rpoNumber[b]) continue;
      backEdges++;
      out.push(
        `  ${bix(b)} -> ${bix(t)}  header interval [${cf.rpoNumber[t]}, ${cf.latch[t]}], first predecessor ${at(cf.firstPredecessor[t])}, farthest exit ${at(cf.exit[t])}`,
      );
    }
  }
  if (backEdges === 0) out.push('  none');

  if (forest.loops.length > 0) {
    out.push('', 'Natural loops:');
    const contents = loopContents(forest, MOST_BLOCKS);
    for (const l of forest.loops) {
      const pre = preheader(forest, l.id);
      const { blocks, exits: edges } = contents[l.id];
      const exits = edges.map((e) => `${bix(e.from)}->${bix(e.to)}`);
      const more = l.size > blocks.length ? ` and ${l.size - blocks.length} more` : '';
      out.push(
        `${'  '.repeat(Math.min(l.depth, DEEPEST))}${bix(l.header)}: ${l.size} blocks {${blocks.map(bix).join(' ')}${more}}, latches ${l.latches.map(bix).join(' ')}, preheader ${pre < 0 ? '-' : bix(pre)}, exits ${exits.join(' ') || 'none'}`,
      );
    }
  }
  for (const r of forest.irreducible)
    out.push(
      '',
      `Irreducible region {${r.blocks.map(bix).join(' ')}} entered at ${r.entries.map(bix).join(' ')}`,
    );
  out.push('', `RPO violation: ${cf.rpoViolation ? cf.violation : 'none'}`);
  return out.join('\n');
}

/** Control flow as a Graphviz graph; back edges are dashed, loop headers doubly framed. */
export const renderCfgDot = (fn: Fn, opts: CfgRenderOptions = {}): string =>
  [
    `digraph ${dotString(fn.name)} {`,
    '  node [shape=box, fontname="monospace"];',
    cfgDotBody(fn, '', null, opts),
    '}',
  ].join('\n');

/** Blocks and edges to highlight. */
export interface Marks {
  readonly block: (id: number) => boolean;
  readonly edge: (from: number, to: number) => boolean;
}

/**
 * Nodes and edges of a Graphviz graph.
 * @param prefix prefix of node names
 * @param marks what is drawn in red
 */
export function cfgDotBody(fn: Fn, prefix: string, marks: Marks | null, opts: CfgRenderOptions = {}): string {
  const cf = analyzeControlFlow(fn, opts);
  const { cfg } = cf;
  const out: string[] = [];
  fn.blocks.forEach((block, b) => {
    const style = cf.rpoNumber[b] < 0 ? ', style=dotted' : cf.latch[b] >= 0 ? ', peripheries=2' : '';
    const color = marks?.block(block.id) === true ? ', color=red' : '';
    const rpo = cf.rpoNumber[b] < 0 ? 'unreachable' : `RPONum ${cf.rpoNumber[b]}`;
    // A quoted \n is Graphviz's own line break, so it is inserted after escaping.
    const title = dotString(`bix${block.id}(${block.name || `L${block.id}`})`).slice(1, -1);
    out.push(
      `  ${prefix}bix${block.id} [label="${title}\\n${rpo}, ${block.ins.length} ins"${style}${color}];`,
    );
  });
  for (let b = 0; b < cfg.count; b++) {
    const conditional = cfg.succStart[b + 1] - cfg.succStart[b] === 2 && fallsThrough(fn.blocks[b]);
    for (let e = cfg.succStart[b]; e < cfg.succStart[b + 1]; e++) {
      const t = cfg.succ[e];
      const [from, to] = [fn.blocks[b].id, fn.blocks[t].id];
      const attrs: string[] = [];
      if (conditional) attrs.push(`label=${e === cfg.succStart[b] ? 'T' : 'F'}`);
      if (cf.rpoNumber[b] >= 0 && cf.rpoNumber[t] <= cf.rpoNumber[b]) attrs.push('style=dashed');
      if (marks?.edge(from, to) === true) attrs.push('color=red');
      out.push(
        `  ${prefix}bix${from} -> ${prefix}bix${to}${attrs.length > 0 ? ` [${attrs.join(', ')}]` : ''};`,
      );
    }
  }
  return out.join('\n');
}
