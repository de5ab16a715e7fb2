import { memo } from '../../ir/memo.ts';
import type { PtxFunction, PtxInstr, PtxModule, PtxStatement, Span, VarDecl } from '../../ptx/ast.ts';
import { homeOf } from '../../ptx/check.ts';
import { spell } from '../../ptx/check-spelling.ts';
import { Lexer } from '../../ptx/lexer.ts';
import * as t from '../../ptx/tokens.ts';

type SymbolKind = 'register' | 'variable' | 'parameter' | 'label' | 'function' | 'kernel' | 'prototype';

/** Something that a PTX text declares. */
export interface PtxSymbol {
  readonly name: string;
  readonly kind: SymbolKind;
  /** The declaration of a variable, register or parameter; null for labels and functions. */
  readonly variable: VarDecl | null;
  readonly fn: PtxFunction | null;
  /** Range of the name where it is declared. */
  readonly start: number;
  readonly end: number;
}

/** A part of a text whose declarations are not visible outside. */
interface Scope {
  readonly start: number;
  readonly end: number;
  readonly names: Map<string, PtxSymbol>;
  /** Declarations of several registers, `%r<10>`, by the name without a number. */
  readonly families: Map<string, PtxSymbol>;
  readonly inner: Scope[];
}

/** A name in the text. */
export interface Token {
  readonly start: number;
  readonly end: number;
  readonly value: string;
}

/** What a PTX text declares, and where its names are. */
export class PtxIndex {
  readonly module: PtxModule;
  /** Tokens in the order of the text: kind, start and end. */
  private readonly kinds: number[] = [];
  private readonly starts: number[] = [];
  private readonly ends: number[] = [];
  private readonly values: string[] = [];
  readonly root: Scope;
  /** All instructions in the order of the text. */
  readonly instrs: PtxInstr[] = [];

  constructor(module: PtxModule) {
    this.module = module;
    const lx = new Lexer(module.text, () => {});
    for (; lx.kind !== t.END; lx.next()) {
      this.kinds.push(lx.kind);
      this.starts.push(lx.start);
      this.ends.push(lx.end);
      this.values.push(lx.kind === t.IDENT ? lx.value : '');
    }
    this.root = scope(0, module.text.length);
    for (const item of module.items) {
      if (item.kind === 'function' && item.implied !== true) this.addFunction(item);
      else if (item.kind === 'variable') this.addVariable(this.root, item, 'variable', null);
    }
  }

  get count(): number {
    return this.kinds.length;
  }
  kind(i: number): number {
    return this.kinds[i];
  }
  start(i: number): number {
    return this.starts[i];
  }
  end(i: number): number {
    return this.ends[i];
  }
  value(i: number): string {
    return this.values[i];
  }

  /** Index of the first token that ends after an offset. */
  indexAt(offset: number): number {
    return firstWhere(this.kinds.length, (i) => this.ends[i] > offset);
  }

  private addFunction(fn: PtxFunction): void {
    const at = this.find(fn.span, fn.name);
    const known = this.root.names.get(fn.name);
    // A definition counts more than declarations before it.
    if (known === undefined || known.fn?.body === null)
      this.root.names.set(fn.name, {
        name: fn.name,
        kind: fn.entry ? 'kernel' : 'function',
        variable: null,
        fn,
        ...at,
      });
    const own = scope(fn.span.start, fn.span.end);
    this.root.inner.push(own);
    for (const v of [...fn.returns, ...fn.params]) this.addVariable(own, v, 'parameter', fn);
    if (fn.body !== null) this.addBody(own, fn.body, fn);
  }

  private addBody(to: Scope, body: readonly PtxStatement[], fn: PtxFunction): void {
    for (const s of body) {
      if (s.kind === 'instr') this.instrs.push(s);
      else if (s.kind === 'variable')
        this.addVariable(to, s, s.space === 'reg' ? 'register' : 'variable', fn);
      else if (s.kind === 'scope') {
        const own = scope(s.span.start, s.span.end);
        to.inner.push(own);
        this.addBody(own, s.body, fn);
      } else if (s.kind === 'label' || s.kind === 'branchtargets' || s.kind === 'calltargets')
        to.names.set(s.name, {
          name: s.name,
          kind: 'label',
          variable: null,
          fn,
          ...this.find(s.span, s.name),
        });
      else if (s.kind === 'callprototype')
        to.names.set(s.name, {
          name: s.name,
          kind: 'prototype',
          variable: null,
          fn,
          ...this.find(s.span, s.name),
        });
    }
  }

  private addVariable(to: Scope, v: VarDecl, kind: SymbolKind, fn: PtxFunction | null): void {
    const symbol: PtxSymbol = { name: v.name, kind, variable: v, fn, ...this.find(v.span, v.name) };
    (v.count > 0 ? to.families : to.names).set(v.name, symbol);
  }

  /** Where a name stands in a span; the span's start if it does not. */
  private find(span: Span, name: string): { start: number; end: number } {
    for (let i = this.indexAt(span.start); i < this.count && this.starts[i] <= span.end; i++)
      if (this.values[i] === name) return { start: this.starts[i], end: this.ends[i] };
    return { start: span.start, end: Math.min(span.end, span.start + 1) };
  }

  /** The name at an offset, if one is there. */
  tokenAt(offset: number): (Token & { readonly index: number }) | undefined {
    for (const i of [this.indexAt(offset), this.indexAt(offset) - 1]) {
      if (i < 0 || i >= this.count || this.kinds[i] !== t.IDENT) continue;
      if (this.starts[i] <= offset && offset <= this.ends[i])
        return { start: this.starts[i], end: this.ends[i], value: this.values[i], index: i };
    }
    return undefined;
  }

  /** The scopes around an offset, the innermost first. */
  private scopesAt(offset: number): readonly Scope[] {
    const chain = [this.root];
    for (let s: Scope | undefined = this.root; s !== undefined; ) {
      const { inner }: Scope = s;
      const i = firstWhere(inner.length, (k) => inner[k].end > offset);
      s = i < inner.length && inner[i].start <= offset ? inner[i] : undefined;
      if (s !== undefined) chain.push(s);
    }
    return chain.reverse();
  }

  /** What a name means at an offset. */
  resolve(name: string, offset: number): PtxSymbol | undefined {
    for (const s of this.scopesAt(offset)) {
      const found = s.names.get(name) ?? familyIn(s, name);
      if (found !== undefined) return found;
    }
    return undefined;
  }

  /** Everything that is declared at an offset. */
  visibleAt(offset: number): readonly PtxSymbol[] {
    return this.scopesAt(offset).flatMap((s) => [...s.names.values(), ...s.families.values()]);
  }

  /** The instruction around an offset. */
  instrAt(offset: number): PtxInstr | undefined {
    const i = firstWhere(this.instrs.length, (k) => this.instrs[k].span.end >= offset);
    const found = this.instrs[i];
    return found !== undefined && found.span.start <= offset ? found : undefined;
  }

  /** Index of the token that is the opcode of an instruction. */
  opcodeOf(i: PtxInstr): number {
    let k = this.indexAt(i.span.start);
    if (this.kinds[k] === t.AT) {
      k++;
      if (this.kinds[k] === t.BANG) k++;
      k++;
    }
    return k;
  }

  /** Every place of a name: of the very register of a declaration of several. */
  placesOf(symbol: PtxSymbol, name: string): readonly Token[] {
    const out: Token[] = [];
    const within = this.scopeOf(symbol);
    for (let i = this.indexAt(within.start); i < this.count && this.starts[i] < within.end; i++) {
      if (this.values[i] !== name) continue;
      const start = this.starts[i];
      if (this.isOpcode(i) || this.resolve(name, start) !== symbol) continue;
      out.push({ start, end: this.ends[i], value: name });
    }
    return out;
  }

  /** Whether a token is the opcode of an instruction, which may be spelt like a label. */
  isOpcode(i: number): boolean {
    const instr = this.instrAt(this.starts[i]);
    return instr !== undefined && this.opcodeOf(instr) === i;
  }

  /** The whole text for global names, else the function. */
  private scopeOf(symbol: PtxSymbol): { readonly start: number; readonly end: number } {
    return symbol.fn === null || symbol.fn.name === symbol.name ? this.root : symbol.fn.span;
  }

  /** Whether an instruction writes the operand at an offset; its guard is read. */
  isWritten(i: PtxInstr, offset: number): boolean {
    let operand = 0;
    let depth = 0;
    const from = this.opcodeOf(i);
    if (offset <= this.starts[from]) return false;
    for (let k = from + 1; k < this.count && this.starts[k] < offset; k++) {
      const kind = this.kinds[k];
      if (kind === t.LPAREN || kind === t.LBRACE || kind === t.LBRACKET) depth++;
      else if (kind === t.RPAREN || kind === t.RBRACE || kind === t.RBRACKET) depth--;
      else if (kind === t.COMMA && depth === 0) operand++;
      if (kind === t.LBRACKET) {
        // A register in an address is read, wherever the address stands.
        const close = this.closing(k);
        if (this.starts[k] < offset && offset < close) return false;
      }
    }
    if (i.opcode === 'call') return operand === 0 && i.operands.length > 1 && i.operands[0].kind === 'list';
    const forms = spell(i.opcode, i.mods, homeOf(this.module))?.fitting ?? [];
    return forms.some((f) => f.form.operands[operand]?.result === true);
  }

  private closing(at: number): number {
    let k = at;
    while (k < this.count && this.kinds[k] !== t.RBRACKET && this.kinds[k] !== t.SEMICOLON) k++;
    return this.ends[Math.min(k, this.count - 1)];
  }
}

const scope = (start: number, end: number): Scope => ({
  start,
  end,
  names: new Map(),
  families: new Map(),
  inner: [],
});

/** The declaration of several registers that has one of this name. */
function familyIn(s: Scope, name: string): PtxSymbol | undefined {
  if (s.families.size === 0) return undefined;
  const whole = s.families.get(name);
  if (whole !== undefined) return whole;
  const m = /^(.*?)(0|[1-9]\d*)$/.exec(name);
  if (m === null) return undefined;
  // `%r1<10>` has %r10 to %r19: every split of the digits is tried.
  for (let cut = m[1].length; cut < name.length; cut++) {
    const family = s.families.get(name.slice(0, cut));
    const digits = name.slice(cut);
    if (family === undefined || (digits.length > 1 && digits[0] === '0')) continue;
    if (Number(digits) < family.variable!.count) return family;
  }
  return undefined;
}

/** The first index from 0 to `n` for which a test holds, which holds for all after it. */
function firstWhere(n: number, test: (i: number) => boolean): number {
  let low = 0;
  let high = n;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (test(middle)) high = middle;
    else low = middle + 1;
  }
  return low;
}

/** The index of a module, made once. */
export const indexOf = memo((module: PtxModule): PtxIndex => new PtxIndex(module));
