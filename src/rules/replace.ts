import type { Draft } from '../ir/draft/index.ts';
import { toOperands, toRegs, withSrc } from '../ir/edit.ts';
import { otherwiseFor } from '../ir/moves.ts';
import { Mod, slotWidth } from '../ir/opcode.ts';
import {
  addr,
  immOf,
  immValue,
  Kind,
  NO_REG,
  type Operand,
  type Reg,
  regWidth,
  withOperandMods,
  withReg,
} from '../ir/operand.ts';
import { type Instr, instr } from '../ir/program.ts';
import { floatTypeOf } from '../isa/meaning.ts';
import { addressSlot } from './automaton.ts';
import { type Match, type Miss, toggled } from './bind.ts';
import { FILE_OF_WIDTH, mayStand } from './fit.ts';
import { plainConstant } from './fold.ts';
import type { Line, Source } from './rule.ts';

/** The instructions that replace the root, in order; each has the root's guard. */
export interface Replacement {
  readonly ins: readonly Instr[];
}

/**
 * Builds the instructions that replace the root. New registers are allocated only when every operand is known to fit.
 * @returns the replacement, or the reason why there is none: an operand does not fit in its slot
 */
export function build(m: Match, draft: Draft): Replacement | Miss {
  const { rule } = m.variant;
  const root = draft.at(m.places[rule.match.length - 1]);
  if (rule.root === null) return buildAddress(m, root);
  const regs: Reg[] = rule.vars.map((_, i) => m.operands[i]?.reg ?? NO_REG);
  const rootDst = rule.match[rule.match.length - 1].dst;
  const kept = rule.rewrite.filter((l) =>
    l.dst.some((d) => d < 0 || rule.vars[d].fresh || regs[d] !== NO_REG),
  );
  if (!readBeforeWritten(m, kept, rootDst, root.guard)) return 'operand does not fit';
  const lines: { line: Line; mods: number; src: Operand[] }[] = [];
  for (const line of kept) {
    const mods = m.instance.rewrite[rule.rewrite.indexOf(line)];
    const src: Operand[] = [];
    for (let i = 0; i < line.src.length; i++) {
      const slot = line.op!.srcs[i];
      const width = slotWidth(line.op!, mods, slot);
      const o = operandFor(m, line.src[i], width, slot.bank === 'p', () => floatTypeOf(line.op!, mods, i));
      if (o === null) return 'operand does not fit';
      const fresh = o.kind === Kind.Reg && o.reg === NO_REG;
      if (!fresh && !mayStand(o, slot, width)) return 'operand does not fit';
      src.push(o);
    }
    lines.push({ line, mods, src });
  }
  // Everything fits: only now are registers allocated.
  for (const { line } of lines)
    for (const d of line.dst)
      if (d >= 0 && rule.vars[d].fresh && regs[d] === NO_REG)
        regs[d] = draft.freshReg(FILE_OF_WIDTH(m.instance.widths[d]));
  const { guard, guardNot, loc } = root;
  return {
    ins: lines.map(({ line, mods, src }) =>
      instr(
        line.op!,
        mods,
        toRegs(line.dst, (d) => (d < 0 ? NO_REG : regs[d])),
        toOperands(src, (o, i) => {
          const s = line.src[i];
          return s.k === 'var' && rule.vars[s.v].fresh ? withReg(o, regs[s.v]) : o;
        }),
        loc,
        guard,
        guardNot,
        otherwiseFor(
          root,
          toRegs(line.dst, (d) => (d < 0 ? NO_REG : regs[d])),
        ),
      ),
    ),
  };
}

/**
 * No line may read a register that an earlier line has overwritten with a result of the root; every line reads the
 * root's guard.
 */
function readBeforeWritten(
  m: Match,
  lines: readonly Line[],
  rootDst: readonly number[],
  guard: Reg,
): boolean {
  if (lines.length < 2) return true;
  const written: Reg[] = [];
  for (const l of lines) {
    if (guard !== NO_REG && written.includes(guard)) return false;
    for (const s of l.src)
      if (s.k === 'var' && !m.variant.rule.vars[s.v].fresh && !rootDst.includes(s.v)) {
        const o = m.operands[s.v];
        if (o !== null && o.reg !== NO_REG && written.includes(o.reg)) return false;
      }
    for (const d of l.dst) {
      const r = d < 0 ? NO_REG : (m.operands[d]?.reg ?? NO_REG);
      if (r !== NO_REG) written.push(r);
    }
  }
  return true;
}

/** The operand for a source of the rewrite; a register that is not allocated yet is NO_REG. */
function operandFor(
  m: Match,
  s: Source,
  width: number,
  predicate: boolean,
  reading: () => string | null,
): Operand | null {
  switch (s.k) {
    case 'literal':
      return immOf(s.value, predicate ? 1 : width || 32);
    case 'computed':
      return immOf(m.outputs[s.x + 1], width || 32);
    case 'const':
      return m.operands[s.v];
    case 'var': {
      if (m.variant.rule.vars[s.v].fresh)
        return { kind: Kind.Reg, reg: NO_REG, lo: 0, hi: 0, sym: '', mods: s.mods };
      const o = m.operands[s.v];
      if (o === null) return null;
      if (s.mods === 0) return o;
      if (o.kind === Kind.Imm) return plainConstant(withOperandMods(o, o.mods ^ s.mods), width, reading());
      if ((s.mods & Mod.Abs) !== 0)
        return o.mods === 0 && o.kind === Kind.Reg ? withOperandMods(o, s.mods) : null;
      return toggled(o, s.mods);
    }
    default:
      return null;
  }
}

function buildAddress(m: Match, ins: Instr): Replacement | Miss {
  const { rule } = m.variant;
  const last = rule.rewrite[rule.rewrite.length - 1].src[0];
  if (rule.rewrite.length > 1 || last.k !== 'address') return 'operand does not fit';
  const base = operandFor(m, last.base, 64, false, () => null);
  const offset = operandFor(m, last.offset, 64, false, () => null);
  if (base === null || offset === null || base.kind !== Kind.Reg || base.mods !== 0)
    return 'operand does not fit';
  const value = BigInt.asIntN(64, immValue(offset, 64));
  if (BigInt.asIntN(32, value) !== value) return 'operand does not fit';
  const at = addressSlot(ins.op);
  if (base.reg !== ins.src[at].reg && regWidth(base.reg) !== regWidth(ins.src[at].reg))
    return 'operand does not fit';
  const src = [...ins.src];
  src[at] = addr(base.reg, Number(value));
  return { ins: [withSrc(ins, src)] };
}
