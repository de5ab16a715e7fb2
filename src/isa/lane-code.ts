import { FORMATS, type FormatName } from './formats.ts';
import { writeCond } from './lane-cond.ts';
import { maskCode } from './lane-logic.ts';
import { formatOf, writeNum } from './lane-number.ts';
import { writePair } from './lane-pair.ts';
import type { LaneScope, Words } from './lane-scope.ts';
import { writeInt } from './lane-word.ts';
import type { Graph, Node } from './lang/graph.ts';

/**
 * Generates the JavaScript that executes a graph for the lanes of a warp. Each node is generated in the form that its user needs: an int32
 * expression (`int`; values narrower than 32 bits are not negative), two words (`pair`), a JavaScript number (`num`), or a condition
 * (`cond`). Nodes with one use are inlined; all others get a variable.
 */

/** Generated code, and the helpers of `ints.ts` and `floats.ts` that must be in its scope. */
export interface LaneCode {
  /** Body of `function (r, o, k, mask)`. */
  readonly body: string;
  /** Names of the helpers that the code uses. */
  readonly helpers: readonly string[];
}

/** Operations whose results are kept as JavaScript numbers if their format is f32, tf32 or f64. */
const NUMERIC = new Set(['fadd', 'fmul', 'ffma', 'fdiv', 'fsqrt', 'frint', 'fmin', 'fmax', 'approx', 'i2f']);

/**
 * Generates the code of a graph.
 * @param dstWidths width of each destination in bits
 * @param wanted bit i: whether to store destination i
 */
export function laneCode(g: Graph, dstWidths: readonly number[], wanted: number): LaneCode {
  return new Writer(g).write(dstWidths, wanted);
}

class Writer implements LaneScope {
  readonly nodes: readonly Node[];
  private readonly g: Graph;
  private readonly uses: Int32Array;
  private readonly lines: string[] = [];
  private readonly named = new Map<string, string>();
  private readonly pairs = new Map<number, Words>();
  private readonly sources = new Set<number>();
  private readonly helpers = new Set<string>();
  private temps = 0;

  constructor(g: Graph) {
    this.g = g;
    this.nodes = g.nodes;
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
    for (const n of this.nodes)
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

  /** The statement that stores a value. Its operands are computed before, since a destination may be the same register as a source. */
  private store(id: number, d: string, width: number): string {
    if (this.isNumber(id)) {
      const v = this.atom(this.num(id));
      return width === 64
        ? `if(${v}===${v})G[(${d}>>1)+l]=${v};else{I[${d}+2*l]=0;I[${d}+2*l+1]=0xfff80000;}`
        : `F[${d}+l]=${v};if(${v}!==${v})I[${d}+l]=0x7fffffff;`;
    }
    if (width !== 64) return `I[${d}+l]=${this.atom(this.int(id))};`;
    const [lo, hi] = this.pair(id);
    return `I[${d}+2*l]=${this.atom(lo)};I[${d}+2*l+1]=${this.atom(hi)};`;
  }

  /** Code for pure predicate logic, which works on the bits of all lanes at once: an expression for each destination, or null. */
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

  help(name: string): string {
    this.helpers.add(name);
    return name;
  }

  /** A variable or literal with the value of the expression. */
  atom(js: string): string {
    if (/^(-?\d+|[A-Za-z_]\w*)$/.test(js)) return js;
    const t = `t${this.temps++}`;
    this.lines.push(`const ${t}=${js};`);
    return t;
  }

  /** Generates one form of a node: inlined if the node has one use, otherwise in a variable. */
  private once(form: string, id: number, write: () => string): string {
    const key = `${form}${id}`;
    const old = this.named.get(key);
    if (old !== undefined) return old;
    const js = write();
    const kept = this.uses[id] > 1 ? this.atom(js) : js;
    this.named.set(key, kept);
    return kept;
  }

  /** Is the value computed as a JavaScript number? */
  isNumber(id: number): boolean {
    const n = this.nodes[id];
    if (n.op === 'ite') return n.width >= 32 && (this.isNumber(n.args[1]) || this.isNumber(n.args[2]));
    if (n.op === 'ftz' || n.op === 'fneg' || n.op === 'fabs') return this.isNumber(n.args[0]);
    if (n.op === 'f2f') return n.width >= 32;
    return NUMERIC.has(n.op) && FORMATS[n.fmt as FormatName].bits >= 32;
  }

  // ------------------------------------------------------------------ forms of a node

  int(id: number): string {
    const n = this.nodes[id];
    if (n.op === 'const') return String(Number(n.width === 32 ? BigInt.asIntN(32, n.value) : n.value));
    return this.once('i', id, () => writeInt(this, id, n));
  }

  /** The value as a signed number: sign-extended from its width. */
  signedInt(id: number): string {
    const w = this.nodes[id].width;
    return w === 32 ? this.int(id) : `(${this.int(id)}<<${32 - w}>>${32 - w})`;
  }

  cond(id: number): string {
    const n = this.nodes[id];
    if (n.op === 'const') return n.value === 1n ? 'true' : 'false';
    return this.once('c', id, () => writeCond(this, id, n));
  }

  /** The value of a node of a float format as a JavaScript number. */
  num(id: number, fmt?: FormatName): string {
    const n = this.nodes[id];
    const f = fmt ?? formatOf(n);
    return this.once(`n${f}`, id, () => writeNum(this, id, n, f));
  }

  pair(id: number): Words {
    let p = this.pairs.get(id);
    if (p === undefined) {
      p = writePair(this, id);
      if (this.uses[id] > 1) p = [this.atom(p[0]), this.atom(p[1])];
      this.pairs.set(id, p);
    }
    return p;
  }

  words(id: number): Words {
    const [lo, hi] = this.pair(id);
    const p = [this.atom(lo), this.atom(hi)] as const;
    this.pairs.set(id, p);
    return p;
  }

  /** The words that a helper returned in `out`. */
  outWords(call: string): Words {
    this.lines.push(`${call};`);
    return [this.atom(`${this.help('out')}[0]`), this.atom('out[1]')];
  }

  useSource(k: number): void {
    this.sources.add(k);
  }
}
