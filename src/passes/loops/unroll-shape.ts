import { type LoopForest, loopBlocks } from '../../analysis/loops/loops.ts';
import type { BlockNo, Draft, Ins } from '../../ir/draft/index.ts';
import { isControl } from '../../ir/flow.ts';
import { OpFlag } from '../../ir/opcode.ts';
import { NO_REG } from '../../ir/operand.ts';

/** A loop that control leaves only at its single latch, by a branch. */
export interface BottomTested {
  readonly header: BlockNo;
  readonly latch: BlockNo;
  readonly exit: BlockNo;
  /** Its blocks in layout order. */
  readonly blocks: readonly BlockNo[];
  /** Number of instructions. */
  readonly size: number;
}

/** Why a loop stays as it is: a short name for the remark, and the reason as text. */
export interface Refusal {
  readonly name: string;
  readonly why: string;
}
const no = (name: string, why: string): Refusal => ({ name, why });

/**
 * Numbers that the original gives to refusals (reference passes-c), by our names for them. It has no pressure, growth or divergence to
 * refuse.
 */
const CODES: Readonly<Record<string, number>> = {
  'not-innermost': 7,
  nounroll: 11,
  convergent: 11,
  factor: 12,
  exit: 13,
  counter: 14,
  'counter-class': 15,
  bound: 16,
  irregular: 17,
  limit: 18,
  direction: 19,
  size: 24,
  budget: 24,
};

/** The number of a refusal as the original prints it, in parentheses; '' if it has none. */
export const codeOf = ({ name }: Refusal): string => {
  const code = CODES[name];
  return code === undefined ? '' : ` (0x${(0x80000000 + code).toString(16).toUpperCase()})`;
};

/** Is the result of a search for a loop form the reason why there is none? */
export const isRefusal = (x: object): x is Refusal => 'why' in x;

/**
 * The loop in the form that both kinds of unrolling need, or the reason why it lacks this form.
 * @param pinned blocks that a convergence label names
 * @param place index of each block in the layout
 * @param nests whether it may hold other loops
 */
export function bottomTested(
  d: Draft,
  forest: LoopForest,
  id: number,
  pinned: ReadonlySet<BlockNo>,
  place: Int32Array,
  nests = false,
): BottomTested | Refusal {
  const { header, latches, children } = forest.loops[id];
  if (children.length > 0 && !nests) return no('not-innermost', 'it holds another loop');
  if (latches.length > 1) return no('irregular', 'control goes back to it from several places');
  const [latch] = latches;
  const t = d.terminator(latch);
  const edges = d.edges(latch);
  const branches = t >= 0 && d.at(t).op.primitive === 'branch' && d.at(t).guard !== NO_REG;
  if (!branches || edges.length !== 2 || edges[0] === edges[1])
    return no('exit', 'its last block does not test whether to leave it');
  const blocks = loopBlocks(forest, id).sort((a, b) => place[a] - place[b]);
  const inside = new Set(blocks);
  let size = 0;
  for (const b of blocks) {
    if (pinned.has(b)) return no('irregular', `a convergence label names BB${d.id(b)}`);
    for (let n = d.first(b); n >= 0; n = d.next(n)) {
      const strange = oddInstruction(d, b, n);
      if (strange !== null) return strange;
      size++;
    }
    if (b !== latch && d.successors(b).some((s) => !inside.has(s)))
      return no('exit', `control may leave it at BB${d.id(b)} too`);
  }
  const exit = edges[0] === header ? edges[1] : edges[0];
  // In a nest, the last block may also close an inner loop.
  if (inside.has(exit)) return no('exit', 'its last block does not test whether to leave it');
  return { header, latch, exit, blocks, size };
}

/** Why an instruction keeps the surrounding loop from being copied; null if it does not. */
function oddInstruction(d: Draft, b: BlockNo, n: Ins): Refusal | null {
  const x = d.at(n);
  if ((x.op.flags & OpFlag.Convergent) !== 0) return no('convergent', `lanes meet in BB${d.id(b)}`);
  if (isControl(x) && x.op.primitive !== 'branch' && x.op.primitive !== 'branch-table')
    return no('exit', `control may leave it at BB${d.id(b)}, by ${x.op.name}`);
  return null;
}
