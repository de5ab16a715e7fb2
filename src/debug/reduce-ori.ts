import { edit, removeUnreachable } from '../ir/draft/index.ts';
import { withBlocks, withFunctions, withGuard, withIns, withSource } from '../ir/edit.ts';
import { isControl, isPhi } from '../ir/flow.ts';
import { movesOf } from '../ir/moves.ts';
import type { Isa } from '../ir/opcode.ts';
import { imm, Kind, NO_REG } from '../ir/operand.ts';
import type { Instr, Program } from '../ir/program.ts';
import type { Reduction } from './parts.ts';

/*
 * What may be taken away from an Ori program. Much of what comes out is no valid program: the verifier tells.
 */

/** Rebuilds a program; asks of each part in a fixed order whether it goes. */
type Rebuild = (p: Program, goes: () => boolean) => Program;

const offering = (name: string, rebuild: Rebuild): Reduction<Program> => ({
  name,
  of(p) {
    let count = 0;
    rebuild(p, () => {
      count++;
      return false;
    });
    const without = (gone: ReadonlySet<number>): Program => {
      let i = 0;
      return rebuild(p, () => gone.has(i++));
    };
    return { count, without };
  },
});

/** Changes every instruction to none, itself or another; blocks to which nothing leads any more go. */
function mapInstructions(p: Program, isa: Isa, change: (x: Instr) => Instr | null): Program {
  return withFunctions(
    p,
    p.functions.map((fn) => {
      const blocks = fn.blocks.map((b) =>
        withIns(
          b,
          b.ins.flatMap((x) => change(x) ?? []),
        ),
      );
      const changed = withBlocks(fn, blocks);
      try {
        return edit(changed, (d) => void removeUnreachable(d), isa);
      } catch {
        // What no draft can hold is no program: the verifier refuses it.
        return changed;
      }
    }),
  );
}

/** All that may be taken away from a program, what takes most first. */
export function oriReductions(isa: Isa): readonly Reduction<Program>[] {
  const moves = movesOf(isa);
  const isCopyOfConstant = (x: Instr): boolean =>
    (x.op === moves.mov || x.op === moves.logic) && x.src.every((o) => o.kind === Kind.Imm || o.reg < 0);
  const values = (value: number): Reduction<Program> =>
    offering(`values to ${value}`, (p, goes) =>
      mapInstructions(p, isa, (x) => {
        const [to] = x.dst;
        if (x.dst.length !== 1 || to === NO_REG || isPhi(x) || isControl(x) || isCopyOfConstant(x)) return x;
        return goes() ? moves.move(to, imm(value), x.loc) : x;
      }),
    );
  const operands = (value: number): Reduction<Program> =>
    offering(`operands to ${value}`, (p, goes) =>
      mapInstructions(p, isa, (x) => {
        if (isPhi(x) || isControl(x)) return x;
        let out = x;
        x.src.forEach((o, k) => {
          if (o.kind === Kind.Reg && o.reg !== NO_REG && goes()) out = withSource(out, k, imm(value));
        });
        return out;
      }),
    );
  return [
    offering('functions', (p, goes) =>
      withFunctions(
        p,
        p.functions.filter(() => !goes()),
      ),
    ),
    offering('variables', (p, goes) => ({ ...p, variables: p.variables.filter(() => !goes()) })),
    offering('instructions', (p, goes) => mapInstructions(p, isa, (x) => (goes() ? null : x))),
    offering('guards', (p, goes) =>
      mapInstructions(p, isa, (x) => (x.guard !== NO_REG && goes() ? withGuard(x, NO_REG) : x)),
    ),
    values(0),
    values(1),
    operands(0),
    operands(1),
  ];
}
