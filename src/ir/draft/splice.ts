import { renamedBy, withGuard } from '../edit.ts';
import { Kind, label, NO_REG, type Operand, type Reg, regFile, table, withReg } from '../operand.ts';
import type { Fn, Instr } from '../program.ts';
import { Draft } from './draft.ts';
import type { BlockNo } from './instruction-list.ts';

/** Maps a function to its copy made by `spliceFunction`. */
export interface Splice {
  /** Copies, by position of the block in the function. */
  readonly blocks: ReadonlyMap<BlockNo, BlockNo>;
  /** The copy of the entry. */
  readonly entry: BlockNo;
  /** The draft's register for one of the function. */
  register(r: Reg): Reg;
}

/**
 * Copies all blocks of another function into a draft: instructions with their source lines, jumps, jump tables and
 * pragmas. Every register gets a new name, and returns become jumps. No edge leads to the copies yet. Pragmas at the
 * entry, which apply to the whole function, are left to the caller.
 *
 * Control operations must end their blocks, as from phase 6 on, and neither function may be in SSA.
 *
 * @param after block after which the copies are placed
 * @param to block at which control continues in place of a return
 * @param rename maps each operand that is neither a label nor a table, after its register was replaced
 */
export function spliceFunction(
  d: Draft,
  source: Fn,
  after: BlockNo,
  to: BlockNo,
  rename: (o: Operand) => Operand,
): Splice {
  const from = new Draft(source, null);
  const copyOf = new Map<BlockNo, BlockNo>();
  let last = after;
  for (const b of from.layout()) {
    last = d.newBlock(last, to, from.name(b));
    copyOf.set(b, last);
  }
  const registers = new Map<Reg, Reg>();
  const register = (r: Reg): Reg => {
    if (r === NO_REG) return r;
    let other = registers.get(r);
    if (other === undefined) registers.set(r, (other = d.freshReg(regFile(r))));
    return other;
  };
  const idOf = (id: number): number => d.id(copyOf.get(from.blockById(id))!);
  const tables = new Map<number, number>();
  const tableOf = (t: number): number => {
    let other = tables.get(t);
    if (other === undefined) tables.set(t, (other = d.addTable(source.tables[t].map(idOf))));
    return other;
  };
  const operand = (o: Operand): Operand => {
    if (o.kind === Kind.Label) return label(idOf(o.lo));
    if (o.kind === Kind.Table) return table(tableOf(o.lo));
    return rename(o.reg === NO_REG ? o : withReg(o, register(o.reg)));
  };
  const copy = (x: Instr): Instr => renamedBy(x, register, operand);
  for (const [b, c] of copyOf) {
    const end = from.terminator(b);
    for (let n = from.first(b); n >= 0; n = from.next(n)) if (n !== end) d.append(c, copy(from.at(n)));
    const fall = from.fall(b);
    const below = fall < 0 ? -1 : copyOf.get(fall)!;
    const x = end < 0 ? null : from.at(end);
    if (x === null) d.setFall(c, below);
    else if (x.op.primitive !== 'return') d.setTerminator(c, copy(x), below);
    else if (x.guard === NO_REG) d.setTerminator(c, null, to);
    else d.setTerminator(c, withGuard(d.branchTo(to, x.loc), register(x.guard), x.guardNot), below);
  }
  const added = from.pragmas
    .filter((p) => p.block !== from.id(from.entryBlock))
    .map((p) => ({ block: idOf(p.block), text: p.text }));
  if (added.length > 0) d.pragmas = [...d.pragmas, ...added];
  return { blocks: copyOf, entry: copyOf.get(from.entryBlock)!, register };
}
