/**
 * Generates kernels of any size as PTX text, for measuring how costs grow with the program. The same size always gives the same text. Every
 * kernel terminates, stores what it computes, and is accepted by ptxas for sm_75 and later.
 */
import { mulberry32 } from '../ir/random.ts';

const REGISTERS = 24;

/** A seeded generator of pseudo-random numbers below a bound. */
function generator(seed: number): (bound: number) => number {
  const next = mulberry32(seed);
  return (bound) => next() % bound;
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

/** Combines all registers into one stored word, so that no computation is dead. */
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

/** A random instruction over the registers of the kernel. */
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
 * @param n approximate number of instructions; a prologue and epilogue of about 100 are added
 * @returns PTX text with the entry `straight(u64 out, u32 seed)`; thread t writes word t of `out`
 */
export function straightKernel(n: number): string {
  const pick = generator(n);
  const lines = head('straight');
  for (let i = 0; i < n; i++) lines.push(operation(pick));
  return [...lines, ...tail()].join('\n');
}

/**
 * A kernel of many small blocks: a random sequence of diamonds, one-armed ifs, bounded loops with a side exit, and ladders of equality
 * tests.
 *
 * @param n approximate number of instructions
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
      case 2: // a loop with a trip count of one to three and an early exit
        lines.push(`\tmov.u32 \t%r${REGISTERS + 3}, ${1 + pick(3)};`, `$L${id}:`);
        some(1 + pick(3));
        test(2);
        lines.push(`\t@%p2 bra \t$J${id};`);
        some(1 + pick(3));
        lines.push(`\tadd.s32 \t%r${REGISTERS + 3}, %r${REGISTERS + 3}, -1;`);
        lines.push(`\tsetp.ne.s32 \t%p3, %r${REGISTERS + 3}, 0;`, `\t@%p3 bra \t$L${id};`, `$J${id}:`);
        left -= 5;
        break;
      default: // a ladder of equality tests, as compilers generate for a switch
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
 * A kernel of loop nests of depth three, one after the other, for loop analyses and loop passes.
 *
 * @param n approximate number of instructions
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

/**
 * A kernel of one loop nest of the given depth. The innermost three loops have a trip count of two, the others of one.
 *
 * @returns PTX text with the entry `nest(u64 out, u32 seed)`; thread t writes word t of `out`
 */
export function nestKernel(depth: number): string {
  const pick = generator(depth + 3);
  const lines = head('nest');
  const counters = `\t.reg .b32 \t%c<${depth}>;`;
  lines.splice(lines.indexOf('{') + 1, 0, counters);
  for (let d = 0; d < depth; d++) lines.push(`\tmov.u32 \t%c${d}, 0;`, `$N${d}:`, operation(pick));
  for (let d = depth - 1; d >= 0; d--) {
    lines.push(operation(pick), `\tadd.s32 \t%c${d}, %c${d}, 1;`);
    lines.push(`\tsetp.lt.u32 \t%p0, %c${d}, ${d >= depth - 3 ? 2 : 1};`, `\t@%p0 bra \t$N${d};`);
  }
  return [...lines, ...tail()].join('\n');
}

/**
 * A kernel of a switch: a jump table if `dense`, otherwise an equality test for each case.
 *
 * @returns PTX text with the entry `cases(u64 out, u32 seed)`; thread t writes word t of `out`
 */
export function switchKernel(cases: number, dense: boolean): string {
  const pick = generator(cases + 4);
  const lines = head('cases');
  const labels = Array.from({ length: cases }, (_, k) => `$C${k}`);
  if (dense) {
    lines.push(`\tsetp.ge.u32 \t%p0, %r0, ${cases};`, '\t@%p0 bra \t$END;');
    lines.push(`$TABLE: .branchtargets ${labels.join(', ')};`, '\tbrx.idx \t%r0, $TABLE;');
  } else {
    for (const [k, label] of labels.entries())
      lines.push(`\tsetp.eq.s32 \t%p0, %r0, ${k};`, `\t@%p0 bra \t${label};`);
    lines.push('\tbra.uni \t$END;');
  }
  for (const label of labels) lines.push(`${label}:`, operation(pick), operation(pick), '\tbra.uni \t$END;');
  return [...lines, '$END:', ...tail()].join('\n');
}

/**
 * A kernel with `n` live registers in the middle: it loads `n` words, and then combines them from the last to the first.
 *
 * @returns PTX text with the entry `live(u64 out, u32 seed)`; thread t reads `n` words of `out` from word t on, and writes word t
 */
export function liveKernel(n: number): string {
  const lines = head('live');
  lines.splice(lines.indexOf('{') + 1, 0, `\t.reg .b32 \t%v<${n}>;`);
  for (let k = 0; k < n; k++) lines.push(`\tld.global.u32 \t%v${k}, [%rd4+${4 * k}];`);
  for (let k = n - 1; k >= 0; k--) lines.push(`\tmul.lo.s32 \t%r1, %r1, 5;`, `\txor.b32 \t%r1, %r1, %v${k};`);
  return [...lines, ...tail()].join('\n');
}

/** PTX text of a module of `n` small kernels, `k0` to `k<n-1>`. */
export function manyKernels(n: number): string {
  const header = '.version 8.0\n.target sm_75\n.address_size 64\n';
  const one = (k: number) => `
.visible .entry k${k}(.param .u64 p, .param .u32 n)
{
	.reg .pred %p<2>; .reg .b32 %r<4>; .reg .b64 %rd<4>;
	ld.param.u64 %rd1, [p]; ld.param.u32 %r1, [n];
	mov.u32 %r2, %tid.x; setp.ge.u32 %p1, %r2, %r1;
	@%p1 bra $E;
	mul.wide.u32 %rd2, %r2, 4; add.s64 %rd3, %rd1, %rd2;
	ld.global.u32 %r3, [%rd3]; mad.lo.s32 %r3, %r3, ${k + 2}, %r2; st.global.u32 [%rd3], %r3;
$E:
	ret;
}
`;
  return header + Array.from({ length: n }, (_, k) => one(k)).join('');
}

/** PTX text of a module of a kernel `chain(u64 out)` and `n` functions; the kernel calls the first, and each function calls the next. */
export function callChain(n: number): string {
  const one = (k: number) => {
    const last = k === 0;
    const call = last
      ? '\tmul.lo.s32 %r2, %r1, 7;'
      : `\t{ .param .b32 a; .param .b32 b; st.param.b32 [a], %r1; call.uni (b), f${k - 1}, (a); ld.param.b32 %r2, [b]; }`;
    return `
.func (.param .b32 out) f${k}(.param .b32 in)
{
	.reg .b32 %r<4>;
	ld.param.b32 %r1, [in]; add.s32 %r1, %r1, ${k};
${call}
	xor.b32 %r3, %r2, ${k + 1}; st.param.b32 [out], %r3;
	ret;
}
`;
  };
  const kernel = `
.visible .entry chain(.param .u64 p)
{
	.reg .b32 %r<4>; .reg .b64 %rd<4>;
	ld.param.u64 %rd1, [p]; mov.u32 %r1, %tid.x;
	{ .param .b32 a; .param .b32 b; st.param.b32 [a], %r1; call.uni (b), f${n - 1}, (a); ld.param.b32 %r2, [b]; }
	mul.wide.u32 %rd2, %r1, 4; add.s64 %rd3, %rd1, %rd2; st.global.u32 [%rd3], %r2;
	ret;
}
`;
  return `.version 8.0\n.target sm_75\n.address_size 64\n${Array.from({ length: n }, (_, k) => one(k)).join('')}${kernel}`;
}
