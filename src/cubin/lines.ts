import { BinaryError, Bytes, ByteWriter, hex, type Parts, sameBytes } from './bytes.ts';

/*
 * Line tables: DWARF 2 line number programs (DWARF 2.0, section 6.2). `.debug_line` maps instructions to source lines,
 * `.nv_debug_line_sass` to PTX lines. One opcode is NVIDIA's extension: it says what was inlined, and where.
 */

/** Extended opcodes. */
const LNE = { endSequence: 1, setAddress: 2, inlinedCall: 0x90 } as const;
/** Standard opcodes. */
const LNS = {
  extended: 0,
  copy: 1,
  advancePc: 2,
  advanceLine: 3,
  setFile: 4,
  setColumn: 5,
  negate: 6,
  constAddPc: 8,
  fixedAdvance: 9,
};

/** One operation of a line number program. Special opcodes have no operands. */
export interface LineOp {
  readonly opcode: number;
  readonly operands?: readonly number[];
  /** Bytes of an extended operation (opcode 0), starting with its code. */
  readonly extended?: Uint8Array;
  /** For an operation that sets the address: offset of the address in the section, where a relocation applies. */
  readonly addressAt?: number;
}

/** A file of a line table. */
export interface LineFile {
  readonly name: string;
  /** Number of the directory, counting from 1; 0: the compilation directory. */
  readonly directory: number;
  readonly time: number;
  readonly bytes: number;
}

/** One line table with its header. */
export interface LineUnit {
  readonly version: number;
  readonly minimumInstruction: number;
  readonly defaultIsStatement: number;
  readonly lineBase: number;
  readonly lineRange: number;
  /** Operand counts of the standard opcodes, starting with opcode 1. */
  readonly operandCounts: readonly number[];
  readonly directories: readonly string[];
  readonly files: readonly LineFile[];
  /** Number of zero bytes between the files and the program: ptxas leaves four if the program describes inlined calls. */
  readonly padding: number;
  readonly ops: readonly LineOp[];
}

/**
 * Parses a section of line tables.
 *
 * @param parts counts directories, files and operations
 * @throws BinaryError if the bytes are malformed or not in the canonical encoding
 */
export function parseLines(bytes: Uint8Array, parts: Parts): LineUnit[] {
  const b = new Bytes(bytes);
  const units: LineUnit[] = [];
  while (b.left > 0) units.push(parseUnit(b, parts));
  if (!sameBytes(encodeLines(units), bytes))
    throw new BinaryError('the line tables are not in their shortest form', 0);
  return units;
}

function parseUnit(b: Bytes, parts: Parts): LineUnit {
  parts.add(1);
  const length = b.u32();
  const end = b.at + length;
  if (length > b.left) throw new BinaryError('a line table is longer than its section', b.at);
  const version = b.u16();
  if (version < 2 || version > 3)
    throw new BinaryError(`line tables of version ${version} are not supported`, b.at);
  const program = b.u32() + b.at;
  const [minimumInstruction, defaultIsStatement, lineBase, lineRange] = [b.u8(), b.u8(), b.i8(), b.u8()];
  if (lineRange === 0)
    throw new BinaryError('a line table has a line range of 0 for its special opcodes', b.at);
  const operandCounts = [...b.some(Math.max(0, b.u8() - 1))];
  const directories: string[] = [];
  for (let d = b.cstring(); d !== ''; d = b.cstring()) {
    parts.add(1);
    directories.push(d);
  }
  const files: LineFile[] = [];
  for (let name = b.cstring(); name !== ''; name = b.cstring()) {
    parts.add(1);
    files.push({ name, directory: b.uleb(), time: b.uleb(), bytes: b.uleb() });
  }
  const padding = program - b.at;
  if (padding < 0 || b.some(padding).some((x) => x !== 0))
    throw new BinaryError('the header of a line table has an unexpected length', b.at);
  const ops: LineOp[] = [];
  while (b.at < end) {
    const op = parseOp(b, operandCounts);
    parts.add(1 + (op.operands?.length ?? 0));
    ops.push(op);
  }
  if (b.at !== end) throw new BinaryError('a line table ends within an operation', b.at);
  return {
    version,
    minimumInstruction,
    defaultIsStatement,
    lineBase,
    lineRange,
    operandCounts,
    directories,
    files,
    padding,
    ops,
  };
}

function parseOp(b: Bytes, operandCounts: readonly number[]): LineOp {
  const opcode = b.u8();
  if (opcode > operandCounts.length) return { opcode };
  if (opcode === LNS.extended) {
    const length = b.uleb();
    const at = b.at;
    if (length === 0) throw new BinaryError('an operation of a line table has no opcode', at);
    const extended = b.some(length);
    return extended[0] === LNE.setAddress ? { opcode, extended, addressAt: at + 1 } : { opcode, extended };
  }
  const one = (): number =>
    opcode === LNS.fixedAdvance ? b.u16() : opcode === LNS.advanceLine ? b.sleb() : b.uleb();
  return { opcode, operands: Array.from({ length: operandCounts[opcode - 1] }, one) };
}

/** Encodes a section of line tables. */
export function encodeLines(units: readonly LineUnit[]): Uint8Array {
  const w = new ByteWriter();
  for (const u of units) {
    const head = new ByteWriter();
    for (const n of [u.minimumInstruction, u.defaultIsStatement, u.lineBase & 0xff, u.lineRange]) head.u8(n);
    head.u8(u.operandCounts.length + 1);
    for (const n of u.operandCounts) head.u8(n);
    for (const d of u.directories) head.cstring(d);
    head.u8(0);
    for (const f of u.files) {
      head.cstring(f.name);
      for (const n of [f.directory, f.time, f.bytes]) head.uleb(n);
    }
    head.u8(0);
    head.zeros(u.padding);
    const ops = new ByteWriter();
    for (const op of u.ops) encodeOp(ops, op);
    w.u32(2 + 4 + head.length + ops.length);
    w.u16(u.version);
    w.u32(head.length);
    w.some(head.done());
    w.some(ops.done());
  }
  return w.done();
}

function encodeOp(w: ByteWriter, op: LineOp): void {
  w.u8(op.opcode);
  if (op.extended !== undefined) {
    w.uleb(op.extended.length);
    w.some(op.extended);
  }
  for (const n of op.operands ?? [])
    if (op.opcode === LNS.fixedAdvance) w.u16(n);
    // ptxas writes both as signed numbers, so the unsigned one sometimes has an extra byte.
    else if (op.opcode === LNS.advanceLine || op.opcode === LNS.advancePc) w.sleb(n);
    else w.uleb(n);
}

/** A row of a line table: instructions from `address` on come from this position. */
export interface LineRow {
  /** Offset in the section of its sequence's address operand, whose relocation identifies the function. */
  readonly addressAt: number;
  readonly address: number;
  /** Number of the file in the unit, counting from 1. */
  readonly file: number;
  readonly line: number;
  readonly column: number;
  /** For inlined code: index of the row of the call in the unit; otherwise -1. */
  readonly inlinedAt: number;
  /** For inlined code: offset of the function's name in `.debug_str`. */
  readonly functionName: number;
  /** True for the row after the last instruction of a function. */
  readonly end: boolean;
}

/**
 * Executes the line number program of a unit.
 *
 * @returns its rows, in order
 * @throws BinaryError for an unknown operation
 */
export function lineRows(u: LineUnit): LineRow[] {
  const rows: LineRow[] = [];
  const base = u.operandCounts.length + 1;
  const start = {
    addressAt: -1,
    address: 0,
    file: 1,
    line: 1,
    column: 0,
    inlinedAt: -1,
    functionName: 0,
    end: false,
  };
  let at = { ...start };
  // Call rows are numbered within their function, from 1.
  let first = 0;
  const advance = (n: number): void => void (at.address += n * u.minimumInstruction);
  for (const op of u.ops) {
    const [n = 0] = op.operands ?? [];
    if (op.opcode >= base) {
      advance(Math.floor((op.opcode - base) / u.lineRange));
      at.line += u.lineBase + ((op.opcode - base) % u.lineRange);
      rows.push({ ...at });
    } else if (op.extended !== undefined) {
      const b = new Bytes(op.extended);
      const code = b.u8();
      if (code === LNE.endSequence) {
        rows.push({ ...at, end: true });
        at = { ...start };
        first = rows.length;
      } else if (code === LNE.setAddress)
        Object.assign(at, { addressAt: op.addressAt ?? -1, address: b.u64() });
      else if (code === LNE.inlinedCall) {
        const call = b.uleb();
        Object.assign(at, { inlinedAt: call === 0 ? -1 : first + call - 1, functionName: b.uleb() });
      }
    } else if (op.opcode === LNS.copy) rows.push({ ...at });
    else if (op.opcode === LNS.advancePc) advance(n);
    else if (op.opcode === LNS.advanceLine) at.line += n;
    else if (op.opcode === LNS.setFile) at.file = n;
    else if (op.opcode === LNS.setColumn) at.column = n;
    else if (op.opcode === LNS.constAddPc) advance(Math.floor((255 - base) / u.lineRange));
    else if (op.opcode === LNS.fixedAdvance) at.address += n;
    else if (op.opcode >= 10)
      throw new BinaryError(`operation ${hex(op.opcode)} of a line table is not known`, 0);
  }
  return rows;
}
