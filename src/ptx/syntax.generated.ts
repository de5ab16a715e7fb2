// Generated from pipelines/isa/ptx-syntax.yaml by `npm run generate`. Do not edit.
// biome-ignore format: it is data
export const PTX_SYNTAX: {
  readonly sets: Readonly<Record<string, string>>;
  readonly words: Readonly<Record<string, string>>;
  readonly directives: Readonly<Record<string, string>>;
  readonly instructions: Readonly<Record<string, readonly string[]>>;
} = {
 "sets": {
  "twice": "approx cc ftz relu sat sync",
  "rnd": "rn rz rm rp",
  "irnd": "rni rzi rmi rpi",
  "sint": "s16 s32 s64",
  "int": "u16 u32 u64 s16 s32 s64",
  "wideint": "u32 u64 s32 s64",
  "byteint": "u8 u16 u32 u64 s8 s16 s32 s64",
  "bits": "b16 b32 b64",
  "memory": "b8 b16 b32 b64 b128 u8 u16 u32 u64 s8 s16 s32 s64 f32 f64",
  "equality": "eq ne",
  "signedcmp": "eq ne lt le gt ge",
  "unsignedcmp": "eq ne lt le gt ge lo ls hi hs",
  "floatcmp": "eq ne lt le gt ge equ neu ltu leu gtu geu num nan",
  "bool": "and or xor",
  "scope": "cta cluster gpu sys",
  "shared": "shared shared::cta shared::cluster",
  "space": "global local shared shared::cta shared::cluster",
  "vec": "v2 v4 v8",
  "evict1": "L1::evict_normal L1::evict_unchanged L1::evict_first L1::evict_last L1::no_allocate",
  "evict2": "L2::evict_normal L2::evict_first L2::evict_last",
  "fetch": "L2::64B L2::128B L2::256B",
  "select": "b0 b1 b2 b3 h0 h1",
  "narrow": "e4m3x2 e5m2x2 e2m3x2 e3m2x2 e2m1x2"
 },
 "words": {
  "shared::cta": "7.8",
  "shared::cluster": "7.8",
  "param::entry": "8.3",
  "param::func": "8.3",
  "cluster": "7.8 sm_90",
  "b128": "8.3 sm_70",
  "NaN": "7.0",
  "relaxed": "6.0",
  "acquire": "6.0",
  "release": "6.0",
  "acq_rel": "6.0",
  "L1::evict_normal": "7.4 sm_70",
  "L1::evict_unchanged": "7.4 sm_70",
  "L1::evict_first": "7.4 sm_70",
  "L1::evict_last": "7.4 sm_70",
  "L1::no_allocate": "7.4 sm_70",
  "L2::64B": "7.4 sm_75",
  "L2::128B": "7.4 sm_75",
  "L2::256B": "7.4 sm_80",
  "L2::cache_hint": "7.4 sm_80"
 },
 "directives": {
  "noreturn": "6.4 sm_30",
  "alias": "6.3 sm_30",
  "maxclusterrank": "7.8 sm_90",
  "reqnctapercluster": "7.8 sm_90",
  "explicitcluster": "7.8 sm_90",
  "blocksareclusters": "9.0 sm_90",
  "inlined_at": "7.0"
 },
 "instructions": {
  "abs": [
   "<$sint> : =t t",
   "[ftz] <f32> : =t t",
   "<f64> : =t t",
   "[ftz] <f16/f16x2> : =t t ; 6.5 sm_53",
   "<bf16/bf16x2> : =t t ; 7.0 sm_80"
  ],
  "add": [
   "<u16/u32/u64/s16/s64> : =t t t",
   "[sat] <s32> : =t t t",
   "cc <$wideint> : =t t t",
   "<u16x2/s16x2> : =t t t ; 8.0 sm_90",
   "[$rnd] [ftz] [sat] <f32> : =t t t",
   "[$rnd] <f64> : =t t t",
   "[rn] [ftz] [sat] <f16/f16x2> : =t t t ; 4.2 sm_53",
   "[rn] <bf16/bf16x2> : =t t t ; 7.8 sm_90",
   "[$rnd] [ftz] <f32x2> : =t t t ; 8.6 sm_100",
   "[$rnd] [sat] <f32> <f16/bf16> : =t s t ; 8.6 sm_100"
  ],
  "addc": [
   "[cc] <$wideint> : =t t t"
  ],
  "and": [
   "<pred/b16/b32/b64> : =t t t"
  ],
  "bfe": [
   "<$wideint> : =t t u32:0..255 u32:0..255"
  ],
  "bfi": [
   "<b32/b64> : =t t t u32:0..255 u32:0..255"
  ],
  "bfind": [
   "[shiftamt] <$wideint> : =u32 t"
  ],
  "bmsk": [
   "clamp/wrap <b32> : =u32 u32 u32 ; 7.6 sm_70"
  ],
  "brev": [
   "<b32/b64> : =t t"
  ],
  "clz": [
   "<b32/b64> : =u32 t"
  ],
  "cnot": [
   "<$bits> : =t t"
  ],
  "div": [
   "<$int> : =t t t",
   "approx/full/$rnd [ftz] <f32> : =t t t",
   "$rnd <f64> : =t t t"
  ],
  "dp2a": [
   "^hi/lo <u32/s32> <u32/s32> : =u32 u32 u32 u32 ; 5.0 sm_61"
  ],
  "dp4a": [
   "<u32/s32> <u32/s32> : =u32 u32 u32 u32 ; 5.0 sm_61"
  ],
  "fns": [
   "<b32> : =t t t t ; 6.0 sm_30"
  ],
  "lop3": [
   "<b32> : =t_ t t t # ; 4.3 sm_50",
   "and/or <b32> : =t_|p t t t # p ; 8.2 sm_70"
  ],
  "mad": [
   "^hi/lo <$int> : =t t t t",
   "^hi sat <s32> : =t t t t",
   "^hi/lo cc <$wideint> : =t t t t",
   "^wide <u16/s16> : =u32 t t u32",
   "^wide <u32/s32> : =u64 t t u64",
   "$rnd [ftz] [sat] <f32> : =t t t t",
   "[ftz] [sat] <f32> : =t t t t ; until below sm_20",
   "$rnd <f64> : =t t t t"
  ],
  "mad24": [
   "^hi/lo <u32/s32> : =t t t t",
   "^hi sat <s32> : =t t t t"
  ],
  "madc": [
   "^hi/lo [cc] <$wideint> : =t t t t"
  ],
  "max": [
   "<$int> : =t t t",
   "<u16x2/s16x2> : =t t t ; 8.0 sm_90",
   "relu <s16x2/s32> : =t t t ; 8.0 sm_90",
   "[ftz] [NaN] <f32> : =t t t",
   "[ftz] [NaN] xorsign abs <f32> : =t t t ; 7.2 sm_86",
   "[ftz] [NaN] [abs] <f32> : =t t t t ; 8.8 sm_100",
   "<f64> : =t t t",
   "[ftz] [NaN] <f16/f16x2> : =t t t ; 7.0 sm_80",
   "[ftz] [NaN] xorsign abs <f16/f16x2> : =t t t ; 7.2 sm_86",
   "[NaN] <bf16/bf16x2> : =t t t ; 7.0 sm_80",
   "[NaN] xorsign abs <bf16/bf16x2> : =t t t ; 7.2 sm_86"
  ],
  "min": [
   "<$int> : =t t t",
   "<u16x2/s16x2> : =t t t ; 8.0 sm_90",
   "relu <s16x2/s32> : =t t t ; 8.0 sm_90",
   "[ftz] [NaN] <f32> : =t t t",
   "[ftz] [NaN] xorsign abs <f32> : =t t t ; 7.2 sm_86",
   "[ftz] [NaN] [abs] <f32> : =t t t t ; 8.8 sm_100",
   "<f64> : =t t t",
   "[ftz] [NaN] <f16/f16x2> : =t t t ; 7.0 sm_80",
   "[ftz] [NaN] xorsign abs <f16/f16x2> : =t t t ; 7.2 sm_86",
   "[NaN] <bf16/bf16x2> : =t t t ; 7.0 sm_80",
   "[NaN] xorsign abs <bf16/bf16x2> : =t t t ; 7.2 sm_86"
  ],
  "mul": [
   "^hi/lo <$int> : =t t t",
   "^wide <u16/s16> : =u32 t t",
   "^wide <u32/s32> : =u64 t t",
   "[$rnd] [ftz] [sat] <f32> : =t t t",
   "[$rnd] <f64> : =t t t",
   "[rn] [ftz] [sat] <f16/f16x2> : =t t t ; 4.2 sm_53",
   "[rn] <bf16/bf16x2> : =t t t ; 7.8 sm_90",
   "[$rnd] [ftz] <f32x2> : =t t t ; 8.6 sm_100"
  ],
  "mul24": [
   "^hi/lo <u32/s32> : =t t t"
  ],
  "neg": [
   "<$sint> : =t t",
   "[ftz] <f32> : =t t",
   "<f64> : =t t",
   "[ftz] <f16/f16x2> : =t t ; 6.0 sm_53",
   "<bf16/bf16x2> : =t t ; 7.0 sm_80"
  ],
  "not": [
   "<pred/b16/b32/b64> : =t t"
  ],
  "or": [
   "<pred/b16/b32/b64> : =t t t"
  ],
  "popc": [
   "<b32/b64> : =u32 t"
  ],
  "prmt": [
   "[f4e/b4e/rc8/ecl/ecr/rc16] <b32> : =t t t t"
  ],
  "rem": [
   "<$int> : =t t t"
  ],
  "sad": [
   "<$int> : =t t t t"
  ],
  "shf": [
   "^l/r clamp/wrap <b32> : =t t t u32 ; 3.1 sm_32"
  ],
  "shl": [
   "<$bits> : =t t u32"
  ],
  "shr": [
   "<$bits/$int> : =t t u32"
  ],
  "sub": [
   "<u16/u32/u64/s16/s64> : =t t t",
   "[sat] <s32> : =t t t",
   "cc <$wideint> : =t t t",
   "[$rnd] [ftz] [sat] <f32> : =t t t",
   "[$rnd] <f64> : =t t t",
   "[rn] [ftz] [sat] <f16/f16x2> : =t t t ; 4.2 sm_53",
   "[rn] <bf16/bf16x2> : =t t t ; 7.8 sm_90",
   "[$rnd] [ftz] <f32x2> : =t t t ; 8.6 sm_100",
   "[$rnd] [sat] <f32> <f16/bf16> : =t s t ; 8.6 sm_100"
  ],
  "subc": [
   "[cc] <$wideint> : =t t t"
  ],
  "szext": [
   "clamp/wrap <u32/s32> : =t t u32 ; 7.6 sm_70"
  ],
  "xor": [
   "<pred/b16/b32/b64> : =t t t"
  ],
  "copysign": [
   "<f32/f64> : =t t t ; 2.0 sm_20"
  ],
  "cos": [
   "approx [ftz] <f32> : =t t",
   "[approx] <f32> : =t t ; until 1.3"
  ],
  "ex2": [
   "approx [ftz] <f32> : =t t",
   "approx <f16/f16x2> : =t t ; 7.0 sm_75",
   "approx ftz <bf16/bf16x2> : =t t ; 7.8 sm_90"
  ],
  "fma": [
   "$rnd [ftz] [sat] <f32> : =t t t t ; 2.0 sm_20",
   "$rnd <f64> : =t t t t",
   "rn [ftz] [sat] <f16/f16x2> : =t t t t ; 4.2 sm_53",
   "rn [ftz] relu <f16/f16x2> : =t t t t ; 7.0 sm_80",
   "rn [relu] <bf16/bf16x2> : =t t t t ; 7.0 sm_80",
   "rn oob [relu] <f16/f16x2/bf16/bf16x2> : =t t t t ; 8.1 sm_90",
   "$rnd [ftz] <f32x2> : =t t t t ; 8.6 sm_100",
   "$rnd [sat] <f32> <f16/bf16> : =t s s t ; 8.6 sm_100"
  ],
  "lg2": [
   "approx [ftz] <f32> : =t t",
   "[approx] <f32> : =t t ; until 1.3"
  ],
  "rcp": [
   "approx/$rnd [ftz] <f32> : =t t",
   "$rnd [ftz] <f64> : =t t",
   "approx ftz <f64> : =t t"
  ],
  "rsqrt": [
   "approx [ftz] <f32/f64> : =t t"
  ],
  "sin": [
   "approx [ftz] <f32> : =t t",
   "[approx] <f32> : =t t ; until 1.3"
  ],
  "sqrt": [
   "approx/$rnd [ftz] <f32> : =t t",
   "$rnd <f64> : =t t"
  ],
  "tanh": [
   "approx <f32/f16/f16x2> : =t t ; 7.0 sm_75",
   "approx <bf16/bf16x2> : =t t ; 7.8 sm_90"
  ],
  "testp": [
   "[finite/infinite/number/notanumber/normal/subnormal] <f32/f64> : =p t ; 2.0 sm_20"
  ],
  "selp": [
   "<$bits/$int/f32/f64> : =t t t p"
  ],
  "set": [
   "$equality <u32/s32/f32/f16/bf16> <$bits> : =t s s",
   "$signedcmp <u32/s32/f32/f16/bf16> <$sint> : =t s s",
   "$unsignedcmp <u32/s32/f32/f16/bf16> <u16/u32/u64> : =t s s",
   "$floatcmp [ftz] <u32/s32/f32/f16/bf16> <f32> : =t s s",
   "$floatcmp <u32/s32/f32/f16/bf16> <f64> : =t s s",
   "$floatcmp [ftz] <f16> <f16> : =t s s ; 4.2 sm_53",
   "$floatcmp [ftz] <u16/s16/u32/s32> <f16> : =t s s ; 6.5 sm_53",
   "$floatcmp [ftz] <f16x2> <f16x2> : =t s s ; 4.2 sm_53",
   "$floatcmp [ftz] <u32/s32> <f16x2> : =t s s ; 6.5 sm_53",
   "$floatcmp <bf16/u16/s16/u32/s32> <bf16> : =t s s ; 7.8 sm_90",
   "$floatcmp <bf16x2/u32/s32> <bf16x2> : =t s s ; 7.8 sm_90",
   "$equality $bool <u32/s32/f32/f16/bf16> <$bits> : =t s s p",
   "$signedcmp $bool <u32/s32/f32/f16/bf16> <$sint> : =t s s p",
   "$unsignedcmp $bool <u32/s32/f32/f16/bf16> <u16/u32/u64> : =t s s p",
   "$floatcmp $bool [ftz] <u32/s32/f32/f16/bf16> <f32> : =t s s p",
   "$floatcmp $bool <u32/s32/f32/f16/bf16> <f64> : =t s s p",
   "$floatcmp $bool [ftz] <f16> <f16> : =t s s p ; 4.2 sm_53",
   "$floatcmp $bool [ftz] <u16/s16/u32/s32> <f16> : =t s s p ; 6.5 sm_53",
   "$floatcmp $bool [ftz] <f16x2> <f16x2> : =t s s p ; 4.2 sm_53",
   "$floatcmp $bool [ftz] <u32/s32> <f16x2> : =t s s p ; 6.5 sm_53",
   "$floatcmp $bool <bf16/u16/s16/u32/s32> <bf16> : =t s s p ; 7.8 sm_90",
   "$floatcmp $bool <bf16x2/u32/s32> <bf16x2> : =t s s p ; 7.8 sm_90"
  ],
  "setp": [
   "$equality <$bits> : =p_[|p] t t",
   "$signedcmp <$sint> : =p_[|p] t t",
   "$unsignedcmp <u16/u32/u64> : =p_[|p] t t",
   "$floatcmp [ftz] <f32> : =p_[|p] t t",
   "$floatcmp <f64> : =p_[|p] t t",
   "$floatcmp [ftz] <f16> : =p_ t t ; 4.2 sm_53",
   "$floatcmp [ftz] <f16x2> : =p_[|p] t t ; 4.2 sm_53",
   "$floatcmp <bf16> : =p_ t t ; 7.8 sm_90",
   "$floatcmp <bf16x2> : =p_[|p] t t ; 7.8 sm_90",
   "$equality $bool <$bits> : =p_[|p] t t p",
   "$signedcmp $bool <$sint> : =p_[|p] t t p",
   "$unsignedcmp $bool <u16/u32/u64> : =p_[|p] t t p",
   "$floatcmp $bool [ftz] <f32> : =p_[|p] t t p",
   "$floatcmp $bool <f64> : =p_[|p] t t p",
   "$floatcmp $bool [ftz] <f16> : =p_ t t p ; 4.2 sm_53",
   "$floatcmp $bool [ftz] <f16x2> : =p_[|p] t t p ; 4.2 sm_53",
   "$floatcmp $bool <bf16> : =p_ t t p ; 7.8 sm_90",
   "$floatcmp $bool <bf16x2> : =p_[|p] t t p ; 7.8 sm_90"
  ],
  "slct": [
   "<$bits/$int/f32/f64> <s32> : =t t t s",
   "[ftz] <$bits/$int/f32/f64> <f32> : =t t t s"
  ],
  "cvt": [
   "<$byteint> <$byteint> : =l s+",
   "sat <u8> <u16/u32/u64/s8/s16/s32/s64> : =l s+",
   "sat <u16> <u32/u64/s8/s16/s32/s64> : =l s+",
   "sat <u32> <u64/s8/s16/s32/s64> : =l s+",
   "sat <u64> <s8/s16/s32/s64> : =l s+",
   "sat <s8> <u8/u16/u32/u64/s16/s32/s64> : =l s+",
   "sat <s16> <u16/u32/u64/s32/s64> : =l s+",
   "sat <s32> <u32/u64/s64> : =l s+",
   "sat <s64> <u64> : =l s+",
   "$irnd [ftz] [sat] <$byteint> <f32> : =l s+",
   "$irnd [sat] <$byteint> <f16/f64> : =l s+",
   "$irnd <$byteint> <bf16> : =t s ; 7.8 sm_90",
   "$rnd [ftz] [sat] <f32> <$byteint> : =l s+",
   "$rnd [sat] <f16/f64> <$byteint> : =l s+",
   "$rnd <bf16> <$byteint> : =t s ; 7.8 sm_90",
   "[$irnd] [ftz] [sat] <f32> <f32> : =l s+",
   "[$irnd] [sat] <f64> <f64> : =l s+",
   "[$irnd] [sat] <f16> <f16> : =l s+",
   "[$irnd] <bf16> <bf16> : =t s ; 7.8 sm_90",
   "$rnd [ftz] [sat] <f32> <f64> : =l s+",
   "[ftz] [sat] <f64> <f32> : =l s+",
   "$rnd [ftz] [sat] <f16> <f32> : =l s+",
   "rn/rz relu [satfinite] <f16> <f32> : =l s+ ; 7.0 sm_80",
   "rn/rz [relu] satfinite <f16> <f32> : =l s+ ; 8.1 sm_80",
   "$rnd [sat] <f16> <f64> : =l s+",
   "[ftz] [sat] <f32> <f16> : =l s+",
   "[sat] <f64> <f16> : =l s+",
   "rn/rz [relu] <bf16> <f32> : =t s ; 7.0 sm_80",
   "rn/rz [relu] satfinite <bf16> <f32> : =t s ; 8.1 sm_80",
   "$rnd [ftz] <bf16> <f32> : =t s ; 7.8 sm_90",
   "$rnd <bf16> <f64> : =t s ; 7.8 sm_90",
   "[$rnd] <bf16> <f16> : =t s ; 7.8 sm_90",
   "[$rnd] [ftz] <f32> <bf16> : =t s ; 7.1 sm_80",
   "[$rnd] <f64> <bf16> : =t s ; 7.8 sm_90",
   "[$rnd] <f16> <bf16> : =t s ; 7.8 sm_90",
   "rn/rz [relu] <f16x2/bf16x2> <f32> : =l s+ s+ ; 7.0 sm_80",
   "rn/rz [relu] satfinite <f16x2/bf16x2> <f32> : =l s+ s+ ; 8.1 sm_80",
   "rs [relu] [satfinite] <f16x2/bf16x2> <f32> : =t s s b32 ; 8.7 sm_100a/sm_103a",
   "rna [satfinite] <tf32> <f32> : =b32 s ; 7.0 sm_80",
   "rn/rz [relu] [satfinite] <tf32> <f32> : =b32 s ; 7.8 sm_90",
   "rn/rz satfinite [relu] <$narrow/ue8m0x2> <f32> : =x x x ; 7.8 sm_89",
   "rn/rz satfinite [relu] <$narrow/ue8m0x2> <f16x2/bf16x2> : =x x ; 7.8 sm_89",
   "rs satfinite [relu] <e4m3x4/e5m2x4/e2m3x4/e3m2x4/e2m1x4> <f32> : =x x x ; 8.7 sm_100a/sm_103a",
   "rn [relu] <f16x2> <$narrow> : =x x ; 7.8 sm_89",
   "rn <bf16x2> <ue8m0x2> : =x x ; 8.6 sm_100",
   "^pack sat <u16/s16> <s32> : =u32+ u32+ u32+ ; 6.5 sm_72",
   "^pack sat <u8/s8> <s32> <b32> : =u32+ u32+ u32+ u32+ ; 6.5 sm_72",
   "^pack sat <u2/s2/u4/s4> <s32> <b32> : =u32+ u32+ u32+ u32+ ; 6.5 sm_75"
  ],
  "cvta": [
   "[^to] global/local/const/shared/shared::cta/shared::cluster <u32/u64> : =t address ; 2.0 sm_20",
   "[^to] param/param::entry <u32/u64> : =t address ; 7.7 sm_70"
  ],
  "getctarank": [
   "[shared::cluster] <u32/u64> : =u32 address ; 7.8 sm_90"
  ],
  "isspacep": [
   "global/local/const/$shared/param/param::entry : =p x ; 2.0 sm_20"
  ],
  "mapa": [
   "[shared::cluster] <u32/u64> : =t address u32 ; 7.8 sm_90"
  ],
  "mov": [
   "<u16/u32/u64/s16/s32/s64/f32/f64> : =t moved",
   "<b16/b32/b64/b128> : =packed packed",
   "<pred> : =p p",
   "v2/v4 <$bits/$int/f32/f64> : =tv tvs"
  ],
  "prefetch": [
   "[global/local] L1/L2 : [m] ; 2.0 sm_20",
   "[global] L2::evict_last/L2::evict_normal : [m] ; 7.4 sm_80",
   "[const/param] tensormap : [m] ; 8.0 sm_90"
  ],
  "prefetchu": [
   "L1 : [m] ; 2.0 sm_20"
  ],
  "ld": [
   "[global/local/$shared/const/param/param::entry/param::func] [ca/cg/cs/lu/cv] [$evict1] [$fetch] [$vec] <$memory> : =lv [m]",
   "[global] [ca/cg/cs/lu/cv] [$evict1] L2::cache_hint [$fetch] [$vec] <$memory> : =lv [m] u64",
   "weak [global/local/$shared/const/param/param::entry/param::func] [ca/cg/cs/lu/cv] [$evict1] [$fetch] [$vec] <$memory> : =lv [m] ; 6.0 sm_30",
   "weak [global] [ca/cg/cs/lu/cv] [$evict1] L2::cache_hint [$fetch] [$vec] <$memory> : =lv [m] u64 ; 7.4 sm_80",
   "volatile [global/$shared] [$fetch] [$vec] <$memory> : =lv [m]",
   "relaxed/acquire $scope [global/$shared] [$evict1] [$fetch] [$vec] <$memory> : =lv [m] ; 6.0 sm_70",
   "relaxed/acquire $scope [global] [$evict1] L2::cache_hint [$fetch] [$vec] <$memory> : =lv [m] u64 ; 7.4 sm_80",
   "mmio relaxed sys [global] <$memory> : =lv [m] ; 8.2 sm_70",
   "nc global [ca/cg/cs] [$evict1] [$fetch] [$vec] <$memory> : =lv [m] ; 3.1 sm_32",
   "nc global [ca/cg/cs] [$evict1] L2::cache_hint [$fetch] [$vec] <$memory> : =lv [m] u64 ; 7.4 sm_80",
   "global [nc] [weak] [$evict1] [$evict2] [$fetch] v8 <b32/u32/s32/f32> : =lv256 [m] ; 8.8 sm_100",
   "global [nc] [weak] [$evict1] [$evict2] [$fetch] v4 <b64/u64/s64/f64> : =lv256 [m] ; 8.8 sm_100"
  ],
  "ldu": [
   "[global] [$vec] <$memory> : =lv [m] ; 2.0 sm_20"
  ],
  "st": [
   "[$space/param/param::func] [wb/cg/cs/wt] [$evict1] [$vec] <$memory> : [m] lv",
   "[global] [wb/cg/cs/wt] [$evict1] L2::cache_hint [$vec] <$memory> : [m] lv u64 ; 7.4 sm_80",
   "weak [$space/param/param::func] [wb/cg/cs/wt] [$evict1] [$vec] <$memory> : [m] lv ; 6.0 sm_30",
   "weak [global] [wb/cg/cs/wt] [$evict1] L2::cache_hint [$vec] <$memory> : [m] lv u64 ; 7.4 sm_80",
   "volatile [global/$shared] [$vec] <$memory> : [m] lv",
   "relaxed/release $scope [global/$shared] [$evict1] [$vec] <$memory> : [m] lv ; 6.0 sm_70",
   "relaxed/release $scope [global] [$evict1] L2::cache_hint [$vec] <$memory> : [m] lv u64 ; 7.4 sm_80",
   "mmio relaxed sys [global] <$memory> : [m] lv ; 8.2 sm_70",
   "global [weak] [$evict1] [$evict2] v8 <b32/u32/s32/f32> : [m] lv256 ; 8.8 sm_100",
   "global [weak] [$evict1] [$evict2] v4 <b64/u64/s64/f64> : [m] lv256 ; 8.8 sm_100",
   "async [weak] [shared::cluster] mbarrier::complete_tx::bytes [v2/v4] <b32/b64/u32/u64/s32/s64/f32/f64> : [m] tv [m] ; 8.1 sm_90",
   "async mmio release $scope [global] <b8/b16/b32/b64/u8/u16/u32/u64/s8/s16/s32/s64/f32/f64> : [m] l ; 8.7 sm_100",
   "bulk [weak] [shared::cta/shared] : [m] x x ; 8.6 sm_100"
  ],
  "atom": [
   "[relaxed/acquire/release/acq_rel] [$scope] [global/$shared] cas <b32/b64/b128> : =t_ [m] t t",
   "[relaxed/acquire/release/acq_rel] [$scope] [global/$shared] cas <b16> : =t_ [m] t t ; 6.3 sm_70",
   "[relaxed/acquire/release/acq_rel] [$scope] [global/$shared] exch <b32/b64/b128> : =t_ [m] t",
   "[relaxed/acquire/release/acq_rel] [$scope] [global/$shared] $bool <b32/b64> : =t_ [m] t",
   "[relaxed/acquire/release/acq_rel] [$scope] [global/$shared] add <u32/s32/u64/f32/f64> : =t_ [m] t",
   "[relaxed/acquire/release/acq_rel] [$scope] [global/$shared] inc/dec <u32> : =t_ [m] t",
   "[relaxed/acquire/release/acq_rel] [$scope] [global/$shared] min/max <u32/s32/u64/s64> : =t_ [m] t",
   "[relaxed/acquire/release/acq_rel] [$scope] [global/$shared] add noftz <f16/f16x2> : =t_ [m] t ; 6.2 sm_60",
   "[relaxed/acquire/release/acq_rel] [$scope] [global/$shared] add noftz <bf16/bf16x2> : =t_ [m] t ; 7.8 sm_90",
   "[relaxed/acquire/release/acq_rel] [$scope] [global] add $vec <f32> : =tv_ [m] tv ; 8.1 sm_90",
   "[relaxed/acquire/release/acq_rel] [$scope] [global] add/min/max $vec noftz <f16/f16x2/bf16/bf16x2> : =tv_ [m] tv ; 8.1 sm_90",
   "[relaxed/acquire/release/acq_rel] [$scope] [global] cas/exch/add/and/or/xor/inc/dec/min/max [noftz] [$vec] L2::cache_hint <b16/b32/b64/b128/u32/s32/u64/s64/f32/f64/f16/f16x2/bf16/bf16x2> : =x [m] x x x? ; 7.4 sm_80"
  ],
  "red": [
   "[relaxed/release] [$scope] [global/$shared] $bool <b32/b64> : [m] t",
   "[relaxed/release] [$scope] [global/$shared] add <u32/s32/u64/f32/f64> : [m] t",
   "[relaxed/release] [$scope] [global/$shared] inc/dec <u32> : [m] t",
   "[relaxed/release] [$scope] [global/$shared] min/max <u32/s32/u64/s64> : [m] t",
   "[relaxed/release] [$scope] [global/$shared] add noftz <f16/f16x2> : [m] t ; 6.2 sm_60",
   "[relaxed/release] [$scope] [global/$shared] add noftz <bf16/bf16x2> : [m] t ; 7.8 sm_90",
   "[relaxed/release] [$scope] [global] add $vec <f32> : [m] tv ; 8.1 sm_90",
   "[relaxed/release] [$scope] [global] add/min/max $vec noftz <f16/f16x2/bf16/bf16x2> : [m] tv ; 8.1 sm_90",
   "[relaxed/release] [$scope] [global] add/and/or/xor/inc/dec/min/max [noftz] [$vec] L2::cache_hint <b32/b64/u32/s32/u64/s64/f32/f64/f16/f16x2/bf16/bf16x2> : [m] x x ; 7.4 sm_80",
   "async relaxed $scope shared::cluster [global] [mbarrier::complete_tx::bytes] [mmio] [release] add/and/or/xor/inc/dec/min/max <u32/s32/u64/s64/b32/b64> : [m] x x? ; 8.1 sm_90"
  ],
  "bra": [
   "[uni] : x"
  ],
  "brkpt": [
   " : "
  ],
  "brx": [
   "^idx [uni] : b32 x ; 6.0 sm_30"
  ],
  "exit": [
   " : "
  ],
  "ret": [
   "[uni] : "
  ],
  "trap": [
   " : "
  ],
  "nanosleep": [
   "<u32> : t ; 6.3 sm_70"
  ],
  "pmevent": [
   " : #0..15",
   "mask : #0..65535 ; 3.0 sm_20"
  ],
  "griddepcontrol": [
   "wait/launch_dependents : ; 7.8 sm_90"
  ],
  "activemask": [
   "<b32> : =t ; 6.2 sm_30"
  ],
  "bar": [
   "^sync : u32:0..15 u32:%32?",
   "^cta ^sync : u32:0..15 u32:%32? ; 7.8 sm_30",
   "^arrive : u32:0..15 u32:%32 ; 2.0 sm_20",
   "^cta ^arrive : u32:0..15 u32:%32 ; 7.8 sm_30",
   "^red popc <u32> : =t u32:0..15 p ; 2.0 sm_20",
   "^cta ^red popc <u32> : =t u32:0..15 p ; 7.8 sm_30",
   "^red popc <u32> : =t u32:0..15 u32:%32 p ; 2.0 sm_20",
   "^cta ^red popc <u32> : =t u32:0..15 u32:%32 p ; 7.8 sm_30",
   "^red and/or <pred> : =p u32:0..15 p ; 2.0 sm_20",
   "^cta ^red and/or <pred> : =p u32:0..15 p ; 7.8 sm_30",
   "^red and/or <pred> : =p u32:0..15 u32:%32 p ; 2.0 sm_20",
   "^cta ^red and/or <pred> : =p u32:0..15 u32:%32 p ; 7.8 sm_30",
   "^warp ^sync : u32 ; 6.0 sm_30"
  ],
  "barrier": [
   "[aligned] sync : u32:0..15 u32:%32? ; 6.0 sm_30",
   "^cta [aligned] sync : u32:0..15 u32:%32? ; 7.8 sm_30",
   "^arrive [aligned] : u32:0..15 u32:%32 ; 6.0 sm_30",
   "^cta ^arrive [aligned] : u32:0..15 u32:%32 ; 7.8 sm_30",
   "^red [aligned] popc <u32> : =t u32:0..15 p ; 6.0 sm_30",
   "^cta ^red [aligned] popc <u32> : =t u32:0..15 p ; 7.8 sm_30",
   "^red [aligned] popc <u32> : =t u32:0..15 u32:%32 p ; 6.0 sm_30",
   "^cta ^red [aligned] popc <u32> : =t u32:0..15 u32:%32 p ; 7.8 sm_30",
   "^red [aligned] and/or <pred> : =p u32:0..15 p ; 6.0 sm_30",
   "^cta ^red [aligned] and/or <pred> : =p u32:0..15 p ; 7.8 sm_30",
   "^red [aligned] and/or <pred> : =p u32:0..15 u32:%32 p ; 6.0 sm_30",
   "^cta ^red [aligned] and/or <pred> : =p u32:0..15 u32:%32 p ; 7.8 sm_30",
   "^cluster ^arrive [release/relaxed] [aligned] : ; 7.8 sm_90",
   "^cluster ^wait [acquire] [aligned] : ; 7.8 sm_90"
  ],
  "elect": [
   "sync : =b32_|p u32 ; 8.0 sm_90"
  ],
  "fence": [
   "[sc/acq_rel/acquire/release] $scope : ; 6.0 sm_70",
   "acquire sync_restrict::shared::cluster cluster : ; 8.6 sm_90",
   "release sync_restrict::shared::cta cluster : ; 8.6 sm_90",
   "mbarrier_init release cluster : ; 8.0 sm_90",
   "^proxy ^alias : ; 7.5 sm_70",
   "^proxy ^async [global/shared::cta/shared::cluster] : ; 8.0 sm_90",
   "^proxy ^async::generic acquire sync_restrict::shared::cluster cluster : ; 8.6 sm_90",
   "^proxy ^async::generic release sync_restrict::shared::cta cluster : ; 8.6 sm_90",
   "^proxy ^tensormap::generic release $scope : ; 8.3 sm_90",
   "^proxy ^tensormap::generic acquire $scope : [m] #128 ; 8.3 sm_90"
  ],
  "match": [
   "any sync <b32/b64> : =u32 t u32 ; 6.0 sm_70",
   "all sync <b32/b64> : =u32_[|p] t u32 ; 6.0 sm_70"
  ],
  "membar": [
   "cta/gl : ",
   "sys : ; 2.0 sm_20",
   "proxy alias : ; 7.5 sm_70"
  ],
  "redux": [
   "sync add/min/max <u32/s32> : =t t u32 ; 7.0 sm_80",
   "sync $bool <b32> : =u32 u32 u32 ; 7.0 sm_80",
   "sync min/max [abs] [NaN] <f32> : =t t u32 ; 8.6 sm_100a/sm_100f/sm_103a/sm_103f"
  ],
  "shfl": [
   "sync up/down/bfly/idx <b32> : =t[|p] t b32 b32 u32 ; 6.0 sm_30",
   "up/down/bfly/idx <b32> : =t[|p] t b32 b32 ; 3.0 sm_30 ; until 6.3 below sm_70"
  ],
  "vote": [
   "sync all/any/uni <pred> : =p p u32 ; 6.0 sm_30",
   "sync ballot <b32> : =t p u32 ; 6.0 sm_30",
   "all/any/uni <pred> : =p p ; until 6.3 below sm_70",
   "ballot <b32> : =t p ; 2.0 sm_20 ; until 6.3 below sm_70"
  ],
  "cp": [
   "^async ca shared/shared::cta global [L2::64B/L2::128B/L2::256B] : [m] [m] #4 u32:0..4? ; 7.0 sm_80",
   "^async ca shared/shared::cta global [L2::64B/L2::128B/L2::256B] : [m] [m] #8 u32:0..8? ; 7.0 sm_80",
   "^async ca/cg shared/shared::cta global [L2::64B/L2::128B/L2::256B] : [m] [m] #16 u32:0..16? ; 7.0 sm_80",
   "^async ca shared/shared::cta global [L2::64B/L2::128B/L2::256B] : [m] [m] #4 pr ; 7.0 sm_80",
   "^async ca shared/shared::cta global [L2::64B/L2::128B/L2::256B] : [m] [m] #8 pr ; 7.0 sm_80",
   "^async ca/cg shared/shared::cta global [L2::64B/L2::128B/L2::256B] : [m] [m] #16 pr ; 7.0 sm_80",
   "^async ca/cg shared/shared::cta global L2::cache_hint [L2::64B/L2::128B/L2::256B] : [m] [m] #4/8/16 x x? ; 7.4 sm_80",
   "^async ^commit_group/wait_all : ; 7.0 sm_80",
   "^async ^wait_group : # ; 7.0 sm_80",
   "^async ^mbarrier ^arrive [noinc] [shared/shared::cta] <b64> : [m] ; 7.0 sm_80",
   "^async ^bulk ^commit_group : ; 8.0 sm_90",
   "^async ^bulk ^wait_group [read] : # ; 8.0 sm_90",
   "^async ^bulk shared::cluster/shared::cta global mbarrier::complete_tx::bytes [multicast::cluster] [L2::cache_hint] : [m] [m] x [m] x? x? ; 8.0 sm_90",
   "^async ^bulk shared::cluster shared::cta mbarrier::complete_tx::bytes : [m] [m] x [m] ; 8.0 sm_90",
   "^async ^bulk global shared::cta bulk_group [L2::cache_hint] [cp_mask] : [m] [m] x x? x? ; 8.0 sm_90",
   "^async ^bulk ^prefetch L2 global [L2::cache_hint] : [m] x x? ; 8.0 sm_90",
   "^async ^bulk ^tensor 1d/2d/3d/4d/5d shared::cluster/shared::cta global [tile/tile::gather4/im2col/im2col::w/im2col::w::128] mbarrier::complete_tx::bytes [multicast::cluster] [cta_group::1/cta_group::2] [L2::cache_hint] : x x x x? x? x? ; 8.0 sm_90",
   "^async ^bulk ^tensor 1d/2d/3d/4d/5d global shared::cta [tile/tile::scatter4/im2col_no_offs] bulk_group [L2::cache_hint] : x x x? ; 8.0 sm_90",
   "^async ^bulk ^prefetch tensor 1d/2d/3d/4d/5d L2 global [tile/tile::gather4/im2col/im2col::w/im2col::w::128] [L2::cache_hint] : x x? x? ; 8.0 sm_90",
   "^reduce ^async ^bulk shared::cluster shared::cta mbarrier::complete_tx::bytes and/or/xor/add/inc/dec/min/max <b32/b64/u32/s32/u64/s64> : [m] [m] x [m] ; 8.0 sm_90",
   "^reduce ^async ^bulk global shared::cta bulk_group [L2::cache_hint] and/or/xor/add/inc/dec/min/max [noftz] <f16/bf16/b32/u32/s32/b64/u64/s64/f32/f64> : [m] [m] x x? ; 8.0 sm_90",
   "^reduce ^async ^bulk ^tensor 1d/2d/3d/4d/5d global shared::cta add/min/max/inc/dec/and/or/xor [tile/im2col_no_offs] bulk_group [L2::cache_hint] : x x x? ; 8.0 sm_90"
  ],
  "mbarrier": [
   "^init [shared/shared::cta] <b64> : [m] u32 ; 7.0 sm_80",
   "^inval [shared/shared::cta] <b64> : [m] ; 7.0 sm_80",
   "^arrive/arrive_drop [shared/shared::cta] <b64> : =u64 [m] u32? ; 7.0 sm_80",
   "^arrive/arrive_drop noComplete [shared/shared::cta] <b64> : =u64 [m] u32 ; 7.0 sm_80",
   "^arrive/arrive_drop [$shared] <b64> : =u64_ [m] u32? ; 8.0 sm_90",
   "^arrive/arrive_drop release/relaxed cta/cluster [$shared] <b64> : =u64_ [m] u32? ; 8.0 sm_90",
   "^arrive/arrive_drop noComplete release cta [$shared] <b64> : =u64_ [m] u32 ; 8.0 sm_90",
   "^arrive/arrive_drop ^expect_tx [$shared] <b64> : =u64_ [m] u32 ; 8.0 sm_90",
   "^arrive/arrive_drop ^expect_tx release/relaxed cta/cluster [$shared] <b64> : =u64_ [m] u32 ; 8.0 sm_90",
   "^test_wait [shared/shared::cta] <b64> : =p [m] u64 ; 7.0 sm_80",
   "^test_wait ^parity [shared/shared::cta] <b64> : =p [m] u32:0..1 ; 7.1 sm_80",
   "^test_wait acquire/relaxed cta/cluster [shared/shared::cta] <b64> : =p [m] u64 ; 8.0 sm_90",
   "^test_wait ^parity acquire/relaxed cta/cluster [shared/shared::cta] <b64> : =p [m] u32:0..1 ; 8.0 sm_90",
   "^try_wait [shared/shared::cta] <b64> : =p [m] u64 u32? ; 7.8 sm_90",
   "^try_wait ^parity [shared/shared::cta] <b64> : =p [m] u32:0..1 u32? ; 7.8 sm_90",
   "^try_wait acquire/relaxed cta/cluster [shared/shared::cta] <b64> : =p [m] u64 u32? ; 8.0 sm_90",
   "^try_wait ^parity acquire/relaxed cta/cluster [shared/shared::cta] <b64> : =p [m] u32:0..1 u32? ; 8.0 sm_90",
   "^pending_count <b64> : =u32 u64 ; 7.0 sm_80",
   "^expect_tx/complete_tx [$shared] <b64> : [m] u32 ; 8.0 sm_90",
   "^expect_tx/complete_tx relaxed cta/cluster [$shared] <b64> : [m] u32 ; 8.0 sm_90"
  ],
  "vadd": [
   "[sat] <u32/s32> <u32/s32> <u32/s32> : =chosen chosen chosen",
   "[sat] [add/min/max] <u32/s32> <u32/s32> <u32/s32> : =chosen chosen chosen u32"
  ],
  "vsub": [
   "[sat] <u32/s32> <u32/s32> <u32/s32> : =chosen chosen chosen",
   "[sat] [add/min/max] <u32/s32> <u32/s32> <u32/s32> : =chosen chosen chosen u32"
  ],
  "vabsdiff": [
   "[sat] <u32/s32> <u32/s32> <u32/s32> : =chosen chosen chosen",
   "[sat] [add/min/max] <u32/s32> <u32/s32> <u32/s32> : =chosen chosen chosen u32"
  ],
  "vmin": [
   "[sat] <u32/s32> <u32/s32> <u32/s32> : =chosen chosen chosen",
   "[sat] [add/min/max] <u32/s32> <u32/s32> <u32/s32> : =chosen chosen chosen u32"
  ],
  "vmax": [
   "[sat] <u32/s32> <u32/s32> <u32/s32> : =chosen chosen chosen",
   "[sat] [add/min/max] <u32/s32> <u32/s32> <u32/s32> : =chosen chosen chosen u32"
  ],
  "vshl": [
   "clamp/wrap [sat] <u32/s32> <u32/s32> <u32> : =chosen chosen chosen",
   "clamp/wrap [sat] [add/min/max] <u32/s32> <u32/s32> <u32> : =chosen chosen chosen u32"
  ],
  "vshr": [
   "clamp/wrap [sat] <u32/s32> <u32/s32> <u32> : =chosen chosen chosen",
   "clamp/wrap [sat] [add/min/max] <u32/s32> <u32/s32> <u32> : =chosen chosen chosen u32"
  ]
 }
};
