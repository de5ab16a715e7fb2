import { LimitReached } from '../ir/limit.ts';

/** Number of charges between two checks of the time limit. */
const CHECK_EVERY = 256;

/** A work budget: counts the steps of everything that grows faster than the program. */
export class WorkBudget {
  private left: number;
  private readonly from: WorkBudget | null;

  private readonly isLate: () => boolean;
  private taken = 0;

  /**
   * @param from the budget that this one is a part of
   * @param isLate polled now and then; once it is true, the budget is exhausted
   */
  constructor(left: number, from: WorkBudget | null = null, isLate = () => false) {
    this.left = left;
    this.from = from;
    this.isLate = isLate;
  }

  get isEmpty(): boolean {
    return this.left <= 0;
  }

  /** Charges `n` steps. @throws LimitReached if the budget is exhausted */
  take(n: number): void {
    this.from?.take(n);
    this.left -= n;
    if (this.taken++ % CHECK_EVERY === 0 && this.isLate()) this.left = 0;
    if (this.left <= 0) throw new LimitReached();
  }

  /** A budget of at most `most` steps, which are charged to this one too. */
  part(most: number): WorkBudget {
    return new WorkBudget(Math.min(most, this.left), this);
  }
}

/** A budget without limit. */
export const unlimited = (): WorkBudget => new WorkBudget(Number.POSITIVE_INFINITY);
