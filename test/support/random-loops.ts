/** A deterministic generator (xorshift). */
export function generator(seed: number): (below: number) => number {
  let s = (seed * 2654435761) | 1;
  return (below) => {
    s ^= s << 13;
    s ^= s >>> 17;
    s ^= s << 5;
    return (s >>> 0) % below;
  };
}

/** Comparisons of integers. */
export const CMP = ['EQ', 'NE', 'LT', 'LE', 'GT', 'GE'] as const;
export type Cmp = (typeof CMP)[number];

/**
 * Text of a random function in SSA: nested loops with tests at the top, in the middle and at the bottom, and derived induction variables.
 * Its inputs are R1 to R3, RD4 and RD5.
 */
export function randomLoops(below: (n: number) => number): string {
  const lines: string[] = [];
  let next = 20;
  let blocks = 1;
  let current = 0;
  const fresh = (file: string): string => `${file}${next++}`;
  const pick = <T>(list: readonly T[]): T => list[below(list.length)];
  const open = (b: number): void => {
    lines.push(`BB${b}:`);
    current = b;
  };
  interface Env {
    r: string[];
    rd: string[];
    p: string[];
  }
  const small = (): string => String([1, 2, 3, 4, 5, 8, 16, -1, -2, -3, 7][below(11)]);
  const word = (env: Env): string =>
    below(3) === 0
      ? pick(['0x7fffffff', '0x80000000', '0x7ffffff0', '0xfffffffe', '5', '9', '12', '-4', 'RZ'])
      : pick(env.r);
  const compute = (env: Env): void => {
    const guarded = below(8) === 0 && env.p.length > 0 ? pick(env.p) : null;
    if (below(3) === 0) {
      const d = fresh('RD');
      lines.push(
        pick([
          () => `I2I.S64.S32 ${d}, ${pick(env.r)}`,
          () => `I2I.U64.U32 ${d}, ${pick(env.r)}`,
          () => `IMAD_WIDE ${d}, ${pick(env.r)}, ${small()}, ${pick(env.rd)}`,
          () => `IMAD_WIDE.U32 ${d}, ${pick(env.r)}, 12, ${pick(env.rd)}`,
          () => `IADD3.64 ${d}, ${pick(env.rd)}, -${pick(env.rd)}, ${small()}`,
          () => `LEA.64 ${d}, ${pick(env.rd)}, ${pick(env.rd)}, 3`,
          () => `PAIR ${d}, ${pick(env.r)}, ${pick(env.r)}`,
        ])(),
      );
      env.rd.push(d);
      return;
    }
    const d = fresh('R');
    const prefix = guarded === null ? '' : `@${guarded} `;
    const target = guarded === null ? d : `${d} else ${pick(env.r)}`;
    lines.push(
      prefix +
        pick([
          () => `IADD3 ${target}, ${pick(env.r)}, ${word(env)}, ${small()}`,
          () => `IADD3 ${target}, ${pick(env.r)}, -${pick(env.r)}`,
          () => `IMAD ${target}, ${pick(env.r)}, ${small()}, ${pick(env.r)}`,
          () => `SHL ${target}, ${pick(env.r)}, ${below(4)}`,
          () => `LEA ${target}, ${pick(env.r)}, ${pick(env.r)}, 2`,
          () => `I2I.U32.U64 ${target}, ${pick(env.rd)}`,
          () => `I2I.S32.S16 ${target}, ${pick(env.r)}`,
          () => `SHR ${target}, ${pick(env.r)}, 1`,
          () => `MOV ${target}, ${pick(env.r)}`,
        ])(),
    );
    env.r.push(d);
  };
  const test = (env: Env): string => {
    const p = fresh('P');
    const wide = below(4) === 0;
    const pool = wide ? env.rd : env.r;
    const type = `${pick(['S', 'U'])}${wide ? 64 : 32}`;
    const recent = pool[Math.max(0, pool.length - 1 - below(4))];
    const other = below(2) === 0 ? pick(pool) : pick(['5', '9', '20', '33', '-7', '100', '0x7fffffff']);
    const join = env.p.length > 0 && below(4) === 0 ? `, ${pick(['', '!'])}${pick(env.p)}` : '';
    const bool = join === '' ? '' : pick(['.AND', '.OR']);
    lines.push(`ISETP.${pick(CMP)}.${type}${bool} ${p}, ${recent}, ${other}${join}`);
    env.p.push(p);
    return p;
  };
  const exits: number[] = [];
  const loop = (outer: Env, depth: number): void => {
    const before = current;
    const header = blocks++;
    const exit = blocks++;
    exits.push(exit);
    open(header);
    const env: Env = { r: [...outer.r], rd: [...outer.rd], p: [...outer.p] };
    const phis: { d: string; file: string; line: number; start: string }[] = [];
    for (let n = 1 + below(3); n > 0; n--) {
      const file = below(4) === 0 ? 'RD' : 'R';
      const d = fresh(file);
      const start =
        below(2) === 0
          ? pick(['RZ', '1', '-5', '100', '0x7ffffff8'])
          : pick(file === 'R' ? outer.r : outer.rd);
      phis.push({ d, file, line: lines.length, start });
      lines.push('');
    }
    for (const { d, file } of phis) (file === 'R' ? env.r : env.rd).push(d);
    const kept: Env = { r: [...env.r], rd: [...env.rd], p: [...outer.p] };
    for (let n = below(3); n > 0; n--) compute(env);
    if (below(2) === 0) {
      lines.push(`@${pick(['', '!'])}${test(env)} BRA BB${below(3) === 0 ? pick(exits) : exit}`);
      open(blocks++);
    }
    for (let n = below(3); n > 0; n--) compute(env);
    if (depth < 2 && below(3) === 0) loop(env, depth + 1);
    if (below(4) === 0) {
      // A path around part of the body, possibly with an exit.
      const join = blocks++;
      lines.push(`@${test(env)} BRA BB${join}`);
      open(blocks++);
      const inner: Env = { r: [...env.r], rd: [...env.rd], p: [...env.p] };
      compute(inner);
      if (below(2) === 0) {
        lines.push(`@${test(inner)} BRA BB${pick(exits)}`);
        open(blocks++);
      }
      open(join);
    }
    const nexts = phis.map(({ d, file }) => {
      const size = file === 'RD' ? '.64' : '';
      const n = fresh(file);
      const pool = file === 'R' ? env.r : env.rd;
      lines.push(
        pick([
          () => `IADD3${size} ${n}, ${d}, ${small()}`,
          () => `IADD3${size} ${n}, ${d}, ${small()}`,
          () => `IADD3${size} ${n}, ${d}, ${small()}, ${pick(file === 'R' ? outer.r : outer.rd)}`,
          () => `LEA${size} ${n}, ${pick(file === 'R' ? outer.r : outer.rd)}, ${d}, 1`,
          () => `IADD3${size} ${n}, ${d}, ${pick(pool)}`,
          () => `IMAD${file === 'RD' ? '.LO.U64' : ''} ${n}, ${d}, 3, ${pick(pool)}`,
        ])(),
      );
      pool.push(n);
      return n;
    });
    if (below(3) > 0) {
      lines.push(`@${pick(['', '!'])}${test(env)} BRA BB${header}`);
      const latch = current;
      fill(latch);
      open(blocks++);
      lines.push(`BRA BB${exit}`);
    } else {
      const latch = current;
      lines.push(`@${pick(['', '!'])}${test(env)} BRA BB${exit}`);
      open(blocks++);
      lines.push(`BRA BB${header}`);
      fill(current === latch ? latch : current);
    }
    exits.pop();
    open(exit);
    outer.r.push(...kept.r.slice(outer.r.length));
    outer.rd.push(...kept.rd.slice(outer.rd.length));

    function fill(latch: number): void {
      phis.forEach(({ d, file, line, start }, i) => {
        lines[line] =
          `MOVPHI${file === 'RD' ? '.64' : ''} ${d}, {BB${before}: ${start}, BB${latch}: ${nexts[i]}}`;
      });
    }
  };
  open(0);
  const env: Env = { r: ['R1', 'R2', 'R3'], rd: ['RD4', 'RD5'], p: [] };
  for (let n = 1 + below(2); n > 0; n--) loop(env, 0);
  lines.push('EXIT');
  const params = ['R1', 'R2', 'R3', 'RD4', 'RD5'].map(
    (r, i) =>
      `  .param ${i < 3 ? 'u32' : 'u64'} p${i} size ${i < 3 ? 4 : 8} align ${i < 3 ? 4 : 8} at ${8 * i} reg ${r}`,
  );
  return `.entry random\n${params.join('\n')}\n{\n${lines.join('\n')}\n}`;
}
