import { type Draft, edit, type Ins } from '../../ir/draft/index.ts';
import { toRegs, withDst } from '../../ir/edit.ts';
import { isControl } from '../../ir/flow.ts';
import { copyOf, type Moves, movesOf } from '../../ir/moves.ts';
import { Kind, NO_REG, type Reg, regFile } from '../../ir/operand.ts';
import type { Instr } from '../../ir/program.ts';
import { printInstr } from '../../ir/text.ts';
import { inSsa } from '../../ssa/registers.ts';
import type { Pass } from '../pass.ts';

/** Each removed copy takes one unit (reference passes-b). */
const BUDGET = 'BackCopyPropBudget';

/** Maximum number of instructions between a copy and its source's definition: a block costs at most its length times this. */
const MOST_BETWEEN = 64;

/**
 * Backward copy propagation, for the hook at phase 82, AdvancedPhaseBackPropVReg: a value that is computed only to be
 * copied is computed directly into the copy's register.
 *
 *     before                              after
 *     BB1:                                BB1:
 *           IADD3 R1, R2, 1                     IADD3 R2, R2, 1
 *           STG [RD3], R4                       STG [RD3], R4
 *           MOV R2, R1
 *
 * Blocks are walked from their last instruction to the first, so that a chain of copies disappears in one walk. The
 * copied register has a single, unguarded definition, in the same block, and no other reader; in between, nothing
 * reads or writes the copy's target register. Leaving SSA produces such copies for loop-carried values.
 *
 * Knob BackCopyPropBudget counts the removed copies. The hook is empty unless a recipe fills it, as in the original.
 *
 * Requires: control-last, phi-free. Guarantees: phi-free; blocks and edges stay. A second application changes nothing.
 * Bound: at most 64 instructions are examined for each copy.
 */
export const backCopyPropagation: Pass = (fn, ctx) => {
  const moves = movesOf(ctx.isa);
  if (!fn.blocks.some((b) => b.ins.some((x) => isCandidate(x, moves)))) return fn;
  return edit(fn, (d) => {
    for (const b of d.layout())
      for (let n = d.last(b), next: Ins; n >= 0; n = next) {
        next = d.previous(n);
        const x = d.at(n);
        if (!isCandidate(x, moves)) continue;
        const def = definitionOf(d, n, copyOf(moves, x)!.reg, x.dst[0]);
        if (def < 0) continue;
        if (!ctx.mayRewrite('copy-propagated', d.id(b), x)) return;
        if (!ctx.budget(BUDGET)) {
          ctx.remark('missed', 'budget-spent', `${BUDGET} is spent: copies from BB${d.id(b)} on are kept`, {
            block: d.id(b),
          });
          return;
        }
        const from = copyOf(moves, x)!.reg;
        ctx.remark('passed', 'copy-propagated', `${printInstr(x)}: ${printInstr(d.at(def))} gives it`, {
          block: d.id(b),
          ins: x,
        });
        d.remove(n);
        d.replace(
          def,
          withDst(
            d.at(def),
            toRegs(d.at(def).dst, (r) => (r === from ? x.dst[0] : r)),
          ),
        );
      }
  });
};

/** Is it a copy of one register into another of the same file? */
function isCandidate(x: Instr, moves: Moves): boolean {
  if (x.guard !== NO_REG) return false;
  const o = copyOf(moves, x);
  return (
    o?.kind === Kind.Reg &&
    o.mods === 0 &&
    inSsa(o.reg) &&
    o.reg !== x.dst[0] &&
    regFile(o.reg) === regFile(x.dst[0])
  );
}

/** The only definition of the copied register, if it may define `to` instead; -1 if there is none. */
function definitionOf(d: Draft, copy: Ins, from: Reg, to: Reg): Ins {
  const def = d.def(from);
  if (def < 0 || d.block(def) !== d.block(copy) || d.useCount(from) !== 1 || d.isReturned(from)) return -1;
  const x = d.at(def);
  if (x.guard !== NO_REG || isControl(x) || x.dst.includes(to)) return -1;
  let left = MOST_BETWEEN;
  for (let n = d.previous(copy); n !== def; n = d.previous(n))
    if (n < 0 || left-- <= 0 || touches(d.at(n), to)) return -1;
  return def;
}

const touches = (x: Instr, r: Reg): boolean =>
  x.guard === r || x.dst.includes(r) || x.src.some((o) => o.reg === r) || isControl(x);
