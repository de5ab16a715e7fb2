import { describe, expect, it } from 'vitest';
import {
  cloneBlocks,
  Draft,
  dropUnchangedDraft,
  dropUnchangedDrafts,
  edit,
  preheader,
  removeUnreachable,
  splitEdge,
  splitPredecessors,
} from '../../src/ir/draft/index.ts';
import { withSource } from '../../src/ir/edit.ts';
import { imm, Mod, NO_REG, regOf } from '../../src/ir/operand.ts';
import { parseFn, printFn } from '../../src/ir/text.ts';
import { verifyFn } from '../../src/ir/verify.ts';
import { testIsa } from '../support/isa.ts';

const isa = testIsa();
const body = (text: string): string =>
  printFn(parseFn(text, isa), { locs: false })
    .split('\n')
    .filter((l) => !/^[.{}]/.test(l) && !l.startsWith('  .'))
    .join('\n');

/** Text of the function after an edit; fails if the verifier finds a fault. */
function edited(text: string, change: (d: Draft) => void): string {
  const out = edit(parseFn(text, isa), change, isa);
  expect(verifyFn(out)).toEqual([]);
  return printFn(out, { locs: false })
    .split('\n')
    .filter((l) => !/^[.{}]/.test(l) && !l.startsWith('  .'))
    .join('\n');
}

it('cuts code after an unguarded jump at the end of a function', () => {
  const text = 'BB0:\nSTG [RD1], R2\nBB1:\nBRA BB0\nMOV R2, 7\n@P3 BRA BB0';
  const out = edit(parseFn(text, isa), (d) => void d.splitBefore(d.next(d.first(d.blockById(1)))), isa);
  expect(verifyFn(out)).toEqual([]);
  expect(out.blocks.length).toBeGreaterThan(2);
});

const LOOP = `
BB0:
  MOV R1, 0
BB1:
  MOVPHI R2, {BB0: R1, BB2: R4}
  ISETP.GE P3, R2, 10
  @P3 BRA BB3
BB2:
  IADD3 R4, R2, 1, RZ
  BRA BB1
BB3:
  EXIT`;

describe('draft', () => {
  it('gives the function itself where nothing changed, and shares what was not touched', () => {
    const fn = parseFn(LOOP, isa);
    expect(edit(fn, () => {})).toBe(fn);
    const out = edit(fn, (d) => {
      const n = d.def(regOf('R4'));
      d.replace(n, withSource(d.at(n), 1, imm(2)));
    });
    expect(out).not.toBe(fn);
    expect(out.shape).toBe(fn.shape);
    expect(out.blocks.map((b, i) => b === fn.blocks[i])).toEqual([true, true, false, true]);
    // Changed and changed back is unchanged.
    expect(
      edit(fn, (d) => {
        const n = d.def(regOf('R4'));
        const x = d.at(n);
        d.replace(n, withSource(x, 1, imm(2)));
        d.replace(n, x);
      }),
    ).toBe(fn);
  });

  it('keeps definitions and uses current', () => {
    edited(LOOP, (d) => {
      const r4 = regOf('R4');
      const r2 = regOf('R2');
      expect(d.useCount(r2)).toBe(2);
      expect(d.users(r4).map((n) => d.at(n).op.name)).toEqual(['MOVPHI']);
      const n = d.def(r4);
      d.replaceUses(r2, regOf('R1'));
      expect(d.useCount(r2)).toBe(0);
      expect(d.useCount(regOf('R1'))).toBe(3);
      expect(d.at(n).src[0].reg).toBe(regOf('R1'));
      d.rename(r4, d.freshReg(0));
      expect(d.defCount(r4)).toBe(0);
      expect(d.def(regOf('R1'))).toBe(0);
    });
  });

  it('writes branches where the layout asks for them', () => {
    expect(edited('BB0:\n@P1 BRA BB2\nBB1:\nMOV R2, 1\nBB2:\nEXIT', (d) => d.moveBlock(1, 2))).toBe(
      body('BB0:\n@!P1 BRA BB1\nBB2:\nEXIT\nBB1:\nMOV R2, 1\nBRA BB2'),
    );
    expect(edited('BB0:\n@P1 BRA BB0\nBB1:\nMOV R2, 1\nEXIT\nBB2:\nEXIT', (d) => d.moveBlock(1, 2))).toBe(
      body('BB0:\n@P1 BRA BB0\nBB3:\nBRA BB1\nBB2:\nEXIT\nBB1:\nMOV R2, 1\nEXIT'),
    );
  });

  it('splits edges, of which two may lead to one block', () => {
    const two = 'BB0:\n@P1 BRA BB1\nBB1:\nMOVPHI R2, {BB0: R3}\nEXIT';
    expect(edited(two, (d) => splitEdge(d, 0, 0))).toBe(
      body('BB0:\n@!P1 BRA BB1\nBB2:\nBB1:\nMOVPHI R2, {BB0: R3, BB2: R3}\nEXIT'),
    );
  });

  it('makes preheaders that join what comes from several blocks', () => {
    const text = `
BB0:
  @P7 BRA BB2
BB1:
  MOV R1, 5
BB2:
  MOVPHI R2, {BB0: R9, BB1: R1, BB2: R3}
  IADD3 R3, R2, 1, RZ
  @P4 BRA BB2
BB3:
  EXIT`;
    const loop = { header: 2, contains: (b: number) => b === 2 };
    expect(edited(text, (d) => void preheader(d, loop))).toBe(
      body(`
BB0:
  @P7 BRA BB4
BB1:
  MOV R1, 5
BB4:
  MOVPHI R10, {BB0: R9, BB1: R1}
BB2:
  MOVPHI R2, {BB2: R3, BB4: R10}
  IADD3 R3, R2, 1, RZ
  @P4 BRA BB2
BB3:
  EXIT`),
    );
    // What is a preheader already stays it.
    edited(LOOP, (d) => expect(preheader(d, { header: 1, contains: (b) => b === 1 || b === 2 })).toBe(0));
  });

  it('clones blocks with their tables and phis', () => {
    const text = `.entry k
  .table T0 BB1 BB2
{
BB0:
  BRX R1, T0
BB1:
  MOV R2, 1
  BRA BB3
BB2:
  MOV R3, 2
BB3:
  MOVPHI R4, {BB1: R2, BB2: R3}
  EXIT
}`;
    const out = edit(
      parseFn(text, isa),
      (d) => {
        const c = cloneBlocks(d, [0, 1, 2], 3, true);
        d.redirect(0, 1, c.blocks.get(0)!);
      },
      isa,
    );
    expect(verifyFn(out)).toEqual([]);
    expect(out.tables).toEqual([
      [4, 2],
      [5, 6],
    ]);
    const clone = out.blocks.find((b) => b.id === 4)!;
    const table = out.tables[clone.ins[0].src[1].lo];
    expect(table).toEqual([5, 6]);
    const join = out.blocks.find((b) => b.id === 3)!;
    expect(join.ins[0].src.filter((_, i) => i % 2 === 0).map((o) => o.lo)).toEqual([1, 2, 5, 6]);
  });

  it('changes a jump table in place where it has one use, and keeps no table without a use', () => {
    const dispatch = (entries: string, rest: string) =>
      parseFn(`.entry k\n${entries}\n{\nBB0:\nBRX R1, T0\n${rest}}`, isa);
    const arms = 'BB1:\nEXIT\nBB2:\nEXIT\nBB3:\nEXIT\n';
    const tablesOf = (fn: ReturnType<typeof dispatch>, change: (d: Draft) => void) => {
      const out = edit(fn, change, isa);
      expect(verifyFn(out)).toEqual([]);
      return out.tables;
    };
    const one = dispatch('.table T0 BB1 BB2 BB1', arms);
    expect(
      tablesOf(one, (d) => {
        d.redirect(0, 1, 3);
        d.redirectEdge(0, 1, 1);
        d.redirect(0, 3, 2);
      }),
    ).toEqual([[2, 1, 2]]);
    expect(one.tables).toEqual([[1, 2, 1]]);
    // The other jump keeps its targets.
    const two = dispatch('.table T0 BB1 BB4', `${arms}BB4:\nBRX R2, T0\n`);
    expect(
      tablesOf(two, (d) => {
        d.redirect(0, 1, 3);
        d.redirect(0, 3, 2);
      }),
    ).toEqual([
      [1, 4],
      [2, 4],
    ]);
    // A table without a use is emptied before one that is used, and dropped behind it.
    const three = dispatch('.table T0 BB1 BB2\n.table T1 BB4 BB1', `${arms}BB4:\nBRX R2, T1\n`);
    expect(tablesOf(three, (d) => d.setTerminator(0, d.branchTo(4), -1))).toEqual([[], [4, 1]]);
    expect(tablesOf(three, (d) => d.setTerminator(4, null, 1))).toEqual([[1, 2]]);
  });

  it('erases unreachable blocks, and their operands in phis', () => {
    expect(
      edited('BB0:\nBRA BB2\nBB1:\nMOV R1, 1\nBB2:\nMOVPHI R2, {BB0: R3, BB1: R1}\nMOV R4, R2\nEXIT', (d) => {
        expect(removeUnreachable(d)).toBe(1);
      }),
    ).toBe(body('BB0:\nBRA BB2\nBB2:\nMOV R4, R3\nEXIT'));
  });

  it('merges a block with its only successor and cuts it again', () => {
    expect(
      edited(
        'BB0:\nMOV R1, 1\nBRA BB1\nBB2:\nEXIT\nBB1:\nMOVPHI R2, {BB0: R1}\nMOV R3, R2\n@P9 BRA BB2\nBB3:\nEXIT',
        (d) => {
          expect(d.mergeWithSuccessor(0)).toBe(true);
          expect(d.useCount(regOf('R1'))).toBe(1);
          expect(d.useCount(NO_REG)).toBe(0);
          const n = d.last(0);
          d.splitBefore(n);
        },
      ),
    ).toBe(body('BB0:\nMOV R1, 1\nMOV R3, R1\nBB4:\n@!P9 BRA BB3\nBB2:\nEXIT\nBB3:\nEXIT'));
  });

  it('knows when two blocks cannot be one', () => {
    edited('BB0:\nBSSY B1, BB1\nBRA BB1\nBB1:\nEXIT', (d) => {
      expect(d.mergeWithSuccessor(0)).toBe(false);
      d.remove(0);
      expect(d.mergeWithSuccessor(0)).toBe(true);
    });
    edited('BB0:\n@P1 EXIT\nBB1:\nEXIT', (d) => expect(d.mergeWithSuccessor(0)).toBe(false));
    edited('BB0:\nBRA BB1\nBB1:\nPMOVPHI P1, {BB0: !P2}\n@P1 EXIT\nBB2:\nEXIT', (d) =>
      expect(d.mergeWithSuccessor(0)).toBe(false),
    );
  });

  it('tells a negated predicate from a plain one', () => {
    const text = `BB0:
  @P9 BRA BB2
BB1:
  BRA BB3
BB2:
BB3:
  PMOVPHI P1, {BB1: P2, BB2: !P2}
  @P1 EXIT
BB4:
  EXIT`;
    edited(text, (d) => {
      splitPredecessors(d, 3, [1, 2]);
      const [phi] = d.phis(5);
      expect(d.at(phi).src.map((o) => o.mods)).toEqual([0, 0, 0, Mod.Not]);
    });
    // What is left of a phi is no copy if it is negated.
    edited(text, (d) => {
      d.setTerminator(0, d.branchTo(2), -1);
      removeUnreachable(d);
      expect(d.phis(3).length).toBe(1);
    });
  });

  it('inserts a preheader after a call and a guarded exit', () => {
    const loop = { header: 1, contains: (b: number) => b === 1 };
    // A guarded branch whose ways both lead there is two ways, which a layout may part.
    for (const end of ['CALL {R3}, &f, &, {R4}', '@P2 EXIT', '@P2 RET', '@P2 BRA BB1'])
      edited(`BB0:\n${end}\nBB1:\n@P1 BRA BB1\nBB2:\nEXIT`, (d) => expect(preheader(d, loop)).toBe(3));
    edited('BB0:\nBRA BB1\nBB1:\n@P1 BRA BB1\nBB2:\nEXIT', (d) => expect(preheader(d, loop)).toBe(0));
  });

  it('refuses edits of control that would not be seen', () => {
    edited('BB0:\nMOV R1, 1\n@P2 BRA BB0\nBB1:\nEXIT', (d) => {
      const branch = d.last(0);
      expect(() => d.insertBefore(0, d.at(branch))).toThrow('setTerminator');
      expect(() => d.insertAfter(branch, d.at(0))).toThrow('terminator');
      expect(() => d.append(0, d.at(0))).toThrow('terminator');
      expect(() => d.move(branch, 0)).toThrow('setTerminator');
      expect(() => d.moveToEnd(branch, 1)).toThrow('setTerminator');
      expect(() => d.replace(branch, d.branchTo(0))).toThrow('setTerminator');
      expect(() => d.remove(branch)).toThrow('setTerminator');
    });
    const table = parseFn('.entry k\n.table T0 BB1 BB1\n{\nBB0:\nBRA BB0\nBB1:\nEXIT\n}', isa);
    edit(table, (d) => {
      const jump = parseFn('.entry k\n.table T0 BB0\n{\nBB0:\nBRX R1, T0\n}', isa).blocks[0].ins[0];
      expect(() => d.replace(0, jump)).toThrow('setTerminator');
    });
  });

  it('gives a copy of a block its pragmas', () => {
    const fn = parseFn('.entry k\n{\nBB0:\n NOP\nBB1:\n EXIT\n}', isa);
    const pragmas = [{ block: 1, text: 'nounroll' }];
    const copied = { ...fn, attrs: { ...fn.attrs, pragmas } };
    const out = edit(copied, (d) => d.redirect(0, 1, cloneBlocks(d, [1], 1, false).blocks.get(1)!), isa);
    expect(out.attrs.pragmas).toEqual([...pragmas, { block: 2, text: 'nounroll' }]);
  });

  it('keeps a pragma of the function at its entry', () => {
    const fn = parseFn('BB0:\n@P1 BRA BB0\nBB1:\nEXIT', isa);
    const pragmas = [{ block: 0, text: 'nounroll' }];
    const out = edit({ ...fn, attrs: { ...fn.attrs, pragmas } }, (d) => void d.newBlock(-1, 0));
    expect(out.attrs.pragmas).toEqual([{ block: out.blocks[0].id, text: 'nounroll' }]);
  });

  it('is used again by the next edit of the same function, as long as it is as it was opened', () => {
    const fn = parseFn(LOOP, isa);
    const drafts: Draft[] = [];
    const look = (change: (d: Draft) => void = () => {}) =>
      edit(
        fn,
        (d) => {
          drafts.push(d);
          change(d);
        },
        isa,
      );
    look();
    look((d) => void d.useCount(regOf('R4')));
    expect(drafts[1]).toBe(drafts[0]);
    // A register given out and never used: the next edit must get the same number.
    look((d) => void d.freshReg(0));
    look((d) => expect(d.regCount).toBe(fn.regCount));
    expect(drafts[2]).toBe(drafts[0]);
    expect(drafts[3]).not.toBe(drafts[0]);
    // A draft that is being edited is nobody else's.
    look((d) => void look((inner) => expect(inner).not.toBe(d)));
    // A change is never seen by the next.
    look((d) => d.replace(d.def(regOf('R4')), withSource(d.at(d.def(regOf('R4'))), 1, imm(2))));
    look((d) => expect(d.at(d.def(regOf('R4'))).src[1].lo).toBe(1));
    dropUnchangedDrafts();
    look((d) => expect(drafts.slice(0, -1)).not.toContain(d));
    // Nor is one whose memory others have now.
    dropUnchangedDraft(fn);
    look((d) => {
      expect(drafts.slice(0, -1)).not.toContain(d);
      expect(d.useCount(regOf('R4'))).toBe(new Draft(fn, isa).useCount(regOf('R4')));
    });
    // Instructions of the set are there only for those that asked for them.
    edit(fn, (d) => expect(() => d.branchTo(0)).toThrow('instruction set'));
    look((d) => expect(d.branchTo(0).op.name).toBe('BRA'));
  });
});
