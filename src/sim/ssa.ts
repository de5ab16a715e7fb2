import { finish } from '../ir/draft/finish.ts';
import { Draft, splitEdge } from '../ir/draft/index.ts';
import { withOtherwise, withSrc } from '../ir/edit.ts';
import { hasSsaForms } from '../ir/flow.ts';
import { type Isa, NO_SPELLING, type Opcode, OpFlag, type Slot } from '../ir/opcode.ts';
import { Kind, NO_REG, type Operand, type Reg, reg, regFile, regWidth } from '../ir/operand.ts';
import { type Fn, type Instr, instr, NONE } from '../ir/program.ts';

/*
 * Replaces SSA forms by copies: each edge into a block with phis gets a block with a parallel copy of the phi operands; the value of a
 * result under a false guard is copied before the instruction; returned values are copied to the return registers. Nothing is optimized
 * here, so that the simulator checks phase 73 independently.
 */

const slot = (name: string, bank: Slot['bank'], width: number): Slot => ({
  name,
  bank,
  width,
  widthFrom: null,
  kinds: (1 << Kind.Reg) | (1 << Kind.Imm),
  mods: 0,
  optional: false,
  variadic: false,
  default: null,
});

const opcode = (name: string, primitive: string, flags: number, dsts: Slot[], srcs: Slot[]): Opcode => ({
  id: -1,
  name,
  title: name,
  dsts,
  srcs,
  groups: [],
  modByName: new Map(),
  groupByName: new Map(),
  flags,
  space: null,
  accesses: [],
  lanes: [],
  special: [],
  unit: 'alu',
  class: 'integer',
  observed: null,
  primitive,
  means: null,
});

const copyOp = (bank: Slot['bank'], width: number): Opcode =>
  opcode('COPY', 'copy', 0, [slot('d', bank, width)], [slot('a', bank, width)]);
const COPIES: ReadonlyMap<number, Opcode> = new Map([
  [1, copyOp('p', 1)],
  [32, copyOp('r', 32)],
  [64, copyOp('r', 64)],
]);
const label: Slot = { ...slot('to', 'none', 0), kinds: 1 << Kind.Label };
const BRANCH = opcode(
  'BRA',
  'branch',
  OpFlag.Control | OpFlag.NoFallThrough | OpFlag.SideEffect,
  [],
  [label],
);
const OWN = {
  opcodes: [],
  byName: new Map([['BRA', BRANCH]]),
  foreign: [],
  declared: new Set(),
  spelling: NO_SPELLING,
  hash: '',
} satisfies Isa;

const copy = (to: Reg, from: Operand, guard: Reg = NO_REG, guardNot = false): Instr =>
  instr(COPIES.get(regWidth(to))!, 0, [to], [from], 0, guard, guardNot);

/** Replaces phis, `otherwise` values and returned values by copies. @returns the same object if the function has none of these */
export function withoutPhis(fn: Fn): Fn {
  if (!hasSsaForms(fn)) return fn;
  const d = new Draft(fn, OWN);
  const returned = fn.returns.map((p) => p.reg).filter((r) => r !== NO_REG);
  for (const b of d.layout()) {
    for (let n = d.first(b); n >= 0; n = d.next(n)) {
      const x = d.at(n);
      if (x.otherwise.length > 0) {
        x.otherwise.forEach((r, k) => {
          if (r !== NO_REG && x.dst[k] !== NO_REG) d.insertBefore(n, copy(x.dst[k], reg(r)));
        });
        d.replace(n, withOtherwise(x, NONE));
      }
      if (x.op.primitive === 'return' && x.src.length > 0) {
        const other = returned.flatMap((to, k) => (x.src[k].reg === to ? [] : [{ to, from: x.src[k] }]));
        const between = other.map(({ to }) => d.freshReg(regFile(to)));
        other.forEach(({ from }, k) => void d.insertBefore(n, copy(between[k], from)));
        other.forEach(({ to }, k) => void d.insertBefore(n, copy(to, reg(between[k]), x.guard, x.guardNot)));
        d.replace(n, withSrc(x, []));
      }
    }
    if (d.phis(b).length > 0) copyOnEdges(d, b);
  }
  return finish(d);
}

function copyOnEdges(d: Draft, b: number): void {
  const results = d.phis(b).map((phi) => d.at(phi).dst[0]);
  /** For each predecessor, the operands of all phis. */
  const incoming = new Map<number, Operand[]>();
  for (const phi of d.phis(b)) {
    const { src } = d.at(phi);
    for (let k = 0; k + 1 < src.length; k += 2) {
      const from = d.blockById(src[k].lo);
      const values = incoming.get(from);
      if (values === undefined) incoming.set(from, [src[k + 1]]);
      else values.push(src[k + 1]);
    }
    d.remove(phi);
  }
  for (const p of [...d.predecessors(b)])
    for (let to = d.edges(p).indexOf(b); to >= 0; to = d.edges(p).indexOf(b))
      parallelCopy(d, splitEdge(d, p, to), results, incoming.get(p)!);
}

/** Appends a parallel copy to a block: all values are first copied to temporary registers. */
function parallelCopy(d: Draft, edge: number, results: readonly Reg[], values: readonly Operand[]): void {
  const between = results.map((r) => d.freshReg(regFile(r)));
  values.forEach((v, k) => void d.insertAtEnd(edge, copy(between[k], v)));
  results.forEach((r, k) => void d.insertAtEnd(edge, copy(r, reg(between[k]))));
}
