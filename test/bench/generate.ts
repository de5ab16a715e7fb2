/**
 * Kernels of any size as PTX text, for measuring how cost grows with the program. Pure and deterministic: the same
 * size gives the same text. Every kernel ends, writes what it computed, and is accepted by ptxas for sm_75 and later.
 */

const REGISTERS = 24;

/** A small generator (mulberry32), so that the kernels are varied and yet the same everywhere. */
function generator(seed: number): (bound: number) => number {
  let state = seed >>> 0;
  return (bound) => {
    state = (state + 0x6d2b79f5) >>> 0;
    let t = Math.imul(state ^ (state >>> 15), state | 1);
    t ^= t + Math.imul(t ^ (t >>> 7), t | 61);
    return ((t ^ (t >>> 14)) >>> 0) % bound;
  };
}

type Pick = (bound: number) => number;

const head = (name: string): string[] => [
  '.version 8.0',
  '.target sm_75',
  '.address_size 64',
  '',
  `.visible .entry ${name}(`,
  `\t.param .u64 ${name}_param_0,`,
  `\t.param .u32 ${name}_param_1`,
  ')',
  '{',
  '\t.reg .pred \t%p<4>;',
  `\t.reg .b32 \t%r<${REGISTERS + 8}>;`,
  '\t.reg .f32 \t%f<8>;',
  '\t.reg .b64 \t%rd<8>;',
  '',
  `\tld.param.u64 \t%rd1, [${name}_param_0];`,
  `\tld.param.u32 \t%r${REGISTERS}, [${name}_param_1];`,
  '\tcvta.to.global.u64 \t%rd2, %rd1;',
  `\tmov.u32 \t%r${REGISTERS + 1}, %tid.x;`,
  `\tmul.wide.u32 \t%rd3, %r${REGISTERS + 1}, 4;`,
  '\tadd.s64 \t%rd4, %rd2, %rd3;',
  ...Array.from({ length: 8 }, (_, i) => `\tmov.f32 \t%f${i}, 0f3F${i}00000;`),
  ...Array.from(
    { length: REGISTERS },
    (_, i) => `\tmad.lo.s32 \t%r${i}, %r${REGISTERS + 1}, ${2 * i + 3}, %r${REGISTERS};`,
  ),
];

/** Folds every register into one stored word, so that nothing computed is dead. */
const tail = (): string[] => [
  ...Array.from({ length: 8 }, (_, i) => [
    `\tmov.b32 \t%r${REGISTERS + 2}, %f${i};`,
    `\txor.b32 \t%r0, %r0, %r${REGISTERS + 2};`,
  ]).flat(),
  ...Array.from({ length: REGISTERS - 1 }, (_, i) => `\txor.b32 \t%r0, %r0, %r${i + 1};`),
  '\tst.global.u32 \t[%rd4], %r0;',
  '\tret;',
  '}',
  '',
];

/** One instruction over the register window. */
function operation(pick: Pick): string {
  const d = pick(REGISTERS);
  const a = pick(REGISTERS);
  const b = pick(REGISTERS);
  const c = pick(REGISTERS);
  switch (pick(12)) {
    case 0:
      return `\tadd.s32 \t%r${d}, %r${a}, %r${b};`;
    case 1:
      return `\tsub.s32 \t%r${d}, %r${a}, %r${b};`;
    case 2:
      return `\tmul.lo.s32 \t%r${d}, %r${a}, ${pick(1000) + 3};`;
    case 3:
      return `\tmad.lo.s32 \t%r${d}, %r${a}, %r${b}, %r${c};`;
    case 4:
      return `\txor.b32 \t%r${d}, %r${a}, %r${b};`;
    case 5:
      return `\tand.b32 \t%r${d}, %r${a}, ${pick(65536)};`;
    case 6:
      return `\tor.b32 \t%r${d}, %r${a}, %r${b};`;
    case 7:
      return `\tshl.b32 \t%r${d}, %r${a}, ${pick(31) + 1};`;
    case 8:
      return `\tshr.u32 \t%r${d}, %r${a}, ${pick(31) + 1};`;
    case 9:
      return `\tfma.rn.f32 \t%f${d & 7}, %f${a & 7}, %f${b & 7}, 0f3E800000;`;
    case 10:
      return `\tmax.s32 \t%r${d}, %r${a}, %r${b};`;
    default:
      return `\tadd.f32 \t%f${d & 7}, %f${a & 7}, 0f3F000000;`;
  }
}

/**
 * A kernel of one basic block.
 *
 * @param n about how many instructions (the fixed frame of about 100 is added)
 * @returns PTX text with the entry `straight(u64 out, u32 seed)`; thread t writes word t of `out`
 */
export function straightKernel(n: number): string {
  const pick = generator(n);
  const lines = head('straight');
  for (let i = 0; i < n; i++) lines.push(operation(pick));
  return [...lines, ...tail()].join('\n');
}

/**
 * A kernel of many small blocks: diamonds, one-armed ifs, bounded loops and forward exits, in turn at random.
 *
 * @param n about how many instructions
 * @returns PTX text with the entry `branchy(u64 out, u32 seed)`; thread t writes word t of `out`
 */
export function branchyKernel(n: number): string {
  const pick = generator(n + 1);
  const lines = head('branchy');
  let label = 0;
  let left = n;
  const some = (count: number): void => {
    for (let i = 0; i < count; i++) lines.push(operation(pick));
    left -= count;
  };
  const test = (predicate: number): void => {
    lines.push(
      `\tsetp.${['lt.s32', 'ne.s32', 'gt.u32', 'ge.s32'][pick(4)]} \t%p${predicate}, %r${pick(REGISTERS)}, %r${pick(REGISTERS)};`,
    );
    left--;
  };
  while (left > 0) {
    const id = label++;
    some(1 + pick(3));
    switch (pick(4)) {
      case 0: // if / else
        test(0);
        lines.push(`\t@%p0 bra \t$T${id};`);
        some(1 + pick(4));
        lines.push(`\tbra.uni \t$J${id};`, `$T${id}:`);
        some(1 + pick(4));
        lines.push(`$J${id}:`);
        left -= 2;
        break;
      case 1: // if
        test(1);
        lines.push(`\t@!%p1 bra \t$J${id};`);
        some(1 + pick(5));
        lines.push(`$J${id}:`);
        left--;
        break;
      case 2: // a loop of one to three turns, with an early exit
        lines.push(`\tmov.u32 \t%r${REGISTERS + 3}, ${1 + pick(3)};`, `$L${id}:`);
        some(1 + pick(3));
        test(2);
        lines.push(`\t@%p2 bra \t$J${id};`);
        some(1 + pick(3));
        lines.push(`\tadd.s32 \t%r${REGISTERS + 3}, %r${REGISTERS + 3}, -1;`);
        lines.push(`\tsetp.ne.s32 \t%p3, %r${REGISTERS + 3}, 0;`, `\t@%p3 bra \t$L${id};`, `$J${id}:`);
        left -= 5;
        break;
      default: // a ladder of equality tests, as a compiler makes of a switch
        for (let arm = 0; arm < 3; arm++) {
          lines.push(
            `\tsetp.eq.s32 \t%p0, %r${id % REGISTERS}, ${pick(16)};`,
            `\t@%p0 bra \t$A${id}_${arm};`,
          );
        }
        some(1);
        lines.push(`\tbra.uni \t$J${id};`);
        for (let arm = 0; arm < 3; arm++) {
          lines.push(`$A${id}_${arm}:`);
          some(1 + pick(2));
          lines.push(`\tbra.uni \t$J${id};`);
        }
        lines.push(`$J${id}:`);
        left -= 10;
    }
  }
  return [...lines, ...tail()].join('\n');
}

/**
 * A kernel of loop nests, three deep, one after another: what loop analyses and loop passes see.
 *
 * @param n about how many instructions
 * @returns PTX text with the entry `loopy(u64 out, u32 seed)`; thread t writes word t of `out`
 */
export function loopyKernel(n: number): string {
  const pick = generator(n + 2);
  const lines = head('loopy');
  let left = n;
  for (let nest = 0; left > 0; nest++) {
    for (let depth = 0; depth < 3; depth++) {
      lines.push(
        `\tmov.u32 \t%r${REGISTERS + 3 + depth}, 0;`,
        `$N${nest}_${depth}:`,
        operation(pick),
        operation(pick),
      );
    }
    for (let depth = 2; depth >= 0; depth--) {
      const counter = REGISTERS + 3 + depth;
      lines.push(operation(pick), `\tadd.s32 \t%r${counter}, %r${counter}, 1;`);
      lines.push(
        `\tsetp.lt.u32 \t%p${depth}, %r${counter}, ${2 + pick(2)};`,
        `\t@%p${depth} bra \t$N${nest}_${depth};`,
      );
    }
    left -= 21;
  }
  return [...lines, ...tail()].join('\n');
}
