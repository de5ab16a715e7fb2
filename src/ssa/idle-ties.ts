import { flyingIn, OLDEST, youngestEnded } from '../ir/async-registers.ts';
import { mapBlocks, mapIns, toRegs, withDst, withSrc } from '../ir/edit.ts';
import { isPhi } from '../ir/flow.ts';
import { flightOf, placeText, type Tie, tiesOf, UNWRITTEN, writtenPart } from '../ir/foreign-text.ts';
import { Kind, NO_REG, type Operand, type Reg, reg, regIndex, regWidth, text } from '../ir/operand.ts';
import type { Fn, Instr } from '../ir/program.ts';

/**
 * Removes unnecessary ties from waits and fences. These read and write every register that is ever in flight, so that no pass moves
 * a value of such a register across them. SSA shows which values need that: those that may be in flight there, and those that are
 * read later. The other ties are removed. Otherwise old values of a register would be live at the same time as new ones, and leaving
 * SSA would need a copy of a register in flight.
 *
 *     before                                                      after
 *       R9 = FOREIGN.ENDS "wait_group 0 // <d0=s0>", R8             FOREIGN.ENDS "wait_group 0"      (R8 = MOV 1, and R9 is not read)
 *
 * @param fn in SSA
 * @returns `fn` itself if every tie is needed
 */
export function dropIdleTies(fn: Fn): Fn {
  const ins = fn.blocks.flatMap((b) => b.ins);
  if (!ins.some((x) => flightOf(x) === 'BEGINS')) return fn;
  const flying = flyingValues(fn, ins);
  const needed = neededValues(fn, ins, flying);
  return mapBlocks(fn, (b) =>
    mapIns(b, (x) => {
      const ties = passing(x);
      const kept = ties.filter(
        (t) =>
          flying[indexOf(x, t)] === 1 || (x.dst[t.dst] !== NO_REG && needed[regIndex(x.dst[t.dst])] === 1),
      );
      return kept.length === ties.length ? x : withTies(x, kept);
    }),
  );
}

/** Ties of a wait or fence for values that pass through it unchanged. In SSA their results have names of their own. */
const passing = (x: Instr): readonly Tie[] =>
  ['ORDERS', 'ENDS'].includes(flightOf(x)) ? tiesOf(x).filter((t) => t.unwritten) : [];

const indexOf = (x: Instr, t: Tie): number => regIndex(x.src[t.src].reg);

/** Does a wait certainly end every flight? A wait for 0 groups does in ptxas; according to PTX it covers only committed products. */
function endsAll(x: Instr, allCommitted: boolean): boolean {
  if (x.guard !== NO_REG) return false;
  const youngest = youngestEnded(x);
  return youngest > OLDEST || (youngest === OLDEST && allCommitted);
}

/** By register index: 1 if the value may be in flight somewhere. */
function flyingValues(fn: Fn, ins: readonly Instr[]): Uint8Array {
  const flying = new Uint8Array(fn.regCount);
  for (const x of ins) if (flightOf(x) === 'BEGINS') for (const r of flyingIn(x)) flying[regIndex(r)] = 1;
  const allCommitted = fn.blocks.every((b) => {
    const last = b.ins.findLastIndex((x) => flightOf(x) === 'BEGINS');
    return last < 0 || b.ins.slice(last).some((x) => flightOf(x) === 'COMMITS' && x.guard === NO_REG);
  });
  for (let changed = true; changed; ) {
    changed = false;
    const fly = (r: Reg): void => {
      if (r === NO_REG || flying[regIndex(r)] === 1) return;
      flying[regIndex(r)] = 1;
      changed = true;
    };
    for (const x of ins)
      if (isPhi(x)) {
        if (x.src.some((o) => o.kind === Kind.Reg && flying[regIndex(o.reg)] === 1)) fly(x.dst[0]);
      } else if (flightOf(x) !== 'ENDS' || !endsAll(x, allCommitted))
        for (const t of passing(x)) if (flying[indexOf(x, t)] === 1) fly(x.dst[t.dst]);
  }
  return flying;
}

/** By register index: 1 if the value is needed. Phis and idle ties need their operands only if their results are needed. */
function neededValues(fn: Fn, ins: readonly Instr[], flying: Uint8Array): Uint8Array {
  const needed = new Uint8Array(fn.regCount);
  const from = new Map<number, Reg[]>();
  const work: Reg[] = [];
  const need = (r: Reg): void => {
    if (r === NO_REG || needed[regIndex(r)] === 1) return;
    needed[regIndex(r)] = 1;
    work.push(r);
  };
  for (const p of fn.returns) need(p.reg);
  for (const x of ins) {
    if (isPhi(x)) {
      from.set(
        regIndex(x.dst[0]),
        x.src.flatMap((o) => (o.kind === Kind.Reg ? [o.reg] : [])),
      );
      continue;
    }
    const idle = new Set<Operand>();
    for (const t of passing(x)) {
      if (flying[indexOf(x, t)] === 1) continue;
      idle.add(x.src[t.src]);
      if (x.dst[t.dst] !== NO_REG) from.set(regIndex(x.dst[t.dst]), [x.src[t.src].reg]);
    }
    for (const o of x.src) if (!idle.has(o)) need(o.reg);
    for (const r of x.otherwise) need(r);
    need(x.guard);
  }
  for (let r = work.pop(); r !== undefined; r = work.pop())
    for (const s of from.get(regIndex(r)) ?? []) need(s);
  return needed;
}

/** The instruction with only the given ones of its unwritten ties. */
function withTies(x: Instr, ties: readonly Tie[]): Instr {
  const places = ties.map((t, k) => placeText({ dst: k, src: k, size: String(regWidth(x.src[t.src].reg)) }));
  const how = writtenPart(x.src[0].sym) + (places.length === 0 ? '' : UNWRITTEN + places.join(', '));
  const kept = withDst(
    x,
    toRegs(ties, (t) => x.dst[t.dst]),
    x.otherwise.length === 0 ? x.otherwise : toRegs(ties, (t) => x.otherwise[t.dst]),
  );
  return withSrc(kept, [text(how), ...ties.map((t) => reg(x.src[t.src].reg))]);
}
