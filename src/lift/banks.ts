import { BinaryError, hex } from '../cubin/bytes.ts';
import type { Elf } from '../cubin/elf.ts';
import { type CubinFunction, symbolsOf } from '../cubin/functions.ts';
import { addr, type Operand, sym } from '../ir/operand.ts';
import type { Variable } from '../ir/program.ts';
import { LOCAL_WINDOW, SHARED_WINDOW } from '../sim/memory.ts';

/*
 * Contents of a kernel's constant banks: arguments and the words that the driver fills in (bank 0), literals of the compiler (bank 2), the
 * module's constants (bank 3), and addresses of variables and functions (bank 4).
 */

/** A word of a constant bank. */
export type BankWord =
  | { readonly kind: 'value'; readonly value: number }
  /** Part of the arguments: an offset in constant bank 0 of Ori. */
  | { readonly kind: 'argument'; readonly offset: number }
  | { readonly kind: 'special'; readonly name: string }
  /** Half of an address. */
  | { readonly kind: 'symbol'; readonly operand: Operand; readonly high: boolean }
  /** Part of a constant variable, which a host may change. */
  | { readonly kind: 'variable'; readonly address: Operand }
  | { readonly kind: 'unknown'; readonly why: string };

/** A variable of the module in a constant bank: its offset and size in bytes. */
export interface Placed {
  readonly symbol: Operand;
  readonly at: number;
  readonly size: number;
}

/** What is known about the module besides the cubin. */
export interface BankContext {
  /** Offset of the arguments in constant bank 0 of Ori. */
  readonly paramBase: number;
  /** Offsets of the parameters from `paramBase`, by ordinal; empty if unknown. */
  readonly params: readonly { readonly offset: number }[];
  /** Offsets of the words that the driver writes before the arguments, by name. */
  readonly driver: ReadonlyMap<string, number>;
  /** Stack bytes of a thread. */
  readonly stack: number;
  /** Address of a function in the code; undefined for a symbol that is not a function. */
  functionAddress(symbol: string): number | undefined;
}

/** Names of the variables with a kernel's literals, and with the addresses that it uses, in the lifted program. */
export const LITERALS = 'c[0x2]';
export const ADDRESSES = 'c[0x4]';

/** Meanings of the words that the driver writes, by the names that pipelines/machine uses. */
const DRIVER: Readonly<Record<string, readonly BankWord[]>> = {
  ntid: ['NTID.X', 'NTID.Y', 'NTID.Z'].map((name) => ({ kind: 'special', name })),
  nctaid: ['NCTAID.X', 'NCTAID.Y', 'NCTAID.Z'].map((name) => ({ kind: 'special', name })),
  'shared-window': [0, SHARED_WINDOW / 2 ** 32].map((value) => ({ kind: 'value', value })),
  'local-window': [0, LOCAL_WINDOW / 2 ** 32].map((value) => ({ kind: 'value', value })),
  'dynamic-shared': [{ kind: 'special', name: 'DYNAMIC_SMEM_SIZE' }],
  environment: Array.from({ length: 10 }, (_, k) => ({ kind: 'special', name: `ENVREG${k}` })),
  nsmid: [{ kind: 'special', name: 'NSMID' }],
  'cluster-blocks': [{ kind: 'special', name: 'CLUSTER_NCTARANK' }],
  'cluster-size': ['X', 'Y', 'Z'].map((axis) => ({ kind: 'special', name: `CLUSTER_NCTAID.${axis}` })),
  'explicit-cluster': [{ kind: 'special', name: 'IS_EXPLICIT_CLUSTER' }],
  clusters: ['X', 'Y', 'Z'].map((axis) => ({ kind: 'special', name: `NCLUSTERID.${axis}` })),
  descriptor: [0, 0].map((value) => ({ kind: 'value', value })),
  'driver-shared-end': ['END', '1'].map((which) => ({
    kind: 'special',
    name: `RESERVED_SMEM_OFFSET_${which}`,
  })),
};

/** The constant banks of a kernel. */
export class Banks {
  /** True if the code copies asynchronously, so that waiting for scoreboard 0 may mean waiting for groups of copies. */
  copies = false;
  private readonly elf: Elf;
  private readonly fn: CubinFunction;
  private readonly context: BankContext;
  private readonly addresses: ReadonlyMap<number, { readonly symbol: string; readonly addend: number }>;
  /** Function descriptors among the literals: a function pointer is the offset of its descriptor. */
  private readonly descriptors: ReadonlyMap<number, { readonly symbol: string; readonly addend: number }>;
  private readonly objects: readonly Placed[];

  constructor(elf: Elf, fn: CubinFunction, context: BankContext) {
    this.elf = elf;
    this.fn = fn;
    this.context = context;
    this.addresses = this.relocatedIn(4);
    this.descriptors = this.relocatedIn(2);
    this.objects = this.objectsIn(3);
  }

  private bytesOf(bank: number): Uint8Array | null {
    const found = this.fn.constants.find((c) => c.bank === bank);
    const content = found === undefined ? undefined : this.elf.sections[found.section].content;
    return content?.kind === 'bytes' ? content.bytes : null;
  }

  /** @throws BinaryError if a relocation is not of a word of the bank */
  private relocatedIn(bank: number): Map<number, { symbol: string; addend: number }> {
    const out = new Map<number, { symbol: string; addend: number }>();
    const section = this.fn.constants.find((c) => c.bank === bank)?.section;
    if (section === undefined) return out;
    const symbols = symbolsOf(this.elf);
    const bytes = this.bytesOf(bank);
    for (const s of this.elf.sections) {
      if (s.content.kind !== 'relocations' || s.info !== section) continue;
      for (const r of s.content.relocations) {
        if (bytes !== null && r.offset + 4 > bytes.length)
          throw new BinaryError(
            `${s.name} relocates ${hex(r.offset)}, which is not a word of constant bank ${bank}`,
            0,
          );
        const inPlace =
          bytes === null ? 0 : new DataView(bytes.buffer, bytes.byteOffset).getInt32(r.offset, true);
        out.set(r.offset, { symbol: symbols[r.symbol]?.name ?? '', addend: r.addend ?? inPlace });
      }
    }
    return out;
  }

  private objectsIn(bank: number): Placed[] {
    const section = this.fn.constants.find((c) => c.bank === bank)?.section;
    const OBJECT = 1;
    return symbolsOf(this.elf)
      .filter((s) => s.section === section && s.type === OBJECT)
      .map((s) => ({ symbol: sym(s.name), at: s.value, size: s.size }))
      .sort((a, b) => a.at - b.at);
  }

  /** The word of a bank at an offset that is a multiple of four. */
  word(bank: number, offset: number): BankWord {
    switch (bank) {
      case 0:
        return this.ofBankZero(offset);
      case 2: {
        const bytes = this.literals;
        if (bytes === null || offset < 0 || offset + 4 > bytes.length) return unknown(bank, offset);
        return { kind: 'value', value: new DataView(bytes.buffer, bytes.byteOffset).getInt32(offset, true) };
      }
      case 3: {
        const v = this.objects.find((p) => offset >= p.at && offset < p.at + Math.max(p.size, 1));
        if (v === undefined) return unknown(bank, offset);
        return { kind: 'variable', address: addr(-1, offset - v.at, v.symbol.sym) };
      }
      case 4: {
        const start = offset - (offset % 8);
        const r = this.addresses.get(start);
        if (r === undefined) return unknown(bank, offset);
        const code = this.context.functionAddress(r.symbol);
        if (code !== undefined) return { kind: 'value', value: offset === start ? code + r.addend : 0 };
        return { kind: 'symbol', operand: sym(r.symbol, r.addend), high: offset !== start };
      }
      default:
        return unknown(bank, offset);
    }
  }

  private ofBankZero(offset: number): BankWord {
    const { parameterBase: base, parameterBytes: bytes } = this.fn;
    if (base !== null && offset >= base && offset < base + (bytes ?? 0))
      return { kind: 'argument', offset: this.argument(offset) };
    for (const [name, at] of this.context.driver) {
      if (name === 'stack' && offset === at) return { kind: 'value', value: this.context.stack };
      if (name === 'constant-window' && (offset === at || offset === at + 4)) {
        // Ori places variables apart from each other, so only a bank with a single variable has a start address.
        const [first, ...others] = this.objects;
        if (first === undefined || first.at !== 0 || others.length > 0) continue;
        return { kind: 'symbol', operand: first.symbol, high: offset !== at };
      }
      const word = DRIVER[name]?.[(offset - at) / 4];
      if (word !== undefined) return word;
    }
    return unknown(0, offset);
  }

  /**
   * The offset in Ori's constant bank 0 of an argument byte. ptxas aligns parameters relative to the whole bank, so that parameters of more
   * than 32 bytes may have other offsets.
   */
  argument(offset: number): number {
    const at = offset - (this.fn.parameterBase ?? 0);
    const own = this.fn.parameters.find((p) => at >= p.offset && at < p.offset + p.bytes);
    const param = own === undefined ? undefined : this.context.params[own.ordinal];
    return (
      this.context.paramBase +
      (own === undefined || param === undefined ? at : param.offset + at - own.offset)
    );
  }

  /** Where a load with an index reads: arguments, constant variables (LDC), literals or addresses (LDG); null for other banks. */
  loadsFrom(bank: number): 'arguments' | 'LDC' | 'LDG' | null {
    return bank === 0 ? 'arguments' : bank === 3 ? 'LDC' : bank === 2 || bank === 4 ? 'LDG' : null;
  }

  /** Names of what has an address in bank 4. */
  get addressed(): ReadonlySet<string> {
    return new Set([...this.addresses.values()].map((a) => a.symbol));
  }

  /** The addresses in bank 4: code addresses as bytes, those of variables as relocations. */
  get addressTable(): { readonly bytes: Uint8Array; readonly relocs: Variable['relocs'] } {
    const bytes = new Uint8Array(Math.max(0, ...[...this.addresses.keys()].map((at) => at + 8)));
    const view = new DataView(bytes.buffer);
    const relocs: Variable['relocs'][number][] = [];
    for (const [at, { symbol, addend }] of this.addresses) {
      const code = this.context.functionAddress(symbol);
      if (code === undefined) relocs.push({ at, bytes: 8, symbol, addend, generic: true, byte: -1 });
      else view.setUint32(at, code + addend, true);
    }
    return { bytes, relocs };
  }

  /** Variables of a bank, in order of their offsets. */
  variables(bank: number): readonly Placed[] {
    if (bank === 3) return this.objects;
    const bytes = bank === 2 ? this.literals : bank === 4 ? this.addressTable.bytes : null;
    const name = bank === 2 ? LITERALS : ADDRESSES;
    return bytes !== null && bytes.length > 0 ? [{ symbol: sym(name), at: 0, size: bytes.length }] : [];
  }

  /** Bytes of the literals, with the addresses of functions filled in; null if there are none. */
  get literals(): Uint8Array | null {
    const bytes = this.bytesOf(2);
    if (bytes === null || this.descriptors.size === 0) return bytes;
    const out = bytes.slice();
    for (const [at, d] of this.descriptors) {
      const code = this.context.functionAddress(d.symbol);
      if (code !== undefined) new DataView(out.buffer).setUint32(at, code + d.addend, true);
    }
    return out;
  }

  /** The value of a relocated function pointer: the offset of the function's descriptor; undefined if it has none. */
  pointerTo(symbol: string): number | undefined {
    for (const [at, d] of this.descriptors) if (d.symbol === symbol) return at;
    return undefined;
  }
}

const unknown = (bank: number, offset: number): BankWord => ({
  kind: 'unknown',
  why: `c[0x${bank.toString(16)}][0x${offset.toString(16)}] is not known`,
});
