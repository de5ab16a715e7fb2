// Compares our text with the disassembler's for words that no compiler may have generated: every value of every field, combinations of
// values, and every flipped bit that a form declares fixed.
import { congruential } from '../../ir/random.ts';
import { allowed, decode, type Instruction } from '../../machine/decode.ts';
import { encode } from '../../machine/encode.ts';
import type { Form, Machine } from '../../machine/forms.ts';
import { vendorText } from '../../machine/vendor.ts';
import { wordText } from '../../machine/word.ts';
import { addressOf, askAll, bitsOf, type Word, withBits } from './oracle.ts';

const PLAIN = { stall: 0, yield: false, write: 7, read: 7, wait: 0, reuse: 0 };
const MOST_SEEDS = 8;
const MIXTURES = 40;
/** Fields with more values than this are tried with some of them. */
const MOST_VALUES = 32;

/** A seeded generator of pseudo-random numbers below a bound. */
function random(seed: number): (below: number) => number {
  const next = congruential(seed);
  return (below) => Math.floor((next() / 2 ** 32) * below);
}

interface Question {
  readonly form: Form;
  readonly word: Word;
  /** Null: a fixed bit is flipped. */
  readonly instruction: Instruction | null;
  readonly what: string;
  readonly seed: Word;
}

function valuesFor(form: Form, k: number, next: (below: number) => number): number[] {
  const f = form.fields[k];
  const count = 2 ** f.bits;
  if (f.names !== undefined)
    return f.names.flatMap((n, v) => (n === null ? [] : [v])).slice(0, 4 * MOST_VALUES);
  if (count <= MOST_VALUES) return Array.from({ length: count }, (_, v) => v);
  const some = Array.from({ length: 8 }, () => next(Math.min(count, 2 ** 40)));
  const all = [0, 1, 2, count / 2, count - 1, count - 2, ...some];
  return f.signed ? all.map((v) => (v >= count / 2 ? v - count : v)) : all;
}

/** Values of fields, with the default value for fields whose condition does not hold. */
const settled = (form: Form, values: readonly number[]): number[] => {
  const out = [...values];
  form.fields.forEach((f, k) => {
    if (f.when !== undefined && !f.when(out)) out[k] = f.otherwise;
  });
  return out;
};

function questionsOf(form: Form, seeds: readonly Instruction[], guardFree: number): Question[] {
  const next = random(form.opcode);
  const out: Question[] = [];
  const first: Instruction = {
    form,
    values: settled(
      form,
      form.fields.map((f) => f.names?.findIndex((n) => n !== null) ?? 0),
    ),
    guard: guardFree,
    guardNot: false,
    control: PLAIN,
  };
  const starts = (seeds.length > 0 ? seeds : [first]).map((s) => ({
    ...s,
    guard: guardFree,
    guardNot: false,
    control: PLAIN,
  }));
  const ask = (values: readonly number[], what: string, seed: Word): void => {
    const own = settled(form, values);
    if (!allowed(form, own, 0)) return;
    const instruction = { ...first, values: own };
    out.push({ form, word: encode(instruction), instruction, what, seed });
  };
  for (const s of starts) {
    const word = encode(s);
    form.fields.forEach((f, k) => {
      for (const v of valuesFor(form, k, next))
        ask(
          s.values.map((x, j) => (j === k ? v : x)),
          `${f.name}=${f.names?.[v] || v}`,
          word,
        );
    });
  }
  for (let n = 0; n < MIXTURES; n++)
    ask(
      form.fields.map((_, k) => {
        const all = valuesFor(form, k, next);
        return all[next(all.length)];
      }),
      'mixture',
      encode(starts[0]),
    );
  for (const s of starts.slice(0, 3)) {
    const word = encode(s);
    out.push({ form, word, instruction: null, what: 'seed', seed: word });
    for (let b = 12; b < 128; b++)
      if ((form.mask[b >> 5] >>> (b & 31)) & 1 && b > 15)
        out.push({
          form,
          word: withBits(word, b, 1, 1 - bitsOf(word, b, 1)),
          instruction: null,
          what: `bit ${b}`,
          seed: word,
        });
  }
  return out;
}

/** The result of `perturb`. */
export interface Perturbation {
  /** Number of valid instructions that were compared. */
  asked: number;
  equal: number;
  /** Number of instructions that the disassembler rejects. */
  refused: number;
  /** Differences with their numbers and a sample each, including fixed bits that change the text, for which the form may lack a field. */
  readonly lines: string[];
}

/**
 * Compares perturbed words of all matching forms.
 * @param words words of a corpus, which serve as seeds
 * @param names pattern of the names of rows
 */
export function perturb(sm: string, machine: Machine, words: readonly Word[], names: RegExp): Perturbation {
  const seeds = new Map<Form, Instruction[]>();
  const shapes = new Set<string>();
  for (const w of words) {
    const i = decode(machine, w);
    if (i === null) continue;
    const list = seeds.get(i.form) ?? [];
    const shape = `${i.form.row} ${i.form.layout} ${i.form.modifiers.map((k) => i.values[k])}`;
    if (list.length >= MOST_SEEDS || shapes.has(shape)) continue;
    shapes.add(shape);
    seeds.set(i.form, [...list, i]);
  }
  const questions = machine.forms
    .filter((f) => names.test(f.row))
    .flatMap((f) => questionsOf(f, seeds.get(f) ?? [], machine.registers.get(f.guard)?.constant ?? 7));
  const texts = askAll(
    sm,
    questions.map((q) => q.word),
  );
  const out: Perturbation = { asked: 0, equal: 0, refused: 0, lines: [] };
  const groups = new Map<string, { count: number; sample: string }>();
  const note = (key: string, sample: string): void => {
    const known = groups.get(key);
    if (known === undefined) groups.set(key, { count: 1, sample });
    else known.count++;
  };
  let seedText: string | null = null;
  questions.forEach((q, k) => {
    const theirs = texts[k];
    const row = `${q.form.row} ${q.form.layout}`;
    if (q.instruction === null) {
      if (q.what === 'seed') seedText = theirs;
      else if (
        theirs !== null &&
        !/INVALID|\?\?\?/.test(theirs) &&
        seedText !== null &&
        decode(machine, q.word) === null
      ) {
        const plain = (t: string): string => t.replace(/-?0x[0-9a-f]+$/, '');
        if (plain(theirs) !== plain(seedText)) note(`${row} fixed ${q.what}`, `${seedText} => ${theirs}`);
      }
      return;
    }
    out.asked++;
    const ours = vendorText(machine, q.instruction, addressOf(k));
    if (theirs === null) {
      out.refused++;
      note(`${row} refused ${q.what}`, `${wordText(q.word)} ${ours}`);
    } else if (ours === theirs) out.equal++;
    else
      note(`${row} differs ${q.what}`, `${wordText(q.word)}\n      ours   ${ours}\n      theirs ${theirs}`);
  });
  for (const [key, g] of groups) out.lines.push(`${g.count} ${key}\n      ${g.sample}`);
  return out;
}
