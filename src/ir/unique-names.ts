/** Hands out unique names: one that is taken gets a number, `a$1`. */
export class UniqueNames {
  private readonly taken: Set<string>;
  /** The number to try first, by name: those below are taken. */
  private readonly next = new Map<string, number>();

  constructor(taken: Iterable<string> = []) {
    this.taken = new Set(taken);
  }

  take(name: string): string {
    let free = name;
    if (this.taken.has(name)) {
      let n = this.next.get(name) ?? 1;
      while (this.taken.has(`${name}$${n}`)) n++;
      this.next.set(name, n + 1);
      free = `${name}$${n}`;
    }
    this.taken.add(free);
    return free;
  }
}
