/**
 * Rewrites a proof goal so that equal sides become syntactically equal: in normal form, with selects and negations hoisted. If the sides
 * are then equal operand by operand, the solver need not reason about multiplications.
 */
import { LimitReached } from '../../ir/limit.ts';
import type { CoreOp, Node } from '../../isa/lang/graph.ts';
import { type Goal, type Input, prune } from './goal.ts';
import { Normal } from './normal.ts';

/** Maximum number of nodes: hoisting selects copies operations. A goal that grows beyond this is left as it is. */
const MOST_NODES = 4_000;

/** Selects are hoisted out of these operations: those that proofs compare by their operands, and the conversions around them. */
const LIFTED: ReadonlySet<CoreOp> = new Set<CoreOp>([
  'mul',
  'fadd',
  'fmul',
  'ffma',
  'fdiv',
  'fsqrt',
  'ftz',
  'sext',
  'zext',
]);

/** An equivalent goal in normal form; the goal itself if the result would be too large. */
export function simplified(goal: Goal): Goal {
  try {
    return new Simplifier(goal).run();
  } catch (e) {
    if (e instanceof LimitReached) return goal;
    throw e;
  }
}

/** Whether the two sides of every result are the same node, so that no solver is needed. */
export const same = (goal: Goal): boolean => goal.results.every((r) => r.left === r.right);

class Simplifier extends Normal {
  private readonly goal: Goal;
  private readonly inputs: Input[];

  constructor(goal: Goal) {
    super(MOST_NODES);
    this.goal = goal;
    this.inputs = [...goal.inputs];
  }

  run(): Goal {
    const { goal } = this;
    const known = this.narrowed();
    const at: number[] = [];
    for (const n of goal.nodes)
      at.push(
        n.op === 'src'
          ? (known.get(n.n) ?? this.table.intern(n))
          : this.make(
              n,
              n.args.map((a) => at[a]),
            ),
      );
    return prune(
      this.table.nodes,
      this.inputs,
      goal.given.map((g) => at[g]),
      goal.results.map((r) => ({ v: r.v, left: at[r.left], right: at[r.right] })),
    );
  }

  /**
   * Inputs that the goal assumes to be the extension of their own low bits, `ext(low(k)) = k`, by number: each is replaced by the extension
   * of a narrower input.
   */
  private narrowed(): Map<number, number> {
    const { nodes, given, inputs } = this.goal;
    const out = new Map<number, number>();
    for (const g of given) {
      const eq = nodes[g];
      if (eq.op !== 'eq') continue;
      for (const [k, e] of [eq.args, [eq.args[1], eq.args[0]]]) {
        const ext = nodes[e];
        const low = nodes[ext.args[0] ?? 0];
        if (nodes[k].op !== 'src' || (ext.op !== 'zext' && ext.op !== 'sext')) continue;
        if (low.op !== 'extract' || low.n !== 0 || low.args[0] !== k || out.has(nodes[k].n)) continue;
        this.inputs.push({ ...inputs[nodes[k].n], width: low.width });
        const narrow = this.table.node('src', low.width, [], { n: this.inputs.length - 1 });
        out.set(nodes[k].n, this.make(ext, [narrow]));
      }
    }
    return out;
  }

  /** `f(c ? x : y)` as `c ? f(x) : f(y)`. */
  protected override first(n: Node, args: readonly number[]): number | null {
    if (!LIFTED.has(n.op)) return null;
    const k = args.findIndex((a) => this.at(a).op === 'ite');
    if (k < 0) return null;
    const [c, x, y] = this.at(args[k]).args;
    const put = (v: number): number =>
      this.make(
        n,
        args.map((a, i) => (i === k ? v : a)),
      );
    return this.node('ite', n.width, [c, put(x), put(y)]);
  }
}
