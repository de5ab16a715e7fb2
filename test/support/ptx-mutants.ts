/** Mutants of PTX text: one seeded change per file, so that each can be reproduced. */

/** A deterministic source of numbers (mulberry32). */
export function randomOf(seed: number): (below: number) => number {
  let a = seed >>> 0;
  return (below) => {
    a = (a + 0x6d2b79f5) >>> 0;
    let t = a;
    t = Math.imul(t ^ (t >>> 15), t | 1);
    t ^= t + Math.imul(t ^ (t >>> 7), t | 61);
    return ((t ^ (t >>> 14)) >>> 0) % below;
  };
}

/** A parsed line: guard, opcode with modifiers, and operands. */
const INSTRUCTION = /^(\s*)(@!?%?\w+\s+)?([a-z][\w]*(?:\.[\w:]+)*)(?:(\s+)([^;]*))?;(.*)$/;

interface Line {
  readonly lead: string;
  readonly name: string[];
  readonly operands: string[];
}

/** Splits operands at commas outside of brackets. */
function splitOperands(text: string): string[] {
  const out: string[] = [];
  let depth = 0;
  let from = 0;
  for (let i = 0; i <= text.length; i++) {
    const c = text[i];
    if (c === '{' || c === '[' || c === '(') depth++;
    else if (c === '}' || c === ']' || c === ')') depth--;
    else if (i === text.length || (c === ',' && depth === 0)) {
      out.push(text.slice(from, i).trim());
      from = i + 1;
    }
  }
  return out.filter((x) => x !== '');
}

/** Modifiers to substitute or to add. */
const MODIFIERS =
  'u8 s8 u16 s16 b16 u32 s32 b32 u64 s64 b64 f16 f16x2 bf16 f32 f64 pred rn rz rm rp rni rzi ftz sat approx full hi lo wide cc sync aligned relaxed acquire release acq_rel volatile weak cta gpu sys cluster global shared local const param v2 v4 v8 eq ne lt ls num and or xor ca cg cs nc uni clamp wrap foo'.split(
    ' ',
  );
const OPERANDS =
  '0 1 -1 15 16 1000 256 65536 4294967296 99999999999 0f3F800000 0d3FF0000000000000 1.5 %tid.x %clock64 WARP_SZ _ undeclared %undeclared [16] {} {%r1,%r2} {%r1,%r2,%r3,%r4} %r1|%p1'.split(
    ' ',
  );
const VERSIONS = '3.2 4.3 5.0 6.0 6.3 6.4 7.0 7.1 7.4 7.8 8.0 8.3 8.6 9.0'.split(' ');
const TARGETS =
  'sm_50 sm_60 sm_70 sm_75 sm_80 sm_86 sm_89 sm_90 sm_90a sm_100 sm_103 sm_120 sm_95 sm_8'.split(' ');

/** A mutant: what was changed, and the text. */
export interface Mutant {
  readonly what: string;
  readonly line: number;
  readonly text: string;
}

type Change = (l: Line, r: (below: number) => number, registers: readonly string[]) => string | null;

const CHANGES: readonly (readonly [string, Change])[] = [
  [
    'drop an operand',
    (l, r) => (l.operands.length === 0 ? null : l.operands.splice(r(l.operands.length), 1).join()),
  ],
  [
    'say an operand twice',
    (l, r) => {
      if (l.operands.length === 0) return null;
      const k = r(l.operands.length);
      l.operands.splice(k, 0, l.operands[k]);
      return '';
    },
  ],
  [
    'exchange two operands',
    (l, r) => {
      if (l.operands.length < 2) return null;
      const k = r(l.operands.length - 1);
      [l.operands[k], l.operands[k + 1]] = [l.operands[k + 1], l.operands[k]];
      return '';
    },
  ],
  [
    'negate an operand',
    (l, r) => {
      if (l.operands.length === 0) return null;
      const k = r(l.operands.length);
      l.operands[k] = `${r(2) === 0 ? '-' : '!'}${l.operands[k]}`;
      return '';
    },
  ],
  [
    'another operand',
    (l, r) => {
      if (l.operands.length === 0) return null;
      l.operands[r(l.operands.length)] = OPERANDS[r(OPERANDS.length)];
      return '';
    },
  ],
  [
    'another register',
    (l, r, registers) => {
      if (l.operands.length === 0 || registers.length === 0) return null;
      const k = r(l.operands.length);
      const other = registers[r(registers.length)];
      l.operands[k] = /%\w+/.test(l.operands[k]) ? l.operands[k].replace(/%\w+(\.\w+)?/, other) : other;
      return '';
    },
  ],
  [
    'another modifier',
    (l, r) => {
      if (l.name.length < 2) return null;
      l.name[1 + r(l.name.length - 1)] = MODIFIERS[r(MODIFIERS.length)];
      return '';
    },
  ],
  [
    'one modifier more',
    (l, r) => {
      l.name.splice(1 + r(l.name.length), 0, MODIFIERS[r(MODIFIERS.length)]);
      return '';
    },
  ],
  [
    'one modifier less',
    (l, r) => (l.name.length < 2 ? null : l.name.splice(1 + r(l.name.length - 1), 1).join()),
  ],
  [
    'exchange two modifiers',
    (l, r) => {
      if (l.name.length < 3) return null;
      const k = 1 + r(l.name.length - 2);
      [l.name[k], l.name[k + 1]] = [l.name[k + 1], l.name[k]];
      return '';
    },
  ],
];

/** Mutates a PTX file; null if the seed selects nothing that can be changed. */
export function mutant(text: string, seed: number): Mutant | null {
  const r = randomOf(seed);
  const lines = text.split('\n');
  if (r(20) === 0) {
    const version = r(2) === 0;
    const [from, to] = version
      ? [/^(\.version\s+)\S+/m, VERSIONS[r(VERSIONS.length)]]
      : [/^(\.target\s+)\S+/m, TARGETS[r(TARGETS.length)]];
    return { what: `${version ? 'version' : 'target'} ${to}`, line: 0, text: text.replace(from, `$1${to}`) };
  }
  const at = lines.flatMap((l, k) => (INSTRUCTION.test(l) ? [k] : []));
  if (at.length === 0) return null;
  const k = at[r(at.length)];
  const [, indent, guard = '', name, , operands = '', rest] = INSTRUCTION.exec(lines[k])!;
  const line: Line = { lead: indent + guard, name: name.split('.'), operands: splitOperands(operands) };
  const registers = [...new Set(text.match(/%[a-z]+\d+/g) ?? [])];
  const [what, change] = CHANGES[r(CHANGES.length)];
  if (change(line, r, registers) === null) return null;
  const out = `${line.lead}${line.name.join('.')} ${line.operands.join(', ')};${rest}`;
  if (out.replace(/\s+/g, '') === lines[k].replace(/\s+/g, '')) return null;
  lines[k] = out;
  return { what: `${what}: ${out.trim()}`, line: k + 1, text: lines.join('\n') };
}
