import type { Leaf, Switch } from '../../analysis/flow/switches.ts';
import type { BlockNo, Draft } from '../../ir/draft/index.ts';
import { withGuard } from '../../ir/edit.ts';
import { withMods } from '../../ir/opcode.ts';
import {
  imm,
  immOf,
  NO_REG,
  type Operand,
  PT,
  type Reg,
  RegFile,
  RZ,
  reg,
  regFile,
  table,
} from '../../ir/operand.ts';
import { instr } from '../../ir/program.ts';
import { AND } from '../../ir/truth-tables.ts';
import type { SwitchMap } from './switch-map.ts';
import type { Plan } from './switch-plan.ts';

/**
 * Emits a planned switch, starting at the end of its head. The old deciding blocks lose their incoming edges; the
 * caller removes them.
 */
export function emitSwitch(d: Draft, s: Switch, map: SwitchMap, plan: Plan): void {
  for (const n of s.kept) d.moveToEnd(n, s.head);
  new Emitter(d, s, map).emit(plan);
}

class Emitter {
  private readonly d: Draft;
  private readonly s: Switch;
  private readonly map: SwitchMap;
  private readonly loc: number;
  /** The block after which the next one is placed. */
  private place: BlockNo;
  /** By leaf: a block that leads to its target, for leaves with the same target but different phi operands. */
  private readonly landings = new Map<Leaf, BlockNo>();
  /** By target: for each predecessor, the leaf that its edge stands for. Phi operands are set at the end, for all edges at once. */
  private readonly brought = new Map<BlockNo, Map<BlockNo, Leaf>>();

  constructor(d: Draft, s: Switch, map: SwitchMap) {
    this.d = d;
    this.s = s;
    this.map = map;
    this.loc = d.at(d.terminator(s.head)).loc;
    this.place = s.head;
  }

  emit(plan: Plan): void {
    const work: { block: BlockNo; plan: Plan }[] = [{ block: this.s.head, plan }];
    for (let w = work.pop(); w !== undefined; w = work.pop()) {
      if (w.block !== this.s.head) this.d.moveBlock(w.block, this.place);
      this.place = w.block;
      // The fall-through comes next.
      work.push(...this.node(w.block, w.plan).reverse());
    }
    for (const [block, ways] of this.brought)
      this.d
        .phis(block)
        .forEach((phi, k) =>
          this.d.setAllIncoming(phi, new Map([...ways].map(([from, leaf]) => [from, leaf.args[k]]))),
        );
  }

  /** Records that an edge from a block brings a leaf's operands to the phis of its target. */
  bring(from: BlockNo, leaf: Leaf): void {
    let ways = this.brought.get(leaf.block);
    if (ways === undefined) this.brought.set(leaf.block, (ways = new Map()));
    ways.set(from, leaf);
  }

  /**
   * Ends a block with a plan's first decision. @returns blocks still to be ended, with their plans, the fall-through
   * first
   */
  private node(b: BlockNo, plan: Plan): { block: BlockNo; plan: Plan }[] {
    const { d } = this;
    const ways = new Ways(this, b);
    const rest: { block: BlockNo; plan: Plan }[] = [];
    const lead = (p: Plan): BlockNo => {
      if (p.kind === 'leaf') return ways.to(p.leaf);
      const block = d.newBlock(d.lastBlock, -1);
      rest.push({ block, plan: p });
      return block;
    };
    switch (plan.kind) {
      case 'leaf':
        d.setTerminator(b, null, ways.to(plan.leaf));
        break;
      case 'less': {
        const no = lead(plan.no);
        const below = this.compare(b, 'LT', this.map.signed, reg(this.s.selector), plan.place, this.loc);
        this.branch(b, below, lead(plan.yes), no, this.loc);
        break;
      }
      case 'range': {
        const no = lead(plan.no);
        const { loc } = plan.yes;
        const size = plan.high - plan.low;
        const x = size === 0n ? reg(this.s.selector) : this.from(b, plan.low, loc);
        const inside =
          size === 0n
            ? this.compare(b, 'EQ', this.map.signed, x, plan.low, loc)
            : this.compareValue(b, 'LE', false, x, size, loc);
        this.branch(b, inside, ways.to(plan.yes), no, loc);
        break;
      }
      case 'bits': {
        this.bits(b, plan, ways);
        break;
      }
      case 'table': {
        this.jump(b, plan, ways);
      }
    }
    ways.recordPhis();
    return rest;
  }

  /** A separate block for this leaf that leads to its target. */
  landing(leaf: Leaf): BlockNo {
    const { d, landings } = this;
    let b = landings.get(leaf);
    if (b === undefined) {
      b = d.newBlock(d.lastBlock, leaf.block);
      this.bring(b, leaf);
      landings.set(leaf, b);
    }
    return b;
  }

  /** A new block after `b`, before all later ones. */
  private next(b: BlockNo): BlockNo {
    this.place = this.d.newBlock(b, -1);
    return this.place;
  }

  private bits(b: BlockNo, plan: Plan & { kind: 'bits' }, ways: Ways): void {
    const { d, loc } = this;
    const bit = this.fresh32();
    const shift = d.opcode('SHL');
    let x = this.from(b, plan.low, loc);
    if (this.s.width > 32) x = this.lowWord(b, this.least(b, x, 32n));
    d.insertAtEnd(b, instr(shift, 0, [bit], [imm(1), x], loc));
    let at = b;
    let out = ways;
    plan.masks.forEach(({ mask, leaf }, k) => {
      const hit = this.fresh32();
      const logic = d.opcode('LOP3');
      d.insertAtEnd(at, instr(logic, 0, [hit], [reg(bit), imm(mask), RZ, imm(AND)], leaf.loc));
      const p = this.compareValue(at, 'NE', false, reg(hit), 0n, leaf.loc);
      const last = k === plan.masks.length - 1;
      const no = last ? out.to(plan.none) : this.next(at);
      this.branch(at, p, out.to(leaf), no, leaf.loc);
      if (last) return;
      if (out !== ways) out.recordPhis();
      at = no;
      out = new Ways(this, no);
    });
    if (out !== ways) out.recordPhis();
  }

  private jump(b: BlockNo, plan: Plan & { kind: 'table' }, ways: Ways): void {
    const { d, loc } = this;
    const { cases, other } = this.map;
    const ids: number[] = [];
    const fill = (n: bigint, leaf: Leaf): void => {
      if (n <= 0n) return;
      const id = d.id(ways.to(leaf));
      for (; n > 0n; n--) ids.push(id);
    };
    let at = plan.low;
    for (const c of cases.slice(plan.first, plan.last + 1)) {
      fill(c.low - at, other);
      fill(c.high - c.low + 1n, c.leaf);
      at = c.high + 1n;
    }
    fill(plan.high + 1n - at, other);
    let place = this.from(b, plan.low, loc);
    if (plan.outside !== null) {
      // All values beyond the table, and those below it by wrap-around, go to one additional entry.
      place = this.least(b, place, BigInt(ids.length));
      fill(1n, plan.outside);
    }
    if (this.s.width > 32) place = this.lowWord(b, place);
    d.setTerminator(b, instr(d.opcode('BRX'), 0, [], [place, table(d.addTable(ids))], loc), -1);
  }

  /** The selector minus the value at a position. */
  private from(b: BlockNo, place: bigint, loc: number): Operand {
    const { d, s } = this;
    const value = this.map.valueAt(place);
    if (value === 0n) return reg(s.selector);
    const x = d.freshReg(regFile(s.selector));
    const op = d.opcode('IADD3');
    const mods = s.width > 32 ? withMods(op, 0, '64') : 0;
    d.insertAtEnd(b, instr(op, mods, [x], [reg(s.selector), immOf(-value, s.width), RZ], loc));
    return reg(x);
  }

  private lowWord(b: BlockNo, x: Operand): Operand {
    const low = this.fresh32();
    this.d.insertAtEnd(b, instr(this.d.opcode('UNPAIR'), 0, [low, NO_REG], [x], this.loc));
    return reg(low);
  }

  /** The unsigned minimum of a number and a constant. */
  private least(b: BlockNo, x: Operand, most: bigint): Operand {
    const { d, s } = this;
    const r = d.freshReg(regFile(s.selector));
    const op = d.opcode('IMNMX');
    const mods = withMods(op, 0, 'MIN', `U${s.width}`);
    d.insertAtEnd(b, instr(op, mods, [r], [x, immOf(most, s.width)], this.loc));
    return reg(r);
  }

  private compare(b: BlockNo, cmp: string, signed: boolean, x: Operand, place: bigint, loc: number): Reg {
    return this.compareValue(b, cmp, signed, x, this.map.valueAt(place), loc);
  }

  private compareValue(
    b: BlockNo,
    cmp: string,
    signed: boolean,
    x: Operand,
    value: bigint,
    loc: number,
  ): Reg {
    const { d } = this;
    const width = regFile(x.reg) === RegFile.RD || regFile(x.reg) === RegFile.URD ? 64 : 32;
    const op = d.opcode('ISETP');
    const p = d.freshReg(RegFile.P);
    const mods = withMods(op, 0, cmp, `${signed ? 'S' : 'U'}${width}`);
    d.insertAtEnd(b, instr(op, mods, [p, NO_REG], [x, immOf(value, width), PT], loc));
    return p;
  }

  private branch(b: BlockNo, p: Reg, yes: BlockNo, no: BlockNo, loc: number): void {
    const { d } = this;
    if (yes === no) d.setTerminator(b, null, no);
    else d.setTerminator(b, withGuard(d.branchTo(yes, loc), p), no);
  }

  private fresh32(): Reg {
    return this.d.freshReg(RegFile.R);
  }
}

/** The edges out of one block: two of them to one target can give its phis only one value. */
class Ways {
  private readonly e: Emitter;
  private readonly b: BlockNo;
  private readonly direct = new Map<BlockNo, Leaf>();

  constructor(e: Emitter, b: BlockNo) {
    this.e = e;
    this.b = b;
  }

  /** The block to which edges for a leaf go. */
  to(leaf: Leaf): BlockNo {
    const first = this.direct.get(leaf.block);
    if (first === undefined) this.direct.set(leaf.block, leaf);
    return first === undefined || first === leaf || leaf.args.length === 0
      ? leaf.block
      : this.e.landing(leaf);
  }

  /** Records the phi operands that the block's edges bring. */
  recordPhis(): void {
    for (const leaf of this.direct.values()) this.e.bring(this.b, leaf);
  }
}
