/** What kind of fault ended a run; 'undefined': PTX leaves open what the instruction does. */
export type FaultKind = 'access' | 'trap' | 'deadlock' | 'kernel' | 'symbol' | 'undefined' | 'other';

/** A fault of the simulated program: a bad access, a trap, a deadlock. */
export class SimFault extends Error {
  readonly kind: FaultKind;
  /** Name of the kernel or symbol concerned; '' for none. */
  readonly subject: string;

  constructor(message: string, kind: FaultKind = 'other', subject = '') {
    super(message);
    this.kind = kind;
    this.subject = subject;
  }
}
