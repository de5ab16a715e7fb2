import { type Diagnostic, didYouMean, fileFault } from '../ir/diagnostic.ts';
import { dataHash, hashText } from '../ir/hash.ts';
import {
  type ForeignForm,
  type InstrClass,
  type Isa,
  type Opcode,
  OpFlag,
  type Slot,
  type Space,
} from '../ir/opcode.ts';
import { listed } from '../ir/program.ts';
import { type AccessSpec, buildAccesses } from './accesses.ts';
import { buildForeign, declaredBy, type ForeignSpec } from './build-foreign.ts';
import { buildLanes, buildSpecial, type SpecialSpec } from './build-lanes.ts';
import { buildGroups, indexValues, type ModifierSpec } from './build-modifiers.ts';
import type { Report } from './build-report.ts';
import { buildSlot, splitOperands } from './build-slot.ts';
import { buildSpelling } from './build-spelling.ts';

/** One document of kind `isa`, validated against its schema. */
export interface IsaDoc {
  readonly kind: 'isa';
  readonly opcodes?: Readonly<Record<string, OpcodeSpec>>;
  readonly foreign?: readonly ForeignSpec[];
}

/** The YAML of an opcode; its schema describes the fields. */
export interface OpcodeSpec {
  readonly title: string;
  readonly form: string;
  readonly default?: Readonly<Record<string, number | boolean>>;
  readonly modifiers?: ModifierSpec;
  readonly props: readonly string[];
  readonly unit: string;
  readonly class?: InstrClass;
  readonly space?: Space;
  readonly accesses?: Readonly<Record<string, AccessSpec>>;
  readonly lanes?: string | Readonly<Record<string, string>>;
  readonly special?: Readonly<Record<string, SpecialSpec>>;
  readonly observed?: number;
  readonly primitive?: string;
  readonly means?: string;
}

/** The flags of opcodes by their names in YAML. */
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

/** Live instruction sets without faults, by hash. */
const interned = new Map<string, WeakRef<Isa>>();

/**
 * Builds the instruction set from its documents: those of kind `isa`, and the one of kind `ptx`, whose rows with `both` state the PTX
 * spelling of opcodes for lowering. Sets are interned: documents with equal content and no faults give the same object as long as it is
 * alive, because opcodes are compared by reference and snapshots outlive the specs from which they were made.
 *
 * @param docs the documents; `hash` is the `dataHash` of their data, if it is known
 * @returns the set, and one diagnostic for each fault in a form, modifier or property
 */
export function buildIsa(
  docs: readonly { readonly file: string; readonly data: unknown; readonly hash?: string }[],
): {
  readonly isa: Isa;
  readonly diagnostics: readonly Diagnostic[];
} {
  const hash = hashText(docs.map((d) => d.hash ?? dataHash(d.data)).join(' '));
  const known = interned.get(hash)?.deref();
  if (known !== undefined) return { isa: known, diagnostics: [] };
  const diagnostics: Diagnostic[] = [];
  const opcodes: Opcode[] = [];
  const byName = new Map<string, Opcode>();
  const [sets, tables] = [docs.filter((d) => !isTable(d)), docs.filter(isTable)];
  for (const { file, data } of sets) {
    for (const [name, spec] of Object.entries((data as IsaDoc).opcodes ?? {})) {
      const report = (message: string, notes: readonly string[] = []) =>
        diagnostics.push({ ...fileFault(file, `${name}: ${message}`, notes, 'isa'), subject: name });
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
  for (const { file, data } of sets)
    for (const [k, row] of ((data as IsaDoc).foreign ?? []).entries()) {
      const form = buildForeign(row, byName);
      if (!('fault' in form)) foreign.push(form);
      else
        diagnostics.push({
          ...fileFault(file, `'${row.title}': ${form.fault}`, form.notes, 'isa-foreign'),
          subject: String(k),
        });
    }
  // Catch-all rows for unknown instructions come last, in any file.
  foreign.sort((a, b) => Number(a.unknown) - Number(b.unknown));
  const isa: Isa = {
    opcodes,
    byName,
    foreign,
    declared: declaredBy(foreign),
    spelling: buildSpelling(tables[0]?.data, byName),
    hash,
  };
  if (diagnostics.length === 0) interned.set(hash, new WeakRef(isa));
  return { isa, diagnostics };
}

const isTable = (d: { readonly data: unknown }): boolean => (d.data as { kind: string }).kind === 'ptx';

function buildOpcode(id: number, name: string, spec: OpcodeSpec, report: Report): Opcode {
  const groups = buildGroups(spec.modifiers ?? {}, report);
  const groupByName = new Map(groups.map((g) => [g.name, g]));
  const at = spec.form.indexOf('=');
  const sides = at < 0 ? [spec.form, ''] : [spec.form.slice(0, at), spec.form.slice(at + 1)];
  const defaults = spec.default ?? {};
  const slots = (text: string, source: boolean): Slot[] => {
    const out: Slot[] = [];
    for (const s of splitOperands(text)) out.push(buildSlot(s, source, groupByName, defaults, report));
    return out;
  };
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
    dsts: listed(dsts),
    srcs: listed(srcs),
    groups,
    modByName,
    groupByName,
    flags,
    space: spec.space ?? null,
    accesses: buildAccesses(spec, srcs, flags, groupByName, report),
    unit: spec.unit,
    class: spec.class ?? usualClass(flags, spec.unit, dsts[0]),
    lanes: buildLanes(spec.lanes ?? {}, dsts, srcs, modByName, report),
    special: buildSpecial(spec.special, groups, report),
    observed: spec.observed ?? null,
    primitive: spec.primitive ?? null,
    means: spec.means ?? null,
  };
}

/** Units whose opcodes are of class `float` unless they state another one. */
const FLOAT_UNITS = new Set(['fma', 'fp64', 'fp16']);

/** The class of an opcode that does not state one. */
function usualClass(flags: number, unit: string, first: Slot | undefined): InstrClass {
  if ((flags & OpFlag.Control) !== 0 || unit === 'control') return 'control';
  if ((flags & OpFlag.Convergent) !== 0) return 'warp';
  if ((flags & (OpFlag.ReadsMemory | OpFlag.WritesMemory)) !== 0 || unit === 'lsu') return 'memory';
  if (first?.bank === 'p') return 'predicate';
  return FLOAT_UNITS.has(unit) ? 'float' : 'integer';
}
