/** What kind of fault ended a run. */
export type FaultKind = 'access' | 'trap' | 'deadlock' | 'other';

/** A fault of the simulated program: a bad access, a trap, a deadlock. */
export class SimFault extends Error {
  readonly kind: FaultKind;

  constructor(message: string, kind: FaultKind = 'other') {
    super(message);
    this.kind = kind;
  }
}

/** The instruction budget is used up. */
export class OutOfBudget extends Error {}
