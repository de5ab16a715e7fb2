import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { checkPtx } from '../../src/ptx/check.ts';
import { lowerPtx } from '../../src/ptx/lower/index.ts';
import { parsePtx } from '../../src/ptx/parse.ts';
import { testIsa } from '../support/isa.ts';
import { askAll, someOf } from '../support/ptxas.ts';

// Declarations, function headers and module headers; ptxas 13.0 decides which are valid, and the last test asks it again.
const whole = (text: string): string =>
  text.startsWith('.version') ? text : `.version 9.0\n.target sm_90\n.address_size 64\n${text}\n`;

const faults = (text: string): string[] => {
  const { module, diagnostics } = parsePtx(whole(text), 'k.ptx');
  return [...diagnostics, ...checkPtx(module)]
    .filter((d) => d.severity === 'error')
    .map((d) => [d.message, ...(d.notes ?? [])].join('; '));
};

/** A function that uses `x`, and the message that an entry uses too much. */
const USES = '.func f() { .reg .b32 %r; mov.b32 %r, x; st.shared.b32 [%r], %r; ret; }';
const tooMuch = (bytes: number, largest: string): string =>
  `'k' uses ${bytes} bytes of shared memory: at most 49152 have room; the largest is ${largest}; a launch gives more to '.extern .shared .b8 name[]'`;

const RIGHT: readonly string[] = [
  '.shared .b8 x[30000]; .shared .b8 y[30000]; .visible .entry k() { .reg .b32 %r; mov.b32 %r, x; st.shared.b32 [%r], %r; ret; }',
  `.shared .b8 x[60000]; ${USES} .visible .entry k() { ret; }`,
  '.visible .func f() { .shared .b8 x[60000]; .reg .b32 %r; mov.b32 %r, x; st.shared.b32 [%r], %r; ret; }',
  '.extern .shared .b8 e[]; .shared .b8 x[49152]; .visible .entry k() { .reg .b32 %r; st.shared.b32 [x], %r; st.shared.b32 [e], %r; ret; }',
  '.shared .align 1 .b8 x[49100]; .shared .align 16 .b8 y[32]; .shared .align 1 .b8 z[16]; .visible .entry k() { .reg .b32 %r; st.shared.b32 [x], %r; st.shared.b32 [y], %r; st.shared.b8 [z], %r; ret; }',
  '.version 8.1\n.target sm_80\n.address_size 64\n.visible .entry k(.param .b8 p[4353]) { ret; }\n',
  '.version 8.0\n.target sm_80\n.address_size 64\n.visible .entry k(.param .b8 p[4352]) { ret; }\n',
  '.const .b8 x[65536]; .visible .entry k() { .shared .b8 y[49152]; .local .b8 z[99999999]; ret; }',
  '.func f(.reg .pred p) { ret; }',
  '.visible .entry k(.param .f16 p) { ret; }',
  '.visible .entry k(.param .b128 p) { ret; }',
  '.func f(.param .b8 p[0]) { ret; }',
  '.func f(.param .b8 p[]) { ret; }',
  '.visible .entry k(.param .align 256 .b8 p[8]) { ret; }',
  '.global .align 512 .u32 x;',
  '.global .align 1 .u32 x;',
  '.global .align 1073741824 .u32 x;',
  '.visible .entry k(.param .b8 p[32764]) { ret; }',
  '.extern .shared .b8 x[0]; .visible .entry k() { ret; }',
  '.extern .func f();',
  '.weak .func f() { ret; }',
  '.weak .entry f() { ret; }',
  '.weak .global .u32 x;',
  '.common .global .u32 x;',
  '.visible .entry k() .maxntid 1024 { ret; }',
  '.visible .entry k() .maxntid 1025 { ret; }',
  '.visible .entry k() .maxntid 32, 32, 2 { ret; }',
  '.visible .entry k() .minnctapersm 2 { ret; }',
  '.visible .entry k() .minnctapersm 2 .maxntid 128 { ret; }',
  '.visible .entry k() .maxnreg 32 { ret; }',
  '.visible .entry k() .maxnreg 300 { ret; }',
  '.visible .entry k() .maxntid 128 .maxntid 128 { ret; }',
  '.func f() .noreturn { exit; }',
  '.visible .entry k() .reqnctapercluster 2 { ret; }',
  '.visible .entry k() .explicitcluster .reqnctapercluster 2 { ret; }',
  '.visible .entry k() .maxclusterrank 8 { ret; }',
  '.visible .entry k() { .reg .u32 %r<12>; .reg .u64 %r1<2>; ret; }',
  '.visible .entry k() { .reg .u32 %r<12>; mov.u32 %r007, 1; ret; }',
  '.visible .entry k() { .reg .u32 %r<12>; mov.u32 %r00, 1; ret; }',
  '.visible .entry k() { .reg .u32 %r<12>; { .reg .u64 %r5; mov.u64 %r5, 1; } mov.u32 %r5, 1; ret; }',
  '.visible .entry k() { .reg .u32 %r<0>; ret; }',
  '.visible .entry k() { .reg .u32 a, b<3>, c; mov.u32 b2, 1; mov.u32 c, 1; ret; }',
  '.visible .entry k() { .reg .u32 %r<10000000>; mov.u32 %r9999999, 1; ret; }',
  '.visible .entry k() { .reg .u32 %r<100000000>; ret; }',
  '.visible .entry k() { .reg .u32 %r<16777217>; ret; }',
  '.global .u32 x = 5; .global .u32 y = x; .visible .entry k() { ret; }',
  '.global .u8 x[2] = {300, -1};',
  '.global .f32 x = 0f3F800000;',
  '.global .b32 x = 0f3F800000;',
  '.global .b64 x = 1.5;',
  '.global .u32 x[2][2] = {{1,2},{3,4}};',
  '.global .v2 .u32 x = {1,2};',
  '.global .v2 .f32 x[2] = {{1.0,2.0},{1.0,2.0}};',
  '.const .u32 x;',
  '.const .u32 x[] = {1,2};',
  '.func (.reg .u32 a, .reg .u32 b) f() { ret; }',
  '.visible .entry k(.param .u64 .ptr .global .align 16 a) { ret; }',
  '.visible .entry k(.param .u16 .ptr a) { ret; }',
  '.visible .entry k(.param .u32 .ptr a) { ret; }',
  '.visible .entry k(.param .f32 .ptr a) { ret; }',
  '.visible .entry k() { }',
  '.section .debug_info { .b8 1, 2 }',
  '.section .foo { .b32 1 }',
  '.section .debug_str { a: .b8 1 b: .b8 -128, 255 .b32 a+4 .b64 b-a .b32 .debug_abbrev .b32 .debug_loc+4 c: }',
  '.section .debug_str { a: .b8 1 } .visible .entry k() { .loc 1 1 1 .loc 1 2 3, function_name a+1, inlined_at 1 1 1 ret; }',
  '.visible .entry k() { .reg .u32 %r<4>; %r3: mov.u32 %r3, 1; %r4: ret; }',
  '.visible .entry k() { .reg .u32 %r<4>; .reg .pred %p; setp.eq.u32 %p, %r1, 3; @%p bra %q; mov.u32 %r2, 4; %q: ret; }',
  '.visible .entry k() { .target sm_90 ret; }',
  '.version 1.4\n.target sm_13\n.tex .u32 t;\n.entry k() { .reg .f32 f<5>; mov.f32 f0, 0f3f800000; tex.2d.v4.f32.f32 {f1,f2,f3,f4}, [t, {f0,f0}]; exit; }\n',
  '.version 1.4\n.target sm_13\n.visible .tex .u64 t, u;\n.entry k() { .reg .f32 f<5>; mov.f32 f0, 0f3f800000; tex.2d.v4.f32.f32 {f1,f2,f3,f4}, [t, {f0,f0}]; exit; }\n',
  '.version 3.0\n.target sm_20\n.global .texref t;\n.entry k() { .reg .f32 f<5>; mov.f32 f0, 0f3f800000; tex.2d.v4.f32.f32 {f1,f2,f3,f4}, [t, {f0,f0}]; exit; }\n',
  '.pragma "nounroll";',
  '.file 1 "a.cu"',
  '.visible .entry k() { .loc 1 1 1 ret; }',
  '.file 1 "a.cu" .visible .entry k() { .loc 1 1 1 ret; }',
  '.file 1 "a.cu", 12, 34 .visible .entry k() { .loc 1 1 1 ret; }',
  '.func g() { ret; } .func f(); .alias f, g;',
  '.visible .entry k() { .reg .u64 %rd<3>; .reg .u32 %r<3>; p: .callprototype (.param .u32 _) _ (.param .u32 _); call (%r1), %rd1, (%r2), p; ret; }',
  '.visible .entry k() { .reg .u64 %rd<3>; .param .u32 x; .param .u32 y; p: .callprototype (.param .u32 _) _ (.param .u32 _); call (x), %rd1, (y), p; ret; }',
  '.visible .entry k() { .reg .u64 %rd<3>; .param .u32 x; .param .b8 y[4]; p: .callprototype (.param .u32 _) _ (.param .u32 _, .param .b8 _[]); call (x), %rd1, (x, y), p; ret; }',
  '.extern .func (.param .u32 r) vprintf(.param .u64 a, .param .u64 b); .visible .entry k() { .param .u64 a; .param .u64 b; .param .u32 r; call (r), vprintf, (a, b); ret; }',
  '.visible .entry k() { .reg .u32 %r<3>; t: .branchtargets a, b; brx.idx %r1, t; a: ret; b: ret; }',
  '.func v(.param .u32 n, .param .align 8 .b8 p[]) { ret; } .visible .entry k() { .param .u32 n; .param .align 8 .b8 q[16]; call v, (n, q); ret; }',
  '.func f(.param .b32 a) { ret; } .func g(.param .b32 b) { ret; } .visible .entry k() { .reg .u64 %rd<3>; .param .b32 x; t: .calltargets f, g; mov.u64 %rd1, f; call %rd1, (x), t; ret; }',
  '.version 9.0\n.target sm_90\n.target sm_90\n.address_size 64\n.entry k() { ret; }\n',
];

const WRONG: readonly (readonly [text: string, said: string])[] = [
  ['.visible .entry k() { .reg .u32 %r<4>; %r3: bra %r3; }', "'bra' takes a label"],
  ['.visible .entry k() { .reg .pred %p<2>; %q: bra !%q; }', "'bra' takes a label"],
  [
    '.func f(.param .b32 a) { ret; } .func g(.param .b64 b) { ret; } .visible .entry k() { .reg .u64 %rd<3>; .param .b32 x; t: .calltargets f, g; mov.u64 %rd1, f; call %rd1, (x), t; ret; }',
    "argument 1 of 'g' has 8 bytes, but 'x' has 4",
  ],
  [
    '.func f(.param .b32 a) { ret; } .func g(.param .b32 b) { ret; } .visible .entry h() { ret; } .visible .entry k() { .reg .u64 %rd<3>; .param .b32 x; t: .calltargets f, h; mov.u64 %rd1, f; call %rd1, (x), t; ret; }',
    "'h' is an entry: only device functions are called",
  ],
  [
    '.const .b8 x[40000]; .const .b8 y[30000]; .visible .entry k() { ret; }',
    "with 'y', constants have 70000 bytes: at most 65536 have room",
  ],
  ['.visible .entry k() { .shared .b8 x[49153]; ret; }', tooMuch(49153, "'x'")],
  ['.visible .entry k() { .shared .b8 x[30000]; { .shared .b8 y[30000]; } ret; }', tooMuch(60000, "'x'")],
  [
    '.shared .b8 x[30000]; .shared .b8 y[30000]; .visible .entry k() { .reg .b32 %r; mov.b32 %r, x; ld.shared.b32 %r, [y+4]; ret; }',
    tooMuch(60000, "'x'"),
  ],
  [`.shared .b8 x[60000]; ${USES} .visible .entry k() { call f; ret; }`, tooMuch(60000, "'x'")],
  [
    `.shared .b8 x[60000]; ${USES} .visible .entry k() { .reg .b64 %rd; mov.b64 %rd, f; st.global.b64 [%rd], %rd; ret; }`,
    tooMuch(60000, "'x'"),
  ],
  [
    `.shared .b8 x[60000]; ${USES} .global .u64 g = f; .visible .entry k() { .reg .b64 %rd; ld.global.b64 %rd, [g]; st.global.b64 [%rd], %rd; ret; }`,
    tooMuch(60000, "'x'"),
  ],
  [
    '.func f() { .shared .b8 y[30000]; ret; } .shared .b8 x[30000]; .visible .entry k() { .reg .b32 %r; mov.b32 %r, x; st.shared.b32 [%r], %r; call f; ret; }',
    tooMuch(60000, "'y'"),
  ],
  [
    '.shared .align 128 .b8 x[49000]; .shared .align 256 .b8 y[10]; .visible .entry k() { .reg .b32 %r; st.shared.b32 [x], %r; st.shared.b8 [y], %r; ret; }',
    tooMuch(49162, "'x'"),
  ],
  [
    '.extern .global .u32 x = 1;',
    "'x' cannot have an initialiser: it is .extern; its value is given where it is defined",
  ],
  [
    '.version 8.0\n.target sm_80\n.address_size 64\n.visible .entry k(.param .b8 p[4353]) { ret; }\n',
    "'k' has 4353 bytes of parameters: at most 4352 are passed; from PTX 8.1 and sm_70 on, at most 32764",
  ],
  [
    '.func f(.param .u64 .ptr .align 8 a) { ret; }',
    "'a' is a parameter of a function: '.ptr' is for entries",
  ],
  ['.func f(.param .u32 a = 5) { ret; }', "'a' is a parameter: it has no initialiser"],
  [
    '.func f(.param .pred p) { ret; }',
    "'p' is .pred: parameters are scalars and arrays; an array of .b8 has room for anything: '.param .align 8 .b8 name[16]'",
  ],
  [
    '.visible .entry k(.param .pred p) { ret; }',
    "'p' is .pred: parameters are scalars and arrays; an array of .b8 has room for anything: '.param .align 8 .b8 name[16]'",
  ],
  [
    '.visible .entry k(.param .f16x2 p) { ret; }',
    "'p' is .f16x2: parameters are scalars and arrays; an array of .b8 has room for anything: '.param .align 8 .b8 name[16]'",
  ],
  [
    '.func f(.param .f16x2 p) { ret; }',
    "'p' is .f16x2: parameters are scalars and arrays; an array of .b8 has room for anything: '.param .align 8 .b8 name[16]'",
  ],
  [
    '.visible .entry k(.param .v4 .u32 p) { ret; }',
    "'p' is a vector: parameters are scalars and arrays; an array of .b8 has room for anything: '.param .align 8 .b8 name[16]'",
  ],
  [
    '.visible .entry k(.param .v4 .u64 p) { ret; }',
    "'p' is a vector: parameters are scalars and arrays; an array of .b8 has room for anything: '.param .align 8 .b8 name[16]'",
  ],
  [
    '.visible .entry k(.param .b8 p[]) { ret; }',
    "the size of 'p' is unknown; only the last parameter of a function, not of an entry, may have any size",
  ],
  [
    '.visible .entry k(.param .b8 p[0]) { ret; }',
    "the size of 'p' is unknown; only the last parameter of a function, not of an entry, may have any size",
  ],
  [
    '.func f(.param .b8 p[], .param .u32 q) { ret; }',
    "the size of 'p' is unknown; only the last parameter of a function, not of an entry, may have any size",
  ],
  [
    '.visible .entry k(.param .b8 p[], .param .u32 q) { ret; }',
    "the size of 'p' is unknown; only the last parameter of a function, not of an entry, may have any size",
  ],
  ['.visible .entry k(.param .align 3 .b8 p[8]) { ret; }', 'an alignment of 3 is not a power of two'],
  ['.visible .entry k(.param .align 0 .b8 p[8]) { ret; }', 'an alignment of 0 is not a power of two'],
  ['.global .align 0 .u32 x;', 'an alignment of 0 is not a power of two'],
  [
    '.visible .entry k(.param .b8 p[99999999999]) { ret; }',
    "'k' has 99999999999 bytes of parameters: at most 32764 are passed",
  ],
  [
    '.visible .entry k(.param .b8 p[32768]) { ret; }',
    "'k' has 32768 bytes of parameters: at most 32764 are passed",
  ],
  [
    '.visible .entry k() { .local .b8 x[0]; ret; }',
    "the size of 'x' is unknown; give the first dimension, or an initialiser, or declare it '.extern'",
  ],
  [
    '.visible .entry k() { .local .b8 x[]; ret; }',
    "the size of 'x' is unknown; give the first dimension, or an initialiser, or declare it '.extern'",
  ],
  [
    '.visible .entry k() { .shared .b8 x[0]; ret; }',
    "the size of 'x' is unknown; give the first dimension, or an initialiser, or declare it '.extern'",
  ],
  [
    '.visible .entry k() { .shared .b8 x[]; ret; }',
    "the size of 'x' is unknown; give the first dimension, or an initialiser, or declare it '.extern'",
  ],
  [
    '.visible .entry k() { .global .b8 x[0]; ret; }',
    "the size of 'x' is unknown; give the first dimension, or an initialiser, or declare it '.extern'",
  ],
  [
    '.visible .entry k() { .param .b8 x[0]; ret; }',
    "the size of 'x' is unknown; give the first dimension, or an initialiser, or declare it '.extern'",
  ],
  [
    '.shared .b8 x[0]; .visible .entry k() { ret; }',
    "the size of 'x' is unknown; give the first dimension, or an initialiser, or declare it '.extern'",
  ],
  [
    '.global .b8 x[0]; .visible .entry k() { ret; }',
    "the size of 'x' is unknown; give the first dimension, or an initialiser, or declare it '.extern'",
  ],
  ['.extern .entry k() { ret; }', "'k' is .extern, so that its body is elsewhere"],
  ['.extern .func f() { ret; }', "'f' is .extern, so that its body is elsewhere"],
  ['.common .shared .u32 x;', "'x' is .common and must be .global, not .shared"],
  ['.address_size 64', "'.address_size' occurs twice"],
  ['.visible .entry k() .maxntid 0 { ret; }', "'.maxntid' of 'k' takes numbers above 0"],
  [
    '.visible .entry k() .reqntid 128 .maxntid 128 { ret; }',
    "'.maxntid' and '.reqntid' of 'k' exclude each other",
  ],
  ['.visible .entry k() .maxnreg 0 { ret; }', "'.maxnreg' of 'k' takes numbers above 0"],
  ['.func f() .maxntid 128 { ret; }', "'.maxntid' is for entries, and 'f' is a function"],
  ['.visible .entry k() .noreturn { exit; }', "'.noreturn' is for functions, and 'k' is an entry"],
  ['.visible .entry k() { .reg .u32 r; r: ret; }', "'r' is declared twice"],
  ['.visible .entry k() { a: a: ret; }', "label 'a' is declared twice"],
  ['.visible .entry k() { .loc 1 20 ret; }', "expected a column, found 'ret'"],
  [
    '.visible .entry k() { .loc 1 20 3, inlined_at 1 2 3 ret; }',
    "expected 'function_name', found 'inlined_at'",
  ],
  [
    '.section .a { b: .b8 1 } .visible .entry k() { .loc 1 2 3, function_name b ret; }',
    "expected ',', found 'ret'",
  ],
  ['.section .a { .b8 1 2 }', "expected data, a label or '}' of the section, found '2'"],
  ['.section .a { .b8 1, , 2 }', "expected an integer, found ','"],
  ['.section .a { .b8 256 }', '256 is out of range for .b8'],
  ['.section .a { .b16 -32769 }', '-32769 is out of range for .b16'],
  ['.section .a { b: .b8 b }', "'.b8' holds integers: a label or a section needs .b32 or .b64"],
  ['.section .a { .u32 1 }', "'.u32' is not a type of section data: these are .b8, .b16, .b32 and .b64"],
  ['.section .a { b: b: .b8 1 }', "label 'b' is declared twice"],
  ['.section .a { b .b8 1 }', "expected ':', found '.b8'"],
  ['.visible .entry k() { .reg .u32 %r<4>; .reg .u32 %r1; ret; }', "'%r1' is declared twice"],
  ['.visible .entry k() { .reg .u32 %r1; .reg .u32 %r<4>; ret; }', "'%r' is declared twice"],
  ['.visible .entry k() { .reg .u32 %r<4>; .reg .u64 %r<8>; ret; }', "'%r' is declared twice"],
  ['.visible .entry k() { .reg .u32 %r<4>; .reg .u64 %r<4>; ret; }', "'%r' is declared twice"],
  [
    '.visible .entry k() { .reg .u32 %r<12>; .reg .u32 %r007; mov.u32 %r007, 1; ret; }',
    "'%r007' is declared twice",
  ],
  [
    '.visible .entry k() { .reg .u32 %r<4294967296>; ret; }',
    '4294967296 registers are more than a function can have',
  ],
  [
    '.global .u64 y = x; .global .u32 x = 5; .visible .entry k() { ret; }',
    "'x' is declared after 'y', which holds its address",
  ],
  ['.global .u32 x[2] = {1,2,3};', "the initialiser of 'x' has 3 elements where 2 have room"],
  ['.global .f32 x = 1;', "'x' is .f32: its initialiser must be a floating-point constant"],
  ['.global .u32 x = 1.5;', "'x' is .u32: its initialiser must be an integer"],
  ['.global .u32 x[2][2] = {1,2,3,4};', "the initialiser of 'x' has 4 elements where 2 have room"],
  ['.shared .u32 x = 5;', "'x' cannot have an initialiser: it is .shared"],
  ['.global .u32 x; .global .u32 x;', "'x' is declared twice; the first declaration is at line 4"],
  ['.global .u32 x; .visible .entry x() { ret; }', "'x' is declared before as a variable"],
  ['.extern .global .u32 x; .global .u32 x;', "'x' is declared twice; the first declaration is at line 4"],
  ['.extern .global .u32 x; .global .u64 x;', "'x' is declared twice; the first declaration is at line 4"],
  ['.func (.param .u32 a) f(.param .u32 a) { ret; }', "'a' is declared twice"],
  ['.visible .entry k(.param .u32 a, .param .u32 a) { ret; }', "'a' is declared twice"],
  ['.visible .entry k(.reg .u32 a) { ret; }', "'a' is a parameter of an entry: it must be .param, not .reg"],
  ['.visible .entry k(.param .u64 .ptr .align 3 a) { ret; }', 'an alignment of 3 is not a power of two'],
  ['.visible .entry k(.param .u64 .ptr .align 0 a) { ret; }', 'an alignment of 0 is not a power of two'],
  ['.visible .entry k() { ret }', "expected an operand, found '}'"],
  ['.visible .entry k() { ; ret; }', "there is no statement before ';'"],
  ['.visible .entry k() { ret; };', "there is no declaration before ';'"],
  ['.func g() { ret; } .func f() { ret; } .alias f, g;', "'f' has a body: it cannot be another name of 'g'"],
  [
    '.func g() { ret; } .func f(.param .u32 a); .alias f, g;',
    "'f' is declared with other parameters than 'g'",
  ],
  [
    '.visible .entry k() { .reg .u64 %rd<3>; .param .u32 x; .param .u32 y; p: .callprototype (.param .u32 _) _ (.param .u32 _); call (x), %rd1, (y, y), p; ret; }',
    "'p' has 1 argument, but the call has 2 arguments",
  ],
  [
    '.visible .entry k() { .reg .u32 %r<3>; t: .branchtargets a, c; brx.idx %r1, t; a: ret; b: ret; }',
    "'c' is not declared",
  ],
  [
    '.version 9.0\n.address_size 64\n.target sm_90\n.entry k() { ret; }\n',
    "'.address_size' must directly follow '.target'",
  ],
  [
    '.version 9.0\n.target sm_90\n.address_size 64\n.address_size 64\n.entry k() { ret; }\n',
    "'.address_size' occurs twice",
  ],
  [
    '.version 3.0\n.target sm_20\n.tex .u32 t;\n.entry k() { .reg .f32 f<5>; mov.f32 f0, 0f3f800000; tex.2d.v4.f32.f32 {f1,f2,f3,f4}, [t, {f0,f0}]; exit; }\n',
    "'.tex' was removed in PTX 1.5; write '.global .texref t'",
  ],
  [
    '.version 1.4\n.target sm_13\n.tex .f32 t;\n.entry k() { .reg .f32 f<5>; mov.f32 f0, 0f3f800000; tex.2d.v4.f32.f32 {f1,f2,f3,f4}, [t, {f0,f0}]; exit; }\n',
    "'t' is .tex: it must be one .u32 or .u64",
  ],
  [
    '.version 1.4\n.target sm_13\n.global .texref t;\n.entry k() { .reg .f32 f<5>; mov.f32 f0, 0f3f800000; tex.2d.v4.f32.f32 {f1,f2,f3,f4}, [t, {f0,f0}]; exit; }\n',
    "'.texref' needs PTX 1.5 or newer; this is PTX 1.4 for sm_13",
  ],
  [
    '.version 9.0\n.target texmode_unified\n.entry k() { ret; }\n',
    "'.target' names no architecture; write '.target sm_80', say",
  ],
];

describe('declarations that ptxas takes are taken', () => {
  it.each(RIGHT)('%s', (text) => expect(faults(text)).toEqual([]));
});

describe('declarations that ptxas refuses are refused', () => {
  it.each(WRONG)('%s', (text, said) => expect(faults(text)).toEqual([said]));
});

const dir = mkdtempSync(join(tmpdir(), 'orrery-declared-'));
afterAll(() => rmSync(dir, { recursive: true }));

describe.skipIf(spawnSync('ptxas', ['--version']).status !== 0)('ptxas (needs ptxas)', () => {
  const taken = (text: string): boolean => {
    const file = join(dir, 'k.ptx');
    writeFileSync(file, whole(text));
    const args = ['-O0', '-arch=sm_90', file, '-o', join(dir, 'k.cubin')];
    return spawnSync('ptxas', args, { timeout: 60_000 }).status === 0;
  };
  // ptxas writes what it aligns: this one takes it 18 s.
  const GIGABYTE = '.global .align 1073741824 .u32 x;';
  it('says the same of each', () => {
    expect(RIGHT).toContain(GIGABYTE);
    const right = askAll ? RIGHT : someOf(RIGHT.filter((text) => text !== GIGABYTE));
    for (const text of right) expect([text, taken(text)]).toEqual([text, true]);
    for (const [text] of someOf(WRONG)) expect([text, taken(text)]).toEqual([text, false]);
  }, 240_000);
});

it('jumps by tables have a limited number of targets, however many share a table', () => {
  const jumps = (n: number): string => {
    const labels = Array.from({ length: n }, (_, k) => `L${k}`);
    const body = labels.map((l) => `${l}: brx.idx %r1, t;`).join('\n');
    return `.visible .entry k() { .reg .u32 %r<3>; t: .branchtargets ${labels.join(', ')};\n${body}\n}`;
  };
  const lowered = (n: number) => {
    const { module, diagnostics } = parsePtx(whole(jumps(n)), 'k.ptx');
    expect(diagnostics).toEqual([]);
    return lowerPtx(module, { isa: testIsa(), paramBase: 0x210, sm: 'sm_90' });
  };
  const over = lowered(725);
  expect(over.program.skipped.map((s) => s.name)).toEqual(['k']);
  expect(over.diagnostics[0].notes).toEqual(['the jumps by tables have more than 524288 targets together']);
  expect(lowered(724).program.functions.map((f) => f.name)).toEqual(['k']);
});
