import type { SpecFile } from './document.ts';
import type { Host } from './host.ts';
import type { SpecIssue } from './issues.ts';
import { faultsOf, placedAt } from './legal-places.ts';
import { phasePosition } from './phase-names.ts';
import { resolve } from './resolve.ts';
import type { PlanRequest, Specs } from './specs.ts';
import type { OrderWalk } from './walk.ts';

/** A range of adjacent positions where a phase may be placed. */
export interface LegalRange {
  /** The phase after which the range begins; null: at the start of the order. */
  readonly after: { readonly position: number; readonly id: string } | null;
  /** The phase before which the range ends; null: at the end of the order. */
  readonly before: { readonly position: number; readonly id: string } | null;
  /** Warnings that the order gives with the phase there, beyond those that it gives anyway. */
  readonly warnings: readonly string[];
  /** True if the range contains the current position. */
  readonly current: boolean;
}

/** Why a phase cannot be at some positions. */
export interface Reason extends SpecIssue {
  readonly positions: readonly number[];
}

/** The positions to which a phase may be moved. */
export interface Suggestion {
  readonly id: string;
  readonly position: number;
  readonly legal: readonly LegalRange[];
  /** Why the other positions are illegal: the distinct reasons, each with the positions of the phase for which it holds. */
  readonly reasons: readonly Reason[];
}

/** The edit that stands for a trial move, so that faults are blamed on it. */
const MOVE: SpecFile = { file: '<suggestion>', text: '', kind: 'order', data: {} };
const TRIED = { file: MOVE, path: ['edits', 0] };

/**
 * Tries a phase of an order at every position. Each position is judged by the checks of the order with that move, for every variant of the
 * plan. Adjacent positions with the same warnings form one range.
 *
 * @param id id of the phase in the order
 * @returns null if the order itself is illegal, or does not have the phase
 */
export function legalPlaces(specs: Specs, request: PlanRequest, host: Host, id: string): Suggestion | null {
  const { plan, walks } = resolve(specs, request, host);
  if (plan === null) return null;
  const at = phasePosition(plan, id);
  if (at === null) return null;
  const phase = plan.phases[at];
  const others = plan.phases.filter((_, i) => i !== at);
  const usual = new Set(walks.flatMap((w) => faultsOf(w).map((i) => i.message)));
  const reasons = new Map<string, Reason & { readonly positions: number[] }>();
  const legal: { from: number; to: number; warnings: readonly string[] }[] = [];
  for (let k = 0; k <= others.length; k++) {
    const found = k === at ? [] : walks.flatMap((w) => tried(w, at, k));
    const errors = found.filter((i) => i.severity === 'error');
    for (const e of errors) {
      const message = e.message.replace(/ \(position \d+\)/g, '').replace(', which does not hold there', '');
      const key = `${message} ${e.label}`;
      const known = reasons.get(key);
      if (known === undefined) reasons.set(key, { ...e, message, positions: [k] });
      else if (known.positions.at(-1) !== k) known.positions.push(k);
    }
    if (errors.length > 0) continue;
    const warnings = [...new Set(found.map((i) => i.message))].filter((m) => !usual.has(m));
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

/** Issues of an order with a phase at another position. */
function tried(walk: OrderWalk, at: number, to: number): SpecIssue[] {
  const there = placedAt(walk, at, to, TRIED);
  if (!('torn' in there)) return faultsOf(there);
  return [{ severity: 'error', code: 'edit-repeated', message: there.torn, file: null, path: [] }];
}
