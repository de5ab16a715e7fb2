import { rankOf } from '../clusters.ts';
import { lowest } from '../masks.ts';
import type { Simulation } from '../simulation.ts';
import type { Warp } from '../state.ts';

import { mod, opnd, type Primitive } from './primitive.ts';

/** S2R and CS2R: read a special register (PTX ISA 9.0, Special Registers). */
export const special: Primitive = (m, w, f, d, mask) => {
  const sr = mod(d, 'sr');
  const to = opnd(f, d, 0);
  const i = f.regs.i32;
  const wide = d.ins.op.groups.some((g) => g.name === 'size') && mod(d, 'size') === '64';
  const [bx, by] = m.opts.block;
  const dims = { TID: null, NTID: m.opts.block, CTAID: w.block.id, NCTAID: m.opts.grid } as Readonly<
    Record<string, readonly number[] | null>
  >;
  const [name, axis] = sr.split('.');
  const at = 'XYZ'.indexOf(axis ?? '');
  for (let r = mask; r !== 0; r &= r - 1) {
    const l = lowest(r);
    const t = w.index * 32 + l;
    let v = 0;
    if (name === 'TID')
      v = at === 0 ? t % bx : at === 1 ? Math.floor(t / bx) % by : Math.floor(t / (bx * by));
    else if (dims[name] !== undefined && axis !== undefined) v = dims[name]![at];
    else
      switch (sr) {
        case 'LANEID':
          v = l;
          break;
        case 'WARPID':
          v = w.index;
          break;
        case 'NWARPID':
          v = Math.ceil((bx * by * m.opts.block[2]) / 32);
          break;
        case 'LANEMASK_EQ':
          v = 1 << l;
          break;
        case 'LANEMASK_LT':
          v = (1 << l) - 1;
          break;
        case 'LANEMASK_LE':
          v = l === 31 ? -1 : (1 << (l + 1)) - 1;
          break;
        case 'LANEMASK_GT':
          v = l === 31 ? 0 : ~((1 << (l + 1)) - 1);
          break;
        case 'LANEMASK_GE':
          v = ~((1 << l) - 1);
          break;
        case 'DYNAMIC_SMEM_SIZE':
          v = m.opts.dynamicShared;
          break;
        case 'TOTAL_SMEM_SIZE':
          v = m.sharedBytes;
          break;
        case 'SMID':
          v = 0;
          break;
        case 'NSMID':
          v = 1;
          break;
        case 'CLOCK':
        case 'CLOCK64':
        case 'GLOBALTIMER':
        case 'GLOBALTIMER_LO':
          v = !m.opts.open ? m.executed : m.watch === null ? 0 : m.watch.clock(w, l);
          break;
        default:
          v = ofCluster(m, w, sr, at);
      }
    if (wide) {
      i[to + 2 * l] = v | 0;
      i[to + 2 * l + 1] = Math.floor(v / 4294967296);
    } else i[to + l] = v | 0;
  }
};

/** Special registers of clusters; a block without cluster counts as a cluster of one. Unknown registers read as 0. */
function ofCluster(m: Simulation, w: Warp, sr: string, axis: number): number {
  const dims = w.block.cluster?.dims ?? [1, 1, 1];
  const { id } = w.block;
  switch (sr.split('.')[0]) {
    case 'CLUSTERID':
      return Math.floor(id[axis] / dims[axis]);
    case 'NCLUSTERID':
      return m.opts.grid[axis] / dims[axis];
    case 'CLUSTER_CTAID':
      return id[axis] % dims[axis];
    case 'CLUSTER_NCTAID':
      return dims[axis];
    case 'CLUSTER_CTARANK':
      return rankOf(w.block);
    case 'CLUSTER_NCTARANK':
      return dims[0] * dims[1] * dims[2];
    case 'IS_EXPLICIT_CLUSTER':
      return dims[0] * dims[1] * dims[2] > 1 ? 1 : 0;
    default:
      return 0;
  }
}
