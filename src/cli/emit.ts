import type { Program } from '../ir/program.ts';
import type { PtxModule } from '../ptx/ast.ts';
import { emitPtx } from '../ptx/emit/index.ts';
import { type PtxDoc, PtxTable } from '../ptx/emit/table.ts';
import { paramBase } from '../read.ts';
import { loadShipped } from '../spec/node.ts';
import type { Plan } from '../spec/plan.ts';
import type { Specs } from '../spec/resolve.ts';
import { withoutSsa } from '../ssa/program.ts';

import { CliExit, failWith, show } from './ui.ts';

/** The table that says how opcodes are written in PTX. */
export function ptxTable(specs: Specs): PtxTable {
  if (specs.ptx === undefined)
    return failWith('there is no table of PTX forms', 'pipelines/isa/ptx.yaml holds it');
  return new PtxTable(specs.ptx.data as unknown as PtxDoc);
}

/** The tables of specs that programs have been written with. */
const tables = new WeakMap<Specs, PtxTable>();

/**
 * PTX text of a program; warns about what could not be written.
 *
 * @param retarget architecture for `.target`, null to keep the module's
 * @param strict makes it an error if a function had to be kept unchanged
 * @param keep functions whose text is copied from the module
 */
export async function ptxOf(
  program: Program,
  module: PtxModule | null,
  plan: Plan,
  retarget: string | null,
  strict: boolean,
  keep?: ReadonlySet<string>,
): Promise<string> {
  const specs = await loadShipped();
  let table = tables.get(specs);
  if (table === undefined) tables.set(specs, (table = ptxTable(specs)));
  const { text, diagnostics } = emitPtx(withoutSsa(program, plan.isa), {
    table,
    paramBase: paramBase(plan),
    module,
    target: retarget,
    keep,
  });
  show(strict ? diagnostics.map((d) => ({ ...d, severity: 'error' as const })) : diagnostics);
  if (diagnostics.some((d) => strict || d.severity === 'error')) throw new CliExit(1);
  return text;
}
