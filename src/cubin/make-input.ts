import type { Attribute } from './contents.ts';

/* What a cubin is made of: kernels and the module's variables. */

/** A function that a kernel calls, within the kernel's code. */
export interface InnerFunction {
  readonly name: string;
  /** Byte offset and size within the kernel's code. */
  readonly at: number;
  readonly size: number;
  readonly frameBytes: number;
  /** True for a library routine that several modules may hold: its symbol is weak. */
  readonly library: boolean;
  /** The register whose pair holds the return address on entry. */
  readonly returnRegister: number;
  /** The register pair to which the return address is moved, and the byte offset from `at` from which on it is there. */
  readonly returnMoved?: { readonly at: number; readonly register: number };
}

/** A kernel's code and what the driver needs to know of it. All offsets are in bytes from the beginning of the code. */
export interface KernelCode {
  readonly name: string;
  /** Whether others may name it: as a rule `global`. */
  readonly binding?: 'global' | 'weak' | 'local';
  /**
   * Instructions, 16 bytes each. If they do not end with NOPs or a branch to itself, such a branch is added, and NOPs that fill 128 bytes.
   */
  readonly code: Uint8Array;
  /** One more than the highest general register; at least 4 are stated. */
  readonly registers: number;
  /** Most registers a thread may have (`.maxnreg`). */
  readonly mostRegisters?: number;
  /** Number of named barriers. */
  readonly barriers: number;
  /** Bytes of local memory of a thread. */
  readonly frameBytes: number;
  /** Bytes of local memory of a thread, with those of called functions; as a rule those of the frame. */
  readonly stackBytes?: number;
  /**
   * Bytes of static shared memory, without those that the driver reserves, and the alignment of all shared memory. An alignment without
   * bytes says that the module declares shared memory whose size is given at launch.
   */
  readonly sharedBytes: number;
  readonly sharedAlign?: number;
  /** True if this kernel accesses such memory. */
  readonly dynamicShared?: boolean;
  /** In the order of declaration, with offsets within the parameters. */
  readonly params: readonly { readonly offset: number; readonly size: number }[];
  /** EXIT instructions. */
  readonly exits: readonly number[];
  /** True if lanes of a warp may part (a branch depends on what may differ among them), or functions are called. */
  readonly divergent: boolean;
  /** Instructions that need all lanes of a warp though the program names none: votes of warp-aggregated atomics. */
  readonly warpWide: readonly number[];
  /** Instructions among lanes that a mask names (shuffles, votes), with the register that holds the mask, or -1 if it is not in one. */
  readonly grouped: readonly { readonly at: number; readonly mask: number }[];
  /** Indirect branches. */
  readonly branches: readonly { readonly at: number; readonly targets: readonly number[] }[];
  /** Threads of a block in x, y and z: exactly (`.reqntid`) or at most (`.maxntid`). */
  readonly required?: readonly number[];
  readonly most?: readonly number[];
  /** Halves of addresses of variables in the 32 immediate bits of instructions. */
  readonly relocations: readonly {
    readonly at: number;
    readonly symbol: string;
    readonly half: 'low' | 'high';
  }[];
  /** Constant bank 2: tables of code addresses and constants. */
  readonly constants?: Uint8Array;
  /** True if `constants` holds addresses of functions. */
  readonly functionTable?: boolean;
  readonly functions?: readonly InnerFunction[];
  /** Functions of the driver that it calls, such as `vprintf`, in the order in which the module declares them. */
  readonly calls?: readonly string[];
  /** The same in the order of the first calls in the code. */
  readonly firstCalls?: readonly string[];
  /** Where it calls them. */
  readonly systemCalls?: readonly number[];
  /** Where instructions come from, as far as that is known: from each offset on, a line of PTX, and one of a file of the module or 0, 0. */
  readonly lines?: readonly {
    readonly at: number;
    readonly ptx: number;
    /** Number of the file in `ModuleLines.files`, from 1. */
    readonly file: number;
    readonly line: number;
  }[];
  /** Further attributes: clusters, mbarriers and others. They are put where ptxas puts those of their codes. */
  readonly attributes?: readonly Attribute[];
}

/** A variable of a module. */
export interface ModuleVariable {
  readonly name: string;
  readonly space: 'global' | 'const';
  readonly size: number;
  readonly align: number;
  /** Null if it begins as zeros. */
  readonly bytes: Uint8Array | null;
  /** Addresses of global variables within its bytes, of 64 bits. */
  readonly addresses?: readonly {
    readonly offset: number;
    readonly symbol: string;
    readonly generic: boolean;
    /** What is added to the address; as a rule nothing. */
    readonly addend?: number;
  }[];
  /** True if the host or other modules may name it (`.visible`). */
  readonly visible?: boolean;
  /** Its place in its section, if not the one that `placesOf` gives. */
  readonly offset?: number;
}

/** The texts that lines of kernels are lines of. */
export interface ModuleLines {
  readonly files: readonly string[];
  readonly ptx: string;
}

/** What the kernels of a module share. */
export interface ModuleData {
  /** Given where there are tables of lines. */
  readonly lines?: ModuleLines;
  readonly variables: readonly ModuleVariable[];
  /** The `.target` that the PTX states, if not the target of the cubin. */
  readonly source?: string;
  /**
   * Attributes of `.nv.compat`, from sm_90 on, that have other values than as a rule. ptxas states 2 for attribute 2 if the code has
   * conversions of narrow floats, 4 if it has matrix instructions, and 1 for attribute 3 if it has bulk copies.
   */
  readonly compat?: ReadonlyMap<number, number>;
  readonly tool?: Tool;
}

/** Who made a cubin: texts for a note in it. */
export interface Tool {
  readonly name: string;
  readonly version: string;
  readonly build: string;
  readonly options: string;
}
