import { type Reg, RegFile } from '../../ir/operand.ts';
import type { Param, Variable } from '../../ir/program.ts';
import type { VarDecl } from '../ast.ts';
import { TYPES } from './types.ts';
import { partName } from './vectors.ts';

/** A register as declared: its Ori register and its width in PTX. */
export interface Declared {
  readonly reg: Reg;
  readonly bits: number;
}

/** A lexical scope: registers, variables and labels declared between braces. */
export interface Scope {
  readonly regs: Map<string, Declared>;
  /** Declarations by count whose registers are created on first use. */
  readonly counted: VarDecl[];
  readonly symbols: Map<string, SymbolRef>;
  readonly labels: Map<string, number>;
  /** By label of a `.branchtargets`: the number of its table. */
  readonly tables: Map<string, number>;
  /** By label of a `.callprototype` or `.calltargets`: the name of the prototype in the program. */
  readonly prototypes: Map<string, string>;
  /** Vector registers with their numbers of elements; the elements are among `regs`. */
  readonly vectors: Map<string, number>;
}

/** The referent of a symbol in a function. */
export type SymbolRef =
  | { readonly kind: 'variable'; readonly name: string; readonly space: Variable['space'] }
  /** Parameter of an entry, in constant bank 0. */
  | { readonly kind: 'entry-param'; readonly param: Param }
  /** Formal `.param` of a device function, or a call-site `.param`. */
  | { readonly kind: 'call-param'; readonly name: string };

/** Number of declared registers beyond which registers are created on first use. Real code declares fewer and uses nearly all of them. */
const MOST_AT_ONCE = 65_536;

/** The lexical scopes of a function, and the registers that they declare. */
export abstract class Scopes {
  readonly scopes: Scope[] = [];
  /** Does any scope declare a vector register? */
  hasVectors = false;
  /** Number of registers declared so far. */
  private declared = 0;

  /** A new register of a file. */
  abstract fresh(file: number): Reg;

  /** Called when a name of the outermost scope is used. */
  protected abstract useOfModule(name: string): void;

  push(): void {
    this.scopes.push({
      regs: new Map(),
      counted: [],
      symbols: new Map(),
      labels: new Map(),
      tables: new Map(),
      prototypes: new Map(),
      vectors: new Map(),
    });
  }

  pop(): void {
    this.scopes.pop();
  }

  get scope(): Scope {
    return this.scopes[this.scopes.length - 1];
  }

  declareRegs(d: VarDecl): void {
    this.declared += Math.max(1, d.count);
    if (d.count === 0) this.declareReg(this.scope, d, d.name);
    else if (this.declared > MOST_AT_ONCE) {
      this.scope.counted.push(d);
      if (d.vector > 1) this.hasVectors = true;
    } else for (let i = 0; i < d.count; i++) this.declareReg(this.scope, d, `${d.name}${i}`);
  }

  private declareReg(scope: Scope, d: VarDecl, name: string): void {
    const bits = TYPES.get(d.type)?.bits ?? 32;
    const register = (part: string) => scope.regs.set(part, { reg: this.fresh(fileOf(d.type, bits)), bits });
    if (d.vector === 1) {
      register(name);
      return;
    }
    this.hasVectors = true;
    scope.vectors.set(name, d.vector);
    for (let k = 0; k < d.vector; k++) register(partName(name, k));
  }

  /** Creates the register of a name whose declaration by count was deferred. */
  private declareCounted(scope: Scope, name: string): void {
    const m = /^(.*?)(0|[1-9]\d*)(\.\w+)?$/.exec(name);
    const d = m === null ? undefined : scope.counted.find((c) => c.name === m[1] && Number(m[2]) < c.count);
    if (d !== undefined && m !== null && !scope.vectors.has(m[1] + m[2]))
      this.declareReg(scope, d, m[1] + m[2]);
  }

  /** Declares a vector register whose elements are declared separately. */
  nameVector(name: string, parts: number): void {
    this.hasVectors = true;
    this.scope.vectors.set(name, parts);
  }

  /** Number of elements of a vector register; 0 for any other name. */
  vectorLength(name: string): number {
    for (let i = this.scopes.length - 1; i >= 0; i--) {
      const scope = this.scopes[i];
      if (scope.counted.length > 0 && !scope.regs.has(name)) this.declareCounted(scope, name);
      if (scope.regs.has(name)) return 0;
      const n = scope.vectors.get(name);
      if (n !== undefined) return n;
    }
    return 0;
  }

  find(name: string): Declared | undefined {
    for (let i = this.scopes.length - 1; i >= 0; i--) {
      const scope = this.scopes[i];
      let d = scope.regs.get(name);
      if (d === undefined && scope.counted.length > 0) {
        this.declareCounted(scope, name);
        d = scope.regs.get(name);
      }
      if (d === undefined) continue;
      if (i === 0) this.useOfModule(name);
      return d;
    }
    return undefined;
  }

  /** The value of `of` in the innermost scope in which it is defined. */
  innermost<T>(of: (scope: Scope) => T | undefined): T | undefined {
    for (let i = this.scopes.length - 1; i >= 0; i--) {
      const known = of(this.scopes[i]);
      if (known !== undefined) return known;
    }
    return undefined;
  }
}

function fileOf(type: string, bits: number): number {
  if (type === 'pred') return RegFile.P;
  return bits > 64 ? RegFile.RQ : bits > 32 ? RegFile.RD : RegFile.R;
}
