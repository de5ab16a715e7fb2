import { Bytes, sameBytes } from '../../src/cubin/bytes.ts';
import { SHF, SHT } from '../../src/cubin/codes.ts';
import { encodeContent, type Relocation } from '../../src/cubin/contents.ts';
import type { Elf } from '../../src/cubin/elf.ts';
import {
  branchTargets,
  type CubinFunction,
  functionsOf,
  symbolsOf,
  targetName,
} from '../../src/cubin/functions.ts';
import { attributeText, describe } from '../../src/cubin/info.ts';
import {
  cubinOf,
  type InnerFunction,
  type KernelCode,
  type ModuleData,
  type ModuleVariable,
} from '../../src/cubin/make.ts';
import { placeAt, sourceLines } from '../../src/cubin/source-lines.ts';
import { nameTables, writeElf } from '../../src/cubin/write.ts';

/* Takes a cubin of ptxas apart into what `makeCubin` is given, and compares what it makes with the original. */

/** Attributes that follow from other parts of a kernel; all others are handed on. */
const DERIVED = [
  0x04, 0x05, 0x0a, 0x0f, 0x10, 0x17, 0x19, 0x1b, 0x1c, 0x1e, 0x28, 0x29, 0x31, 0x34, 0x35, 0x36, 0x37, 0x4a,
  0x4c, 0x50, 0x5f,
];
const [GENERIC, HIGH] = [4, 57];
const [GLOBAL, WEAK] = [1, 2];

/** Low 12 bits of instructions that access shared memory (seen in cubins of ptxas 13.0.88). */
const SHARED = new Set([0x984, 0x988, 0x388, 0x38c, 0x38d, 0x83b, 0xfae]);

const relocationsOf = (elf: Elf, of: string): readonly Relocation[] =>
  elf.sections.flatMap((s) =>
    (s.name === `.rel${of}` || s.name === `.rela${of}`) && s.content.kind === 'relocations'
      ? s.content.relocations
      : [],
  );
const bytesOf = (elf: Elf, name: string): Uint8Array | undefined => {
  const c = elf.sections.find((s) => s.name === name)?.content;
  return c?.kind === 'bytes' ? c.bytes : undefined;
};

/** What `makeCubin` needs to make a cubin again. */
export interface Ingredients {
  readonly sm: string;
  readonly kernels: readonly KernelCode[];
  readonly data: ModuleData;
}

/** Takes a cubin apart. */
export function ingredientsOf(elf: Elf): Ingredients {
  const symbols = symbolsOf(elf);
  const later = elf.sections.some((s) => s.type === SHT.compat);
  const frames = returnsOf(elf);
  const kernels = functionsOf(elf).map((fn) => kernelOf(elf, fn, later, frames));
  const variables = symbols.flatMap((s): ModuleVariable[] => {
    const section = elf.sections[s.section];
    if (s.type !== 1 || !/^\.nv\.(global|global\.init|constant3)$/.test(section.name)) return [];
    const bytes = bytesOf(elf, section.name);
    const inside = relocationsOf(elf, section.name).filter(
      (r) => r.offset >= s.value && r.offset < s.value + s.size,
    );
    return [
      {
        name: s.name,
        space: section.name === '.nv.constant3' ? 'const' : 'global',
        size: s.size,
        align: alignOf(section.align, s.value),
        bytes: bytes?.slice(s.value, s.value + s.size) ?? null,
        addresses: inside.map((r) => ({
          offset: r.offset - s.value,
          symbol: symbols[r.symbol].name,
          generic: r.type === GENERIC,
        })),
        visible: s.bind === GLOBAL,
        offset: s.value,
      },
    ];
  });
  const [tool, cuda] = ['.note.nv.tkinfo', '.note.nv.cuinfo'].map((name) => {
    const c = elf.sections.find((s) => s.name === name)!.content;
    return c.kind === 'notes' ? c.notes[0].bytes : new Uint8Array();
  });
  const texts = new Bytes(tool.subarray(24));
  texts.cstring();
  const [name, version, build, options] = [
    texts.cstring(),
    texts.cstring(),
    texts.cstring(),
    texts.cstring(),
  ];
  const source = `sm_${cuda[2] | (cuda[3] << 8)}`;
  const compat = elf.sections.find((s) => s.type === SHT.compat)?.content;
  const values = compat?.kind === 'attributes' ? compat.attributes : [];
  const made = { name, version, build, options };
  return {
    sm: targetName(elf),
    kernels,
    data: {
      variables,
      source,
      tool: made,
      compat: new Map(values.map((a) => [a.code, describe(a).numbers[0]])),
    },
  };
}

/** The largest alignment that a place in a section has. */
const alignOf = (most: number, at: number): number => (at === 0 ? most : Math.min(most, at & -at));

function kernelOf(elf: Elf, fn: CubinFunction, later: boolean, returns: Map<number, Return>): KernelCode {
  const symbols = symbolsOf(elf);
  const numbers = (code: number): readonly number[] =>
    fn.attributes.filter((a) => a.code === code).flatMap((a) => describe(a).numbers);
  const stated = (code: number): readonly number[] | undefined =>
    fn.attributes.some((a) => a.code === code) ? numbers(code) : undefined;
  const masks = numbers(0x29);
  const shared = elf.sections.find((s) => s.name === `.nv.shared.${fn.name}`);
  const inner = symbols.flatMap((s): InnerFunction[] => {
    if (s.type !== 2 || s.section !== fn.section || s.name === fn.name) return [];
    return [
      {
        name: s.name,
        at: s.value,
        size: s.size,
        frameBytes: perFile(elf, 0x11, s.name) ?? 0,
        library: s.bind === WEAK,
        ...(returns.get(fn.section * 2 ** 32 + s.value) ?? { returnRegister: 0 }),
      },
    ];
  });
  const words = new Uint8Array(fn.words.buffer, fn.words.byteOffset, fn.words.byteLength);
  const bind = symbols[fn.symbol].bind;
  return {
    name: fn.name,
    ...(bind !== GLOBAL && { binding: bind === WEAK ? 'weak' : 'local' }),
    code: Uint8Array.from(words),
    registers: fn.registers ?? 0,
    mostRegisters: numbers(0x1b)[0],
    barriers: fn.barriers,
    frameBytes: fn.frameBytes ?? 0,
    stackBytes: perFile(elf, 0x12, fn.name) ?? 0,
    sharedBytes: shared === undefined ? 0 : fn.sharedBytes - (later ? 1024 : 0),
    ...(shared !== undefined && { sharedAlign: shared.align }),
    dynamicShared: fn.words.some((w, k) => k % 4 === 0 && SHARED.has(w & 0xfff)),
    params: fn.parameters.map((p) => ({ offset: p.offset, size: p.bytes })),
    exits: numbers(0x1c),
    divergent: stated(0x1e) !== undefined,
    warpWide: numbers(0x31),
    grouped: numbers(0x28).map((at, k) => ({ at, mask: masks[k] === 0xffffffff ? -1 : masks[k] })),
    branches: [...branchTargets(fn)].map(([at, targets]) => ({ at, targets })),
    ...(stated(0x10) !== undefined && { required: numbers(0x10) }),
    ...(stated(0x05) !== undefined && { most: numbers(0x05) }),
    relocations: relocationsOf(elf, `.text.${fn.name}`).map((r) => ({
      at: r.offset,
      symbol: symbols[r.symbol].name,
      half: r.type === HIGH ? 'high' : 'low',
    })),
    ...(bytesOf(elf, `.nv.constant2.${fn.name}`) !== undefined && {
      constants: bytesOf(elf, `.nv.constant2.${fn.name}`),
    }),
    functionTable: hasFunctionTable(elf, fn),
    functions: inner,
    calls: fn.attributes
      .filter((a) => a.code === 0x0f)
      .flatMap((a) => describe(a).symbols)
      .map((k) => symbols[k].name),
    firstCalls: elf.sections
      .flatMap(({ content: c }) => (c.kind === 'calls' ? c.calls : []))
      .flatMap(([from, to]) => (from === fn.symbol ? [symbols[to].name] : []))
      .reverse(),
    attributes: fn.attributes.filter((a) => !DERIVED.includes(a.code)),
  };
}

/** True if bank 2 of a kernel has the offsets of functions within it. */
function hasFunctionTable(elf: Elf, fn: CubinFunction): boolean {
  const bytes = bytesOf(elf, `.nv.constant2.${fn.name}`);
  if (bytes === undefined || branchTargets(fn).size > 0) return false;
  const b = new Bytes(bytes);
  const starts = new Set(fn.labels.map((l) => l.offset).filter((at) => at > 0));
  while (b.left >= 4) if (starts.has(b.u32())) return true;
  return false;
}

function perFile(elf: Elf, code: number, name: string): number | undefined {
  const symbols = symbolsOf(elf);
  const c = elf.sections.find((s) => s.name === '.nv.info')?.content;
  if (c?.kind !== 'attributes') return undefined;
  const found = c.attributes
    .filter((a) => a.code === code)
    .map(describe)
    .find((d) => symbols[d.symbols[0]]?.name === name);
  return found?.numbers[0];
}

type Return = Pick<InnerFunction, 'returnRegister' | 'returnMoved'>;

/** Registers with return addresses, by section and offset of the function that returns, from the call frame information. */
function returnsOf(elf: Elf): Map<number, Return> {
  const out = new Map<number, Return>();
  const bytes = bytesOf(elf, '.debug_frame')!;
  const symbols = symbolsOf(elf);
  const starts = new Map(relocationsOf(elf, '.debug_frame').map((r) => [r.offset, r]));
  const b = new Bytes(bytes);
  const general = (): number => b.uleb() - 0x5000000;
  let register = -1;
  while (b.left > 0) {
    b.u32();
    const end = b.u64() + b.at;
    const from = b.at;
    if (b.u32() === 0xffffffff) {
      // The return address of kernels has no register; that of functions is 256, and the register after the fixed rules holds it.
      b.at = from + 8 + 4;
      register = b.uleb() === 0x5000100 ? -2 : -1;
      if (register === -2) {
        b.at = from + 8 + 8 + 6 + 5 + 5 + 1;
        register = general();
      }
    } else if (register >= 0) {
      b.at = from + 8;
      const r = starts.get(b.at)!;
      const at = b.u64();
      b.u64();
      let moved: InnerFunction['returnMoved'];
      if (b.u8() === 4) {
        const place = 4 * b.u32();
        if (b.u8() === 9) {
          general();
          moved = { at: place, register: general() };
        }
      }
      const start: Return = { returnRegister: register, ...(moved !== undefined && { returnMoved: moved }) };
      out.set(symbols[r.symbol].section * 2 ** 32 + at, start);
    }
    b.at = end;
  }
  return out;
}

/** Makes a cubin again from its parts. @returns what differs: names of sections, or of parts of the file */
export function differencesOf(
  elf: Elf,
  original: Uint8Array,
  { sm, kernels, data }: Ingredients = ingredientsOf(elf),
): { readonly made: Uint8Array; readonly differ: string[] } {
  const again = cubinOf(sm, kernels, data);
  const made = writeElf(again);
  if (sameBytes(made, original)) return { made, differ: [] };
  const differ: string[] = [];
  const { ident: idA, ...headerA } = elf.header;
  const { ident: idB, ...headerB } = again.header;
  if (!sameBytes(idA, idB) || JSON.stringify(headerA) !== JSON.stringify(headerB)) differ.push('header');
  const list = (e: Elf): string[] => e.sections.map((s) => s.name);
  for (const name of list(elf)) if (!list(again).includes(name)) differ.push(`without ${name}`);
  for (const name of list(again)) if (!list(elf).includes(name)) differ.push(`with ${name}`);
  if (differ.length === 0 && list(elf).join() !== list(again).join()) differ.push('order of sections');
  const [namesA, namesB] = [nameTables(elf.sections), nameTables(again.sections)];
  for (const a of elf.sections) {
    const b = again.sections.find((s) => s.name === a.name);
    if (b === undefined) continue;
    const row = (s: typeof a): string =>
      JSON.stringify([
        s.type,
        s.flags,
        s.link,
        s.info,
        s.align,
        s.entrySize,
        s.slack ?? 0,
        s.content.kind === 'reserved' && s.content.size,
      ]);
    if (row(a) !== row(b)) differ.push(`header of ${a.name}`);
    const [left, right] = [
      encodeContent(a.content, a.link, namesA),
      encodeContent(b.content, b.link, namesB),
    ];
    if (!sameBytes(left, right)) differ.push(a.name);
  }
  return { made, differ: differ.length > 0 ? differ : ['layout'] };
}

/** Sections of lines and of Mercury, which are not made, and those of names. */
const LINES =
  /^\.(debug_(line|str)|nv_debug_(line_sass|ptx_txt)|rela?\.(debug_line|nv_debug_line_sass)|nv\.(cap)?merc\..*)$/;
const NAMES = /^\.(shstrtab|strtab|symtab)$/;

/** The ingredients of a cubin with its tables of lines, whose files may have a time and a size that are not in the PTX. */
export function withLinesOf(elf: Elf): Ingredients {
  const own = ingredientsOf(elf);
  const unit = elf.sections.flatMap((s) =>
    s.name === '.debug_line' && s.content.kind === 'lines' ? s.content.units : [],
  )[0];
  const files = unit.files.map((f) =>
    f.directory === 0 ? f.name : `${unit.directories[f.directory - 1]}/${f.name}`,
  );
  const [source, ptx] = (['source', 'ptx'] as const).map((table) => sourceLines(elf, table));
  const text = elf.sections.find((s) => s.name === '.nv_debug_ptx_txt')!.content;
  const kernels = own.kernels.map((k) => {
    const at = elf.sections.findIndex((s) => s.name === `.text.${k.name}`);
    const [rows, lines] = [source, ptx].map((t) => t.get(at) ?? []);
    const offsets = [...new Set([...rows, ...lines].map((e) => e.offset))].sort((a, b) => a - b);
    return {
      ...k,
      lines: offsets.flatMap((offset) => {
        const [from, line] = [placeAt(rows, offset), placeAt(lines, offset)];
        if (line === null) return [];
        return [
          {
            at: offset,
            ptx: line.line,
            file: from === null ? 0 : files.indexOf(from.file) + 1,
            line: from?.line ?? 0,
          },
        ];
      }),
    };
  });
  if (text.kind !== 'bytes') throw new Error('the PTX is no text');
  const lines = { files, ptx: new TextDecoder().decode(text.bytes).replaceAll('\0', '\n') };
  return { ...own, kernels, data: { ...own.data, lines } };
}

/** What the sections of a cubin say but for lines and Mercury, with names in place of numbers, by section. */
export function withoutLines(elf: Elf): Map<string, string[]> {
  const symbols = symbolsOf(elf);
  const nameOf = (k: number): string => symbols[k]?.name ?? String(k);
  const sectionOf = (k: number): string => elf.sections[k].name;
  const contents = (s: (typeof elf.sections)[number]): string[] => {
    const c = s.content;
    switch (c.kind) {
      case 'attributes':
        return c.attributes.map((a) => `${a.format} ${a.code} ${attributeText(a, nameOf)}`);
      case 'relocations':
        return c.relocations.map((r) => `${r.offset} ${r.type} ${nameOf(r.symbol)} ${r.addend ?? ''}`);
      case 'calls':
        return c.calls.map(([a, b]) => `${nameOf(a)} ${nameOf(b)}`);
      case 'notes':
        return c.notes.map((n) => `${n.name} ${n.type} ${n.bytes}`);
      case 'reserved':
        return [String(c.size)];
      default:
        return [String(encodeContent(c, s.link, nameTables(elf.sections)))];
    }
  };
  const out = new Map<string, string[]>();
  out.set(
    'symbols',
    symbols
      .filter((s) => !LINES.test(sectionOf(s.section)))
      .map((s) => [s.name, s.bind, s.type, s.other, sectionOf(s.section), s.value, s.size].join(' ')),
  );
  for (const s of elf.sections) {
    if (LINES.test(s.name) || NAMES.test(s.name)) continue;
    const info =
      (s.flags & SHF.info) !== 0
        ? sectionOf(s.info)
        : s.name.startsWith('.text.')
          ? `${nameOf(s.info & 0xffffff)} ${s.info >>> 24}`
          : s.info;
    const row = [s.type, s.flags, sectionOf(s.link), info, s.align, s.entrySize];
    out.set(s.name, [row.join(' '), ...contents(s)]);
  }
  return out;
}
