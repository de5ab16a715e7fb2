import { TargetOperations } from '../../analysis/schedule/target-operations.ts';
import { type Draft, edit, type Ins } from '../../ir/draft/index.ts';
import { modOf, withMods } from '../../ir/opcode.ts';
import { imm, Kind, NO_REG, type Operand, PT, RegFile, RZ, reg } from '../../ir/operand.ts';
import { type Instr, instr } from '../../ir/program.ts';
import { printInstr } from '../../ir/text.ts';
import type { Pass } from '../pass.ts';

/**
 * Phase LateExpansionUnsupportedOps: a reduction over a whole warp becomes five exchanges where the target has no REDUX.
 *
 *     before                               after (one step of five)
 *     BB0:                                 BB0:
 *           REDUX.ADD R4, R2, -1                 VOTE.ANY R5, _, PT, -1            active lanes
 *                                                S2R.LANEID R6
 *                                                ...
 *                                                LOP3 R7, R6, 4, -4, (a ^ b) & c   first lane of the other group of 4
 *                                                SHL R8, 15, R7
 *                                                LOP3 R9, R8, R5, a & b            its active lanes
 *                                                ISETP.NE P1, R9, 0
 *                                                FLO.U32 R10, R9
 *                                                SEL R11, R10, R6, P1              one of them, or the lane itself
 *                                                SHFL.IDX R12, R3, R11, 31, -1
 *                                                IADD3 R13, R3, R12
 *                                                SEL R14, R13, R3, P1
 *
 * Before the step for 2^k, each lane holds the result of the active lanes of its aligned group of 2^k; it takes the result of the other
 * half of its group of 2^(k+1) from any active lane there. All operations are commutative and associative, so the order does not
 * matter. An exchange with the lane whose number differs in bit k (SHFL.BFLY) would do if all 32 lanes were active, but REDUX reduces
 * over the lanes that have not exited, and the value of an exited lane is undefined (PTX ISA 9.0, redux.sync and shfl.sync).
 *
 * Only for a mask that is known to be all ones; FinalInspectionPass refuses others.
 *
 * Requires: nothing. Guarantees: the same blocks and edges. A second application changes nothing.
 * Bound: each instruction is examined once; up to 49 instructions for one.
 */
export const expandReductions: Pass = (fn, ctx) => {
  const target = new TargetOperations((ctx.fact('operations') ?? {}) as Readonly<Record<string, string>>);
  const lacks = (x: Instr): boolean =>
    x.op.name === 'REDUX' && !['native', 'none'].includes(target.supportOf(x));
  if (!fn.blocks.some((b) => b.ins.some(lacks))) return fn;
  return edit(
    fn,
    (d) => {
      for (const b of d.layout())
        for (let n = d.first(b), next = -1; n >= 0; n = next) {
          next = d.next(n);
          const x = d.at(n);
          if (!lacks(x)) continue;
          const at = { block: d.id(b), ins: x };
          if (!isWhole(d, x.src[1]))
            ctx.remark('missed', 'reduction-kept', `${printInstr(x)}: its mask may leave lanes out`, at);
          else if (ctx.mayRewrite('reduction-expanded', at.block, x)) {
            ctx.remark('passed', 'reduction-expanded', `${printInstr(x)}: five exchanges`, at);
            expand(d, n);
          }
        }
    },
    ctx.isa,
  );
};

/** Is the mask all ones, as an immediate or by its only definition? Below level 1 no constant has been propagated to it. */
function isWhole(d: Draft, mask: Operand): boolean {
  let o = mask;
  if (o.kind === Kind.Reg && o.reg !== NO_REG && d.def(o.reg) >= 0) {
    const { op, guard, src } = d.at(d.def(o.reg));
    if (op.name === 'MOV' && guard === NO_REG) o = src[0];
  }
  return o.kind === Kind.Imm && o.lo === -1;
}

const [AND, OR, XOR, XOR_AND] = [0xc0, 0xfc, 0x3c, 0x28].map(imm);
const TABLES: Readonly<Record<string, Operand>> = { AND, OR, XOR };
/** Operations for which combining a value with itself gives that value. */
const IDEMPOTENT: ReadonlySet<string> = new Set(['MIN', 'MAX', 'AND', 'OR']);
const STEPS = 5;
const LAST_LANE = imm(31);

function expand(d: Draft, n: Ins): void {
  const x = d.at(n);
  const kind = modOf(x.op, x.mods, 'op');
  /** Inserts an instruction in front, with a fresh register for its result; only operations between lanes get the guard. */
  const put = (name: string, mods: readonly string[], src: readonly Operand[], file: number = RegFile.R) => {
    const op = d.opcode(name);
    const to = d.freshReg(file);
    const dst = op.dsts.map((_, k) => (k === 0 ? to : NO_REG));
    const guard = op.primitive === null ? NO_REG : x.guard;
    d.insertBefore(n, instr(op, withMods(op, 0, ...mods), dst, src, x.loc, guard, x.guardNot));
    return reg(to);
  };
  const combined = (a: Operand, b: Operand): Operand => {
    if (kind === 'ADD') return put('IADD3', [], [a, b, RZ]);
    if (kind === 'MIN' || kind === 'MAX') return put('IMNMX', [kind, modOf(x.op, x.mods, 'type')], [a, b]);
    return put('LOP3', [], [a, b, RZ, TABLES[kind]]);
  };
  const [, mask] = x.src;
  const there = put('VOTE', ['ANY'], [PT, mask]);
  const lane = put('S2R', ['LANEID'], []);
  let value = put('MOV', [], [x.src[0]]);
  for (let k = 0; k < STEPS; k++) {
    const size = 2 ** k;
    const begin = put('LOP3', [], [lane, imm(size), imm(-size), XOR_AND]);
    const group = put('SHL', [], [imm(2 ** size - 1), begin]);
    const others = put('LOP3', [], [group, there, RZ, AND]);
    const some = put('ISETP', ['NE', 'U32'], [others, RZ, PT], RegFile.P);
    const highest = put('FLO', ['U32'], [others]);
    const from = put('SEL', [], [highest, lane, some]);
    const other = put('SHFL', ['IDX'], [value, from, LAST_LANE, mask]);
    const both = combined(value, other);
    value = IDEMPOTENT.has(kind) ? both : put('SEL', [], [both, value, some]);
  }
  const op = d.opcode('MOV');
  d.replace(n, instr(op, withMods(op, 0), x.dst, [value], x.loc, x.guard, x.guardNot, x.otherwise));
}
