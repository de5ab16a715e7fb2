import { twice, type } from '../values/types.ts';
import { edgeLiteral, type Random } from './random.ts';
import { register } from './registers.ts';

/**
 * A form of an instruction. In its text `%T` stands for one of the types, `{a|b}` for one of the words, and operands are `<d>` (a result),
 * `<s>` (a register or a literal), `<r>` (a register), with `:type` if it is not %T and `:W` for twice its width; `<p>` is a predicate
 * result, `<q>` a predicate operand, `<i:9>` a number from 0 to 9.
 */
export interface Form {
  readonly text: string;
  readonly types?: readonly string[];
  /** The first target that has it. Default: sm_75. */
  readonly sm?: number;
  /** Relative weight of the form. Default: 1. */
  readonly weight?: number;
}

const INTEGERS = ['s16', 'u16', 's32', 'u32', 's64', 'u64'];
const SIGNED = ['s16', 's32', 's64'];
const BITS = ['b16', 'b32', 'b64'];
const WORDS32 = ['s32', 'u32'];
const NARROW = ['s16', 'u16', 's32', 'u32'];
const FLOATS = ['f32', 'f64'];
const ROUNDED = '{.rn|.rz|.rm|.rp}';
const ORDERED = '{eq|ne|lt|le|gt|ge}';
const FLOAT_ORDER = '{eq|ne|lt|le|gt|ge|equ|neu|ltu|leu|gtu|geu|num|nan}';
const BOOL = '{and|or|xor}';

const INTEGER_FORMS: readonly Form[] = [
  { text: '{add|sub}.%T <d>, <s>, <s>', types: INTEGERS, weight: 4 },
  { text: '{add|sub}.sat.s32 <d:s32>, <s:s32>, <s:s32>' },
  { text: 'mul.{lo|hi}.%T <d>, <s>, <s>', types: INTEGERS, weight: 3 },
  { text: 'mul.wide.%T <d:W>, <s>, <s>', types: NARROW },
  { text: 'mad.{lo|hi}.%T <d>, <s>, <s>, <s>', types: INTEGERS, weight: 2 },
  { text: 'mad.wide.%T <d:W>, <s>, <s>, <s:W>', types: NARROW },
  { text: 'mad.hi.sat.s32 <d:s32>, <s:s32>, <s:s32>, <s:s32>' },
  { text: 'mul24.{lo|hi}.%T <d>, <s>, <s>', types: WORDS32 },
  { text: 'mad24.{lo|hi}.%T <d>, <s>, <s>, <s>', types: WORDS32 },
  { text: 'mad24.hi.sat.s32 <d:s32>, <s:s32>, <s:s32>, <s:s32>' },
  { text: 'sad.%T <d>, <s>, <s>, <s>', types: INTEGERS },
  { text: '{div|rem}.%T <d>, <s>, <s>', types: INTEGERS, weight: 2 },
  { text: '{abs|neg}.%T <d>, <r>', types: SIGNED, weight: 2 },
  { text: '{min|max}.%T <d>, <s>, <s>', types: INTEGERS, weight: 2 },
  { text: '{popc|clz}.%T <d:u32>, <r>', types: ['b32', 'b64'], weight: 2 },
  { text: 'bfind{|.shiftamt}.%T <d:u32>, <r>', types: ['s32', 'u32', 's64', 'u64'] },
  { text: 'brev.%T <d>, <r>', types: ['b32', 'b64'] },
  { text: 'bfe.%T <d>, <s>, <r:u32>, <r:u32>', types: ['s32', 'u32', 's64', 'u64'], weight: 2 },
  { text: 'bfe.%T <d>, <r>, <i:70>, <i:70>', types: ['s32', 'u32', 's64', 'u64'] },
  { text: 'bfi.%T <d>, <s>, <s>, <r:u32>, <r:u32>', types: ['b32', 'b64'], weight: 2 },
  { text: 'bfi.%T <d>, <r>, <s>, <i:70>, <i:70>', types: ['b32', 'b64'] },
  { text: 'szext.{clamp|wrap}.%T <d>, <s>, <s:u32>', types: WORDS32, weight: 2 },
  { text: 'bmsk.{clamp|wrap}.b32 <d:u32>, <s:u32>, <s:u32>' },
  { text: 'fns.b32 <d:b32>, <s:b32>, <i:31>, <s:s32>' },
  { text: 'dp4a.{s32|u32}.{s32|u32} <d:u32>, <r:u32>, <s:u32>, <s:u32>' },
  { text: 'dp2a.{lo|hi}.{s32|u32}.{s32|u32} <d:u32>, <r:u32>, <s:u32>, <s:u32>' },
  { text: '{add|min|max}.%T <d:u32>, <r:u32>, <r:u32>', types: ['s16x2', 'u16x2'], sm: 90 },
  { text: '{min|max}.relu.s32 <d:s32>, <s:s32>, <s:s32>', sm: 90 },
  { text: '{min|max}.relu.s16x2 <d:u32>, <r:u32>, <r:u32>', sm: 90 },
  { text: 'cvt.pack.sat.{s16|u16}.s32 <d:u32>, <s:s32>, <s:s32>' },
  { text: 'cvt.pack.sat.{s8|u8|s4|u4|s2|u2}.s32.b32 <d:u32>, <s:s32>, <s:s32>, <s:b32>' },
];

const LOGIC_FORMS: readonly Form[] = [
  { text: '{and|or|xor}.%T <d>, <s>, <s>', types: BITS, weight: 4 },
  { text: '{not|cnot}.%T <d>, <s>', types: BITS },
  { text: '{and|or|xor}.pred <p>, <r:pred>, <r:pred>', weight: 2 },
  { text: 'not.pred <p>, <r:pred>' },
  { text: 'mov.pred <p>, <r:pred>' },
  { text: 'lop3.b32 <d:b32>, <s:b32>, <s:b32>, <s:b32>, <i:255>', weight: 2 },
  { text: 'lop3.{or|and}.b32 <d:b32>|<p>, <s:b32>, <s:b32>, <s:b32>, <i:255>, <q>', weight: 2 },
  { text: 'lop3.{or|and}.b32 _|<p>, <r:b32>, <s:b32>, <s:b32>, <i:255>, <q>' },
  { text: 'shf.{l|r}.{clamp|wrap}.b32 <d:b32>, <s:b32>, <s:b32>, <s:u32>', weight: 2 },
  { text: 'shl.%T <d>, <s>, <s:u32>', types: BITS, weight: 2 },
  { text: 'shr.%T <d>, <s>, <s:u32>', types: [...INTEGERS, 'b32'], weight: 3 },
  { text: 'prmt.b32 <d:b32>, <s:b32>, <s:b32>, <s:b32>', weight: 2 },
  { text: 'prmt.b32.{f4e|b4e|rc8|ecl|ecr|rc16} <d:b32>, <s:b32>, <s:b32>, <s:b32>', weight: 2 },
  { text: 'selp.%T <d>, <s>, <s>, <q+>', types: [...BITS, 's32', 'f32', 'f64'], weight: 3 },
  { text: 'slct.%T.s32 <d>, <s>, <s>, <r:s32>', types: [...BITS, 'f32', 'f64'] },
  { text: 'slct{|.ftz}.%T.f32 <d>, <s>, <s>, <r:f32>', types: ['b32', 'b64', 'f32'] },
  { text: 'mov.%T <d>, <s>', types: ['b32', 'b64', 'f32', 'f64', 'u32'], weight: 2 },
  { text: 'mov.b16 <d:b16>, <r:b16>' },
  { text: 'mov.b32 <d:b32>, {<r:b16>, <r:b16>}' },
  { text: 'mov.b64 <d:b64>, {<r:b32>, <r:b32>}', weight: 2 },
  { text: 'mov.b64 <d:b64>, {<r:b16>, <r:b16>, <r:b16>, <r:b16>}' },
  { text: 'mov.b32 {%h0, %h3}, <r:b32>' },
  { text: 'mov.b64 {%r1, %r2}, <r:b64>' },
  { text: 'mov.b64 {_, %r4}, <r:b64>' },
  { text: 'mov.b64 {%h1, _, %h2, %h4}, <r:b64>' },
];

const COMPARE_FORMS: readonly Form[] = [
  { text: `setp.${ORDERED}.%T <p>, <s>, <s>`, types: INTEGERS, weight: 4 },
  { text: `setp.${ORDERED}.%T <p>|<p>, <s>, <s>`, types: INTEGERS, weight: 2 },
  { text: `setp.${ORDERED}.${BOOL}.%T <p>|<p>, <s>, <s>, <q>`, types: INTEGERS, weight: 2 },
  { text: 'setp.{lo|ls|hi|hs}.%T <p>, <s>, <s>', types: ['u16', 'u32', 'u64'] },
  { text: 'setp.{eq|ne}.%T <p>, <s>, <s>', types: BITS },
  { text: `setp.${FLOAT_ORDER}.%T <p>, <s>, <s>`, types: FLOATS, weight: 3 },
  { text: `setp.${FLOAT_ORDER}.${BOOL}{|.ftz}.f32 <p>|<p>, <s:f32>, <s:f32>, <q>`, weight: 2 },
  { text: `setp.${FLOAT_ORDER}{|.ftz}.f16 <p>, <r:f16>, <r:f16>` },
  { text: `setp.${FLOAT_ORDER}{|.ftz}.f16x2 <p>|<p>, <r:f16x2>, <r:f16x2>` },
  { text: `setp.${FLOAT_ORDER}.${BOOL}{|.ftz}.f16x2 <p>|<p>, <r:f16x2>, <r:f16x2>, <q>` },
  { text: `setp.${FLOAT_ORDER}.bf16 <p>, <r:bf16>, <r:bf16>`, sm: 90 },
  { text: `setp.${FLOAT_ORDER}.bf16x2 <p>|<p>, <r:bf16x2>, <r:bf16x2>`, sm: 90 },
  { text: `set.${ORDERED}.{u32|s32}.%T <d:u32>, <s>, <s>`, types: INTEGERS },
  { text: `set.${ORDERED}.f32.%T <d:f32>, <s>, <s>`, types: INTEGERS },
  { text: `set.${ORDERED}.${BOOL}.{u32|s32}.%T <d:u32>, <s>, <s>, <q>`, types: INTEGERS },
  { text: `set.${FLOAT_ORDER}.{u32|s32}.%T <d:u32>, <s>, <s>`, types: FLOATS },
  { text: `set.${FLOAT_ORDER}.${BOOL}{|.ftz}.f32.f32 <d:f32>, <s:f32>, <s:f32>, <q>` },
  { text: `set.${FLOAT_ORDER}.f16.f16 <d:f16>, <r:f16>, <r:f16>` },
  { text: `set.${FLOAT_ORDER}.{u32|s32}.f16 <d:u32>, <r:f16>, <r:f16>` },
  { text: `set.${FLOAT_ORDER}.{u16|s16}.f16 <d:u16>, <r:f16>, <r:f16>` },
  { text: `set.${FLOAT_ORDER}.f16x2.f16x2 <d:f16x2>, <r:f16x2>, <r:f16x2>` },
  { text: `set.${FLOAT_ORDER}.{u32|s32}.f16x2 <d:u32>, <r:f16x2>, <r:f16x2>` },
];

const FLOAT_FORMS: readonly Form[] = [
  { text: `{add|sub|mul}${ROUNDED}{|.ftz}{|.sat}.f32 <d:f32>, <s:f32>, <s:f32>`, weight: 3 },
  { text: '{add|sub|mul}{|.ftz}{|.sat}.f32 <d:f32>, <s:f32>, <s:f32>' },
  { text: `{add|sub|mul}${ROUNDED}.f64 <d:f64>, <s:f64>, <s:f64>`, weight: 2 },
  { text: `{fma|mad}${ROUNDED}{|.ftz}{|.sat}.f32 <d:f32>, <s:f32>, <s:f32>, <s:f32>`, weight: 3 },
  { text: `{fma|mad}${ROUNDED}.f64 <d:f64>, <s:f64>, <s:f64>, <s:f64>`, weight: 2 },
  { text: `div${ROUNDED}{|.ftz}.f32 <d:f32>, <s:f32>, <s:f32>`, weight: 2 },
  { text: `div${ROUNDED}.f64 <d:f64>, <s:f64>, <s:f64>` },
  { text: `{rcp|sqrt}${ROUNDED}{|.ftz}.f32 <d:f32>, <r:f32>`, weight: 2 },
  { text: `{rcp|sqrt}${ROUNDED}.f64 <d:f64>, <r:f64>` },
  { text: '{abs|neg}{|.ftz}.f32 <d:f32>, <r:f32>', weight: 2 },
  { text: '{abs|neg}.f64 <d:f64>, <r:f64>' },
  { text: '{min|max}{|.ftz}.f32 <d:f32>, <s:f32>, <s:f32>', weight: 2 },
  { text: '{min|max}{|.ftz}.NaN.f32 <d:f32>, <s:f32>, <s:f32>', sm: 80 },
  { text: '{min|max}{|.ftz}{|.NaN}.xorsign.abs.f32 <d:f32>, <s:f32>, <s:f32>', sm: 86 },
  { text: '{min|max}.f64 <d:f64>, <s:f64>, <s:f64>' },
  { text: 'copysign.%T <d>, <s>, <s>', types: FLOATS },
  {
    text: 'testp.{finite|infinite|number|notanumber|normal|subnormal}.%T <p>, <r>',
    types: FLOATS,
    weight: 2,
  },
  { text: '{add|sub|mul}{|.rn}{|.ftz}{|.sat}.%T <d>, <r>, <r>', types: ['f16', 'f16x2'], weight: 2 },
  { text: '{fma|fma}.rn{|.ftz}{|.sat}.%T <d>, <r>, <r>, <r>', types: ['f16', 'f16x2'] },
  { text: 'fma.rn{|.ftz}.relu.%T <d>, <r>, <r>, <r>', types: ['f16', 'f16x2'], sm: 80 },
  { text: 'fma.rn{|.relu}.%T <d>, <r>, <r>, <r>', types: ['bf16', 'bf16x2'], sm: 80 },
  { text: '{add|sub|mul}{|.rn}.%T <d>, <r>, <r>', types: ['bf16', 'bf16x2'], sm: 90 },
  { text: '{abs|neg}{|.ftz}.%T <d>, <r>', types: ['f16', 'f16x2'] },
  { text: '{abs|neg}.%T <d>, <r>', types: ['bf16', 'bf16x2'], sm: 80 },
  { text: '{min|max}{|.ftz}{|.NaN}.%T <d>, <r>, <r>', types: ['f16', 'f16x2'], sm: 80 },
  { text: '{min|max}{|.NaN}.%T <d>, <r>, <r>', types: ['bf16', 'bf16x2'], sm: 80 },
  {
    text: '{min|max}{|.NaN}.xorsign.abs.%T <d>, <r>, <r>',
    types: ['f16', 'f16x2', 'bf16', 'bf16x2'],
    sm: 86,
  },
];

const VIDEO_WORDS = '{s32|u32}';
const PART = '{|.b0|.b1|.b2|.b3|.h0|.h1}';
const VIDEO_FORMS: readonly Form[] = [
  {
    text: `{vadd|vsub|vabsdiff|vmin|vmax}.${VIDEO_WORDS}.${VIDEO_WORDS}.${VIDEO_WORDS}{|.sat} <d:u32>, <r:u32>${PART}, <r:u32>${PART}`,
  },
  {
    text: `{vadd|vsub|vabsdiff|vmin|vmax}.${VIDEO_WORDS}.${VIDEO_WORDS}.${VIDEO_WORDS}{|.sat}.{add|min|max} <d:u32>, <r:u32>${PART}, <r:u32>${PART}, <r:u32>`,
  },
  {
    text: `{vadd|vsub|vabsdiff|vmin|vmax}.${VIDEO_WORDS}.${VIDEO_WORDS}.${VIDEO_WORDS}{|.sat} <d:u32>{.b0|.b1|.b2|.b3|.h0|.h1}, <r:u32>${PART}, <r:u32>${PART}, <r:u32>`,
  },
  {
    text: `{vshl|vshr}.${VIDEO_WORDS}.${VIDEO_WORDS}.u32{|.sat}.{clamp|wrap} <d:u32>, <r:u32>${PART}, <r:u32>${PART}`,
  },
  { text: `vset.${VIDEO_WORDS}.${VIDEO_WORDS}.${ORDERED} <d:u32>, <r:u32>${PART}, <r:u32>${PART}` },
  {
    text: `{vadd2|vsub2|vavrg2|vabsdiff2|vmin2|vmax2}.${VIDEO_WORDS}.${VIDEO_WORDS}.${VIDEO_WORDS}{|.sat} <d:u32>{|.h0|.h1|.h10}, <r:u32>{|.h10|.h32|.h01|.h31}, <r:u32>{|.h32|.h00|.h13}, <r:u32>`,
  },
  {
    text: `{vadd4|vsub4|vavrg4|vabsdiff4|vmin4|vmax4}.${VIDEO_WORDS}.${VIDEO_WORDS}.${VIDEO_WORDS}{|.sat|.add} <d:u32>{|.b0|.b31|.b3210|.b210}, <r:u32>{|.b3210|.b0123|.b7531}, <r:u32>{|.b7654|.b0000|.b4321}, <r:u32>`,
  },
  {
    text: `{vset2|vset4}.${VIDEO_WORDS}.${VIDEO_WORDS}.${ORDERED}{|.add} <d:u32>, <r:u32>, <r:u32>, <r:u32>`,
  },
  {
    text: `vmad.${VIDEO_WORDS}.${VIDEO_WORDS}.${VIDEO_WORDS}{|.sat}{|.shr7|.shr15} <d:u32>, <r:u32>${PART}, <r:u32>${PART}, <r:u32>`,
  },
];

const WIDE_FORMS: readonly Form[] = [
  { text: `{add|sub|mul}${ROUNDED}{|.ftz}.f32x2 <d:u64>, <r:u64>, <r:u64>`, sm: 100 },
  { text: `fma${ROUNDED}{|.ftz}.f32x2 <d:u64>, <r:u64>, <r:u64>, <r:u64>`, sm: 100 },
  { text: '{min|max}{|.ftz}{|.NaN}{|.abs}.f32 <d:f32>, <s:f32>, <s:f32>, <s:f32>', sm: 100 },
  { text: `{add|sub}${ROUNDED}{|.sat}.f32.{f16|bf16} <d:f32>, <r:b16>, <s:f32>`, sm: 100 },
  { text: `fma${ROUNDED}{|.sat}.f32.{f16|bf16} <d:f32>, <r:b16>, <r:b16>, <s:f32>`, sm: 100 },
];

/** Every form that computes a result from its operands alone, by kind. */
export const FORMS: Readonly<Record<string, readonly Form[]>> = {
  integer: INTEGER_FORMS,
  logic: LOGIC_FORMS,
  compare: COMPARE_FORMS,
  float: FLOAT_FORMS,
  video: VIDEO_FORMS,
  wide: WIDE_FORMS,
};

/** Fraction of operands that are literals instead of registers. */
const NUMBERS = 0.25;

function operand(random: Random, word: string, t: string | undefined, numbers: { left: number }): string {
  const [kind, named] = word.split(':');
  if (kind === 'i') return String(random.below(Number(named) + 1));
  if (kind === 'p') return register(random, type('pred'));
  if (kind === 'q') return (random.chance(0.4) ? '!' : '') + register(random, type('pred'));
  if (kind === 'q+') return register(random, type('pred'));
  const own = named === undefined ? type(t!) : named === 'W' ? twice(type(t!)) : type(named);
  if (kind === 's' && numbers.left > 0 && random.chance(NUMBERS)) {
    const text = edgeLiteral(random, own);
    if (text !== null) {
      numbers.left--;
      return text;
    }
  }
  return register(random, own);
}

/** An alternative `{a|b}` that contains no operand. */
const CHOICE = /\{([^{}<,]*\|[^{}<,]*)\}/;

/** A form with its words and type chosen; the operands in its text are still placeholders. */
interface Spelling {
  readonly text: string;
  readonly type: string | undefined;
}

/** An instruction of a spelling with random operands, without its semicolon. */
function spelled(random: Random, { text, type: t }: Spelling): string {
  // At least one operand stays a register.
  const operands = text.split('<s').length - 1;
  const numbers = { left: Math.max(0, text.includes('<r') ? operands : operands - 1) };
  for (;;) {
    const made = text.replace(/<([^<>]+)>/g, (_, word: string) => operand(random, word, t, numbers));
    // Two results have to be different registers.
    if (!/^\S+ %(\w+)\|%\1,/.test(made)) return made;
  }
}

/** An instruction of a form, without its semicolon. */
export function instruction(random: Random, form: Form): string {
  const t = form.types === undefined ? undefined : random.pick(form.types);
  const text = form.text.replace(new RegExp(CHOICE, 'g'), (_, words: string) =>
    random.pick(words.split('|')),
  );
  return spelled(random, { text: text.replaceAll('%T', t ?? ''), type: t });
}

/** All texts that the alternatives of a text can give. */
function choices(text: string): string[] {
  const m = CHOICE.exec(text);
  if (m === null) return [text];
  return m[1]
    .split('|')
    .flatMap((word) => choices(text.slice(0, m.index) + word + text.slice(m.index + m[0].length)));
}

/** Maximum number of spellings per form; if a form has more, an evenly spaced subset is used. */
const MOST_SPELLINGS = 60;

/** Every spelling of every form of a target, with random operands. */
export function everyInstruction(random: Random, sm: number): string[] {
  return Object.values(FORMS)
    .flat()
    .filter((f) => (f.sm ?? 75) <= sm)
    .flatMap((f) => {
      const all = choices(f.text).flatMap((text) =>
        (f.types ?? [undefined]).map((t) => ({ text: text.replaceAll('%T', t ?? ''), type: t })),
      );
      const step = Math.max(1, all.length / MOST_SPELLINGS);
      const from = random.below(Math.ceil(step));
      return Array.from(
        { length: Math.floor((all.length - from - 1) / step) + 1 },
        (_, k) => all[Math.floor(from + k * step)],
      );
    })
    .map((s) => spelled(random, s));
}
