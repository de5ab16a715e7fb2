import type { ElfSymbol } from './contents.ts';
import { relocatable, usesShared, yields } from './make-code.ts';
import type { KernelCode, ModuleData } from './make-input.ts';
import { creation, sectionOf } from './make-module.ts';
import type { Target } from './make-target.ts';

/*
 * Names and symbols in the order in which ptxas 13.0.88 makes them. Its string tables also hold names of sections that it then left out,
 * and zeros where it shortened or dropped a name; they are here so that the files are the same.
 */

const STB = { local: 0, global: 1, weak: 2 } as const;
const STT = { none: 0, object: 1, function: 2, section: 3 } as const;
/** The `other` field: of kernels, of the reserved shared memory, and of a symbol that was dropped. */
const STO = { entry: 0x10, reserved: 0xa0, dropped: 1 } as const;

/** Names that are shortened where they stand: by how many bytes. */
const SHORTER = { bank2: 9, bank3: 4, bank4: 3 } as const;
const RESERVED = {
  offset: '.nv.reservedSmem.offset0',
  section: '.nv.shared.reserved.0',
  alias: '__nv_reservedSMEM_offset_0_alias',
  /** The end of the driver's bytes. On sm_90 the symbol is dropped, and its name is zeros. */
  end: '.nv.reservedSmem.cap',
} as const;
const FIRST = [
  '.shstrtab',
  '.strtab',
  '.symtab',
  '.symtab_shndx',
  '.note.nv.tkinfo',
  '.note.nv.cuinfo',
  '.nv.info',
];

/** The names and symbols of a file. */
export interface Symbols {
  readonly sectionNames: readonly string[];
  readonly names: readonly string[];
  readonly symbols: readonly ElfSymbol[];
  /** One more than the index of the last local symbol. */
  readonly locals: number;
  /** Bytes after the section names that ptxas leaves for names that it dropped. */
  readonly slack: number;
  /** The index of a symbol. @throws RangeError if there is none */
  indexOf(name: string): number;
}

const encoder = new TextEncoder();
const bytesOf = (name: string): number => encoder.encode(name).length;

/** A string table that is being made. */
class Names {
  readonly list: string[] = [];
  private bytes = 1;
  /** Adds a name, and zeros after it. @returns its offset */
  add(name: string, zeros = 0): number {
    const at = this.bytes;
    this.list.push(name, ...Array<string>(zeros).fill(''));
    this.bytes += bytesOf(name) + 1 + zeros;
    return at;
  }
}

/** Makes names and symbols. `number` gives the number of a section. */
export function namesAndSymbols(
  t: Target,
  kernels: readonly KernelCode[],
  data: ModuleData,
  places: ReadonlyMap<string, number>,
  number: (section: string) => number,
): Symbols {
  const [sections, names] = [new Names(), new Names()];
  const both = (name: string, zeros = 0): void => {
    sections.add(name, zeros);
    names.add(name, zeros);
  };
  const none = { bind: STB.local, type: STT.none, other: 0, section: 0, value: 0, size: 0 };
  const locals: ElfSymbol[] = [{ ...none, name: '' }];
  const globals: ElfSymbol[] = [];
  const section = (name: string): ElfSymbol => ({ ...none, name, type: STT.section, section: number(name) });
  const shorter = (by: number): number => (t.later ? by : 0);

  const moduleParts = (): void => {
    for (const made of creation(kernels, data.variables)) {
      if (typeof made === 'string') {
        both(
          made,
          shorter(made === '.nv.constant3' ? SHORTER.bank3 : made === '.nv.constant4' ? SHORTER.bank4 : 0),
        );
        locals.push(section(made));
        continue;
      }
      const { name, size, visible } = made;
      const symbol = {
        ...none,
        name,
        type: STT.object,
        section: number(sectionOf(made)),
        value: places.get(name)!,
        size,
      };
      if (visible === true) globals.push({ ...symbol, bind: STB.global });
      else {
        locals.push(symbol);
        names.add(name);
      }
    }
  };

  for (const name of [...FIRST, ...(t.later ? ['.nv.compat'] : [])]) both(name);
  locals.push(section('.note.nv.tkinfo'), section('.note.nv.cuinfo'));
  let ended = false;
  const called = new Set<string>();
  for (const [n, k] of kernels.entries()) {
    const text = `.text.${k.name}`;
    const symbol = {
      ...none,
      name: k.name,
      type: STT.function,
      other: STO.entry,
      section: number(text),
      size: k.code.length,
    };
    const binding = STB[k.binding ?? 'global'];
    if (binding === STB.global) globals.push({ ...symbol, bind: binding });
    else {
      locals.push({ ...symbol, bind: binding });
      names.add(k.name);
    }
    for (const of of ['.text', '.nv.info', '.nv.shared']) both(`${of}.${k.name}`);
    locals.push(section(text));
    if (k.sharedBytes > 0) locals.push(section(`.nv.shared.${k.name}`));
    if (n === 0) {
      if (t.later) {
        names.add(RESERVED.offset);
        both(RESERVED.section);
        names.add(RESERVED.alias);
        const value = t.reservedAt;
        locals.push({ ...none, name: RESERVED.offset, bind: STB.weak, type: STT.object, value, size: 4 });
        locals.push({
          ...none,
          name: RESERVED.alias,
          bind: STB.weak,
          other: STO.reserved,
          section: number(RESERVED.section),
          value,
        });
      }
    }
    for (const name of k.calls ?? []) {
      if (!called.has(name)) globals.push({ ...none, name, bind: STB.global, type: STT.function });
      called.add(name);
    }
    if (n === 0) moduleParts();
    if (t.later && usesShared(k) && !ended) {
      ended = true;
      const end = { ...none, bind: STB.weak, type: STT.object, value: t.reservedShared, size: 4 };
      if (t.mercury) names.add(RESERVED.end);
      else names.add('', bytesOf(RESERVED.end));
      locals.push(t.mercury ? { ...end, name: RESERVED.end } : { ...none, name: '', other: STO.dropped });
    }
    if (!t.later && yields(k.code)) both(`.rela.text.${k.name}`);
    const linked = k.relocations.length > 0 || (k.calls ?? []).length > 0;
    if (!t.later && (linked || yields(k.code))) both(`.rel.text.${k.name}`);
    if (k.constants !== undefined) {
      const bank = `.nv.constant2.${k.name}`;
      both(bank, shorter(SHORTER.bank2));
      locals.push(section(bank));
      if (t.later && k.functionTable !== true) tableNames(k.name);
    }
    for (const f of k.functions ?? []) {
      names.add(f.name);
      const bind = f.library ? STB.weak : STB.local;
      locals.push({
        ...none,
        name: f.name,
        bind,
        type: STT.function,
        section: number(text),
        value: f.at,
        size: f.size,
      });
    }
    if (t.later) {
      if (linked || relocatable(k)) for (const of of ['.rel', '.rela']) both(`${of}.text.${k.name}`);
    } else {
      const [bank, rel] = [`.nv.constant0.${k.name}`, `.rel.nv.constant0.${k.name}`];
      for (const name of [bank, rel]) sections.add(name);
      for (const name of [rel, bank]) names.add(name);
      locals.push(section(bank));
    }
  }
  function tableNames(kernel: string): void {
    sections.add(`.rela.nv.constant2.${kernel}`, SHORTER.bank2);
    names.add(`.rela.nv.constant.optimizer.${kernel}`);
  }

  both('.debug_frame');
  const hasLines = number('.debug_line') >= 0;
  if (hasLines) {
    for (const of of ['.debug_line', '.nv_debug_line_sass']) {
      both(of);
      if (number(`${t.later ? '.rela' : '.rel'}${of}`) < 0) continue;
      for (const rel of t.later ? ['.rel', '.rela'] : ['.rel']) both(`${rel}${of}`);
    }
    both('.nv_debug_ptx_txt');
  }
  if (number('.nv.constant4') >= 0) {
    if (t.later) {
      both('.rel.nv.constant.pic');
      sections.add('.rela.nv.constant4', SHORTER.bank4);
      names.add('.rela.nv.constant.pic');
    } else both('.rel.nv.constant4');
  }
  const tables = kernels.filter((k) => k.functionTable === true);
  const [plain, added] = ['.rel', '.rela'].map((of) => number(`${of}.nv.global.init`) >= 0);
  if (tables.length > 0 || plain || (t.later && added)) both('.rel.nv.global.init');
  if (added || (t.later && tables.length > 0)) both('.rela.nv.global.init');
  for (const k of tables)
    if (t.later) {
      tableNames(k.name);
      both(`.rel.nv.constant.optimizer.${k.name}`);
    } else for (const of of ['.rela', '.rel']) both(`${of}.nv.constant2.${k.name}`);
  for (const name of ['.rel.debug_frame', '.rela.debug_frame', '.nv.callgraph', '.nv.prototype']) both(name);
  if (!t.later) both('.nv.rel.action');
  const lines = hasLines ? ['.debug_line', '.nv_debug_line_sass', '.nv_debug_ptx_txt'] : [];
  for (const name of ['.debug_frame', ...lines, '.nv.callgraph', ...(t.later ? [] : ['.nv.rel.action'])])
    locals.push(section(name));
  for (const g of globals) names.add(g.name);
  const last: ElfSymbol[] = [];
  if (t.later)
    for (const k of kernels) {
      both(`.nv.constant0.${k.name}`);
      last.push(section(`.nv.constant0.${k.name}`));
    }
  const symbols = [...locals, ...globals, ...last];
  const indices = new Map(symbols.map((s, k) => [s.name, k]));
  return {
    sectionNames: sections.list,
    names: names.list,
    symbols,
    locals: last.length > 0 ? symbols.length : locals.length,
    slack: t.later
      ? kernels.reduce((n, k) => n + '.rel.nv.constant0.'.length + bytesOf(k.name), '.nv.rel.action'.length)
      : 0,
    indexOf: (name) => {
      const index = indices.get(name);
      if (index === undefined) throw new RangeError(`there is no symbol ${name}`);
      return index;
    },
  };
}
