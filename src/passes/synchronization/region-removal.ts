import { cfgOf, terminator } from '../../analysis/flow/cfg.ts';
import { divergenceOf } from '../../analysis/uniformity/divergence.ts';
import type { Draft } from '../../ir/draft/index.ts';
import { endsFlow } from '../../ir/flow.ts';
import { Lanes } from '../../ir/opcode.ts';
import { Kind, NO_REG, type Reg } from '../../ir/operand.ts';
import type { Fn, Instr } from '../../ir/program.ts';
import { printInstr } from '../../ir/text.ts';
import type { PassContext } from '../pass.ts';

/** Larger regions stay: regions that earlier phases have made smaller end within a few branches. */
const MOST_BLOCKS = 64;

/** Does the function use convergence barriers? */
export const hasRegions = (fn: Fn): boolean =>
  fn.blocks.some((b) => b.ins.some((x) => x.op.primitive === 'convergence'));

interface User {
  readonly block: number;
  readonly ins: Instr;
}

/** Removes from a draft of `fn` the convergence regions in which no branch makes lanes diverge, since lanes in them arrived together. */
export function dropFrom(d: Draft, fn: Fn, ctx: PassContext): void {
  for (const list of regionsOf(fn)) {
    const [{ block, ins }] = list;
    const why = divergenceAt(fn, list);
    if (why !== null) {
      ctx.remark('missed', 'sync-kept', `${printInstr(ins)}: ${why}`, { block, ins });
      continue;
    }
    if (!ctx.mayRewrite('sync-dropped', block, ins)) return;
    ctx.remark('passed', 'sync-dropped', `${printInstr(ins)}: no branch in its region is divergent`, {
      block,
      ins,
    });
    for (const u of list) {
      const b = d.blockById(u.block);
      for (let n = d.first(b); n >= 0; n = d.next(n))
        if (d.at(n) === u.ins) {
          d.remove(n);
          break;
        }
    }
  }
}

/** Users of barriers, grouped by region. Several regions of one register are distinguished by the block where they meet. */
function regionsOf(fn: Fn): User[][] {
  const users = new Map<Reg, User[]>();
  for (const b of fn.blocks)
    for (const x of b.ins) {
      if (x.op.primitive !== 'convergence') continue;
      const r = x.dst[0] ?? x.src.find((o) => o.kind === Kind.Reg)?.reg ?? NO_REG;
      if (!users.has(r)) users.set(r, []);
      users.get(r)!.push({ block: b.id, ins: x });
    }
  return [...users.values()].flatMap((list) => {
    if (list.length <= 2) return [list];
    const byMeeting = new Map<number, User[]>();
    for (const u of list) {
      const at = u.ins.src.find((o) => o.kind === Kind.Label)?.lo ?? u.block;
      if (!byMeeting.has(at)) byMeeting.set(at, []);
      byMeeting.get(at)!.push(u);
    }
    return [...byMeeting.values()];
  });
}

/** Why lanes may diverge before the meeting point of a barrier; null if they do not. */
function divergenceAt(fn: Fn, users: readonly User[]): string | null {
  const sets = users.filter((u) => u.ins.dst.length > 0);
  if (users.some((u) => u.ins.guard !== NO_REG)) return 'only some lanes execute it';
  if (sets.length === 0 || users.length !== sets.length + 1) return 'it is not set once and awaited once';
  const wait = users.find((u) => u.ins.dst.length === 0)!;
  for (const set of sets) {
    const why = divergenceFrom(fn, set, wait);
    if (why !== null) return why;
  }
  return null;
}

/** The same for one instruction that sets the barrier. */
function divergenceFrom(fn: Fn, set: User, wait: User): string | null {
  const { positionOf, succStart, succ } = cfgOf(fn);
  const { branch } = divergenceOf(fn);
  const [first, stop] = [positionOf[set.block], positionOf[wait.block]];
  if (first === stop)
    return first >= 0 && fn.blocks[first].ins.indexOf(set.ins) < fn.blocks[first].ins.indexOf(wait.ins)
      ? null
      : 'it is awaited before it is set';
  const visited = new Set([first]);
  for (const b of visited) {
    if (visited.size > MOST_BLOCKS) return `its region has more than ${MOST_BLOCKS} blocks`;
    if (branch[b] === Lanes.Varying) return `lanes diverge at BB${fn.blocks[b].id}`;
    const x = terminator(fn.blocks[b]);
    if (x !== null && succStart[b] === succStart[b + 1] && endsFlow(x))
      return `threads end in BB${fn.blocks[b].id}`;
    for (let e = succStart[b]; e < succStart[b + 1]; e++) if (succ[e] !== stop) visited.add(succ[e]);
  }
  return null;
}
