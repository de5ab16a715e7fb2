import { Kind } from '../../ir/operand.ts';
import type { Instr } from '../../ir/program.ts';
import { elementBytes } from '../../isa/accesses.ts';
import { isPlainLoad } from '../calls/effects.ts';
import { isStrong } from './memory-ops.ts';

/** What a plain load or store moves: `count` adjacent elements. */
export interface Elements {
  /** Bytes of one element. */
  readonly bytes: number;
  readonly count: number;
  /** Whether a load sign-extends a narrow element. */
  readonly signed: boolean;
}

/** The elements of a load that only reads at an address; null for anything else. */
export function loadedElements(x: Instr): Elements | null {
  if (x.op.primitive !== 'load' || !isPlainLoad(x) || x.src[0].kind !== Kind.Addr) return null;
  return elementsOf(x, x.dst.length);
}

/**
 * The elements of a weak store, whose values are its sources from the second on; null for anything else. Stores to
 * the parameters of a call do not count: nothing reads them through an address.
 */
export function storedElements(x: Instr): Elements | null {
  if (x.op.primitive !== 'store' || x.op.space === 'param' || isStrong(x) || x.src[0].kind !== Kind.Addr)
    return null;
  return elementsOf(x, x.src.length - 1);
}

function elementsOf(x: Instr, count: number): Elements | null {
  const access = x.op.accesses[0];
  const bytes = elementBytes(access, x.mods);
  if (bytes === 0 || bytes > 8) return null;
  const g = access.bytesFrom!;
  return { bytes, count, signed: g.values[(x.mods >>> g.shift) & g.mask].type!.startsWith('s') };
}
