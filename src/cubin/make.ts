import { EM_CUDA, SHF, SHT } from './codes.ts';
import type { Content, Note, Relocation } from './contents.ts';
import type { Elf, Section } from './elf.ts';
import { CODE_ALIGN, relocatable, setupOf, withEnd } from './make-code.ts';
import { type FramePlace, framesOf } from './make-frame.ts';
import {
  API,
  compatAttributes,
  fileAttributes,
  kernelAttributes,
  parameterBytes,
  toolNote,
} from './make-info.ts';
import type { KernelCode, ModuleData, Tool } from './make-input.ts';
import { lineSections, ptxText } from './make-lines.ts';
import { bankSymbols, bytesOf, checkInput, creation, extentOf, mostAlign, placesOf } from './make-module.ts';
import { namesAndSymbols, type Symbols } from './make-names.ts';
import { type Target, targetNumber, targetOf } from './make-target.ts';
import { writeElf } from './write.ts';

export type {
  InnerFunction,
  KernelCode,
  ModuleData,
  ModuleLines,
  ModuleVariable,
  Tool,
} from './make-input.ts';
export { addressOffsets, placesOf } from './make-module.ts';

/*
 * Makes cubins: the parts that ptxas 13.0.88 writes for kernels and variables, in its order, which `writeElf` assembles. Left out are
 * unwinding rules of called functions beyond their return address; and for sm_100 and later the code in the form of Mercury with all that
 * belongs to it, which the instructions alone do not give. Whether a driver takes files without it is not known.
 */

/** Relocations of addresses: all 64 bits, the generic address of a variable, and halves in immediates. */
const R_CUDA = { address: 2, generic: 4, low: 56, high: 57 } as const;
/** e_flags: the size of addresses, and whether there are tables of lines. */
const FLAGS = { low: 0x04, high: 0x06, withLines: 0x09 } as const;
const [CONSTANT_ALIGN, ADDRESS_BYTES] = [4, 8];
/** What `.nv.rel.action` holds in every file. */
const ACTIONS = [0x73, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0x11, 0x25, 0, 5, 0x36];
/** Callees that end the four groups of the call graph. */
const GROUP_ENDS = [0xffffffff, 0xfffffffe, 0xfffffffd, 0xfffffffc];
const NOTES = { tool: 2000, cuda: 1000, name: 'NVIDIA Corp' } as const;
const NOTE_FLAGS = { tool: 0x2000000, cuda: 0x1000000 } as const;

/** Registers that ptxas states for a kernel that does nothing. */
const LEAST_REGISTERS = 4;

const OWN_TOOL: Tool = { name: 'orrery', version: 'Orrery', build: '', options: '' };

/**
 * Makes a cubin for a target.
 *
 * @param kernels in the order of their sections; ptxas takes the last that the PTX declares first
 * @throws RangeError if the target is not supported, or if kernels or variables contradict themselves
 */
export const makeCubin = (sm: string, kernels: readonly KernelCode[], data: ModuleData): Uint8Array =>
  writeElf(cubinOf(sm, kernels, data));

/** The parts of such a cubin. @throws RangeError */
export function cubinOf(sm: string, given: readonly KernelCode[], data: ModuleData): Elf {
  const t = targetOf(sm);
  const kernels = given.map((k) => ({
    ...k,
    code: withEnd(k.code, t.later),
    registers: Math.max(k.registers, LEAST_REGISTERS),
  }));
  checkInput(kernels, data.variables);
  const parts = new Parts(t, kernels, data);
  return parts.elf();
}

/** A section before it is known which number others have: it names those that it refers to. */
interface Draft {
  readonly name: string;
  readonly type: number;
  readonly flags: number;
  readonly align: number;
  readonly content: () => Content;
  readonly link?: string;
  readonly info?: string | (() => number);
  readonly entrySize?: number;
  readonly slack?: number;
}

/** Collects the sections of one file. */
class Parts {
  private readonly t: Target;
  private readonly kernels: readonly KernelCode[];
  private readonly data: ModuleData;
  private readonly places: ReadonlyMap<string, number>;
  private readonly order: string[] = [];
  private readonly numbers: ReadonlyMap<string, number>;
  private readonly drafts = new Map<string, Draft>();
  private readonly symbols: Symbols;
  private readonly lines: (ReturnType<typeof lineSections> & { readonly text: Uint8Array }) | null;

  constructor(t: Target, kernels: readonly KernelCode[], data: ModuleData) {
    this.t = t;
    this.kernels = kernels;
    this.data = data;
    this.places = placesOf(data.variables);
    this.lines =
      data.lines === undefined
        ? null
        : { ...lineSections(kernels, data.lines), text: ptxText(data.lines.ptx) };
    for (const d of this.all()) {
      this.order.push(d.name);
      this.drafts.set(d.name, d);
    }
    this.numbers = new Map(this.order.map((name, k) => [name, k]));
    this.symbols = namesAndSymbols(t, kernels, data, this.places, (name) => this.numberOf(name));
  }

  elf(): Elf {
    const { t, symbols, order } = this;
    const names: Content = { kind: 'strings', strings: symbols.sectionNames };
    const sections = order.map((name): Section => {
      const d = this.drafts.get(name)!;
      const info = typeof d.info === 'string' ? this.numberOf(d.info) : (d.info?.() ?? 0);
      return {
        name,
        type: d.type,
        flags: d.flags,
        address: 0,
        link: d.link === undefined ? 0 : this.numberOf(d.link),
        info,
        align: d.align,
        entrySize: d.entrySize ?? 0,
        content: name === '.shstrtab' ? names : d.content(),
        ...(name === '.shstrtab' && symbols.slack > 0 && { slack: symbols.slack }),
      };
    });
    return {
      header: {
        ident: Uint8Array.of(2, 1, 1, 0x41, 8, 0, 0, 0, 0, 0, 0, 0),
        type: 2,
        machine: EM_CUDA,
        version: 1,
        entry: 0,
        flags:
          ((this.data.lines === undefined ? FLAGS.high : FLAGS.withLines) << 24) | (t.sm << 8) | FLAGS.low,
      },
      sections,
      names: this.numberOf('.shstrtab'),
    };
  }

  /** The number of a section; -1 if there is none. */
  private numberOf(name: string): number {
    return this.numbers.get(name) ?? -1;
  }

  private symbol(name: string): number {
    return this.symbols.indexOf(name);
  }

  private all(): Draft[] {
    const { t, kernels } = this;
    const plain = (name: string, type: number, align: number, content: () => Content): Draft => ({
      name,
      type,
      flags: 0,
      align,
      content,
    });
    const strings = (): Content => ({ kind: 'strings', strings: this.symbols.names });
    const frames = framesOf(
      kernels,
      kernels.map((k) => k.functions?.[0]?.at ?? k.code.length),
      kernels.map((k) => setupOf(k, t.later)),
    );
    const banks = this.constantBanks();
    return [
      plain('', SHT.null, 0, () => ({ kind: 'none' })),
      plain('.shstrtab', SHT.strtab, 1, () => ({ kind: 'none' })),
      plain('.strtab', SHT.strtab, 1, strings),
      {
        ...plain('.symtab', SHT.symtab, 8, () => ({ kind: 'symbols', symbols: this.symbols.symbols })),
        link: '.strtab',
        info: () => this.symbols.locals,
        entrySize: 24,
      },
      plain('.debug_frame', SHT.progbits, 1, () => ({ kind: 'bytes', bytes: frames.bytes })),
      ...this.lineTables(),
      ...this.notes(),
      {
        ...plain('.nv.info', SHT.info, 4, () => ({
          kind: 'attributes',
          attributes: fileAttributes(kernels, (n) => this.symbol(n)),
        })),
        link: '.symtab',
      },
      ...(t.later
        ? [
            plain('.nv.compat', SHT.compat, 4, () => ({
              kind: 'attributes',
              attributes: compatAttributes(t, this.data.compat ?? new Map()),
            })),
          ]
        : []),
      ...kernels.map((k) => this.kernelInfo(k)),
      {
        ...plain('.nv.callgraph', SHT.callGraph, 4, () => this.callGraph()),
        link: '.symtab',
        entrySize: 8,
      },
      ...(t.later
        ? []
        : [
            {
              ...plain('.nv.rel.action', SHT.relocationAction, 8, () => ({
                kind: 'bytes' as const,
                bytes: Uint8Array.from(ACTIONS),
              })),
              entrySize: 8,
            },
          ]),
      ...this.relocations(frames.places),
      ...banks.filter((d) => !t.later || !d.name.startsWith('.nv.constant0.')),
      ...kernels.map((k) => this.text(k)),
      ...this.memory(),
      ...(t.later ? banks.filter((d) => d.name.startsWith('.nv.constant0.')) : []),
    ];
  }

  private lineTables(): Draft[] {
    if (this.lines === null) return [];
    const { source, ptx, text } = this.lines;
    const draft = (name: string, content: Content): Draft => ({
      ...{ name, type: SHT.progbits, flags: 0, align: 1 },
      content: () => content,
    });
    return [
      draft('.debug_line', { kind: 'lines', units: source.units }),
      draft('.nv_debug_line_sass', { kind: 'lines', units: ptx.units }),
      draft('.nv_debug_ptx_txt', { kind: 'bytes', bytes: text }),
    ];
  }

  private notes(): Draft[] {
    const { t, data } = this;
    const note = (n: Omit<Note, 'name'>): Content => ({ kind: 'notes', notes: [{ name: NOTES.name, ...n }] });
    const tool = data.tool ?? { ...OWN_TOOL, options: `-arch ${t.name} ` };
    const source = data.source === undefined ? t.sm : targetNumber(data.source);
    return [
      {
        name: '.note.nv.tkinfo',
        type: SHT.note,
        flags: NOTE_FLAGS.tool,
        align: 4,
        content: () => note({ type: NOTES.tool, bytes: toolNote(tool) }),
      },
      {
        name: '.note.nv.cuinfo',
        type: SHT.note,
        flags: NOTE_FLAGS.cuda | (t.later ? SHF.info : 0),
        align: 4,
        content: () =>
          note({ type: NOTES.cuda, bytes: new Uint8Array(Uint16Array.of(2, source, API, 0).buffer) }),
        link: '.note.nv.tkinfo',
        ...(t.later && { info: '.nv.compat' }),
      },
    ];
  }

  private kernelInfo(k: KernelCode): Draft {
    return {
      name: `.nv.info.${k.name}`,
      type: SHT.info,
      flags: SHF.info,
      align: 4,
      content: () => ({
        kind: 'attributes',
        attributes: kernelAttributes(this.t, k, {
          constants: this.symbol(`.nv.constant0.${k.name}`),
          externs: (k.calls ?? []).map((c) => this.symbol(c)),
        }),
      }),
      link: '.symtab',
      info: `.text.${k.name}`,
    };
  }

  private callGraph(): Content {
    // Those of a kernel are in the reverse order of its code.
    const calls = this.kernels.flatMap((k) =>
      (k.firstCalls ?? k.calls ?? [])
        .map((c): [number, number] => [this.symbol(k.name), this.symbol(c)])
        .reverse(),
    );
    const [first, ...rest] = GROUP_ENDS;
    return { kind: 'calls', calls: [[0, first], ...calls, ...rest.map((e): [number, number] => [0, e])] };
  }

  /** Sections of relocations, which are empty where what they were for is done. */
  private relocations(frames: readonly FramePlace[]): Draft[] {
    const { t, data, kernels } = this;
    const section = (of: string, list: () => readonly Relocation[], adds = t.later): Draft => ({
      name: `${adds ? '.rela' : '.rel'}${of}`,
      type: adds ? SHT.rela : SHT.rel,
      flags: SHF.info,
      align: 8,
      content: () => ({ kind: 'relocations', relocations: list() }),
      link: '.symtab',
      info: of,
      entrySize: adds ? 24 : 16,
    });
    const one = (offset: number, symbol: string, type: number, addend = 0, adds = t.later): Relocation => ({
      offset,
      symbol: this.symbol(symbol),
      type,
      ...(adds && { addend }),
    });
    const descending = (list: readonly Relocation[]): Relocation[] =>
      [...list].sort((a, b) => b.offset - a.offset);
    const bank = this.symbolsInBank();
    const initial = data.variables.filter((v) => v.space === 'global' && v.bytes !== null);
    const inner = initial.flatMap((v) =>
      (v.addresses ?? []).map((a) => ({ at: this.places.get(v.name)! + a.offset, ...a })),
    );
    return [
      ...kernels
        .filter((k) => k.relocations.length > 0 || (t.later && relocatable(k)))
        .map((k) =>
          section(`.text.${k.name}`, () =>
            descending(k.relocations.map((r) => one(r.at, r.symbol, R_CUDA[r.half]))),
          ),
        ),
      ...(bank.length > 0
        ? [
            section('.nv.constant4', () =>
              descending(bank.map((s, i) => one(ADDRESS_BYTES * i, s, R_CUDA.address))),
            ),
          ]
        : []),
      // Before sm_90, addresses to which something is added have a section of their own.
      ...[false, true].flatMap((adds) => {
        const own = inner.filter((a) => adds === (t.later || (a.addend ?? 0) !== 0));
        const list = (): Relocation[] =>
          own
            .sort((a, b) => a.at - b.at)
            .map((a) => one(a.at, a.symbol, a.generic ? R_CUDA.generic : R_CUDA.address, a.addend, adds));
        return own.length > 0 ? [section('.nv.global.init', list, adds)] : [];
      }),
      ...(t.later
        ? kernels
            .filter((k) => k.constants !== undefined)
            .map((k) => section(`.nv.constant2.${k.name}`, () => []))
        : []),
      ...(this.lines === null
        ? []
        : (
            [
              ['.debug_line', this.lines.source],
              ['.nv_debug_line_sass', this.lines.ptx],
            ] as const
          )
            .filter(([, { places }]) => places.length > 0)
            .map(([of, { places }]) =>
              section(of, () => {
                const list = places.map((p) => one(p.offset, kernels[p.kernel].name, R_CUDA.address));
                return t.later ? list : descending(list);
              }),
            )),
      section('.debug_frame', () =>
        frames.map((p) => one(p.offset, kernels[p.kernel].name, R_CUDA.address, p.addend)),
      ),
    ];
  }

  private symbolsInBank(): string[] {
    return bankSymbols(this.kernels, this.data.variables);
  }

  private constantBanks(): Draft[] {
    const { t, data, kernels } = this;
    const bank = (name: string, align: number, bytes: Uint8Array, of?: KernelCode): Draft => ({
      name,
      type: SHT.progbits,
      flags: SHF.alloc | (of === undefined ? 0 : SHF.info),
      align,
      content: () => ({ kind: 'bytes', bytes }),
      ...(of !== undefined && { info: `.text.${of.name}` }),
    });
    const shared: Draft[] = [];
    for (const made of creation(kernels, data.variables)) {
      const name = typeof made === 'string' ? made : null;
      if (name === '.nv.constant4')
        shared.push(bank(name, ADDRESS_BYTES, new Uint8Array(ADDRESS_BYTES * this.symbolsInBank().length)));
      if (name === '.nv.constant3') {
        const list = data.variables.filter((v) => v.space === 'const');
        shared.push(bank(name, mostAlign(list), bytesOf(list, this.places)));
      }
    }
    return [
      ...shared,
      ...kernels.flatMap((k) => [
        ...(k.constants === undefined
          ? []
          : [bank(`.nv.constant2.${k.name}`, CONSTANT_ALIGN, k.constants, k)]),
        bank(
          `.nv.constant0.${k.name}`,
          CONSTANT_ALIGN,
          new Uint8Array(t.parameterBase + parameterBytes(k)),
          k,
        ),
      ]),
    ];
  }

  private text(k: KernelCode): Draft {
    const bytes = Uint8Array.from(k.code);
    const symbol = (): number => (this.symbol(k.name) | (this.t.later ? 0 : k.registers << 24)) >>> 0;
    return {
      name: `.text.${k.name}`,
      type: SHT.progbits,
      flags: SHF.alloc | SHF.execute,
      align: CODE_ALIGN,
      content: () => ({ kind: 'code', words: new Uint32Array(bytes.buffer) }),
      link: '.symtab',
      info: symbol,
    };
  }

  /** Memory of variables, initialized and reserved. */
  private memory(): Draft[] {
    const { t, data, kernels } = this;
    const initial = data.variables.filter((v) => v.space === 'global' && v.bytes !== null);
    const zero = data.variables.filter((v) => v.space === 'global' && v.bytes === null);
    const reserved = (name: string, flags: number, align: number, size: number, info?: string): Draft => ({
      name,
      type: SHT.nobits,
      flags: SHF.write | SHF.alloc | flags,
      align,
      content: () => ({ kind: 'reserved', size }),
      ...(info !== undefined && { info }),
    });
    const out: Draft[] = [];
    if (initial.length > 0)
      out.push({
        name: '.nv.global.init',
        type: SHT.progbits,
        flags: SHF.write | SHF.alloc,
        align: mostAlign(initial),
        content: () => ({ kind: 'bytes', bytes: bytesOf(initial, this.places) }),
      });
    kernels.forEach((k, n) => {
      if (k.sharedBytes > 0 || k.sharedAlign !== undefined)
        out.push(
          reserved(
            `.nv.shared.${k.name}`,
            SHF.info,
            k.sharedAlign ?? CONSTANT_ALIGN,
            t.reservedShared + k.sharedBytes,
            `.text.${k.name}`,
          ),
        );
      if (n > 0) return;
      if (t.later) out.push(reserved('.nv.shared.reserved.0', 0, 1, t.reservedAt));
      if (zero.length > 0) out.push(reserved('.nv.global', 0, mostAlign(zero), extentOf(zero, this.places)));
    });
    return out;
  }
}
