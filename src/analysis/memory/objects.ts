import { Kind, type Operand } from '../../ir/operand.ts';
import type { Fn, Param, Variable } from '../../ir/program.ts';
import { MEMORY_OF } from './memory-ops.ts';

/** An object that addresses are derived from. */
export interface MemoryObject {
  /**
   * `variable`: the memory of a variable. `parameter`: whatever a 64-bit kernel parameter points to. `space`: some
   * place in the memory named by a conversion to a generic address.
   */
  readonly kind: 'variable' | 'parameter' | 'space';
  /** Name of the variable, else ''. */
  readonly name: string;
  /** Memory that an address derived from it points into (`Mem` bits). */
  readonly memory: number;
  /** Bytes; 0 if unknown. */
  readonly size: number;
  /**
   * Whether it is an unsized array of shared memory: all of these begin at one address (CUDA C++ Programming Guide,
   * __shared__).
   */
  readonly overlaid: boolean;
  /** `parameter`: byte offset in constant bank 0; else -1. */
  readonly offset: number;
}

/** The objects that a function's addresses are derived from, numbered in order of appearance. */
export class ObjectTable {
  readonly objects: MemoryObject[] = [];
  private readonly variables: ReadonlyMap<string, Variable>;
  private readonly own = new Map<string, Variable>();
  private readonly byName = new Map<string, number>();
  private readonly byOffset = new Map<number, number>();
  private readonly bySpace = new Map<number, number>();

  constructor(fn: Fn, variables: ReadonlyMap<string, Variable>) {
    this.variables = variables;
    for (const v of fn.variables) this.own.set(v.name, v);
    for (const p of fn.params) if (!this.own.has(p.name)) this.own.set(p.name, formal(p));
    for (const p of fn.returns) if (!this.own.has(p.name)) this.own.set(p.name, formal(p));
  }

  private add(o: MemoryObject): number {
    this.objects.push(o);
    return this.objects.length - 1;
  }

  /** The object of a symbol; -1 for functions and unknown names. */
  named(name: string): number {
    const old = this.byName.get(name);
    if (old !== undefined) return old;
    const v = this.own.get(name) ?? this.variables.get(name);
    const id =
      v === undefined
        ? -1
        : this.add({
            kind: 'variable',
            name,
            memory: MEMORY_OF[v.space],
            size: v.size,
            overlaid: v.space === 'shared' && v.linkage === 'extern' && v.size === 0,
            offset: -1,
          });
    this.byName.set(name, id);
    return id;
  }

  /** The space of a symbol's variable; null for functions and unknown names. */
  spaceOf(name: string): Variable['space'] | null {
    return (this.own.get(name) ?? this.variables.get(name))?.space ?? null;
  }

  /** What the kernel parameter at a byte of constant bank 0 points to. */
  parameter(offset: number): number {
    let id = this.byOffset.get(offset);
    if (id === undefined) {
      const memory = MEMORY_OF.generic;
      id = this.add({ kind: 'parameter', name: '', memory, size: 0, overlaid: false, offset });
      this.byOffset.set(offset, id);
    }
    return id;
  }

  /** Some place in the given memory. */
  somewhere(memory: number): number {
    let id = this.bySpace.get(memory);
    if (id === undefined) {
      id = this.add({ kind: 'space', name: '', memory, size: 0, overlaid: false, offset: -1 });
      this.bySpace.set(memory, id);
    }
    return id;
  }
}

/** A formal parameter of a device function as a variable of parameter space. */
const formal = (p: Param): Variable => ({
  name: p.name,
  space: 'param',
  type: p.type,
  size: p.size,
  align: p.align,
  linkage: '',
  init: null,
  relocs: [],
  attrs: [],
});

/** Is the operand a 64-bit word of constant bank 0, where kernel parameters are? */
export const isParameterWord = (o: Operand, width: number): boolean =>
  o.kind === Kind.CBank && o.reg < 0 && o.hi === 0 && width === 64;

/**
 * The kernel parameter that an object represents, with its space (`.ptr`) and size.
 * @param paramBase offset of the parameters in constant bank 0: the fact `param-base` of the back end
 * @returns null if the object is not a parameter, or the bytes belong to none
 */
export function kernelParameter(fn: Fn, o: MemoryObject, paramBase: number): Param | null {
  if (o.kind !== 'parameter' || fn.kind !== 'entry') return null;
  const at = o.offset - paramBase;
  return fn.params.find((p) => at >= p.offset && at < p.offset + p.size) ?? null;
}

/** Is its memory separate, so that addresses derived from two such objects never alias? */
const isDistinct = (o: MemoryObject): boolean => o.kind === 'variable';

/** May addresses derived from two different objects alias? */
export function objectsMayMeet(a: MemoryObject, b: MemoryObject): boolean {
  if ((a.memory & b.memory) === 0) return false;
  return !(isDistinct(a) && isDistinct(b)) || (a.overlaid && b.overlaid);
}
