import type { Launch } from '../run/run.ts';
import { DYNAMIC_SHARED, type Kernel, OUTPUT_BYTES, SCRATCH_BYTES } from './kernel.ts';

/** The launch of a generated kernel: one block. */
export const launchOf = (k: Kernel): Launch => ({
  kernel: 'k',
  grid: [1, 1, 1],
  block: [k.threads, 1, 1],
  dynamicShared: DYNAMIC_SHARED,
  args: [
    { kind: 'buffer', bytes: k.input },
    { kind: 'buffer', bytes: new Uint8Array(OUTPUT_BYTES) },
    { kind: 'buffer', bytes: new Uint8Array(SCRATCH_BYTES) },
    { kind: 'buffer', bytes: k.common },
    { kind: 'value', bytes: k.blob },
  ],
});
