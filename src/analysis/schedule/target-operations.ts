import { hasMod, type Opcode } from '../../ir/opcode.ts';
import type { Fn, Instr } from '../../ir/program.ts';
import { printInstr } from '../../ir/text.ts';
import type { VerifyError } from '../../ir/verify.ts';

/** How a target supports an operation: 'native', 'none', or the phase that expands it. */
export type Support = string;

/**
 * A back end's `operations`: which opcodes the target has. A row names an opcode, or an opcode with modifiers that must all be chosen;
 * of the matching rows, the one with the most modifiers counts, and an opcode without a row is native.
 */
export class TargetOperations {
  private readonly rows = new Map<
    string,
    { readonly mods: readonly string[]; readonly support: Support }[]
  >();
  /** By opcode: whether it has a row; most have none. */
  private readonly hasRow = new Map<Opcode, boolean>();

  constructor(operations: Readonly<Record<string, Support>>) {
    for (const [key, support] of Object.entries(operations)) {
      const [name, ...mods] = key.split('.');
      const list = this.rows.get(name) ?? [];
      list.push({ mods, support });
      list.sort((a, b) => b.mods.length - a.mods.length);
      this.rows.set(name, list);
    }
  }

  /** How the target supports the instruction. */
  supportOf(x: Instr): Support {
    let listed = this.hasRow.get(x.op);
    if (listed === undefined) this.hasRow.set(x.op, (listed = this.rows.has(x.op.name)));
    if (!listed) return 'native';
    const row = this.rows.get(x.op.name)!.find((r) => r.mods.every((m) => hasMod(x.op, x.mods, m)));
    return row?.support ?? 'native';
  }
}

/** Limits of expansions that a program may exceed. */
const LIMITS: Readonly<Record<string, string>> = {
  REDUX:
    ': only a mask that is known to be 0xffffffff is expanded, since no lane outside of a mask may be read',
};

/** The instructions of a function that the target lacks, as errors; at most `most`. */
export function missingOperations(
  fn: Fn,
  operations: Readonly<Record<string, Support>>,
  sm: string,
  most = 50,
): VerifyError[] {
  const target = new TargetOperations(operations);
  const out: VerifyError[] = [];
  for (const { id, ins } of fn.blocks)
    for (const [index, x] of ins.entries()) {
      const support = target.supportOf(x);
      if (support === 'native' || out.length === most) continue;
      const why = support === 'none' ? '' : `, and ${support} did not expand it${LIMITS[x.op.name] ?? ''}`;
      const message = `${sm} has no operation for '${printInstr(x)}'${why}`;
      out.push({ rule: 'target', message, fn: fn.name, block: id, index, loc: x.loc });
    }
  return out;
}
