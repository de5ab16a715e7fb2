import { MUTABLE } from '../analysis/memory/memory-ops.ts';
import type { Run } from './region.ts';
import type { Symbols } from './symbols.ts';
import type { Access, Claim } from './thread.ts';
import type { Values } from './values.ts';

/** Maximum number of accesses per query for which a solver checks whether their addresses are equal. */
const MOST_ALIKE = 8;

/** Describes an access of the second version that may fault where the first version makes no such access; '' if there is none. */
export async function newFault(
  values: Values,
  symbols: Symbols,
  [before, after]: readonly [Run, Run],
  equal: (given: number, x: number, y: number) => Promise<boolean>,
): Promise<string> {
  const by = new Map<number, Access[]>();
  for (const a of before.accesses) {
    const list = by.get(a.address);
    if (list === undefined) by.set(a.address, [a]);
    else list.push(a);
  }
  for (const a of after.accesses) {
    const own = by.get(a.address) ?? [];
    if (own.some((b) => b.bytes >= a.bytes && b.bits === a.bits && values.implies(a.guard, b.guard)))
      continue;
    if ((a.bits & MUTABLE) === 0 && own.length > 0) continue;
    let aligned = values.isAligned(a.address, BigInt(a.align), symbols);
    // For each byte of the access, the condition under which the first version accesses it, so that it exists.
    const reached = new Array<number>(a.bytes).fill(values.no);
    for (const b of before.accesses) {
      if ((b.bits & a.bits) === 0) continue;
      const by = values.distance(a.address, b.address);
      if (by === null || by >= BigInt(a.bytes) || by <= BigInt(-b.bytes)) continue;
      const at = Number(by);
      for (let i = Math.max(0, at); i < Math.min(a.bytes, at + b.bytes); i++)
        reached[i] = values.either(reached[i], b.guard);
      if (at % a.align === 0 && b.align >= a.align && values.implies(a.guard, b.guard)) aligned = true;
    }
    if (aligned && reached.every((c) => values.implies(a.guard, c))) continue;
    const like = before.accesses.filter(
      (b) => b.bits === a.bits && b.bytes >= a.bytes && values.implies(a.guard, b.guard),
    );
    let found = false;
    for (const b of like.slice(0, MOST_ALIKE)) found ||= await equal(a.guard, a.address, b.address);
    if (found) continue;
    if (!reached.every((c) => values.implies(a.guard, c))) return 'a new access may fault';
    return 'an access may not be aligned';
  }
  return '';
}

/** Describes a value that the second version assumes to be warp-uniform but may not be; '' if there is none. */
export function newClaim(values: Values, [before, after]: readonly [Run, Run]): string {
  const shared = new Map<number, number>();
  const writes = new Map<string, number>();
  const add = <K>(m: Map<K, number>, key: K, path: number): void => {
    m.set(key, values.either(m.get(key) ?? values.no, path));
  };
  for (const c of before.claims) {
    add(shared, c.value, c.path);
    add(writes, `${c.register} ${c.value}`, c.path);
  }
  const fits = ({ value, register, path, also }: Claim): boolean =>
    values.implies(path, writes.get(`${register} ${value}`) ?? values.no) ||
    (values.isUniform(also) &&
      (values.isUniform(value) || values.implies(path, shared.get(value) ?? values.no)));
  return after.claims.every(fits) ? '' : 'a value may differ between the lanes of a warp';
}
