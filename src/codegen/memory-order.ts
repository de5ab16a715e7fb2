import { BANK, type Emitter } from './emitter.ts';
import { emit, type Handler, mod, number } from './operands.ts';

/* The order of accesses: fences, what ordered accesses need before and after them, and barriers of clusters. */

export const SCOPES: Readonly<Record<string, string>> = {
  CTA: 'SM',
  CLUSTER: 'GPU',
  GPU: 'GPU',
  SYS: 'SYS',
  NONE: 'SYS',
};

/** The memory order of a load or store of global or generic memory, in parts of the name. */
export function order(s: Emitter): string[] {
  const sem = mod(s, 'sem');
  if (sem === 'WEAK') return mod(s, 'nc') === 'NC' ? ['CONSTANT'] : [];
  if (sem === 'MMIO') return ['MMIO', 'SYS'];
  return ['STRONG', sem === 'VOLATILE' ? 'SYS' : SCOPES[mod(s, 'scope')]];
}

/** Scopes beyond the first-level cache of an SM. */
const isWideScope = (scope: string): boolean => scope === 'GPU' || scope === 'SYS';

/** Waits until all earlier accesses are visible in a scope, and, beyond a block, until their errors are reported: as ptxas writes it. */
function flush(s: Emitter, kind: 'ALL' | 'SC', scope: string): void {
  emit(s, ['MEMBAR', kind, scope]);
  if (!isWideScope(scope)) return;
  emit(s, ['ERRBAR']);
  // From sm_90 on, also for other blocks of the cluster.
  s.emit(['CGAERRBAR'], new Map());
}

/** Forgets what the first-level cache holds: later loads see what others have written. */
function forget(s: Emitter, scope: string): void {
  if (isWideScope(scope)) emit(s, ['CCTL', 'IVALL']);
}

/** The scope of an ordered access, as MEMBAR names it. */
const scopeOf = (s: Emitter): string => {
  const scope = SCOPES[mod(s, 'scope')];
  return scope === 'SM' ? 'CTA' : scope;
};

/** What precedes an access that releases, and what follows one that acquires. */
export const release = (s: Emitter): void => {
  if (['RELEASE', 'ACQ_REL'].includes(mod(s, 'sem'))) flush(s, 'ALL', scopeOf(s));
};
export const acquire = (s: Emitter): void => {
  if (['ACQUIRE', 'ACQ_REL'].includes(mod(s, 'sem'))) forget(s, scopeOf(s));
};

/** What orders accesses of asynchronous copies: the fence before, and the memory whose view is updated, as ptxas 13.0.88 writes them. */
const PROXIES: Readonly<Record<string, readonly [fence: string | null, view: 'S' | 'G']>> = {
  ASYNC: ['GPU', 'S'],
  ASYNC_SHARED_CTA: ['CTA', 'S'],
  ASYNC_GLOBAL: [null, 'G'],
};

/** A fence. */
export const membar: Handler = (s) => {
  const sem = mod(s, 'sem');
  const restrict = mod(s, 'restrict');
  // Shared memory is accessed in order.
  if (restrict === 'MBARRIER_INIT') return;
  if (restrict !== 'NONE') throw s.unsupported('this fence has no machine code yet');
  if (sem === 'PROXY') {
    const found = PROXIES[mod(s, 'proxy')];
    if (found === undefined) throw s.unsupported('this fence has no machine code yet');
    const [scope, view] = found;
    if (scope !== null) emit(s, ['MEMBAR', 'ALL', scope]);
    return emit(s, ['FENCE', 'VIEW', 'ASYNC', view]);
  }
  flush(s, sem === 'SC' ? 'SC' : 'ALL', scopeOf(s));
  forget(s, scopeOf(s));
};

/**
 * Barrier of a cluster. Blocks that were launched without clusters are alone in theirs; then waiting is a barrier of the block, as ptxas
 * 13.0.88 writes it.
 */
export const clusterBarrier: Handler = (s) => {
  const at = s.around.machine.driver.get('explicit-cluster');
  if (at === undefined) throw s.unsupported('the target has no clusters');
  const isWait = mod(s, 'mode') === 'WAIT';
  s.inBlocks((after) => {
    const inside = s.newId();
    const isAlone = s.make('P', 1);
    emit(s, ['ISETP', 'NE', 'U32', 'AND'], {
      d: s.register(isAlone),
      a: s.loaded(s.bank(BANK.arguments, at, 1)),
      b: number(1),
    });
    s.branchIf(isAlone, false, after);
    s.cut(inside, [inside, after]);
    if (isWait) {
      emit(s, ['UCGABAR_WAIT']);
      forget(s, 'GPU');
    } else {
      if (mod(s, 'sem') !== 'RELAXED') flush(s, 'ALL', 'GPU');
      emit(s, ['UCGABAR_ARV']);
    }
  });
  if (isWait) emit(s, ['BAR', 'SYNC', 'DEFER_BLOCKING'], { b: number(0), n: number(0) });
};
