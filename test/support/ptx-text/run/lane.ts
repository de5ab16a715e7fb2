import type { Block, Warp } from './block.ts';
import type { SeededChoices } from './choices.ts';
import type { Code } from './code.ts';
import type { Machine } from './machine.ts';
import { type Region, region } from './memory.ts';

/** What a lane waits for before it goes on. */
export type Wait =
  /** Nothing: other lanes may have a turn. */
  | { readonly kind: 'turn' }
  /** All lanes of a mask at an instruction with the same key, which then gives each its results. */
  | {
      readonly kind: 'warp';
      readonly key: string;
      readonly mask: number;
      readonly inputs: readonly bigint[];
      readonly combine: Combine;
      readonly resume: (results: readonly bigint[]) => void;
    }
  /** The lanes that happen to execute activemask together. */
  | { readonly kind: 'active'; readonly resume: (mask: number) => void }
  /** A barrier of the block; `threads` is null where all of the block take part. */
  | {
      readonly kind: 'barrier';
      readonly id: number;
      readonly threads: number | null;
      readonly arrives: boolean;
      readonly predicate: bigint;
      readonly resume: (predicates: readonly bigint[]) => void;
    }
  /** A condition that other lanes bring about. */
  | { readonly kind: 'until'; readonly holds: () => boolean };

/** What an instruction across lanes gives each lane: from the inputs of those that take part, by lane. */
export type Combine = (
  inputs: ReadonlyMap<number, readonly bigint[]>,
) => ReadonlyMap<number, readonly bigint[]>;

/** One instruction, ready to run. */
export type Step = (lane: Lane) => Wait | undefined;

export const TURN: Wait = { kind: 'turn' };

/** A call that has not returned. */
export interface Frame {
  readonly code: Code;
  /** Values of registers, by slot. */
  readonly registers: bigint[];
  /** Address of the frame in local memory. */
  readonly base: number;
  /** The next instruction. */
  pc: number;
  readonly caller: Frame | null;
  /** Takes results to where the caller wants them. */
  readonly leave: ((lane: Lane, callee: Frame) => void) | null;
}

/** How many instructions a lane runs at most before another has a turn. */
const TURN_LENGTH = 500;
/** Most bytes of a lane's stack. */
const MOST_STACK = 2 ** 20;

/** A thread: a coroutine with its own program counter, registers and stack. */
export class Lane {
  readonly machine: Machine;
  readonly block: Block;
  readonly warp: Warp;
  /** Number within the block and within the warp. */
  readonly thread: number;
  readonly laneId: number;
  readonly life: Generator<Wait, void, void>;
  frame: Frame;
  /** CC.CF. */
  carry: bigint;
  local: Region;
  /** First address of the stack that is free. */
  stackTop: number;
  exited = false;
  waiting: Wait | null = null;
  /** Copies of cp.async that have not been made, by group; the last group is not committed. */
  copies: (() => void)[][] = [[]];
  /** Completed phases of the cluster's barrier when this lane arrived. */
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

  /** The frame of a call, with registers that nobody has written. */
  enter(code: Code, caller: Frame | null, leave: Frame['leave']): Frame {
    const base = Math.ceil(this.stackTop / 16) * 16;
    this.reserve(base + code.frameBytes);
    const choices: SeededChoices = this.machine.choices;
    const registers = code.registers.map((r) => choices.unspecified(r.type));
    return { code, registers, base, pc: 0, caller, leave };
  }

  /** Makes the stack reach to an address. */
  reserve(top: number): void {
    this.stackTop = top;
    if (top <= this.local.bytes.length) return;
    if (top > MOST_STACK) this.machine.fail(this, 'the stack is full');
    const bytes = this.machine.choices.fill(new Uint8Array(Math.max(top, 2 * this.local.bytes.length)));
    bytes.set(this.local.bytes);
    this.local = region('local', 0, bytes);
  }

  /** Ends the call, or the thread if it is the kernel. */
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
