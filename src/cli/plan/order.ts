import { host } from '../../engine/pipeline.ts';
import { wrapped } from '../../lab/render/table.ts';
import { lineOf } from '../../spec/node.ts';
import { type LegalRange, legalPlaces } from '../../spec/suggest.ts';
import { planFor, sourceOf } from '../input/input.ts';
import type { PlanOptions } from '../input/options.ts';
import { placeOf } from '../input/watch.ts';
import { failWith, out, pc, tableColumns } from '../terminal/ui.ts';

/** `orrery order suggest PHASE`: prints the legal places of a phase, and why others are not legal. */
export async function suggest(name: string, o: PlanOptions & { json?: boolean }): Promise<void> {
  const plan = await planFor(o, null);
  const { id, disabled } = plan.phases[placeOf(plan, name)];
  if (disabled?.origin.source === 'order')
    failWith(
      `'${id}' does not run, so no place is better than another: ${disabled.why}`,
      `the line that says so: ${disabled.origin.file}:${await lineOf(disabled.origin)}`,
    );
  const { specs, request } = await sourceOf(o, plan);
  const found = legalPlaces(specs, request, host, id);
  if (found === null) failWith(`the places of '${id}' cannot be tried`);
  const reasons = found.reasons.map((r) => {
    const why = r.label === undefined ? r.message : `${r.message}: ${r.label}`;
    return `${why} (${rangesText(r.positions)})`;
  });
  if (o.json === true) return out(JSON.stringify({ ...found, reasons }, null, 2));
  out(`${pc.bold(found.id)} stands at position ${found.position} of order '${plan.order}'. Legal places:\n`);
  for (const r of found.legal) {
    out(`  ${wrapped(rangeText(r), tableColumns() - 4).join('\n    ')}`);
    if (r.current) out(pc.green('    current place'));
    for (const w of r.warnings)
      out(pc.yellow(`    ${wrapped(`warning: ${w}`, tableColumns() - 6).join('\n      ')}`));
  }
  if (reasons.length > 0) out('\nnowhere else:');
  for (const r of reasons) out(`  ${wrapped(r, tableColumns() - 4).join('\n    ')}`);
}

/** Positions as text, neighbours as ranges: `positions 0 to 12, 40`. */
function rangesText(positions: readonly number[]): string {
  const runs: [first: number, last: number][] = [];
  for (const k of positions) {
    const last = runs.at(-1);
    if (last?.[1] === k - 1) last[1] = k;
    else runs.push([k, k]);
  }
  const text = runs.map(([a, b]) => (a === b ? `${a}` : `${a} to ${b}`)).join(', ');
  return `${positions.length === 1 ? 'position' : 'positions'} ${text}`;
}

function rangeText({ after, before }: LegalRange): string {
  const parts = [
    ...(after === null ? [] : [`after ${after.id} (${after.position})`]),
    ...(before === null ? [] : [`before ${before.id} (${before.position})`]),
  ];
  return parts.join(', ') || 'anywhere';
}
