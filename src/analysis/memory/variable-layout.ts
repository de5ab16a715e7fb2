import type { Fn, Program, Variable } from '../../ir/program.ts';
import { endOf } from './shared-layout.ts';

/**
 * Alignments of the variables of a program while a pass raises them. A space is laid out in the order of its declarations; PTX leaves
 * the layout to the assembler, so the padding that a raised alignment adds is an estimate.
 */
export class VariableLayout {
  private readonly program: Program;
  private readonly mostPadding: number;
  /** Variables of the module by name. */
  private readonly global: ReadonlyMap<string, Variable>;
  /** New alignments of variables. */
  private readonly raised = new Map<Variable, number>();

  /** @param mostPadding maximum number of bytes by which raised alignments may move the end of a space */
  constructor(program: Program, mostPadding: number) {
    this.program = program;
    this.mostPadding = mostPadding;
    this.global = new Map(program.variables.map((v) => [v.name, v]));
  }

  /** Current alignment of a variable, in bytes; 1 if there is no such variable. */
  alignOf(fn: Fn, name: string): number {
    const v = this.find(fn, name);
    return v === null ? 1 : Math.max(1, this.raised.get(v) ?? v.align);
  }

  /** May a variable be aligned to `bytes`? Variables that other modules may define, or refer to by address, may not. */
  mayRaise(fn: Fn, name: string, bytes: number): boolean {
    const v = this.find(fn, name);
    if (v === null || v.linkage !== '' || v.size === 0 || v.attrs.length > 0) return false;
    if (v.space !== 'shared' && v.space !== 'local' && v.space !== 'global') return false;
    const list = v.space === 'local' ? fn.variables : this.program.variables;
    const now = (w: Variable): number => this.raised.get(w) ?? w.align;
    const then = (w: Variable): number => Math.max(now(w), w === v ? bytes : 1);
    const space = list.filter((w) => w.space === v.space);
    return endOf(space, then) - endOf(space) <= this.mostPadding;
  }

  /** Aligns a variable to at least `bytes`. */
  raise(fn: Fn, name: string, bytes: number): void {
    const v = this.find(fn, name)!;
    if (bytes > (this.raised.get(v) ?? v.align)) this.raised.set(v, bytes);
  }

  /** The variables with their new alignments; the same list if none changed. */
  of(list: readonly Variable[]): readonly Variable[] {
    if (!list.some((v) => this.raised.has(v))) return list;
    return list.map((v) => {
      const align = this.raised.get(v);
      return align === undefined ? v : { ...v, align };
    });
  }

  private find(fn: Fn, name: string): Variable | null {
    return fn.variables.find((v) => v.name === name) ?? this.global.get(name) ?? null;
  }
}
