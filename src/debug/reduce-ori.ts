import { edit, removeUnreachable } from '../ir/draft/index.ts';
import {
  withBlocks,
  withFunctions,
  withGuard,
  withIns,
  withOtherwise,
  withSource,
  withSrc,
} from '../ir/edit.ts';
import { isControl, isPhi } from '../ir/flow.ts';
import { movesOf } from '../ir/moves.ts';
import type { Isa } from '../ir/opcode.ts';
import { imm, Kind, NO_REG, type Reg, regFile, withReg } from '../ir/operand.ts';
import type { Instr, Program } from '../ir/program.ts';
import { offering, type Reduction } from './parts.ts';

/*
 * Reductions of Ori programs. Many candidates are not valid programs; the verifier rejects them.
 */

/** Replaces or removes (null) each instruction, and removes blocks that become unreachable. */
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
        // A candidate that a draft rejects is not a valid program; the verifier rejects it too.
        return changed;
      }
    }),
  );
}

/** Removes an instruction and replaces uses of its result by one of its operands in the same register file. */
const steps = (isa: Isa): Reduction<Program> =>
  offering<Program>('steps', (p, goes) => {
    /** For each function, the replacements of registers. */
    const instead = p.functions.map(() => new Map<Reg, Reg>());
    const functions = p.functions.map((fn, f) => {
      const renames = instead[f];
      const blocks = fn.blocks.map((b) =>
        withIns(
          b,
          b.ins.filter((x) => {
            const [to] = x.dst;
            if (x.dst.length !== 1 || to === NO_REG || isPhi(x) || isControl(x)) return true;
            for (const o of x.src) {
              const same =
                o.kind === Kind.Reg && o.mods === 0 && o.reg !== to && regFile(o.reg) === regFile(to);
              if (same && goes() && !renames.has(to)) renames.set(to, o.reg);
            }
            return !renames.has(to);
          }),
        ),
      );
      return withBlocks(fn, blocks);
    });
    const shorter = withFunctions(p, functions);
    const functionsRenamed = shorter.functions.map((fn, f) =>
      instead[f].size === 0
        ? fn
        : withBlocks(
            fn,
            fn.blocks.map((b) =>
              withIns(
                b,
                b.ins.map((x) => renamed(x, instead[f])),
              ),
            ),
          ),
    );
    return mapInstructions(withFunctions(shorter, functionsRenamed), isa, (x) => x);
  });

/** An instruction with registers replaced; replacements are applied transitively. */
function renamed(x: Instr, renames: ReadonlyMap<Reg, Reg>): Instr {
  const nameOf = (r: Reg): Reg => {
    let at = r;
    for (let n = 0; n <= renames.size && renames.has(at); n++) at = renames.get(at)!;
    return at;
  };
  let out = withSrc(
    x,
    x.src.map((o) => (o.reg === NO_REG ? o : withReg(o, nameOf(o.reg)))),
  );
  if (x.guard !== NO_REG) out = withGuard(out, nameOf(x.guard), x.guardNot);
  return out.otherwise.length === 0 ? out : withOtherwise(out, out.otherwise.map(nameOf));
}

/** All reductions of a program, the most effective first. */
export function oriReductions(isa: Isa): readonly Reduction<Program>[] {
  const moves = movesOf(isa);
  const isCopyOfConstant = (x: Instr): boolean =>
    (x.op === moves.mov || x.op === moves.logic) && x.src.every((o) => o.kind === Kind.Imm || o.reg < 0);
  const values = (value: number): Reduction<Program> =>
    offering<Program>(`values to ${value}`, (p, goes) =>
      mapInstructions(p, isa, (x) => {
        const [to] = x.dst;
        if (x.dst.length !== 1 || to === NO_REG || isPhi(x) || isControl(x) || isCopyOfConstant(x)) return x;
        return goes() ? moves.move(to, imm(value), x.loc) : x;
      }),
    );
  const operands = (value: number): Reduction<Program> =>
    offering<Program>(`operands to ${value}`, (p, goes) =>
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
    offering<Program>('functions', (p, goes) =>
      withFunctions(
        p,
        p.functions.filter(() => !goes()),
      ),
    ),
    offering<Program>('variables', (p, goes) => ({ ...p, variables: p.variables.filter(() => !goes()) })),
    offering<Program>('instructions', (p, goes) => mapInstructions(p, isa, (x) => (goes() ? null : x))),
    offering<Program>('guards', (p, goes) =>
      mapInstructions(p, isa, (x) => (x.guard !== NO_REG && goes() ? withGuard(x, NO_REG) : x)),
    ),
    steps(isa),
    values(0),
    values(1),
    operands(0),
    operands(1),
    offering<Program>('parameters', (p, goes) =>
      withFunctions(
        p,
        p.functions.map((fn) => ({ ...fn, params: fn.params.filter(() => !goes()) })),
      ),
    ),
    // All lines are removed at once, because the source file is not available anyway.
    offering<Program>('source lines', (p, goes) =>
      p.locs.length > 1 && goes()
        ? mapInstructions({ ...p, locs: p.locs.slice(0, 1), files: [] }, isa, (x) => ({ ...x, loc: 0 }))
        : p,
    ),
  ];
}
