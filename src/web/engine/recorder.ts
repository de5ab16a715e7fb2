import { Pool } from '../../analysis/registers/liveness.ts';
import { pressureOf } from '../../analysis/registers/pressure.ts';
import { NO_REG, regName } from '../../ir/operand.ts';
import type { Block, Fn, Instr, Program } from '../../ir/program.ts';
import { printFn, printGuarded } from '../../ir/text.ts';
import type { BlockRow, FnRow, InsRow, TableRows } from '../recording.ts';

/** Number of instructions after which the tables are restarted: they hold every version that was ever shown. */
const MOST_ROWS = 1_000_000;

/** Numbers the objects that snapshots share: an object keeps its number as long as the tables live. */
export class Recorder {
  /** Functions by number, for later requests about them. */
  readonly fns: Fn[] = [];
  private ins = new Map<Instr, number>();
  private blocks = new Map<Block, number>();
  private numbers = new Map<Fn, number>();
  private rows: { ins: InsRow[]; blocks: BlockRow[]; fns: FnRow[] } = { ins: [], blocks: [], fns: [] };
  private fresh = true;

  /** Numbers of the functions of a snapshot. */
  program(p: Program): number[] {
    return p.functions.map((f) => this.fn(f, p));
  }

  instruction(ins: Instr, p: Program): number {
    let n = this.ins.get(ins);
    if (n === undefined) {
      this.ins.set(ins, (n = this.ins.size));
      const defines = ins.dst.flatMap((r) => (r === NO_REG ? [] : [regName(r)])).join(' ');
      this.rows.ins.push([printGuarded(ins), p.locs[ins.loc]?.line ?? 0, defines]);
    }
    return n;
  }

  private block(b: Block, p: Program): number {
    let n = this.blocks.get(b);
    if (n === undefined) {
      this.blocks.set(b, (n = this.blocks.size));
      this.rows.blocks.push({ id: b.id, name: b.name, ins: b.ins.map((i) => this.instruction(i, p)) });
    }
    return n;
  }

  private fn(fn: Fn, p: Program): number {
    let n = this.numbers.get(fn);
    if (n === undefined) {
      const blocks = fn.blocks.map((b) => this.block(b, p));
      this.numbers.set(fn, (n = this.fns.length));
      this.fns.push(fn);
      this.rows.fns.push({
        name: fn.name,
        kind: fn.kind,
        head: headOf(fn),
        blocks,
        pressure: pressureOf(fn).most[Pool.R],
        size: fn.blocks.reduce((k, b) => k + b.ins.length, 0),
      });
    }
    return n;
  }

  /** Register pressure of a function, by its number. */
  pressure(n: number): number {
    return pressureOf(this.fns[n]).most[Pool.R];
  }

  /** Whether the tables have grown so much that they should be restarted. */
  get full(): boolean {
    return this.ins.size > MOST_ROWS;
  }

  /** Returns the rows that were added since the last call. */
  take(): TableRows {
    const out = { fresh: this.fresh, ...this.rows };
    this.rows = { ins: [], blocks: [], fns: [] };
    this.fresh = false;
    return out;
  }
}

/** Lines of a listing before the code. */
function headOf(fn: Fn): string[] {
  const text = printFn({ ...fn, blocks: [] }, { locs: false });
  return text.split('\n').filter((l) => !/^( {2}\.(regs|blocks)\b|[{}])/.test(l));
}
