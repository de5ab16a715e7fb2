import { alignedTo, endOf, isShared, namesReached } from '../../analysis/memory/shared-layout.ts';
import type { Fn, Variable } from '../../ir/program.ts';
import type { ProgramPass } from '../pass.ts';

/**
 * Declares shared variables in the order that needs the least padding (recipe `shared-layout`, at the hook after phase 2).
 *
 *     before                                          after
 *     .var shared b8 flag size 1 align 1              .var shared b8 tile size 1024 align 16
 *     .var shared b8 tile size 1024 align 16          .var shared b8 next size 1024 align 16
 *     .var shared b8 done size 1 align 1              .var shared b8 flag size 1 align 1
 *     .var shared b8 next size 1024 align 16          .var shared b8 done size 1 align 1
 *
 * ptxas places them in the order of their declarations, so the order decides how much of an SM's shared memory a block
 * takes: 2,080 bytes before, 2,050 after.
 *
 * Two orders are tried: by descending alignment, which leaves no gap where sizes are multiples of alignments; and one that always takes
 * the variable with the smallest gap next, for other sizes. The one with the fewest bytes over all kernels is chosen, if no kernel
 * needs more than before.
 *
 * Only variables that are private to this module are moved, and only if the phase is open for every function that names one: unsized
 * arrays start after all others, and another module may have been compiled for the address of a variable that it sees.
 *
 * Requires: nothing. Guarantees: functions are unchanged. A second application changes nothing.
 * Bound: quadratic in the variables, of which there may be 256: beyond that, padding hardly matters.
 */
export const orderSharedVariables: ProgramPass = (program, ctx) => {
  const shared = program.variables.filter(isShared);
  const open = new Set(ctx.functions);
  if (shared.length < 2 || shared.length > MOST || !shared.every(mayMove)) return program;
  const reached = new Map(program.functions.map((f) => [f, namesReached(program, f)]));
  const users = [...reached].filter(([, names]) => shared.some((v) => names.has(v.name))).map(([f]) => f);
  if (users.length === 0 || !users.every((f) => open.has(f))) return program;

  const kernels = users.filter((f) => f.kind === 'entry');
  const bytes = (order: readonly Variable[], kernel: Fn): number =>
    endOf(order.filter((v) => reached.get(kernel)!.has(v.name)));
  const total = (order: readonly Variable[]): number => kernels.reduce((n, k) => n + bytes(order, k), 0);
  const best = [byAlignment(shared), bySmallestGap(shared)]
    .filter((order) => kernels.every((k) => bytes(order, k) <= bytes(shared, k)))
    .sort((a, b) => total(a) - total(b))[0];
  if (best === undefined || total(best) >= total(shared)) return program;
  if (!ctx.of(users[0]).mayRewrite('ordered')) return program;

  for (const k of kernels)
    if (bytes(best, k) < bytes(shared, k))
      ctx
        .of(k)
        .remark(
          'passed',
          'ordered',
          `${bytes(best, k)} bytes of shared memory instead of ${bytes(shared, k)}`,
        );
  const next = best[Symbol.iterator]();
  return { ...program, variables: program.variables.map((v) => (isShared(v) ? next.next().value! : v)) };
};

const MOST = 256;

const mayMove = (v: Variable): boolean => v.linkage === '' && v.size > 0 && v.attrs.length === 0;

/** Stable, so that a second application finds the same order. */
const byAlignment = (variables: readonly Variable[]): Variable[] =>
  [...variables].sort((a, b) => b.align - a.align);

/** Repeatedly takes the variable with the smallest gap before it; of equal ones, the one with the largest alignment. */
function bySmallestGap(variables: readonly Variable[]): Variable[] {
  const left = [...variables];
  const out: Variable[] = [];
  for (let at = 0; left.length > 0; ) {
    const gap = (v: Variable): number => alignedTo(at, v.align) - at;
    const v = left.reduce((a, b) => (gap(b) < gap(a) || (gap(b) === gap(a) && b.align > a.align) ? b : a));
    left.splice(left.indexOf(v), 1);
    at = alignedTo(at, v.align) + v.size;
    out.push(v);
  }
  return out;
}
