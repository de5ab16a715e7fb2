import type { BlockRow, FnRow, InsRow, RunRow, TableRows } from '../recording.ts';

/** The tables of a page, extended by answers of the engine. */
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
 * Functions of each snapshot of a run: 0 is the program as it was lowered, i the result of the phase at index i - 1.
 *
 * @returns by snapshot, the numbers of its functions
 */
export function snapshotsOf(run: RunRow): readonly (readonly number[])[] {
  const out: (readonly number[])[] = [run.input];
  for (const p of run.phases) out.push(p.program ?? out[out.length - 1]);
  return out;
}

/** Number of a function in a snapshot, by its name; -1 if there is none with that name. */
export const fnIn = (t: Tables, snapshot: readonly number[], name: string): number =>
  snapshot.find((f) => t.fns[f].name === name) ?? -1;
