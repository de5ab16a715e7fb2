import { distanceOf } from '../../analysis/memory/alias.ts';
import { type Elements, loadedElements, storedElements } from '../../analysis/memory/loads-stores.ts';
import { type MemorySsa, memorySsaOf } from '../../analysis/memory/memory-ssa.ts';
import { bytesOf } from '../../ir/bytes-of.ts';
import { type Draft, edit, type Ins } from '../../ir/draft/index.ts';
import { isControl } from '../../ir/flow.ts';
import { otherwiseFor } from '../../ir/moves.ts';
import { NO_REG, type Reg, RegFile } from '../../ir/operand.ts';
import { type Fn, type Instr, instr } from '../../ir/program.ts';
import { printInstr } from '../../ir/text.ts';
import { allInSsa } from '../../ssa/registers.ts';
import type { Pass, PassContext } from '../pass.ts';
import { Places } from './places.ts';

/**
 * A load of bytes that this thread has certainly stored is replaced by the stored value.
 *
 *     before                              after
 *     BB0:                                BB0:
 *           STS [R1], R2                        STS [R1], R2
 *           STS.V2 [R1+8], {R3, R4}             STS.V2 [R1+8], {R3, R4}
 *           LDS R5, [R1]                        MOV R5, R2
 *           LDS.U8 R6, [R1+9]                   BFE.U32 R6, R3, 8, 8
 *           LDS.B64 RD7, [R1+8]                 PAIR RD7, R3, R4
 *
 * The store is the version of memory that the load sees (`memorySsaOf`): on no path is there another store, barrier, fence, atomic or
 * call in between that may matter. Addresses must be equal up to a constant, and every byte of the load must come from one store; in
 * SSA the stored register then still holds the stored value. A guarded store counts only for loads under the same guard, because
 * otherwise it may not have run. Strong operations (such as volatile ones) are neither forwarded nor replaced.
 *
 * Candidates are found by their text, before any analysis is computed: loads with the same base register or symbol as
 * some store above them in the layout, at possibly the same bytes. Value numbering and address rules make the bases
 * of equal addresses equal.
 *
 * Requires: control-last, ssa. Guarantees: ssa; blocks, edges and stores stay. A second application changes nothing,
 * because no loads are created.
 * Bound: each instruction is examined once; with candidates, the cost of `MemorySsa`.
 */
export const forwardStores: Pass = (fn, ctx) => {
  const loads = candidates(fn);
  if (loads.length === 0) return fn;
  const memory = memorySsaOf(fn, ctx.program);
  return edit(fn, (d) => {
    for (const n of loads) forward(d, n, memory, ctx);
  });
};

/** Numbers of loads below a store that might have written what they read, judged by their text. */
function candidates(fn: Fn): number[] {
  const stored = new Places();
  const out: number[] = [];
  let n = 0;
  for (const { ins } of fn.blocks)
    for (const x of ins) {
      if (x.op.accesses.length > 0 && !isControl(x)) {
        if (storedElements(x) !== null) stored.add(x);
        else if (!stored.isEmpty && stored.mayHold(x) && loadedElements(x) !== null && allInSsa(x))
          out.push(n);
      }
      n++;
    }
  return out;
}

function forward(d: Draft, n: Ins, memory: MemorySsa, ctx: PassContext): void {
  const { accesses } = memory;
  const w = memory.writerOf(memory.versionSeenBy(n));
  if (w < 0) return;
  const load = d.at(n);
  const store = accesses.du.ins[w];
  const to = loadedElements(load)!;
  const from = storedElements(store);
  if (from === null || !allInSsa(store)) return;
  if (store.guard !== NO_REG && (store.guard !== load.guard || store.guardNot !== load.guardNot)) return;
  const at = distanceOf(accesses, accesses.firstRow[w], accesses.firstRow[n]);
  if (at === null) return;
  const list: Instr[] = [];
  for (let k = 0; k < load.dst.length; k++) {
    const r = load.dst[k];
    const part = r === NO_REG ? [] : elementOf(d, ctx, r, store, from, at + k * to.bytes, to, load);
    if (part === null) return;
    list.push(...part);
  }
  if (!ctx.mayRewrite('forwarded', d.id(d.block(n)), load)) return;
  ctx.remark('passed', 'forwarded', `${printInstr(load)}: what ${printInstr(store)} wrote`, {
    block: d.id(d.block(n)),
    ins: load,
  });
  d.replaceBy(n, list);
}

/**
 * Instructions that compute into `r` one element of a load from the stored values; null if it does not lie within one stored element,
 * or within two 32-bit ones that form a 64-bit element.
 */
function elementOf(
  d: Draft,
  { isa }: PassContext,
  r: Reg,
  store: Instr,
  from: Elements,
  at: number,
  { bytes, signed }: Elements,
  load: Instr,
): Instr[] | null {
  if (at < 0 || at + bytes > from.bytes * from.count) return null;
  const first = Math.floor(at / from.bytes);
  const inside = at - first * from.bytes;
  const value = store.src[1 + first];
  if (inside + bytes <= from.bytes)
    return bytesOf(isa, r, value, from.bytes, inside, bytes, signed, load, () => d.freshReg(RegFile.R));
  if (bytes !== 8 || from.bytes !== 4 || inside !== 0) return null;
  const { loc, guard, guardNot } = load;
  const pair = isa.byName.get('PAIR')!;
  return [instr(pair, 0, [r], [value, store.src[2 + first]], loc, guard, guardNot, otherwiseFor(load, [r]))];
}
