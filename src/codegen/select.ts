import type { Fn } from '../ir/program.ts';
import { call, loadParam, storeParam } from './calls.ts';
import type { Surroundings } from './emitter.ts';
import type { MachineBlock, MachineFunction } from './machine-op.ts';
import { matrices } from './matrix.ts';
import { arrive, initialize, invalidate, wait } from './mbarrier.ts';
import { MEMORY } from './memory.ts';
import { type Handlers, Selector } from './selector.ts';

/** Opcodes whose instructions follow from more than rows. */
const HANDLERS: Handlers = {
  ...MEMORY,
  MBAR_INIT: initialize,
  MBAR_INVAL: invalidate,
  MBAR_ARRIVE: arrive,
  MBAR_WAIT: wait,
  STPRM: storeParam,
  LDPRM: loadParam,
  CALL: call,
  FOREIGN_LANES: matrices,
  FOREIGN_LOAD_LANES: matrices,
  FOREIGN_STORE_LANES: matrices,
};

/**
 * Selects machine instructions for a function of an entry.
 * @throws Unsupported with the instruction that has no machine code yet
 */
export function select(fn: Fn, around: Surroundings): MachineFunction {
  const blocks: MachineBlock[] = [];
  const selector = new Selector(fn, around, HANDLERS);
  fn.blocks.forEach((b, k) => {
    blocks.push(...selector.block(b, fn.blocks[k + 1]));
  });
  return { name: fn.name, blocks, registers: selector.registers, tables: fn.tables };
}
