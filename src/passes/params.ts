import type { ParamType, ParamTypes } from '../ir/pass.ts';

const count: ParamType = { kind: 'number', least: 0, whole: true };
const share: ParamType = { kind: 'number', least: 0, whole: false };
const flag: ParamType = { kind: 'flag' };
const word = (...words: string[]): ParamType => ({ kind: 'word', words });

/** Parameters that passes read, by pass. A pass that is not listed takes none. */
export const PASS_PARAMS: Readonly<Record<string, ParamTypes>> = {
  'address-recurrences': { on: flag, 'least-gain': count, 'step-cost': count, 'max-pressure': count },
  'analyze-control-flow': { force: flag },
  'branch-opt': { sweep: word('fixed-point', 'single') },
  'equivalent-conditions': { 'most-copied': count, excepts: flag },
  'compact-local': { 'most-places': count },
  'convert-to-uniform': { only: word('existing'), 'max-bridges': count },
  'final-inspection': { 'no-pseudo': flag },
  'gvn-cse': { 'max-pressure': count, 'max-predicates': count },
  'hoist-common': { 'max-pressure': count, 'max-predicates': count },
  'hoist-invariants': { 'max-pressure': count },
  'inline-functions': { 'max-instructions': count, 'max-instructions-once': count, 'max-growth': count },
  'late-commoning': { 'max-pressure': count, 'max-predicates': count },
  'loop-fusion': { 'max-pairs': count, 'max-pressure': count },
  'loop-simplification': { 'max-header': count },
  'loop-unrolling': {
    partial: flag,
    'part-factor': count,
    'part-budget': count,
    'max-pressure': count,
    slack: count,
  },
  'move-instructions': {
    direction: word('up', 'down'),
    'least-latency': count,
    'least-gain': count,
    'max-pressure': count,
    slack: count,
  },
  'nested-conditions': { 'max-loss': share, 'max-uniform-loss': share },
  'pair-window': {
    tier: word('aggressive', 'standard', 'reduced', 'minimal'),
    registers: flag,
    immediates: flag,
  },
  pipelining: {
    stages: count,
    copies: count,
    'least-gain': share,
    'least-rounds': count,
    'max-pressure': count,
    'max-instructions': count,
  },
  'place-blocks': { chains: flag, cold: word('loops', 'function') },
  predication: {
    only: word('values'),
    'max-loss': share,
    'max-uniform-loss': share,
    'max-guarded': count,
    'max-guarded-block': count,
    exits: flag,
  },
  reassociate: { 'max-pressure': count, 'max-predicates': count },
  rematerialize: {
    family: word('sink'),
    slack: count,
    'max-cost': share,
    'max-cycles': count,
    distance: count,
    lookback: count,
    'constant-cycles': count,
    'max-predicates': count,
  },
  'switch-opt': {
    'cascade-cases': share,
    'table-density': share,
    'table-entries': share,
    'table-cost': share,
    'table-registers': share,
    lanes: share,
    'regroup-cost': share,
    'least-gain': share,
    profiled: word('weigh', 'stays'),
  },
  'target-branches': { uniform: flag },
  'tail-merging': { 'least-tail': count, 'least-arm': count },
  vectorize: { 'least-element': count, 'max-pressure': count, 'most-padding': count, 'param-window': count },
};
