import { cfgOf, terminator } from '../analysis/cfg.ts';
import { divergenceOf } from '../analysis/divergence.ts';
import { type Draft, edit } from '../ir/draft/index.ts';
import { withModsOf } from '../ir/edit.ts';
import { endsFlow, isControl } from '../ir/flow.ts';
import { hasMod, Lanes, withMods } from '../ir/opcode.ts';
import { Kind, NO_REG, type Reg } from '../ir/operand.ts';
import type { Fn, Instr } from '../ir/program.ts';
import { printInstr } from '../ir/text.ts';
import type { Pass, PassContext } from './pass.ts';

/**
 * Phase DoSwitchOptFirst: what each target does with branches before they are simplified, by slot 136 of its back end.
 *
 *     before                              after
 *     BB0:                                BB0:
 *           BSSY B4, BB2                      @P3 BRA.U BB2
 *       @P3 BRA BB2                       BB1:
 *     BB1:                                      STG [RD1], R2
 *           STG [RD1], R2                 BB2:
 *     BB2:                                      EXIT
 *           BSYNC B4
 *           EXIT
 *
 * `sync-restructuring` (seed 003, handler A) looks at two things:
 * - A region between BSSY and its BSYNC in which no branch parts the lanes of a warp needs no meeting point: who is there came together.
 *   Knob 232 leaves all regions alone.
 * - A conditional branch on which the lanes of a warp agree is marked as uniform (with `uniform`); knob 351 bounds how many.
 *
 * `branch-distance` (handler B) reports how far branches go. The short encodings that the original chooses by it have no form in Ori.
 *
 * Requires: control-last. Guarantees: the same blocks and edges; equivalence. A second application changes nothing.
 * Bound: each region once, and each block as often as regions contain it, of which at most `MOST_BLOCKS` are looked at.
 */
export const targetBranches: Pass = (fn, ctx) => {
  switch (ctx.fact('slots.136')) {
    case 'sync-restructuring':
      return restructure(fn, ctx);
    case 'branch-distance':
      measure(fn, ctx);
      return fn;
    default:
      return fn;
  }
};

/** Regions with more blocks stay as they are: PTX has none, and those of other input end within a few branches. */
const MOST_BLOCKS = 64;

function restructure(fn: Fn, ctx: PassContext): Fn {
  const regions =
    ctx.knob('Knob232') === null &&
    fn.blocks.some((b) => b.ins.some((x) => x.op.primitive === 'convergence'));
  const marks = ctx.params.uniform === true && fn.blocks.some((b) => mayMark(terminator(b)));
  if (!regions && !marks) return fn;
  return edit(
    fn,
    (d) => {
      if (regions) dropRegions(d, fn, ctx);
      if (!marks) return;
      const { branch } = divergenceOf(fn);
      for (const [at, block] of fn.blocks.entries()) {
        const x = terminator(block);
        if (!mayMark(x) || branch[at] === Lanes.Varying) continue;
        if (!ctx.budget('Knob351') || !ctx.mayRewrite('branch-uniform', block.id, x)) return;
        ctx.remark('passed', 'branch-uniform', `${printInstr(x)}: the lanes of a warp agree`, {
          block: block.id,
          ins: x,
        });
        d.replace(d.terminator(d.blockById(block.id)), withModsOf(x, withMods(x.op, x.mods, 'U')));
      }
    },
    ctx.isa,
  );
}

/** Is it a branch that lanes choose by a predicate or an index, not marked as uniform? */
const mayMark = (x: Instr | null): x is Instr =>
  x !== null &&
  (x.op.primitive === 'branch-table' || (x.op.primitive === 'branch' && x.guard !== NO_REG)) &&
  !hasMod(x.op, x.mods, 'U');

/** Removes barriers of convergence where all who set one come to it together. */
function dropRegions(d: Draft, fn: Fn, ctx: PassContext): void {
  const users = new Map<Reg, { readonly block: number; readonly ins: Instr }[]>();
  for (const b of fn.blocks)
    for (const x of b.ins) {
      if (x.op.primitive !== 'convergence') continue;
      const r = x.dst[0] ?? x.src.find((o) => o.kind === Kind.Reg)?.reg ?? NO_REG;
      if (!users.has(r)) users.set(r, []);
      users.get(r)!.push({ block: b.id, ins: x });
    }
  for (const list of users.values()) {
    const [{ block, ins }] = list;
    const why = partsAt(fn, list);
    if (why !== null) {
      ctx.remark('missed', 'sync-kept', `${printInstr(ins)}: ${why}`, { block, ins });
      continue;
    }
    if (!ctx.mayRewrite('sync-dropped', block, ins)) return;
    ctx.remark('passed', 'sync-dropped', `${printInstr(ins)}: no branch of its region parts lanes`, {
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

/** Why lanes may come apart to the meeting point of a barrier; null if they do not. */
function partsAt(fn: Fn, users: readonly { readonly block: number; readonly ins: Instr }[]): string | null {
  const sets = users.filter((u) => u.ins.dst.length > 0);
  if (users.some((u) => u.ins.guard !== NO_REG)) return 'some lanes alone use it';
  if (sets.length !== 1 || users.length !== 2) return 'it is not set once and awaited once';
  const [set] = sets;
  const wait = users.find((u) => u !== set)!;
  const { positionOf, succStart, succ } = cfgOf(fn);
  const { branch } = divergenceOf(fn);
  const [first, stop] = [positionOf[set.block], positionOf[wait.block]];
  if (first === stop)
    return first >= 0 && fn.blocks[first].ins.indexOf(set.ins) < fn.blocks[first].ins.indexOf(wait.ins)
      ? null
      : 'it is awaited before it is set';
  const seen = new Set([first]);
  for (const b of seen) {
    if (seen.size > MOST_BLOCKS) return `its region has more than ${MOST_BLOCKS} blocks`;
    if (branch[b] === Lanes.Varying) return `BB${fn.blocks[b].id} parts lanes`;
    const x = terminator(fn.blocks[b]);
    if (x !== null && succStart[b] === succStart[b + 1] && endsFlow(x))
      return `threads end in BB${fn.blocks[b].id}`;
    for (let e = succStart[b]; e < succStart[b + 1]; e++) if (succ[e] !== stop) seen.add(succ[e]);
  }
  return null;
}

/** Reports how far jumps go, if every instruction takes what the target's encoding says. */
function measure(fn: Fn, ctx: PassContext): void {
  ctx.report(() => {
    const bytes = Number(ctx.fact('encoding.instruction-bytes'));
    const start = new Map<number, number>();
    let at = 0;
    for (const b of fn.blocks) {
      start.set(b.id, at);
      at += bytes * b.ins.length;
    }
    const far: number[] = [];
    at = 0;
    for (const b of fn.blocks)
      for (const x of b.ins) {
        at += bytes;
        if (!isControl(x)) continue;
        for (const o of x.src) {
          if (o.kind === Kind.Label) far.push(Math.abs(start.get(o.lo)! - at));
          else if (o.kind === Kind.Table)
            for (const id of fn.tables[o.lo]) far.push(Math.abs(start.get(id)! - at));
        }
      }
    far.sort((a, b) => a - b);
    if (far.length === 0) return '# no branches';
    return `# ${far.length} branches, to targets ${far[0]} to ${far.at(-1)} bytes away, half of them within ${far[far.length >> 1]}`;
  });
}
