import { imm, NO_REG, type Operand, PF, PT, RegFile, RZ, reg } from '../ir/operand.ts';
import { LOCAL_WINDOW, SHARED_WINDOW } from '../sim/memory.ts';
import type { Builder, Meaning } from './builder.ts';
import { REDUCED_TRUTH, REDUCED_WORD } from './registers.ts';

/*
 * Warp-wide operations, barriers, and special registers. Machine code has no member masks: the lanes that execute an instruction together
 * are its members.
 */

/** The lanes that execute an instruction together. */
export const activeLanes = (b: Builder): Operand => reg(b.guarded('ACTIVEMASK', [], []));

const shuffle: Meaning = (b) => {
  const d = b.to('d');
  b.write('SHFL', [b.mod('op')], [d, b.to('p')], [b.plain('a'), b.plain('b'), b.plain('c'), activeLanes(b)]);
};

const vote: Meaning = (b) =>
  b.write('VOTE', [b.mod('op')], [b.to('d'), b.to('p')], [b.truth('a'), activeLanes(b)]);

const match: Meaning = (b) => {
  const wide = b.mod('type') === 'U64';
  const value = wide ? b.wide('a') : b.plain('a');
  b.write('MATCH', [b.mod('op'), wide ? '64' : 'B32'], [b.to('d'), b.to('p')], [value, activeLanes(b)]);
};

const REDUCTIONS: Readonly<Record<string, string>> = {
  '': 'AND',
  OR: 'OR',
  XOR: 'XOR',
  SUM: 'ADD',
  MIN: 'MIN',
  MAX: 'MAX',
};

const reduce: Meaning = (b) => {
  const type = b.mod('type') === 'S32' ? 'S32' : 'U32';
  const d = b.guarded('REDUX', [REDUCTIONS[b.mod('op')], type], [b.plain('a'), activeLanes(b)]);
  b.give('d', reg(d));
};

/** CREDUX: minimum or maximum over the lanes, of integers or floats. */
const extreme: Meaning = (b) => {
  const [op, type] = [b.mod('op'), b.mod('type')];
  const abs = op.endsWith('ABS');
  const which = op.slice(0, 3);
  const d =
    type === 'F32'
      ? b.guarded('REDUX_F32', [which, abs ? 'ABS' : '', b.mod('NAN')], [b.plain('a'), activeLanes(b)])
      : b.guarded('REDUX', [which, type === 'S32' ? 'S32' : 'U32'], [b.plain('a'), activeLanes(b)]);
  if (abs && type !== 'F32') b.fail(`.${op} of integers`);
  b.give('d', reg(d));
};

/**
 * R2UR. By p, ptxas' code asks whether the jump for diverged lanes can be skipped (`@!p BRA.DIV`); here it never can, so that lanes wait
 * for each other there.
 */
const toUniform: Meaning = (b) => {
  b.without('OR');
  b.giveTruth('p', PF);
  b.give('d', b.plain('a'));
};

const elect: Meaning = (b) => {
  if (b.truth('a') !== PT) b.fail('an election among some lanes');
  const [leader, first] = [b.temporary(), b.temporary(RegFile.P)];
  b.write('ELECT', [], [leader, first], [activeLanes(b)]);
  b.give('d', reg(leader));
  b.giveTruth('p', reg(first));
};

const warpSync: Meaning = (b) =>
  b.write('WARPSYNC', [], [], [b.find('b') === undefined ? b.plain('a') : b.plain('b')]);
const warpSyncAll: Meaning = (b) => b.write('WARPSYNC', [], [], [imm(-1)]);

// -------------------------------------------------------------------- barriers of a block

/**
 * Number and thread count of a barrier: constants, or both in one register, with the number in the low bits and the threads from bit 16 on.
 */
function whichBarrier(b: Builder): { id: Operand; threads: Operand } {
  const id = b.plain('b');
  const number = id.reg === NO_REG ? id : reg(b.pure('LOP3', [], [id, imm(15), RZ, imm(0xc0)]));
  const n = b.find('n')?.atom;
  if (n === undefined) return { id: number, threads: RZ };
  const threads = b.plain('n');
  if (n.kind !== 'R' || threads.reg === NO_REG) return { id: number, threads };
  return { id: number, threads: reg(b.pure('BFE', ['U32'], [threads, imm(16), imm(12)])) };
}

const barrier: Meaning = (b) => {
  const op = b.mod('op');
  const { id, threads } = whichBarrier(b);
  if (op === 'SYNC' || op === 'ARV') {
    const mode = op === 'SYNC' ? 'SYNC' : 'ARRIVE';
    return b.write('BAR', [mode, 'UNALIGNED'], [NO_REG, NO_REG], [id, threads, PT]);
  }
  if (op !== 'RED') b.fail(`.${op} is not supported yet`);
  const counts = b.mod('red') === 'POPC';
  b.write(
    'BAR',
    ['RED', b.mod('red'), 'UNALIGNED'],
    [counts ? REDUCED_WORD : NO_REG, counts ? NO_REG : REDUCED_TRUTH],
    [id, threads, b.truth('p')],
  );
};

/** B2R: the result of the thread's last reducing barrier. */
const barrierResult: Meaning = (b) => {
  b.give('d', reg(REDUCED_WORD));
  b.giveTruth('p', reg(REDUCED_TRUTH));
};

// -------------------------------------------------------------------- special registers

const SPECIAL: Readonly<Record<string, string>> = {
  'SR_TID.X': 'TID.X',
  'SR_TID.Y': 'TID.Y',
  'SR_TID.Z': 'TID.Z',
  'SR_CTAID.X': 'CTAID.X',
  'SR_CTAID.Y': 'CTAID.Y',
  'SR_CTAID.Z': 'CTAID.Z',
  SR_LANEID: 'LANEID',
  SR_EQMASK: 'LANEMASK_EQ',
  SR_LTMASK: 'LANEMASK_LT',
  SR_LEMASK: 'LANEMASK_LE',
  SR_GTMASK: 'LANEMASK_GT',
  SR_GEMASK: 'LANEMASK_GE',
  SR_VIRTUALSMID: 'SMID',
  SR_CgaCtaId: 'CLUSTER_CTARANK',
};
const CLOCKS: Readonly<Record<string, string>> = {
  SR_CLOCKLO: 'CLOCK',
  SR_CLOCKHI: 'CLOCK_HI',
  SR_GLOBALTIMERLO: 'GLOBALTIMER_LO',
  SR_GLOBALTIMERHI: 'GLOBALTIMER_HI',
};
/** Words that hold the base addresses of the shared and local windows in generic space. */
const WINDOWS: Readonly<Record<string, number>> = {
  SR_SWINHI: SHARED_WINDOW / 2 ** 32,
  SR_SWINLO: 0,
  SR_LWINHI: LOCAL_WINDOW / 2 ** 32,
  SR_LWINLO: 0,
  SRZ: 0,
  // A limit for the stack, which the simulator does not check.
  SR_LMEMHIOFF: 0,
};

const special: Meaning = (b) => {
  const slot = b.slot('s');
  const k = slot.atom!.field;
  const name = b.i.form.fields[k].names?.[b.i.values[k]] ?? '';
  if (WINDOWS[name] !== undefined) {
    const wide = b.i.form.row === 'CS2R' && b.mod('size') === '';
    return b.give('d', imm(WINDOWS[name]), ...(wide ? [RZ] : []));
  }
  if (CLOCKS[name] !== undefined) {
    if (b.i.form.row === 'CS2R' && b.mod('size') === '') {
      if (name !== 'SR_CLOCKLO') b.fail(`${name} of 64 bits is not supported yet`);
      const d = b.temporary(RegFile.RD);
      b.emit('CS2R', ['CLOCK64', '64'], [d], []);
      return b.giveWide('d', reg(d));
    }
    return b.write('CS2R', [CLOCKS[name]], [b.to('d')], []);
  }
  if (SPECIAL[name] === undefined) b.fail(`the special register ${name} is not supported yet`);
  if (b.i.form.row === 'CS2R' && b.mod('size') === '') b.fail(`${name} of 64 bits is not supported yet`);
  const d = b.temporary();
  b.emit('S2R', [SPECIAL[name]], [d], []);
  b.give('d', reg(d));
};

/** Waits for the live lanes of a mask. */
export const syncLanes = (b: Builder, members: Operand): void => b.write('WARPSYNC', [], [], [members]);

/** Translators by row of the form. */
export const WARP: Readonly<Record<string, Meaning>> = {
  SHFL: shuffle,
  'SHFL.ci': shuffle,
  'SHFL.bi': shuffle,
  'SHFL.i': shuffle,
  VOTE: vote,
  VOTEU: vote,
  MATCH: match,
  REDUX: reduce,
  CREDUX: extreme,
  R2UR: toUniform,
  ELECT: elect,
  WARPSYNC: warpSync,
  'WARPSYNC.r': warpSync,
  'WARPSYNC.ALL': warpSyncAll,
  // All lanes of the mask execute the code up to ENDCOLLECTIVE together.
  'WARPSYNC.COLLECTIVE': warpSync,
  'WARPSYNC.COLLECTIVE.ALL': warpSyncAll,
  ENDCOLLECTIVE: () => {},
  BAR: barrier,
  'BAR.r': barrier,
  'BAR.i': barrier,
  B2R: barrierResult,
  S2R: special,
  S2UR: special,
  CS2R: special,
  UCGABAR_ARV: (b) => b.write('CGABAR', ['ARRIVE', 'UNALIGNED'], [], []),
  UCGABAR_WAIT: (b) => b.write('CGABAR', ['WAIT', 'UNALIGNED'], [], []),
};
