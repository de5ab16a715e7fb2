import { type Diagnostic, nearest } from '../ir/diagnostic.ts';
import { hashText } from '../ir/hash.ts';
import {
  type Access,
  type ForeignForm,
  type Isa,
  type KindSet,
  Mod,
  type ModGroup,
  type ModValue,
  type Opcode,
  OpFlag,
  type Slot,
  type Space,
} from '../ir/opcode.ts';
import { imm, immOf, Kind, type Operand, PF, PT } from '../ir/operand.ts';
import { buildForeign, type ForeignSpec } from './build-foreign.ts';
import { buildLanes, buildSpecial, type Report, type SpecialSpec } from './build-lanes.ts';

/** One document of kind `isa`, already checked against its schema. */
export interface IsaDoc {
  readonly kind: 'isa';
  readonly opcodes: Readonly<Record<string, OpcodeSpec>>;
  readonly foreign?: readonly ForeignSpec[];
}

export interface OpcodeSpec {
  readonly title: string;
  readonly form: string;
  readonly default?: Readonly<Record<string, number | boolean>>;
  readonly modifiers?: Readonly<
    Record<string, string | readonly string[] | Readonly<Record<string, string>>>
  >;
  readonly props: readonly string[];
  readonly unit: string;
  readonly space?: Space;
  readonly accesses?: Readonly<Record<string, AccessSpec>>;
  readonly lanes?: string | Readonly<Record<string, string>>;
  readonly special?: Readonly<Record<string, SpecialSpec>>;
  readonly observed?: number;
  readonly primitive?: string;
  readonly means?: string;
}

/** What a document says of an address operand beyond its opcode's space and properties. */
export interface AccessSpec {
  readonly space?: Space;
  readonly does?: readonly ('read' | 'write')[];
  readonly bytes?: number | string;
}

/** Names of the properties in YAML. */
export const PROPS: Readonly<Record<string, number>> = {
  'side-effect': OpFlag.SideEffect,
  control: OpFlag.Control,
  'no-fall-through': OpFlag.NoFallThrough,
  commutative: OpFlag.Commutative,
  predicable: OpFlag.Predicable,
  pseudo: OpFlag.Pseudo,
  'reads-memory': OpFlag.ReadsMemory,
  'writes-memory': OpFlag.WritesMemory,
  convergent: OpFlag.Convergent,
  barrier: OpFlag.Barrier,
  volatile: OpFlag.Volatile,
  approximate: OpFlag.Approximate,
  pure: OpFlag.Pure,
  symmetric: OpFlag.Symmetric,
  table: OpFlag.Table,
  phi: OpFlag.Phi,
  'hands-address-on': OpFlag.HandsAddressOn,
  reflexive: OpFlag.Reflexive,
  carries: OpFlag.Carries,
  copies: OpFlag.Copies,
  selects: OpFlag.Selects,
};

/** Bits of each scalar type. */
export const TYPE_BITS: Readonly<Record<string, number>> = {
  b8: 8,
  u8: 8,
  s8: 8,
  b16: 16,
  u16: 16,
  s16: 16,
  f16: 16,
  bf16: 16,
  b32: 32,
  u32: 32,
  s32: 32,
  f32: 32,
  tf32: 32,
  f16x2: 32,
  bf16x2: 32,
  b64: 64,
  u64: 64,
  s64: 64,
  f64: 64,
  b128: 128,
};

/** Width of the register that holds a value of the type: at least 32 bits. */
const registerWidth = (type: string): number => Math.max(32, TYPE_BITS[type] ?? 0);

const bit = (kind: number): KindSet => 1 << kind;

/** Instruction sets without faults that are still in use, by hash. */
const interned = new Map<string, WeakRef<Isa>>();

/**
 * Builds the instruction set from its documents. Documents of equal content give the same object however often they are loaded,
 * because opcodes are compared by reference everywhere and snapshots outlive the specs they were made with.
 *
 * @returns the set, and one diagnostic for each fault in a form, modifier or property
 */
export function buildIsa(docs: readonly { readonly file: string; readonly data: unknown }[]): {
  readonly isa: Isa;
  readonly diagnostics: readonly Diagnostic[];
} {
  const hash = hashText(JSON.stringify(docs.map((d) => d.data)));
  const known = interned.get(hash)?.deref();
  if (known !== undefined) return { isa: known, diagnostics: [] };
  const diagnostics: Diagnostic[] = [];
  const opcodes: Opcode[] = [];
  const byName = new Map<string, Opcode>();
  for (const { file, data } of docs) {
    for (const [name, spec] of Object.entries((data as IsaDoc).opcodes)) {
      const report = (message: string, notes: readonly string[] = []) =>
        diagnostics.push({
          severity: 'error',
          code: 'isa',
          message: `${name}: ${message}`,
          subject: name,
          file,
          line: 0,
          column: 0,
          length: 0,
          notes,
        });
      if (byName.has(name)) {
        report('is defined twice');
        continue;
      }
      const op = buildOpcode(opcodes.length, name, spec, report);
      opcodes.push(op);
      byName.set(name, op);
    }
  }
  const foreign: ForeignForm[] = [];
  for (const { file, data } of docs)
    for (const row of (data as IsaDoc).foreign ?? []) {
      const form = buildForeign(row, byName);
      if (typeof form !== 'string') foreign.push(form);
      else
        diagnostics.push({
          severity: 'error',
          code: 'isa',
          message: `'${row.title}': ${form}`,
          file,
          line: 0,
          column: 0,
          length: 0,
          notes: [],
        });
    }
  // Rows for instructions of which nothing is known come last, whichever file they are in.
  foreign.sort((a, b) => Number(a.unknown) - Number(b.unknown));
  const isa: Isa = { opcodes, byName, foreign, hash };
  if (diagnostics.length === 0) interned.set(hash, new WeakRef(isa));
  return { isa, diagnostics };
}

function buildOpcode(id: number, name: string, spec: OpcodeSpec, report: Report): Opcode {
  const groups = buildGroups(spec.modifiers ?? {}, report);
  const groupByName = new Map(groups.map((g) => [g.name, g]));
  const at = spec.form.indexOf('=');
  const sides = at < 0 ? [spec.form, ''] : [spec.form.slice(0, at), spec.form.slice(at + 1)];
  const defaults = spec.default ?? {};
  const slots = (text: string, source: boolean): Slot[] =>
    splitTop(text).map((s) => buildSlot(s, source, groupByName, defaults, report));
  let flags = 0;
  for (const p of spec.props) {
    if (PROPS[p] === undefined) report(`unknown property '${p}'`, didYouMean(p, Object.keys(PROPS)));
    else flags |= PROPS[p];
  }
  const dsts = slots(sides[0], false);
  const srcs = slots(sides[1], true);
  const modByName = indexValues(groups);
  return {
    id,
    name,
    title: spec.title,
    dsts,
    srcs,
    groups,
    modByName,
    groupByName,
    flags,
    space: spec.space ?? null,
    accesses: buildAccesses(spec, srcs, flags, groupByName, report),
    unit: spec.unit,
    lanes: buildLanes(spec.lanes ?? {}, dsts, srcs, modByName, report),
    special: buildSpecial(spec.special, groups, report),
    observed: spec.observed ?? null,
    primitive: spec.primitive ?? null,
    means: spec.means ?? null,
  };
}

function buildAccesses(
  spec: OpcodeSpec,
  srcs: readonly Slot[],
  flags: number,
  groups: ReadonlyMap<string, ModGroup>,
  report: Report,
): Access[] {
  const out: Access[] = [];
  const addresses = srcs.filter((s) => (s.kinds & bit(Kind.Addr)) !== 0).map((s) => s.name);
  for (const name of Object.keys(spec.accesses ?? {}))
    if (!addresses.includes(name))
      report(`'${name}' in accesses is no address operand`, didYouMean(name, addresses));
  for (const [src, slot] of srcs.entries()) {
    if ((slot.kinds & bit(Kind.Addr)) === 0) continue;
    const own = spec.accesses?.[slot.name] ?? {};
    const from = typeof own.bytes === 'string' ? own.bytes : 'type';
    const group = typeof own.bytes === 'number' ? undefined : groups.get(from);
    if (typeof own.bytes === 'string' && group?.values.some((v) => v.type !== null) !== true)
      report(`'${from}', which is to say the bytes of ${slot.name}, is no modifier group with types`);
    out.push({
      src,
      space: own.space ?? spec.space ?? 'generic',
      reads: own.does?.includes('read') ?? (flags & OpFlag.ReadsMemory) !== 0,
      writes: own.does?.includes('write') ?? (flags & OpFlag.WritesMemory) !== 0,
      bytes: typeof own.bytes === 'number' ? own.bytes : 0,
      bytesFrom: group ?? null,
      countFrom: groups.get('vec') ?? null,
    });
  }
  return out;
}

/** Bytes of one element of an access under the given modifiers; 0 where that is unknown. */
export function elementBytes(a: Access, mods: number): number {
  const g = a.bytesFrom;
  if (g === null) return a.bytes;
  const { type } = g.values[(mods >>> g.shift) & g.mask];
  return type === null ? 0 : TYPE_BITS[type] >> 3;
}

/** Bytes that an access touches under the given modifiers; 0 where that is unknown. */
export function accessBytes(a: Access, mods: number): number {
  const g = a.countFrom;
  const bytes = elementBytes(a, mods);
  return g === null ? bytes : bytes * Number(g.values[(mods >>> g.shift) & g.mask].name.slice(1));
}

/** Splits at commas outside parentheses. */
function splitTop(text: string): string[] {
  const out: string[] = [];
  let depth = 0;
  let from = 0;
  for (let i = 0; i <= text.length; i++) {
    const c = text[i];
    if (c === '(') depth++;
    else if (c === ')') depth--;
    else if ((c === ',' && depth === 0) || i === text.length) {
      const s = text.slice(from, i).trim();
      if (s !== '') out.push(s);
      from = i + 1;
    }
  }
  return out;
}

function buildGroups(spec: NonNullable<OpcodeSpec['modifiers']>, report: Report): ModGroup[] {
  const out: ModGroup[] = [];
  let shift = 0;
  for (const [key, v] of Object.entries(spec)) {
    const required = key.endsWith('!');
    const name = required ? key.slice(0, -1) : key;
    let values: ModValue[];
    if (typeof v === 'string') values = [plain('NONE'), plain(v.replace(/\?$/, ''))];
    else if (Array.isArray(v)) values = (v as readonly string[]).map(plain);
    else
      values = inWrittenOrder(v as Readonly<Record<string, string>>).map(([n, type]) => {
        if (TYPE_BITS[type] === undefined)
          report(`unknown type '${type}' of modifier ${n}`, didYouMean(type, Object.keys(TYPE_BITS)));
        return { name: n, width: registerWidth(type), type };
      });
    const bits = Math.max(1, 32 - Math.clz32(values.length - 1));
    out.push({ name, values, required, shift, mask: 2 ** bits - 1 });
    shift += bits;
  }
  if (shift > 31) report(`modifiers need ${shift} bits, 31 are there`);
  return out;
}

/** Entries, those with all-digit names last: JavaScript enumerates such keys first, yet `64` is never the default. */
const inWrittenOrder = (o: Readonly<Record<string, string>>): [string, string][] => {
  const all = Object.entries(o);
  return [...all.filter(([k]) => !/^\d+$/.test(k)), ...all.filter(([k]) => /^\d+$/.test(k))];
};

const plain = (name: string): ModValue => ({ name, width: 0, type: null });

function indexValues(groups: readonly ModGroup[]): Opcode['modByName'] {
  const m = new Map<string, { group: ModGroup; index: number }>();
  const twice = new Set<string>();
  for (const group of groups)
    group.values.forEach((v, index) => {
      m.set(`${group.name}=${v.name}`, { group, index });
      if (m.has(v.name)) twice.add(v.name);
      m.set(v.name, { group, index });
    });
  for (const name of twice) m.delete(name);
  return m;
}

const SLOT = /^(\w+):([\w()|]+)([?*]*)(?:\/([-|~!]+))?$/;

function buildSlot(
  text: string,
  source: boolean,
  groups: ReadonlyMap<string, ModGroup>,
  defaults: Readonly<Record<string, number | boolean>>,
  report: Report,
): Slot {
  const m = SLOT.exec(text);
  const slot = {
    name: text,
    bank: 'none' as Slot['bank'],
    width: 0,
    widthFrom: null as string | null,
    kinds: 0,
  };
  if (m === null) {
    report(`operand '${text}' is not of the form name:type[?][*][/modifiers]`);
    return { ...slot, mods: 0, optional: false, variadic: false, default: null };
  }
  slot.name = m[1];
  for (const type of m[2].split('|')) {
    const t = /^([rx])(?:(\d+)|\((\w+)\))$/.exec(type);
    if (t !== null) {
      slot.bank = 'r';
      slot.kinds |= bit(Kind.Reg) | (t[1] === 'x' ? bit(Kind.Imm) | bit(Kind.CBank) : 0);
      if (t[2] !== undefined) slot.width = Number(t[2]);
      else if (groups.has(t[3])) slot.widthFrom = t[3];
      else report(`operand ${m[1]} takes its width from '${t[3]}', which is no modifier group`);
      continue;
    }
    switch (type) {
      case 'p':
        slot.bank = 'p';
        slot.width = 1;
        slot.kinds |= bit(Kind.Reg) | bit(Kind.Imm);
        break;
      case 'b':
        slot.bank = 'b';
        slot.width = 32;
        slot.kinds |= bit(Kind.Reg);
        break;
      case 'imm':
        slot.width = 32;
        slot.kinds |= bit(Kind.Imm);
        break;
      case 'cbank':
        slot.kinds |= bit(Kind.CBank);
        break;
      case 'addr':
        slot.kinds |= bit(Kind.Addr);
        break;
      case 'label':
        slot.kinds |= bit(Kind.Label);
        break;
      case 'sym':
        slot.kinds |= bit(Kind.Sym);
        break;
      case 'table':
        slot.kinds |= bit(Kind.Table);
        break;
      case 'value':
        slot.bank = 'any';
        slot.kinds |= bit(Kind.Reg);
        break;
      case 'place':
        slot.bank = 'any';
        slot.kinds |= bit(Kind.Reg) | bit(Kind.Sym);
        break;
      case 'text':
        slot.kinds |= bit(Kind.Text);
        break;
      case 'any':
        slot.bank = 'r';
        slot.kinds |= bit(Kind.Reg) | bit(Kind.Imm) | bit(Kind.Sym) | bit(Kind.CBank);
        break;
      default:
        report(
          `operand ${m[1]} has unknown type '${type}'`,
          didYouMean(type, [
            'r32',
            'r64',
            'x32',
            'x64',
            'p',
            'imm',
            'cbank',
            'addr',
            'label',
            'sym',
            'table',
            'any',
            'value',
            'place',
            'text',
          ]),
        );
    }
  }
  let mods = 0;
  for (const c of m[4] ?? '') mods |= c === '-' ? Mod.Neg : c === '|' ? Mod.Abs : Mod.Not;
  let fallback: Operand | null = null;
  if (source && m[1] in defaults) {
    const v = defaults[m[1]];
    fallback = typeof v === 'boolean' ? (v ? PT : PF) : slot.width === 64 ? immOf(BigInt(v), 64) : imm(v);
  }
  return {
    ...slot,
    mods,
    optional: m[3].includes('?'),
    variadic: m[3].includes('*'),
    default: fallback,
  };
}

const didYouMean = (word: string, all: Iterable<string>): string[] => {
  const near = nearest(word, all);
  return near.length > 0 ? [`did you mean ${near.join(' or ')}?`] : [];
};
