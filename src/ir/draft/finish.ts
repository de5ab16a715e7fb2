import { copyFn, withDeclarations, withGuard, withSource } from '../edit.ts';
import { Kind, NO_REG, type Reg } from '../operand.ts';
import type { Block, Fn, Instr, Param } from '../program.ts';
import type { Draft } from './draft.ts';
import type { BlockNo } from './instruction-list.ts';

/**
 * Builds the function from a draft. If the fall-through of a block does not follow it in the layout, a branch is inserted:
 * at the end of the block, or, if that ends in a guarded branch, in a new block, unless inverting the guard suffices.
 */
export function finish(d: Draft): Fn {
  const { fn } = d;
  if (d.shapeVersion > 0) layOut(d);
  const blocks: Block[] = [];
  for (let b = d.entryBlock; b >= 0; b = d.below(b)) {
    const old = b < fn.blocks.length ? fn.blocks[b] : null;
    blocks.push(old !== null && !d.isTouched(b) ? old : blockOf(d, b, old));
  }
  const { regs, blocks: blockCount } = d.counters;
  const same = d.shapeVersion === 0;
  const out = copyFn(
    fn,
    blocks,
    regs,
    blockCount,
    same ? d.tables() : usedTables(d),
    same ? fn.shape : undefined,
  );
  const plain = d.pragmas === fn.attrs.pragmas && d.renamed.params === null && d.renamed.returns === null;
  if (plain) return isUnchanged(fn, out) ? fn : out;
  const { directives, linkage, noreturn, counts } = fn.attrs;
  return withDeclarations(
    out,
    out.variables,
    { directives, pragmas: d.pragmas, linkage, noreturn, counts },
    renamed(fn.params, d.renamed.params),
    renamed(fn.returns, d.renamed.returns),
  );
}

/** Jump tables. Unused ones are emptied, and dropped if no used one follows. */
function usedTables(d: Draft): Fn['tables'] {
  const tables = d.tables();
  if (tables.every((ids, t) => ids.length === 0 || d.tableUses(t) > 0)) return tables;
  const out = tables.map((ids, t) => (d.tableUses(t) > 0 ? ids : []));
  while (out.length > 0 && d.tableUses(out.length - 1) === 0) out.pop();
  return out;
}

const renamed = (params: readonly Param[], regs: readonly Reg[] | null): readonly Param[] =>
  regs === null ? params : params.map((p, i) => (p.reg === regs[i] ? p : { ...p, reg: regs[i] }));

function blockOf(d: Draft, b: BlockNo, old: Block | null): Block {
  const ins: Instr[] = [];
  let same = old !== null;
  for (let n = d.first(b); n >= 0; n = d.next(n)) {
    const x = d.at(n);
    if (same && old!.ins[ins.length] !== x) same = false;
    ins.push(x);
  }
  if (same && old!.ins.length === ins.length) return old!;
  return { id: d.id(b), name: d.name(b), ins };
}

const isUnchanged = (fn: Fn, out: Fn): boolean =>
  out.regCount === fn.regCount &&
  out.tables === fn.tables &&
  out.blocks.length === fn.blocks.length &&
  out.blocks.every((b, i) => b === fn.blocks[i]);

/** Inserts the branches that the layout requires. */
function layOut(d: Draft): void {
  for (let b = d.entryBlock; b >= 0; b = d.below(b)) {
    const to = d.fall(b);
    const next = d.below(b);
    if (to < 0 || to === next) continue;
    const t = d.terminator(b);
    if (t < 0) {
      d.setTerminator(b, d.branchTo(to), -1);
      continue;
    }
    const x = d.at(t);
    const target = x.src[0];
    const invertible =
      x.op.primitive === 'branch' && x.guard !== NO_REG && target.kind === Kind.Label && next >= 0;
    if (invertible && target.lo === d.id(next)) {
      d.setTerminator(b, withSource(withGuard(x, x.guard, !x.guardNot), 0, d.labelOf(to)), next);
      continue;
    }
    const bridge = d.newBlock(b, to);
    for (const phi of d.phis(to)) {
      const value = d.incoming(phi, b);
      if (value !== null) d.setIncoming(phi, bridge, value);
    }
    d.setFall(b, bridge);
    d.setTerminator(bridge, d.branchTo(to, x.loc), -1);
  }
}
