import type { BlockRow, FnRow, InsRow, RunRow, TableRows } from '../recording.ts';

/** The tables of a page, to which answers of the engine add rows. */
export class Tables {
  readonly ins: InsRow[] = [];
  readonly blocks: BlockRow[] = [];
  readonly fns: FnRow[] = [];

  add(rows: TableRows): void {
    if (rows.fresh) this.ins.length = this.blocks.length = this.fns.length = 0;
    for (const r of rows.ins) this.ins.push(r);
    for (const r of rows.blocks) this.blocks.push(r);
    for (const r of rows.fns) this.fns.push(r);
  }

  /** The opcode of an instruction with its modifiers. */
  mnemonic(ins: number): string {
    const text = this.ins[ins][0].slice(7);
    const end = text.indexOf(' ');
    return end < 0 ? text : text.slice(0, end);
  }
}

/**
 * Snapshots of a run are numbered: 0 is the program as it was lowered, i what the phase at place i - 1 left.
 * @returns the functions of each
 */
export function snapshotsOf(run: RunRow): readonly (readonly number[])[] {
  const out: (readonly number[])[] = [run.input];
  for (const p of run.phases) out.push(p.program ?? out[out.length - 1]);
  return out;
}

/** Number of a function in a snapshot, by its name; -1 where it has none of that name. */
export const fnIn = (t: Tables, snapshot: readonly number[], name: string): number =>
  snapshot.find((f) => t.fns[f].name === name) ?? -1;
