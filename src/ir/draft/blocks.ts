import { endsFlow, isControl } from '../flow.ts';
import { Kind, NO_REG, type Operand, reg, regFile, sameOperand } from '../operand.ts';
import { instr } from '../program.ts';
import { type Draft, isPlain } from './draft.ts';
import type { BlockNo } from './instruction-list.ts';
import { namesBlock } from './instructions.ts';

/*
 * Edits of the flow graph that involve several blocks. Phis stay correct: each has one operand for each distinct
 * predecessor.
 */

/**
 * Inserts a new block in front of `target` through which all edges from `from` then go. If phis of `target` take
 * different values from several of these, phis of the new block join them.
 *
 * @param from predecessors of `target`, such as those of a loop header from outside the loop
 * @returns the new block, which falls through to `target`
 */
export function splitPredecessors(d: Draft, target: BlockNo, from: readonly BlockNo[]): BlockNo {
  const entry = target === d.entryBlock;
  const b = d.newBlock(entry ? -1 : placeFor(d, target, from), target);
  for (const phi of d.phis(target)) d.setIncoming(phi, b, joined(d, b, phi, from));
  for (const p of from) d.redirect(p, target, b);
  return b;
}

/** A position in the layout that adds no branch: above the target, unless a block that keeps its edge falls through there. */
function placeFor(d: Draft, target: BlockNo, from: readonly BlockNo[]): BlockNo {
  const above = d.above(target);
  if (above >= 0 && (d.fall(above) !== target || from.includes(above))) return above;
  for (const p of from) if (p !== above && d.fall(p) === target) return p;
  for (const p of from) if (d.fall(p) < 0) return p;
  return d.lastBlock;
}

/** The operand of `phi` for the new block `b`, which replaces the predecessors `from`; a new phi in `b` if their values differ. */
function joined(d: Draft, b: BlockNo, phi: number, from: readonly BlockNo[]): Operand | null {
  const x = d.at(phi);
  const operands: Operand[] = [];
  let first: Operand | null = null;
  let same = true;
  for (const p of from) {
    const value = d.incoming(phi, p);
    if (value === null) continue;
    operands.push(d.labelOf(p), value);
    if (first === null) first = value;
    else if (!sameOperand(value, first)) same = false;
  }
  if (same || first === null) return first;
  const r = d.freshReg(regFile(x.dst[0]));
  d.insertAtStart(b, instr(x.op, x.mods, [r], operands, x.loc));
  return reg(r);
}

/**
 * Inserts a new block on one edge (its index in `d.edges(from)`).
 * @returns the new block
 */
export function splitEdge(d: Draft, from: BlockNo, edge: number): BlockNo {
  const target = d.edges(from)[edge];
  const falls = d.fall(from) === target && edge === d.edges(from).length - 1;
  const b = d.newBlock(falls ? from : placeFor(d, target, [from]), target);
  for (const phi of d.phis(target)) d.setIncoming(phi, b, d.incoming(phi, from));
  d.redirectEdge(from, edge, b);
  return b;
}

/**
 * Blocks that control can reach from the entry. Labels of instructions that do not jump (the meeting point of BSSY)
 * count as reached, because the instruction needs them.
 * @returns 1 by block number
 */
export function reachable(d: Draft): Uint8Array {
  const reached = new Uint8Array(d.blockNumbers);
  if (d.entryBlock < 0) return reached;
  const stack = [d.entryBlock];
  reached[d.entryBlock] = 1;
  const visit = (b: BlockNo): void => {
    if (b < 0 || reached[b] === 1) return;
    reached[b] = 1;
    stack.push(b);
  };
  while (stack.length > 0) {
    const b = stack.pop()!;
    for (const s of d.successors(b)) visit(s);
    eachPinnedLabel(d, b, visit);
  }
  return reached;
}

/**
 * Visits the blocks that are named in a block without being successors: by instructions that are neither jumps nor phis,
 * and by jumps after an unguarded jump.
 */
function eachPinnedLabel(d: Draft, b: BlockNo, visit: (b: BlockNo) => void): void {
  let over = false;
  for (let n = d.first(b); n >= 0; n = d.next(n)) {
    const x = d.at(n);
    if ((over && isControl(x)) || namesBlock(x))
      for (const o of x.src) {
        if (o.kind === Kind.Label) visit(d.blockById(o.lo));
        else if (o.kind === Kind.Table) for (const id of d.tables()[o.lo]) visit(d.blockById(id));
      }
    if (endsFlow(x)) over = true;
  }
}

/** Blocks that must stay even if no edge leads to them: those that `eachPinnedLabel` visits. */
export function pinnedBlocks(d: Draft): Set<BlockNo> {
  const pinned = new Set<BlockNo>();
  for (const b of d.layout()) eachPinnedLabel(d, b, (pin) => pinned.add(pin));
  return pinned;
}

/**
 * Erases every unreachable block.
 * @param onErase called with each block before it is erased
 * @returns the number of erased blocks
 */
export function removeUnreachable(d: Draft, onErase: (b: BlockNo) => void = () => {}): number {
  const reached = reachable(d);
  const gone: BlockNo[] = [];
  for (let b = d.entryBlock; b >= 0; b = d.below(b)) if (reached[b] === 0) gone.push(b);
  // Each phi loses all its operands at once, so that a wide one is not scanned for each of them.
  const joins = new Set<BlockNo>();
  for (const b of gone) for (const s of d.successors(b)) if (reached[s] === 1) joins.add(s);
  for (const b of joins) d.dropIncoming(b, (from) => reached[from] === 0);
  for (const b of gone) {
    onErase(b);
    d.eraseBlock(b);
  }
  simplifyPhis(d, joins);
  return gone.length;
}

/** Replaces phis with a single operand by the value itself, if that is a register. */
function simplifyPhis(d: Draft, blocks: Iterable<BlockNo>): void {
  for (const b of blocks)
    for (const phi of d.phis(b)) {
      const { dst, src } = d.at(phi);
      if (src.length !== 2 || !isPlain(src[1]) || src[1].reg === dst[0] || dst[0] === NO_REG) continue;
      d.replaceUses(dst[0], src[1].reg);
      d.remove(phi);
    }
}
