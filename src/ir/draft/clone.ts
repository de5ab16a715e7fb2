import { renamedBy } from '../edit.ts';
import { OpFlag } from '../opcode.ts';
import { Kind, label, NO_REG, type Operand, type Reg, regFile, table, withReg } from '../operand.ts';
import { type Instr, instr } from '../program.ts';
import type { Draft } from './draft.ts';
import type { BlockNo } from './instruction-list.ts';

/** Maps originals to the copies made by `cloneBlocks`. */
export interface Clone {
  readonly blocks: ReadonlyMap<BlockNo, BlockNo>;
  readonly registers: ReadonlyMap<Reg, Reg>;
}

/**
 * Copies blocks: instructions with their source lines, jumps among them, jump tables, pragmas. Edges that leave the
 * region keep their targets, and phis there get the copies' values. No edge leads to the copies yet: the caller
 * redirects edges and gives the phis at the region's entries their operands (`d.setIncoming`); in the copies these phis
 * keep only the operands from inside. If another block reads a register that the region defines, other than by a phi,
 * the caller must join the two values.
 *
 * Control operations must end their blocks, as from phase 6 on.
 *
 * @param region blocks in the order of the copies in the layout
 * @param after block after which the first copy is placed
 * @param fresh which of the registers defined in the region are renamed in the copy: all (as SSA needs), none, or those accepted
 */
export function cloneBlocks(
  d: Draft,
  region: readonly BlockNo[],
  after: BlockNo,
  fresh: boolean | ((r: Reg) => boolean),
): Clone {
  const blocks = new Map<BlockNo, BlockNo>();
  const registers = new Map<Reg, Reg>();
  const tables = new Map<number, number>();
  let place = after;
  for (const b of region) {
    place = d.newBlock(place, d.fall(b), d.name(b));
    blocks.set(b, place);
  }
  if (fresh !== false)
    for (const b of region)
      for (let n = d.first(b); n >= 0; n = d.next(n))
        for (const r of d.at(n).dst)
          if (r !== NO_REG && !registers.has(r) && (fresh === true || fresh(r)))
            registers.set(r, d.freshReg(regFile(r)));
  const other = (r: Reg): Reg => registers.get(r) ?? r;
  const cloneOf = (id: number): number => {
    const c = blocks.get(d.blockById(id));
    return c === undefined ? id : d.id(c);
  };
  const operand = (o: Operand): Operand => {
    if (o.kind === Kind.Label) return label(cloneOf(o.lo));
    if (o.kind === Kind.Table) {
      let t = tables.get(o.lo);
      if (t === undefined) tables.set(o.lo, (t = d.addTable(d.tables()[o.lo].map(cloneOf))));
      return table(t);
    }
    return o.reg === NO_REG ? o : withReg(o, other(o.reg));
  };
  const copy = (x: Instr): Instr => renamedBy(x, other, operand);
  const inside = new Set(region);
  for (const b of region) {
    const c = blocks.get(b)!;
    const fall = d.fall(b);
    for (let n = d.first(b); n >= 0; n = d.next(n)) {
      const x = d.at(n);
      if ((x.op.flags & OpFlag.Control) !== 0)
        d.setTerminator(c, copy(x), fall < 0 ? -1 : (blocks.get(fall) ?? fall));
      else if ((x.op.flags & OpFlag.Phi) !== 0) d.append(c, copy(phiFromInside(d, x, inside)));
      else d.append(c, copy(x));
    }
    if (d.terminator(b) < 0 && fall >= 0) d.setFall(c, blocks.get(fall) ?? fall);
    for (const s of d.successors(c))
      for (const phi of d.phis(s)) {
        const value = d.incoming(phi, b);
        if (value !== null && !inside.has(s)) d.setIncoming(phi, c, operand(value));
      }
  }
  const added = d.pragmas.flatMap((p) => {
    const c = blocks.get(d.blockById(p.block));
    return c === undefined ? [] : [{ block: d.id(c), text: p.text }];
  });
  if (added.length > 0) d.pragmas = [...d.pragmas, ...added];
  return { blocks, registers };
}

/** A phi with only the operands from blocks of the region. */
function phiFromInside(d: Draft, x: Instr, inside: ReadonlySet<BlockNo>): Instr {
  const src: Operand[] = [];
  for (let k = 0; k + 1 < x.src.length; k += 2)
    if (inside.has(d.blockById(x.src[k].lo))) src.push(x.src[k], x.src[k + 1]);
  return instr(x.op, x.mods, x.dst, src, x.loc);
}
