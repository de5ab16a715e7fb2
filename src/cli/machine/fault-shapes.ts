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
  const known = KnownFaults.of(await loadShipped(), plan.isa, plan.sm, PTXAS_LEVEL);
  const sites = input.module === null ? [] : (known?.sitesIn(input.program, input.module) ?? []);
  if (written !== null) return writtenShapes(file, sites, written);
  return {
    rows: sites.map((s) => ({ name: s.fault.name, function: s.fn, line: s.line, avoided: false })),
    warnings: faultWarnings(sites, file, text, ['--emit ptx writes it so that ptxas gets it right']),
    notes: [],
  };
}

/**
 * The PTX writer itself warns about those that remain.
 *
 * @param read those in the PTX that was read, which a phase or the writer may have removed
 */
function writtenShapes(file: string, read: readonly FaultSite[], { found, left }: Avoided) {
  const key = (s: FaultSite): string => `${s.fn} ${s.fault.name}`;
  const remain = new Set(left.map(key));
  const avoided = found.filter((s) => !remain.has(key(s)));
  const removed = read.filter((s) => !remain.has(key(s)) && !avoided.some((a) => key(a) === key(s)));
  const row = (s: FaultSite, avoided: boolean): FaultRow => ({
    name: s.fault.name,
    function: s.fn,
    line: avoided ? null : s.line,
    avoided,
  });
  const note = (s: FaultSite): string => {
    const lines = [...new Set(read.filter((r) => key(r) === key(s)).map((r) => r.line))].filter((n) => n > 0);
    const where = lines.length === 0 ? '' : ` (${file}:${lines.join(', ')})`;
    return `note: '${s.fn}' is written so that ptxas gets it right: ${s.fault.name}${where}`;
  };
  return {
    rows: [...left.map((s) => row(s, false)), ...[...avoided, ...removed].map((s) => row(s, true))],
    warnings: [],
    notes: [...new Set([...avoided, ...removed].map(note))],
  };
}
