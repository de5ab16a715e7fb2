const SPECIAL: Readonly<Record<string, string>> = {
  '%laneid': 'LANEID',
  '%warpid': 'WARPID',
  '%nwarpid': 'NWARPID',
  '%smid': 'SMID',
  '%nsmid': 'NSMID',
  '%lanemask_eq': 'LANEMASK_EQ',
  '%lanemask_le': 'LANEMASK_LE',
  '%lanemask_lt': 'LANEMASK_LT',
  '%lanemask_ge': 'LANEMASK_GE',
  '%lanemask_gt': 'LANEMASK_GT',
  '%dynamic_smem_size': 'DYNAMIC_SMEM_SIZE',
  '%total_smem_size': 'TOTAL_SMEM_SIZE',
  '%cluster_ctarank': 'CLUSTER_CTARANK',
  '%cluster_nctarank': 'CLUSTER_NCTARANK',
  '%is_explicit_cluster': 'IS_EXPLICIT_CLUSTER',
  '%reserved_smem_offset_begin': 'RESERVED_SMEM_OFFSET_BEGIN',
  '%reserved_smem_offset_end': 'RESERVED_SMEM_OFFSET_END',
  '%reserved_smem_offset_cap': 'RESERVED_SMEM_OFFSET_CAP',
  '%reserved_smem_offset_0': 'RESERVED_SMEM_OFFSET_0',
  '%reserved_smem_offset_1': 'RESERVED_SMEM_OFFSET_1',
};
// The elements of a vector have colour names too (PTX ISA 9.0, "Vectors").
for (const v of [
  'tid',
  'ntid',
  'ctaid',
  'nctaid',
  'clusterid',
  'nclusterid',
  'cluster_ctaid',
  'cluster_nctaid',
])
  for (const [k, c] of [...'xyz'].entries())
    for (const part of [c, 'rgb'[k]])
      (SPECIAL as Record<string, string>)[`%${v}.${part}`] = `${v.toUpperCase()}.${c.toUpperCase()}`;

const TIMERS: Readonly<Record<string, readonly [string, number]>> = {
  '%clock': ['CLOCK', 32],
  '%clock_hi': ['CLOCK_HI', 32],
  '%clock64': ['CLOCK64', 64],
  '%globaltimer': ['GLOBALTIMER', 64],
  '%globaltimer_lo': ['GLOBALTIMER_LO', 32],
  '%globaltimer_hi': ['GLOBALTIMER_HI', 32],
  '%gridid': ['GRIDID', 64],
};

/** The instruction that reads a special register. */
export interface SpecialRegister {
  readonly opcode: 'S2R' | 'CS2R';
  readonly mods: readonly string[];
  readonly bits: number;
}

/** The special register with a name (PTX ISA 9.0, 10); 'unknown' if Ori does not have it, null if the name is not that of one. */
export function specialRegister(name: string): SpecialRegister | 'unknown' | null {
  const s = SPECIAL[name];
  if (s !== undefined) return { opcode: 'S2R', mods: [s], bits: 32 };
  const t = TIMERS[name];
  if (t !== undefined) return { opcode: 'CS2R', mods: [t[0], t[1] === 64 ? '64' : 'B32'], bits: t[1] };
  const env = /^%envreg(\d)$/.exec(name);
  if (env !== null) return { opcode: 'S2R', mods: [`ENVREG${env[1]}`], bits: 32 };
  return /^%(envreg\d+|aggr_smem_size|current_graph_exec|pm\d.*)$/.test(name) ? 'unknown' : null;
}
