import { Parts } from './bytes.ts';
import { INSTRUCTION_BYTES } from './code-size.ts';
import { encodeLines, type LineFile, type LineOp, type LineUnit, parseLines } from './lines.ts';
import type { KernelCode, ModuleLines } from './make-input.ts';

/*
 * Tables of lines as ptxas 13.0.88 writes them: `.debug_line` for the source, where PTX names it by `.loc`, `.nv_debug_line_sass` for the
 * PTX, and `.nv_debug_ptx_txt`, its text. What was inlined has the position that it has by itself.
 */

/** The header that ptxas writes, and the opcodes that follow from it. */
const HEADER = {
  version: 2,
  minimumInstruction: 1,
  defaultIsStatement: 1,
  lineBase: -5,
  lineRange: 14,
  operandCounts: [0, 1, 1, 1, 1, 0, 0, 0, 1],
  padding: 0,
} as const;
const OP = { extended: 0, copy: 1, advancePc: 2, advanceLine: 3, setFile: 4 } as const;
const EXTENDED = { end: Uint8Array.of(1), setAddress: Uint8Array.of(2, 0, 0, 0, 0, 0, 0, 0, 0) } as const;

/** A section of lines, and where in it the address of each kernel belongs. */
export interface LineSection {
  readonly units: readonly LineUnit[];
  /** For each kernel with lines: the offset of its address operand. */
  readonly places: readonly { readonly kernel: number; readonly offset: number }[];
}

/** A position in a file, from an offset in the code on. */
interface Position {
  readonly at: number;
  readonly file: number;
  readonly line: number;
}

/** The two tables of a module. */
export function lineSections(
  kernels: readonly KernelCode[],
  { files }: ModuleLines,
): { readonly source: LineSection; readonly ptx: LineSection } {
  const folders = [...new Set(files.map(folderOf))].filter((f) => f !== '');
  const named = files.map(
    (f): LineFile => ({
      name: f.slice(f.lastIndexOf('/') + 1),
      directory: folders.indexOf(folderOf(f)) + 1,
      time: 0,
      bytes: 0,
    }),
  );
  const of = (k: KernelCode): NonNullable<KernelCode['lines']> => k.lines ?? [];
  return {
    source: sectionOf(
      kernels,
      (k) => of(k).flatMap(({ at, file, line }) => (file > 0 ? [{ at, file, line }] : [])),
      folders,
      named,
    ),
    ptx: sectionOf(kernels, (k) => of(k).map(({ at, ptx }) => ({ at, file: 0, line: ptx })), [], []),
  };
}

/** The folder of a file; '' where it has none. */
const folderOf = (file: string): string => /^(.*)\/[^/]*$/.exec(file)?.[1] ?? '';

function sectionOf(
  kernels: readonly KernelCode[],
  positions: (k: KernelCode) => readonly Position[],
  directories: readonly string[],
  files: readonly LineFile[],
): LineSection {
  const all = kernels.map(positions);
  const ops = all.flatMap((p, k) => (p.length === 0 ? [] : programOf(p, kernels[k].code.length)));
  const units = [{ ...HEADER, operandCounts: [...HEADER.operandCounts], directories, files, ops }];
  const withLines = [...all.keys()].filter((k) => all[k].length > 0);
  // Where operands are is known once they are encoded.
  const offsets = parseLines(encodeLines(units), new Parts()).flatMap((u) =>
    u.ops.flatMap((o) => (o.addressAt === undefined ? [] : [o.addressAt])),
  );
  return { units, places: withLines.map((kernel, i) => ({ kernel, offset: offsets[i] })) };
}

/** The line number program of a kernel: a row where the position changes, and one behind its code. */
function programOf(positions: readonly Position[], bytes: number): LineOp[] {
  const ops: LineOp[] = [{ opcode: OP.extended, extended: EXTENDED.setAddress }];
  const one = (opcode: number, operand: number): void => void ops.push({ opcode, operands: [operand] });
  let [at, file, line] = [0, -1, 1];
  for (const [k, p] of positions.entries()) {
    // What precedes the first position has it too.
    const from = k === 0 ? 0 : p.at;
    if (p.file === file && p.line === line) continue;
    const [by, down] = [from - at, p.line - line];
    const special = by * HEADER.lineRange + down - HEADER.lineBase + HEADER.operandCounts.length + 1;
    const fits = down >= HEADER.lineBase && down < HEADER.lineBase + HEADER.lineRange;
    if (p.file === file && by === INSTRUCTION_BYTES && fits && special <= 255) ops.push({ opcode: special });
    else {
      if (p.file !== file) one(OP.setFile, p.file);
      if (down !== 0) one(OP.advanceLine, down);
      if (by !== 0) one(OP.advancePc, by);
      ops.push({ opcode: OP.copy, operands: [] });
    }
    [at, file, line] = [from, p.file, p.line];
  }
  one(OP.advancePc, bytes - at);
  ops.push({ opcode: OP.extended, extended: EXTENDED.end });
  return ops;
}

/** The text of PTX as a cubin holds it: its lines, each ended by a zero, but for lines that are comments or positions. */
export function ptxText(text: string): Uint8Array {
  const lines = text.split('\n').map((l) => {
    const own = l.trimStart().replace(/\r$/, '');
    return /^(?:\/\/|\.(?:loc|file)\b)/.test(own) ? '' : own;
  });
  while (lines.length > 0 && lines.at(-1) === '') lines.pop();
  return new TextEncoder().encode(lines.map((l) => `${l}\0`).join(''));
}
