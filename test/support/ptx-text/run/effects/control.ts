import { Unsupported } from '../../table/case.ts';
import type { Instruction, Operand, PtxFunction, Register, Variable } from '../../text/syntax.ts';
import { SyntaxFault } from '../../text/tokens.ts';
import { B64, bitsOf, U32 } from '../../values/types.ts';
import { after, loadFrom } from '../access.ts';
import { bytesOf } from '../code.ts';
import type { Effect, Effects } from '../effects.ts';
import { type Frame, type Lane, TURN } from '../lane.ts';
import { functionIndex } from '../memory.ts';
import type { Operands, Read } from '../operands.ts';
import { printed } from '../print.ts';

/*
 * Control flow: PTX ISA, 9.7.12; calls: 7.1; fences: 9.7.13.4; miscellaneous instructions: 9.7.19.
 */

function target(ins: Instruction, name: string): number {
  const e = ins.scope.find(name);
  if (e?.kind !== 'label') throw new SyntaxFault(ins.line, `there is no label '${name}'`);
  return e.at;
}

const nameOf = (o: Operand): string => {
  if (o.kind !== 'name') throw new Unsupported(`a name expected, not an operand of the kind '${o.kind}'`);
  return o.name;
};

const bra: Effect = (m, o) => {
  m.flag('uni');
  const to = target(o.ins, nameOf(o.at(0)));
  return (lane) => {
    lane.frame.pc = to;
    return undefined;
  };
};

const brx: Effect = (m, o) => {
  m.need(['idx']);
  m.flag('uni');
  const index = o.read(0, U32);
  const e = o.ins.scope.find(nameOf(o.at(1)));
  if (e?.kind !== 'targets') throw new SyntaxFault(o.ins.line, 'a list of labels expected');
  const to = e.labels.map((l) => target({ ...o.ins, scope: e.scope }, l));
  return (lane) => {
    const k = Number(index(lane));
    if (k >= to.length) lane.machine.fail(lane, `jump ${k} of ${to.length}`);
    lane.frame.pc = to[k];
    return undefined;
  };
};

/** The value of an argument or result: a little-endian number of `size` bytes. */
function bytesAt(lane: Lane, at: number, size: number): bigint {
  let bits = 0n;
  for (let k = size - 1; k >= 0; k--) bits = (bits << 8n) | BigInt(lane.local.bytes[at + k]);
  return bits;
}

function putBytes(lane: Lane, at: number, size: number, bits: bigint): void {
  for (let k = 0; k < size; k++) lane.local.bytes[at + k] = Number((bits >> BigInt(8 * k)) & 0xffn);
}

const sizeOf = (formal: Register | Variable): number =>
  formal.kind === 'register' ? Math.ceil(formal.type.width / 8) : bytesOf(formal);

/**
 * Reads the actual argument of a formal parameter. For a parameter without a size, `formal` has that of the caller's variable (see
 * `sized`).
 */
function argument(o: Operands, actual: Operand, formal: Register | Variable): Read {
  if (formal.kind === 'register') return o.reader(actual, formal.type);
  if (actual.kind === 'name' && o.register(actual.name) === null) {
    const { read } = o.address(actual.name, actual.offset);
    return (lane) => bytesAt(lane, Number(read(lane)), sizeOf(formal));
  }
  return o.reader(actual, bitsOf(formal.type));
}

/** Stores a value to a formal parameter. */
function give(lane: Lane, frame: Frame, formal: Register | Variable, bits: bigint): void {
  if (formal.kind === 'register') frame.registers[formal.slot] = BigInt.asUintN(formal.type.width, bits);
  else putBytes(lane, frame.base + frame.code.offsets.get(formal)!, sizeOf(formal), bits);
}

/** Reads a formal result once the callee has returned. */
function taken(lane: Lane, frame: Frame, formal: Register | Variable): bigint {
  if (formal.kind === 'register') return frame.registers[formal.slot];
  return bytesAt(lane, frame.base + frame.code.offsets.get(formal)!, sizeOf(formal));
}

/** Writes a result to the caller's operand; the lane's frame is the caller's again. */
function result(
  o: Operands,
  actual: Operand,
  formal: Register | Variable,
): (lane: Lane, bits: bigint) => void {
  if (actual.kind === 'sink') return () => {};
  if (actual.kind === 'name' && o.register(actual.name) === null) {
    const { read } = o.address(actual.name, actual.offset);
    return (lane, bits) => putBytes(lane, Number(read(lane)), sizeOf(formal), bits);
  }
  return o.writer(actual, bitsOf(formal.type));
}

/** The parts of a call: `(results), function, (arguments), targets`. */
function parts(o: Operands): { results: readonly Operand[]; callee: Operand; args: readonly Operand[] } {
  const list = [...o.ins.operands];
  const take = (): readonly Operand[] => {
    const first = list[0];
    if (first?.kind !== 'list') return [];
    list.shift();
    return first.elements;
  };
  const results = take();
  const callee = list.shift()!;
  return { results, callee, args: take() };
}

type Call = (lane: Lane) => void;

/** A direct call of a function. */
function callOf(o: Operands, fn: PtxFunction, results: readonly Operand[], args: readonly Operand[]): Call {
  if (fn.body === null) return external(o, fn, results, args);
  if (results.length !== fn.results.length || args.length !== fn.params.length)
    throw new SyntaxFault(o.ins.line, `a call of '${fn.name}' with other arguments`);
  const formals = fn.params.map((f, k) => sized(o, f, args[k]));
  const reads = args.map((a, k) => argument(o, a, formals[k]));
  const gives = results.map((a, k) => result(o, a, fn.results[k]));
  return (lane) => {
    const values = reads.map((r) => r(lane));
    const code = lane.machine.code(fn);
    const frame = lane.enter(code, lane.frame, (l, callee) => {
      const out = fn.results.map((f) => taken(l, callee, f));
      l.frame = callee.caller!;
      gives.forEach((g, k) => {
        g(l, out[k]);
      });
    });
    fn.params.forEach((f, k) => {
      if (f.kind === 'variable' && f.length === null) giveOpen(lane, frame, f, formals[k], values[k]);
      else give(lane, frame, f, values[k]);
    });
    lane.frame = frame;
  };
}

/** A parameter without a size gets the size of the caller's variable. */
function sized(o: Operands, formal: Register | Variable, actual: Operand): Register | Variable {
  if (formal.kind === 'register' || formal.length !== null) return formal;
  const e = actual.kind === 'name' ? o.ins.scope.find(actual.name) : undefined;
  return e?.kind === 'variable' ? { ...formal, length: bytesOf(e) / formal.elementBytes } : formal;
}

/** Stores an argument of a parameter without a size: the callee's last one, at the end of its frame; the stack is extended to hold it. */
function giveOpen(
  lane: Lane,
  frame: Frame,
  formal: Variable,
  actual: Register | Variable,
  bits: bigint,
): void {
  const at = frame.base + frame.code.offsets.get(formal)!;
  lane.reserve(Math.max(lane.stackTop, at + sizeOf(actual)));
  putBytes(lane, at, sizeOf(actual), bits);
}

/** A call of a function that the module only declares. */
function external(o: Operands, fn: PtxFunction, results: readonly Operand[], args: readonly Operand[]): Call {
  const reads = args.map((a, k) => argument(o, a, fn.params[k]));
  if (fn.name === 'vprintf') {
    const gives = results.map((a, k) => result(o, a, fn.results[k]));
    return (lane) => {
      const [format, values] = reads.map((r) => r(lane));
      const { text, count } = printed(
        (address, size) => loadFrom(lane, 'generic', address, size),
        format,
        values,
      );
      lane.machine.output.push(text);
      for (const g of gives) g(lane, BigInt(count));
    };
  }
  if (fn.name === '__assertfail') return (lane) => lane.machine.fail(lane, 'an assertion that does not hold');
  throw new Unsupported(`a call of ${fn.name}, which is not defined`);
}

const call: Effect = (m, o) => {
  m.flag('uni');
  const { results, callee, args } = parts(o);
  const name = nameOf(callee);
  const { functions } = o.machine.module;
  if (o.register(name) === null) {
    const fn = functions.find((f) => f.name === name);
    if (fn === undefined) throw new SyntaxFault(o.ins.line, `there is no function '${name}'`);
    const run = callOf(o, fn, results, args);
    return (lane) => {
      run(lane);
      return undefined;
    };
  }
  const address = o.read(o.ins.operands.indexOf(callee), B64);
  const known = new Map<PtxFunction, Call>();
  return (lane) => {
    const fn = functions[functionIndex(address(lane))];
    if (fn === undefined) return lane.machine.fail(lane, 'a call of what is no function');
    let run = known.get(fn);
    if (run === undefined) known.set(fn, (run = callOf(o, fn, results, args)));
    run(lane);
    return undefined;
  };
};

const ret: Effect = (m) => {
  m.flag('uni');
  return (lane) => {
    lane.leave();
    return undefined;
  };
};

const exit: Effect = () => (lane) => {
  lane.exited = true;
  return undefined;
};

/** A fence only yields: memory is sequentially consistent here, since each access completes at once and is visible to all lanes. */
const fence: Effect = (m) => {
  m.ignore(/./);
  return (lane) => after(lane, true);
};

const alloca: Effect = (m, o) => {
  const t = m.type();
  const [write, size] = [o.write(0, t), o.read(1, t)];
  const align = o.count > 2 ? o.read(2, U32) : () => 8n;
  return (lane) => {
    const at = Math.ceil(lane.stackTop / Number(align(lane))) * Number(align(lane));
    lane.reserve(at + Number(size(lane)));
    write(lane, BigInt(at));
    return undefined;
  };
};

const stacksave: Effect = (m, o) => {
  const write = o.write(0, m.type());
  return (lane) => {
    write(lane, BigInt(lane.stackTop));
    return undefined;
  };
};

const stackrestore: Effect = (m, o) => {
  const read = o.read(0, m.type());
  return (lane) => {
    lane.stackTop = Number(read(lane));
    return undefined;
  };
};

/** An instruction that only takes time, or that only tools notice. */
const nothing: Effect = (m) => {
  m.ignore(/./);
  return () => TURN;
};

export const control: Effects = {
  bra,
  brx,
  call,
  ret,
  exit,
  trap: () => (lane) => lane.machine.fail(lane, 'a trap'),
  brkpt: () => (lane) => lane.machine.fail(lane, 'a breakpoint'),
  membar: fence,
  fence,
  nanosleep: nothing,
  pmevent: nothing,
  setmaxnreg: nothing,
  griddepcontrol: nothing,
  alloca,
  stacksave,
  stackrestore,
};
