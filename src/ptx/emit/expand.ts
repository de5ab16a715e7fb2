import { Kind, NO_REG, type Reg } from '../../ir/operand.ts';
import type { Instr } from '../../ir/program.ts';
import { Unsupported } from '../../ir/unsupported.ts';
import { fitsDestination, fitsSource, takes } from './pattern.ts';
import type { PtxTable, Row } from './table.ts';
import type { Piece } from './template.ts';
import type { Writer } from './writer.ts';

/** Whether carry in and carry out of an instruction are in CC.CF. */
export interface Carries {
  readonly in: boolean;
  readonly out: boolean;
}

/** Both carries, if any, are predicates. */
export const NO_CARRY: Carries = { in: false, out: false };

/** Names of block labels and jump tables of the function, for templates. */
export interface Names {
  readonly label: (block: number) => string;
  readonly table: (index: number) => string;
}

/**
 * The first row of the table that fits an instruction and its operands.
 * @param sm number of the target: 80 for sm_80
 * @throws Unsupported if no row fits, or if the row states that PTX cannot express the instruction
 */
export function rowOf(table: PtxTable, i: Instr, sm: number, carries: Carries): Row {
  const rows = table.rows(i.op, i.mods, sm);
  const carryAt = i.op.srcs.length - 1;
  for (const row of rows) {
    const { src, dst } = row;
    if (src !== null && !src.every((p, k) => fitsSource(p, i.src[k], k === carryAt && carries.in))) continue;
    if (dst !== null && !dst.every((p, k) => fitsDestination(p, i.dst[k], k === 1 && carries.out))) continue;
    if (row.none !== '') throw new Unsupported(`${i.op.name}: ${row.none}`);
    return row;
  }
  throw new Unsupported(`${i.op.name} has no form for these operands`);
}

/** The guard of an instruction as a prefix, `@%p1 ` or `@!%p1 `; '' without a guard. */
export const guardOf = (w: Writer, i: Instr): string =>
  i.guard === NO_REG ? '' : `@${i.guardNot ? '!' : ''}${w.name(i.guard)} `;

const isResult = (p: Piece): boolean => typeof p !== 'string' && p.kind === 'dst';

/**
 * Writes the lines of a row. Lines that only compute a temporary are written without the guard: a guarded definition keeps the old value,
 * so that for ptxas a guarded temporary is live on every path that leads there. In merge sort (CUB, sm_80) guards on temporaries cost 9 %
 * more code and 4 more registers.
 */
export function expand(w: Writer, row: Row, i: Instr, names: Names): void {
  const guard = guardOf(w, i);
  // Sources must keep their values until the last line, so results that are also read go to temporaries first.
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
        // Stored constants are written as bits, for any type of the access.
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

/** Letter of the temporary for an unused element of a vector of results. */
const letterBeside = (w: Writer, i: Instr, width: number): string =>
  width > 32 ? 'w' : i.dst.some((d) => d !== NO_REG && w.letterOf(d) === 'h') ? 'h' : 't';

const MOVE: Readonly<Record<string, string>> = {
  t: 'mov.b32',
  w: 'mov.b64',
  p: 'mov.pred',
  h: 'mov.b16',
};

/** Copies results from their temporaries. A result that overwrites the guard is copied last, since the copies have the guard. */
export function copyOut(w: Writer, i: Instr, results: readonly string[], guard: string): void {
  const order = i.dst.map((_, k) => k).filter((k) => i.dst[k] !== NO_REG);
  order.sort((a, b) => Number(i.dst[a] === i.guard) - Number(i.dst[b] === i.guard));
  for (const k of order) w.line(`${guard}${MOVE[w.letterOf(i.dst[k])]} ${w.name(i.dst[k])}, ${results[k]}`);
}
