import { describe, expect, it } from 'vitest';
import { postDominatorsOf } from '../../src/analysis/flow/dominators.ts';
import { lowerPtx } from '../../src/ptx/lower/index.ts';
import { parsePtx } from '../../src/ptx/parse.ts';
import { runLaunch } from '../../src/sim/launch.ts';
import { testIsa } from '../support/isa.ts';
import { BASE, kernel, run } from '../support/sim-kernel.ts';

/** A loop that only lanes of the upper half execute, for 30,000 or more iterations; R6 counts. */
const LONG = `MOV R6, RZ
ISETP.LT.U32 P15, R2, 16
@P15 BRA BB2
IADD3 R5, R2, 30000
BB1:
IADD3 R6, R6, 1
ISETP.LT.U32 P16, R6, R5
@P16 BRA BB1
BB2:`;
const big = { budget: 5_000_000 };
const count = (l: number): number => (l < 16 ? 0 : 30000 + l);

describe('warp-wide operations wait for their members', () => {
  it.each([
    ['SHFL.BFLY R7, P17, R6, 31, 31, -1', (l: number) => count(31 - l)],
    ['REDUX.MAX.U32 R7, R6, -1', () => 30031],
    ['REDUX.ADD R7, R6, -1', () => 16 * 30000 + 376],
    ['ISETP.GT.U32 P17, R6, 30015\nVOTE.ANY R7, P17, -1', () => -65536],
    [
      'ISETP.GT.U32 P18, R6, 0\nSEL R9, 1, RZ, P18\nMATCH.ANY R7, R9, -1',
      (l: number) => (l < 16 ? 0xffff : -65536),
    ],
    ['ELECT R7, P17, -1', () => 0],
    [
      'STG [RD3], R6\nWARPSYNC -1\nLOP3 R8, R2, 31, RZ, 0x3c\nIMAD_WIDE.U32 RD10, R8, 4, RD1\nLDG R7, [RD10]\nWARPSYNC -1',
      (l: number) => count(31 - l),
    ],
    [
      'SHL R8, R2, 2\nSTS [R8], R6\nBAR.SYNC RZ\nLOP3 R8, R8, 0x7c, RZ, 0x3c\nLDS R7, [R8]',
      (l: number) => count(31 - l),
    ],
    [
      'SHL R8, R2, 2\nSTS [R8], R6\nBAR.SYNC.UNALIGNED RZ\nLOP3 R8, R8, 0x7c, RZ, 0x3c\nLDS R7, [R8]',
      (l: number) => count(31 - l),
    ],
    ['ISETP.GT.U32 P17, R6, 30015\nBAR.RED.POPC R7, 1, 32, P17', () => 16],
  ] as const)('%s behind a long loop of some lanes', (ins, want) => {
    const r = run(kernel(`${LONG}\n${ins}\nSTG [RD3], R7\nEXIT`), 32, big);
    expect([r.status, r.error]).toEqual(['ok', null]);
    expect(r.values).toEqual(Array.from({ length: 32 }, (_, l) => want(l)));
  });

  it('wherever the members stand, in either side of a branch or in a function', () => {
    const fn = `.func f
  .return s32 r size 4 align 4 at 0 reg R9
  .param s32 n size 4 align 4 at 0 reg R1
{
BB0:
SHFL.BFLY R9, P17, R1, 1, 31, -1
RET
}`;
    const r = run(
      kernel(
        `LOP3 R4, R2, 1, RZ, 0xc0
ISETP.NE P15, R4, RZ
IADD3 R6, R2, 100
@P15 BRA BB2
CALL {R7}, &f, &, {R2}
BRA BB3
BB2:
SHFL.BFLY R7, P17, R6, 1, 31, -1
BB3:
STG [RD3], R7
EXIT`,
        fn,
      ),
    );
    expect([r.status, r.error]).toEqual(['ok', null]);
    expect(r.values).toEqual(Array.from({ length: 32 }, (_, l) => (l & 1 ? l - 1 : l + 101)));
  });

  it('each lane with the members that its own mask names', () => {
    const r = run(
      kernel(`SHR.U32 R4, R2, 3\nMATCH.ANY R5, R4, -1\nREDUX.ADD R6, R2, R5\nSTG [RD3], R6\nEXIT`),
    );
    expect(r.values).toEqual(Array.from({ length: 32 }, (_, l) => 64 * (l >> 3) + 28));
  });

  it('not for lanes that have ended, also when they end later', () => {
    const r = run(
      kernel(`${LONG}
ISETP.GE.U32 P17, R2, 24
@P17 EXIT
ISETP.LT.U32 P18, R2, 4
@P18 EXIT
REDUX.ADD R7, R2, -1
STG [RD3], R7
EXIT`),
      32,
      big,
    );
    expect([r.status, r.error]).toEqual(['ok', null]);
    expect([r.values[0], r.values[4], r.values[23], r.values[24]]).toEqual([0, 270, 270, 0]);
  });

  it('a member that never comes is a deadlock that names kernel, instruction and lanes', () => {
    const r = run(
      kernel(`ISETP.LT.U32 P15, R2, 8
@P15 BRA BB2
SHFL.IDX R7, P17, R2, 0, 31, -1
BRA BB3
BB2:
WARPSYNC -1
BB3:
STG [RD3], R7
EXIT`),
    );
    expect(r.status).toBe('fault');
    expect(r.error).toMatch(
      /deadlock in block \(0, 0, 0\) of k: lanes 0-7 of warp 0 wait at 'WARPSYNC -1' in k for lanes 8-31; lanes 8-31 of warp 0 wait at 'SHFL.IDX R7, P17, R2, RZ, 31, -1' in k for lanes 0-7/,
    );
  });

  it('the deadlock names the line of the source', () => {
    const text = `.version 9.0\n.target sm_90\n.address_size 64\n.visible .entry spin() {
.reg .pred %p; .reg .b32 %r<3>;
mov.u32 %r1, %tid.x; setp.lt.u32 %p, %r1, 4;
@%p bra $out;
shfl.sync.idx.b32 %r2, %r1, 0, 31, -1;
$out:
@%p bar.warp.sync 255;
ret; }`;
    const { program } = lowerPtx(parsePtx(text, 'spin.ptx').module, {
      isa: testIsa(),
      paramBase: BASE,
      sm: 'sm_90',
    });
    const r = runLaunch(
      program,
      testIsa(),
      { name: 't', kernel: 'spin', grid: [1, 1, 1], block: [8, 1, 1], dynamicShared: 0, params: [] },
      BASE,
    );
    expect(r.error).toMatch(
      /of spin: lanes 4-7 of warp 0 wait at 'SHFL.*' in spin, PTX line 8 for lanes 0-3; lanes 0-3 of warp 0 wait at 'WARPSYNC.*, PTX line 10 for lanes 4-7/,
    );
  });

  it('halves of a warp arrive at a barrier of the block on their own', () => {
    const r = run(
      kernel(`SHL R8, R2, 2
STS [R8], R2
LOP3 R4, R2, 32, RZ, 0xc0
ISETP.LT.U32 P15, R2, 16
@P15 BRA BB1
BAR.SYNC.UNALIGNED RZ
BRA BB2
BB1:
BAR.SYNC.UNALIGNED RZ
BB2:
LOP3 R8, R8, 0xfc, RZ, 0x3c
LDS R7, [R8]
STG [RD3], R7
EXIT`),
      64,
    );
    expect([r.status, r.error]).toEqual(['ok', null]);
    expect(r.values).toEqual(Array.from({ length: 64 }, (_, t) => 63 - t));
  });

  it('a producer that arrives and a consumer that waits, counted in threads', () => {
    const r = run(
      kernel(`ISETP.LT.U32 P15, R2, 32
@P15 BRA BB1
SHL R8, R2, 2
STS [R8], R2
BAR.ARRIVE 3, 64
EXIT
BB1:
BAR.SYNC 3, 64
SHL R8, R2, 2
LDS R7, [R8+0x80]
STG [RD3], R7
EXIT`),
      64,
    );
    expect([r.status, r.error]).toEqual(['ok', null]);
    expect(r.values.slice(0, 32)).toEqual(Array.from({ length: 32 }, (_, t) => 32 + t));
  });
});

describe('blocks with control in their middle', () => {
  it('are cut by themselves, whatever is known of the function as it stands', () => {
    const p = kernel(`MOV R6, 1
ISETP.GE P15, R2, 20
@P15 BRA BB1
STG [RD3], R6
BB1 "out":
EXIT`);
    // The flow graph of the uncut function is remembered by its shape.
    expect(postDominatorsOf(p.functions[0]).idom[0]).toBe(1);
    expect(run(p).values).toEqual(Array.from({ length: 32 }, (_, l) => (l < 20 ? 1 : 0)));
  });
});
