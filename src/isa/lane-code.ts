import { FORMATS, type FormatName, type Relation, type Rounding } from './formats.ts';
import { lop3Code, maskCode, prmtCode } from './lane-logic.ts';
import type { Graph, Node } from './lang/graph.ts';

/**
 * Writes the JavaScript that carries out a graph for the lanes of a warp. A node is asked for in the form its user needs:
 * an int32 expression (`int`; values narrower than 32 bits are not negative), two words (`pair`), a JavaScript number
 * (`num`), or a condition (`cond`). What is used once is written in place, the rest gets a name.
 */

/** Helpers in scope of the code: those of `ints.ts` and `floats.ts`. */
export interface LaneCode {
  /** Body of `function (r, o, k, mask)`. */
  readonly body: string;
  /** Names of the helpers it uses. */
  readonly helpers: readonly string[];
}

/** Nodes whose values are best kept as numbers when their format is f32, tf32 or f64. */
const NUMERIC = new Set(['fadd', 'fmul', 'ffma', 'fdiv', 'fsqrt', 'frint', 'fmin', 'fmax', 'approx', 'i2f']);

/**
 * @param wanted bit i: destination i is stored
 * @param dstWidths width of each destination
 */
export function laneCode(g: Graph, dstWidths: readonly number[], wanted: number): LaneCode {
  return new Writer(g).write(dstWidths, wanted);
}

class Writer {
  private readonly g: Graph;
  private readonly uses: Int32Array;
  private readonly lines: string[] = [];
  private readonly named = new Map<string, string>();
  private readonly pairs = new Map<number, readonly [string, string]>();
  private readonly sources = new Set<number>();
  private readonly helpers = new Set<string>();
  private temps = 0;

  constructor(g: Graph) {
    this.g = g;
    this.uses = new Int32Array(g.nodes.length);
    for (const n of g.nodes) for (const a of n.args) this.uses[a]++;
    for (const d of g.dsts) this.uses[d]++;
  }

  write(dstWidths: readonly number[], wanted: number): LaneCode {
    const kept = dstWidths.map((_, k) => k).filter((k) => (wanted & (1 << k)) !== 0);
    const head = kept.map((k) => `const D${k}=o[k+${k}];`);
    const words = this.wordParallel(kept);
    let body: string;
    if (kept.length === 0) body = '';
    else if (words !== null)
      body = words.map((w, i) => `P[D${kept[i]}]=P[D${kept[i]}]&~mask|${w}&mask;`).join('');
    else body = this.perLane(kept, dstWidths);
    for (const s of this.sources) head.push(`const S${s}=o[k+${dstWidths.length + s}];`);
    for (const n of this.g.nodes)
      if (n.op === 'src' && n.width === 1 && this.sources.has(n.n)) head.push(`const p${n.n}=P[S${n.n}];`);
    return {
      body: `const I=r.i32,F=r.f32,G=r.f64,P=r.p;${head.join('')}${body}`,
      helpers: [...this.helpers],
    };
  }

  private perLane(kept: readonly number[], dstWidths: readonly number[]): string {
    const stores: string[] = [];
    const before: string[] = [];
    const after: string[] = [];
    for (const k of kept) {
      const id = this.g.dsts[k];
      if (dstWidths[k] === 1) {
        before.push(`let q${k}=0;`);
        stores.push(`q${k}|=${this.atom(this.int(id))}<<l;`);
        after.push(`P[D${k}]=P[D${k}]&~mask|q${k}&mask;`);
      } else stores.push(this.store(id, `D${k}`, dstWidths[k]));
    }
    const body = `${this.lines.join('')}${stores.join('')}`;
    return (
      `${before.join('')}if(mask===-1){for(let l=0;l<32;l++){${body}}}` +
      `else{for(let m=mask;m!==0;m&=m-1){const l=31-Math.clz32(m&-m);${body}}}${after.join('')}`
    );
  }

  /** All values are computed before the first store, so that a destination may stand on a source's place. */
  private store(id: number, d: string, width: number): string {
    if (this.isNumber(id)) {
      const v = this.atom(this.num(id));
      return width === 64
        ? `if(${v}===${v})G[(${d}>>1)+l]=${v};else{I[${d}+2*l]=0;I[${d}+2*l+1]=0x7ff80000;}`
        : `F[${d}+l]=${v};if(${v}!==${v})I[${d}+l]=0x7fffffff;`;
    }
    if (width !== 64) return `I[${d}+l]=${this.atom(this.int(id))};`;
    const [lo, hi] = this.pair(id);
    return `I[${d}+2*l]=${this.atom(lo)};I[${d}+2*l+1]=${this.atom(hi)};`;
  }

  /** Logic on predicates alone works on all lanes' bits at once: an expression for each destination, or null. */
  private wordParallel(kept: readonly number[]): string[] | null {
    const { nodes, dsts } = this.g;
    const text: (string | null)[] = [];
    for (const n of nodes) {
      const known = n.args.map((i) => text[i] ?? null);
      const [a, b, c] = known;
      const ok = n.width === 1 && !known.includes(null);
      text.push(!ok ? null : n.op === 'src' ? `p${n.n}` : maskCode(n, a ?? '', b ?? '', c ?? ''));
    }
    const out = kept.map((k) => text[dsts[k]]);
    if (out.length === 0 || out.includes(null)) return null;
    for (const n of nodes) if (n.op === 'src' && n.width === 1) this.sources.add(n.n);
    return out as string[];
  }

  // ------------------------------------------------------------------ names

  private help(name: string): string {
    this.helpers.add(name);
    return name;
  }

  /** A name or literal with the value of the expression. */
  private atom(js: string): string {
    if (/^(-?\d+|[A-Za-z_]\w*)$/.test(js)) return js;
    const t = `t${this.temps++}`;
    this.lines.push(`const ${t}=${js};`);
    return t;
  }

  /** Writes a form of a node once: in place if it is used once, else under a name. */
  private once(form: string, id: number, write: () => string): string {
    const key = `${form}${id}`;
    const old = this.named.get(key);
    if (old !== undefined) return old;
    const js = write();
    const kept = this.uses[id] > 1 ? this.atom(js) : js;
    this.named.set(key, kept);
    return kept;
  }

  /** True if the value is computed as a JavaScript number. */
  private isNumber(id: number): boolean {
    const n = this.g.nodes[id];
    if (n.op === 'ite') return n.width >= 32 && (this.isNumber(n.args[1]) || this.isNumber(n.args[2]));
    if (n.op === 'ftz' || n.op === 'fneg' || n.op === 'fabs') return this.isNumber(n.args[0]);
    if (n.op === 'f2f') return n.width >= 32;
    return NUMERIC.has(n.op) && FORMATS[n.fmt as FormatName].bits >= 32;
  }

  // ------------------------------------------------------------------ integers of up to 32 bits

  private int(id: number): string {
    const n = this.g.nodes[id];
    if (n.op === 'const') return String(Number(n.width === 32 ? BigInt.asIntN(32, n.value) : n.value));
    return this.once('i', id, () => (n.width === 1 ? this.intOfBit(id, n) : this.writeInt(id, n)));
  }

  private intOfBit(id: number, n: Node): string {
    if (n.op === 'src') {
      this.sources.add(n.n);
      return `(p${n.n}>>>l&1)`;
    }
    return n.op === 'extract' ? this.extract(n) : `(${this.writeCond(id, n)}?1:0)`;
  }

  private writeInt(id: number, n: Node): string {
    const w = n.width;
    if (this.isNumber(id)) return `${this.help('f32ToBits')}(${this.num(id)})`;
    const fit = (js: string): string => (w === 32 ? `(${js}|0)` : `(${js}&${2 ** w - 1})`);
    const arg = (k: number): string => this.int(n.args[k]);
    switch (n.op) {
      case 'src':
        this.sources.add(n.n);
        return `I[S${n.n}+l]`;
      case 'add':
        return fit(`${arg(0)}+${arg(1)}`);
      case 'sub':
        return fit(`${arg(0)}- ${arg(1)}`);
      case 'mul':
        return w === 32 ? `Math.imul(${arg(0)},${arg(1)})` : fit(`Math.imul(${arg(0)},${arg(1)})`);
      case 'umulh':
      case 'smulh':
        if (w === 32) return `${this.help(n.op)}(${arg(0)},${arg(1)})`;
        return fit(
          `Math.floor(${this.signedIf(n.args[0], n.op === 'smulh')}*${this.signedIf(n.args[1], n.op === 'smulh')}/${2 ** w})`,
        );
      case 'udiv':
      case 'urem':
        return fit(`${this.help(n.op)}(${arg(0)},${arg(1)})`);
      case 'sdiv':
      case 'srem':
        return fit(`${this.help(n.op)}(${this.signedInt(n.args[0])},${this.signedInt(n.args[1])})`);
      case 'and':
        return `(${arg(0)}&${arg(1)})`;
      case 'or':
        return `(${arg(0)}|${arg(1)})`;
      case 'xor':
        return `(${arg(0)}^${arg(1)})`;
      case 'not':
        return w === 32 ? `(~${arg(0)})` : fit(`~${arg(0)}`);
      case 'shl':
      case 'lshr':
      case 'ashr':
        return this.shift(n, fit);
      case 'ite':
        return `(${this.cond(n.args[0])}?${arg(1)}:${arg(2)})`;
      case 'zext':
        return arg(0);
      case 'sext':
        return w === 32 ? this.signedInt(n.args[0]) : fit(this.signedInt(n.args[0]));
      case 'extract':
        return this.extract(n);
      case 'concat':
        return `(${arg(0)}<<${n.n}|${arg(1)})`;
      case 'popc': {
        if (n.n !== 64) return `${this.help('popc')}(${arg(0)})`;
        const [lo, hi] = this.pair(n.args[0]);
        return `(${this.help('popc')}(${lo})+popc(${hi}))`;
      }
      case 'clz': {
        if (n.n !== 64) return n.n === 32 ? `Math.clz32(${arg(0)})` : `(Math.clz32(${arg(0)})-${32 - n.n})`;
        const [lo, hi] = this.pair(n.args[0]);
        const h = this.atom(hi);
        return `(${h}!==0?Math.clz32(${h}):32+Math.clz32(${lo}))`;
      }
      case 'brev':
        return w === 32 ? `${this.help('brev')}(${arg(0)})` : `(${this.help('brev')}(${arg(0)})>>>${32 - w})`;
      case 'lop3': {
        const js = lop3Code(n.n, this.atom(arg(0)), this.atom(arg(1)), this.atom(arg(2)));
        return w === 32 ? js : fit(js);
      }
      case 'prmt':
        return this.prmt(n);
      case 'fneg':
        return w === 32 ? `(${arg(0)}^0x80000000)` : `(${arg(0)}^${2 ** (w - 1)})`;
      case 'fabs':
        return `(${arg(0)}&${2 ** (w - 1) - 1})`;
      case 'ftz': {
        const x = this.atom(arg(0));
        const f = FORMATS[n.fmt as FormatName];
        const exponent = (2 ** (f.bits - 1 - f.mant) - 1) * 2 ** f.mant;
        return `((${x}&${exponent})===0?${x}&${2 ** (w - 1)}:${x})`;
      }
      case 'f2i':
        return this.toInteger(n);
      default:
        return this.half(n);
    }
  }

  /** The value as a signed number: sign-extended from its width. */
  private signedInt(id: number): string {
    const w = this.g.nodes[id].width;
    return w === 32 ? this.int(id) : `(${this.int(id)}<<${32 - w}>>${32 - w})`;
  }

  private signedIf(id: number, signed: boolean): string {
    return signed ? this.signedInt(id) : this.int(id);
  }

  /** Shift amount as an expression, or as a number if it is constant; huge amounts are 64 and more as unsigned words. */
  private amount(id: number): number | string {
    const n = this.g.nodes[id];
    if (n.op === 'const') return Number(n.value > 64n ? 64n : n.value);
    if (n.width !== 64) return this.atom(this.int(id));
    const [lo, hi] = this.pair(id);
    return this.atom(`(${hi}===0?${lo}:-1)`);
  }

  private shift(n: Node, fit: (js: string) => string): string {
    const w = n.width;
    const c = this.amount(n.args[1]);
    if (n.op === 'ashr') {
      const x = this.signedInt(n.args[0]);
      const js = typeof c === 'number' ? `(${x}>>${Math.min(c, 31)})` : `(${x}>>((${c}>>>0)>31?31:${c}))`;
      return w === 32 ? js : fit(js);
    }
    const x = this.int(n.args[0]);
    if (typeof c === 'number') {
      if (c >= w) return '0';
      return n.op === 'shl' ? (w === 32 ? `(${x}<<${c})` : fit(`${x}<<${c}`)) : `(${x}>>>${c}|0)`;
    }
    const inside = n.op === 'shl' ? `${x}<<${c}` : `${x}>>>${c}|0`;
    return `((${c}>>>0)<${w}?${n.op === 'shl' && w < 32 ? fit(inside) : inside}:0)`;
  }

  private extract(n: Node): string {
    const [a] = n.args;
    const mask = n.width === 32 ? '' : `&${2 ** n.width - 1}`;
    if (this.g.nodes[a].width !== 64)
      return n.n === 0 ? `(${this.int(a)}${mask})` : `(${this.int(a)}>>>${n.n}${mask})`;
    const [lo, hi] = this.pair(a);
    if (n.n >= 32) return n.n === 32 && mask === '' ? hi : `(${hi}>>>${n.n - 32}${mask})`;
    if (n.n === 0) return mask === '' ? lo : `(${lo}${mask})`;
    if (n.n + n.width <= 32) return `(${lo}>>>${n.n}${mask})`;
    return mask === ''
      ? `(${lo}>>>${n.n}|${hi}<<${32 - n.n})`
      : `((${lo}>>>${n.n}|${hi}<<${32 - n.n})${mask})`;
  }

  private prmt(n: Node): string {
    const [a, b] = [this.atom(this.int(n.args[0])), this.atom(this.int(n.args[1]))];
    const sel = this.g.nodes[n.args[2]];
    if (sel.op === 'const' && n.aux === 'IDX') return prmtCode(Number(sel.value & 0xffffn), a, b);
    const s = this.int(n.args[2]);
    const picked = n.aux === 'IDX' ? s : `${this.help('selectorOf')}('${n.aux}',${s})`;
    return `${this.help('prmt')}(${a},${b},${picked})`;
  }

  private toInteger(n: Node): string {
    const x = this.atom(this.integral(this.num(n.args[0], n.fmt as FormatName), n.aux.slice(1)));
    const signed = n.aux.startsWith('s');
    const max = 2 ** (signed ? n.width - 1 : n.width) - 1;
    const min = signed ? -max - 1 : 0;
    const nan = n.fmt === 'f64' ? 2 ** (n.width - 1) : 0;
    const js = `(${x}!==${x}?${nan}:${x}<${min}?${min}:${x}>${max}?${max}:${x})`;
    return n.width === 32 ? `(${js}|0)` : `(${js}&${2 ** n.width - 1})`;
  }

  /** A 16-bit float operation: computed as a number, rounded into its pattern. */
  private half(n: Node): string {
    const to = (n.op === 'f2f' ? n.aux.split(':')[0] : n.fmt) as 'f16' | 'bf16';
    const name = to === 'f16' ? 'F16' : 'BF16';
    const { js, mode } = this.arithmetic(n);
    return mode === 'RN'
      ? `${this.help(`pack${name}`)}(${js})`
      : `${this.help(`round${name}`)}(${js},'${mode}')`;
  }

  // ------------------------------------------------------------------ 64 bits

  private pair(id: number): readonly [string, string] {
    let p = this.pairs.get(id);
    if (p === undefined) {
      p = this.writePair(id);
      if (this.uses[id] > 1) p = [this.atom(p[0]), this.atom(p[1])];
      this.pairs.set(id, p);
    }
    return p;
  }

  private twoAtoms(id: number): readonly [string, string] {
    const [lo, hi] = this.pair(id);
    const p = [this.atom(lo), this.atom(hi)] as const;
    this.pairs.set(id, p);
    return p;
  }

  /** Words that a helper left in `out`. */
  private outWords(call: string): readonly [string, string] {
    this.lines.push(`${call};`);
    return [this.atom(`${this.help('out')}[0]`), this.atom('out[1]')];
  }

  private writePair(id: number): readonly [string, string] {
    const n = this.g.nodes[id];
    if (this.isNumber(id))
      return this.outWords(`${this.help('words64')}(${this.num(id)},${this.help('out')})`);
    const two = (k: number) => this.twoAtoms(n.args[k]);
    switch (n.op) {
      case 'const':
        return [
          String(Number(BigInt.asIntN(32, n.value))),
          String(Number(BigInt.asIntN(32, n.value >> 32n))),
        ];
      case 'src':
        this.sources.add(n.n);
        return [`I[S${n.n}+2*l]`, `I[S${n.n}+2*l+1]`];
      case 'add': {
        const [[al, ah], [bl, bh]] = [two(0), two(1)];
        const lo = this.atom(`${al}+${bl}|0`);
        return [lo, `(${ah}+${bh}+((${lo}>>>0)<(${al}>>>0)?1:0)|0)`];
      }
      case 'sub': {
        const [[al, ah], [bl, bh]] = [two(0), two(1)];
        return [`(${al}- ${bl}|0)`, `(${ah}- ${bh}-((${al}>>>0)<(${bl}>>>0)?1:0)|0)`];
      }
      case 'mul':
        return this.multiply(n);
      case 'umulh':
      case 'smulh':
      case 'udiv':
      case 'sdiv':
      case 'urem':
      case 'srem': {
        const [[al, ah], [bl, bh]] = [two(0), two(1)];
        return this.outWords(`${this.help(`${n.op}64`)}(${al},${ah},${bl},${bh})`);
      }
      case 'and':
      case 'or':
      case 'xor': {
        const op = n.op === 'and' ? '&' : n.op === 'or' ? '|' : '^';
        const [[al, ah], [bl, bh]] = [this.pair(n.args[0]), this.pair(n.args[1])];
        return [`(${al}${op}${bl})`, `(${ah}${op}${bh})`];
      }
      case 'not': {
        const [lo, hi] = this.pair(n.args[0]);
        return [`(~${lo})`, `(~${hi})`];
      }
      case 'shl':
      case 'lshr':
      case 'ashr':
        return this.shiftPair(n);
      case 'ite': {
        const c = this.atom(this.cond(n.args[0]));
        const [[al, ah], [bl, bh]] = [this.pair(n.args[1]), this.pair(n.args[2])];
        return [`(${c}?${al}:${bl})`, `(${c}?${ah}:${bh})`];
      }
      case 'zext':
        return [this.int(n.args[0]), '0'];
      case 'sext': {
        const lo = this.atom(this.signedInt(n.args[0]));
        return [lo, `(${lo}>>31)`];
      }
      case 'concat':
        return [this.int(n.args[1]), this.int(n.args[0])];
      case 'brev': {
        const [lo, hi] = this.pair(n.args[0]);
        return [`${this.help('brev')}(${hi})`, `brev(${lo})`];
      }
      case 'lop3': {
        const [[al, ah], [bl, bh], [cl, ch]] = [two(0), two(1), two(2)];
        return [lop3Code(n.n, al, bl, cl), lop3Code(n.n, ah, bh, ch)];
      }
      case 'fneg': {
        const [lo, hi] = this.pair(n.args[0]);
        return [lo, `(${hi}^0x80000000)`];
      }
      case 'fabs': {
        const [lo, hi] = this.pair(n.args[0]);
        return [lo, `(${hi}&0x7fffffff)`];
      }
      case 'ftz': {
        const [lo, hi] = two(0);
        const zero = this.atom(`(${hi}&0x7ff00000)===0`);
        return [`(${zero}?0:${lo})`, `(${zero}?${hi}&0x80000000:${hi})`];
      }
      case 'f2i': {
        const x = this.integral(this.num(n.args[0], n.fmt as FormatName), n.aux.slice(1));
        return this.outWords(`${this.help('clamp64')}(${x},${n.aux.startsWith('s')},${this.help('out')})`);
      }
      default:
        throw new Error(`no 64-bit code for core operation '${n.op}'`);
    }
  }

  private multiply(n: Node): readonly [string, string] {
    const wide = n.args.map((a) => this.g.nodes[a]);
    for (const ext of ['sext', 'zext'] as const)
      if (wide.every((x) => x.op === ext)) {
        const [a, b] = wide.map((x) =>
          this.atom(ext === 'sext' ? this.signedInt(x.args[0]) : this.int(x.args[0])),
        );
        return [`Math.imul(${a},${b})`, `${this.help(ext === 'sext' ? 'smulh' : 'umulh')}(${a},${b})`];
      }
    const [[al, ah], [bl, bh]] = [this.twoAtoms(n.args[0]), this.twoAtoms(n.args[1])];
    return [
      `Math.imul(${al},${bl})`,
      `(${this.help('umulh')}(${al},${bl})+Math.imul(${al},${bh})+Math.imul(${ah},${bl})|0)`,
    ];
  }

  private shiftPair(n: Node): readonly [string, string] {
    const [lo, hi] = this.twoAtoms(n.args[0]);
    const c = this.amount(n.args[1]);
    const fill = n.op === 'ashr' ? `(${hi}>>31)` : '0';
    const sh = n.op === 'ashr' ? '>>' : '>>>';
    if (typeof c === 'number') {
      if (n.op === 'shl') {
        if (c >= 64) return ['0', '0'];
        if (c >= 32) return ['0', `(${lo}<<${c - 32})`];
        return [`(${lo}<<${c})`, `(${hi}<<${c}|${lo}>>>${32 - c})`];
      }
      if (c >= 64) return [fill, fill];
      if (c >= 32) return [`(${hi}${sh}${c - 32}|0)`, fill];
      return [`(${lo}>>>${c}|${hi}<<${32 - c})`, `(${hi}${sh}${c}|0)`];
    }
    const u = this.atom(`${c}>>>0`);
    if (n.op === 'shl')
      return [
        `(${u}<32?${lo}<<${u}:0)`,
        `(${u}<32?${u}===0?${hi}:${hi}<<${u}|${lo}>>>32- ${u}:${u}<64?${lo}<<${u}:0)`,
      ];
    return [
      `(${u}<32?${u}===0?${lo}:${lo}>>>${u}|${hi}<<32- ${u}:${u}<64?${hi}${sh}${u}|0:${fill})`,
      `(${u}<32?${hi}${sh}${u}|0:${fill})`,
    ];
  }

  // ------------------------------------------------------------------ conditions

  private cond(id: number): string {
    const n = this.g.nodes[id];
    if (n.op === 'const') return n.value === 1n ? 'true' : 'false';
    return this.once('c', id, () => this.writeCond(id, n));
  }

  private writeCond(id: number, n: Node): string {
    const arg = (k: number): string => this.int(n.args[k]);
    switch (n.op) {
      case 'and':
        return `(${this.cond(n.args[0])}&&${this.cond(n.args[1])})`;
      case 'or':
        return `(${this.cond(n.args[0])}||${this.cond(n.args[1])})`;
      case 'xor':
        return `(${this.cond(n.args[0])}!==${this.cond(n.args[1])})`;
      case 'not':
        return `(!${this.cond(n.args[0])})`;
      case 'ite':
        return `(${this.cond(n.args[0])}?${this.cond(n.args[1])}:${this.cond(n.args[2])})`;
      case 'eq': {
        const w = this.g.nodes[n.args[0]].width;
        if (w === 1) return `(${this.cond(n.args[0])}===${this.cond(n.args[1])})`;
        if (w !== 64) return `(${arg(0)}===${arg(1)})`;
        const [[al, ah], [bl, bh]] = [this.pair(n.args[0]), this.pair(n.args[1])];
        return `(${al}===${bl}&&${ah}===${bh})`;
      }
      case 'ult':
      case 'slt':
        return this.less(n);
      case 'fcmp':
        return this.compare(n);
      case 'src':
      case 'extract':
        return `(${this.int(id)}!==0)`;
      case 'lop3':
        return `((${lop3Code(n.n, this.atom(arg(0)), this.atom(arg(1)), this.atom(arg(2)))}&1)!==0)`;
      case 'add':
      case 'sub':
        return `(${this.cond(n.args[0])}!==${this.cond(n.args[1])})`;
      case 'mul':
        return `(${this.cond(n.args[0])}&&${this.cond(n.args[1])})`;
      case 'zext':
      case 'sext':
        return this.cond(n.args[0]);
      default:
        throw new Error(`no 1-bit code for core operation '${n.op}'`);
    }
  }

  private less(n: Node): string {
    const [a, b] = n.args;
    const signed = n.op === 'slt';
    if (this.g.nodes[a].width === 64) {
      const [[al, ah], [bl, bh]] = [this.twoAtoms(a), this.twoAtoms(b)];
      const high = signed ? `${ah}<${bh}` : `(${ah}>>>0)<(${bh}>>>0)`;
      return `(${ah}===${bh}?(${al}>>>0)<(${bl}>>>0):${high})`;
    }
    if (signed) return `(${this.signedInt(a)}<${this.signedInt(b)})`;
    return this.g.nodes[a].width === 32
      ? `((${this.int(a)}>>>0)<(${this.int(b)}>>>0))`
      : `(${this.int(a)}<${this.int(b)})`;
  }

  private compare(n: Node): string {
    const fmt = n.fmt as FormatName;
    const a = this.atom(this.num(n.args[0], fmt));
    const b = this.atom(this.num(n.args[1], fmt));
    switch (n.aux as Relation) {
      case 'EQ':
        return `(${a}===${b})`;
      case 'NE':
        return `(${a}<${b}||${a}>${b})`;
      case 'LT':
        return `(${a}<${b})`;
      case 'LE':
        return `(${a}<=${b})`;
      case 'GT':
        return `(${a}>${b})`;
      case 'GE':
        return `(${a}>=${b})`;
      case 'EQU':
        return `(!(${a}<${b}||${a}>${b}))`;
      case 'NEU':
        return `(${a}!==${b})`;
      case 'LTU':
        return `(!(${a}>=${b}))`;
      case 'LEU':
        return `(!(${a}>${b}))`;
      case 'GTU':
        return `(!(${a}<=${b}))`;
      case 'GEU':
        return `(!(${a}<${b}))`;
      case 'NUM':
        return `(${a}===${a}&&${b}===${b})`;
      case 'NAN':
        return `(${a}!==${a}||${b}!==${b})`;
    }
  }

  // ------------------------------------------------------------------ numbers

  /** The value of a node of a float format as a JavaScript number. */
  private num(id: number, fmt?: FormatName): string {
    const n = this.g.nodes[id];
    const f = fmt ?? formatOf(n);
    return this.once(`n${f}`, id, () => this.writeNum(id, n, f));
  }

  private writeNum(id: number, n: Node, fmt: FormatName): string {
    if (FORMATS[fmt].bits === 16)
      return fmt === 'f16'
        ? `${this.help('f16')}[${this.int(id)}]`
        : `${this.help('bitsToF32')}(${this.int(id)}<<16)`;
    switch (n.op) {
      case 'src':
        this.sources.add(n.n);
        return fmt === 'f64' ? `G[(S${n.n}>>1)+l]` : `F[S${n.n}+l]`;
      case 'const':
        return numberLiteral(n.value, fmt);
      case 'ite':
        return `(${this.cond(n.args[0])}?${this.num(n.args[1], fmt)}:${this.num(n.args[2], fmt)})`;
      case 'fneg':
        return `(-${this.num(n.args[0], fmt)})`;
      case 'fabs':
        return `Math.abs(${this.num(n.args[0], fmt)})`;
      case 'ftz':
        return `${this.help(fmt === 'f64' ? 'ftz64' : 'ftz32')}(${this.num(n.args[0], fmt)})`;
    }
    if (!this.isNumber(id)) {
      if (fmt !== 'f64') return `${this.help('bitsToF32')}(${this.int(id)})`;
      const [lo, hi] = this.pair(id);
      return `${this.help('num64')}(${lo},${hi})`;
    }
    const { js, mode, done } = this.arithmetic(n);
    if (done || fmt === 'f64') return js;
    const to = n.op === 'f2f' ? n.aux.split(':')[0] : fmt;
    if (to === 'tf32') return `${this.help('roundTF32')}(${js},'${mode}')`;
    return mode === 'RN' ? `Math.fround(${js})` : `${this.help('round32')}(${js},'${mode}')`;
  }

  /**
   * A float operation as an expression that needs one more rounding in `mode`, or none where `done`. For narrow formats the
   * expression is exact, innocuous to round twice (to nearest), or rounded to odd.
   */
  private arithmetic(n: Node): { js: string; mode: Rounding; done?: boolean } {
    const fmt = n.fmt as FormatName;
    const mode = (n.op === 'f2f' ? n.aux.split(':')[1] : n.aux) as Rounding;
    const [a, b, c] = n.op === 'i2f' ? [] : n.args.map((x) => this.num(x, fmt));
    const wide = fmt === 'f64';
    const call = (name: string, ...args: string[]): string => `${this.help(name)}(${args.join(',')})`;
    const exact = (js: string) => ({ js, mode: 'RN' as Rounding, done: true });
    const add = (x: string, y: string): string => call(mode === 'RM' ? 'addOddDown' : 'addOdd', x, y);
    switch (n.op) {
      case 'fadd':
        if (wide) return exact(mode === 'RN' ? `(${a}+${b})` : call('add64', a, b, `'${mode}'`));
        return { js: mode === 'RN' ? `${a}+${b}` : add(a, b), mode };
      case 'fmul':
        if (wide) return exact(mode === 'RN' ? `(${a}*${b})` : call('mul64', a, b, `'${mode}'`));
        return { js: `${a}*${b}`, mode };
      case 'ffma':
        if (wide)
          return exact(mode === 'RN' ? call('fma64', a, b, c) : call('fma64Directed', a, b, c, `'${mode}'`));
        if (fmt === 'f32' && mode === 'RN') return exact(call('fma32', a, b, c));
        return { js: add(`${a}*${b}`, c), mode };
      case 'fdiv':
        if (wide) return exact(mode === 'RN' ? `(${a}/${b})` : call('div64', a, b, `'${mode}'`));
        return { js: mode === 'RN' ? `${a}/${b}` : call('divOdd', a, b), mode };
      case 'fsqrt':
        if (wide) return exact(mode === 'RN' ? `Math.sqrt(${a})` : call('sqrt64', a, `'${mode}'`));
        return { js: mode === 'RN' ? `Math.sqrt(${a})` : call('sqrtOdd', a), mode };
      case 'frint':
        return exact(this.integral(a, mode));
      case 'fmin':
      case 'fmax':
        return exact(n.n === 1 ? `Math.${n.op.slice(1)}(${a},${b})` : call(n.op, a, b));
      case 'approx':
        if (wide) return exact(call('approximateHigh', `'${n.aux}'`, a));
        return { js: call('approximate', `'${n.aux}'`, a), mode: 'RN' };
      case 'f2f':
        return { js: a, mode };
      case 'i2f':
        return this.fromInteger(n);
      default:
        throw new Error(`no code for core operation '${n.op}'`);
    }
  }

  private integral(x: string, mode: string): string {
    switch (mode) {
      case 'RZ':
        return `Math.trunc(${x})`;
      case 'RM':
        return `Math.floor(${x})`;
      case 'RP':
        return `Math.ceil(${x})`;
      default:
        return `${this.help('rint')}(${x})`;
    }
  }

  private fromInteger(n: Node): { js: string; mode: Rounding } {
    const mode = n.aux.slice(1) as Rounding;
    const signed = n.aux.startsWith('s');
    const [a] = n.args;
    if (n.n !== 64) {
      const x = signed ? this.signedInt(a) : n.n === 32 ? `(${this.int(a)}>>>0)` : this.int(a);
      return { js: x, mode };
    }
    const [lo, hi] = this.pair(a);
    const high = `${signed ? hi : `(${hi}>>>0)`}*4294967296`;
    const low = `(${lo}>>>0)`;
    if (n.fmt !== 'f64') return { js: `${this.help('addOdd')}(${high},${low})`, mode };
    return {
      js: mode === 'RN' ? `(${high}+${low})` : `${this.help('add64')}(${high},${low},'${mode}')`,
      mode,
    };
  }
}

/** Format of a float node's own value. */
function formatOf(n: Node): FormatName {
  if (n.op === 'f2f') {
    const to = n.aux.split(':')[0] as FormatName;
    return to === 'tf32' ? 'f32' : to;
  }
  return n.fmt === '' ? (n.width === 64 ? 'f64' : 'f32') : n.fmt;
}

function numberLiteral(value: bigint, fmt: FormatName): string {
  const v = new DataView(new ArrayBuffer(8));
  if (fmt === 'f64') v.setBigUint64(0, value);
  else v.setUint32(0, Number(value));
  const x = fmt === 'f64' ? v.getFloat64(0) : v.getFloat32(0);
  return Object.is(x, -0) ? '(-0)' : x < 0 ? `(${x})` : String(x);
}
