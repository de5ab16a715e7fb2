import { cfgOf } from '../../analysis/flow/cfg.ts';
import { reads } from '../../analysis/registers/liveness.ts';
import { Kind, NO_REG, regIndex } from '../../ir/operand.ts';
import type { Fn, Instr } from '../../ir/program.ts';
import type { Pass } from '../pass.ts';

/**
 * Phase 91, OriCalcDependantTex: how many texture fetches wait for one another, because the place of each depends on what the one before
 * it fetched.
 *
 *     before, after: the same text; the phase's report reads
 *       # 3 texture fetches; 2 of them wait for one another, to the one in BB4
 *
 * Nothing reads the chains: phase 68 raises each fetch by its latency alone.
 *
 * Requires: nothing. Guarantees: nothing that later phases depend on.
 * Bound: nothing until the report is read; then one walk in reverse post-order, so that a loop counts once.
 */
export const dependentTextures: Pass = (fn, ctx) => {
  ctx.report(() => {
    const { fetches, longest, at } = chainsOf(fn);
    if (fetches === 0) return '# no texture fetches';
    const all = `# ${fetches} texture ${fetches === 1 ? 'fetch' : 'fetches'}`;
    return longest < 2
      ? `${all}; none waits for another`
      : `${all}; ${longest} of them wait for one another, to the one in BB${at}`;
  });
  return fn;
};

/** Fetches of a function, the length of the longest chain of them, and the block where that ends. */
function chainsOf(fn: Fn): { fetches: number; longest: number; at: number } {
  /** By register: how many fetches wait for one another up to its value, the most of its definitions. */
  const length = new Int32Array(fn.regCount);
  let [fetches, longest, at] = [0, 0, -1];
  for (const b of cfgOf(fn).rpo)
    for (const x of fn.blocks[b].ins) {
      let most = 0;
      reads(x, (r) => {
        most = Math.max(most, length[regIndex(r)]);
      });
      if (isFetch(x)) {
        fetches++;
        most++;
        if (most > longest) [longest, at] = [most, fn.blocks[b].id];
      }
      for (const r of x.dst) if (r !== NO_REG) length[regIndex(r)] = Math.max(length[regIndex(r)], most);
    }
  return { fetches, longest, at };
}

/** Does it read a texture? Ori carries such instructions as text (PTX ISA 9.0, 9.7.10). */
const isFetch = ({ src }: Instr): boolean =>
  src.length > 0 && src[0].kind === Kind.Text && /^(?:tex|tld4)\./.test(src[0].sym);
