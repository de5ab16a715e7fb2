/**
 * What instructions look like: how many operands, which modifiers, which types, and of what size each operand is. For the
 * scalar core of PTX ISA 9.0 (9.7.1 to 9.7.9, 9.7.12, 9.7.13); an instruction without a row is not checked.
 *
 * A row reads `opcode counts shape | modifiers | types`. In a shape, a letter stands for an operand: t of the instruction's
 * type, d of its type or, with `.wide`, of twice its size, l of its type or larger, w of 32 bits, p a predicate, x
 * anything. `a/b` after a `!`
 * says that one of these modifiers must be there for the types of the class: i integer, f floating point.
 */
const INT16 = 'u16 u32 u64 s16 s32 s64';
const INT = 'u32 u64 s32 s64';
const BITS = 'b16 b32 b64';
const HALF = 'f16 f16x2 bf16 bf16x2';
const FLOAT = `f32 f64 ${HALF}`;
const CMP = 'eq ne lt le gt ge lo ls hi hs equ neu ltu leu gtu geu num nan';
const BOOL = 'and or xor';
const ROUND = 'rn rz rm rp';
const ALL = `pred b8 u8 s8 b16 u16 s16 b32 u32 s32 b64 u64 s64 b128 f32 f64 f32x2 ${HALF}`;
const SCOPE = 'cta cluster gpu sys';
const ORDER = 'weak volatile relaxed acquire release acq_rel mmio';
const SPACE = 'const global local param shared';

const ROWS = `
abs 2 tt | ftz | s16 s32 s64 ${FLOAT}
activemask 1 w | | b32
add 3 ttt | ${ROUND} ftz sat cc | ${INT16} u16x2 s16x2 f32x2 ${FLOAT}
addc 3 ttt | cc | ${INT}
and 3 ttt | | pred ${BITS}
bfe 4 ttww | | ${INT}
bfi 5 tttww | | b32 b64
bfind 2 wt | shiftamt | ${INT}
bmsk 3 www | clamp wrap !clamp/wrap:i | b32
bra 1 x | uni |
brev 2 tt | | b32 b64
brkpt 0 | |
brx 2 wx | idx uni |
clz 2 wt | | b32 b64
cnot 2 tt | | ${BITS}
copysign 3 ttt | | f32 f64
cos 2 tt | approx ftz !approx:f | f32
cvta 2 tt | to ${SPACE} | u32 u64
div 3 ttt | approx full ${ROUND} ftz !approx/full/rn/rz/rm/rp:f | ${INT16} f32 f64
ex2 2 tt | approx ftz !approx:f | f32 ${HALF}
exit 0 | |
fma 4 tttt | ${ROUND} ftz sat relu oob !rn/rz/rm/rp:f | f32x2 ${FLOAT}
fns 4 wwww | | b32
isspacep 2 px | ${SPACE} |
lg2 2 tt | approx ftz !approx:f | f32
lop3 5-6 xwwwxp | and or | b32
mad 4 dttd | hi lo wide sat cc ${ROUND} ftz !hi/lo/wide:i | ${INT16} f32 f64
mad24 4 tttt | hi lo sat !hi/lo:i | u32 s32
madc 4 tttt | hi lo cc !hi/lo:i | ${INT}
max 3-4 tttt | ftz NaN xorsign abs relu | ${INT16} u16x2 s16x2 ${FLOAT}
min 3-4 tttt | ftz NaN xorsign abs relu | ${INT16} u16x2 s16x2 ${FLOAT}
match 3 wtw | any all sync !any/all:i | b32 b64
mov 2 tt | v2 v4 | ${ALL}
mul 3 dtt | hi lo wide ${ROUND} ftz sat !hi/lo/wide:i | ${INT16} f32x2 ${FLOAT}
mul24 3 ttt | hi lo !hi/lo:i | u32 s32
nanosleep 1 w | | u32
neg 2 tt | ftz | s16 s32 s64 ${FLOAT}
not 2 tt | | pred ${BITS}
or 3 ttt | | pred ${BITS}
popc 2 wt | | b32 b64
prmt 4 wwww | f4e b4e rc8 ecl ecr rc16 | b32
rcp 2 tt | approx ${ROUND} ftz !approx/rn/rz/rm/rp:f | f32 f64
redux 3 ttw | sync add min max and or xor abs NaN !add/min/max/and/or/xor:if | u32 s32 b32 f32
rem 3 ttt | | ${INT16}
ret 0 | uni |
rsqrt 2 tt | approx ftz !approx:f | f32 f64
sad 4 tttt | | ${INT16}
selp 4 tttp | | ${BITS} ${INT16} f32 f64
setp 3-4 xttp | ${CMP} ${BOOL} ftz !eq/ne/lt/le/gt/ge/lo/ls/hi/hs/equ/neu/ltu/leu/gtu/geu/num/nan:if | ${BITS} ${INT16} ${FLOAT}
shf 4 wwww | l r clamp wrap !l/r:i !clamp/wrap:i | b32
shfl 4-5 ttwww | sync up down bfly idx !up/down/bfly/idx:i | b32
shl 3 ttw | | ${BITS}
shr 3 ttw | | ${BITS} ${INT16}
sin 2 tt | approx ftz !approx:f | f32
sqrt 2 tt | approx ${ROUND} ftz !approx/rn/rz/rm/rp:f | f32 f64
sub 3 ttt | ${ROUND} ftz sat cc | ${INT16} u16x2 s16x2 f32x2 ${FLOAT}
subc 3 ttt | cc | ${INT}
szext 3 www | clamp wrap !clamp/wrap:i | u32 s32
tanh 2 tt | approx ftz !approx:f | f32 ${HALF}
testp 2 pt | finite infinite number notanumber normal subnormal | f32 f64
trap 0 | |
vote 2-3 tpw | sync all any uni ballot !all/any/uni/ballot:i | pred b32
xor 3 ttt | | pred ${BITS}
atom 3-5 txt | ${ORDER} ${SCOPE} global shared and or xor cas exch add inc dec min max noftz | b16 b32 b64 b128 ${INT16} f32 f64 ${HALF} v2 v4 v8
red 2-3 xt | async ${ORDER} ${SCOPE} global shared and or xor add inc dec min max noftz mbarrier | b16 b32 b64 ${INT16} f32 f64 ${HALF} v2 v4 v8
cvt 2-4 ll | rn rz rm rp rna rs rni rzi rmi rpi ftz sat relu satfinite pack u2 s2 u4 s4 | b8 u8 s8 ${INT16} b32 tf32 f64 f32 f32x2 ${HALF}
ld 2-3 lxx | ${ORDER} ${SCOPE} ${SPACE} nc ca cg cs lu cv wb v2 v4 v8 unified | ${ALL}
st 2-3 xlx | async ${ORDER} ${SCOPE} ${SPACE} wb cg cs wt v2 v4 v8 mbarrier | ${ALL}
`;

/** Bits of a register or value of a type; 1 for predicates, 0 for types that are checked nowhere. */
export const bitsOf = (type: string): number => BITS_OF.get(type) ?? 0;

const BITS_OF: ReadonlyMap<string, number> = new Map(
  `${ALL} ${INT16} tf32 u16x2 s16x2`.split(' ').map((type) => {
    const m = /^\D+(\d+)(x2)?$/.exec(type);
    return [type, m === null ? 1 : Number(m[1]) * (m[2] === undefined ? 1 : 2)];
  }),
);

export interface Signature {
  readonly fewest: number;
  readonly most: number;
  /** A letter for each operand. */
  readonly shape: string;
  readonly modifiers: ReadonlySet<string>;
  readonly types: ReadonlySet<string>;
  /** Of each list one must be there, where the type is of a class in `for`. */
  readonly required: readonly { readonly oneOf: readonly string[]; readonly for: string }[];
}

const words = (text: string): string[] => text.split(' ').filter((w) => w !== '');

function readRow(line: string): [string, Signature] {
  const [head, modifiers, types] = line.split('|');
  const [opcode, counts, shape = ''] = words(head);
  const [fewest, most = fewest] = counts.split('-').map(Number);
  const all = words(modifiers);
  const required = all
    .filter((w) => w.startsWith('!'))
    .map((w) => {
      const [list, classes] = w.slice(1).split(':');
      return { oneOf: list.split('/'), for: classes };
    });
  const plain = all.filter((w) => !w.startsWith('!'));
  return [opcode, { fewest, most, shape, modifiers: new Set(plain), types: new Set(words(types)), required }];
}

let table: ReadonlyMap<string, Signature> | null = null;

/** The signature of an opcode; undefined where none is kept. */
export function signatureOf(opcode: string): Signature | undefined {
  table ??= new Map(ROWS.trim().split('\n').map(readRow));
  return table.get(opcode);
}
