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

/** How a program is written. */
export interface PtxHow {
  /** Architecture for `.target`; null keeps the module's. */
  readonly retarget?: string | null;
  /** A function that had to be kept unchanged is an error. */
  readonly strict?: boolean;
  /** Functions whose text is copied from the module. */
  readonly keep?: ReadonlySet<string>;
  /** Nothing is said of what could not be written. */
  readonly quiet?: boolean;
}

/** PTX text of a program; warns about what could not be written. */
export async function ptxOf(
  program: Program,
  module: PtxModule | null,
  plan: Plan,
  { retarget = null, strict = false, keep, quiet = false }: PtxHow = {},
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
  if (quiet) return text;
  show(strict ? diagnostics.map((d) => ({ ...d, severity: 'error' as const })) : diagnostics);
  if (diagnostics.some((d) => strict || d.severity === 'error')) throw new CliExit(1);
  return text;
}
