import type { Diagnostic } from '../../ir/diagnostic.ts';
import { type Avoided, type FaultSite, faultWarnings, KnownFaults } from '../../known-faults.ts';
import { loadShipped } from '../../spec/node.ts';
import type { Plan } from '../../spec/plan.ts';
import { PTXAS_LEVEL } from '../../spec/ptxas-faults.ts';
import type { Input } from '../input/input.ts';
import type { FaultRow } from '../optimize/summary-json.ts';

/** Shapes that ptxas miscompiles: those in the written PTX, or else those in the PTX that was read, which nothing avoids. */
export async function shapesOf(
  file: string,
  text: string,
  input: Input,
  plan: Plan,
  written: Avoided | null,
): Promise<{
  readonly rows: readonly FaultRow[];
  readonly warnings: readonly Diagnostic[];
  readonly notes: readonly string[];
}> {
  if (written !== null) return writtenShapes(written);
  const known = KnownFaults.of(await loadShipped(), plan.isa, plan.sm, PTXAS_LEVEL);
  const sites = input.module === null ? [] : (known?.sitesIn(input.program, input.module) ?? []);
  return {
    rows: sites.map((s) => ({ name: s.fault.name, function: s.fn, line: s.line, avoided: false })),
    warnings: faultWarnings(sites, file, text, ['--emit ptx writes it so that ptxas gets it right']),
    notes: [],
  };
}

/** The PTX writer itself warns about those that remain. */
function writtenShapes({ found, left }: Avoided) {
  const avoided = found.filter(
    (s) => !left.includes(s) && !left.some((l) => l.fn === s.fn && l.fault === s.fault),
  );
  const row = (s: FaultSite, avoided: boolean): FaultRow => ({
    name: s.fault.name,
    function: s.fn,
    line: avoided ? null : s.line,
    avoided,
  });
  return {
    rows: [...left.map((s) => row(s, false)), ...avoided.map((s) => row(s, true))],
    warnings: [],
    notes: [
      ...new Set(
        avoided.map((s) => `note: '${s.fn}' is written so that ptxas gets it right: ${s.fault.name}`),
      ),
    ],
  };
}
