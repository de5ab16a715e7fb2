import { TooLarge } from '../rules/prove/normal.ts';

/** Work that may be done: steps of everything whose number grows faster than the program. */
export class Purse {
  private left: number;
  private readonly from: Purse | null;

  /** @param from the purse of which this one is a part */
  constructor(left: number, from: Purse | null = null) {
    this.left = left;
    this.from = from;
  }

  get isEmpty(): boolean {
    return this.left <= 0;
  }

  /** @throws TooLarge if there is no more */
  take(n: number): void {
    this.from?.take(n);
    this.left -= n;
    if (this.left <= 0) throw new TooLarge();
  }

  /** A purse of at most so much, which is taken from this one. */
  part(most: number): Purse {
    return new Purse(Math.min(most, this.left), this);
  }
}

/** No limit. */
export const endless = (): Purse => new Purse(Number.POSITIVE_INFINITY);
