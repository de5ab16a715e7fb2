import { Unsupported } from '../table/case.ts';
import { shiftOf } from '../text/declarations.ts';
import type { Initial, Variable } from '../text/syntax.ts';
import { constantBits } from './constant-bits.ts';
import type { Machine } from './machine.ts';
import { type Region, store } from './memory.ts';

/** Flattens nested lists of initial values. */
function flat(i: Initial): Initial[] {
  if (i.kind !== 'list') return [i];
  if (i.elements.some((e) => e.kind === 'list'))
    throw new Unsupported('initial values of an array of arrays');
  return [...i.elements];
}

/** Writes the initial value of a variable; all other bytes are 0 (PTX ISA, 5.4.4). */
export function initialBytes(machine: Machine, v: Variable, r: Region, at: number): void {
  if (v.initial === null) return;
  flat(v.initial).forEach((e, k) => {
    store(r, at + k * v.elementBytes, v.elementBytes, elementBits(machine, v, e));
  });
}

function elementBits(machine: Machine, v: Variable, e: Initial): bigint {
  if (e.kind === 'number') return constantBits(e.constant, v.type);
  if (e.kind === 'list') throw new Unsupported('a list within a list');
  const address = machine.symbol(e.name, e.generic) + e.offset;
  const taken = e.mask === null ? address : (address & e.mask) >> shiftOf(e.mask);
  return BigInt.asUintN(v.type.width, taken);
}
