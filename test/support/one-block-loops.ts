/**
 * Text of a random kernel in SSA with a single-block loop: loads and stores at moving or fixed addresses, loop-carried values, guards, and
 * uses after the loop. The trip count is constant or a parameter.
 */
export function oneBlockLoop(below: (n: number) => number): string {
  const pick = <T>(list: readonly T[]): T => list[below(list.length)];
  const lines: string[] = [];
  const phis: string[] = [];
  let next = 30;
  const fresh = (file: string): string => `${file}${next++}`;
  const words = ['R1', 'R2'];
  const wides = ['RD3', 'RD4', 'RD5'];
  const predicates: string[] = [];

  const counter = fresh('R');
  const counted = fresh('R');
  words.push(counter);
  // Loop-carried values; the next iteration's are chosen at the end.
  const carried = Array.from({ length: below(4) }, () => {
    const file = below(3) === 0 ? 'RD' : 'R';
    const r = fresh(file);
    (file === 'R' ? words : wides).push(r);
    return { r, file, start: file === 'R' ? pick(['R1', 'RZ', '7']) : pick(['RD3', 'RD5']) };
  });
  const moving = Array.from({ length: 1 + below(2) }, () => ({
    r: fresh('RD'),
    next: fresh('RD'),
    base: pick(['RD3', 'RD3', 'RD4']),
    step: pick([4, 4, 8, 16, -4, 0, 6]),
  }));
  // No store goes where constant memory is loaded: far behind a parameter, which may be near the others.
  const constant = { r: fresh('RD'), next: fresh('RD'), base: 'RD6', step: pick([4, 8, -4]) };
  const place = (): string =>
    `[${below(5) === 0 ? pick(['RD3', 'RD4']) : pick(moving).r}${pick(['', '', '+4', '+8', '+0x10', '-4'])}]`;
  const guard = (): string =>
    predicates.length > 0 && below(4) === 0 ? `@${pick(['', '!'])}${pick(predicates)} ` : '';
  const line = (): void => {
    const kind = below(12);
    const g = guard();
    if (kind < 3) {
      const d = fresh('R');
      const from = below(3) === 0 ? ['.NC', `[${constant.r}+0x100000]`] : ['', place()];
      lines.push(`${g}LDG${from[0]} ${g === '' ? d : `${d} else ${pick(words)}`}, ${from[1]}`);
      words.push(d);
    } else if (kind < 5) lines.push(`${g}STG ${place()}, ${pick(words)}`);
    else if (kind === 5) {
      const p = fresh('P');
      lines.push(`ISETP.${pick(['LT', 'EQ', 'GE'])} ${p}, ${pick(words)}, ${pick([...words, '3'])}`);
      predicates.push(p);
    } else if (kind === 6) {
      const d = fresh('RD');
      lines.push(`IMAD_WIDE ${d}, ${pick(words)}, 3, ${pick(wides)}`);
      wides.push(d);
    } else if (kind === 7) {
      const d = fresh('R');
      lines.push(`I2I.U32.U64 ${d}, ${pick(wides)}`);
      words.push(d);
    } else {
      const d = fresh('R');
      const to = g === '' ? d : `${d} else ${pick(words)}`;
      lines.push(
        g +
          pick([
            `IADD3 ${to}, ${pick(words)}, ${pick(words)}`,
            `IMAD ${to}, ${pick(words)}, 5, ${pick(words)}`,
          ]),
      );
      words.push(d);
    }
  };
  const size = 2 + below(14);
  const step = below(size + 1);
  for (let i = 0; i <= size; i++) {
    if (i === step) {
      lines.push(`IADD3 ${counted}, ${counter}, 1`);
      for (const m of [...moving, constant]) lines.push(`IADD3.64 ${m.next}, ${m.r}, ${m.step}`);
      words.push(counted);
      wides.push(...moving.map((m) => m.next));
    }
    line();
  }
  const goesOn = below(2) === 0;
  const bound = below(2) === 0 ? 'R2' : String(1 + below(9));
  lines.push(`ISETP.${goesOn ? 'LT' : 'GE'} P20, ${counted}, ${bound}`);
  phis.push(`MOVPHI ${counter}, {BB0: RZ, BB1: ${counted}}`);
  const inside = (list: readonly string[], phi: string): string[] =>
    list.filter((r) => Number(r.replace(/\D/g, '')) >= 30 && r !== phi && !carried.some((c) => c.r === r));
  for (const { r, file, start } of carried) {
    const choices = inside(file === 'R' ? words : wides, r).filter(
      (x) => x !== counter && !moving.some((m) => m.r === x),
    );
    phis.push(
      `MOVPHI${file === 'RD' ? '.64' : ''} ${r}, {BB0: ${start}, BB1: ${pick([...choices, file === 'R' ? 'R1' : 'RD5'])}}`,
    );
  }
  for (const m of [...moving, constant]) phis.push(`MOVPHI.64 ${m.r}, {BB0: ${m.base}, BB1: ${m.next}}`);
  const results = [...words, ...carried.filter((c) => c.file === 'R').map((c) => c.r)];
  const behind = Array.from({ length: 1 + below(4) }, (_, i) => `STG [RD5+${4 * i}], ${pick(results)}`);
  return `.entry one
  .param u32 a size 4 align 4 at 0 reg R1
  .param u32 n size 4 align 4 at 4 reg R2
  .param u64 p size 8 align 8 at 8 reg RD3
  .param u64 q size 8 align 8 at 16 reg RD4
  .param u64 r size 8 align 8 at 24 reg RD5
  .param u64 s size 8 align 8 at 32 reg RD6
{
BB0:
BB1:
${phis.join('\n')}
${lines.join('\n')}
@${goesOn ? '' : '!'}P20 BRA BB1
BB2:
${behind.join('\n')}
EXIT
}`;
}
