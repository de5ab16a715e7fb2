/** Generates unique names: one that is taken gets a number, `a$1`. */
export class UniqueNames {
  private readonly taken: Set<string>;
  private readonly isTaken: (name: string) => boolean;
  /** By name: the number to try first; lower ones are taken. */
  private readonly next = new Map<string, number>();

  /** @param isTaken further names that are taken, besides those given and those already generated */
  constructor(taken: Iterable<string> = [], isTaken: (name: string) => boolean = () => false) {
    this.taken = new Set(taken);
    this.isTaken = isTaken;
  }

  /** The name itself, or with the first free number; it counts as taken from now on. */
  take(name: string): string {
    let free = name;
    if (this.has(name)) {
      let n = this.next.get(name) ?? 1;
      while (this.has(`${name}$${n}`)) n++;
      this.next.set(name, n + 1);
      free = `${name}$${n}`;
    }
    this.taken.add(free);
    return free;
  }

  private has(name: string): boolean {
    return this.taken.has(name) || this.isTaken(name);
  }
}
