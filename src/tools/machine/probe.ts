// Derives a draft of a row of pipelines/machine from words and a disassembler: which bits belong to operands, which to modifiers, and how
// the values of each modifier are printed. A person writes the row from the draft.
import { askAll, bitsOf, plain, type Word, withBits } from './oracle.ts';
import { parseVendor, shapeKey, type VendorText } from './vendor-text.ts';

/** Bits that belong to the form, that is, neither to the opcode nor to the guard nor to control information. */
const FORM_BITS = [...Array.from({ length: 89 }, (_, k) => k + 16), 126, 127];

/** The difference between two texts in short notation: '' if there is none, 'X' if only one of them is an instruction. */
export function effectOf(a: VendorText | null, b: VendorText | null): string {
  if (a === null || b === null) return a === b ? '' : 'X';
  const out: string[] = [];
  const minus = (x: readonly string[], y: readonly string[]): string[] => {
    const rest = [...y];
    return x.filter((s) => {
      const at = rest.indexOf(s);
      if (at >= 0) rest.splice(at, 1);
      return at < 0;
    });
  };
  const [gone, come] = [minus(a.head, b.head), minus(b.head, a.head)];
  if (gone.length + come.length > 0)
    out.push(`${gone.map((g) => `-.${g}`).join('')}${come.map((c) => `+.${c}`).join('')}`);
  if (a.shapes.length !== b.shapes.length)
    out.push(`${a.shapes.length}->${b.shapes.length} operands: ${b.shapes.join(', ')}`);
  else
    a.shapes.forEach((s, i) => {
      if (s !== b.shapes[i]) out.push(`${i}: ${s}=>${b.shapes[i]}`);
      else
        a.values[i].forEach((v, j) => {
          if (v.text !== b.values[i][j].text) out.push(`${i}.${j}${v.kind}`);
        });
    });
  return out.join(' ');
}

/** One word of each shape, the most frequent shapes first. */
export function seedsOf(
  words: readonly { readonly word: Word; readonly count: number }[],
  texts: readonly (string | null)[],
  most: number,
): Word[] {
  const best = new Map<string, { word: Word; sum: number }>();
  words.forEach((w, k) => {
    const text = texts[k];
    if (text === null) return;
    const key = shapeKey(parseVendor(text));
    const known = best.get(key);
    if (known === undefined) best.set(key, { word: plain(w.word), sum: w.count });
    else known.sum += w.count;
  });
  return [...best.values()]
    .sort((x, y) => y.sum - x.sum)
    .slice(0, most)
    .map((s) => s.word);
}

/**
 * A probe as a coroutine: it yields words and receives their texts. Many probes run together, with one run of the disassembler per round.
 */
export type Asking<T> = Generator<readonly Word[], T, readonly (VendorText | null)[]>;

/** Runs probes together and returns their results. */
export function together<T>(sm: string, probes: readonly Asking<T>[]): T[] {
  const results = new Array<T>(probes.length);
  let open = probes.map((p, k) => ({ p, k, step: p.next() }));
  for (;;) {
    for (const o of open) if (o.step.done === true) results[o.k] = o.step.value;
    open = open.filter((o) => o.step.done !== true);
    if (open.length === 0) return results;
    const asked = open.map((o) => o.step.value as readonly Word[]);
    const texts = askAll(sm, asked.flat()).map((t) => (t === null ? null : parseVendor(t)));
    let at = 0;
    open.forEach((o, n) => {
      o.step = o.p.next(texts.slice(at, at + asked[n].length));
      at += asked[n].length;
    });
  }
}

const flip = (w: Word, b: number): Word => withBits(w, b, 1, 1 - bitsOf(w, b, 1));
const isValue = (e: string): boolean => /^\d+\.\d+[A-Z]+( \d+\.\d+[A-Z]+)*$/.test(e);

/** The effect of flipping each bit over the seeds, and the values of groups of bits that act together; lines of text. */
export function* probe(seeds: readonly Word[], mostGroup = 7): Asking<string[]> {
  const texts = yield seeds.flatMap((s) => [s, ...FORM_BITS.map((b) => flip(s, b))]);
  const each = FORM_BITS.length + 1;
  const kinds = FORM_BITS.map((_, k) => {
    const own = seeds.map((__, s) => effectOf(texts[s * each], texts[s * each + 1 + k]));
    const values = own.filter(isValue);
    const others = own.filter((e) => e !== '' && e !== 'X' && !isValue(e));
    if (values.length > 0 && others.length === 0) return `V ${mostCommon(values)}`;
    if (values.length > 0) return `V ${mostCommon(values)} / ${mostCommon(others)}`;
    if (others.length > 0) return 'M';
    return own.every((e) => e === 'X') ? 'fixed' : own.some((e) => e === 'X') ? 'fixed?' : '.';
  });
  const lines: string[] = [];
  for (let k = 0; k < kinds.length; ) {
    let end = k + 1;
    while (
      end < kinds.length &&
      kinds[end] === kinds[k] &&
      kinds[k] !== 'M' &&
      FORM_BITS[end] === FORM_BITS[end - 1] + 1
    )
      end++;
    if (kinds[k] !== 'M' && kinds[k] !== '.') lines.push(`${FORM_BITS[k]}+${end - k} ${kinds[k]}`);
    k = end;
  }
  const bits = FORM_BITS.filter((_, k) => kinds[k] === 'M' || kinds[k] === 'fixed?');
  lines.push(...(yield* valuesOf(seeds, yield* groupsOf(seeds, bits), mostGroup)));
  return lines;
}

const mostCommon = (list: readonly string[]): string => {
  const counts = new Map<string, number>();
  for (const e of list) counts.set(e, (counts.get(e) ?? 0) + 1);
  return [...counts].sort((a, b) => b[1] - a[1])[0][0];
};

/** Groups bits whose effects depend on each other, which flipping pairs of bits shows. */
function* groupsOf(seeds: readonly Word[], bits: readonly number[]): Asking<number[][]> {
  const parent = new Map(bits.map((b) => [b, b]));
  const root = (b: number): number => (parent.get(b) === b ? b : root(parent.get(b)!));
  const pairs = bits.flatMap((a, k) => bits.slice(k + 1).map((b) => [a, b] as const));
  const some = seeds.slice(0, 6);
  const texts = yield some.flatMap((s) =>
    pairs.flatMap(([a, b]) => [s, flip(s, a), flip(s, b), flip(flip(s, a), b)]),
  );
  let at = 0;
  for (const _ of some)
    for (const [a, b] of pairs) {
      const [t0, ta, tb, tab] = texts.slice(at, at + 4);
      at += 4;
      if (effectOf(t0, ta) !== effectOf(tb, tab) || effectOf(t0, tb) !== effectOf(ta, tab))
        parent.set(root(a), root(b));
    }
  const groups = new Map<number, number[]>();
  for (const b of bits) groups.set(root(b), [...(groups.get(root(b)) ?? []), b]);
  return [...groups.values()];
}

const textOf = (t: VendorText): string =>
  `${t.head.join('.')} ${t.shapes.map((s, i) => t.values[i].reduce((o, v) => o.replace(/<\w+>/, `${/[IF]/.test(v.kind) ? '' : v.kind}${v.text}`), s)).join(', ')}`;

function* valuesOf(seeds: readonly Word[], groups: readonly number[][], most: number): Asking<string[]> {
  const lines: string[] = [];
  const some = seeds.slice(0, 8);
  for (const bits of groups) {
    const label = bits.join(',');
    const count = 2 ** bits.length;
    if (bits.length > most) {
      lines.push(`${label}: ${bits.length} bits together`);
      continue;
    }
    const all = yield some.flatMap((s) =>
      Array.from({ length: count }, (_, v) => bits.reduce((w, b, k) => withBits(w, b, 1, (v >> k) & 1), s)),
    );
    // Use the seed for which most values are legal.
    const texts = some
      .map((_, k) => all.slice(k * count, (k + 1) * count))
      .reduce((x, y) => (y.filter((t) => t !== null).length > x.filter((t) => t !== null).length ? y : x));
    const base = texts.find((t) => t !== null) ?? null;
    lines.push(
      `${label}: ${base === null ? '' : textOf(base)}: ${texts.map((t, v) => `${v}${t === null ? '-' : ` ${effectOf(base, t)}`}`).join(' | ')}`,
    );
  }
  return lines;
}
