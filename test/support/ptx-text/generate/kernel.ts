import { type } from '../values/types.ts';
import { type Context, computation, LOG_SLOTS, type Maker, observed, weighted } from './context.ts';
import { everyConversion } from './conversions.ts';
import { BY_REGISTER, FLOW } from './flow.ts';
import { everyInstruction } from './forms.ts';
import { LANES } from './lanes.ts';
import { COMMON, LANE_BYTES, MEMORY } from './memory.ts';
import { ODDS } from './odds.ts';
import { lines, linesOf, type Part } from './part.ts';
import { edge, literal, Random } from './random.ts';
import { COUNTS, DECLARED, type Kind, OTHERS } from './registers.ts';

/** A generated kernel, as a list of pieces. */
export interface Kernel {
  readonly sm: number;
  readonly threads: number;
  /** Device functions that precede it. */
  readonly functions: readonly string[];
  /** Lines that initialize every register, then the generated pieces. */
  readonly parts: readonly Part[];
  readonly stores: readonly Part[];
  /** Contents of the buffers: the inputs, and the locations that all lanes modify. */
  readonly input: Uint8Array;
  readonly common: Uint8Array;
  readonly blob: Uint8Array;
}

/** Bytes of input and of output per lane. */
const ROW = 8 * Object.values(COUNTS).reduce((a, b) => a + b, 0);
const MOST_THREADS = 64;
const TABLE_BYTES = 64;
/** Minimum offset of a lane's bytes in local and shared memory: past the named shared variables. */
const HIGH = 3072;

const kinds = Object.keys(COUNTS) as Kind[];
interface Slot {
  readonly kind: Kind;
  readonly k: number;
}

/** All registers, in the order of their places in a row. */
const slots: readonly Slot[] = kinds.flatMap((kind) =>
  Array.from({ length: COUNTS[kind] }, (_, k) => ({ kind, k })),
);

/** Random contents of an input register: a float of any format, or an integer. */
function inputBits(random: Random, kind: Kind): bigint {
  const choices: Readonly<Record<Kind, readonly string[]>> = {
    h: ['s16', 's16', 'f16', 'bf16'],
    r: ['s32', 's32', 's32', 'f32', 'f16x2', 'bf16x2'],
    d: ['s64', 's64', 's64', 'f64', 'f32x2'],
    f: ['f32'],
    g: ['f64'],
    p: ['pred'],
  };
  return edge(random, type(random.pick(choices[kind])));
}

/** Initializes a register with a literal. */
function number(random: Random, kind: Kind, name: string): string {
  if (kind === 'p') return `mov.u32 %t0, ${random.below(2)}; setp.ne.u32 ${name}, %t0, 0;`;
  const t = type(DECLARED[kind].stored);
  const bits = inputBits(random, kind);
  return `mov.${t.name} ${name}, ${literal(t, bits)};`;
}

/**
 * Initializes a register: from the lane's row, with a literal, or with a value that is uniform or that depends on the lane number.
 *
 * @param numbers fraction of literals, whose values the optimizer then knows
 */
function firstValue(random: Random, { kind, k }: Slot, at: number, numbers: number): string {
  const name = `%${kind}${k}`;
  const { stored } = DECLARED[kind];
  if (random.chance(numbers)) return number(random, kind, name);
  if (kind === 'p') {
    if (random.chance(0.2))
      return `setp.${random.pick(['lt', 'ge'])}.u32 ${name}, %thread, ${random.below(33)};`;
    return `ld.global.u32 %t0, [%in+${at}]; setp.ne.u32 ${name}, %t0, 0;`;
  }
  if (kind === 'r' && random.chance(0.1))
    return `mov.u32 ${name}, ${random.pick(['%thread', '%lane', '%lanemask_lt', '%ntid.x'])};`;
  // Uniform over all lanes.
  if (random.chance(0.2)) {
    const [space, variable] = random.pick([
      ['param', 'blob'],
      ['const', 'table'],
    ]);
    const bytes = type(stored).width / 8;
    return `ld.${space}.${stored} ${name}, [${variable}+${bytes * random.below(TABLE_BYTES / bytes)}];`;
  }
  return `ld.global.${stored} ${name}, [%in+${at}];`;
}

/** Stores a register to its place in the lane's output row. */
function lastStore({ kind, k }: Slot, at: number): string {
  const name = `%${kind}${k}`;
  if (kind === 'p') return `selp.u32 %t0, 1, 0, ${name}; st.global.u32 [%out+${at}], %t0;`;
  return `st.global.${DECLARED[kind].stored} [%out+${at}], ${name};`;
}

const compute: Maker = { weight: 22, make: (c) => lines(...observed(c, computation(c))) };
const MAKERS: readonly Maker[] = [compute, ...MEMORY, ...LANES, ...FLOW, ...ODDS];

/** Random pieces, about `size` of them. */
function body(c: Context, size: number): readonly Part[] {
  const out: Part[] = [];
  for (let k = 0; k < size; k++) {
    const p = weighted(c.random, MAKERS).make(c, body);
    if (p !== null) out.push(p);
  }
  return out;
}

/** Weights of the kinds of instructions: some kernels are all integers, others all floats, most are mixed. */
function tasteOf(random: Random): Record<string, number> {
  const plain = { integer: 3, logic: 3, compare: 2, float: 3, convert: 2, video: 0.3, wide: 0.5 };
  switch (random.below(4)) {
    case 0:
      return { ...plain, float: 0.5, convert: 0.5, integer: 5 };
    case 1:
      return { ...plain, float: 8, convert: 3 };
    default:
      return plain;
  }
}

const SMS = [90, 90, 90, 90, 80, 80, 75, 86, 100];

/** Adds the fixed frame of every kernel: initial contents of registers and memory, and the final stores. */
function around(random: Random, sm: number, functions: readonly string[], parts: readonly Part[]): Kernel {
  const threads = random.pick([32, 32, 32, 32, 64, 40]);
  const numbers = random.pick([0.15, 0.15, 0.15, 0.5, 1]);
  const text = parts.flatMap(linesOf).join('\n');
  const used = slots
    .map((s, k) => ({ s, k }))
    .filter(({ s }) => new RegExp(`%${s.kind}${s.k}\\b`).test(text));
  const first = used.map(({ s, k }) => lines(firstValue(random, s, 8 * k, numbers)));
  const memory = lines(
    'ld.global.v2.b64 {%u0, %u1}, [%in];',
    'st.local.v2.b64 [%x], {%u0, %u1};',
    'st.shared.v2.b64 [%y], {%u1, %u0};',
    'st.shared.v2.b64 [%sh], {%u1, %u1};',
  );
  const stores = used.map(({ s, k }) => lines(lastStore(s, 8 * k)));
  const input = new Uint8Array(MOST_THREADS * ROW);
  const view = new DataView(input.buffer);
  for (let t = 0; t < threads; t++)
    slots.forEach((s, k) => view.setBigUint64(t * ROW + 8 * k, inputBits(random, s.kind), true));
  const common = new Uint8Array(8 * COMMON.length);
  const blob = Uint8Array.from({ length: TABLE_BYTES }, () => random.below(256));
  const all = [{ ...lines(), inner: [...first, memory] }, ...parts];
  return { sm, threads, functions, parts: all, stores, input, common, blob };
}

/** The context at the start of a kernel: all lanes are converged, nothing is generated yet. */
const contextOf = (random: Random, sm: number): Context => ({
  random,
  sm,
  mask: '-1',
  together: true,
  depth: 0,
  names: { label: 0, mask: 0, counter: 0, log: 0, ended: false },
  functions: [],
  taste: tasteOf(random),
});

/** The random kernel of a seed. */
export function randomKernel(seed: number): Kernel {
  const random = new Random(seed);
  const sm = random.pick(SMS);
  random.reach = random.pick([3, 5, 10, 10]);
  const context = contextOf(random, sm);
  const parts = body(context, 6 + random.below(30));
  return around(random, sm, context.functions, parts);
}

/** Instructions of a sweep per kernel. */
const SWEEP = 12;

/** Every instruction in all its spellings, in random order with random operands, split over several kernels. */
export interface Sweep {
  readonly kernels: number;
  readonly kernel: (k: number) => Kernel;
}

/**
 * The sweep of a seed over the instructions of a target.
 *
 * @param size instructions per kernel
 */
export function sweepOf(seed: number, sm: number, size = SWEEP): Sweep {
  const random = new Random(seed);
  const all = [...everyInstruction(random, sm), ...everyConversion(random, sm)];
  for (let k = all.length - 1; k > 0; k--) {
    const other = random.below(k + 1);
    [all[k], all[other]] = [all[other], all[k]];
  }
  const kernel = (k: number): Kernel => {
    const own = new Random(seed * 10_000 + k);
    const context = contextOf(own, sm);
    const guarded = (text: string): string =>
      own.chance(0.25) ? `@${own.chance(0.4) ? '!' : ''}%p${own.below(COUNTS.p)} ${text};` : `${text};`;
    const parts = all
      .slice(k * size, (k + 1) * size)
      .map((text) => lines(...observed(context, guarded(text))));
    return around(own, sm, [], parts);
  };
  return { kernels: Math.ceil(all.length / size), kernel };
}

/** Bytes of the output buffer: a row and a log per lane. */
export const OUTPUT_BYTES = MOST_THREADS * (ROW + 8 * LOG_SLOTS);
export const SCRATCH_BYTES = MOST_THREADS * LANE_BYTES;
/** Bytes of dynamic shared memory. A lane's bytes in it have the same address as its bytes of local memory. */
export const DYNAMIC_SHARED = 4096;

/** The text of a kernel. */
export function textOf(k: Kernel): string {
  const declared = kinds
    .map((kind) => `.reg .${DECLARED[kind].declared} %${kind}<${COUNTS[kind]}>;`)
    .join(' ');
  const used = k.functions.filter((f) =>
    k.parts.flatMap(linesOf).some((l) => l.includes(`, ${/\) (\w+)\(/.exec(f)![1]}, (`)),
  );
  return `.version 9.0
.target sm_${k.sm}
.address_size 64
.const .align 16 .b8 table[${TABLE_BYTES}] = {${[...k.blob].map((b) => 255 - b).join(', ')}};
.extern .shared .align 16 .b8 dyn[];
${used.join('\n')}
${BY_REGISTER}
.visible .entry k(.param .u64 pin, .param .u64 pout, .param .u64 pscratch, .param .u64 pcommon, .param .align 8 .b8 blob[${TABLE_BYTES}]) {
.local .align 16 .b8 lv[${HIGH + MOST_THREADS * LANE_BYTES}];
.shared .align 16 .b8 sv[${MOST_THREADS * LANE_BYTES}];
.shared .align 8 .b64 mb;
${declared}
${OTHERS}
mov.u32 %thread, %tid.x;
mov.u32 %lane, %laneid;
ld.param.u64 %in, [pin];
ld.param.u64 %out, [pout];
ld.param.u64 %scratch, [pscratch];
ld.param.u64 %common, [pcommon];
mad.wide.u32 %in, %thread, ${ROW}, %in;
mad.wide.u32 %log, %thread, ${8 * LOG_SLOTS}, %out;
add.u64 %log, %log, ${MOST_THREADS * ROW};
mad.wide.u32 %out, %thread, ${ROW}, %out;
mad.wide.u32 %scratch, %thread, ${LANE_BYTES}, %scratch;
mov.u32 %sh, sv;
mad.lo.u32 %sh, %thread, ${LANE_BYTES}, %sh;
mov.u32 %x, lv;
mad.lo.u32 %x, %thread, ${LANE_BYTES}, %x;
add.u32 %x, %x, ${HIGH};
mad.lo.u32 %y, %thread, ${LANE_BYTES}, ${HIGH};
cvt.u64.u32 %gs, %y;
cvta.shared.u64 %gs, %gs;
cvt.u64.u32 %gl, %x;
cvta.local.u64 %gl, %gl;
mov.u64 %gc, table;
${k.parts.flatMap(linesOf).join('\n')}
${k.stores.flatMap(linesOf).join('\n')}
ret;
}
`;
}
