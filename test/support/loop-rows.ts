/**
 * Text of a random kernel in SSA with a few consecutive loops, mostly of equal trip counts, which load and store at addresses that move up,
 * down or not at all, near each other and far apart; with one block or several, and some code between the loops. Each lane has its own
 * memory.
 */
export function loopRows(below: (n: number) => number): string {
  const pick = <T>(list: readonly T[]): T => list[below(list.length)];
  let regs = 100;
  let blocks = 1;
  const fresh = (file: string): string => `${file}${regs++}`;
  const lines = [
    'BB0:',
    'S2R.TID.X R3',
    'LOP3 R4, R3, 31, RZ, 0xc0',
    'IMAD_WIDE.U32 RD6, R4, 4096, RD5',
    'IADD3.64 RD7, RD6, 2048, RZ',
    'LOP3 R8, R1, 7, RZ, 0xc0',
    'IADD3 R9, R8, 2, RZ',
    'MOV R10, &s',
    'IMAD R11, R4, 1024, R10',
  ];
  let here = 'BB0';
  const open = (): string => {
    here = `BB${blocks++}`;
    lines.push(`${here}:`);
    return here;
  };
  /** Values available everywhere below, and those that a loop left. */
  const values = ['R8', 'R9'];
  const left: string[] = [];
  const sums: string[] = [];
  const rounds = pick(['3', '6', 'R9', 'R9', 'R8']);
  const strides = [4, 4, -4, -4, 8, 0];
  const common = pick(strides);
  const loop = (): void => {
    const before = here;
    const head = `BB${blocks++}`;
    const [i, next, p, q] = [fresh('R'), fresh('R'), fresh('P'), fresh('P')];
    const [g, gNext, s, sNext] = [fresh('RD'), fresh('RD'), fresh('R'), fresh('R')];
    const stride = below(4) === 0 ? pick(strides) : common;
    const bound = below(6) === 0 ? pick(['4', 'R8']) : rounds;
    const from = below(8) === 0 ? 'R8' : 'RZ';
    const first = fresh('RD');
    // What follows the last loop and thus precedes this one.
    const start = pick(['RD6', 'RD6', 'RD7', first]);
    lines.push(`IADD3.64 ${first}, RD6, ${4 * below(4)}, RZ`, `${head}:`);
    const at = lines.length;
    const inside = [...values, i];
    /** All loaded values, so that they affect the result; without loads in only one of two arms. */
    const sum = fresh('R');
    let total = sum;
    const some = (always: boolean): void => {
      for (let n = below(4); n > 0; n--) {
        const offset = pick([0, 0, 4, -4, 8, 16, -16, 64]) + 512;
        const guard = below(6) === 0 ? `@${q} ` : '';
        const place = pick([
          `G [${g}+${offset}]`,
          `G [${g}+${offset}]`,
          `S [${s}+${offset}]`,
          `G [RD6+${offset}]`,
          `G [RD7+1024]`,
        ]);
        const [space, address] = [place[0], place.slice(2)];
        if (below(2) === 0) {
          // Each store writes distinct values.
          const r = fresh('R');
          lines.push(
            `IADD3 ${r}, ${pick(inside)}, ${1000 * regs}, RZ`,
            `${guard}ST${space} ${address}, ${r}`,
          );
        } else {
          const r = fresh('R');
          lines.push(`${guard}LD${space} ${r}${guard === '' ? '' : ' else R8'}, ${address}`);
          inside.push(r);
          if (always) lines.push(`IMAD ${fresh('R')}, ${total}, 3, ${r}`);
          if (always) total = `R${regs - 1}`;
        }
        if (below(3) === 0) {
          const r = fresh('R');
          lines.push(`IADD3 ${r}, ${pick(inside)}, ${pick(inside)}, ${below(9)}`);
          inside.push(r);
        }
      }
    };
    lines.push(`LOP3 ${fresh('R')}, ${i}, 1, RZ, 0xc0`, `ISETP.EQ ${q}, R${regs - 1}, RZ`);
    some(true);
    here = head;
    if (below(4) === 0) {
      const [join, value] = [`BB${blocks + 1}`, fresh('R')];
      const a = pick(inside);
      lines.push(`@${q} BRA ${join}`);
      open();
      const outer = [...inside];
      some(false);
      const b = pick(inside);
      inside.splice(0, inside.length, ...outer, value);
      const way = here;
      open();
      lines.push(`MOVPHI ${value}, {${head}: ${a}, ${way}: ${b}}`);
      some(true);
    }
    if (below(16) === 0) lines.push(pick(['BAR.SYNC RZ', 'MEMBAR', `STG.VOLATILE [${g}+512], ${i}`]));
    lines.push(
      `IADD3.64 ${gNext}, ${g}, ${stride}, RZ`,
      `IADD3 ${sNext}, ${s}, ${stride}, RZ`,
      `IADD3 ${next}, ${i}, 1, RZ`,
      `ISETP.LT.U32 ${p}, ${next}, ${bound}`,
      `@${p} BRA ${head}`,
    );
    lines.splice(
      at,
      0,
      `MOVPHI ${i}, {${before}: ${from}, ${here}: ${next}}`,
      `MOVPHI.64 ${g}, {${before}: ${start}, ${here}: ${gNext}}`,
      `MOVPHI ${s}, {${before}: R11, ${here}: ${sNext}}`,
      `MOVPHI ${sum}, {${before}: RZ, ${here}: ${total}}`,
    );
    left.push(...inside.slice(values.length));
    sums.push(total);
    const latch = here;
    open();
    if (below(3) === 0) {
      const r = fresh('R');
      lines.push(`MOVPHI ${r}, {${latch}: ${pick(inside)}}`);
      left.push(r);
    }
    for (let n = below(3); n > 0; n--) {
      const r = fresh('R');
      switch (below(6)) {
        case 0:
          lines.push(`STG [RD6+${4 * below(160)}], ${pick(left)}`);
          break;
        case 1:
          lines.push(`LDG ${r}, [RD6+${4 * below(160)}]`);
          left.push(r);
          break;
        case 2:
          lines.push(`IADD3 ${r}, ${pick(left)}, 3, RZ`);
          left.push(r);
          break;
        default:
          lines.push(`IADD3 ${r}, ${pick(values)}, ${below(5)}, RZ`);
          values.push(r);
      }
    }
    // The next loop sometimes uses values of this one.
    if (below(4) === 0) values.push(pick(left));
  };
  for (let n = 2 + below(3); n > 0; n--) loop();
  for (const [k, r] of [...sums, pick(left), pick(left)].entries())
    lines.push(`STG [RD6+${3072 + 4 * k}], ${r}`);
  lines.push('EXIT');
  return `.entry rows
  .param u32 n size 4 align 4 at 0 reg R1
  .param u64 p size 8 align 8 at 8 reg RD5
{
${lines.join('\n')}
}`;
}
