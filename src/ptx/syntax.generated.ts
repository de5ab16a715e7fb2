// Generated from pipelines/isa/ptx-syntax.yaml by `npm run generate`. Do not edit.
// biome-ignore format: it is data
export const PTX_SYNTAX: {
  readonly versions: string;
  readonly targets: Readonly<Record<string, string>>;
  readonly modes: string;
  readonly unchecked: string;
  readonly sets: Readonly<Record<string, string>>;
  readonly words: Readonly<Record<string, string>>;
  readonly directives: Readonly<Record<string, string>>;
  readonly instructions: Readonly<Record<string, readonly string[]>>;
} = {
 "versions": "3.0 3.1 3.2 4.0 4.1 4.2 4.3 5.0 6.0 6.1 6.2 6.3 6.4 6.5 7.0 7.1 7.2 7.3 7.4 7.5 7.6 7.7 7.8 8.0 8.1 8.2 8.3 8.4 8.5 8.6 8.7 8.8 9.0",
 "targets": {
  "1.0": "sm_10 sm_11",
  "1.2": "sm_12 sm_13",
  "2.0": "sm_20 sm_21",
  "3.0": "sm_30",
  "3.1": "sm_35",
  "4.0": "sm_32 sm_50",
  "4.1": "sm_37 sm_52",
  "4.2": "sm_53",
  "5.0": "sm_60 sm_61 sm_62",
  "6.0": "sm_70",
  "6.1": "sm_72",
  "6.3": "sm_75",
  "7.0": "sm_80",
  "7.1": "sm_86",
  "7.3": "sm_88",
  "7.4": "sm_87",
  "7.8": "sm_89 sm_90",
  "8.0": "sm_90a",
  "8.6": "sm_100 sm_100a sm_101 sm_101a",
  "8.7": "sm_120 sm_120a",
  "8.8": "sm_100f sm_101f sm_103 sm_103a sm_103f sm_120f sm_121 sm_121a sm_121f",
  "9.0": "sm_110 sm_110a sm_110f"
 },
 "modes": "texmode_unified texmode_independent texmode_raw debug map_f64_to_f32",
 "unchecked": "call cctl cctlu",
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
  "texel": "u32 s32 f32 f16",
  "clamp": "trap clamp zero",
  "surfmem": "ca cg cs cv",
  "fp8": "e4m3 e5m2",
  "fp6": "e4m3 e5m2 e3m2 e2m3 e2m1",
  "bytes8": "s8 u8",
  "nibbles": "s4 u4",
  "group": "cta_group::1 cta_group::2",
  "collector": "collector::a::fill collector::a::use collector::a::lastuse collector::a::discard",
  "wscollector": "collector::b0::fill collector::b0::use collector::b0::lastuse collector::b0::discard collector::b1::fill collector::b1::use collector::b1::lastuse collector::b1::discard collector::b2::fill collector::b2::use collector::b2::lastuse collector::b2::discard collector::b3::fill collector::b3::use collector::b3::lastuse collector::b3::discard",
  "narrow": "e4m3x2 e5m2x2 e2m3x2 e3m2x2 e2m1x2"
 },
 "words": {
  "shared::cta": "7.8",
  "shared::cluster": "7.8",
  "param::entry": "8.3",
  "param::func": "8.3",
  "cluster": "7.8 sm_90",
  "b128": "8.3 sm_70",
  "texref": "1.5",
  "samplerref": "1.5",
  "surfref": "1.5",
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
  "L2::cache_hint": "7.4 sm_80",
  "f16x2": "sm_53",
  "cta_group::1": "8.6 sm_100a",
  "cta_group::2": "8.6 sm_100a"
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
   "$floatcmp [ftz] <u32/s32/f32/f16> <f32> : =t s s",
   "$floatcmp <bf16> <f32> : =t s s",
   "$floatcmp <u32/s32/f32/f16/bf16> <f64> : =t s s",
   "$floatcmp [ftz] <f16> <f16> : =t s s ; 4.2 sm_53",
   "$floatcmp <bf16> <f16> : =t s s ; 7.8 sm_90",
   "$floatcmp [ftz] <u16/s16/u32/s32> <f16> : =t s s ; 6.5 sm_53",
   "$floatcmp [ftz] <f16x2> <f16x2> : =t s s ; 4.2 sm_53",
   "$floatcmp [ftz] <u32/s32> <f16x2> : =t s s ; 6.5 sm_53",
   "$floatcmp <bf16/u16/s16/u32/s32> <bf16> : =t s s ; 7.8 sm_90",
   "$floatcmp <bf16x2/u32/s32> <bf16x2> : =t s s ; 7.8 sm_90",
   "$equality $bool <u32/s32/f32/f16/bf16> <$bits> : =t s s p",
   "$signedcmp $bool <u32/s32/f32/f16/bf16> <$sint> : =t s s p",
   "$unsignedcmp $bool <u32/s32/f32/f16/bf16> <u16/u32/u64> : =t s s p",
   "$floatcmp $bool [ftz] <u32/s32/f32/f16> <f32> : =t s s p",
   "$floatcmp $bool <bf16> <f32> : =t s s p",
   "$floatcmp $bool <u32/s32/f32/f16/bf16> <f64> : =t s s p",
   "$floatcmp $bool [ftz] <f16> <f16> : =t s s p ; 4.2 sm_53",
   "$floatcmp $bool <bf16> <f16> : =t s s p ; 7.8 sm_90",
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
   "rn satfinite [relu] <e4m3x2/e5m2x2> <f32> : =b16 s s ; 7.8 sm_89",
   "rn satfinite [relu] <e4m3x2/e5m2x2> <f16x2> : =b16 b32 ; 7.8 sm_89",
   "rn satfinite [relu] <e2m3x2/e3m2x2> <f32> : =b16 s s ; 8.6 sm_100a",
   "rn satfinite [relu] <e2m1x2> <f32> : =x s s ; 8.6 sm_100a",
   "rz/rp [satfinite] <ue8m0x2> <f32> : =b16 s s ; 8.6 sm_100a",
   "rz/rp [satfinite] <ue8m0x2> <bf16x2> : =b16 b32 ; 8.6 sm_100a",
   "rs satfinite [relu] <e4m3x4/e5m2x4/e2m3x4/e3m2x4> <f32> : =b32 4*f32 b32 ; 8.7 sm_100a/sm_103a",
   "rs satfinite [relu] <e2m1x4> <f32> : =b16 4*f32 b32 ; 8.7 sm_100a/sm_103a",
   "rn [relu] <f16x2> <e4m3x2/e5m2x2> : =b32 b16 ; 7.8 sm_89",
   "rn [relu] <f16x2> <e2m3x2/e3m2x2> : =b32 b16 ; 8.6 sm_100a",
   "rn [relu] <f16x2> <e2m1x2> : =b32 x ; 8.6 sm_100a",
   "rn <bf16x2> <ue8m0x2> : =b32 b16 ; 8.6 sm_100a",
   "^pack sat <u16/s16> <s32> : =u32+ u32+ u32+ ; 6.5 sm_72",
   "^pack sat <u8/s8> <s32> <b32> : =u32+ u32+ u32+ b32+ ; 6.5 sm_72",
   "^pack sat <u2/s2/u4/s4> <s32> <b32> : =u32+ u32+ u32+ b32+ ; 6.5 sm_75"
  ],
  "cvta": [
   "[^to] global/local/const/shared/shared::cta/shared::cluster <u32/u64> : =t address ; 2.0 sm_20",
   "[^to] param/param::entry <u32/u64> : =t address ; 7.7 sm_70"
  ],
  "getctarank": [
   "[shared::cluster] <u32/u64> : =u32 address ; 7.8 sm_90"
  ],
  "isspacep": [
   "global/local/const/$shared/param/param::entry : =p u32 ; 2.0 sm_20",
   "global/local/const/$shared/param/param::entry : =p u64 ; 2.0 sm_20"
  ],
  "mapa": [
   "[shared::cluster] <u32/u64> : =t address u32 ; 7.8 sm_90"
  ],
  "mov": [
   "<u16/u32/u64/s16/s32/s64/f32/f64> : =t moved",
   "<b16/b32/b64/b128> : =packed packed",
   "<pred> : =p ps",
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
   "global [nc] [weak] [$evict1] [$evict2] [$fetch] v4 <b64/u64/s64/f64> : =lv256 [m] ; 8.8 sm_100",
   "global [nc] [weak] [$evict1] [$evict2] L2::cache_hint [$fetch] v8 <b32/u32/s32/f32> : =lv256 [m] u64 ; 8.8 sm_100",
   "global [nc] [weak] [$evict1] [$evict2] L2::cache_hint [$fetch] v4 <b64/u64/s64/f64> : =lv256 [m] u64 ; 8.8 sm_100"
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
   "global [weak] [$evict1] [$evict2] L2::cache_hint v8 <b32/u32/s32/f32> : [m] lv256 u64 ; 8.8 sm_100",
   "global [weak] [$evict1] [$evict2] L2::cache_hint v4 <b64/u64/s64/f64> : [m] lv256 u64 ; 8.8 sm_100",
   "async [weak] [shared::cluster] mbarrier::complete_tx::bytes [v2/v4] <b32/b64/u32/u64/s32/s64/f32/f64> : [m] tv [m] ; 8.1 sm_90",
   "async mmio release $scope [global] <b8/b16/b32/b64/u8/u16/u32/u64/s8/s16/s32/s64/f32/f64> : [m] l ; 8.7 sm_100",
   "bulk [weak] [shared::cta/shared] : [m] u64 #0 ; 8.6 sm_100"
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
   "^async relaxed cluster shared::cluster mbarrier::complete_tx::bytes inc/dec <u32> : [m] t [m] ; 8.1 sm_90",
   "^async relaxed cluster shared::cluster mbarrier::complete_tx::bytes min/max <u32/s32> : [m] t [m] ; 8.1 sm_90",
   "^async relaxed cluster shared::cluster mbarrier::complete_tx::bytes add <u32/s32/u64> : [m] t [m] ; 8.1 sm_90",
   "^async relaxed cluster shared::cluster mbarrier::complete_tx::bytes $bool <b32> : [m] t [m] ; 8.1 sm_90",
   "^async relaxed/release $scope [global] add <u32/s32/u64/s64> : [m] t ; 8.7 sm_100",
   "^async relaxed/release $scope [global] inc/dec <u32> : [m] t ; 8.7 sm_100",
   "^async relaxed/release $scope [global] min/max <u32/s32> : [m] t ; 8.7 sm_100",
   "^async relaxed/release $scope [global] $bool <b32> : [m] t ; 8.7 sm_100",
   "^async mmio release $scope [global] add <u32/s32/u64/s64> : [m] t ; 8.7 sm_100",
   "^async mmio release $scope [global] inc/dec <u32> : [m] t ; 8.7 sm_100",
   "^async mmio release $scope [global] min/max <u32/s32/u64/s64> : [m] t ; 8.7 sm_100",
   "^async mmio release $scope [global] $bool <b32/b64> : [m] t ; 8.7 sm_100"
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
   "^async ^bulk shared::cluster global mbarrier::complete_tx::bytes : [m] [m] u32:%16 [m] ; 8.0 sm_90",
   "^async ^bulk shared::cluster global mbarrier::complete_tx::bytes L2::cache_hint : [m] [m] u32:%16 [m] u64 ; 8.0 sm_90",
   "^async ^bulk shared::cluster global mbarrier::complete_tx::bytes multicast::cluster : [m] [m] u32:%16 [m] u16 ; 8.0 sm_90",
   "^async ^bulk shared::cluster global mbarrier::complete_tx::bytes multicast::cluster L2::cache_hint : [m] [m] u32:%16 [m] u16 u64 ; 8.0 sm_90",
   "^async ^bulk shared::cta global mbarrier::complete_tx::bytes : [m] [m] u32:%16 [m] ; 8.6 sm_90",
   "^async ^bulk shared::cta global mbarrier::complete_tx::bytes L2::cache_hint : [m] [m] u32:%16 [m] u64 ; 8.6 sm_90",
   "^async ^bulk shared::cluster shared::cta mbarrier::complete_tx::bytes : [m] [m] u32:%16 [m] ; 8.0 sm_90",
   "^async ^bulk global shared::cta bulk_group : [m] [m] u32:%16 ; 8.0 sm_90",
   "^async ^bulk global shared::cta bulk_group L2::cache_hint : [m] [m] u32:%16 u64 ; 8.0 sm_90",
   "^async ^bulk global shared::cta bulk_group cp_mask : [m] [m] u32:%16 u16 ; 8.6 sm_100",
   "^async ^bulk global shared::cta bulk_group L2::cache_hint cp_mask : [m] [m] u32:%16 u64 u16 ; 8.6 sm_100",
   "^async ^bulk ^prefetch L2 global : [m] u32:%16 ; 8.0 sm_90",
   "^async ^bulk ^prefetch L2 global L2::cache_hint : [m] u32:%16 u64 ; 8.0 sm_90",
   "^async ^bulk ^tensor 1d/2d/3d/4d/5d shared::cluster global [tile] mbarrier::complete_tx::bytes [$group] : [m] [m,d*u32] [m] ; 8.0 sm_90",
   "^async ^bulk ^tensor 1d/2d/3d/4d/5d shared::cluster global [tile] mbarrier::complete_tx::bytes [$group] L2::cache_hint : [m] [m,d*u32] [m] u64 ; 8.0 sm_90",
   "^async ^bulk ^tensor 3d/4d/5d shared::cluster global im2col mbarrier::complete_tx::bytes [$group] : [m] [m,d*u32] [m] d-2*u16 ; 8.0 sm_90",
   "^async ^bulk ^tensor 3d/4d/5d shared::cluster global im2col mbarrier::complete_tx::bytes [$group] L2::cache_hint : [m] [m,d*u32] [m] d-2*u16 u64 ; 8.0 sm_90",
   "^async ^bulk ^tensor 3d/4d/5d shared::cluster global im2col::w/im2col::w::128 mbarrier::complete_tx::bytes [$group] : [m] [m,d*u32] [m] 2*u16 ; 8.6 sm_100",
   "^async ^bulk ^tensor 3d/4d/5d shared::cluster global im2col::w/im2col::w::128 mbarrier::complete_tx::bytes [$group] L2::cache_hint : [m] [m,d*u32] [m] 2*u16 u64 ; 8.6 sm_100",
   "^async ^bulk ^tensor 2d shared::cluster global tile::gather4 mbarrier::complete_tx::bytes [$group] : [m] [m,5*u32] [m] ; 8.6 sm_100",
   "^async ^bulk ^tensor 2d shared::cluster global tile::gather4 mbarrier::complete_tx::bytes [$group] L2::cache_hint : [m] [m,5*u32] [m] u64 ; 8.6 sm_100",
   "^async ^bulk ^tensor 1d/2d/3d/4d/5d shared::cluster global [tile] mbarrier::complete_tx::bytes multicast::cluster [$group] : [m] [m,d*u32] [m] u16 ; 8.0 sm_90",
   "^async ^bulk ^tensor 1d/2d/3d/4d/5d shared::cluster global [tile] mbarrier::complete_tx::bytes multicast::cluster [$group] L2::cache_hint : [m] [m,d*u32] [m] u16 u64 ; 8.0 sm_90",
   "^async ^bulk ^tensor 3d/4d/5d shared::cluster global im2col mbarrier::complete_tx::bytes multicast::cluster [$group] : [m] [m,d*u32] [m] d-2*u16 u16 ; 8.0 sm_90",
   "^async ^bulk ^tensor 3d/4d/5d shared::cluster global im2col mbarrier::complete_tx::bytes multicast::cluster [$group] L2::cache_hint : [m] [m,d*u32] [m] d-2*u16 u16 u64 ; 8.0 sm_90",
   "^async ^bulk ^tensor 3d/4d/5d shared::cluster global im2col::w/im2col::w::128 mbarrier::complete_tx::bytes multicast::cluster [$group] : [m] [m,d*u32] [m] 2*u16 u16 ; 8.6 sm_100",
   "^async ^bulk ^tensor 3d/4d/5d shared::cluster global im2col::w/im2col::w::128 mbarrier::complete_tx::bytes multicast::cluster [$group] L2::cache_hint : [m] [m,d*u32] [m] 2*u16 u16 u64 ; 8.6 sm_100",
   "^async ^bulk ^tensor 2d shared::cluster global tile::gather4 mbarrier::complete_tx::bytes multicast::cluster [$group] : [m] [m,5*u32] [m] u16 ; 8.6 sm_100",
   "^async ^bulk ^tensor 2d shared::cluster global tile::gather4 mbarrier::complete_tx::bytes multicast::cluster [$group] L2::cache_hint : [m] [m,5*u32] [m] u16 u64 ; 8.6 sm_100",
   "^async ^bulk ^tensor 1d/2d/3d/4d/5d shared::cta global [tile] mbarrier::complete_tx::bytes [$group] : [m] [m,d*u32] [m] ; 8.6 sm_90",
   "^async ^bulk ^tensor 1d/2d/3d/4d/5d shared::cta global [tile] mbarrier::complete_tx::bytes [$group] L2::cache_hint : [m] [m,d*u32] [m] u64 ; 8.6 sm_90",
   "^async ^bulk ^tensor 3d/4d/5d shared::cta global im2col mbarrier::complete_tx::bytes [$group] : [m] [m,d*u32] [m] d-2*u16 ; 8.6 sm_90",
   "^async ^bulk ^tensor 3d/4d/5d shared::cta global im2col mbarrier::complete_tx::bytes [$group] L2::cache_hint : [m] [m,d*u32] [m] d-2*u16 u64 ; 8.6 sm_90",
   "^async ^bulk ^tensor 3d/4d/5d shared::cta global im2col::w/im2col::w::128 mbarrier::complete_tx::bytes [$group] : [m] [m,d*u32] [m] 2*u16 ; 8.6 sm_100",
   "^async ^bulk ^tensor 3d/4d/5d shared::cta global im2col::w/im2col::w::128 mbarrier::complete_tx::bytes [$group] L2::cache_hint : [m] [m,d*u32] [m] 2*u16 u64 ; 8.6 sm_100",
   "^async ^bulk ^tensor 2d shared::cta global tile::gather4 mbarrier::complete_tx::bytes [$group] : [m] [m,5*u32] [m] ; 8.6 sm_100",
   "^async ^bulk ^tensor 2d shared::cta global tile::gather4 mbarrier::complete_tx::bytes [$group] L2::cache_hint : [m] [m,5*u32] [m] u64 ; 8.6 sm_100",
   "^async ^bulk ^tensor 1d/2d/3d/4d/5d global shared::cta [tile] bulk_group : [m,d*u32] [m] ; 8.0 sm_90",
   "^async ^bulk ^tensor 1d/2d/3d/4d/5d global shared::cta [tile] bulk_group L2::cache_hint : [m,d*u32] [m] u64 ; 8.0 sm_90",
   "^async ^bulk ^tensor 3d/4d/5d global shared::cta im2col_no_offs bulk_group : [m,d*u32] [m] ; 8.0 sm_90",
   "^async ^bulk ^tensor 3d/4d/5d global shared::cta im2col_no_offs bulk_group L2::cache_hint : [m,d*u32] [m] u64 ; 8.0 sm_90",
   "^async ^bulk ^tensor 2d global shared::cta tile::scatter4 bulk_group : [m,5*u32] [m] ; 8.6 sm_100",
   "^async ^bulk ^tensor 2d global shared::cta tile::scatter4 bulk_group L2::cache_hint : [m,5*u32] [m] u64 ; 8.6 sm_100",
   "^async ^bulk ^prefetch ^tensor 1d/2d/3d/4d/5d L2 global [tile] : [m,d*u32] ; 8.0 sm_90",
   "^async ^bulk ^prefetch ^tensor 1d/2d/3d/4d/5d L2 global [tile] L2::cache_hint : [m,d*u32] u64 ; 8.0 sm_90",
   "^async ^bulk ^prefetch ^tensor 3d/4d/5d L2 global im2col : [m,d*u32] d-2*u16 ; 8.0 sm_90",
   "^async ^bulk ^prefetch ^tensor 3d/4d/5d L2 global im2col L2::cache_hint : [m,d*u32] d-2*u16 u64 ; 8.0 sm_90",
   "^async ^bulk ^prefetch ^tensor 3d/4d/5d L2 global im2col::w/im2col::w::128 : [m,d*u32] 2*u16 ; 8.6 sm_100",
   "^async ^bulk ^prefetch ^tensor 3d/4d/5d L2 global im2col::w/im2col::w::128 L2::cache_hint : [m,d*u32] 2*u16 u64 ; 8.6 sm_100",
   "^async ^bulk ^prefetch ^tensor 2d L2 global tile::gather4 : [m,5*u32] ; 8.6 sm_100",
   "^async ^bulk ^prefetch ^tensor 2d L2 global tile::gather4 L2::cache_hint : [m,5*u32] u64 ; 8.6 sm_100",
   "^reduce ^async ^bulk shared::cluster shared::cta mbarrier::complete_tx::bytes $bool <b32> : [m] [m] u32:%16 [m] ; 8.0 sm_90",
   "^reduce ^async ^bulk shared::cluster shared::cta mbarrier::complete_tx::bytes add/inc/dec/min/max <u32> : [m] [m] u32:%16 [m] ; 8.0 sm_90",
   "^reduce ^async ^bulk shared::cluster shared::cta mbarrier::complete_tx::bytes add/min/max <s32> : [m] [m] u32:%16 [m] ; 8.0 sm_90",
   "^reduce ^async ^bulk shared::cluster shared::cta mbarrier::complete_tx::bytes add <u64> : [m] [m] u32:%16 [m] ; 8.0 sm_90",
   "^reduce ^async ^bulk global shared::cta bulk_group $bool <b32/b64> : [m] [m] u32:%16 ; 8.0 sm_90",
   "^reduce ^async ^bulk global shared::cta bulk_group $bool <b32/b64> L2::cache_hint : [m] [m] u32:%16 u64 ; 8.0 sm_90",
   "^reduce ^async ^bulk global shared::cta bulk_group add <u32/s32/u64/f32/f64> : [m] [m] u32:%16 ; 8.0 sm_90",
   "^reduce ^async ^bulk global shared::cta bulk_group add <u32/s32/u64/f32/f64> L2::cache_hint : [m] [m] u32:%16 u64 ; 8.0 sm_90",
   "^reduce ^async ^bulk global shared::cta bulk_group inc/dec <u32> : [m] [m] u32:%16 ; 8.0 sm_90",
   "^reduce ^async ^bulk global shared::cta bulk_group inc/dec <u32> L2::cache_hint : [m] [m] u32:%16 u64 ; 8.0 sm_90",
   "^reduce ^async ^bulk global shared::cta bulk_group min/max <u32/s32/u64/s64> : [m] [m] u32:%16 ; 8.0 sm_90",
   "^reduce ^async ^bulk global shared::cta bulk_group min/max <u32/s32/u64/s64> L2::cache_hint : [m] [m] u32:%16 u64 ; 8.0 sm_90",
   "^reduce ^async ^bulk global shared::cta bulk_group min/max <f16/bf16> : [m] [m] u32:%16 ; 8.0 sm_90",
   "^reduce ^async ^bulk global shared::cta bulk_group min/max <f16/bf16> L2::cache_hint : [m] [m] u32:%16 u64 ; 8.0 sm_90",
   "^reduce ^async ^bulk global shared::cta bulk_group add noftz <f16/bf16> : [m] [m] u32:%16 ; 8.0 sm_90",
   "^reduce ^async ^bulk global shared::cta bulk_group add noftz <f16/bf16> L2::cache_hint : [m] [m] u32:%16 u64 ; 8.0 sm_90",
   "^reduce ^async ^bulk ^tensor 1d/2d/3d/4d/5d global shared::cta add/min/max/inc/dec/$bool [tile] bulk_group : [m,d*u32] [m] ; 8.0 sm_90",
   "^reduce ^async ^bulk ^tensor 1d/2d/3d/4d/5d global shared::cta add/min/max/inc/dec/$bool [tile] bulk_group L2::cache_hint : [m,d*u32] [m] u64 ; 8.0 sm_90",
   "^reduce ^async ^bulk ^tensor 3d/4d/5d global shared::cta add/min/max/inc/dec/$bool im2col_no_offs bulk_group : [m,d*u32] [m] ; 8.0 sm_90",
   "^reduce ^async ^bulk ^tensor 3d/4d/5d global shared::cta add/min/max/inc/dec/$bool im2col_no_offs bulk_group L2::cache_hint : [m,d*u32] [m] u64 ; 8.0 sm_90"
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
   "[sat] <u32/s32> <u32/s32> <u32/s32> : =u32 chosen chosen",
   "[sat] [add/min/max] <u32/s32> <u32/s32> <u32/s32> : =chosen chosen chosen u32"
  ],
  "vsub": [
   "[sat] <u32/s32> <u32/s32> <u32/s32> : =u32 chosen chosen",
   "[sat] [add/min/max] <u32/s32> <u32/s32> <u32/s32> : =chosen chosen chosen u32"
  ],
  "vabsdiff": [
   "[sat] <u32/s32> <u32/s32> <u32/s32> : =u32 chosen chosen",
   "[sat] [add/min/max] <u32/s32> <u32/s32> <u32/s32> : =chosen chosen chosen u32"
  ],
  "vmin": [
   "[sat] <u32/s32> <u32/s32> <u32/s32> : =u32 chosen chosen",
   "[sat] [add/min/max] <u32/s32> <u32/s32> <u32/s32> : =chosen chosen chosen u32"
  ],
  "vmax": [
   "[sat] <u32/s32> <u32/s32> <u32/s32> : =u32 chosen chosen",
   "[sat] [add/min/max] <u32/s32> <u32/s32> <u32/s32> : =chosen chosen chosen u32"
  ],
  "vshl": [
   "clamp/wrap [sat] <u32/s32> <u32/s32> <u32> : =u32 chosen chosen",
   "clamp/wrap [sat] [add/min/max] <u32/s32> <u32/s32> <u32> : =chosen chosen chosen u32"
  ],
  "vshr": [
   "clamp/wrap [sat] <u32/s32> <u32/s32> <u32> : =u32 chosen chosen",
   "clamp/wrap [sat] [add/min/max] <u32/s32> <u32/s32> <u32> : =chosen chosen chosen u32"
  ],
  "mma": [
   "sync aligned m8n8k4 row/col row/col <f16> <f16> <f16> <f16> : =4*f16x2 2*f16x2 2*f16x2 4*f16x2 ; 6.4 sm_70",
   "sync aligned m8n8k4 row/col row/col <f32> <f16> <f16> <f16> : =8*f32 2*f16x2 2*f16x2 4*f16x2 ; 6.4 sm_70",
   "sync aligned m8n8k4 row/col row/col <f32> <f16> <f16> <f32> : =8*f32 2*f16x2 2*f16x2 8*f32 ; 6.4 sm_70",
   "sync aligned m16n8k8 row col <f16> <f16> <f16> <f16> : =2*f16x2 2*f16x2 1*f16x2 2*f16x2 ; 6.5 sm_75",
   "sync aligned m16n8k8 row col <f32> <f16> <f16> <f32> : =4*f32 2*f16x2 1*f16x2 4*f32 ; 6.5 sm_75",
   "sync aligned m16n8k16 row col <f16> <f16> <f16> <f16> : =2*f16x2 4*f16x2 2*f16x2 2*f16x2 ; 7.0 sm_80",
   "sync aligned m16n8k16 row col <f32> <f16/bf16> <f16/bf16> <f32> : =4*f32 4*f16x2 2*f16x2 4*f32 ; 7.0 sm_80",
   "sync aligned m16n8k8 row col <f32> <bf16> <bf16> <f32> : =4*f32 2*bf16x2 1*bf16x2 4*f32 ; 7.0 sm_80",
   "sync aligned m16n8k4 row col <f32> <tf32> <tf32> <f32> : =4*f32 2*tf32 1*tf32 4*f32 ; 7.0 sm_80",
   "sync aligned m16n8k8 row col <f32> <tf32> <tf32> <f32> : =4*f32 4*tf32 2*tf32 4*f32 ; 7.0 sm_80",
   "sync aligned m8n8k4 row col [$rnd] <f64> <f64> <f64> <f64> : =2*f64 1*f64 1*f64 2*f64 ; 7.0 sm_80",
   "sync aligned m16n8k4 row col [$rnd] <f64> <f64> <f64> <f64> : =4*f64 2*f64 1*f64 4*f64 ; 7.8 sm_90",
   "sync aligned m16n8k8 row col [$rnd] <f64> <f64> <f64> <f64> : =4*f64 4*f64 2*f64 4*f64 ; 7.8 sm_90",
   "sync aligned m16n8k16 row col [$rnd] <f64> <f64> <f64> <f64> : =4*f64 8*f64 4*f64 4*f64 ; 7.8 sm_90",
   "sync aligned m8n8k16 row col [satfinite] <s32> <s8/u8> <s8/u8> <s32> : =2*u32 1*u32 1*u32 2*u32 ; 6.5 sm_75",
   "sync aligned m16n8k16 row col [satfinite] <s32> <s8/u8> <s8/u8> <s32> : =4*u32 2*u32 1*u32 4*u32 ; 7.0 sm_80",
   "sync aligned m16n8k32 row col [satfinite] <s32> <s8/u8> <s8/u8> <s32> : =4*u32 4*u32 2*u32 4*u32 ; 7.0 sm_80",
   "sync aligned m8n8k32 row col [satfinite] <s32> <s4/u4> <s4/u4> <s32> : =2*u32 1*u32 1*u32 2*u32 ; 6.5 sm_75",
   "sync aligned m16n8k32 row col [satfinite] <s32> <s4/u4> <s4/u4> <s32> : =4*u32 2*u32 1*u32 4*u32 ; 7.0 sm_80",
   "sync aligned m16n8k64 row col [satfinite] <s32> <s4/u4> <s4/u4> <s32> : =4*u32 4*u32 2*u32 4*u32 ; 7.0 sm_80",
   "sync aligned m8n8k128 row col xor/and popc <s32> <b1> <b1> <s32> : =2*u32 1*u32 1*u32 2*u32 ; 7.0 sm_75",
   "sync aligned m16n8k128 row col xor/and popc <s32> <b1> <b1> <s32> : =4*u32 2*u32 1*u32 4*u32 ; 7.0 sm_80",
   "sync aligned m16n8k256 row col xor/and popc <s32> <b1> <b1> <s32> : =4*u32 4*u32 2*u32 4*u32 ; 7.0 sm_80",
   "sync aligned m16n8k16 row col <f32> <$fp8> <$fp8> <f32> : =4*f32 2*u32 1*u32 4*f32 ; 8.7 sm_89",
   "sync aligned m16n8k16 row col <f16> <$fp8> <$fp8> <f16> : =2*f16x2 2*u32 1*u32 2*f16x2 ; 8.7 sm_89",
   "sync aligned m16n8k32 row col <f32> <$fp8> <$fp8> <f32> : =4*f32 4*u32 2*u32 4*f32 ; 8.4 sm_89",
   "sync aligned m16n8k32 row col <f16> <$fp8> <$fp8> <f16> : =2*f16x2 4*u32 2*u32 2*f16x2 ; 8.7 sm_89",
   "sync aligned kind::f8f6f4 m16n8k32 row col <f32> <$fp6> <$fp6> <f32> : =4*f32 4*u32 2*u32 4*f32 ; 8.7 sm_120a",
   "sync aligned kind::f8f6f4 m16n8k32 row col <f32> <$fp8> <$fp8> <f32> : =4*f32 4*u32 2*u32 4*f32 ; 8.7 sm_100a/sm_103a/sm_110a",
   "sync aligned kind::f8f6f4 m16n8k32 row col <f16> <$fp6> <$fp6> <f16> : =2*f16x2 4*u32 2*u32 2*f16x2 ; 8.7 sm_120a",
   "sync aligned kind::f8f6f4 m16n8k32 row col <f16> <$fp8> <$fp8> <f16> : =2*f16x2 4*u32 2*u32 2*f16x2 ; 8.7 sm_100a/sm_103a/sm_110a",
   "sync aligned kind::mxf8f6f4 block_scale [scale_vec::1X] m16n8k32 row col <f32> <$fp6> <$fp6> <f32> <ue8m0> : =4*f32 4*u32 2*u32 4*f32 u32v 2*u16 u32v 2*u16 ; 8.7 sm_120a",
   "sync aligned kind::mxf4/kind::mxf4nvf4 block_scale [scale_vec::2X] m16n8k64 row col <f32> <e2m1> <e2m1> <f32> <ue8m0> : =4*f32 4*u32 2*u32 4*f32 u32v 2*u16 u32v 2*u16 ; 8.7 sm_120a",
   "sync aligned kind::mxf4nvf4 block_scale scale_vec::4X m16n8k64 row col <f32> <e2m1> <e2m1> <f32> <ue4m3> : =4*f32 4*u32 2*u32 4*f32 u32v 2*u16 u32v 2*u16 ; 8.7 sm_120a",
   "sp sync aligned m16n8k16 row col <f16> <f16> <f16> <f16> : =2*f16x2 2*f16x2 2*f16x2 2*f16x2 u32rv #0..3 ; 7.1 sm_80",
   "sp::ordered_metadata sync aligned m16n8k16 row col <f16> <f16> <f16> <f16> : =2*f16x2 2*f16x2 2*f16x2 2*f16x2 u32rv #0..3 ; 8.5 sm_80",
   "sp sync aligned m16n8k32 row col <f16> <f16> <f16> <f16> : =2*f16x2 4*f16x2 4*f16x2 2*f16x2 u32rv #0..1 ; 7.1 sm_80",
   "sp::ordered_metadata sync aligned m16n8k32 row col <f16> <f16> <f16> <f16> : =2*f16x2 4*f16x2 4*f16x2 2*f16x2 u32rv #0..1 ; 8.5 sm_80",
   "sp sync aligned m16n8k16 row col <f32> <f16/bf16> <f16/bf16> <f32> : =4*f32 2*f16x2 2*f16x2 4*f32 u32rv #0..3 ; 7.1 sm_80",
   "sp::ordered_metadata sync aligned m16n8k16 row col <f32> <f16/bf16> <f16/bf16> <f32> : =4*f32 2*f16x2 2*f16x2 4*f32 u32rv #0..3 ; 8.5 sm_80",
   "sp sync aligned m16n8k32 row col <f32> <f16/bf16> <f16/bf16> <f32> : =4*f32 4*f16x2 4*f16x2 4*f32 u32rv #0..1 ; 7.1 sm_80",
   "sp::ordered_metadata sync aligned m16n8k32 row col <f32> <f16/bf16> <f16/bf16> <f32> : =4*f32 4*f16x2 4*f16x2 4*f32 u32rv #0..1 ; 8.5 sm_80",
   "sp sync aligned m16n8k8 row col <f32> <tf32> <tf32> <f32> : =4*f32 2*tf32 2*tf32 4*f32 u32rv #0..3 ; 7.1 sm_80",
   "sp::ordered_metadata sync aligned m16n8k8 row col <f32> <tf32> <tf32> <f32> : =4*f32 2*tf32 2*tf32 4*f32 u32rv #0..3 ; 8.5 sm_80",
   "sp sync aligned m16n8k16 row col <f32> <tf32> <tf32> <f32> : =4*f32 4*tf32 4*tf32 4*f32 u32rv #0..1 ; 7.1 sm_80",
   "sp::ordered_metadata sync aligned m16n8k16 row col <f32> <tf32> <tf32> <f32> : =4*f32 4*tf32 4*tf32 4*f32 u32rv #0..1 ; 8.5 sm_80",
   "sp sync aligned [satfinite] m16n8k32 row col <s32> <s8/u8> <s8/u8> <s32> : =4*u32 2*u32 2*u32 4*u32 u32rv #0..1 ; 7.1 sm_80",
   "sp::ordered_metadata sync aligned [satfinite] m16n8k32 row col <s32> <s8/u8> <s8/u8> <s32> : =4*u32 2*u32 2*u32 4*u32 u32rv #0..1 ; 8.5 sm_80",
   "sp sync aligned [satfinite] m16n8k64 row col <s32> <s8/u8> <s8/u8> <s32> : =4*u32 4*u32 4*u32 4*u32 u32rv #0 ; 7.1 sm_80",
   "sp::ordered_metadata sync aligned [satfinite] m16n8k64 row col <s32> <s8/u8> <s8/u8> <s32> : =4*u32 4*u32 4*u32 4*u32 u32rv #0 ; 8.5 sm_80",
   "sp sync aligned [satfinite] m16n8k64 row col <s32> <s4/u4> <s4/u4> <s32> : =4*u32 2*u32 2*u32 4*u32 u32rv #0..1 ; 7.1 sm_80",
   "sp::ordered_metadata sync aligned [satfinite] m16n8k64 row col <s32> <s4/u4> <s4/u4> <s32> : =4*u32 2*u32 2*u32 4*u32 u32rv #0..1 ; 8.5 sm_80",
   "sp sync aligned [satfinite] m16n8k128 row col <s32> <s4/u4> <s4/u4> <s32> : =4*u32 4*u32 4*u32 4*u32 u32rv #0 ; 7.1 sm_80",
   "sp::ordered_metadata sync aligned [satfinite] m16n8k128 row col <s32> <s4/u4> <s4/u4> <s32> : =4*u32 4*u32 4*u32 4*u32 u32rv #0 ; 8.5 sm_80",
   "sp sync aligned m16n8k64 row col <f32> <$fp8> <$fp8> <f32> : =4*f32 4*u32 4*u32 4*f32 u32rv #0 ; 8.4 sm_89",
   "sp::ordered_metadata sync aligned m16n8k64 row col <f32> <$fp8> <$fp8> <f32> : =4*f32 4*u32 4*u32 4*f32 u32rv #0 ; 8.5 sm_80",
   "sp sync aligned m16n8k64 row col <f16> <$fp8> <$fp8> <f16> : =2*f16x2 4*u32 4*u32 2*f16x2 u32rv #0 ; 8.7 sm_89",
   "sp::ordered_metadata sync aligned m16n8k64 row col <f16> <$fp8> <$fp8> <f16> : =2*f16x2 4*u32 4*u32 2*f16x2 u32rv #0 ; 8.7 sm_89",
   "sp::ordered_metadata sync aligned kind::f8f6f4 m16n8k64 row col <f32> <$fp6> <$fp6> <f32> : =4*f32 4*u32 4*u32 4*f32 u32rv #0 ; 8.7 sm_120a",
   "sp::ordered_metadata sync aligned kind::f8f6f4 m16n8k64 row col <f32> <$fp8> <$fp8> <f32> : =4*f32 4*u32 4*u32 4*f32 u32rv #0 ; 8.7 sm_100a/sm_103a/sm_110a",
   "sp::ordered_metadata sync aligned kind::f8f6f4 m16n8k64 row col <f16> <$fp6> <$fp6> <f16> : =2*f16x2 4*u32 4*u32 2*f16x2 u32rv #0 ; 8.7 sm_120a",
   "sp::ordered_metadata sync aligned kind::f8f6f4 m16n8k64 row col <f16> <$fp8> <$fp8> <f16> : =2*f16x2 4*u32 4*u32 2*f16x2 u32rv #0 ; 8.7 sm_100a/sm_103a/sm_110a",
   "sp::ordered_metadata sync aligned kind::mxf8f6f4 block_scale [scale_vec::1X] m16n8k64 row col <f32> <$fp6> <$fp6> <f32> <ue8m0> : =4*f32 4*u32 4*u32 4*f32 u32rv #0 u32v 2*u16 u32v 2*u16 ; 8.7 sm_120a",
   "sp::ordered_metadata sync aligned kind::mxf4/kind::mxf4nvf4 block_scale [scale_vec::2X] m16n8k128 row col <f32> <e2m1> <e2m1> <f32> <ue8m0> : =4*f32 4*u32 4*u32 4*f32 u32rv #0 u32v 2*u16 u32v 2*u16 ; 8.7 sm_120a",
   "sp::ordered_metadata sync aligned kind::mxf4nvf4 block_scale scale_vec::4X m16n8k128 row col <f32> <e2m1> <e2m1> <f32> <ue4m3> : =4*f32 4*u32 4*u32 4*f32 u32rv #0 u32v 2*u16 u32v 2*u16 ; 8.7 sm_120a"
  ],
  "ldmatrix": [
   "sync aligned m8n8 x1/x2/x4 [trans] [shared/shared::cta] <b16> : =x*b32 [m] ; 6.5 sm_75",
   "sync aligned m16n16 x1/x2 trans [shared/shared::cta] <b8> : =2x*b32 [m] ; 8.6 sm_100a",
   "sync aligned m16n16 x1/x2 trans [shared/shared::cta] b8x16 b6x16_p32/b4x16_p64 : =2x*b32 [m] ; 8.6 sm_100a",
   "sync aligned m8n16 x1/x2/x4 [shared/shared::cta] b8x16 b6x16_p32/b4x16_p64 : =x*b32 [m] ; 8.6 sm_100a"
  ],
  "stmatrix": [
   "sync aligned m8n8 x1/x2/x4 [trans] [shared/shared::cta] <b16> : [m] x*b32 ; 7.8 sm_90",
   "sync aligned m16n8 x1/x2/x4 trans [shared/shared::cta] <b8> : [m] x*b32 ; 8.6 sm_100a"
  ],
  "movmatrix": [
   "sync aligned m8n8 trans <b16> : =u32 u32r ; 7.8 sm_75"
  ],
  "wmma": [
   "^load ^a/b sync aligned row/col m16n16k16/m8n32k16/m32n8k16 [global/shared/shared::cta] <f16> : =8*f16x2 [m] u32? ; 6.0 sm_70",
   "^load ^c sync aligned row/col m16n16k16/m8n32k16/m32n8k16 [global/shared/shared::cta] <f16> : =4*f16x2 [m] u32? ; 6.0 sm_70",
   "^load ^c sync aligned row/col m16n16k16/m8n32k16/m32n8k16 [global/shared/shared::cta] <f32> : =8*f32 [m] u32? ; 6.0 sm_70",
   "^load ^a sync aligned row/col m16n16k16 [global/shared/shared::cta] <s8/u8> : =2*u32 [m] u32? ; 6.3 sm_72",
   "^load ^a sync aligned row/col m16n16k16 [global/shared/shared::cta] <bf16> : =4*bf16x2 [m] u32? ; 7.0 sm_80",
   "^load ^a sync aligned row/col m8n32k16 [global/shared/shared::cta] <s8/u8> : =1*u32 [m] u32? ; 6.3 sm_72",
   "^load ^a sync aligned row/col m8n32k16 [global/shared/shared::cta] <bf16> : =2*bf16x2 [m] u32? ; 7.0 sm_80",
   "^load ^a sync aligned row/col m32n8k16 [global/shared/shared::cta] <s8/u8> : =4*u32 [m] u32? ; 6.3 sm_72",
   "^load ^a sync aligned row/col m32n8k16 [global/shared/shared::cta] <bf16> : =8*bf16x2 [m] u32? ; 7.0 sm_80",
   "^load ^b sync aligned row/col m16n16k16 [global/shared/shared::cta] <s8/u8> : =2*u32 [m] u32? ; 6.3 sm_72",
   "^load ^b sync aligned row/col m16n16k16 [global/shared/shared::cta] <bf16> : =4*bf16x2 [m] u32? ; 7.0 sm_80",
   "^load ^b sync aligned row/col m8n32k16 [global/shared/shared::cta] <s8/u8> : =4*u32 [m] u32? ; 6.3 sm_72",
   "^load ^b sync aligned row/col m8n32k16 [global/shared/shared::cta] <bf16> : =8*bf16x2 [m] u32? ; 7.0 sm_80",
   "^load ^b sync aligned row/col m32n8k16 [global/shared/shared::cta] <s8/u8> : =1*u32 [m] u32? ; 6.3 sm_72",
   "^load ^b sync aligned row/col m32n8k16 [global/shared/shared::cta] <bf16> : =2*bf16x2 [m] u32? ; 7.0 sm_80",
   "^load ^c sync aligned row/col m16n16k16/m8n32k16/m32n8k16 [global/shared/shared::cta] <s32> : =8*u32 [m] u32? ; 6.3 sm_72",
   "^load ^a/b sync aligned row/col m16n16k8 [global/shared/shared::cta] <tf32> : =4*tf32 [m] u32? ; 7.0 sm_80",
   "^load ^c sync aligned row/col m16n16k8 [global/shared/shared::cta] <f32> : =8*f32 [m] u32? ; 7.0 sm_80",
   "^load ^a/b sync aligned row/col m8n8k4 [global/shared/shared::cta] <f64> : =1*f64 [m] u32? ; 7.0 sm_80",
   "^load ^c sync aligned row/col m8n8k4 [global/shared/shared::cta] <f64> : =2*f64 [m] u32? ; 7.0 sm_80",
   "^load ^a sync aligned row m8n8k32 [global/shared/shared::cta] <s4/u4> : =1*u32 [m] u32? ; 6.3 sm_75",
   "^load ^b sync aligned col m8n8k32 [global/shared/shared::cta] <s4/u4> : =1*u32 [m] u32? ; 6.3 sm_75",
   "^load ^a sync aligned row m8n8k128 [global/shared/shared::cta] <b1> : =1*u32 [m] u32? ; 6.3 sm_75",
   "^load ^b sync aligned col m8n8k128 [global/shared/shared::cta] <b1> : =1*u32 [m] u32? ; 6.3 sm_75",
   "^load ^c sync aligned row/col m8n8k32/m8n8k128 [global/shared/shared::cta] <s32> : =2*u32 [m] u32? ; 6.3 sm_75",
   "^store ^d sync aligned row/col m16n16k16/m8n32k16/m32n8k16 [global/shared/shared::cta] <f16> : [m] 4*f16x2 u32? ; 6.0 sm_70",
   "^store ^d sync aligned row/col m16n16k16/m8n32k16/m32n8k16 [global/shared/shared::cta] <f32> : [m] 8*f32 u32? ; 6.0 sm_70",
   "^store ^d sync aligned row/col m16n16k16/m8n32k16/m32n8k16 [global/shared/shared::cta] <s32> : [m] 8*u32 u32? ; 6.3 sm_72",
   "^store ^d sync aligned row/col m16n16k8 [global/shared/shared::cta] <f32> : [m] 8*f32 u32? ; 7.0 sm_80",
   "^store ^d sync aligned row/col m8n8k4 [global/shared/shared::cta] <f64> : [m] 2*f64 u32? ; 7.0 sm_80",
   "^store ^d sync aligned row/col m8n8k32/m8n8k128 [global/shared/shared::cta] <s32> : [m] 2*u32 u32? ; 6.3 sm_75",
   "^mma sync aligned row/col row/col m16n16k16/m8n32k16/m32n8k16 [satfinite] <f16> <f16> : =4*f16x2 8*f16x2 8*f16x2 4*f16x2 ; 6.0 sm_70",
   "^mma sync aligned row/col row/col m16n16k16/m8n32k16/m32n8k16 [satfinite] <f16> <f32> : =4*f16x2 8*f16x2 8*f16x2 8*f32 ; 6.0 sm_70",
   "^mma sync aligned row/col row/col m16n16k16/m8n32k16/m32n8k16 [satfinite] <f32> <f16> : =8*f32 8*f16x2 8*f16x2 4*f16x2 ; 6.0 sm_70",
   "^mma sync aligned row/col row/col m16n16k16/m8n32k16/m32n8k16 [satfinite] <f32> <f32> : =8*f32 8*f16x2 8*f16x2 8*f32 ; 6.0 sm_70",
   "^mma sync aligned row/col row/col m16n16k16 [satfinite] <s32> <s8> <s8> <s32> : =8*u32 2*u32 2*u32 8*u32 ; 6.3 sm_72",
   "^mma sync aligned row/col row/col m16n16k16 [satfinite] <s32> <u8> <u8> <s32> : =8*u32 2*u32 2*u32 8*u32 ; 6.3 sm_72",
   "^mma sync aligned row/col row/col m16n16k16 <f32> <bf16> <bf16> <f32> : =8*f32 4*bf16x2 4*bf16x2 8*f32 ; 7.0 sm_80",
   "^mma sync aligned row/col row/col m8n32k16 [satfinite] <s32> <s8> <s8> <s32> : =8*u32 1*u32 4*u32 8*u32 ; 6.3 sm_72",
   "^mma sync aligned row/col row/col m8n32k16 [satfinite] <s32> <u8> <u8> <s32> : =8*u32 1*u32 4*u32 8*u32 ; 6.3 sm_72",
   "^mma sync aligned row/col row/col m8n32k16 <f32> <bf16> <bf16> <f32> : =8*f32 2*bf16x2 8*bf16x2 8*f32 ; 7.0 sm_80",
   "^mma sync aligned row/col row/col m32n8k16 [satfinite] <s32> <s8> <s8> <s32> : =8*u32 4*u32 1*u32 8*u32 ; 6.3 sm_72",
   "^mma sync aligned row/col row/col m32n8k16 [satfinite] <s32> <u8> <u8> <s32> : =8*u32 4*u32 1*u32 8*u32 ; 6.3 sm_72",
   "^mma sync aligned row/col row/col m32n8k16 <f32> <bf16> <bf16> <f32> : =8*f32 8*bf16x2 2*bf16x2 8*f32 ; 7.0 sm_80",
   "^mma sync aligned row/col row/col m16n16k8 <f32> <tf32> <tf32> <f32> : =8*f32 4*tf32 4*tf32 8*f32 ; 7.0 sm_80",
   "^mma sync aligned row/col row/col m8n8k4 [$rnd] <f64> <f64> <f64> <f64> : =2*f64 1*f64 1*f64 2*f64 ; 7.0 sm_80",
   "^mma sync aligned row col m8n8k32 [satfinite] <s32> <s4> <s4> <s32> : =2*u32 1*u32 1*u32 2*u32 ; 6.3 sm_75",
   "^mma sync aligned row col m8n8k32 [satfinite] <s32> <u4> <u4> <s32> : =2*u32 1*u32 1*u32 2*u32 ; 6.3 sm_75",
   "^mma xor/and popc sync aligned row col m8n8k128 <s32> <b1> <b1> <s32> : =2*u32 1*u32 1*u32 2*u32 ; 6.3 sm_75"
  ],
  "wgmma": [
   "^fence/commit_group sync aligned : ; 8.0 sm_90a ; until below sm_100",
   "^wait_group sync aligned : # ; 8.0 sm_90a ; until below sm_100",
   "^mma_async sync aligned m64n{8..256..8}k16 <f16> <f16> <f16> : =n/4*f16x2 b64 b64 p #-1/1 #-1/1 #0..1 #0..1 ; 8.0 sm_90a ; until below sm_100",
   "^mma_async sync aligned m64n{8..256..8}k16 <f16> <f16> <f16> : =n/4*f16x2 4*f16x2 b64 p #-1/1 #-1/1 #0..1 ; 8.0 sm_90a ; until below sm_100",
   "^mma_async ^sp sync aligned m64n{8..256..8}k32 <f16> <f16> <f16> : =n/4*f16x2 b64 b64 u32 #0..3 p #-1/1 #-1/1 #0..1 #0..1 ; 8.2 sm_90a ; until below sm_100",
   "^mma_async ^sp sync aligned m64n{8..256..8}k32 <f16> <f16> <f16> : =n/4*f16x2 4*f16x2 b64 u32 #0..3 p #-1/1 #-1/1 #0..1 ; 8.2 sm_90a ; until below sm_100",
   "^mma_async sync aligned m64n{8..256..8}k16 <f32> <f16> <f16> : =n/2*f32 b64 b64 p #-1/1 #-1/1 #0..1 #0..1 ; 8.0 sm_90a ; until below sm_100",
   "^mma_async sync aligned m64n{8..256..8}k16 <f32> <f16> <f16> : =n/2*f32 4*f16x2 b64 p #-1/1 #-1/1 #0..1 ; 8.0 sm_90a ; until below sm_100",
   "^mma_async ^sp sync aligned m64n{8..256..8}k32 <f32> <f16> <f16> : =n/2*f32 b64 b64 u32 #0..3 p #-1/1 #-1/1 #0..1 #0..1 ; 8.2 sm_90a ; until below sm_100",
   "^mma_async ^sp sync aligned m64n{8..256..8}k32 <f32> <f16> <f16> : =n/2*f32 4*f16x2 b64 u32 #0..3 p #-1/1 #-1/1 #0..1 ; 8.2 sm_90a ; until below sm_100",
   "^mma_async sync aligned m64n{8..256..8}k16 <f32> <bf16> <bf16> : =n/2*f32 b64 b64 p #-1/1 #-1/1 #0..1 #0..1 ; 8.0 sm_90a ; until below sm_100",
   "^mma_async sync aligned m64n{8..256..8}k16 <f32> <bf16> <bf16> : =n/2*f32 4*bf16x2 b64 p #-1/1 #-1/1 #0..1 ; 8.0 sm_90a ; until below sm_100",
   "^mma_async ^sp sync aligned m64n{8..256..8}k32 <f32> <bf16> <bf16> : =n/2*f32 b64 b64 u32 #0..3 p #-1/1 #-1/1 #0..1 #0..1 ; 8.2 sm_90a ; until below sm_100",
   "^mma_async ^sp sync aligned m64n{8..256..8}k32 <f32> <bf16> <bf16> : =n/2*f32 4*bf16x2 b64 u32 #0..3 p #-1/1 #-1/1 #0..1 ; 8.2 sm_90a ; until below sm_100",
   "^mma_async sync aligned m64n{8..256..8}k8 <f32> <tf32> <tf32> : =n/2*f32 b64 b64 p #-1/1 #-1/1 ; 8.0 sm_90a ; until below sm_100",
   "^mma_async sync aligned m64n{8..256..8}k8 <f32> <tf32> <tf32> : =n/2*f32 4*tf32 b64 p #-1/1 #-1/1 ; 8.0 sm_90a ; until below sm_100",
   "^mma_async ^sp sync aligned m64n{8..256..8}k16 <f32> <tf32> <tf32> : =n/2*f32 b64 b64 u32 #0..3 p #-1/1 #-1/1 ; 8.2 sm_90a ; until below sm_100",
   "^mma_async ^sp sync aligned m64n{8..256..8}k16 <f32> <tf32> <tf32> : =n/2*f32 4*tf32 b64 u32 #0..3 p #-1/1 #-1/1 ; 8.2 sm_90a ; until below sm_100",
   "^mma_async sync aligned m64n{8..256..8}k32 <f16> <$fp8> <$fp8> : =n/4*f16x2 b64 b64 p #-1/1 #-1/1 ; 8.0 sm_90a ; until below sm_100",
   "^mma_async sync aligned m64n{8..256..8}k32 <f16> <$fp8> <$fp8> : =n/4*f16x2 4*u32 b64 p #-1/1 #-1/1 ; 8.0 sm_90a ; until below sm_100",
   "^mma_async ^sp sync aligned m64n{8..256..8}k64 <f16> <$fp8> <$fp8> : =n/4*f16x2 b64 b64 u32 #0..3 p #-1/1 #-1/1 ; 8.2 sm_90a ; until below sm_100",
   "^mma_async ^sp sync aligned m64n{8..256..8}k64 <f16> <$fp8> <$fp8> : =n/4*f16x2 4*u32 b64 u32 #0..3 p #-1/1 #-1/1 ; 8.2 sm_90a ; until below sm_100",
   "^mma_async sync aligned m64n{8..256..8}k32 <f32> <$fp8> <$fp8> : =n/2*f32 b64 b64 p #-1/1 #-1/1 ; 8.0 sm_90a ; until below sm_100",
   "^mma_async sync aligned m64n{8..256..8}k32 <f32> <$fp8> <$fp8> : =n/2*f32 4*u32 b64 p #-1/1 #-1/1 ; 8.0 sm_90a ; until below sm_100",
   "^mma_async ^sp sync aligned m64n{8..256..8}k64 <f32> <$fp8> <$fp8> : =n/2*f32 b64 b64 u32 #0..3 p #-1/1 #-1/1 ; 8.2 sm_90a ; until below sm_100",
   "^mma_async ^sp sync aligned m64n{8..256..8}k64 <f32> <$fp8> <$fp8> : =n/2*f32 4*u32 b64 u32 #0..3 p #-1/1 #-1/1 ; 8.2 sm_90a ; until below sm_100",
   "^mma_async sync aligned m64n{8..256..8}k32 [satfinite] <s32> <s8/u8> <s8/u8> : =n/2*u32 b64 b64 p ; 8.0 sm_90a ; until below sm_100",
   "^mma_async sync aligned m64n{8..256..8}k32 [satfinite] <s32> <s8/u8> <s8/u8> : =n/2*u32 4*u32 b64 p ; 8.0 sm_90a ; until below sm_100",
   "^mma_async ^sp sync aligned m64n{8..256..8}k64 [satfinite] <s32> <s8/u8> <s8/u8> : =n/2*u32 b64 b64 u32 #0..3 p ; 8.2 sm_90a ; until below sm_100",
   "^mma_async ^sp sync aligned m64n{8..256..8}k64 [satfinite] <s32> <s8/u8> <s8/u8> : =n/2*u32 4*u32 b64 u32 #0..3 p ; 8.2 sm_90a ; until below sm_100",
   "^mma_async sync aligned m64n{8..256..8}k256 and popc <s32> <b1> <b1> : =n/2*u32 b64 b64 p ; 8.0 sm_90a ; until below sm_100",
   "^mma_async sync aligned m64n{8..256..8}k256 and popc <s32> <b1> <b1> : =n/2*u32 4*u32 b64 p ; 8.0 sm_90a ; until below sm_100"
  ],
  "tcgen05": [
   "^alloc ^cta_group::1/cta_group::2 sync aligned [shared::cta] <b32> : [m] u32 ; 8.6 sm_100a ; until below sm_120",
   "^dealloc ^cta_group::1/cta_group::2 sync aligned <b32> : u32 u32 ; 8.6 sm_100a ; until below sm_120",
   "^relinquish_alloc_permit ^cta_group::1/cta_group::2 sync aligned : ; 8.6 sm_100a ; until below sm_120",
   "^ld sync aligned 16x64b x1/x2/x4/x8/x16/x32/x64/x128 [pack::16b] <b32> : =x*b32 [m] ; 8.6 sm_100a ; until below sm_120",
   "^st sync aligned 16x64b x1/x2/x4/x8/x16/x32/x64/x128 [unpack::16b] <b32> : [m] x*b32 ; 8.6 sm_100a ; until below sm_120",
   "^ld sync aligned 16x128b x1/x2/x4/x8/x16/x32/x64 [pack::16b] <b32> : =2x*b32 [m] ; 8.6 sm_100a ; until below sm_120",
   "^st sync aligned 16x128b x1/x2/x4/x8/x16/x32/x64 [unpack::16b] <b32> : [m] 2x*b32 ; 8.6 sm_100a ; until below sm_120",
   "^ld sync aligned 16x256b x1/x2/x4/x8/x16/x32 [pack::16b] <b32> : =4x*b32 [m] ; 8.6 sm_100a ; until below sm_120",
   "^st sync aligned 16x256b x1/x2/x4/x8/x16/x32 [unpack::16b] <b32> : [m] 4x*b32 ; 8.6 sm_100a ; until below sm_120",
   "^ld sync aligned 32x32b x1/x2/x4/x8/x16/x32/x64/x128 [pack::16b] <b32> : =x*b32 [m] ; 8.6 sm_100a ; until below sm_120",
   "^st sync aligned 32x32b x1/x2/x4/x8/x16/x32/x64/x128 [unpack::16b] <b32> : [m] x*b32 ; 8.6 sm_100a ; until below sm_120",
   "^ld sync aligned 16x32bx2 x1/x2/x4/x8/x16/x32/x64/x128 [pack::16b] <b32> : =x*b32 [m] # ; 8.6 sm_100a ; until below sm_120",
   "^st sync aligned 16x32bx2 x1/x2/x4/x8/x16/x32/x64/x128 [unpack::16b] <b32> : [m] # x*b32 ; 8.6 sm_100a ; until below sm_120",
   "^ld ^red sync aligned 32x32b x2/x4/x8/x16/x32/x64/x128 min/max [abs] [NaN] <f32> : =x*t =t [m] ; 8.8 sm_101a ; until below sm_120",
   "^ld ^red sync aligned 32x32b x2/x4/x8/x16/x32/x64/x128 min/max <u32/s32> : =x*t =t [m] ; 8.8 sm_101a ; until below sm_120",
   "^ld ^red sync aligned 16x32bx2 x2/x4/x8/x16/x32/x64/x128 min/max [abs] [NaN] <f32> : =x*t =t [m] # ; 8.8 sm_101a ; until below sm_120",
   "^ld ^red sync aligned 16x32bx2 x2/x4/x8/x16/x32/x64/x128 min/max <u32/s32> : =x*t =t [m] # ; 8.8 sm_101a ; until below sm_120",
   "^wait::ld/wait::st sync aligned : ; 8.6 sm_100a ; until below sm_120",
   "^fence::before_thread_sync/fence::after_thread_sync : ; 8.6 sm_100a ; until below sm_120",
   "^shift ^cta_group::1/cta_group::2 down : [m] ; 8.6 sm_100a ; until below sm_120",
   "^cp ^cta_group::1/cta_group::2 128x256b/4x256b/128x128b [b8x16] [b6x16_p32/b4x16_p64] : [m] b64 ; 8.6 sm_100a ; until below sm_120",
   "^cp ^cta_group::1/cta_group::2 64x128b warpx2::02_13/warpx2::01_23 [b8x16] [b6x16_p32/b4x16_p64] : [m] b64 ; 8.6 sm_100a ; until below sm_120",
   "^cp ^cta_group::1/cta_group::2 32x128b warpx4 [b8x16] [b6x16_p32/b4x16_p64] : [m] b64 ; 8.6 sm_100a ; until below sm_120",
   "^commit ^cta_group::1/cta_group::2 mbarrier::arrive::one [shared::cluster] <b64> : [m] ; 8.6 sm_100a ; until below sm_120",
   "^commit ^cta_group::1/cta_group::2 mbarrier::arrive::one [shared::cluster] multicast::cluster <b64> : [m] u16 ; 8.6 sm_100a ; until below sm_120",
   "^mma ^cta_group::1 kind::f16/kind::tf32 [$collector] : [m] b64 b64 u32 p #0..15? ; 8.6 sm_100a ; until below sm_120",
   "^mma ^cta_group::1 kind::f8f6f4/kind::i8 [$collector] : [m] b64 b64 u32 p ; 8.6 sm_100a ; until below sm_120",
   "^mma ^cta_group::1 kind::f16/kind::tf32 [$collector] : [m] b64 b64 u32 4*u32 p #0..15? ; 8.6 sm_100a ; until below sm_120",
   "^mma ^cta_group::1 kind::f8f6f4/kind::i8 [$collector] : [m] b64 b64 u32 4*u32 p ; 8.6 sm_100a ; until below sm_120",
   "^mma ^cta_group::2 kind::f16/kind::tf32 [$collector] : [m] b64 b64 u32 p #0..15? ; 8.6 sm_100a ; until below sm_120",
   "^mma ^cta_group::2 kind::f8f6f4/kind::i8 [$collector] : [m] b64 b64 u32 p ; 8.6 sm_100a ; until below sm_120",
   "^mma ^cta_group::2 kind::f16/kind::tf32 [$collector] : [m] b64 b64 u32 8*u32 p #0..15? ; 8.6 sm_100a ; until below sm_120",
   "^mma ^cta_group::2 kind::f8f6f4/kind::i8 [$collector] : [m] b64 b64 u32 8*u32 p ; 8.6 sm_100a ; until below sm_120",
   "^mma ^cta_group::1/cta_group::2 kind::mxf8f6f4 block_scale [scale_vec::1X/block32] [$collector] : [m] b64 b64 u32 [m] [m] p ; 8.6 sm_100a ; until below sm_120",
   "^mma ^cta_group::1/cta_group::2 kind::mxf4 block_scale [scale_vec::2X/block32] [$collector] : [m] b64 b64 u32 [m] [m] p ; 8.6 sm_100a ; until below sm_120",
   "^mma ^cta_group::1/cta_group::2 kind::mxf4nvf4 block_scale scale_vec::2X/scale_vec::4X/block16/block32 [$collector] : [m] b64 b64 u32 [m] [m] p ; 8.6 sm_100a ; until below sm_120",
   "^mma ^ws ^cta_group::1 kind::f16/kind::tf32/kind::f8f6f4/kind::i8 [$wscollector] : [m] b64 b64 u32 p b64? ; 8.6 sm_100a ; until below sm_120",
   "^mma ^cta_group::1 kind::f16/kind::tf32 [ashift] [$collector] : [m] [m] b64 u32 p #0..15? ; 8.6 sm_100a ; until below sm_120",
   "^mma ^cta_group::1 kind::f8f6f4/kind::i8 [ashift] [$collector] : [m] [m] b64 u32 p ; 8.6 sm_100a ; until below sm_120",
   "^mma ^cta_group::1 kind::f16/kind::tf32 [ashift] [$collector] : [m] [m] b64 u32 4*u32 p #0..15? ; 8.6 sm_100a ; until below sm_120",
   "^mma ^cta_group::1 kind::f8f6f4/kind::i8 [ashift] [$collector] : [m] [m] b64 u32 4*u32 p ; 8.6 sm_100a ; until below sm_120",
   "^mma ^cta_group::2 kind::f16/kind::tf32 [ashift] [$collector] : [m] [m] b64 u32 p #0..15? ; 8.6 sm_100a ; until below sm_120",
   "^mma ^cta_group::2 kind::f8f6f4/kind::i8 [ashift] [$collector] : [m] [m] b64 u32 p ; 8.6 sm_100a ; until below sm_120",
   "^mma ^cta_group::2 kind::f16/kind::tf32 [ashift] [$collector] : [m] [m] b64 u32 8*u32 p #0..15? ; 8.6 sm_100a ; until below sm_120",
   "^mma ^cta_group::2 kind::f8f6f4/kind::i8 [ashift] [$collector] : [m] [m] b64 u32 8*u32 p ; 8.6 sm_100a ; until below sm_120",
   "^mma ^cta_group::1/cta_group::2 kind::mxf8f6f4 block_scale [scale_vec::1X/block32] [$collector] : [m] [m] b64 u32 [m] [m] p ; 8.6 sm_100a ; until below sm_120",
   "^mma ^cta_group::1/cta_group::2 kind::mxf4 block_scale [scale_vec::2X/block32] [$collector] : [m] [m] b64 u32 [m] [m] p ; 8.6 sm_100a ; until below sm_120",
   "^mma ^cta_group::1/cta_group::2 kind::mxf4nvf4 block_scale scale_vec::2X/scale_vec::4X/block16/block32 [$collector] : [m] [m] b64 u32 [m] [m] p ; 8.6 sm_100a ; until below sm_120",
   "^mma ^ws ^cta_group::1 kind::f16/kind::tf32/kind::f8f6f4/kind::i8 [$wscollector] : [m] [m] b64 u32 p b64? ; 8.6 sm_100a ; until below sm_120",
   "^mma ^sp ^cta_group::1 kind::f16/kind::tf32 [$collector] : [m] b64 b64 [m] u32 p #0..15? ; 8.6 sm_100a ; until below sm_120",
   "^mma ^sp ^cta_group::1 kind::f8f6f4/kind::i8 [$collector] : [m] b64 b64 [m] u32 p ; 8.6 sm_100a ; until below sm_120",
   "^mma ^sp ^cta_group::1 kind::f16/kind::tf32 [$collector] : [m] b64 b64 [m] u32 4*u32 p #0..15? ; 8.6 sm_100a ; until below sm_120",
   "^mma ^sp ^cta_group::1 kind::f8f6f4/kind::i8 [$collector] : [m] b64 b64 [m] u32 4*u32 p ; 8.6 sm_100a ; until below sm_120",
   "^mma ^sp ^cta_group::2 kind::f16/kind::tf32 [$collector] : [m] b64 b64 [m] u32 p #0..15? ; 8.6 sm_100a ; until below sm_120",
   "^mma ^sp ^cta_group::2 kind::f8f6f4/kind::i8 [$collector] : [m] b64 b64 [m] u32 p ; 8.6 sm_100a ; until below sm_120",
   "^mma ^sp ^cta_group::2 kind::f16/kind::tf32 [$collector] : [m] b64 b64 [m] u32 8*u32 p #0..15? ; 8.6 sm_100a ; until below sm_120",
   "^mma ^sp ^cta_group::2 kind::f8f6f4/kind::i8 [$collector] : [m] b64 b64 [m] u32 8*u32 p ; 8.6 sm_100a ; until below sm_120",
   "^mma ^sp ^cta_group::1/cta_group::2 kind::mxf8f6f4 block_scale [scale_vec::1X/block32] [$collector] : [m] b64 b64 [m] u32 [m] [m] p ; 8.6 sm_100a ; until below sm_120",
   "^mma ^sp ^cta_group::1/cta_group::2 kind::mxf4 block_scale [scale_vec::2X/block32] [$collector] : [m] b64 b64 [m] u32 [m] [m] p ; 8.6 sm_100a ; until below sm_120",
   "^mma ^sp ^cta_group::1/cta_group::2 kind::mxf4nvf4 block_scale scale_vec::2X/scale_vec::4X/block16/block32 [$collector] : [m] b64 b64 [m] u32 [m] [m] p ; 8.6 sm_100a ; until below sm_120",
   "^mma ^ws ^sp ^cta_group::1 kind::f16/kind::tf32/kind::f8f6f4/kind::i8 [$wscollector] : [m] b64 b64 [m] u32 p b64? ; 8.6 sm_100a ; until below sm_120",
   "^mma ^sp ^cta_group::1 kind::f16/kind::tf32 [ashift] [$collector] : [m] [m] b64 [m] u32 p #0..15? ; 8.6 sm_100a ; until below sm_120",
   "^mma ^sp ^cta_group::1 kind::f8f6f4/kind::i8 [ashift] [$collector] : [m] [m] b64 [m] u32 p ; 8.6 sm_100a ; until below sm_120",
   "^mma ^sp ^cta_group::1 kind::f16/kind::tf32 [ashift] [$collector] : [m] [m] b64 [m] u32 4*u32 p #0..15? ; 8.6 sm_100a ; until below sm_120",
   "^mma ^sp ^cta_group::1 kind::f8f6f4/kind::i8 [ashift] [$collector] : [m] [m] b64 [m] u32 4*u32 p ; 8.6 sm_100a ; until below sm_120",
   "^mma ^sp ^cta_group::2 kind::f16/kind::tf32 [ashift] [$collector] : [m] [m] b64 [m] u32 p #0..15? ; 8.6 sm_100a ; until below sm_120",
   "^mma ^sp ^cta_group::2 kind::f8f6f4/kind::i8 [ashift] [$collector] : [m] [m] b64 [m] u32 p ; 8.6 sm_100a ; until below sm_120",
   "^mma ^sp ^cta_group::2 kind::f16/kind::tf32 [ashift] [$collector] : [m] [m] b64 [m] u32 8*u32 p #0..15? ; 8.6 sm_100a ; until below sm_120",
   "^mma ^sp ^cta_group::2 kind::f8f6f4/kind::i8 [ashift] [$collector] : [m] [m] b64 [m] u32 8*u32 p ; 8.6 sm_100a ; until below sm_120",
   "^mma ^sp ^cta_group::1/cta_group::2 kind::mxf8f6f4 block_scale [scale_vec::1X/block32] [$collector] : [m] [m] b64 [m] u32 [m] [m] p ; 8.6 sm_100a ; until below sm_120",
   "^mma ^sp ^cta_group::1/cta_group::2 kind::mxf4 block_scale [scale_vec::2X/block32] [$collector] : [m] [m] b64 [m] u32 [m] [m] p ; 8.6 sm_100a ; until below sm_120",
   "^mma ^sp ^cta_group::1/cta_group::2 kind::mxf4nvf4 block_scale scale_vec::2X/scale_vec::4X/block16/block32 [$collector] : [m] [m] b64 [m] u32 [m] [m] p ; 8.6 sm_100a ; until below sm_120",
   "^mma ^ws ^sp ^cta_group::1 kind::f16/kind::tf32/kind::f8f6f4/kind::i8 [$wscollector] : [m] [m] b64 [m] u32 p b64? ; 8.6 sm_100a ; until below sm_120"
  ],
  "tex": [
   "[^base] 1d v4 <$texel> <s32/f32> : =tv_[|p] [tex,h?,1*s] f32?",
   "^level 1d v4 <$texel> <s32/f32> : =tv_[|p] [tex,h?,1*s] s f32?",
   "^grad 1d v4 <$texel> <f32> : =tv_[|p] [tex,h?,1*s] 1*f32 1*f32 f32?",
   "[^base] 1d v4 <$texel> <s32/f32> : =tv_[|p] [tex,h?,1*s] 1*u32 f32?",
   "^level 1d v4 <$texel> <s32/f32> : =tv_[|p] [tex,h?,1*s] s 1*u32 f32?",
   "^grad 1d v4 <$texel> <f32> : =tv_[|p] [tex,h?,1*s] 1*f32 1*f32 1*u32 f32?",
   "[^base] 1d v2 <f16x2> <s32/f32> : =tv_[|p] [tex,h?,1*s] f32?",
   "^level 1d v2 <f16x2> <s32/f32> : =tv_[|p] [tex,h?,1*s] s f32?",
   "^grad 1d v2 <f16x2> <f32> : =tv_[|p] [tex,h?,1*s] 1*f32 1*f32 f32?",
   "[^base] 1d v2 <f16x2> <s32/f32> : =tv_[|p] [tex,h?,1*s] 1*u32 f32?",
   "^level 1d v2 <f16x2> <s32/f32> : =tv_[|p] [tex,h?,1*s] s 1*u32 f32?",
   "^grad 1d v2 <f16x2> <f32> : =tv_[|p] [tex,h?,1*s] 1*f32 1*f32 1*u32 f32?",
   "[^base] 2d v4 <$texel> <s32/f32> : =tv_[|p] [tex,h?,2*s] f32?",
   "^level 2d v4 <$texel> <s32/f32> : =tv_[|p] [tex,h?,2*s] s f32?",
   "^grad 2d v4 <$texel> <f32> : =tv_[|p] [tex,h?,2*s] 2*f32 2*f32 f32?",
   "[^base] 2d v4 <$texel> <s32/f32> : =tv_[|p] [tex,h?,2*s] 2*u32 f32?",
   "^level 2d v4 <$texel> <s32/f32> : =tv_[|p] [tex,h?,2*s] s 2*u32 f32?",
   "^grad 2d v4 <$texel> <f32> : =tv_[|p] [tex,h?,2*s] 2*f32 2*f32 2*u32 f32?",
   "[^base] 2d v2 <f16x2> <s32/f32> : =tv_[|p] [tex,h?,2*s] f32?",
   "^level 2d v2 <f16x2> <s32/f32> : =tv_[|p] [tex,h?,2*s] s f32?",
   "^grad 2d v2 <f16x2> <f32> : =tv_[|p] [tex,h?,2*s] 2*f32 2*f32 f32?",
   "[^base] 2d v2 <f16x2> <s32/f32> : =tv_[|p] [tex,h?,2*s] 2*u32 f32?",
   "^level 2d v2 <f16x2> <s32/f32> : =tv_[|p] [tex,h?,2*s] s 2*u32 f32?",
   "^grad 2d v2 <f16x2> <f32> : =tv_[|p] [tex,h?,2*s] 2*f32 2*f32 2*u32 f32?",
   "[^base] 3d v4 <$texel> <s32/f32> : =tv_[|p] [tex,h?,4*s] f32?",
   "^level 3d v4 <$texel> <s32/f32> : =tv_[|p] [tex,h?,4*s] s f32?",
   "^grad 3d v4 <$texel> <f32> : =tv_[|p] [tex,h?,4*s] 4*f32 4*f32 f32?",
   "[^base] 3d v4 <$texel> <s32/f32> : =tv_[|p] [tex,h?,4*s] 4*u32 f32?",
   "^level 3d v4 <$texel> <s32/f32> : =tv_[|p] [tex,h?,4*s] s 4*u32 f32?",
   "^grad 3d v4 <$texel> <f32> : =tv_[|p] [tex,h?,4*s] 4*f32 4*f32 4*u32 f32?",
   "[^base] 3d v2 <f16x2> <s32/f32> : =tv_[|p] [tex,h?,4*s] f32?",
   "^level 3d v2 <f16x2> <s32/f32> : =tv_[|p] [tex,h?,4*s] s f32?",
   "^grad 3d v2 <f16x2> <f32> : =tv_[|p] [tex,h?,4*s] 4*f32 4*f32 f32?",
   "[^base] 3d v2 <f16x2> <s32/f32> : =tv_[|p] [tex,h?,4*s] 4*u32 f32?",
   "^level 3d v2 <f16x2> <s32/f32> : =tv_[|p] [tex,h?,4*s] s 4*u32 f32?",
   "^grad 3d v2 <f16x2> <f32> : =tv_[|p] [tex,h?,4*s] 4*f32 4*f32 4*u32 f32?",
   "[^base] cube v4 <$texel> <s32/f32> : =tv_[|p] [tex,h?,4*s] f32?",
   "^level cube v4 <$texel> <s32/f32> : =tv_[|p] [tex,h?,4*s] s f32?",
   "^grad cube v4 <$texel> <f32> : =tv_[|p] [tex,h?,4*s] 4*f32 4*f32 f32?",
   "[^base] cube v2 <f16x2> <s32/f32> : =tv_[|p] [tex,h?,4*s] f32?",
   "^level cube v2 <f16x2> <s32/f32> : =tv_[|p] [tex,h?,4*s] s f32?",
   "^grad cube v2 <f16x2> <f32> : =tv_[|p] [tex,h?,4*s] 4*f32 4*f32 f32?",
   "[^base] a1d v4 <$texel> <s32/f32> : =tv_[|p] [tex,h?,2^s] f32?",
   "^level a1d v4 <$texel> <s32/f32> : =tv_[|p] [tex,h?,2^s] s f32?",
   "^grad a1d v4 <$texel> <f32> : =tv_[|p] [tex,h?,2^s] 1*f32 1*f32 f32?",
   "[^base] a1d v4 <$texel> <s32/f32> : =tv_[|p] [tex,h?,2^s] 1*u32 f32?",
   "^level a1d v4 <$texel> <s32/f32> : =tv_[|p] [tex,h?,2^s] s 1*u32 f32?",
   "^grad a1d v4 <$texel> <f32> : =tv_[|p] [tex,h?,2^s] 1*f32 1*f32 1*u32 f32?",
   "[^base] a1d v2 <f16x2> <s32/f32> : =tv_[|p] [tex,h?,2^s] f32?",
   "^level a1d v2 <f16x2> <s32/f32> : =tv_[|p] [tex,h?,2^s] s f32?",
   "^grad a1d v2 <f16x2> <f32> : =tv_[|p] [tex,h?,2^s] 1*f32 1*f32 f32?",
   "[^base] a1d v2 <f16x2> <s32/f32> : =tv_[|p] [tex,h?,2^s] 1*u32 f32?",
   "^level a1d v2 <f16x2> <s32/f32> : =tv_[|p] [tex,h?,2^s] s 1*u32 f32?",
   "^grad a1d v2 <f16x2> <f32> : =tv_[|p] [tex,h?,2^s] 1*f32 1*f32 1*u32 f32?",
   "[^base] a2d v4 <$texel> <s32/f32> : =tv_[|p] [tex,h?,4^s] f32?",
   "^level a2d v4 <$texel> <s32/f32> : =tv_[|p] [tex,h?,4^s] s f32?",
   "^grad a2d v4 <$texel> <f32> : =tv_[|p] [tex,h?,4^s] 2*f32 2*f32 f32?",
   "[^base] a2d v4 <$texel> <s32/f32> : =tv_[|p] [tex,h?,4^s] 2*u32 f32?",
   "^level a2d v4 <$texel> <s32/f32> : =tv_[|p] [tex,h?,4^s] s 2*u32 f32?",
   "^grad a2d v4 <$texel> <f32> : =tv_[|p] [tex,h?,4^s] 2*f32 2*f32 2*u32 f32?",
   "[^base] a2d v2 <f16x2> <s32/f32> : =tv_[|p] [tex,h?,4^s] f32?",
   "^level a2d v2 <f16x2> <s32/f32> : =tv_[|p] [tex,h?,4^s] s f32?",
   "^grad a2d v2 <f16x2> <f32> : =tv_[|p] [tex,h?,4^s] 2*f32 2*f32 f32?",
   "[^base] a2d v2 <f16x2> <s32/f32> : =tv_[|p] [tex,h?,4^s] 2*u32 f32?",
   "^level a2d v2 <f16x2> <s32/f32> : =tv_[|p] [tex,h?,4^s] s 2*u32 f32?",
   "^grad a2d v2 <f16x2> <f32> : =tv_[|p] [tex,h?,4^s] 2*f32 2*f32 2*u32 f32?",
   "[^base] acube v4 <$texel> <s32/f32> : =tv_[|p] [tex,h?,4^s] f32?",
   "^level acube v4 <$texel> <s32/f32> : =tv_[|p] [tex,h?,4^s] s f32?",
   "^grad acube v4 <$texel> <f32> : =tv_[|p] [tex,h?,4^s] 4*f32 4*f32 f32?",
   "[^base] acube v2 <f16x2> <s32/f32> : =tv_[|p] [tex,h?,4^s] f32?",
   "^level acube v2 <f16x2> <s32/f32> : =tv_[|p] [tex,h?,4^s] s f32?",
   "^grad acube v2 <f16x2> <f32> : =tv_[|p] [tex,h?,4^s] 4*f32 4*f32 f32?",
   "[^base] 2dms v4 <$texel> <s32> : =tv_[|p] [tex,h?,4*s]",
   "[^base] a2dms v4 <$texel> <s32> : =tv_[|p] [tex,h?,4^s]",
   "[^base] 2dms v2 <f16x2> <s32> : =tv_[|p] [tex,h?,4*s]",
   "[^base] a2dms v2 <f16x2> <s32> : =tv_[|p] [tex,h?,4^s]"
  ],
  "tld4": [
   "r/g/b/a 2d v4 <u32/s32/f32/f16> <f32> : =tv_[|p] [tex,h?,2*s] f32?",
   "r/g/b/a 2d v4 <u32/s32/f32/f16> <f32> : =tv_[|p] [tex,h?,2*s] 2*u32 f32?",
   "r/g/b/a a2d v4 <u32/s32/f32/f16> <f32> : =tv_[|p] [tex,h?,4^s] f32?",
   "r/g/b/a a2d v4 <u32/s32/f32/f16> <f32> : =tv_[|p] [tex,h?,4^s] 2*u32 f32?",
   "r/g/b/a cube v4 <u32/s32/f32/f16> <f32> : =tv_[|p] [tex,h?,4*s] f32?",
   "r/g/b/a acube v4 <u32/s32/f32/f16> <f32> : =tv_[|p] [tex,h?,4^s] f32?",
   "r/g/b/a 2d v2 <f16x2> <f32> : =tv_[|p] [tex,h?,2*s] f32?",
   "r/g/b/a 2d v2 <f16x2> <f32> : =tv_[|p] [tex,h?,2*s] 2*u32 f32?",
   "r/g/b/a a2d v2 <f16x2> <f32> : =tv_[|p] [tex,h?,4^s] f32?",
   "r/g/b/a a2d v2 <f16x2> <f32> : =tv_[|p] [tex,h?,4^s] 2*u32 f32?",
   "r/g/b/a cube v2 <f16x2> <f32> : =tv_[|p] [tex,h?,4*s] f32?",
   "r/g/b/a acube v2 <f16x2> <f32> : =tv_[|p] [tex,h?,4^s] f32?"
  ],
  "txq": [
   "width/height/depth/channel_data_type/channel_order/normalized_coords/array_size/num_mipmap_levels/num_samples/filter_mode/addr_mode_0/addr_mode_1/addr_mode_2/force_unnormalized_coords <b32> : =t [tex] ; 1.5",
   "^level width/height/depth <b32> : =t [tex] u32 ; 3.1 sm_30"
  ],
  "suld": [
   "^b 1d [$surfmem] [v2/v4] <b8/b16/b32/b64> $clamp : =lv [surf,1*u32]",
   "^b 2d/a1d [$surfmem] [v2/v4] <b8/b16/b32/b64> $clamp : =lv [surf,2*u32]",
   "^b 3d/a2d [$surfmem] [v2/v4] <b8/b16/b32/b64> $clamp : =lv [surf,4*u32]"
  ],
  "sust": [
   "^b 1d [wb/cg/cs/wt] [v2/v4] <b8/b16/b32/b64> $clamp : [surf,1*u32] lv",
   "^p 1d [v2/v4] <b32> $clamp : [surf,1*u32] lv",
   "^b 2d/a1d [wb/cg/cs/wt] [v2/v4] <b8/b16/b32/b64> $clamp : [surf,2*u32] lv",
   "^p 2d/a1d [v2/v4] <b32> $clamp : [surf,2*u32] lv",
   "^b 3d/a2d [wb/cg/cs/wt] [v2/v4] <b8/b16/b32/b64> $clamp : [surf,4*u32] lv",
   "^p 3d/a2d [v2/v4] <b32> $clamp : [surf,4*u32] lv"
  ],
  "sured": [
   "^b add 1d <u32/s32/u64> $clamp : [surf,1*u32] t",
   "^b min/max 1d <u32/s32/u64/s64> $clamp : [surf,1*u32] t",
   "^b and/or 1d <b32> $clamp : [surf,1*u32] t",
   "^p add/min/max/and/or 1d <b32> $clamp : [surf,1*u32] t",
   "^b add 2d <u32/s32/u64> $clamp : [surf,2*u32] t",
   "^b min/max 2d <u32/s32/u64/s64> $clamp : [surf,2*u32] t",
   "^b and/or 2d <b32> $clamp : [surf,2*u32] t",
   "^p add/min/max/and/or 2d <b32> $clamp : [surf,2*u32] t",
   "^b add 3d <u32/s32/u64> $clamp : [surf,4*u32] t",
   "^b min/max 3d <u32/s32/u64/s64> $clamp : [surf,4*u32] t",
   "^b and/or 3d <b32> $clamp : [surf,4*u32] t",
   "^p add/min/max/and/or 3d <b32> $clamp : [surf,4*u32] t"
  ],
  "suq": [
   "width/height/depth/channel_data_type/channel_order/array_size/memory_layout <b32> : =t [surf] ; 1.5"
  ],
  "multimem": [
   "^ld_reduce [weak/relaxed/acquire] [$scope] [global] min/max <u32/s32/u64/s64> : =tv [m] ; 8.1 sm_90",
   "^ld_reduce [weak/relaxed/acquire] [$scope] [global] add <u32/s32/u64/f32/f64> : =tv [m] ; 8.1 sm_90",
   "^ld_reduce [weak/relaxed/acquire] [$scope] [global] $bool <b32/b64> : =tv [m] ; 8.1 sm_90",
   "^ld_reduce [weak/relaxed/acquire] [$scope] [global] add $vec <f32> : =tv [m] ; 8.1 sm_90",
   "^ld_reduce [weak/relaxed/acquire] [$scope] [global] add [acc::f32] v2/v4/v8 <f16/bf16> : =tv [m] ; 8.1 sm_90",
   "^ld_reduce [weak/relaxed/acquire] [$scope] [global] min/max v2/v4/v8 <f16/bf16> : =tv [m] ; 8.1 sm_90",
   "^ld_reduce [weak/relaxed/acquire] [$scope] [global] add [acc::f32] [v2/v4] <f16x2/bf16x2> : =tv [m] ; 8.1 sm_90",
   "^ld_reduce [weak/relaxed/acquire] [$scope] [global] min/max [v2/v4] <f16x2/bf16x2> : =tv [m] ; 8.1 sm_90",
   "^ld_reduce [weak/relaxed/acquire] [$scope] [global] add [acc::f16] v2/v4/v8 <$fp8> : =x [m] ; 8.6 sm_100a",
   "^ld_reduce [weak/relaxed/acquire] [$scope] [global] add [acc::f16] [v2/v4/v8] <e4m3x4/e5m2x4> : =x [m] ; 8.6 sm_100a",
   "^ld_reduce [weak/relaxed/acquire] [$scope] [global] min/max [v2/v4/v8/v16] <e4m3/e5m2/e4m3x4/e5m2x4> : =x [m] ; 8.6 sm_100a",
   "^red [relaxed/release] [$scope] [global] min/max <u32/s32/u64/s64> : [m] tv ; 8.1 sm_90",
   "^red [relaxed/release] [$scope] [global] add <u32/s32/u64/f32/f64> : [m] tv ; 8.1 sm_90",
   "^red [relaxed/release] [$scope] [global] $bool <b32/b64> : [m] tv ; 8.1 sm_90",
   "^red [relaxed/release] [$scope] [global] add $vec <f32> : [m] tv ; 8.1 sm_90",
   "^red [relaxed/release] [$scope] [global] add v2/v4/v8 <f16/bf16> : [m] tv ; 8.1 sm_90",
   "^red [relaxed/release] [$scope] [global] min/max v2/v4/v8 <f16/bf16> : [m] tv ; 8.1 sm_90",
   "^red [relaxed/release] [$scope] [global] add [v2/v4] <f16x2/bf16x2> : [m] tv ; 8.1 sm_90",
   "^red [relaxed/release] [$scope] [global] min/max [v2/v4] <f16x2/bf16x2> : [m] tv ; 8.1 sm_90",
   "^st [weak/relaxed/release] [$scope] [global] [$vec] <b32/b64/u32/u64/s32/s64/f32/f64/f16x2/bf16x2> : [m] tv ; 8.1 sm_90",
   "^st [weak/relaxed/release] [$scope] [global] $vec <f16/bf16> : [m] tv ; 8.1 sm_90"
  ],
  "createpolicy": [
   "^fractional L2::evict_last/L2::evict_normal/L2::evict_first/L2::evict_unchanged [L2::evict_first/L2::evict_unchanged] <b64> : =u64 f32? ; 7.4 sm_80",
   "^range [global] L2::evict_last/L2::evict_normal/L2::evict_first/L2::evict_unchanged [L2::evict_first/L2::evict_unchanged] <b64> : =u64 [m] u32 u32 ; 7.4 sm_80",
   "^cvt L2 <b64> : =u64 u64 ; 7.4 sm_80"
  ],
  "discard": [
   "[global] L2 : [m] #128 ; 7.4 sm_80"
  ],
  "applypriority": [
   "[global] L2::evict_normal : [m] #128 ; 7.4 sm_80"
  ],
  "istypep": [
   "texref/samplerref/surfref : =p u64 ; 4.0 sm_30"
  ],
  "setmaxnreg": [
   "^inc/dec sync aligned <u32> : #24..256%8 ; 8.0 sm_90a"
  ],
  "alloca": [
   "<u32/u64> : =t t #? ; 7.3 sm_52"
  ],
  "stacksave": [
   "<u32/u64> : =t ; 7.3 sm_52"
  ],
  "stackrestore": [
   "<u32/u64> : t ; 7.3 sm_52"
  ],
  "clusterlaunchcontrol": [
   "^try_cancel async [shared::cta] mbarrier::complete_tx::bytes [multicast::cluster::all] <b128> : [m] [m] ; 8.6 sm_100",
   "^query_cancel is_canceled <pred> <b128> : =t s ; 8.6 sm_100",
   "^query_cancel get_first_ctaid v4 <b32> <b128> : =tv s ; 8.6 sm_100",
   "^query_cancel get_first_ctaid::x/get_first_ctaid::y/get_first_ctaid::z <b32> <b128> : =t s ; 8.6 sm_100"
  ],
  "tensormap": [
   "^replace tile global_address [global/shared::cta] b1024 <b64> : [m] t ; 8.3 sm_90a",
   "^replace tile rank [global/shared::cta] b1024 <b32> : [m] t ; 8.3 sm_90a",
   "^replace tile box_dim/global_dim/element_stride [global/shared::cta] b1024 <b32> : [m] #0..4 t ; 8.3 sm_90a",
   "^replace tile global_stride [global/shared::cta] b1024 <b64> : [m] #0..4 t ; 8.3 sm_90a",
   "^replace tile elemtype/interleave_layout/swizzle_mode/swizzle_atomicity/fill_mode [global/shared::cta] b1024 <b32> : [m] #0..15 ; 8.3 sm_90a",
   "^cp_fenceproxy global shared::cta tensormap::generic release $scope sync aligned : [m] [m] #128 ; 8.3 sm_90"
  ],
  "vadd2": [
   "[sat] <u32/s32> <u32/s32> <u32/s32> : =chosen chosenr chosenr chosenr ; 3.0 sm_30",
   "add <u32/s32> <u32/s32> <u32/s32> : =chosen chosenr chosenr chosenr ; 3.0 sm_30"
  ],
  "vsub2": [
   "[sat] <u32/s32> <u32/s32> <u32/s32> : =chosen chosenr chosenr chosenr ; 3.0 sm_30",
   "add <u32/s32> <u32/s32> <u32/s32> : =chosen chosenr chosenr chosenr ; 3.0 sm_30"
  ],
  "vavrg2": [
   "[sat] <u32/s32> <u32/s32> <u32/s32> : =chosen chosenr chosenr chosenr ; 3.0 sm_30",
   "add <u32/s32> <u32/s32> <u32/s32> : =chosen chosenr chosenr chosenr ; 3.0 sm_30"
  ],
  "vabsdiff2": [
   "[sat] <u32/s32> <u32/s32> <u32/s32> : =chosen chosenr chosenr chosenr ; 3.0 sm_30",
   "add <u32/s32> <u32/s32> <u32/s32> : =chosen chosenr chosenr chosenr ; 3.0 sm_30"
  ],
  "vmin2": [
   "[sat] <u32/s32> <u32/s32> <u32/s32> : =chosen chosenr chosenr chosenr ; 3.0 sm_30",
   "add <u32/s32> <u32/s32> <u32/s32> : =chosen chosenr chosenr chosenr ; 3.0 sm_30"
  ],
  "vmax2": [
   "[sat] <u32/s32> <u32/s32> <u32/s32> : =chosen chosenr chosenr chosenr ; 3.0 sm_30",
   "add <u32/s32> <u32/s32> <u32/s32> : =chosen chosenr chosenr chosenr ; 3.0 sm_30"
  ],
  "vset2": [
   "$signedcmp <u32/s32> <u32/s32> : =chosen chosenr chosenr chosenr ; 3.0 sm_30",
   "$signedcmp add <u32/s32> <u32/s32> : =chosen chosenr chosenr chosenr ; 3.0 sm_30"
  ],
  "vadd4": [
   "[sat] <u32/s32> <u32/s32> <u32/s32> : =chosen chosenr chosenr chosenr ; 3.0 sm_30",
   "add <u32/s32> <u32/s32> <u32/s32> : =chosen chosenr chosenr chosenr ; 3.0 sm_30"
  ],
  "vsub4": [
   "[sat] <u32/s32> <u32/s32> <u32/s32> : =chosen chosenr chosenr chosenr ; 3.0 sm_30",
   "add <u32/s32> <u32/s32> <u32/s32> : =chosen chosenr chosenr chosenr ; 3.0 sm_30"
  ],
  "vavrg4": [
   "[sat] <u32/s32> <u32/s32> <u32/s32> : =chosen chosenr chosenr chosenr ; 3.0 sm_30",
   "add <u32/s32> <u32/s32> <u32/s32> : =chosen chosenr chosenr chosenr ; 3.0 sm_30"
  ],
  "vabsdiff4": [
   "[sat] <u32/s32> <u32/s32> <u32/s32> : =chosen chosenr chosenr chosenr ; 3.0 sm_30",
   "add <u32/s32> <u32/s32> <u32/s32> : =chosen chosenr chosenr chosenr ; 3.0 sm_30"
  ],
  "vmin4": [
   "[sat] <u32/s32> <u32/s32> <u32/s32> : =chosen chosenr chosenr chosenr ; 3.0 sm_30",
   "add <u32/s32> <u32/s32> <u32/s32> : =chosen chosenr chosenr chosenr ; 3.0 sm_30"
  ],
  "vmax4": [
   "[sat] <u32/s32> <u32/s32> <u32/s32> : =chosen chosenr chosenr chosenr ; 3.0 sm_30",
   "add <u32/s32> <u32/s32> <u32/s32> : =chosen chosenr chosenr chosenr ; 3.0 sm_30"
  ],
  "vset4": [
   "$signedcmp <u32/s32> <u32/s32> : =chosen chosenr chosenr chosenr ; 3.0 sm_30",
   "$signedcmp add <u32/s32> <u32/s32> : =chosen chosenr chosenr chosenr ; 3.0 sm_30"
  ],
  "vset": [
   "$signedcmp <u32/s32> <u32/s32> : =u32 chosen chosen",
   "$signedcmp [add/min/max] <u32/s32> <u32/s32> : =chosen chosen chosen u32"
  ],
  "vmad": [
   "[sat] [shr7/shr15] <u32/s32> <u32/s32> <u32/s32> : =u32 x x x",
   "po [sat] [shr7/shr15] <u32/s32> <u32/s32> <u32/s32> : =u32 x x x"
  ]
 }
};
