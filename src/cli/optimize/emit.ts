import { memo } from '../../ir/memo.ts';
import type { Program } from '../../ir/program.ts';
import { type Avoided, avoidFaults, avoidsFaults, faultWarnings, KnownFaults } from '../../known-faults.ts';
import type { PtxModule } from '../../ptx/ast.ts';
import { emitPtx } from '../../ptx/emit/index.ts';
import { type PtxDoc, PtxTable } from '../../ptx/emit/table.ts';
import { withLowestVersion } from '../../ptx/lowest-version.ts';
import { paramBase } from '../../read.ts';
import { loadShipped } from '../../spec/node.ts';
import type { Plan } from '../../spec/plan.ts';
import { KEEP_FAULTS, PTXAS_LEVEL } from '../../spec/ptxas-faults.ts';
import type { Specs } from '../../spec/resolve.ts';
import { withoutSsa } from '../../ssa/program.ts';

import { CliExit, failWith, rememberText, show } from '../terminal/ui.ts';

/** The table of how opcodes are written in PTX. */
export function ptxTable(specs: Specs): PtxTable {
  if (specs.ptx === undefined)
    return failWith('there is no table of PTX forms', 'pipelines/isa/ptx.yaml holds it');
  return new PtxTable(specs.ptx.data as unknown as PtxDoc);
}

const tableOf: (specs: Specs) => PtxTable = memo(ptxTable);

/** Options of the PTX writer. */
export interface PtxHow {
  /** Architecture for `.target`; null keeps the module's. */
  readonly retarget?: string | null;
  /** `.version` is the lowest that has all written instructions. */
  readonly lowestVersion?: boolean;
  /** A function that must be kept unchanged is an error. */
  readonly strict?: boolean;
  /** Functions whose text is copied from the module. */
  readonly keep?: ReadonlySet<string>;
  /** Functions that could not be written are not reported. */
  readonly quiet?: boolean;
  /** The file that is written, for warnings. */
  readonly file?: string;
  /** Called with the shapes miscompiled by ptxas that were avoided, and those that remain. */
  readonly onFaults?: (a: Avoided) => void;
}

/** PTX text of a program; warns about functions that could not be written. */
export async function ptxOf(
  program: Program,
  module: PtxModule | null,
  plan: Plan,
  {
    retarget = null,
    lowestVersion = false,
    strict = false,
    keep,
    quiet = false,
    file = '<ptx>',
    onFaults,
  }: PtxHow = {},
): Promise<string> {
  const specs = await loadShipped();
  const table = tableOf(specs);
  const { text, diagnostics } = emitPtx(withoutSsa(program, plan.isa), {
    table,
    paramBase: paramBase(plan),
    module,
    target: retarget,
    keep,
  });
  const made = withoutFaults(text, plan, specs, table);
  const safe = lowestVersion ? { ...made, text: withLowestVersion(made.text, plan.isa.declared) } : made;
  onFaults?.(safe);
  if (quiet) return safe.text;
  show(strict ? diagnostics.map((d) => ({ ...d, severity: 'error' as const })) : diagnostics);
  if (diagnostics.some((d) => strict || d.severity === 'error')) throw new CliExit(1);
  if (safe.left.length > 0) rememberText(file, safe.text);
  show(faultWarnings(safe.left, file, safe.text, avoidsFaults(plan) ? [] : [`knob ${KEEP_FAULTS} keeps it`]));
  return safe.text;
}

/** Rewrites shapes that ptxas miscompiles for the target of the plan, at the level that ptxas uses by default. */
function withoutFaults(text: string, plan: Plan, specs: Specs, table: PtxTable): Avoided {
  const faults = KnownFaults.of(specs, plan.isa, plan.sm, PTXAS_LEVEL);
  if (faults === null) return { text, found: [], left: [] };
  const how = { isa: plan.isa, table, paramBase: paramBase(plan), sm: plan.sm };
  return avoidFaults(text, faults, how, avoidsFaults(plan));
}
