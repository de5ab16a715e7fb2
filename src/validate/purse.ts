import { TooLarge } from '../rules/prove/normal.ts';

/** After how many payments a purse asks whether it is late. */
const ASKED = 256;

/** Work that may be done: steps of everything whose number grows faster than the program. */
export class Purse {
  private left: number;
  private readonly from: Purse | null;

  private readonly isLate: () => boolean;
  private taken = 0;

  /**
   * @param from the purse of which this one is a part
   * @param isLate asked now and then: from when on nothing is left
   */
  constructor(left: number, from: Purse | null = null, isLate = () => false) {
    this.left = left;
    this.from = from;
    this.isLate = isLate;
  }

  get isEmpty(): boolean {
    return this.left <= 0;
  }

  /** @throws TooLarge if there is no more */
  take(n: number): void {
    this.from?.take(n);
    this.left -= n;
    if (this.taken++ % ASKED === 0 && this.isLate()) this.left = 0;
    if (this.left <= 0) throw new TooLarge();
  }

  /** A purse of at most so much, which is taken from this one. */
  part(most: number): Purse {
    return new Purse(Math.min(most, this.left), this);
  }
}

/** No limit. */
export const endless = (): Purse => new Purse(Number.POSITIVE_INFINITY);
