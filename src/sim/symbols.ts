import { ownName, type Program } from '../ir/program.ts';
import type { Code } from './decode.ts';
import { SimFault } from './faults.ts';
import { FUNCTION_WINDOW } from './memory.ts';

/**
 * Number of the first prototype: above all functions, so that inlining, which changes their number, does not change a prototype's address.
 */
const PROTOTYPES = 2 ** 24;

/** Maps a program's symbols to addresses. */
export class Symbols {
  /** Addresses of global and constant variables, entered when the launch places them. */
  readonly global = new Map<string, number>();
  /** Offsets of variables in shared memory. */
  readonly shared = new Map<string, number>();
  /** Bytes of shared memory per block. */
  readonly sharedBytes: number;
  private readonly program: Program;

  /**
   * @param used names of the variables to place in shared memory, those that the kernel can reach; null for all
   * @param given fixed offsets of shared-memory variables; the others follow in order
   */
  constructor(
    program: Program,
    used: ReadonlySet<string> | null,
    dynamicShared: number,
    given: ReadonlyMap<string, number> = new Map(),
  ) {
    this.program = program;
    let bytes = 0;
    for (const v of program.variables)
      if (v.space === 'shared' && used?.has(v.name) !== false) {
        if (v.linkage === 'extern' && v.size === 0) continue;
        const a = Math.max(16, v.align);
        const at = given.get(v.name) ?? Math.ceil(bytes / a) * a;
        this.shared.set(v.name, at);
        bytes = Math.max(bytes, at + v.size);
      }
    const dynamic = Math.ceil(bytes / 16) * 16;
    for (const v of program.variables)
      if (v.space === 'shared' && !this.shared.has(v.name))
        this.shared.set(v.name, given.get(v.name) ?? dynamic);
    this.sharedBytes = dynamic + dynamicShared;
  }

  /** Address of a symbol in its own space (shared: an offset; functions: a unique number). @throws SimFault for an undefined symbol */
  addressOf(name: string, code: Code): number {
    const shared = this.shared.get(name);
    if (shared !== undefined) return shared;
    const local = code.locals.get(name);
    if (local !== undefined) return local;
    const global = this.global.get(name);
    if (global !== undefined) return global;
    const own = ownName(this.program, name);
    const f = this.program.functions.findIndex((x) => x.name === own);
    if (f >= 0) return FUNCTION_WINDOW + 16 * f;
    const param = code.params.get(name);
    if (param !== undefined) return param;
    const proto = this.program.prototypes.findIndex((p) => p.name === name);
    if (proto >= 0) return FUNCTION_WINDOW + 16 * (PROTOTYPES + proto);
    throw new SimFault(`symbol '${name}' is not defined in this module`, 'symbol', name);
  }
}
