import { BinaryError, Bytes, ByteWriter, type Parts, sameBytes, TooManyParts } from './bytes.ts';
import { SHT } from './codes.ts';
import { encodeLines, type LineUnit, parseLines } from './lines.ts';
import type { NameTable, NameTables } from './names.ts';

/*
 * Structured contents of sections. A section is parsed only if encoding it again gives the same bytes; otherwise it is kept as bytes.
 */

/** A symbol of the symbol table. */
export interface ElfSymbol {
  readonly name: string;
  /** Offset of the name in the string table, if not its first occurrence. */
  readonly nameAt?: number;
  readonly bind: number;
  readonly type: number;
  readonly other: number;
  readonly section: number;
  readonly value: number;
  readonly size: number;
}

/** An attribute of a file or a function, from `.nv.info` and similar sections. */
export interface Attribute {
  /** Format of the value: 1 none, 2 one byte, 3 two bytes, 4 a length followed by that many bytes. */
  readonly format: number;
  readonly code: number;
  /** For formats 1 to 3. */
  readonly value: number;
  /** For format 4. */
  readonly bytes?: Uint8Array;
}

/** A relocation of a section. */
export interface Relocation {
  readonly offset: number;
  readonly symbol: number;
  readonly type: number;
  /** Absent if the addend is in the relocated bytes. */
  readonly addend?: number;
}

export interface Note {
  readonly name: string;
  readonly type: number;
  readonly bytes: Uint8Array;
}

/** The content of a section. */
export type Content =
  | { readonly kind: 'none' }
  /** Memory without bytes in the file. */
  | { readonly kind: 'reserved'; readonly size: number }
  | { readonly kind: 'strings'; readonly strings: readonly string[] }
  | { readonly kind: 'symbols'; readonly symbols: readonly ElfSymbol[] }
  | { readonly kind: 'attributes'; readonly attributes: readonly Attribute[] }
  | { readonly kind: 'relocations'; readonly relocations: readonly Relocation[] }
  | { readonly kind: 'notes'; readonly notes: readonly Note[] }
  /** Call graph as pairs of caller and callee, by symbol index; values counting down from 0xffffffff are special. */
  | { readonly kind: 'calls'; readonly calls: readonly (readonly [number, number])[] }
  | { readonly kind: 'lines'; readonly units: readonly LineUnit[] }
  /** Four 32-bit words per instruction, least significant first. */
  | { readonly kind: 'code'; readonly words: Uint32Array }
  | { readonly kind: 'bytes'; readonly bytes: Uint8Array };

const SYMBOL_BYTES = 24;

/** What determines how a section's content is parsed. */
export interface SectionKind {
  readonly name: string;
  readonly type: number;
  readonly link: number;
}

/**
 * Parses the content of a section; bytes that cannot be reproduced are kept as they are.
 *
 * @param parts counts the parsed parts
 * @throws TooManyParts
 */
export function parseContent(s: SectionKind, bytes: Uint8Array, names: NameTables, parts: Parts): Content {
  try {
    const content = attempt(s, bytes, names, parts);
    if (content !== null && sameBytes(encodeContent(content, s.link, names), bytes)) return content;
  } catch (e) {
    if (!(e instanceof BinaryError) || e instanceof TooManyParts) throw e;
  }
  return { kind: 'bytes', bytes };
}

/** An instruction counts as this many parts, because its listing takes that much more memory than other parts. */
const PARTS_OF_INSTRUCTION = 4;

function attempt(s: SectionKind, bytes: Uint8Array, names: NameTables, parts: Parts): Content | null {
  switch (s.type) {
    case SHT.strtab:
      return parseStrings(bytes, parts);
    case SHT.symtab:
    case SHT.laterSymtab:
      return { kind: 'symbols', symbols: parseSymbols(bytes, names(s.link), parts) };
    case SHT.info:
    case SHT.laterInfo:
    case SHT.compat:
      return { kind: 'attributes', attributes: parseAttributes(bytes, parts) };
    case SHT.rel:
    case SHT.rela:
    case SHT.laterRela:
      return { kind: 'relocations', relocations: parseRelocations(bytes, s.type !== SHT.rel, parts) };
    case SHT.callGraph:
      return { kind: 'calls', calls: parseCalls(bytes, parts) };
    case SHT.note:
      return { kind: 'notes', notes: parseNotes(bytes, parts) };
    case SHT.progbits:
      if (s.name.startsWith('.text.') && bytes.length % 16 === 0) {
        parts.add((bytes.length / 16) * PARTS_OF_INSTRUCTION);
        return { kind: 'code', words: new Uint32Array(Uint8Array.from(bytes).buffer) };
      }
      if (/^\.(nv\.merc\.)?(debug_line|nv_debug_line_sass)$/.test(s.name))
        return { kind: 'lines', units: parseLines(bytes, parts) };
  }
  return null;
}

function parseStrings(bytes: Uint8Array, parts: Parts): Content | null {
  if (bytes.length === 0 || bytes[0] !== 0 || bytes.at(-1) !== 0) return null;
  const b = new Bytes(bytes);
  b.u8();
  const strings: string[] = [];
  while (b.left > 0) {
    parts.add(1);
    strings.push(b.cstring());
  }
  return { kind: 'strings', strings };
}

function parseSymbols(bytes: Uint8Array, names: NameTable, parts: Parts): ElfSymbol[] {
  if (bytes.length % SYMBOL_BYTES !== 0) throw new BinaryError('a symbol is cut off', 0);
  parts.add(bytes.length / SYMBOL_BYTES);
  const b = new Bytes(bytes);
  const symbols: ElfSymbol[] = [];
  while (b.left > 0) {
    const at = b.u32();
    const name = names.at(at);
    const info = b.u8();
    symbols.push({
      name,
      ...(names.offsetOf(name) !== at && { nameAt: at }),
      bind: info >> 4,
      type: info & 15,
      other: b.u8(),
      section: b.u16(),
      value: b.u64(),
      size: b.u64(),
    });
  }
  return symbols;
}

function parseAttributes(bytes: Uint8Array, parts: Parts): Attribute[] {
  const b = new Bytes(bytes);
  const attributes: Attribute[] = [];
  while (b.left > 0) {
    parts.add(1);
    const [format, code, value] = [b.u8(), b.u8(), b.u16()];
    attributes.push(
      format === 4 ? { format, code, value: 0, bytes: b.some(value) } : { format, code, value },
    );
  }
  return attributes;
}

function parseRelocations(bytes: Uint8Array, addends: boolean, parts: Parts): Relocation[] {
  if (bytes.length % (addends ? 24 : 16) !== 0) throw new BinaryError('a relocation is cut off', 0);
  const b = new Bytes(bytes);
  const relocations: Relocation[] = [];
  while (b.left > 0) {
    const offset = b.u64();
    parts.add(1);
    const [type, symbol] = [b.u32(), b.u32()];
    relocations.push({ offset, symbol, type, ...(addends && { addend: b.i64() }) });
  }
  return relocations;
}

function parseCalls(bytes: Uint8Array, parts: Parts): [number, number][] {
  const b = new Bytes(bytes);
  const calls: [number, number][] = [];
  parts.add(Math.floor(bytes.length / 8));
  while (b.left > 0) calls.push([b.u32(), b.u32()]);
  return calls;
}

function parseNotes(bytes: Uint8Array, parts: Parts): Note[] {
  const b = new Bytes(bytes);
  const notes: Note[] = [];
  const padded = (n: number): Uint8Array => {
    const part = b.some(n);
    b.some(-n & 3);
    return part;
  };
  while (b.left > 0) {
    parts.add(1);
    const [nameBytes, dataBytes, type] = [b.u32(), b.u32(), b.u32()];
    const name = new Bytes(padded(nameBytes)).cstring();
    notes.push({ name, type, bytes: padded(dataBytes) });
  }
  return notes;
}

/** Encodes a section's content. `link` is the section with the names of its symbols. */
export function encodeContent(c: Content, link: number, names: NameTables): Uint8Array {
  const w = new ByteWriter();
  switch (c.kind) {
    case 'none':
    case 'reserved':
      break;
    case 'bytes':
      return c.bytes;
    case 'code':
      return new Uint8Array(c.words.buffer, c.words.byteOffset, c.words.byteLength);
    case 'lines':
      return encodeLines(c.units);
    case 'strings':
      w.u8(0);
      for (const s of c.strings) w.cstring(s);
      break;
    case 'symbols':
      for (const s of c.symbols) {
        w.u32(s.nameAt ?? names(link).offsetOf(s.name));
        w.u8((s.bind << 4) | s.type);
        w.u8(s.other);
        w.u16(s.section);
        w.u64(s.value);
        w.u64(s.size);
      }
      break;
    case 'attributes':
      for (const a of c.attributes) {
        w.u8(a.format);
        w.u8(a.code);
        w.u16(a.bytes?.length ?? a.value);
        if (a.bytes !== undefined) w.some(a.bytes);
      }
      break;
    case 'relocations':
      for (const r of c.relocations) {
        w.u64(r.offset);
        w.u32(r.type);
        w.u32(r.symbol);
        if (r.addend !== undefined) w.u64(r.addend);
      }
      break;
    case 'calls':
      for (const [caller, callee] of c.calls) {
        w.u32(caller);
        w.u32(callee);
      }
      break;
    case 'notes':
      for (const n of c.notes) {
        const name = new ByteWriter();
        name.cstring(n.name);
        w.u32(name.length);
        w.u32(n.bytes.length);
        w.u32(n.type);
        w.some(name.done());
        w.zeros(-w.length & 3);
        w.some(n.bytes);
        w.zeros(-w.length & 3);
      }
  }
  return w.done();
}
