import { finish } from '../ir/draft/finish.ts';
import {
  cloneBlocks,
  Draft,
  dedicatedExits,
  edit,
  preheader,
  removeUnreachable,
  spliceFunction,
  splitEdge,
  splitPredecessors,
} from '../ir/draft/index.ts';
import { withSrc } from '../ir/edit.ts';
import { isControl } from '../ir/flow.ts';
import type { Isa } from '../ir/opcode.ts';
import { imm, NO_REG, RegFile, reg, table } from '../ir/operand.ts';
import { type Fn, type Instr, instr, newShape } from '../ir/program.ts';
import { constructSsa } from '../ssa/construct.ts';
import { leaveSsa } from '../ssa/leave.ts';

/** Builds no index of a draft before the measurement. */
const nothing = (): void => {};
const uses = (d: Draft): void => void d.useCount(0);
const all = (d: Draft): void => {
  d.useCount(0);
  d.defCount(0);
  if (d.entryBlock >= 0) d.predecessors(d.entryBlock);
};

/**
 * Median nanoseconds per operation of `f`. Each run is on a fresh copy of the function, so that nothing is cached.
 * @param know builds indices before the measurement
 * @param f returns the number of its operations
 */
function each(fn: Fn, isa: Isa, know: (d: Draft) => void, f: (d: Draft) => number): number {
  const per: number[] = [];
  for (let i = 0; i < 6; i++) {
    const d = new Draft({ ...fn }, isa);
    know(d);
    const t = performance.now();
    const n = f(d);
    per.push(((performance.now() - t) * 1e6) / Math.max(n, 1));
  }
  return median(per);
}

/**
 * Median nanoseconds per instruction of `f` on a function of `n` instructions. Each run is on a fresh copy.
 * @param anew true to give the copy a new shape too, so that the control flow graph is not cached
 */
function whole(fn: Fn, n: number, anew: boolean, f: (fn: Fn) => unknown): number {
  const per: number[] = [];
  for (let i = 0; i < 6; i++) {
    const fresh = anew ? { ...fn, shape: newShape() } : { ...fn };
    const t = performance.now();
    f(fresh);
    per.push(((performance.now() - t) * 1e6) / n);
  }
  return median(per);
}

/** The median without the first run, which is a warm-up. */
const median = (per: readonly number[]): number => per.slice(1).sort((a, b) => a - b)[per.length >> 1];

/** What prints the rows of the table. */
interface Bench {
  readonly isa: Isa;
  /** A new instruction that nothing uses. */
  readonly idle: (d: Draft) => Instr;
  readonly row: (name: string, cost: (fn: Fn, size: number) => number) => void;
  /** The cost of `f` per instruction of a function. `anew`: without what is cached for it. */
  readonly runs: (name: string, f: (fn: Fn) => unknown, anew?: boolean) => void;
  /** The cost of one of the edits that `f` makes and counts; the list holds the instructions other than control operations. */
  readonly edits: (name: string, f: (d: Draft, list: readonly number[]) => number) => void;
}

/**
 * Prints the costs of drafts: opening and closing one, per instruction; each kind of edit; and entering and leaving SSA.
 * @param functions named kinds of functions, each with 1 k, 10 k and 100 k instructions
 */
export function benchDraft(
  say: (line: string) => void,
  isa: Isa,
  functions: readonly { readonly name: string; readonly fns: readonly Fn[] }[],
): void {
  const columns = functions.flatMap((f) => f.fns.map(controlLast));
  const sizes = columns.map((fn) => fn.blocks.reduce((n, b) => n + b.ins.length, 0));
  say(
    `draft, ns for each     ${functions.map((f) => f.fns.map((_, i) => `${f.name} ${['1k', '10k', '100k'][i]}`.padStart(13)).join('')).join('')}`,
  );
  const row = (name: string, cost: (fn: Fn, size: number) => number): void =>
    say(`${name.padEnd(22)} ${columns.map((fn, i) => cost(fn, sizes[i]).toFixed(0).padStart(13)).join('')}`);

  const mov = isa.byName.get('MOV')!;
  const idle = (d: Draft) => instr(mov, 0, [d.freshReg(RegFile.R)], [imm(1)]);

  const runs = (name: string, f: (fn: Fn) => unknown, anew = false): void =>
    row(name, (fn, n) => whole(fn, n, anew, f));
  const instructions = (d: Draft): number[] => {
    const out: number[] = [];
    for (const b of d.layout())
      for (let n = d.first(b); n >= 0; n = d.next(n)) if (!isControl(d.at(n))) out.push(n);
    return out;
  };
  const edits = (name: string, f: (d: Draft, list: readonly number[]) => number): void =>
    row(name, (fn) => {
      const list = instructions(new Draft(fn, isa));
      return each(fn, isa, all, (d) => f(d, list));
    });
  const bench: Bench = { isa, idle, row, runs, edits };
  wholeDrafts(bench);
  instructionEdits(bench);
  blockEdits(bench);
}

function wholeDrafts({ isa, idle, row, runs }: Bench): void {
  runs('instruction: nothing', (fn) => edit(fn, nothing));
  runs('  a new flow graph', (fn) => edit(fn, nothing), true);
  runs('  uses', (fn) => edit(fn, uses));
  runs('  uses, defs, preds', (fn) => edit(fn, all));
  runs('  one edit a block', (fn) =>
    edit(fn, (d) => {
      for (const b of d.layout()) d.insertAtStart(b, idle(d));
    }),
  );
  runs('  clone everything', (fn) =>
    edit(
      fn,
      (d) => {
        all(d);
        const region = d.layout();
        cloneBlocks(d, region, region[region.length - 1], false);
      },
      isa,
    ),
  );
  runs('  reachable', (fn) => edit(fn, (d) => void removeUnreachable(d)));
  runs('  into SSA', (fn) => constructSsa(fn, isa), true);
  row('  out of SSA', (fn, n) => whole(constructSsa(fn, isa), n, true, (f) => leaveSsa(f, isa)));
}

/** Applies one edit to each of the listed instructions. */
const atEach =
  (f: (d: Draft, n: number) => void) =>
  (d: Draft, list: readonly number[]): number => {
    for (const n of list) f(d, n);
    return list.length;
  };

function instructionEdits({ idle, edits }: Bench): void {
  edits(
    'insertBefore',
    atEach((d, n) => void d.insertBefore(n, idle(d))),
  );
  edits(
    'insertAfter',
    atEach((d, n) => void d.insertAfter(n, idle(d))),
  );
  edits(
    'insertAtStart of one',
    atEach((d) => void d.insertAtStart(d.entryBlock, idle(d))),
  );
  edits(
    'insertAtEnd of one',
    atEach((d) => void d.insertAtEnd(d.entryBlock, idle(d))),
  );
  edits(
    'precedes, inserting',
    atEach((d, n) => void d.precedes(d.insertBefore(n, idle(d)), n)),
  );
  edits(
    'replace',
    atEach((d, n) => d.replace(n, withSrc(d.at(n), [...d.at(n).src]))),
  );
  edits(
    'replaceBy two',
    atEach((d, n) => d.replaceBy(n, [idle(d), d.at(n)])),
  );
  edits(
    'moveToEnd',
    atEach((d, n) => d.moveToEnd(n, d.block(n))),
  );
  edits('replaceUses', (d, list) => {
    let uses = 0;
    for (const n of list)
      for (const r of d.at(n).dst) {
        if (r === NO_REG) continue;
        uses += d.useCount(r);
        d.replaceUses(r, d.freshReg(r & 7));
      }
    return uses;
  });
  edits(
    'move to the front',
    atEach((d, n) => d.move(n, d.first(d.block(n)))),
  );
  edits(
    'remove',
    atEach((d, n) => d.remove(n)),
  );
  edits('rename', (d, list) => {
    // A register that many instructions use; the cost is per occurrence.
    const r = d.at(list[list.length >> 1]).dst.find((x) => x !== NO_REG);
    if (r === undefined) return 1;
    const n = d.useCount(r) + d.defCount(r);
    d.rename(r, d.freshReg(r & 7));
    return n;
  });
}

function blockEdits({ isa, row, edits }: Bench): void {
  edits('splitBefore', (d, list) => {
    for (let i = list.length - 1; i >= 0; i -= 4) d.splitBefore(list[i]);
    return list.length / 4;
  });
  edits('cut in pieces of 4', (d) => {
    let pieces = 0;
    for (const b of d.layout()) {
      const at: number[] = [];
      let k = 0;
      for (let n = d.first(b); n >= 0; n = d.next(n)) if (k++ % 4 === 1) at.push(n);
      pieces += d.cut(b, at).length;
    }
    return Math.max(1, pieces);
  });
  edits('mergeWithSuccessor', (d, list) => {
    for (let i = list.length - 1; i >= 0; i -= 4) d.splitBefore(list[i]);
    let n = 1;
    for (const b of d.layout()) while (d.isAlive(b) && d.mergeWithSuccessor(b)) n++;
    return n;
  });
  edits('splitEdge', (d) => {
    const blocks = d.layout();
    let n = 0;
    for (const b of blocks) for (let e = d.edges(b).length - 1; e >= 0; e--, n++) splitEdge(d, b, e);
    return n;
  });
  edits('redirect and back', (d) => {
    const blocks = d.layout();
    for (const b of blocks)
      for (const s of [...d.successors(b)]) {
        d.redirect(b, s, d.entryBlock);
        d.redirect(b, d.entryBlock, s);
      }
    return 2 * blocks.length;
  });
  edits('redirectEdge and back', (d) => {
    let n = 0;
    for (const b of d.layout())
      d.edges(b).forEach((to, e) => {
        if (to === d.entryBlock) return;
        d.redirectEdge(b, e, d.entryBlock);
        d.redirectEdge(b, e, to);
        n += 2;
      });
    return n;
  });
  edits('  an entry of a table', (d) => {
    // One jump whose table has an entry for every block; the cost is per entry.
    const blocks = d.layout();
    const jump = instr(
      isa.byName.get('BRX')!,
      0,
      [],
      [reg(d.freshReg(RegFile.R)), table(d.addTable(blocks.map((b) => d.id(b))))],
    );
    const b = d.newBlock(-1, d.entryBlock);
    d.setTerminator(b, jump, -1);
    const [one, other] = [blocks[0], blocks[blocks.length - 1]];
    for (let k = 0; k < 10; k++) d.redirect(b, k % 2 === 0 ? one : other, k % 2 === 0 ? other : one);
    return 10 * blocks.length;
  });
  edits('setTerminator', (d) => {
    const blocks = d.layout();
    for (const b of blocks) d.setTerminator(b, d.branchTo(d.entryBlock), -1);
    return blocks.length;
  });
  edits('splitPredecessors', (d) => {
    const blocks = d.layout().filter((b) => d.predecessors(b).length > 0);
    for (const b of blocks) splitPredecessors(d, b, [...d.predecessors(b)]);
    return blocks.length;
  });
  edits('dedicatedExits', (d) => {
    const blocks = d.layout();
    for (const b of blocks) dedicatedExits(d, { header: b, contains: (p) => p === b }, [b]);
    return blocks.length;
  });
  edits('eraseBlock', (d) => {
    // Only the entry block remains reachable.
    d.setTerminator(d.entryBlock, instr(isa.byName.get('EXIT')!, 0, [], []), -1);
    return removeUnreachable(d);
  });
  row('  splice it into itself', (fn, n) => {
    const list = { ...fn, shape: newShape() };
    return each(fn, isa, nothing, (d) => {
      spliceFunction(d, list, d.lastBlock, d.entryBlock, (o) => o);
      return n;
    });
  });
  edits('moveBlock and finish', (d) => {
    const blocks = d.layout();
    const last = blocks[blocks.length - 1];
    for (let i = 1; i < blocks.length; i += 2) d.moveBlock(blocks[i], last);
    finish(d);
    return blocks.length;
  });
  edits('preheader', (d) => {
    const blocks = d.layout();
    for (const b of blocks) preheader(d, { header: b, contains: (p) => p === b });
    return blocks.length;
  });
}

/** The function with blocks split after control instructions, so that these are always last. */
const controlLast = (fn: Fn): Fn =>
  edit(fn, (d) => {
    for (const b of d.layout()) {
      const behind: number[] = [];
      for (let n = d.first(b); n >= 0 && n !== d.last(b); n = d.next(n))
        if (isControl(d.at(n))) behind.push(d.next(n));
      if (behind.length > 0) d.cut(b, behind);
    }
  });
