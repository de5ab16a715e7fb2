import type { PtxInstr, PtxOperand } from './ast.ts';

type Guard = NonNullable<PtxInstr['guard']>;

/**
 * Operands and guards that occur many times, each created once. The objects that stay alive are what makes a parser slow in a
 * garbage-collected language, so this pays more than any other optimization.
 */
export class Shared {
  /** Operands of the lists being read, as a stack; `top` is how many are held. */
  top = 0;
  private readonly stack: PtxOperand[] = [];
  /** By the number of a name. */
  private readonly names: (PtxOperand | undefined)[] = [];
  private readonly guards: (Guard | undefined)[] = [];
  private readonly notGuards: (Guard | undefined)[] = [];
  /** By the numbers of a name and of its part. */
  private readonly parts = new Map<number, PtxOperand>();

  push(o: PtxOperand): void {
    this.stack[this.top++] = o;
  }

  /** The operands pushed since the stack's height was `base`, which it is again. */
  take(base: number): readonly PtxOperand[] {
    const { stack, top } = this;
    this.top = base;
    // Literals are the cheapest arrays, and exactly as large as what they hold.
    switch (top - base) {
      case 1:
        return [stack[base]];
      case 2:
        return [stack[base], stack[base + 1]];
      case 3:
        return [stack[base], stack[base + 1], stack[base + 2]];
      case 4:
        return [stack[base], stack[base + 1], stack[base + 2], stack[base + 3]];
    }
    return stack.slice(base, top);
  }

  /** The operand that a bare name is. */
  name(id: number, name: string): PtxOperand {
    const known = this.names[id];
    if (known !== undefined) return known;
    const made: PtxOperand =
      name === '_'
        ? { kind: 'sink' }
        : name.charCodeAt(0) === 37
          ? { kind: 'reg', name, neg: false, not: false, part: '' }
          : { kind: 'sym', name, offset: 0n };
    while (this.names.length < id) this.names.push(undefined);
    this.names[id] = made;
    return made;
  }

  /** The operand that a name with a part (`%r1.x`) is; `make` is called for the first of its kind. */
  part(id: number, part: number, make: () => PtxOperand): PtxOperand {
    // Names number far fewer than 2^26, so the key is exact.
    const key = id * 0x4000000 + part;
    let known = this.parts.get(key);
    if (known === undefined) {
      known = make();
      this.parts.set(key, known);
    }
    return known;
  }

  guard(id: number, name: string, not: boolean): Guard {
    const from = not ? this.notGuards : this.guards;
    let known = from[id];
    if (known === undefined) {
      known = { name, not };
      while (from.length < id) from.push(undefined);
      from[id] = known;
    }
    return known;
  }
}
