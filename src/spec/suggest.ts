import type { SpecFile } from './document.ts';
import type { Host } from './host.ts';
import type { SpecIssue } from './issues.ts';
import { faultsOf, placedAt } from './legal-places.ts';
import { phasePosition } from './phase-names.ts';
import { resolve } from './resolve.ts';
import type { PlanRequest, Specs } from './specs.ts';
import type { OrderWalk } from './walk.ts';

/** A stretch of places where a phase may stand. */
export interface LegalRange {
  /** Position and id of the phase behind which it begins, and of the one before which it ends; null: the first or last place. */
  readonly after: { readonly position: number; readonly id: string } | null;
  readonly before: { readonly position: number; readonly id: string } | null;
  /** What it says there, though it is legal: the later phase finds less to do. */
  readonly warnings: readonly string[];
  /** The phase stands here. */
  readonly current: boolean;
}

/** Where a phase may be moved. */
export interface Suggestion {
  readonly id: string;
  readonly position: number;
  readonly legal: readonly LegalRange[];
  /** Why the other places are illegal: each reason once, without the places. */
  readonly reasons: readonly SpecIssue[];
}

/** The edit that a place is tried with: what is wrong there is its fault. */
const MOVE: SpecFile = { file: '<suggestion>', text: '', kind: 'order', data: {} };
const TRIED = { file: MOVE, path: ['edits', 0] };

/**
 * Tries a phase of an order at every place: each is judged as the order with that move would be, for all functions that a `when` tells
 * apart. Neighbouring places at which the same is said are one range.
 *
 * @param id id of the phase in the order
 * @returns null where the order itself is illegal, or does not have the phase
 */
export function legalPlaces(specs: Specs, request: PlanRequest, host: Host, id: string): Suggestion | null {
  const { plan, walks } = resolve(specs, request, host);
  if (plan === null) return null;
  const at = phasePosition(plan, id);
  if (at === null) return null;
  const phase = plan.phases[at];
  const others = plan.phases.filter((_, i) => i !== at);
  const usual = new Set(walks.flatMap((w) => faultsOf(w).map((i) => i.message)));
  const reasons = new Map<string, SpecIssue>();
  const legal: { from: number; to: number; warnings: readonly string[] }[] = [];
  for (let k = 0; k <= others.length; k++) {
    const said = k === at ? [] : walks.flatMap((w) => tried(w, at, k));
    const errors = said.filter((i) => i.severity === 'error');
    for (const e of errors) {
      const message = e.message.replace(/ \(position \d+\)/g, '').replace(', which does not hold there', '');
      reasons.set(`${message} ${e.label}`, { ...e, message });
    }
    if (errors.length > 0) continue;
    const warnings = [...new Set(said.map((i) => i.message))].filter((m) => !usual.has(m));
    const last = legal.at(-1);
    if (last !== undefined && last.to === k - 1 && last.warnings.join() === warnings.join()) last.to = k;
    else legal.push({ from: k, to: k, warnings });
  }
  const seen = (k: number) =>
    others[k] === undefined ? null : { position: others[k].position, id: others[k].id };
  return {
    id: phase.id,
    position: at,
    legal: legal.map(({ from, to, warnings }) => ({
      after: from === 0 ? null : seen(from - 1),
      before: seen(to),
      warnings,
      current: from <= at && at <= to,
    })),
    reasons: [...reasons.values()],
  };
}

/** What is said of an order with a phase at another place. */
function tried(walk: OrderWalk, at: number, to: number): SpecIssue[] {
  const there = placedAt(walk, at, to, TRIED);
  if (!('torn' in there)) return faultsOf(there);
  return [{ severity: 'error', code: 'edit-repeated', message: there.torn, file: null, path: [] }];
}
