import type { BlockNo, Draft } from '../../ir/draft/index.ts';
import { isPredReg, NO_REG, type Reg } from '../../ir/operand.ts';
import { dominatorWalk } from '../flow/dominator-walk.ts';
import { type ConditionKey, ConditionKeys } from './condition-keys.ts';

/** Maximum number of facts searched backwards for a register with several definitions. */
const MOST_STEPS = 64;

/**
 * A list of facts about registers with several definitions at some place; a null value: the register was written, so nothing is known.
 */
interface Fact {
  readonly key: string;
  readonly value: boolean | null;
  readonly before: Fact | null;
}

/** The known values of predicates at the end of a block, or on one of its outgoing edges. */
export class Known {
  private readonly conditions: Conditions;
  private readonly block: BlockNo;
  private readonly flow: Fact | null;

  constructor(conditions: Conditions, block: BlockNo, flow: Fact | null) {
    this.conditions = conditions;
    this.block = block;
    this.flow = flow;
  }

  /** Its value at the end of the block; null if it is not known. */
  atEnd(r: Reg): boolean | null {
    return this.conditions.valueFor(this.conditions.keys.of(r), this.flow);
  }

  /** Its value if control has taken the edge to `to`. */
  onEdge(to: BlockNo, r: Reg): boolean | null {
    const { keys, d } = this.conditions;
    const k = keys.of(r);
    const implied = impliedByEdge(d, this.block, to);
    const same =
      implied !== null && keys.of(implied.reg).key === k.key && keys.of(implied.reg).stays === k.stays;
    return same
      ? (implied.value !== keys.of(implied.reg).not) !== k.not
      : this.conditions.valueFor(k, this.flow);
  }

  /** Does a fact about it also hold after its definition, because it has a single value? */
  stays(r: Reg): boolean {
    return this.conditions.keys.of(r).stays;
  }
}

/**
 * Visits the reachable blocks, parents in the dominator tree first, with the facts that the branches above establish: on the edge that
 * a branch takes if P is true, P is true, and so is every condition equal to it (`ConditionKeys`).
 *
 * A register with a single value keeps the fact below that edge, on every path. One with several definitions keeps it until it is
 * written, along blocks with one predecessor each. The draft must not be edited during the walk.
 */
export function walkConditions(d: Draft, visit: (b: BlockNo, known: Known) => void): void {
  const conditions = new Conditions(d);
  dominatorWalk(
    d,
    (b) => visit(b, conditions.enter(b)),
    () => conditions.leave(),
  );
}

/** The facts on the current path down the dominator tree. */
class Conditions {
  readonly d: Draft;
  readonly keys: ConditionKeys;
  private readonly values = new Map<string, boolean[]>();
  private readonly scopes: string[][] = [];
  private readonly facts: (Fact | null)[] = [];

  constructor(d: Draft) {
    this.d = d;
    this.keys = new ConditionKeys(d.fn);
  }

  enter(b: BlockNo): Known {
    const { d, keys, facts } = this;
    const scope: string[] = [];
    this.scopes.push(scope);
    let flow: Fact | null = null;
    const [from, other] = d.predecessors(b);
    if (from !== undefined && other === undefined && b !== d.entryBlock) {
      flow = facts[from] ?? null;
      const implied = impliedByEdge(d, from, b);
      if (implied !== null) {
        const k = keys.of(implied.reg);
        if (!k.stays) flow = { key: k.key, value: implied.value !== k.not, before: flow };
        else {
          const list = this.values.get(k.key) ?? [];
          this.values.set(k.key, list);
          list.push(implied.value !== k.not);
          scope.push(k.key);
        }
      }
    }
    if (flow !== null)
      for (let n = d.first(b); n >= 0; n = d.next(n))
        for (const r of d.at(n).dst)
          if (isPredReg(r) && !keys.of(r).stays) flow = { key: keys.of(r).key, value: null, before: flow };
    facts[b] = flow;
    return new Known(this, b, flow);
  }

  /** Leaves the most recently entered block that has not been left. */
  leave(): void {
    for (const key of this.scopes.pop()!) this.values.get(key)!.pop();
  }

  valueFor(k: ConditionKey, flow: Fact | null): boolean | null {
    if (k.stays) {
      const list = this.values.get(k.key);
      return list === undefined || list.length === 0 ? null : list[list.length - 1] !== k.not;
    }
    let steps = 0;
    for (let f = flow; f !== null && steps < MOST_STEPS; f = f.before, steps++)
      if (f.key === k.key) return f.value === null ? null : f.value !== k.not;
    return null;
  }
}

/**
 * The guard of a block's terminator, and its value on the edge to `to`; null unless exactly one such edge leads
 * there.
 */
function impliedByEdge(
  d: Draft,
  from: BlockNo,
  to: BlockNo,
): { readonly reg: Reg; readonly value: boolean } | null {
  const n = d.terminator(from);
  if (n < 0 || d.at(n).guard === NO_REG) return null;
  const { guard, guardNot, op, dst } = d.at(n);
  if (op.primitive === 'call' || op.primitive === 'branch-table' || dst.length > 0) return null;
  const ways = d.edges(from);
  if (ways.filter((w) => w === to).length !== 1) return null;
  const runs = to !== d.fall(from);
  return { reg: guard, value: runs !== guardNot };
}
