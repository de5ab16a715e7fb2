import { hasMod, type Opcode } from '../../ir/opcode.ts';
import type { Fn, Instr } from '../../ir/program.ts';
import { printInstr } from '../../ir/text.ts';
import type { VerifyError } from '../../ir/verify.ts';

/** How a target has an operation: 'native', 'none', or the phase at which it is expanded. */
export type Support = string;

/**
 * A back end's `operations`: which opcodes the target has. A row is an opcode, or an opcode with modifiers that must all be
 * chosen; of the rows that fit, that with the most modifiers counts, and an opcode without one is native.
 */
export class TargetOperations {
  private readonly rows = new Map<
    string,
    { readonly mods: readonly string[]; readonly support: Support }[]
  >();
  /** By opcode, since most have no row. */
  private readonly known = new Map<Opcode, boolean>();

  constructor(operations: Readonly<Record<string, Support>>) {
    for (const [key, support] of Object.entries(operations)) {
      const [name, ...mods] = key.split('.');
      const list = this.rows.get(name) ?? [];
      list.push({ mods, support });
      list.sort((a, b) => b.mods.length - a.mods.length);
      this.rows.set(name, list);
    }
  }

  /** How the target has what the instruction does. */
  supportOf(x: Instr): Support {
    let listed = this.known.get(x.op);
    if (listed === undefined) this.known.set(x.op, (listed = this.rows.has(x.op.name)));
    if (!listed) return 'native';
    const row = this.rows.get(x.op.name)!.find((r) => r.mods.every((m) => hasMod(x.op, x.mods, m)));
    return row?.support ?? 'native';
  }
}

/** What an expansion is limited to, where a program may well be beyond it. */
const LIMITS: Readonly<Record<string, string>> = {
  REDUX: ': only a mask that is surely 0xffffffff is expanded, since no lane outside of a mask may be read',
};

/** The instructions of a function that the target does not have, as errors; at most `most`. */
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
