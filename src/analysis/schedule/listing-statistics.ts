import { chosen, Lanes, OpFlag } from '../../ir/opcode.ts';
import { FILE_WIDTH, NO_REG, type Reg, RegFile, regFile, regIndex } from '../../ir/operand.ts';
import type { Fn, Program } from '../../ir/program.ts';
import { accessBytes } from '../../isa/accesses.ts';
import { frequencyOf } from '../flow/frequency.ts';
import { loopsOf } from '../loops/loops.ts';
import { sharedBytes } from '../memory/shared-layout.ts';
import { LiveClass, liveClassOf, Pool } from '../registers/liveness.ts';
import { statedThreads, USUAL_BLOCK } from '../registers/occupancy.ts';
import { pressureOf } from '../registers/pressure.ts';
import { divergenceOf } from '../uniformity/divergence.ts';
import { blockTime } from './block-time.ts';
import { instrCost } from './costs.ts';
import { functionTime, type Target, throughputOf } from './estimates.ts';
import { textureOf } from './textures.ts';

/** The input for the header of a listing. */
export interface Listing {
  readonly target: Target;
  /** Gives the sizes of shared variables. */
  readonly program: Program;
  /** Whether registers are physical: the line of spills is then written without commas (reference: statistics header). */
  readonly allocated?: boolean;
}

/**
 * The `#` header of a listing, line by line and field by field in the spelling of the original (reference: statistics
 * header; "trancedental" is theirs). The sources do not say how a field is computed. Here:
 *
 * - counts are of instructions in the text, also those named `est`. Registers are virtual, in 32-bit units. The line of uniform
 *   registers appears if there are any (the original prints it for targets whose code is above 24575, which are those that have them)
 * - `est latency`, `worstcaseLat`, `avgcaseLat`: cycles for a warp alone (`functionTime`); the first is the last, rounded
 * - `Occupancy`: fraction of the warps of an SM, limited by the most registers live at one point
 * - `thru`: warps that an SM completes in a cycle if this were the only limit (`throughputOf`); inf: not used. `fp` is the slower of the
 *   units fma and fp64; `shared` and `texLoadStore` share the unit lsu
 * - `programSize`: bytes of the instructions that cost time; `NonSpill`: bytes of the accesses to local memory, and of the local
 *   variables
 * - `Bindless Tex` counts those whose handle is in a register, `CB-Bound Tex` those that name their texture
 *
 * Always 0: everything about spills (ptxas allocates registers later), `ipa` and `attributeMemUsage` (graphics),
 * pairs (no target since Volta issues two instructions at once), `partially unrolled loops` (not recorded yet),
 * `UR-Bound` and `Partially Bound Tex` (PTX has no such form), `maxNumLiveValuesAtSuspend` (nothing suspends), and
 * `tepid`, `instHint`, `Precise inst`, whose meaning no source states. The last line is our own: the most units live
 * at one point.
 */
export function statistics(fn: Fn, { target, program, allocated = false }: Listing): string[] {
  const n = countsOf(fn, target);
  const time = functionTime(fn, target);
  const live = pressureOf(fn).most[Pool.R];
  const thru = throughputOf(time, target, {
    threads: statedThreads(fn) ?? USUAL_BLOCK,
    registers: live,
    shared: sharedBytes(program, fn),
  });
  const { branch } = divergenceOf(fn);
  const parting = branch.reduce((sum, level) => sum + (level === Lanes.Varying ? 1 : 0), 0);
  const half = n.unit.get('fp16') ?? 0;
  const comma = allocated ? '' : ',';
  const fp = Math.min(thru.unit('fma'), thru.unit('fp64'));
  const { warps, most } = thru.occupancy;
  return [
    `# ${n.all} instructions, ${n.general} R-regs`,
    `# [inst=${n.all}] [texInst=${n.texture}] [tepid=0] [rregs=${n.general}]`,
    ...(n.uniform > 0 ? [`# [urregs=${n.uniform}]`] : []),
    `# [FP16 inst=${half}] [FP16 VectInst=${n.vectorHalf}] [Percentage Vectorized=${(half === 0 ? 0 : (100 * n.vectorHalf) / half).toFixed(2)}]`,
    `# [est latency = ${Math.round(time.average)}] [LSpillB=0] [LRefillB=0]${comma} [SSpillB=0]${comma} [SRefillB=0]${comma} [LowLmemSpillSize=0] [FrameLmemSpillSize=0]`,
    `# [LNonSpillB=${n.localStored}] [LNonRefillB=${n.localLoaded}], [NonSpillSize=${localBytes(fn)}]`,
    `# [Occupancy = ${fixed(warps / most)}], [est numDivergentBranches=${parting}] [attributeMemUsage=0], [programSize=${n.issued * target.instructionBytes}]`,
    `# [est fp=${n.single + (n.unit.get('fp64') ?? 0)}] [est half=${half}], [est trancedental=${n.unit.get('xu') ?? 0}], [est ipa=0], [est shared=${n.shared}], [est controlFlow=${n.control}], [est loadStore=${n.memory}]`,
    `# [est tex=${n.texture}] [est pairs=0]`,
    `# [issue thru=${fixed(thru.issue)}] [fp thru=${fixed(fp)}] [half thru=${fixed(thru.unit('fp16'))}], [trancedental thru=${fixed(thru.unit('xu'))}], [ipa thru=inf]`,
    `# [shared thru=${n.shared > 0 ? fixed(thru.unit('lsu')) : 'inf'}] [controlFlow thru=${fixed(thru.unit('control'))}] [texLoadStore thru=${fixed(thru.unit('lsu'))}], [reg thru=${fixed(thru.registers)}], [warp thru=${fixed(thru.warps)}]`,
    `# [partially unrolled loops=0] [non-unrolled loops=${loopsOf(fn).loops.length}]`,
    `# [CB-Bound Tex=${n.texture - n.bindless}] [UR-Bound Tex=0] [Bindless Tex=${n.bindless}] [Partially Bound Tex=0]`,
    `# [UDP inst=${n.uniformOps}] [numVecToURConverts inst=${n.toUniform}]`,
    '# [maxNumLiveValuesAtSuspend=0]',
    '# [instHint=0] [instPairs=0]',
    `# [worstcaseLat=${fixed(time.worst)}]`,
    `# [avgcaseLat=${fixed(time.average)}]`,
    `# [SharedMem Alloc thru=${fixed(thru.shared)}]`,
    '# [Precise inst=0]',
    `# [maxlive=${live}]`,
  ];
}

/**
 * One line per block: instructions, how often it runs per run of the function, and cycles of one run for a warp
 * alone. The format is our own.
 */
export function blockStatistics(fn: Fn, target: Target): string[] {
  const runs = frequencyOf(fn).block;
  return fn.blocks.map((b, at) => {
    const t = blockTime(b, target);
    return `# BB${b.id} [inst=${b.ins.length}] [est runs=${fixed(runs[at])}] [est latency=${t.alone}]`;
  });
}

/**
 * One line per natural loop, outer ones first: its header, nesting depth, blocks and instructions with those of inner loops, how often
 * its header runs per run of the function, and cycles of one iteration for a warp alone. The format is our own.
 */
export function loopStatistics(fn: Fn, target: Target): string[] {
  const { loops, innermost } = loopsOf(fn);
  const runs = frequencyOf(fn).block;
  const inst = loops.map(() => 0);
  const cycles = loops.map(() => 0);
  fn.blocks.forEach((b, at) => {
    const own = innermost[at];
    if (own < 0) return;
    inst[own] += b.ins.length;
    cycles[own] += runs[at] * blockTime(b, target).alone;
  });
  // Inner loops come after the loops around them.
  for (const { id, parent } of loops.toReversed())
    if (parent >= 0) {
      inst[parent] += inst[id];
      cycles[parent] += cycles[id];
    }
  return loops.map(({ id, header, depth, size }) => {
    const rounds = runs[header];
    const round = rounds === 0 ? 0 : cycles[id] / rounds;
    return `# loop BB${fn.blocks[header].id} [depth=${depth}] [blocks=${size}] [inst=${inst[id]}] [est runs=${fixed(rounds)}] [est latency=${fixed(round)}]`;
  });
}

/** A number as C's `%f` prints it. */
const fixed = (x: number): string => (Number.isFinite(x) ? x.toFixed(6) : Number.isNaN(x) ? 'nan' : 'inf');

interface Counts {
  readonly unit: ReadonlyMap<string, number>;
  readonly all: number;
  /** Instructions that cost time. */
  readonly issued: number;
  readonly general: number;
  readonly uniform: number;
  readonly control: number;
  readonly vectorHalf: number;
  readonly texture: number;
  readonly bindless: number;
  readonly shared: number;
  readonly memory: number;
  readonly uniformOps: number;
  readonly toUniform: number;
  readonly single: number;
  readonly localLoaded: number;
  readonly localStored: number;
}

function countsOf(fn: Fn, { costs }: Target): Counts {
  const unit = new Map<string, number>();
  const counted = new Uint8Array(fn.regCount);
  const n = {
    unit,
    all: 0,
    issued: 0,
    general: 0,
    uniform: 0,
    control: 0,
    vectorHalf: 0,
    texture: 0,
    bindless: 0,
    shared: 0,
    memory: 0,
    uniformOps: 0,
    toUniform: 0,
    single: 0,
    localLoaded: 0,
    localStored: 0,
  };
  const count = (r: Reg): void => {
    if (r === NO_REG || counted[regIndex(r)] === 1) return;
    counted[regIndex(r)] = 1;
    const c = liveClassOf(r);
    if (c === LiveClass.R) n.general += units(r);
    else if (c === LiveClass.UR) n.uniform += units(r);
  };
  for (const b of fn.blocks)
    for (const x of b.ins) {
      n.all++;
      if (instrCost(x, costs) > 0) n.issued++;
      unit.set(x.op.unit, (unit.get(x.op.unit) ?? 0) + 1);
      if ((x.op.flags & OpFlag.Control) !== 0) n.control++;
      if ((x.op.flags & (OpFlag.ReadsMemory | OpFlag.WritesMemory)) !== 0) n.memory++;
      if (x.op.space === 'shared') n.shared++;
      for (const a of x.op.accesses) {
        if (a.space !== 'local') continue;
        const bytes = accessBytes(a, x.mods);
        if (a.reads) n.localLoaded += bytes;
        if (a.writes) n.localStored += bytes;
      }
      const texture = textureOf(x);
      if (texture !== null) {
        n.texture++;
        if (texture.bindless) n.bindless++;
      }
      // The fma unit also runs integer multiplies (IMAD).
      if (x.op.unit === 'fma' && x.op.class === 'float') n.single++;
      if (x.op.unit === 'fp16' && x.op.groups.some((g) => chosen(g, x.mods).type?.endsWith('x2')))
        n.vectorHalf++;
      const toUniform = x.dst.some(isUniform);
      if (toUniform) n.uniformOps++;
      if (toUniform && x.src.some((o) => o.reg !== NO_REG && liveClassOf(o.reg) === LiveClass.R))
        n.toUniform++;
      for (const r of x.dst) count(r);
      for (const o of x.src) count(o.reg);
      count(x.guard);
      for (const r of x.otherwise) count(r);
    }
  return n;
}

const isUniform = (r: Reg): boolean =>
  r !== NO_REG && (liveClassOf(r) === LiveClass.UR || regFile(r) === RegFile.UP);

const units = (r: Reg): number => Math.max(1, FILE_WIDTH[r & 7] >>> 5);

/** Bytes of the local variables of a function. */
function localBytes(fn: Fn): number {
  let bytes = 0;
  for (const v of fn.variables) if (v.space === 'local') bytes += v.size;
  return bytes;
}
