import { load, store } from './access.ts';
import { cvta, qspc } from './address-space.ts';
import { asyncCommit, asyncCopy, asyncWait } from './async.ts';
import { atomic } from './atomic.ts';
import {
  barrier,
  clusterBarrier,
  mbarrierArrive,
  mbarrierInit,
  mbarrierInval,
  mbarrierWait,
} from './barrier.ts';
import { builtin, trap } from './builtin.ts';
import { barrierWord } from './convergence.ts';
import { copy } from './copy.ts';
import { foreign } from './foreign.ts';
import type { Primitive } from './primitive.ts';
import { special } from './special.ts';
import { activemask, elect, match, redux, reduxFloat, shuffle, vote } from './warp-wide.ts';

const nothing: Primitive = () => {};

/** Implementations of the opcodes that the ISA defines by `primitive:`, by that name. */
export const primitives: Readonly<Record<string, Primitive>> = {
  load,
  store,
  atomic,
  special,
  cvta,
  qspc,
  shuffle,
  vote,
  activemask,
  match,
  redux,
  'redux-float': reduxFloat,
  elect,
  hint: nothing,
  fence: nothing,
  warpsync: nothing,
  convergence: nothing,
  'barrier-word': barrierWord,
  'convergence-break': nothing,
  'cluster-barrier': clusterBarrier,
  barrier,
  'async-copy': asyncCopy,
  'async-commit': asyncCommit,
  'async-wait': asyncWait,
  'mbarrier-init': mbarrierInit,
  'mbarrier-inval': mbarrierInval,
  'mbarrier-arrive': mbarrierArrive,
  'mbarrier-wait': mbarrierWait,
  trap,
  builtin,
  copy,
  foreign,
};
