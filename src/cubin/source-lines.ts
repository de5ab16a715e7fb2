import { utf8 } from './bytes.ts';
import type { Elf, Section } from './elf.ts';
import { symbolsOf } from './functions.ts';
import { type LineRow, type LineUnit, lineRows } from './lines.ts';
import { NameTable } from './names.ts';

/* Source positions of instructions: the line tables of a cubin, by function and offset. */

/** A position in a text that instructions were compiled from. */
export interface SourcePlace {
  /** File name; '' for the PTX that the cubin was compiled from. */
  readonly file: string;
  readonly line: number;
  /** For inlined code: the function's name, and the position of the call. */
  readonly inlined?: { readonly name: string; readonly at: SourcePlace };
}

/** Instructions from this offset of a function on have this source position; null: unknown. */
export interface LineEntry {
  readonly offset: number;
  readonly place: SourcePlace | null;
}

/** Kind of line table: for the source, or for the PTX. */
export type LineTable = 'source' | 'ptx';

const SECTIONS: Readonly<Record<LineTable, string>> = {
  source: '.debug_line',
  ptx: '.nv_debug_line_sass',
};
/** Maximum inlining depth; more is a cycle. */
const MOST_INLINED = 100;

/**
 * Line tables by code section, sorted by offset. Empty if the cubin has none.
 *
 * @throws BinaryError if a table is malformed
 */
export function sourceLines(elf: Elf, table: LineTable): Map<number, readonly LineEntry[]> {
  const out = new Map<number, LineEntry[]>();
  const at = elf.sections.findIndex((s) => s.name === SECTIONS[table]);
  const content = elf.sections[at]?.content;
  if (content?.kind !== 'lines') return out;
  const codeOf = codeByAddress(elf, at);
  const names = stringsOf(elf.sections.find((s) => s.name === '.debug_str'));
  for (const unit of content.units) {
    const rows = lineRows(unit);
    const places = placesOf(unit, rows, names);
    for (const [k, row] of rows.entries()) {
      const code = codeOf(row.addressAt);
      if (code === null) continue;
      const list = out.get(code.section) ?? [];
      list.push({
        offset: row.address + code.offset,
        place: row.end ? null : places(k),
      });
      out.set(code.section, list);
    }
  }
  // Of several rows for one offset the last one applies; the sort is stable.
  for (const list of out.values()) list.sort((a, b) => a.offset - b.offset);
  return out;
}

/** The source position of the instruction at an offset; null if unknown. */
export function placeAt(lines: readonly LineEntry[], offset: number): SourcePlace | null {
  let [low, high] = [0, lines.length];
  while (low < high) {
    const mid = (low + high) >> 1;
    if (lines[mid].offset <= offset) low = mid + 1;
    else high = mid;
  }
  return low === 0 ? null : lines[low - 1].place;
}

/** Lines of the PTX that a cubin was compiled from, the first being line 1; empty if it does not contain them. */
export function ptxLines(elf: Elf): string[] {
  const c = elf.sections.find((s) => s.name === '.nv_debug_ptx_txt')?.content;
  return c?.kind === 'bytes' ? utf8(c.bytes).split('\0') : [];
}

/** The source positions of a unit's rows, computed once each: thousands of rows may be inlined at one call. */
function placesOf(unit: LineUnit, rows: readonly LineRow[], names: NameTable): (row: number) => SourcePlace {
  const placed = new Map<number, { readonly at: SourcePlace; readonly depth: number }>();
  const plain = (k: number): SourcePlace => {
    const row = rows[k];
    const file = unit.files[row.file - 1];
    const folder = file === undefined || file.directory === 0 ? '' : unit.directories[file.directory - 1];
    return {
      file: file === undefined ? '' : folder ? `${folder}/${file.name}` : file.name,
      line: row.line,
    };
  };
  return (row) => {
    // Walks from the row to a call whose position is known or that was not inlined; positions are created on the way back.
    const way: number[] = [];
    let k = row;
    while (!placed.has(k) && rows[k].inlinedAt in rows && way.length < MOST_INLINED) {
      way.push(k);
      k = rows[k].inlinedAt;
    }
    let last = placed.get(k) ?? { at: plain(k), depth: 0 };
    placed.set(k, last);
    for (const inner of way.reverse()) {
      const inlined = { name: names.at(rows[inner].functionName), at: last.at };
      last =
        last.depth < MOST_INLINED
          ? { at: { ...plain(inner), inlined }, depth: last.depth + 1 }
          : { at: plain(inner), depth: 0 };
      placed.set(inner, last);
    }
    return last.at;
  };
}

/** Maps the offset of an address operand to code: a relocation of the line section names a symbol there. */
function codeByAddress(
  elf: Elf,
  lines: number,
): (at: number) => { readonly section: number; readonly offset: number } | null {
  const symbols = symbolsOf(elf);
  const targets = new Map<number, { section: number; offset: number }>();
  for (const s of elf.sections) {
    if (s.content.kind !== 'relocations' || s.info !== lines) continue;
    for (const r of s.content.relocations) {
      const symbol = symbols[r.symbol];
      if (symbol !== undefined)
        targets.set(r.offset, { section: symbol.section, offset: symbol.value + (r.addend ?? 0) });
    }
  }
  return (at) => targets.get(at) ?? null;
}

const stringsOf = (s: Section | undefined): NameTable =>
  new NameTable(s?.content.kind === 'bytes' ? s.content.bytes : new Uint8Array(), []);
