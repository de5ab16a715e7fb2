import { modOf } from '../../src/ir/opcode.ts';
import { isTrue, Kind, NO_REG, type Operand } from '../../src/ir/operand.ts';
import type { Fn, Instr } from '../../src/ir/program.ts';

/** What one thread did: the values stored, and how it ended. */
export interface MiniResult {
  readonly stored: number[];
  readonly ended: 'exit' | 'return' | 'running';
  /** Returned values. */
  readonly returned: number[];
}

/**
 * A minimal interpreter for one thread and the few opcodes of the random programs. It is written from the definitions alone and shares no
 * code with the analyses, so that it can judge passes.
 */
export function miniRun(fn: Fn, fuel: number): MiniResult {
  const regs = new Int32Array(fn.regCount);
  const stored: number[] = [];
  const value = (o: Operand): number => (o.kind === Kind.Imm ? o.lo : regs[o.reg >>> 3]) | 0;
  const truth = (o: Operand): boolean =>
    o.kind === Kind.Imm ? isTrue(o) : (regs[o.reg >>> 3] !== 0) !== ((o.mods & 4) !== 0);
  const at = new Map(fn.blocks.map((b, i) => [b.id, i]));
  let block = 0;
  let i = 0;
  /** The predecessor that control came from, for phis. */
  let from = -1;
  const enter = (to: number): void => {
    from = fn.blocks[block].id;
    block = to;
    i = 0;
  };
  while (fuel-- > 0) {
    while (i >= fn.blocks[block].ins.length) {
      if (block + 1 >= fn.blocks.length) throw new Error('control fell off the end');
      enter(block + 1);
      if (fuel-- <= 0) return { stored, ended: 'running', returned: [] };
    }
    const x: Instr = fn.blocks[block].ins[i++];
    if (x.op.name.endsWith('MOVPHI')) {
      // All phis of a block are read before any is written.
      const read: [number, number][] = [];
      for (let k = i - 1; fn.blocks[block].ins[k]?.op.name.endsWith('MOVPHI'); k++, i = k) {
        const { src, dst, op } = fn.blocks[block].ins[k];
        const way = src.findIndex((o, n) => n % 2 === 0 && o.lo === from) + 1;
        if (way === 0) throw new Error(`no value from BB${from}`);
        read.push([dst[0] >>> 3, op.name === 'MOVPHI' ? value(src[way]) : Number(truth(src[way]))]);
      }
      for (const [r, v] of read) regs[r] = v;
      continue;
    }
    if (x.guard !== NO_REG && (regs[x.guard >>> 3] !== 0) === x.guardNot) {
      x.otherwise.forEach((r, k) => {
        if (r !== NO_REG) regs[x.dst[k] >>> 3] = regs[r >>> 3];
      });
      continue;
    }
    const set = (v: number, k = 0): void => {
      if (x.dst[k] !== NO_REG) regs[x.dst[k] >>> 3] = v;
    };
    switch (x.op.name) {
      case 'MOV':
        set(value(x.src[0]));
        break;
      case 'IADD3':
        set((value(x.src[0]) + value(x.src[1]) + value(x.src[2])) | 0);
        break;
      case 'ISETP': {
        const a = value(x.src[0]);
        const b = value(x.src[1]);
        const r = { EQ: a === b, NE: a !== b, LT: a < b, LE: a <= b, GT: a > b, GE: a >= b }[
          modOf(x.op, x.mods, 'cmp')
        ];
        set(r === true && truth(x.src[2]) ? 1 : 0);
        set(r === false && truth(x.src[2]) ? 1 : 0, 1);
        break;
      }
      case 'PLOP3': {
        const row = (truth(x.src[0]) ? 4 : 0) + (truth(x.src[1]) ? 2 : 0) + (truth(x.src[2]) ? 1 : 0);
        set((x.src[3].lo >> row) & 1);
        break;
      }
      case 'SEL':
        set(truth(x.src[2]) ? value(x.src[0]) : value(x.src[1]));
        break;
      case 'STG':
        stored.push(value(x.src[1]));
        break;
      case 'BRA':
        enter(at.get(x.src[0].lo)!);
        break;
      case 'BRX': {
        const t = fn.tables[x.src[1].lo];
        const index = value(x.src[0]) >>> 0;
        // An out-of-range index is undefined; the random programs mask the index, so a pass is at fault.
        if (index >= t.length) throw new Error(`table index ${index} of ${t.length}`);
        enter(at.get(t[index])!);
        break;
      }
      case 'EXIT':
        return { stored, ended: 'exit', returned: [] };
      case 'RET': {
        const values = x.src.length > 0 ? x.src.map((o) => o.reg) : fn.returns.map((p) => p.reg);
        return { stored, ended: 'return', returned: values.map((r) => regs[r >>> 3]) };
      }
      case 'NOP':
      case 'BSSY':
        break;
      default:
        throw new Error(`no meaning for ${x.op.name}`);
    }
  }
  return { stored, ended: 'running', returned: [] };
}

/** Describes the difference between two functions as far as both got; null if there is none. */
export function sameBehaviour(a: Fn, b: Fn): string | null {
  const FUEL = 400;
  const x = miniRun(a, FUEL);
  let y = miniRun(b, FUEL);
  if (x.ended === 'running' && y.ended !== 'running') {
    const longer = miniRun(a, 50 * FUEL);
    if (longer.ended !== y.ended || `${longer.stored};${longer.returned}` !== `${y.stored};${y.returned}`)
      return `first ${longer.ended} [${longer.stored.slice(0, 20)}], then ${y.ended} [${y.stored.slice(0, 20)}]`;
    return null;
  }
  if (x.ended !== 'running' && y.ended === 'running') y = miniRun(b, 50 * FUEL);
  if (x.ended !== y.ended) return `first ${x.ended}, then ${y.ended}`;
  if (x.returned.join() !== y.returned.join()) return `returned ${x.returned}, then ${y.returned}`;
  const n = x.ended === 'running' ? Math.min(x.stored.length, y.stored.length) : Number.POSITIVE_INFINITY;
  const s = x.stored.slice(0, n).join();
  const t = y.stored.slice(0, n).join();
  return s === t ? null : `stored ${s}, then ${t}`;
}
