import { memo } from '../../ir/memo.ts';
import { NO_REG, type Reg, regIndex } from '../../ir/operand.ts';
import type { Fn, Instr } from '../../ir/program.ts';

/**
 * Definitions and uses of every register, in compressed rows by register index. Instructions are numbered through the
 * function in layout order; instruction n is `ins[n]`, in the block at position `blockAt[n]`.
 */
export interface DefUse {
  readonly ins: readonly Instr[];
  readonly blockAt: Int32Array;
  /** Number of the first instruction of each block, with the number of instructions as an additional last entry. */
  readonly blockStart: Int32Array;
  readonly defStart: Int32Array;
  readonly defs: Int32Array;
  readonly useStart: Int32Array;
  /** An instruction occurs once for each operand (and guard, and `otherwise`) that reads the register. */
  readonly uses: Int32Array;
  /** Register index -> 1 if it holds a parameter on entry, which no instruction defines. */
  readonly entry: Uint8Array;
  /** Register index -> 1 if it is returned: used, though by no operand. */
  readonly returned: Uint8Array;
}

/** Def-use and use-def chains of a snapshot. */
export const defUseOf: (fn: Fn) => DefUse = memo(build);

/** Number of definitions of a register, including the one on entry of a parameter. */
export const defCount = (d: DefUse, r: Reg): number =>
  d.defStart[regIndex(r) + 1] - d.defStart[regIndex(r)] + d.entry[regIndex(r)];

/** Number of uses of a register, including its return. */
export const useCount = (d: DefUse, r: Reg): number =>
  d.useStart[regIndex(r) + 1] - d.useStart[regIndex(r)] + d.returned[regIndex(r)];

/** Number of the only instruction that defines `r`; -1 if there are several, none, or it is a parameter. */
export function singleDef(d: DefUse, r: Reg): number {
  const i = regIndex(r);
  return d.defStart[i + 1] - d.defStart[i] === 1 && d.entry[i] === 0 ? d.defs[d.defStart[i]] : -1;
}

/** Calls `visit` with block position and index in the block of every operand that reads `r`. */
export function usesOf(d: DefUse, r: Reg, visit: (block: number, index: number) => void): void {
  const i = regIndex(r);
  for (let u = d.useStart[i]; u < d.useStart[i + 1]; u++) {
    const n = d.uses[u];
    visit(d.blockAt[n], n - d.blockStart[d.blockAt[n]]);
  }
}

function build(fn: Fn): DefUse {
  const { blocks, regCount } = fn;
  const blockStart = new Int32Array(blocks.length + 1);
  for (let b = 0; b < blocks.length; b++) blockStart[b + 1] = blockStart[b] + blocks[b].ins.length;
  const total = blockStart[blocks.length];
  const ins = new Array<Instr>(total);
  const blockAt = new Int32Array(total);
  const defStart = new Int32Array(regCount + 1);
  const useStart = new Int32Array(regCount + 1);
  for (let b = 0, n = 0; b < blocks.length; b++)
    for (const x of blocks[b].ins) {
      ins[n] = x;
      blockAt[n++] = b;
      for (let i = 0; i < x.dst.length; i++) if (x.dst[i] !== NO_REG) defStart[regIndex(x.dst[i]) + 1]++;
      for (let i = 0; i < x.src.length; i++)
        if (x.src[i].reg !== NO_REG) useStart[regIndex(x.src[i].reg) + 1]++;
      if (x.guard === NO_REG) continue;
      useStart[regIndex(x.guard) + 1]++;
      for (let i = 0; i < x.otherwise.length; i++)
        if (x.otherwise[i] !== NO_REG) useStart[regIndex(x.otherwise[i]) + 1]++;
    }
  for (let r = 0; r < regCount; r++) {
    defStart[r + 1] += defStart[r];
    useStart[r + 1] += useStart[r];
  }
  const defs = new Int32Array(defStart[regCount]);
  const uses = new Int32Array(useStart[regCount]);
  const nextDef = defStart.slice(0, regCount);
  const nextUse = useStart.slice(0, regCount);
  for (let n = 0; n < total; n++) {
    const x = ins[n];
    for (let i = 0; i < x.dst.length; i++) if (x.dst[i] !== NO_REG) defs[nextDef[regIndex(x.dst[i])]++] = n;
    for (let i = 0; i < x.src.length; i++)
      if (x.src[i].reg !== NO_REG) uses[nextUse[regIndex(x.src[i].reg)]++] = n;
    if (x.guard === NO_REG) continue;
    uses[nextUse[regIndex(x.guard)]++] = n;
    for (let i = 0; i < x.otherwise.length; i++)
      if (x.otherwise[i] !== NO_REG) uses[nextUse[regIndex(x.otherwise[i])]++] = n;
  }
  const entry = new Uint8Array(regCount);
  const returned = new Uint8Array(regCount);
  for (const p of fn.params) if (p.reg !== NO_REG) entry[regIndex(p.reg)] = 1;
  for (const p of fn.returns) if (p.reg !== NO_REG) returned[regIndex(p.reg)] = 1;
  return { ins, blockAt, blockStart, defStart, defs, useStart, uses, entry, returned };
}
