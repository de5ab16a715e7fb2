import type { PtxInstr, PtxOperand } from './ast.ts';

type Guard = NonNullable<PtxInstr['guard']>;

/**
 * Creates equal operands and guards once. The number of live objects dominates the time of a parser in a garbage-collected language, so
 * this saves more than any other optimization.
 */
export class Shared {
  /** Height of the stack of operands of the lists under construction. */
  top = 0;
  private readonly stack: PtxOperand[] = [];
  /** Operands by the number of their name. */
  private readonly names: (PtxOperand | undefined)[] = [];
  private readonly guards: (Guard | undefined)[] = [];
  private readonly notGuards: (Guard | undefined)[] = [];
  /** Operands by the numbers of their name and selector. */
  private readonly parts = new Map<number, PtxOperand>();

  push(o: PtxOperand): void {
    this.stack[this.top++] = o;
  }

  /** Pops the operands above height `base`. */
  take(base: number): readonly PtxOperand[] {
    const { stack, top } = this;
    this.top = base;
    // Array literals are cheapest, and have no spare capacity.
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

  /** The operand for a bare name. @param id number of the name */
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

  /** The operand for a name with a selector (`%r1.x`). @param make creates the first one */
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
