import { describe, expect, it } from 'vitest';
import { lowerPtx } from '../../src/ptx/lower/index.ts';
import { parsePtx } from '../../src/ptx/parse.ts';
import { type Launch, runLaunch } from '../../src/sim/launch.ts';
import { testIsa } from '../support/isa.ts';
import { hasPtxas, ptxas } from '../support/ptxas.ts';
import { runPtx } from '../support/run-ptx.ts';

/*
 * Blocks of a cluster: writes to each other's shared memory, waits, and bulk copies, compared with what the PTX ISA 9.0 says about each
 * instruction (9.7.9, 9.7.13).
 */

const isa = testIsa();
const BASE = 0x210;

const kernel = (body: string, head = '') => `.version 8.6\n.target sm_90\n.address_size 64
.visible .entry k(.param .u64 pin, .param .u64 pout) ${head} {
.reg .b64 %in, %out, %d<8>; .reg .b32 %t, %b, %g, %r<24>; .reg .f32 %f<8>; .reg .pred %p<4>; .reg .b128 %q<4>;
.shared .align 128 .b8 tile[1024]; .shared .align 8 .b64 bar;
ld.param.u64 %in, [pin]; ld.param.u64 %out, [pout];
mov.u32 %t, %tid.x; mov.u32 %b, %ctaid.x; mov.u32 %g, %ntid.x; mad.lo.u32 %g, %b, %g, %t;
${body}
ret; }
`;
/** Stores the register words of each thread, thread by thread. */
const show = (...regs: string[]) =>
  `mad.wide.u32 %d7, %g, ${4 * regs.length}, %out;\n${regs.map((r, k) => `st.global.b32 [%d7+${4 * k}], ${r};`).join('\n')}`;
const MEET = 'barrier.cluster.arrive.release.aligned; barrier.cluster.wait.acquire.aligned;';

interface Run {
  readonly blocks: number;
  readonly threads?: number;
  readonly cluster?: Launch['cluster'];
  readonly words: number;
  readonly input?: readonly number[];
  readonly head?: string;
}

function launched(body: string, run: Run): { words: number[]; error: string | null } {
  const text = kernel(body, run.head);
  const { module, diagnostics } = parsePtx(text, 'k.ptx');
  expect(diagnostics.map((d) => d.message)).toEqual([]);
  if (hasPtxas('sim-clusters.test.ts')) expect(ptxas(text).errors).toBe('');
  const { program, diagnostics: said } = lowerPtx(module, { isa, paramBase: BASE, sm: 'sm_90' });
  expect(said.map((d) => d.message)).toEqual([]);
  const input = new Int32Array(run.input ?? [0]);
  const threads = run.threads ?? 1;
  const out = run.words * run.blocks * threads;
  const buffer = (length: number, bytes: Uint8Array) =>
    ({ kind: 'buffer', type: 's32', length, bytes, expect: null, tolerance: 0 }) as const;
  const r = runLaunch(
    program,
    isa,
    {
      name: 't',
      kernel: 'k',
      grid: [run.blocks, 1, 1],
      block: [threads, 1, 1],
      cluster: run.cluster,
      dynamicShared: 0,
      params: [buffer(input.length, new Uint8Array(input.buffer)), buffer(out, new Uint8Array(4 * out))],
    },
    BASE,
    { budget: 200_000 },
  );
  return { words: r.buffers.length === 0 ? [] : [...new Int32Array(r.buffers[1]!.buffer)], error: r.error };
}

function words(body: string, run: Run): number[] {
  const r = launched(body, run);
  expect(r.error).toBeNull();
  return r.words;
}

describe('a cluster', () => {
  const NAMES = [
    'clusterid.x',
    'nclusterid.x',
    'cluster_ctaid.x',
    'cluster_nctaid.x',
    'cluster_ctarank',
    'cluster_nctarank',
  ];
  const read = NAMES.map((n, k) => `mov.u32 %r${k}, %${n};`).join(' ');
  it('tells its blocks where they are, as the launch or the kernel says', () => {
    const want = Array.from({ length: 8 }, (_, b) => [b >> 2, 2, b & 3, 4, b & 3, 4]).flat();
    const body = `${read}\n${show(...NAMES.map((_, k) => `%r${k}`))}`;
    expect(words(body, { blocks: 8, cluster: [4, 1, 1], words: 6 })).toEqual(want);
    expect(words(body, { blocks: 8, words: 6, head: '.reqnctapercluster 4, 1, 1' })).toEqual(want);
    expect(words(body, { blocks: 2, words: 6 })).toEqual([0, 2, 0, 1, 0, 1, 1, 2, 0, 1, 0, 1]);
  });

  it('does not fit a grid that is no multiple of it', () => {
    expect(launched(show('%t'), { blocks: 6, cluster: [4, 1, 1], words: 1 }).error).toContain(
      'the grid 6 x 1 x 1 is not a multiple of the cluster 4 x 1 x 1',
    );
  });

  it('shares its memory: stores, loads and atomic sums in the next block, after a barrier', () => {
    const body = `mov.u32 %r0, tile; mov.u32 %r1, %cluster_ctarank; add.u32 %r2, %r1, 1; and.b32 %r2, %r2, 3;
st.shared.u32 [tile+8], 1000;
mapa.shared::cluster.u32 %r3, %r0, %r2;
getctarank.shared::cluster.u32 %r4, %r3; getctarank.shared::cluster.u32 %r5, %r0;
${MEET}
st.shared::cluster.u32 [%r3+4], %b;
atom.shared::cluster.add.u32 %r6, [%r3+8], %r1;
${MEET}
ld.shared.u32 %r7, [tile+4]; ld.shared::cluster.u32 %r8, [%r3+4]; ld.shared.u32 %r9, [tile+8];
mov.u64 %d1, tile; cvta.shared.u64 %d0, %d1;
mapa.u64 %d2, %d0, %r2; ld.u32 %r10, [%d2+4]; isspacep.shared::cluster %p0, %d2; selp.b32 %r11, 1, 0, %p0;
${MEET}
${show('%r4', '%r5', '%r6', '%r7', '%r8', '%r9', '%r10', '%r11')}`;
    const got = words(body, { blocks: 8, cluster: [4, 1, 1], words: 8 });
    expect(got).toEqual(
      Array.from({ length: 8 }, (_, b) => {
        const rank = b & 3;
        const before = (b & 4) + ((rank + 3) & 3);
        return [(rank + 1) & 3, rank, 1000, before, b, 1000 + ((rank + 3) & 3), b, 1];
      }).flat(),
    );
  });

  it('has addresses of its blocks in shared::cluster, and in shared::cta those of the block that asks', () => {
    const body = `mov.u64 %d1, tile; cvta.shared.u64 %d0, %d1; mov.u32 %r1, %cluster_ctarank; xor.b32 %r2, %r1, 1;
mapa.u64 %d2, %d0, %r1; mapa.u64 %d3, %d0, %r2;
isspacep.shared::cta %p0, %d0; isspacep.shared::cta %p1, %d2; isspacep.shared::cta %p2, %d3; isspacep.shared::cluster %p3, %d3;
selp.b32 %r3, 1, 0, %p0; selp.b32 %r4, 1, 0, %p1; selp.b32 %r5, 1, 0, %p2; selp.b32 %r6, 1, 0, %p3;
${show('%r3', '%r4', '%r5', '%r6')}`;
    expect(words(body, { blocks: 2, cluster: [2, 1, 1], words: 4 })).toEqual([1, 1, 0, 1, 1, 1, 0, 1]);
  });

  it('has a fault where it has no such block', () => {
    const body = `mov.u32 %r0, tile; mapa.shared::cluster.u32 %r3, %r0, 5; ld.shared::cluster.u32 %r1, [%r3];\n${show('%r1')}`;
    expect(launched(body, { blocks: 2, cluster: [2, 1, 1], words: 1 }).error).toContain(
      'in no block of the cluster',
    );
  });

  it('waits at its barrier for all threads that have not ended, in turn after turn', () => {
    // Rank 0 counts how many have come, each time behind the barrier; half of the threads of rank 1 end at once.
    const body = `mov.u32 %r1, %cluster_ctarank; mov.u32 %r0, tile; mapa.shared::cluster.u32 %r2, %r0, 0;
setp.lt.u32 %p0, %t, 16; setp.eq.u32 %p1, %r1, 1; and.pred %p0, %p0, %p1; @%p0 exit;
${MEET.replaceAll('.aligned', '')}
mov.u32 %r5, 0; mov.u32 %r9, 0;
L: red.shared::cluster.add.u32 [%r2], 1;
${MEET.replaceAll('.aligned', '')}
ld.shared::cluster.u32 %r4, [%r2]; add.u32 %r9, %r9, %r4;
${MEET.replaceAll('.aligned', '')}
add.u32 %r5, %r5, 1; setp.lt.u32 %p2, %r5, 3; @%p2 bra L;
${show('%r9')}`;
    const got = words(body, { blocks: 2, threads: 32, cluster: [2, 1, 1], words: 1 });
    expect(got).toEqual(Array.from({ length: 64 }, (_, k) => (k >= 32 && k < 48 ? 0 : 48 * (1 + 2 + 3))));
  });
});

const SPIN = (done: string, wait: string) => `${done}: ${wait}\n@!%p0 bra ${done};`;

describe('barrier objects', () => {
  it('of another block: arrivals release the threads that wait there', () => {
    const body = `mov.u32 %r1, %cluster_ctarank; mov.u32 %r0, bar; setp.ne.u32 %p1, %r1, 0; setp.eq.u32 %p2, %t, 0;
@%p2 mbarrier.init.shared.b64 [bar], 3;
${MEET}
mapa.shared::cluster.u32 %r2, %r0, 0; mov.u32 %r3, tile; mapa.shared::cluster.u32 %r4, %r3, 0; mad.lo.u32 %r4, %r1, 4, %r4;
@%p1 st.shared::cluster.u32 [%r4], %b;
@%p1 mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%r2];
@%p1 bra E;
${SPIN('W', 'mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 %p0, [bar], 0;')}
ld.shared.u32 %r5, [tile+4]; ld.shared.u32 %r6, [tile+8]; ld.shared.u32 %r7, [tile+12];
E: ${MEET}
${show('%r5', '%r6', '%r7')}`;
    const got = words(body, { blocks: 4, cluster: [4, 1, 1], words: 3 });
    expect(got.slice(0, 3)).toEqual([1, 2, 3]);
  });

  it('count bytes: expected before or after they arrive, and pending arrivals in the state', () => {
    const body = `mbarrier.init.shared.b64 [bar], 2; mov.u32 %r0, bar;
mbarrier.complete_tx.relaxed.cta.shared::cta.b64 [%r0], 12;
mbarrier.arrive.shared.b64 %d0, [bar]; mbarrier.pending_count.b64 %r1, %d0;
mbarrier.arrive.expect_tx.release.cluster.shared::cta.b64 %d1, [%r0], 20; mbarrier.pending_count.b64 %r2, %d1;
mbarrier.test_wait.shared.b64 %p0, [bar], %d0; selp.b32 %r3, 1, 0, %p0;
mbarrier.complete_tx.relaxed.cta.shared::cta.b64 [%r0], 8;
mbarrier.test_wait.acquire.cta.shared::cta.b64 %p0, [%r0], %d1; selp.b32 %r4, 1, 0, %p0;
${show('%r1', '%r2', '%r3', '%r4')}`;
    expect(words(body, { blocks: 1, words: 4 })).toEqual([2, 1, 0, 1]);
  });

  it('take the bytes of st.async and red.async in another block', () => {
    const body = `mov.u32 %r1, %cluster_ctarank; mov.u32 %r0, bar; mov.u32 %r3, tile;
mbarrier.init.shared.b64 [bar], 1; mov.u32 %r9, 40; st.shared.u32 [tile+16], %r9;
mbarrier.arrive.expect_tx.shared.b64 %d0, [bar], 20;
${MEET}
xor.b32 %r2, %r1, 1; mapa.shared::cluster.u32 %r4, %r3, %r2; mapa.shared::cluster.u32 %r5, %r0, %r2;
add.u32 %r6, %r1, 10; add.u32 %r7, %r1, 20;
cvt.u64.u32 %d1, %r6; cvt.u64.u32 %d2, %r7;
st.async.shared::cluster.mbarrier::complete_tx::bytes.v2.b64 [%r4], {%d1, %d2}, [%r5];
red.async.relaxed.cluster.shared::cluster.mbarrier::complete_tx::bytes.add.u32 [%r4+16], %r6, [%r5];
${SPIN('W', 'mbarrier.test_wait.parity.shared.b64 %p0, [bar], 0;')}
ld.shared.u32 %r8, [tile+8]; ld.shared.u32 %r9, [tile+16];
${MEET}
${show('%r8', '%r9')}`;
    expect(words(body, { blocks: 2, cluster: [2, 1, 1], words: 2 })).toEqual([21, 51, 20, 50]);
  });
});

describe('copies in bulk', () => {
  const input = Array.from({ length: 32 }, (_, k) => 7 * k + 1);

  it('bring global memory to shared, signal their bytes, and bring it back', () => {
    const body = `mov.u32 %r0, tile; mov.u32 %r1, bar; mbarrier.init.shared.b64 [bar], 1;
mbarrier.arrive.expect_tx.shared.b64 %d0, [bar], 64;
cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%r0], [%in], 64, [%r1];
${SPIN('W', 'mbarrier.try_wait.shared.b64 %p0, [bar], %d0;')}
ld.shared.u32 %r2, [tile+4]; add.u32 %r2, %r2, 1000; st.shared.u32 [tile+4], %r2;
fence.proxy.async.shared::cta;
cp.async.bulk.global.shared::cta.bulk_group [%out], [%r0], 32; cp.async.bulk.commit_group; cp.async.bulk.wait_group 0;
cp.reduce.async.bulk.global.shared::cta.bulk_group.add.u32 [%out+16], [%r0+16], 32;
cp.async.bulk.commit_group; cp.async.bulk.wait_group.read 0;`;
    const got = words(body, { blocks: 1, words: 16, input });
    const back = [1, 1008, 15, 22, 29, 36, 43, 50];
    const want = Array.from({ length: 16 }, (_, k) => (back[k] ?? 0) + (k >= 4 && k < 12 ? input[k] : 0));
    expect(got).toEqual(want);
  });

  it('write to every block of a mask, at the same address, and signal each', () => {
    const body = `mov.u32 %r0, tile; mov.u32 %r1, bar; mov.u32 %r2, %cluster_ctarank; setp.eq.u32 %p1, %r2, 2;
setp.eq.u32 %p2, %r2, 1; mbarrier.init.shared.b64 [bar], 1; st.shared.u32 [tile+4], 5;
@!%p2 mbarrier.arrive.expect_tx.shared.b64 %d0, [bar], 16;
${MEET}
.reg .b16 %m; mov.u16 %m, 13;
@%p1 cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster [%r0], [%in], 16, [%r1], %m;
@%p2 bra E;
${SPIN('W', 'mbarrier.try_wait.parity.shared.b64 %p0, [bar], 0;')}
E: ld.shared.u32 %r3, [tile+4];
${MEET}
${show('%r3')}`;
    expect(words(body, { blocks: 4, cluster: [4, 1, 1], words: 1, input })).toEqual([8, 5, 8, 8]);
  });

  it('are of whole 16 bytes', () => {
    const body = `mov.u32 %r0, tile; mov.u32 %r2, 8;\ncp.async.bulk.global.shared::cta.bulk_group [%out], [%r0], %r2;`;
    expect(launched(body, { blocks: 1, words: 4 }).error).toContain(
      'size and addresses must be multiples of 16',
    );
  });
});

describe('128 bits and vectors', () => {
  it('are moved, exchanged and compared as a whole', () => {
    const body = `ld.global.v2.b64 {%d0, %d1}, [%in]; mov.b128 %q0, {%d0, %d1}; mov.b64 %d2, 77; mov.b128 %q1, {%d2, %d0};
atom.global.b128.exch %q2, [%in], %q1; mov.b128 {%d3, %d4}, %q2;
atom.global.b128.cas %q3, [%in], %q0, %q0; atom.global.b128.cas %q3, [%in], %q1, %q0; mov.b128 {%d5, %d6}, %q3;
ld.global.u32 %r0, [%in]; ld.global.u32 %r1, [%in+8];
cvt.u32.u64 %r2, %d3; cvt.u32.u64 %r3, %d4; cvt.u32.u64 %r4, %d5; cvt.u32.u64 %r5, %d6;
${show('%r0', '%r1', '%r2', '%r3', '%r4', '%r5')}`;
    expect(words(body, { blocks: 1, words: 6, input: [1, 2, 3, 4] })).toEqual([1, 3, 1, 3, 77, 1]);
  });

  it('are added element by element', () => {
    const bits = (v: number) => new Int32Array(new Float32Array([v]).buffer)[0];
    const body = `mov.f32 %f0, 0f3f800000; mov.f32 %f1, 0f40000000;
atom.global.v2.f32.add {%f2, %f3}, [%in], {%f0, %f1}; red.global.v4.f32.add [%in], {%f0, %f1, %f1, %f0};
ld.global.v4.b32 {%r0, %r1, %r2, %r3}, [%in]; mov.b32 %r4, %f2; mov.b32 %r5, %f3;
${show('%r0', '%r1', '%r2', '%r3', '%r4', '%r5')}`;
    const got = words(body, { blocks: 1, words: 6, input: [0.5, 10, 20, 30].map(bits) });
    expect(got).toEqual([2.5, 14, 22, 31, 0.5, 10].map(bits));
  });
});

describe('what is carried and plain in a launch', () => {
  it('st.async and red.async of global memory store and add; a policy for caches is any value', () => {
    const body = `createpolicy.fractional.L2::evict_last.b64 %d0, 0f3F800000;
st.async.mmio.release.sys.global.b32 [%in], %i1; red.async.release.gpu.global.add.u32 [%in], %i1;
ld.global.L2::cache_hint.b32 %o0, [%in], %d0;`;
    expect(runPtx(body, [[1, 20]], 1, '', 'sm_100')).toEqual([[40]]);
  });
});
