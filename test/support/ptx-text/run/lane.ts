import type { Block, Warp } from './block.ts';
import type { SeededChoices } from './choices.ts';
import type { Code } from './code.ts';
import type { Machine } from './machine.ts';
import { type Region, region } from './memory.ts';

/** The condition that a lane waits for. */
export type Wait =
  /** Nothing: the lane only yields. */
  | { readonly kind: 'turn' }
  /** All lanes of a mask reach an instruction with the same key, which then gives each lane its results. */
  | {
      readonly kind: 'warp';
      readonly key: string;
      readonly mask: number;
      readonly inputs: readonly bigint[];
      readonly combine: Combine;
      readonly resume: (results: readonly bigint[]) => void;
    }
  /** At activemask: the machine chooses a group of lanes that execute it together. */
  | { readonly kind: 'active'; readonly resume: (mask: number) => void }
  /** A barrier of the block; `threads` is null if the whole block participates. */
  | {
      readonly kind: 'barrier';
      readonly id: number;
      readonly threads: number | null;
      readonly arrives: boolean;
      readonly predicate: bigint;
      readonly resume: (predicates: readonly bigint[]) => void;
    }
  /** A condition that other lanes establish. */
  | { readonly kind: 'until'; readonly holds: () => boolean };

/** An instruction across lanes: maps the inputs of the participating lanes to their results, both by lane. */
export type Combine = (
  inputs: ReadonlyMap<number, readonly bigint[]>,
) => ReadonlyMap<number, readonly bigint[]>;

/** One instruction, prepared for execution. */
export type Step = (lane: Lane) => Wait | undefined;

export const TURN: Wait = { kind: 'turn' };

/** An active call. */
export interface Frame {
  readonly code: Code;
  /** Values of registers, by slot. */
  readonly registers: bigint[];
  /** Address of the frame in local memory. */
  readonly base: number;
  /** The next instruction. */
  pc: number;
  readonly caller: Frame | null;
  /** Copies the results to the caller. */
  readonly leave: ((lane: Lane, callee: Frame) => void) | null;
}

/** Maximum number of instructions that a lane executes before it yields. */
const TURN_LENGTH = 500;
/** Maximum bytes of a lane's stack. */
const MOST_STACK = 2 ** 20;

/** A thread: a coroutine with its own program counter, registers and stack. */
export class Lane {
  readonly machine: Machine;
  readonly block: Block;
  readonly warp: Warp;
  /** Index within the block, and within the warp. */
  readonly thread: number;
  readonly laneId: number;
  readonly life: Generator<Wait, void, void>;
  frame: Frame;
  /** CC.CF. */
  carry: bigint;
  local: Region;
  /** First free address of the stack. */
  stackTop: number;
  exited = false;
  waiting: Wait | null = null;
  /** Pending copies of cp.async, by group; the last group is not committed. */
  copies: (() => void)[][] = [[]];
  /** Number of completed phases of the cluster's barrier when this lane arrived. */
  arrivedPhase = -1;

  constructor(machine: Machine, block: Block, warp: Warp, thread: number, code: Code) {
    this.machine = machine;
    this.block = block;
    this.warp = warp;
    this.thread = thread;
    this.laneId = thread % 32;
    this.carry = machine.choices.unspecified({ name: 'carry', kind: 'carry', width: 1 });
    this.local = region('local', 0, new Uint8Array(0));
    this.stackTop = 0;
    this.frame = this.enter(code, null, null);
    this.life = this.#live();
  }

  /** Creates the frame of a call; its registers are uninitialized. */
  enter(code: Code, caller: Frame | null, leave: Frame['leave']): Frame {
    const base = Math.ceil(this.stackTop / 16) * 16;
    this.reserve(base + code.frameBytes);
    const choices: SeededChoices = this.machine.choices;
    const registers = code.registers.map((r) => choices.unspecified(r.type));
    return { code, registers, base, pc: 0, caller, leave };
  }

  /** Extends the stack to an address. @throws RunFault if it overflows */
  reserve(top: number): void {
    this.stackTop = top;
    if (top <= this.local.bytes.length) return;
    if (top > MOST_STACK) this.machine.fail(this, 'the stack is full');
    const bytes = this.machine.choices.fill(new Uint8Array(Math.max(top, 2 * this.local.bytes.length)));
    bytes.set(this.local.bytes);
    this.local = region('local', 0, bytes);
  }

  /** Returns from the call, or ends the thread if the function is the kernel. */
  leave(): void {
    const { frame } = this;
    if (frame.caller === null) {
      this.exited = true;
      return;
    }
    frame.leave?.(this, frame);
    this.stackTop = frame.base;
    this.frame = frame.caller;
  }

  *#live(): Generator<Wait, void, void> {
    for (let n = 1; !this.exited; n++) {
      const { frame } = this;
      const item = frame.code.items[frame.pc++];
      if (item === undefined) {
        this.leave();
        continue;
      }
      this.machine.count(this);
      if (item.guard >= 0 && (frame.registers[item.guard] !== 0n) === item.negated) continue;
      const wait = item.step(this);
      if (wait !== undefined) yield wait;
      else if (n % TURN_LENGTH === 0) yield TURN;
    }
    for (const copy of this.copies.flat()) copy();
  }
}
