import { draftCfg } from '../../src/analysis/flow/draft-cfg.ts';
import { inLoop, loopBlocks, loops } from '../../src/analysis/loops/loops.ts';
import {
  cloneBlocks,
  type Draft,
  dedicatedExits,
  preheader,
  removeUnreachable,
  splitEdge,
  splitPredecessors,
} from '../../src/ir/draft/index.ts';
import { withGuard, withSource, withSrc } from '../../src/ir/edit.ts';
import { endsFlow, isControl, isPhi } from '../../src/ir/flow.ts';
import { imm, Kind, NO_REG, RegFile, RZ, reg } from '../../src/ir/operand.ts';
import { type Instr, instr } from '../../src/ir/program.ts';
import { testIsa } from './isa.ts';

/** Effect of an edit on the function's meaning; `none`: there was nothing to edit. */
export type Done = 'kept' | 'changed' | 'none';

/** Draws from a list, or a number below a limit. The same draws give the same edit. */
export class Draws {
  private readonly numbers: readonly number[];
  private at = 0;
  constructor(numbers: readonly number[]) {
    this.numbers = numbers;
  }
  below(n: number): number {
    return this.numbers[this.at++ % this.numbers.length] % n;
  }
  of<T>(list: readonly T[]): T | undefined {
    return list.length === 0 ? undefined : list[this.below(list.length)];
  }
}

const isa = testIsa();
const MOV = isa.byName.get('MOV')!;
const IADD3 = isa.byName.get('IADD3')!;

const chain = (d: Draft, b: number): number[] => {
  const out: number[] = [];
  for (let n = d.first(b); n >= 0; n = d.next(n)) out.push(n);
  return out;
};
const all = (d: Draft): number[] => d.layout().flatMap((b) => chain(d, b));
const plain = (d: Draft): number[] => all(d).filter((n) => !isControl(d.at(n)) && !isPhi(d.at(n)));
/** An instruction whose result is unused. */
const idle = (d: Draft, k: number): Instr => instr(MOV, 0, [d.freshReg(RegFile.R)], [imm(k)]);
const reads = (x: Instr): number[] => [...x.src.map((o) => o.reg), x.guard, ...x.otherwise];
const clash = (a: readonly number[], b: readonly number[]): boolean =>
  a.some((r) => r !== NO_REG && b.includes(r));

type Edit = (d: Draft, x: Draws, ssa: boolean) => Done;

const insert =
  (where: (d: Draft, x: Draws, ins: Instr) => boolean): Edit =>
  (d, x) =>
    where(d, x, idle(d, x.below(9) + 1)) ? 'kept' : 'none';

/** Calls `f` with a drawn element, if there is one. */
const withOne = <T>(list: readonly T[], x: Draws, f: (one: T) => Done): Done => {
  const one = x.of(list);
  return one === undefined ? 'none' : f(one);
};

/** Edits by name. All but the last few preserve the function's meaning and SSA. */
export const EDITS: Readonly<Record<string, Edit>> = {
  insertBefore: insert((d, x, ins) => {
    const n = x.of(plain(d));
    if (n !== undefined) d.insertBefore(n, ins);
    return n !== undefined;
  }),
  insertAfter: insert((d, x, ins) => {
    const n = x.of(plain(d));
    if (n !== undefined) d.insertAfter(n, ins);
    return n !== undefined;
  }),
  insertAtEnd: insert((d, x, ins) => d.insertAtEnd(x.of(d.layout())!, ins) >= 0),
  insertAtStart: insert((d, x, ins) => d.insertAtStart(x.of(d.layout())!, ins) >= 0),
  append: insert((d, x, ins) => {
    const b = x.of(d.layout().filter((at) => d.terminator(at) < 0));
    if (b !== undefined) d.append(b, ins);
    return b !== undefined;
  }),
  // Many insertions at one place force the renumbering of neighbours.
  insertMany: (d, x) => {
    const b = x.of(d.layout())!;
    for (let k = 0; k < 80; k++) d.insertAtEnd(b, idle(d, k));
    return 'kept';
  },
  replace: (d, x) =>
    withOne(
      plain(d).filter((n) => d.at(n).op === IADD3 || d.at(n).op === MOV),
      x,
      (n) => {
        const i = d.at(n);
        const { src } = i;
        if (i.op === IADD3) d.replace(n, withSrc(i, [src[1], src[0], src[2]]));
        else d.replace(n, instr(IADD3, 0, i.dst, [RZ, src[0], RZ], i.loc, i.guard, i.guardNot, i.otherwise));
        return 'kept';
      },
    ),
  remove: (d, x) =>
    withOne(
      all(d).filter((n) => {
        const { dst, op } = d.at(n);
        return (
          !isControl(d.at(n)) && op.name !== 'BSSY' && dst.length > 0 && dst.every((r) => d.useCount(r) === 0)
        );
      }),
      x,
      (n) => {
        d.remove(n);
        return 'kept';
      },
    ),
  move: (d, x) =>
    withOne(
      plain(d).filter((n) => {
        const before = d.previous(n);
        if (before < 0 || isControl(d.at(before)) || isPhi(d.at(before))) return false;
        const [a, b] = [d.at(before), d.at(n)];
        if (a.dst.length === 0 && b.dst.length === 0) return false;
        return !clash(a.dst, reads(b)) && !clash(b.dst, reads(a)) && !clash(a.dst, b.dst);
      }),
      x,
      (n) => {
        d.move(n, d.previous(n));
        return 'kept';
      },
    ),
  moveIdle: (d, x) => {
    const n = d.insertAtStart(x.of(d.layout())!, idle(d, 3));
    if (x.below(2) === 0) d.moveToEnd(n, x.of(d.layout())!);
    else d.move(n, x.of(plain(d))!);
    return 'kept';
  },
  rename: (d, x) =>
    withOne(
      [...new Set(all(d).flatMap((n) => [...d.at(n).dst, ...reads(d.at(n))]))].filter((r) => r !== NO_REG),
      x,
      (r) => {
        d.rename(r, d.freshReg(r & 7));
        return 'kept';
      },
    ),
  replaceUses: (d, x, ssa) => {
    EDITS.copy(d, x, ssa);
    return withOne(
      plain(d).filter(
        (n) => ssa && d.at(n).op === MOV && d.at(n).guard === NO_REG && d.at(n).src[0].reg !== NO_REG,
      ),
      x,
      (n) => {
        d.replaceUses(d.at(n).dst[0], d.at(n).src[0].reg);
        return 'kept';
      },
    );
  },
  copy: (d, x, ssa) =>
    withOne(
      plain(d).filter((n) => ssa && d.at(n).op === IADD3 && d.at(n).src[0].reg !== NO_REG),
      x,
      (n) => {
        const from = d.at(n).src[0].reg;
        const to = d.freshReg(RegFile.R);
        d.insertBefore(n, instr(MOV, 0, [to], [reg(from)]));
        d.replace(n, withSource(d.at(n), 0, reg(to)));
        return 'kept';
      },
    ),
  newBlock: (d, x) =>
    withOne(
      d.layout().flatMap((p) => d.successors(p).map((s) => [p, s] as const)),
      x,
      ([p, s]) => {
        const b = d.newBlock(x.of(d.layout())!, s);
        for (const phi of d.phis(s)) d.setIncoming(phi, b, d.incoming(phi, p));
        d.redirect(p, s, b);
        return 'kept';
      },
    ),
  splitBefore: (d, x) =>
    withOne(
      all(d).filter((n) => !isPhi(d.at(n))),
      x,
      (n) => {
        d.splitBefore(n);
        return 'kept';
      },
    ),
  splitEdge: (d, x) =>
    withOne(
      d.layout().filter((b) => d.edges(b).length > 0),
      x,
      (b) => {
        splitEdge(d, b, x.below(d.edges(b).length));
        return 'kept';
      },
    ),
  splitPredecessors: (d, x) => {
    const target = x.of(d.layout().filter((b) => b !== d.entryBlock || d.phis(b).length === 0))!;
    const some = x.below(15) + 1;
    const from = [...d.predecessors(target)].filter((_, i) => ((some >> (i & 3)) & 1) === 1);
    if (target !== d.entryBlock && from.length === 0) return 'none';
    splitPredecessors(d, target, target === d.entryBlock ? [...d.predecessors(target)] : from);
    return 'kept';
  },
  mergeWithSuccessor: (d, x) =>
    withOne(
      d.layout().filter((b) => d.successors(b).length === 1),
      x,
      (b) => (d.mergeWithSuccessor(b) ? 'kept' : 'none'),
    ),
  mergeAll: (d) => {
    let any = false;
    for (const b of d.layout()) while (d.isAlive(b) && d.mergeWithSuccessor(b)) any = true;
    return any ? 'kept' : 'none';
  },
  moveBlock: (d, x) =>
    withOne(
      d.layout().filter((b) => b !== d.entryBlock),
      x,
      (b) => {
        d.moveBlock(b, x.of(d.layout())!);
        return 'kept';
      },
    ),
  // Duplicates everything from a block on, for one of the edges into it.
  cloneBlocks: (d, x, ssa) =>
    withOne(
      d.layout().flatMap((p) => d.successors(p).map((s) => [p, s] as const)),
      x,
      ([p, s]) => {
        const region = [s];
        for (const b of region) for (const to of d.successors(b)) if (!region.includes(to)) region.push(to);
        if (region.includes(p)) return 'none';
        const { blocks } = cloneBlocks(d, region, x.of(d.layout())!, ssa);
        const values = d.phis(s).map((phi) => d.incoming(phi, p));
        d.redirect(p, s, blocks.get(s)!);
        d.phis(blocks.get(s)!).forEach((phi, k) => void d.setIncoming(phi, p, values[k]));
        return 'kept';
      },
    ),
  preheader: (d, x) => {
    const forest = loops(draftCfg(d));
    return withOne(forest.loops, x, (l) => {
      const b = preheader(d, { header: l.header, contains: (at) => inLoop(forest, l.id, at) });
      if (d.successors(b).length !== 1) throw new Error('a preheader leads elsewhere too');
      return 'kept';
    });
  },
  dedicatedExits: (d, x) => {
    const forest = loops(draftCfg(d));
    return withOne(forest.loops, x, (l) => {
      const contains = (at: number) => inLoop(forest, l.id, at);
      for (const e of dedicatedExits(d, { header: l.header, contains }, loopBlocks(forest, l.id)))
        if (!d.predecessors(e).every(contains)) throw new Error('an exit has other ways in');
      return 'kept';
    });
  },
  removeUnreachable: (d) => (removeUnreachable(d) > 0 ? 'kept' : 'none'),
  // Changes the encoding only: a jump instead of falling through, falling through instead of a jump, or an inverted condition.
  setTerminator: (d, x) =>
    withOne(
      d.layout().filter((b) => {
        const t = d.terminator(b);
        return (
          t < 0 || (d.at(t).op.name === 'BRA' && chain(d, b).filter((n) => isControl(d.at(n))).length === 1)
        );
      }),
      x,
      (b) => {
        const t = d.terminator(b);
        if (t < 0) {
          if (chain(d, b).some((n) => isControl(d.at(n)))) return 'none';
          d.setTerminator(b, d.branchTo(d.fall(b)), -1);
        } else {
          const i = d.at(t);
          const to = d.blockById(i.src[0].lo);
          if (endsFlow(i)) d.setTerminator(b, null, to);
          else
            d.setTerminator(b, withGuard(withSource(i, 0, d.labelOf(d.fall(b))), i.guard, !i.guardNot), to);
        }
        return 'kept';
      },
    ),
  sameTable: (d, x) =>
    withOne(
      d
        .tables()
        .map((_, t) => t)
        .filter((t) => d.tables()[t].length > 0),
      x,
      (t) => {
        d.replaceTable(t, [...d.tables()[t]]);
        return 'kept';
      },
    ),
  // The edits from here on change the meaning, or break SSA.
  replaceTable: (d, x, ssa) =>
    withOne(
      ssa
        ? []
        : d
            .tables()
            .map((_, t) => t)
            .filter((t) => d.tables()[t].length > 0),
      x,
      (t) => {
        d.replaceTable(
          t,
          d.tables()[t].map(() => d.id(x.of(d.layout())!)),
        );
        return 'changed';
      },
    ),
  redirect: (d, x, ssa) =>
    withOne(ssa ? [] : d.layout().filter((b) => d.successors(b).length > 0), x, (b) => {
      d.redirect(b, x.of(d.successors(b))!, x.of(d.layout())!);
      return 'changed';
    }),
  redirectEdge: (d, x, ssa) =>
    withOne(ssa ? [] : d.layout().filter((b) => d.edges(b).length > 0), x, (b) => {
      const at = x.below(d.edges(b).length);
      const before = d.edges(b);
      const to = x.of(d.layout())!;
      d.redirectEdge(b, at, to);
      // Other edges stay where they were; table entries that now lead to the same block form one edge.
      const table = chain(d, b).some((n) => d.at(n).src.some((o) => o.kind === Kind.Table));
      const want = before.map((e, i) => (i === at ? to : e));
      if (!table && want.join() !== d.edges(b).join()) throw new Error(`edges ${d.edges(b)}, not ${want}`);
      return 'changed';
    }),
};
