import { didYouMean } from '../ir/diagnostic.ts';
import { type Access, type KindSet, type ModGroup, OpFlag, type Slot, type Space } from '../ir/opcode.ts';
import { Kind } from '../ir/operand.ts';
import type { Report } from './build-report.ts';
import { TYPE_BITS } from './scalar-types.ts';

const ADDRESS: KindSet = 1 << Kind.Addr;

/** The YAML of an address operand; absent fields are those of its opcode. */
export interface AccessSpec {
  readonly space?: Space;
  readonly does?: readonly ('read' | 'write')[];
  readonly bytes?: number | string;
}

/** The part of an opcode's YAML that concerns memory. */
export interface MemorySpec {
  readonly space?: Space;
  readonly accesses?: Readonly<Record<string, AccessSpec>>;
}

/** The accesses of an opcode, one for each address operand. @param report receives faults of names and groups */
export function buildAccesses(
  spec: MemorySpec,
  srcs: readonly Slot[],
  flags: number,
  groups: ReadonlyMap<string, ModGroup>,
  report: Report,
): Access[] {
  const out: Access[] = [];
  const addresses = srcs.filter((s) => (s.kinds & ADDRESS) !== 0).map((s) => s.name);
  for (const name of Object.keys(spec.accesses ?? {}))
    if (!addresses.includes(name))
      report(`'${name}' in accesses is not an address operand`, didYouMean(name, addresses));
  for (const [src, slot] of srcs.entries()) {
    if ((slot.kinds & ADDRESS) === 0) continue;
    const own = spec.accesses?.[slot.name] ?? {};
    const from = typeof own.bytes === 'string' ? own.bytes : 'type';
    const group = typeof own.bytes === 'number' ? undefined : groups.get(from);
    if (typeof own.bytes === 'string' && group?.values.some((v) => v.type !== null) !== true)
      report(`'${from}', which must give the bytes of ${slot.name}, is not a modifier group with types`);
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

/** Bytes of one element of an access under the given modifiers; 0 if unknown. */
export function elementBytes(a: Access, mods: number): number {
  const g = a.bytesFrom;
  if (g === null) return a.bytes;
  const { type } = g.values[(mods >>> g.shift) & g.mask];
  return type === null ? 0 : TYPE_BITS[type] >> 3;
}

/** Bytes that an access touches under the given modifiers; 0 if unknown. */
export function accessBytes(a: Access, mods: number): number {
  const g = a.countFrom;
  const bytes = elementBytes(a, mods);
  return g === null ? bytes : bytes * Number(g.values[(mods >>> g.shift) & g.mask].name.slice(1));
}
