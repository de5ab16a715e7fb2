import { Kind, NO_REG, type Reg } from '../../ir/operand.ts';
import type { Instr } from '../../ir/program.ts';
import { fitsDestination, fitsSource, takes } from './pattern.ts';
import type { PtxTable, Row } from './table.ts';
import type { Piece } from './template.ts';
import { NoPtx, type Writer } from './writer.ts';

/** Which carries of an instruction are in CC.CF. */
export interface Carries {
  readonly in: boolean;
  readonly out: boolean;
}

export const NO_CARRY: Carries = { in: false, out: false };

/** What templates refer to: block labels and table names of the function. */
export interface Names {
  readonly label: (block: number) => string;
  readonly table: (index: number) => string;
}

/** The row that tells how to write an instruction for a target (80 for sm_80). Throws NoPtx if PTX cannot express it. */
export function rowOf(table: PtxTable, i: Instr, sm: number, carries: Carries): Row {
  const rows = table.rows(i.op, i.mods, sm);
  const carryAt = i.op.srcs.length - 1;
  for (const row of rows) {
    const { src, dst } = row;
    if (src !== null && !src.every((p, k) => fitsSource(p, i.src[k], k === carryAt && carries.in))) continue;
    if (dst !== null && !dst.every((p, k) => fitsDestination(p, i.dst[k], k === 1 && carries.out))) continue;
    if (row.none !== '') throw new NoPtx(`${i.op.name}: ${row.none}`);
    return row;
  }
  throw new NoPtx(`${i.op.name} has no form for these operands`);
}

export const guardOf = (w: Writer, i: Instr): string =>
  i.guard === NO_REG ? '' : `@${i.guardNot ? '!' : ''}${w.name(i.guard)} `;

const isResult = (p: Piece): boolean => typeof p !== 'string' && p.kind === 'dst';

/**
 * Writes the lines of a row. What only computes a temporary is written without the guard: to ptxas a guarded line keeps what
 * its register held before, so a guarded temporary lives from wherever control comes. Of merge sort (CUB, for sm_80) it made
 * 9 % more code and 4 registers more.
 */
export function expand(w: Writer, row: Row, i: Instr, names: Names): void {
  const guard = guardOf(w, i);
  // Sources must keep their values until the last line of an expansion, so results go to temporaries first.
  const wait = row.lines.length > 1 && i.dst.some((d) => d !== NO_REG && reads(i, d));
  const results = i.dst.map((d) => (d === NO_REG ? '' : wait ? w.temp(w.letterOf(d)) : w.name(d)));
  const temps = new Map<string, string>();
  const source = (at: number, type: string, width: number, not: boolean): string => {
    const o = i.src[at];
    const mods = o.mods & ~takes(row.src?.[at]);
    switch (o.kind) {
      case Kind.Label:
        return names.label(o.lo);
      case Kind.Table:
        return names.table(o.lo);
      case Kind.Addr:
        return w.address(o);
      case Kind.CBank:
        if (i.op.space === 'const') return w.address(o);
    }
    return type === 'pred' ? w.predicate(o, not, mods) : w.value(o, width, type, mods);
  };
  const several = (list: readonly string[]): string => (list.length === 1 ? list[0] : `{${list.join(', ')}}`);
  const fill = (p: Piece): string => {
    if (typeof p === 'string') return p;
    switch (p.kind) {
      case 'src': {
        // Stored constants are plain bits, whatever type the access names.
        if (!p.all) return source(p.at, p.type, p.width, p.not);
        const list: string[] = [];
        for (let k = p.at; k < i.src.length; k++)
          list.push(source(k, p.width > 32 ? 'b64' : 'b32', p.width, false));
        return several(list);
      }
      case 'dst': {
        if (p.all)
          return several(
            i.dst.map((d, k) => (d === NO_REG ? w.temp(letterBeside(w, i, p.width)) : results[k])),
          );
        if (i.dst[p.at] !== NO_REG) return results[p.at];
        if (p.sink) return '_';
        return w.temp(i.op.dsts[p.at].bank === 'p' ? 'p' : p.width > 32 ? 'w' : 't');
      }
      case 'temp': {
        let t = temps.get(p.name);
        if (t === undefined) {
          t = w.temp(w.takesHalves && p.file === 't' ? 'h' : p.file);
          temps.set(p.name, t);
        }
        return t;
      }
    }
  };
  for (const l of row.lines) {
    let text = '';
    for (const p of l.pieces) text += fill(p);
    w.line(l.pure && (wait || !l.pieces.some(isResult)) ? text : guard + text);
  }
  if (wait) copyOut(w, i, results, guard);
}

const reads = (i: Instr, d: Reg): boolean => i.guard === d || i.src.some((o) => o.reg === d);

/** Letter of a temporary that stands in a vector of results. */
const letterBeside = (w: Writer, i: Instr, width: number): string =>
  width > 32 ? 'w' : i.dst.some((d) => d !== NO_REG && w.letterOf(d) === 'h') ? 'h' : 't';

const MOVE: Readonly<Record<string, string>> = {
  t: 'mov.b32',
  w: 'mov.b64',
  p: 'mov.pred',
  h: 'mov.b16',
};

/** Copies the results from their temporaries. The guard comes last, because the copies themselves are guarded by it. */
export function copyOut(w: Writer, i: Instr, results: readonly string[], guard: string): void {
  const order = i.dst.map((_, k) => k).filter((k) => i.dst[k] !== NO_REG);
  order.sort((a, b) => Number(i.dst[a] === i.guard) - Number(i.dst[b] === i.guard));
  for (const k of order) w.line(`${guard}${MOVE[w.letterOf(i.dst[k])]} ${w.name(i.dst[k])}, ${results[k]}`);
}
