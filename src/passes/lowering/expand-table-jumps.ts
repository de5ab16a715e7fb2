import { tableLayout } from '../../analysis/flow/table-layout.ts';
import { type BlockNo, type Draft, edit, removeUnreachable } from '../../ir/draft/index.ts';
import { withGuard } from '../../ir/edit.ts';
import { countsBytes, ENTRY_SHIFT, entryOf, jumpBy } from '../../ir/jump-table.ts';
import { imm, Kind, type Operand, RegFile, reg } from '../../ir/operand.ts';
import { type Instr, instr } from '../../ir/program.ts';
import { printInstr } from '../../ir/text.ts';
import type { Pass } from '../pass.ts';

/**
 * Phase ExpandJmxComputation: a jump through a table takes the byte offset of an entry, as the hardware's does, and the shift that
 * makes it from the index becomes an ordinary instruction.
 *
 *     before                              after
 *     BB0:                                BB0:
 *           BRX R2, T0                          SHL R3, R2, 2
 *                                               BRX.OFFSET R3, T0
 *
 * Entries are signed words, and the jump contains the base of the table, so nothing is added. The table lies in the code, after its
 * jump; its address is reported for the current layout, which later phases may still change. The original can also place the table in a
 * constant bank, with the same shift.
 *
 * Before this phase the index stays, so that value numbering and ranges see the number that the program computes (seed 003). A jump
 * whose index has become a constant becomes a branch, and blocks that only the table led to are removed.
 *
 * Requires: control-last. Guarantees: equivalence where the index is inside the table, beyond which a jump is undefined. A second
 * application finds offsets and changes nothing.
 * Bound: each block is visited once.
 */
export const expandTableJumps: Pass = (fn, ctx) => {
  if (fn.tables.length === 0) return fn;
  const out = edit(
    fn,
    (d) => {
      for (const b of d.layout()) {
        const n = d.terminator(b);
        if (n < 0) continue;
        const x = d.at(n);
        if (x.op.primitive !== 'branch-table') continue;
        const to = knownTarget(d, x);
        if (to >= 0) {
          if (!ctx.mayRewrite('table-known', d.id(b), x)) continue;
          const branch = withGuard(d.branchTo(to, x.loc), x.guard, x.guardNot);
          d.setTerminator(b, branch, d.fall(b));
          const message = `${printInstr(x)}: it always goes to BB${d.id(to)}`;
          ctx.remark('passed', 'table-known', message, { block: d.id(b), ins: x });
          continue;
        }
        if (countsBytes(x)) continue;
        if (!ctx.mayRewrite('table-offset', d.id(b), x)) continue;
        d.replace(n, jumpBy(x, offsetOf(d, b, x), true));
      }
      if (d.shapeVersion !== 0) removeUnreachable(d);
    },
    ctx.isa,
  );
  if (out !== fn)
    for (const { jump, table, at, entries } of tableLayout(
      out,
      Number(ctx.fact('encoding.instruction-bytes')),
    )) {
      const places = `${entries.length} entries for ${new Set(entries).size} places`;
      ctx.remark(
        'passed',
        'table-offset',
        `${printInstr(jump)}: T${table} of ${places} is at 0x${at.toString(16)} of the code`,
        { ins: jump },
      );
    }
  return out;
};

/** The block to which a jump by a constant goes; -1 if its index varies, or is outside of the table. */
function knownTarget(d: Draft, x: Instr): BlockNo {
  const [index, table] = x.src;
  const entries = d.tables()[table.lo];
  const at = index.kind === Kind.Imm ? entryOf(x, index.lo) : -1;
  return at >= 0 && at < entries.length ? d.blockById(entries[at]) : -1;
}

/** The byte offset of the entry that a jump selects by its index. */
function offsetOf(d: Draft, b: BlockNo, x: Instr): Operand {
  const [index] = x.src;
  if (index.kind === Kind.Imm) return imm(index.lo << ENTRY_SHIFT);
  const offset = d.freshReg(RegFile.R);
  d.insertAtEnd(b, instr(d.opcode('SHL'), 0, [offset], [index, imm(ENTRY_SHIFT)], x.loc));
  return reg(offset);
}
