import { BinaryError, hex } from '../../cubin/bytes.ts';
import { SHF, SHT } from '../../cubin/codes.ts';
import type { Content, ElfSymbol } from '../../cubin/contents.ts';
import type { Elf, Section } from '../../cubin/elf.ts';
import { type CubinFunction, functionsOf, symbolsOf } from '../../cubin/functions.ts';
import { attributeText } from '../../cubin/info.ts';
import { readRawElf } from '../../cubin/read.ts';
import type { SourcePlace } from '../../cubin/source-lines.ts';
import { counted, grouped } from '../../ir/counts.ts';
import { controlText } from '../../machine/control.ts';
import type { Machine } from '../../machine/forms.ts';
import type { FunctionWords, Listed } from '../../machine/listing.ts';
import { instructionText } from '../../machine/text.ts';
import { vendorText } from '../../machine/vendor.ts';
import { wordText } from '../../machine/word.ts';
import { table } from '../terminal/table.ts';
import { jsonLines, listLines } from './json-lines.ts';

/*
 * Output of `orrery disasm`.
 */

/** Options of how instructions are written. */
export interface Spelling {
  readonly machine: Machine;
  readonly vendor: boolean;
}

/** How often warps executed instructions, by function and address. */
export type Executions = ReadonlyMap<string, ReadonlyMap<number, number>>;

const UNKNOWN = 'unknown';
const ADDRESS_DIGITS = 4;

function textOf(i: Listed, { machine, vendor }: Spelling): string {
  if (i.instruction === null) return `${UNKNOWN} ${wordText(i.word)}`;
  return (vendor ? vendorText : instructionText)(machine, i.instruction, i.address);
}

/** `kernel, 8 registers, 16 bytes of parameters at c[0x0][0x160]`. */
function summary(f: CubinFunction): string {
  return [
    f.entry ? 'kernel' : 'function',
    ...(f.registers === null ? [] : [counted(f.registers, 'register')]),
    ...(f.barriers > 0 ? [counted(f.barriers, 'barrier')] : []),
    ...(f.parameterBase === null || (f.parameterBytes ?? 0) === 0
      ? []
      : [`${counted(f.parameterBytes!, 'byte')} of parameters at c[0x0][${hex(f.parameterBase)}]`]),
    ...(f.sharedBytes > 0 ? [`${counted(f.sharedBytes, 'byte')} of shared memory`] : []),
    ...((f.frameBytes ?? 0) > 0 ? [`${counted(f.frameBytes!, 'byte')} of stack`] : []),
  ].join(', ');
}

/** `scale.cu:4 in scaled, inlined at scale.cu:8`. */
function placeText(p: SourcePlace): string {
  const own = `${p.file}:${p.line}`;
  return p.inlined === undefined ? own : `${own} in ${p.inlined.name}, inlined at ${placeText(p.inlined.at)}`;
}

/** Maximum number of characters printed for a cubin: names of a megabyte may occur in every line. */
const MOST_CHARACTERS = 2 ** 28;

/** Passes lines through until their total length exceeds the limit. */
function roomForLines(): (lines: string[]) => string[] {
  let left = MOST_CHARACTERS;
  return (lines) => {
    for (const l of lines) left -= l.length + 1;
    if (left < 0) throw new BinaryError(`its listing has more than ${MOST_CHARACTERS} characters`, 0);
    return lines;
  };
}

/** Lines before an instruction that comes from another location than the previous one. */
function placeLines(i: Listed, before: Listed | undefined, ptx: readonly string[]): string[] {
  const { source, ptx: own } = i.places;
  const out: string[] = [];
  if (
    source !== undefined &&
    source !== before?.places.source &&
    (before?.places.source === undefined || placeText(before.places.source) !== placeText(source))
  )
    out.push(`  // ${placeText(source)}`);
  if (own !== undefined && before?.places.ptx?.line !== own.line)
    out.push(
      `  // PTX line ${own.line}${ptx[own.line - 1] === undefined ? '' : `: ${ptx[own.line - 1].trim().replace(/\s+/g, ' ')}`}`,
    );
  return out;
}

/**
 * Listing of functions, one instruction per line.
 *
 * @param ptx the lines of the PTX, if locations are shown; else null
 * @param executions how often warps executed instructions, by function and address; null: not requested
 * @throws BinaryError if the listing is too long
 */
export function* codeLines(
  functions: readonly FunctionWords[],
  spelling: Spelling,
  ptx: readonly string[] | null,
  executions: Executions | null = null,
): Generator<string> {
  let width = 0;
  for (const own of executions?.values() ?? [])
    for (const n of own.values()) width = Math.max(width, grouped(n).length);
  const often = (fn: string, address: number): string =>
    executions === null ? '' : `  ${grouped(executions.get(fn)?.get(address) ?? 0).padStart(width)}`;
  const room = roomForLines();
  for (const { fn, code } of functions) {
    const names = new Map<number, string[]>();
    for (const l of fn.labels) {
      if (l.name === fn.name) continue;
      const own = names.get(l.offset) ?? [];
      own.push(l.name);
      names.set(l.offset, own);
    }
    yield '';
    yield `${fn.name}: ${summary(fn)}`;
    let before: Listed | undefined;
    for (const i of code) {
      yield* room([
        ...(names.get(i.address) ?? []).map((n) => `${n}:`),
        ...(ptx === null ? [] : placeLines(i, before, ptx)),
        often(fn.name, i.address) + lineOf(i, spelling),
      ]);
      before = i;
    }
    if (before === undefined) yield '';
  }
}

/** `  0030  [B0-----:R-:W-:-:S05]  IMAD R2, R2, c[0x0][0x0], R3` */
function lineOf(i: Listed, spelling: Spelling): string {
  const address = i.address.toString(16).padStart(ADDRESS_DIGITS, '0');
  return `  ${address}  ${controlText(i.control)}  ${textOf(i, spelling)}${relocated(i)}`;
}

/** Relocations that a linker or the driver applies to the instruction. */
const relocated = (i: Listed): string =>
  i.relocations.length === 0
    ? ''
    : `  // ${i.relocations.map((r) => `${r.symbol}${r.addend === 0 ? '' : `+${hex(r.addend)}`}`).join(', ')}`;

/** The listing as JSON: an item of lines for each function. */
export function* codeJson(
  elf: Elf,
  functions: readonly FunctionWords[],
  spelling: Spelling,
  lines: boolean,
  executions: Executions | null = null,
): Generator<Iterable<string>> {
  for (const { fn, code } of functions) {
    const of = (i: Listed): string[] =>
      jsonLines({
        address: i.address,
        word: wordText(i.word),
        text: i.instruction === null ? null : textOf(i, spelling),
        ...(i.why !== undefined && { why: i.why }),
        ...(i.instruction !== null && { form: i.instruction.form.row, pipe: i.instruction.form.pipe }),
        control: i.control,
        ...(executions !== null && { executions: executions.get(fn.name)?.get(i.address) ?? 0 }),
        ...(i.relocations.length > 0 && { relocations: i.relocations }),
        ...(lines && { places: i.places }),
      });
    yield listLines(functionJson(elf, fn), 'instructions', code, of);
  }
}

function functionJson(elf: Elf, f: CubinFunction): object {
  const symbols = symbolsOf(elf);
  return {
    name: f.name,
    entry: f.entry,
    registers: f.registers,
    barriers: f.barriers,
    frameBytes: f.frameBytes,
    sharedBytes: f.sharedBytes,
    localBytes: f.localBytes,
    parameterBase: f.parameterBase,
    parameterBytes: f.parameterBytes,
    parameters: f.parameters,
    constants: f.constants.map(({ bank, size }) => ({ bank, bytes: size })),
    labels: f.labels,
    attributes: f.attributes.map((a) => attributeText(a, (k) => symbols[k]?.name ?? hex(k))),
  };
}

const TYPE_NAMES: ReadonlyMap<number, string> = new Map(Object.entries(SHT).map(([name, n]) => [n, name]));
const typeName = (type: number): string => TYPE_NAMES.get(type) ?? hex(type);

/** `12 symbols`: summary of the contents of a section. */
function holds(c: Content): string {
  switch (c.kind) {
    case 'code':
      return counted(c.words.length / 4, 'instruction');
    case 'strings':
      return counted(c.strings.length, 'name');
    case 'symbols':
      return counted(c.symbols.length, 'symbol');
    case 'attributes':
      return counted(c.attributes.length, 'attribute');
    case 'relocations':
      return counted(c.relocations.length, 'relocation');
    case 'notes':
      return counted(c.notes.length, 'note');
    case 'calls':
      return counted(c.calls.length, 'call');
    case 'lines':
      return counted(c.units.length, 'table');
    case 'reserved':
      return 'no bytes in the file';
    case 'none':
    case 'bytes':
      return '';
  }
}

const flagsText = (flags: number): string =>
  [
    [SHF.write, 'W'],
    [SHF.alloc, 'A'],
    [SHF.execute, 'X'],
  ]
    .filter(([bit]) => (flags & Number(bit)) !== 0)
    .map(([, letter]) => letter)
    .join('');

/** Attributes as text. Those of `.nv.compat` have their own codes, whose names are not known. */
const attributeTexts = (
  s: Section,
  symbols: readonly ElfSymbol[],
  room: (lines: string[]) => string[],
): string[] =>
  s.content.kind !== 'attributes'
    ? []
    : s.content.attributes.flatMap((a) =>
        room([
          s.type === SHT.compat && a.bytes === undefined
            ? `${hex(a.code)} ${a.value}`
            : attributeText(a, (k) => symbols[k]?.name ?? hex(k)),
        ]),
      );

/**
 * The table of sections, and the attributes of the file and of each function.
 *
 * @throws BinaryError if that is too long
 */
export function sectionsText(elf: Elf, bytes: Uint8Array): string {
  const symbols = symbolsOf(elf);
  const room = roomForLines();
  const rows = readRawElf(bytes).sections.map((s, k) => [
    String(k),
    s.name,
    typeName(s.type),
    hex(s.offset),
    hex(s.size),
    flagsText(s.flags),
    holds(elf.sections[k].content),
  ]);
  const facts = new Map(functionsOf(elf).map((f) => [`.nv.info.${f.name}`, summary(f)]));
  const attributes = elf.sections.flatMap((s) => {
    if (s.content.kind !== 'attributes') return [];
    const fact = facts.get(s.name);
    return [
      `\n${s.name}${fact === undefined ? '' : `: ${fact}`}`,
      ...attributeTexts(s, symbols, room).map((t) => `  ${t}`),
    ];
  });
  return [
    table([['#', 'section', 'type', 'offset', 'bytes', 'flags', 'holds'], ...rows], 'rllrrll'),
    ...attributes,
  ].join('\n');
}

/** The sections as JSON. */
export function sectionsJson(elf: Elf, bytes: Uint8Array): object {
  const symbols = symbolsOf(elf);
  const room = roomForLines();
  return {
    sections: readRawElf(bytes).sections.map((s, index) => {
      const { content } = elf.sections[index];
      return {
        index,
        name: s.name,
        type: s.type,
        flags: s.flags,
        offset: s.offset,
        bytes: s.size,
        align: s.align,
        link: s.link,
        info: s.info,
        holds: content.kind,
        ...(content.kind === 'attributes' && {
          attributes: attributeTexts(elf.sections[index], symbols, room),
        }),
      };
    }),
    functions: functionsOf(elf).map((f) => functionJson(elf, f)),
  };
}
