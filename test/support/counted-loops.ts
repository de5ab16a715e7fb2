import { CMP } from './random-loops.ts';

/**
 * Text of a random kernel, not in SSA, with counted loops: up and down, signed and unsigned, 32 and 64 bits, bounded by constants or
 * parameters, near the ends of their ranges, with the test before or after the step, nested, of several blocks, and occasionally endless.
 * All lanes have the same trip counts unless `lanes` is set.
 */
export function countedLoops(below: (n: number) => number, lanes = false): string {
  const lines = ['BB0:', 'S2R.TID.X R3', 'LOP3 R3, R3, 7, RZ, 0xc0', 'IMAD_WIDE.U32 RD6, R3, 4096, RD5'];
  const pick = <T>(list: readonly T[]): T => list[below(list.length)];
  let blocks = 1;
  let next = 20;
  let place = 0;
  const store = (value: string): void =>
    void lines.push(`STG${value.startsWith('RD') ? '.B64' : ''} [RD6+${8 * place++}], ${value}`);
  const hex = (v: bigint, width: number): string => `0x${BigInt.asUintN(width, v).toString(16)}`;
  const loop = (depth: number): void => {
    const width = below(4) === 0 ? 64 : 32;
    const [file, size] = width === 64 ? ['RD', '.64'] : ['R', ''];
    const signed = below(2) === 0;
    const edges = [0n, 1n << BigInt(width - 1), (1n << BigInt(width - 1)) - 9n, -4n, 40n];
    const near = (): bigint => pick(edges) + BigInt(below(41) - 20);
    const start = near();
    const step = BigInt(pick([1, 1, 1, -1, -1, -1, 2, 3, -2, -5, 7]));
    const rounds = BigInt(below(14));
    const bound = below(8) === 0 ? near() : start + step * rounds + BigInt(below(3) - 1);
    const counter = `${file}${next++}`;
    const held = `${file}${next++}`;
    const p = `P${next++}`;
    const byParameter = below(3) === 0;
    lines.push(`MOV${size} ${counter}, ${hex(start, width)}`);
    if (byParameter && (lanes || below(3) === 0)) {
      // The trip count depends on a parameter or the lane.
      const n = lanes && below(2) === 0 ? 'R3' : 'R1';
      lines.push(
        width === 64 ? `IMAD_WIDE.U32 ${held}, ${n}, 1, ${counter}` : `IADD3 ${held}, ${n}, ${counter}`,
      );
    } else lines.push(`MOV${size} ${held}, ${hex(bound, width)}`);
    const head = blocks++;
    lines.push(`BB${head}:`);
    const stepped = (): void => void lines.push(`IADD3${size} ${counter}, ${counter}, ${step}`);
    const early = below(4);
    if (early === 0) stepped();
    store(width === 64 ? counter : pick([counter, 'R1']));
    if (depth > 0 && below(3) === 0) loop(depth - 1);
    if (below(3) === 0) {
      const join = blocks++;
      lines.push(
        `LOP3 R2, ${width === 64 ? 'R1' : counter}, 1, RZ, 0xc0`,
        `ISETP.EQ P9, R2, 1`,
        `@P9 BRA BB${join}`,
      );
      lines.push(`BB${blocks++}:`);
      store('R2');
      lines.push(`BB${join}:`);
    }
    if (below(8) === 0) {
      lines.push(`ISETP.EQ P10, R1, ${below(70)}`, `@P10 EXIT`, `BB${blocks++}:`);
    }
    if (early === 1 || early === 2) stepped();
    const type = `${signed ? 'S' : 'U'}${width}`;
    const towards = step > 0n ? ['LT', 'LE', 'NE'] : ['GT', 'GE', 'NE'];
    const goesOn = below(10) === 0 ? pick(CMP) : pick(towards);
    const other: Record<string, string> = { EQ: 'NE', NE: 'EQ', LT: 'GE', GE: 'LT', GT: 'LE', LE: 'GT' };
    const mirror: Record<string, string> = { EQ: 'EQ', NE: 'NE', LT: 'GT', GT: 'LT', LE: 'GE', GE: 'LE' };
    const against = byParameter || below(2) === 0 ? held : hex(bound, width);
    const stay = below(2) === 0;
    const cmp = stay ? goesOn : other[goesOn];
    lines.push(
      below(3) === 0 && against === held
        ? `ISETP.${mirror[cmp]}.${type} ${p}, ${against}, ${counter}`
        : `ISETP.${cmp}.${type} ${p}, ${counter}, ${against}`,
    );
    if (early === 3) stepped();
    if (below(4) > 0) lines.push(`@${stay ? '' : '!'}${p} BRA BB${head}`);
    else {
      const exit = blocks++;
      lines.push(`@${stay ? '!' : ''}${p} BRA BB${exit}`, `BB${blocks++}:`, `BRA BB${head}`, `BB${exit}:`);
      store(counter);
      return;
    }
    lines.push(`BB${blocks++}:`);
    store(counter);
  };
  for (let n = 1 + below(3); n > 0; n--) loop(2);
  lines.push('EXIT');
  return `.entry counted
  .param u32 n size 4 align 4 at 0 reg R1
  .param u64 p size 8 align 8 at 8 reg RD5
{
${lines.join('\n')}
}`;
}
