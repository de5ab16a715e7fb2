import { memo, memoPair } from '../../ir/memo.ts';
import { modOf, OpFlag, type Space, slotWidth, srcSlot } from '../../ir/opcode.ts';
import { isPredReg, Kind, NO_REG, type Operand, type Reg, regIndex } from '../../ir/operand.ts';
import type { Fn, Instr, Variable } from '../../ir/program.ts';
import { WorkList } from '../structures/worklist.ts';
import { type DefUse, defUseOf } from '../values/defuse.ts';
import { type LinearForm, linearForm } from '../values/linear.ts';
import { MEMORY_OF, Mem } from './memory-ops.ts';
import { isParameterWord, type MemoryObject, ObjectTable } from './objects.ts';

/** The state of a register that is not derived from a single object. */
export const Origin = {
  /** Nothing is known yet; no value. */
  Open: -1,
  /** An integer, or an address from elsewhere: not derived from an object of this function. */
  Foreign: -2,
  /** Derived from several objects, or from one in a way that does not give an address of it. */
  Mixed: -3,
} as const;

/** The object that each register used in an address is derived from. */
export interface Provenance {
  readonly objects: readonly MemoryObject[];
  /** Number of the object of a symbol, -1 for functions and unknown names. */
  readonly named: (symbol: string) => number;
  /** The space of the variable of a symbol, null for functions and unknown names. */
  readonly spaceOf: (symbol: string) => Space | null;
  /** By register index: number of an object, or `Origin`; `Open` for registers that are not part of an address. */
  readonly of: Int32Array;
  /** By object: 1 for local memory whose address never leaves the function or its registers. */
  readonly unshared: Uint8Array;
}

/** Does it convert an address of one space to a generic address or back: the same place in memory? */
export const isAddressConversion = (ins: Instr): boolean => ins.op.primitive === 'cvta';

/** The space of a conversion between its addresses and generic ones, and whether the result is an address of the space. */
export const convertedSpace = ({ op, mods }: Instr): { space: Space; toSpace: boolean } => ({
  space: modOf(op, mods, 'space').toLowerCase() as Space,
  toSpace: modOf(op, mods, 'to') === 'TO',
});

const byName = memo(
  (variables: readonly Variable[]): ReadonlyMap<string, Variable> =>
    new Map(variables.map((v) => [v.name, v])),
);

/**
 * Finds the object that each register used in an address is derived from: an optimistic walk over definitions and
 * uses in which a register falls at most twice, so that it is linear. It ignores the order of instructions, so it
 * holds wherever the register is read, also with several definitions.
 *
 * It relies on this rule: an address made by adding integers to a variable's address lies in that variable. A
 * difference of two addresses is not an integer here; it is `Mixed`, and so is everything derived from it.
 */
export const provenanceOf: (fn: Fn, variables: readonly Variable[]) => Provenance = memoPair(
  (fn, variables) => {
    const du = defUseOf(fn);
    const table = new ObjectTable(fn, byName(variables));
    for (const v of fn.variables) table.named(v.name);
    const of = new Int32Array(fn.regCount).fill(Origin.Open);
    const needed = addressRegisters(fn, du);
    const work = new WorkList(du.ins.length);
    for (let r = 0; r < fn.regCount; r++) {
      if (needed[r] === 0) continue;
      if (du.entry[r] === 1 || du.defStart[r] === du.defStart[r + 1]) of[r] = Origin.Foreign;
      for (let e = du.defStart[r]; e < du.defStart[r + 1]; e++) work.push(du.defs[e]);
    }
    for (let n = work.pop(); n >= 0; n = work.pop()) {
      const ins = du.ins[n];
      for (let k = 0; k < ins.dst.length; k++) {
        if (ins.dst[k] === NO_REG) continue;
        const r = regIndex(ins.dst[k]);
        if (needed[r] === 0 || of[r] === Origin.Mixed) continue;
        let v = meetOrigins(of[r], resultOrigin(ins, k, of, table));
        if (ins.otherwise.length > 0 && ins.otherwise[k] !== NO_REG)
          v = meetOrigins(v, of[regIndex(ins.otherwise[k])]);
        if (v === of[r]) continue;
        of[r] = v;
        for (let e = du.useStart[r]; e < du.useStart[r + 1]; e++) work.push(du.uses[e]);
      }
    }
    // Values that depend only on each other have no origin.
    for (let r = 0; r < fn.regCount; r++) if (needed[r] === 1 && of[r] === Origin.Open) of[r] = Origin.Mixed;
    return {
      objects: table.objects,
      named: (symbol) => table.named(symbol),
      spaceOf: (symbol) => table.spaceOf(symbol),
      of,
      unshared: findUnshared(fn, du, table),
    };
  },
);

const meetOrigins = (a: number, b: number): number =>
  a === b || b === Origin.Open ? a : a === Origin.Open ? b : Origin.Mixed;

/** Registers that an address may be derived from, by index: backwards from address operands through everything but memory. */
function addressRegisters(fn: Fn, du: DefUse): Uint8Array {
  const needed = new Uint8Array(fn.regCount);
  const work: number[] = [];
  const need = (r: Reg): void => {
    if (r === NO_REG || isPredReg(r) || needed[regIndex(r)] === 1) return;
    needed[regIndex(r)] = 1;
    work.push(regIndex(r));
  };
  for (const x of du.ins) for (const a of x.op.accesses) need(x.src[a.src].reg);
  while (work.length > 0) {
    const r = work.pop()!;
    for (let e = du.defStart[r]; e < du.defStart[r + 1]; e++) {
      const x = du.ins[du.defs[e]];
      for (const o of x.src) if (o.kind === Kind.Reg) need(o.reg);
      for (const o of x.otherwise) need(o);
    }
  }
  return needed;
}

function operandOrigin(o: Operand, width: number, of: Int32Array, table: ObjectTable): number {
  switch (o.kind) {
    case Kind.Reg:
      return isPredReg(o.reg) ? Origin.Foreign : of[regIndex(o.reg)];
    case Kind.Sym: {
      const id = table.named(o.sym);
      return id >= 0 ? id : Origin.Foreign;
    }
    default:
      return isParameterWord(o, width) ? table.parameter(o.lo) : Origin.Foreign;
  }
}

const widthOf = (ins: Instr, src: number): number => {
  const slot = srcSlot(ins.op, src);
  return slot === undefined ? 0 : slotWidth(ins.op, ins.mods, slot);
};

/** The origin of destination `k`, as far as its sources are known. */
function resultOrigin(ins: Instr, k: number, of: Int32Array, table: ObjectTable): number {
  const { op, src } = ins;
  if ((op.flags & OpFlag.Phi) !== 0) {
    let v: number = Origin.Open;
    for (let i = 1; i < src.length; i += 2) v = meetOrigins(v, operandOrigin(src[i], 0, of, table));
    return v;
  }
  if (isAddressConversion(ins)) {
    const v = operandOrigin(src[0], 64, of, table);
    const memory = MEMORY_OF[convertedSpace(ins).space];
    // The address of a variable of another space is an ordinary number here.
    const within = v >= 0 ? (table.objects[v].memory & memory) !== 0 : v !== Origin.Foreign;
    return within ? v : table.somewhere(memory);
  }
  if ((op.flags & OpFlag.ReadsMemory) !== 0 && op.accesses.length > 0) {
    // A pointer among the kernel's parameters; everything else in memory came from elsewhere.
    const slot = op.dsts[Math.min(k, op.dsts.length - 1)];
    const width = slotWidth(op, ins.mods, slot);
    return isParameterWord(src[0], width) ? table.parameter(src[0].lo + 8 * k) : Origin.Foreign;
  }
  const sum = linearForm(ins, k);
  if (sum !== null) return sumOrigin(sum, of, table);
  // Anything else computed from an object's address is not an address that can be followed.
  let v: number = Origin.Foreign;
  for (let i = 0; i < src.length; i++) {
    const o = operandOrigin(src[i], widthOf(ins, i), of, table);
    if (o === Origin.Open) return Origin.Open;
    if (o !== Origin.Foreign) v = Origin.Mixed;
  }
  return v;
}

function sumOrigin(sum: LinearForm, of: Int32Array, table: ObjectTable): number {
  let v: number = Origin.Foreign;
  for (let i = 0; i < sum.terms.length; i++) {
    const t = sum.terms[i];
    const o = operandOrigin(t.operand, t.bits, of, table);
    if (o === Origin.Open) return Origin.Open;
    if (o === Origin.Foreign) continue;
    v = v === Origin.Foreign && o >= 0 && t.coefficient === 1n ? o : Origin.Mixed;
  }
  return v;
}

/**
 * The function's own variables of a space whose address is only used to access them: no callee and no address from
 * elsewhere reaches them. All addresses of the space share one mark, so that the walk is linear.
 */
export function keptVariables(fn: Fn, du: DefUse, space: Variable['space']): ReadonlySet<string> {
  // Every function of the module can name a variable declared outside functions.
  const own = new Set(fn.variables.filter((v) => v.space === space).map((v) => v.name));
  const taken = new Set<string>();
  const marked = new Uint8Array(fn.regCount);
  const work: Reg[] = [];
  let escapes = false;
  // An instruction that passes a value on, or lets it out of the registers.
  const passes = (x: Instr): void => {
    if ((x.op.flags & (OpFlag.Pure | OpFlag.Phi)) === 0) {
      escapes = true;
      return;
    }
    for (const d of x.dst) {
      if (d === NO_REG || isPredReg(d) || marked[regIndex(d)] === 1) continue;
      marked[regIndex(d)] = 1;
      work.push(d);
    }
  };
  if (own.size > 0)
    for (const x of du.ins)
      for (const o of x.src)
        if (o.kind === Kind.Sym && own.has(o.sym)) {
          taken.add(o.sym);
          passes(x);
        }
  while (work.length > 0 && !escapes) {
    const r = work.pop()!;
    if (du.returned[regIndex(r)] === 1) escapes = true;
    for (let e = du.useStart[regIndex(r)]; e < du.useStart[regIndex(r) + 1]; e++) {
      const x = du.ins[du.uses[e]];
      if (x.otherwise.includes(r) || x.src.some((o) => o.reg === r && o.kind === Kind.Reg)) passes(x);
    }
  }
  if (escapes) for (const name of taken) own.delete(name);
  return own;
}

/** By object: 1 for the function's local variables that nothing outside of it can reach. */
function findUnshared(fn: Fn, du: DefUse, table: ObjectTable): Uint8Array {
  const kept = keptVariables(fn, du, 'local');
  return Uint8Array.from(table.objects, (o) =>
    o.kind === 'variable' && o.memory === Mem.Local && kept.has(o.name) ? 1 : 0,
  );
}
