import { cfgOf, terminator } from '../../analysis/flow/cfg.ts';
import { type Divergence, divergenceOf } from '../../analysis/uniformity/divergence.ts';
import { partsLanes } from '../../analysis/uniformity/lane-agreement.ts';
import { type DefUse, defUseOf } from '../../analysis/values/defuse.ts';
import { isPhi } from '../../ir/flow.ts';
import { Lanes } from '../../ir/opcode.ts';
import { Kind, NO_REG, type Reg, regIndex } from '../../ir/operand.ts';
import type { Fn, Instr } from '../../ir/program.ts';
import { printGuarded, printInstr } from '../../ir/text.ts';
import type { Pass } from '../pass.ts';

/** Maximum length of the chain of definitions followed backwards from a branch. */
const FARTHEST = 1000;

/**
 * Phases 53 and 70, OriPropagateVarying: which values differ between the lanes of a warp, and which branches may be divergent.
 *
 *     before, after: the same text; the phase's report reads
 *       # 2 of 4 values differ between lanes of a warp, 0 between warps; 1 of 2 branches may be divergent
 *       # BB0: @P3 BRA BB2 may be divergent: it depends on S2R.TID.X R1
 *
 * Requires: nothing. Guarantees: nothing that later phases depend on: each queries the analysis
 * (`analysis/uniformity/divergence.ts`) itself, which is cached by snapshot.
 * Bound: nothing until the report is read; then linear in instructions, except for the chains of definitions behind
 * branches.
 */
export const propagateVarying: Pass = (fn, ctx) => {
  ctx.report(() => varyingReport(fn).join('\n'));
  return fn;
};

function varyingReport(fn: Fn): string[] {
  const d = divergenceOf(fn);
  const du = defUseOf(fn);
  const values = [0, 0, 0];
  for (let r = 0; r < fn.regCount; r++) if (du.defStart[r] < du.defStart[r + 1]) values[d.value[r]]++;
  const { succStart } = cfgOf(fn);
  const branches = [0, 0, 0];
  const lines: string[] = [];
  for (const [b, block] of fn.blocks.entries()) {
    if (succStart[b + 1] - succStart[b] < 2) continue;
    branches[d.branch[b]]++;
    const x = terminator(block);
    if (d.branch[b] !== Lanes.Varying || x === null) continue;
    const decides = x.guard !== NO_REG ? x.guard : (x.src.find((o) => o.kind === Kind.Reg)?.reg ?? NO_REG);
    if (decides === NO_REG) continue;
    const often = partsLanes(fn, decides) ? '' : ' in few warps';
    lines.push(
      `# BB${block.id}: ${printGuarded(x).trim()} may be divergent${often}: ${originOf(d, du, decides)}`,
    );
  }
  const sum = (counts: readonly number[]): number => counts.reduce((a, b) => a + b, 0);
  return [
    `# ${values[Lanes.Varying]} of ${sum(values)} values differ between lanes of a warp, ${values[Lanes.Warp]} between warps; ` +
      `${branches[Lanes.Varying]} of ${sum(branches)} branches may be divergent`,
    ...lines,
  ];
}

/** The origin of a difference between lanes, in words. */
function originOf(d: Divergence, du: DefUse, r: Reg): string {
  const visited = new Set<Reg>();
  for (let at = r; visited.size < FARTHEST; ) {
    visited.add(at);
    const i = regIndex(at);
    if (du.defStart[i] === du.defStart[i + 1]) return 'it depends on a register that nothing here writes';
    const x = du.ins[du.defs[du.defStart[i]]];
    const next = varyingSource(d, x, visited);
    if (next !== NO_REG) at = next;
    else if (isPhi(x)) return `it depends on the path by which lanes reached ${printInstr(x)}`;
    else return `it depends on ${printInstr(x)}`;
  }
  return 'it depends on a long chain of values';
}

/** A register that an instruction reads, that differs between lanes, and that has not been visited. */
function varyingSource({ fn, value }: Divergence, x: Instr, visited: ReadonlySet<Reg>): Reg {
  const varies = (r: Reg): boolean =>
    r !== NO_REG && regIndex(r) < fn.regCount && value[regIndex(r)] === Lanes.Varying && !visited.has(r);
  return [...x.src.map((o) => o.reg), x.guard, ...x.otherwise].find(varies) ?? NO_REG;
}
