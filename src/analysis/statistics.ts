import { OpFlag } from '../ir/opcode.ts';
import { FILE_WIDTH, NO_REG, type Reg, RegFile, regFile, regIndex } from '../ir/operand.ts';
import type { Fn } from '../ir/program.ts';
import { LiveClass, liveClassOf, Pool } from './liveness.ts';
import { loopsOf } from './loops.ts';
import { pressureOf } from './pressure.ts';

/**
 * The `#` header of a listing, in the spelling of the original (reference: statistics header; "trancedental" is theirs).
 * Registers are virtual and counted in 32-bit units; `maxlive` is our own field: the most units live at one place.
 */
export function statistics(fn: Fn): string[] {
  const unit = new Map<string, number>();
  const count = (u: string): number => unit.get(u) ?? 0;
  const seen = new Uint8Array(fn.regCount);
  let instructions = 0;
  let general = 0;
  let uniform = 0;
  let control = 0;
  let vectorHalf = 0;
  let texture = 0;
  let shared = 0;
  let memory = 0;
  let uniformOps = 0;
  let single = 0;
  const see = (r: Reg): void => {
    if (r === NO_REG || seen[regIndex(r)] === 1) return;
    seen[regIndex(r)] = 1;
    const c = liveClassOf(r);
    if (c === LiveClass.R) general += units(r);
    else if (c === LiveClass.UR) uniform += units(r);
  };
  for (const b of fn.blocks)
    for (const x of b.ins) {
      instructions++;
      unit.set(x.op.unit, count(x.op.unit) + 1);
      if ((x.op.flags & OpFlag.Control) !== 0) control++;
      if ((x.op.flags & (OpFlag.ReadsMemory | OpFlag.WritesMemory)) !== 0) memory++;
      if (x.op.space === 'shared') shared++;
      if (x.op.unit === 'tex') texture++;
      // The fma unit also runs integer multiplies (IMAD).
      if (x.op.unit === 'fma' && x.op.name.startsWith('F')) single++;
      // Two-lane half instructions bear a 2 in their name: HADD2, HFMA2, ...
      if (x.op.unit === 'fp16' && x.op.name.includes('2')) vectorHalf++;
      let writesUniform = false;
      for (const r of x.dst) {
        see(r);
        if (r !== NO_REG && (liveClassOf(r) === LiveClass.UR || regFile(r) === RegFile.UP))
          writesUniform = true;
      }
      for (const o of x.src) see(o.reg);
      see(x.guard);
      for (const r of x.otherwise) see(r);
      if (writesUniform) uniformOps++;
    }
  const half = count('fp16');
  const lines = [
    `# ${instructions} instructions, ${general} R-regs`,
    `# [inst=${instructions}] [texInst=${texture}] [rregs=${general}] [maxlive=${pressureOf(fn).most[Pool.R]}]`,
  ];
  if (uniform > 0) lines.push(`# [urregs=${uniform}]`);
  lines.push(
    `# [FP16 inst=${half}] [FP16 VectInst=${vectorHalf}] [Percentage Vectorized=${(half === 0 ? 0 : (100 * vectorHalf) / half).toFixed(2)}]`,
    `# [est fp=${single + count('fp64')}] [est half=${half}], [est trancedental=${count('xu')}], [est shared=${shared}], [est controlFlow=${control}], [est loadStore=${memory}]`,
    `# [est tex=${texture}]`,
    `# [partially unrolled loops=0] [non-unrolled loops=${loopsOf(fn).loops.length}]`,
    `# [UDP inst=${uniformOps}]`,
  );
  return lines;
}

const units = (r: Reg): number => Math.max(1, FILE_WIDTH[r & 7] >>> 5);
