import { isControl } from '../analysis/cfg.ts';
import { hasConstantPredicates, knownPredicate } from '../analysis/known-predicates.ts';
import { WorkList } from '../analysis/worklist.ts';
import { withGuard, withSource } from '../ir/edit.ts';
import { Kind, label, NO_REG } from '../ir/operand.ts';
import { type Fn, type Instr, instr } from '../ir/program.ts';
import { controlIsLast, FlowDraft } from './flow-draft.ts';
import type { Pass, PassContext } from './pass.ts';

/** Knob 464: each rewrite takes one unit; unset means no limit (seed 003, reference knobs). */
const BUDGET = 'MergeEquivalentConditionalFlowBudget';

/**
 * Phase 15, OriBranchOpt: simplifies branches, and removes the blocks that this leaves without a way in.
 *
 *     before                     after
 *     BB0:                       BB0:
 *       @P1 BRA BB2                @P1 BRA BB4
 *     BB1:                       BB1:
 *           IADD3 R2, R2, 1            IADD3 R2, R2, 1
 *           BRA BB3              BB3:
 *     BB2:                             STG [RD3], R2
 *           BRA BB4              BB4:
 *     BB3:                             EXIT
 *           STG [RD3], R2
 *     BB4:
 *           EXIT
 *
 * Four rewrites (seeds 000 and 003):
 * 1. folding: a branch to where control goes anyway is removed;
 * 2. unreachable blocks go, one after the other as each loses its last edge, and whole rings of them at the end;
 * 3. conditions: a guard whose value is known is dropped, or its branch is; a branch whose ways all lead to one block
 *    needs no condition; a table with one target, or a known index, becomes a branch;
 * 4. threading: a branch to a block that only passes control on goes straight to where control ends up; so do the
 *    entries of jump tables.
 *
 * Order: the blocks in reverse post-order, each until nothing matches any more. Seed 003 goes once over the blocks and
 * leaves what a rewrite opens up behind it to later phases; seed 000 repeats until nothing changes. Here a rewrite
 * reopens just the blocks whose match it may change, so the fixed point costs no second sweep.
 *
 * Knobs: 464 is taken for each rewrite and stops all when it is spent. 214 (off) and 487 (general budget, one unit a
 * run) are the phase's gate in `phases.yaml`.
 *
 * Requires: control-last. Guarantees: control-last; every block is reachable or named by a convergence label; no
 * executed path gets longer. Endless loops stay endless. Two-block merging is left to later phases.
 * Bound: each rewrite removes an instruction, a guard or a detour; each block is reopened once for each of these.
 */
export const branchOpt: Pass = (fn, ctx) => {
  if (!controlIsLast(fn)) {
    ctx.remark('missed', 'control-not-last', 'control stands in the middle of a block: run phase 6 first');
    return fn;
  }
  // A predicate may become certain when another definition is erased, or the way around its only one: hence the
  // repetition, which is taken only where some definition is constant at all.
  for (let now = fn; ; ) {
    const r = simplify(now, ctx);
    if (!r.again) return r.fn;
    now = r.fn;
  }
};

type Rewrite =
  | { readonly kind: 'terminator'; readonly with: Instr | null; readonly name: string; readonly why: string }
  | { readonly kind: 'table'; readonly table: number; readonly entries: readonly number[] };

function simplify(fn: Fn, ctx: PassContext): { fn: Fn; again: boolean } {
  const work = new WorkList(fn.blocks.length);
  const draft = new FlowDraft(
    fn,
    (b) => work.push(b),
    (b) => {
      const { ins, id } = fn.blocks[b];
      ctx.remark('passed', 'unreachable-removed', `BB${id} (${ins.length} instructions) cannot be reached`, {
        block: id,
      });
    },
  );
  for (const b of draft.cfg.rpo) work.push(b);
  for (let b = 0; b < fn.blocks.length; b++) work.push(b);

  let spent = false;
  let rewritten = false;
  do {
    for (let b = work.pop(); b >= 0; b = work.pop()) {
      while (!spent && draft.isAlive(b)) {
        const r = match(draft, b, ctx);
        if (r === null) break;
        if (!ctx.budget(BUDGET)) {
          spent = true;
          ctx.remark(
            'missed',
            'budget-spent',
            `${BUDGET} is spent: branches from BB${fn.blocks[b].id} on stay`,
          );
          break;
        }
        rewritten = true;
        apply(draft, b, r, ctx);
      }
    }
  } while (rewritten && draft.eraseUnreachable());
  const out = draft.finish();
  return { fn: out, again: out !== fn && !spent && hasConstantPredicates(out) };
}

/** What can be simplified at the end of a block, or null. */
function match(draft: FlowDraft, b: number, ctx: PassContext): Rewrite | null {
  const t = draft.terminator(b);
  if (t === null) return null;
  if (t.guard !== NO_REG) {
    const value = knownPredicate(draft.fn, t.guard, b);
    if (value >= 0) {
      const runs = (value === 1) !== t.guardNot;
      return {
        kind: 'terminator',
        with: runs ? withGuard(t, NO_REG) : null,
        name: 'condition-known',
        why: `the guard is always ${value === 1 ? 'true' : 'false'}`,
      };
    }
  }
  if (t.op.primitive === 'branch') return matchBranch(draft, b, t);
  if (t.op.primitive === 'branch-table') return matchTable(draft, t, ctx);
  return null;
}

function matchBranch(draft: FlowDraft, b: number, t: Instr): Rewrite | null {
  const at = draft.position(t.src[0].lo);
  const to = draft.target(at);
  // A block that spins on itself keeps its branch: falling through into the ring would only lengthen it.
  if (draft.fallsTo(b, to))
    return t.guard === NO_REG
      ? { kind: 'terminator', with: null, name: 'branch-folded', why: 'its target comes next anyway' }
      : { kind: 'terminator', with: null, name: 'targets-equal', why: 'both ways lead to the same block' };
  if (to === at) return null;
  const id = draft.fn.blocks[to].id;
  return {
    kind: 'terminator',
    with: withSource(t, 0, label(id)),
    name: 'branch-threaded',
    why: `BB${t.src[0].lo} only leads on to BB${id}`,
  };
}

function matchTable(draft: FlowDraft, t: Instr, ctx: PassContext): Rewrite | null {
  const index = t.src[0];
  const table = t.src[1].lo;
  const entries = draft.tables[table];
  if (entries.length === 0) return null;
  const targets = entries.map((e) => draft.target(e));
  const known =
    index.kind === Kind.Imm && index.lo >= 0 && index.lo < targets.length ? targets[index.lo] : -1;
  const only = targets.every((e) => e === targets[0]) ? targets[0] : -1;
  const to = known >= 0 ? known : only;
  const bra = ctx.isa.byName.get('BRA');
  if (to >= 0 && bra !== undefined)
    return {
      kind: 'terminator',
      with: instr(bra, 0, [], [label(draft.fn.blocks[to].id)], t.loc, t.guard, t.guardNot),
      name: 'table-to-branch',
      why: known >= 0 ? `the index is always ${index.lo}` : 'all entries lead to the same block',
    };
  return targets.some((e, i) => e !== entries[i]) ? { kind: 'table', table, entries: targets } : null;
}

function apply(draft: FlowDraft, b: number, r: Rewrite, ctx: PassContext): void {
  const { id } = draft.fn.blocks[b];
  const ins = draft.terminator(b)!;
  if (r.kind === 'table') {
    draft.replaceTable(r.table, r.entries, b);
    ctx.remark('passed', 'table-threaded', `entries of T${r.table} go straight to where control ends up`, {
      block: id,
      ins,
    });
    return;
  }
  draft.replaceTerminator(b, r.with);
  const what =
    isControl(ins) && r.with === null
      ? `${ins.op.name} of BB${id} removed`
      : `${ins.op.name} of BB${id} simplified`;
  ctx.remark('passed', r.name, `${what}: ${r.why}`, { block: id, ins });
}
