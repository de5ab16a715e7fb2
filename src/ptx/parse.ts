import { type Diagnostic, nearest } from '../ir/diagnostic.ts';
import type {
  Init,
  PtxFunction,
  PtxInstr,
  PtxItem,
  PtxModule,
  PtxOperand,
  PtxSpace,
  PtxStatement,
  Span,
  VarDecl,
} from './ast.ts';
import { ConstantError, constantExpression } from './const-expr.ts';
import { Lexer, Tok } from './lexer.ts';
import { PTX_OPCODES } from './opcodes.ts';

/** Errors beyond this many are only counted. */
const MOST_ERRORS = 100;

const SPACES: ReadonlySet<string> = new Set([
  'reg',
  'sreg',
  'const',
  'global',
  'local',
  'param',
  'shared',
  'tex',
]);
const LINKAGE: ReadonlySet<string> = new Set(['extern', 'visible', 'weak', 'common']);
const TYPES: ReadonlySet<string> = new Set(
  'b8 b16 b32 b64 b128 u8 u16 u32 u64 s8 s16 s32 s64 f16 f16x2 bf16 bf16x2 f32 f64 tf32 pred texref samplerref surfref e4m3 e5m2 e4m3x2 e5m2x2'.split(
    ' ',
  ),
);
/** Directives between a function's header and its body, or at the start of the body. */
const PERFORMANCE: ReadonlySet<string> = new Set(
  'maxnreg maxntid reqntid minnctapersm maxnctapersm noreturn pragma abi_preserve abi_preserve_control maxclusterrank reqnctapercluster explicitcluster blocksareclusters language'.split(
    ' ',
  ),
);
const MODULE_DIRECTIVES =
  'version target address_size visible extern weak common func entry file section pragma alias loc global const shared local tex param reg'.split(
    ' ',
  );

/** Stops the statement being parsed; the parser then looks for the next one. */
class Bail extends Error {}

/**
 * Parses PTX text (PTX ISA 9.0 and earlier). Goes on after an error at the next statement, so that one run names them all.
 *
 * @param name file name for messages
 * @returns the tree of everything that could be read, and the diagnostics
 */
export function parsePtx(text: string, name: string): { module: PtxModule; diagnostics: Diagnostic[] } {
  return new Parser(text, name).module();
}

class Parser {
  private readonly lx: Lexer;
  private readonly text: string;
  private readonly name: string;
  private readonly diagnostics: Diagnostic[] = [];
  private dropped = 0;

  constructor(text: string, name: string) {
    this.text = text;
    this.name = name;
    this.lx = new Lexer(text);
  }

  module(): { module: PtxModule; diagnostics: Diagnostic[] } {
    const { lx } = this;
    let version = '';
    let target: readonly string[] = [];
    let addressSize: 32 | 64 = 64;
    const items: PtxItem[] = [];
    while (lx.kind !== Tok.End) {
      const before = lx.start;
      this.recover(() => {
        if (lx.is(';')) return lx.next();
        if (lx.kind !== Tok.Dot) this.bail(`expected a directive, found ${this.found()}`);
        switch (lx.value) {
          case 'version': {
            lx.next();
            const start = lx.start;
            lx.next();
            version = this.text.slice(start, lx.start).trim().split(/\s/)[0];
            if (!/^\d+\.\d+$/.test(version))
              this.errorAt(start, version.length, `'.version ${version}' is not of the form major.minor`);
            return;
          }
          case 'target': {
            lx.next();
            const list = [this.ident('a target such as sm_90')];
            while (lx.is(',')) {
              lx.next();
              list.push(this.ident('a target option'));
            }
            target = list;
            return;
          }
          case 'address_size':
            lx.next();
            addressSize = this.int('32 or 64') === 32n ? 32 : 64;
            return;
          case 'file': {
            const span = this.here();
            lx.next();
            const index = Number(this.int('a file number'));
            const file = this.string('a quoted file name');
            while (lx.is(',')) {
              lx.next();
              this.int('a number');
            }
            items.push({ kind: 'file', index, name: file, span: this.upTo(span) });
            return;
          }
          case 'section':
            items.push(this.section());
            return;
          case 'pragma':
          case 'alias':
          case 'loc': {
            const span = this.here();
            const directive = lx.value;
            const loc = directive === 'loc';
            const line = lx.line;
            do lx.next();
            while ((lx.kind as number) !== Tok.End && !lx.is(';') && !(loc && lx.line !== line));
            if (lx.is(';')) lx.next();
            items.push({ kind: 'verbatim', directive, span: this.upTo(span) });
            return;
          }
          default:
            this.declaration(items);
        }
      }, false);
      if (lx.start === before && lx.kind !== Tok.End) lx.next();
    }
    if (version === '' && this.diagnostics.length === 0)
      this.errorAt(0, 1, "a PTX file begins with '.version'");
    if (this.dropped > 0)
      this.diagnostics.push({
        severity: 'error',
        code: 'ptx-syntax',
        message: `and ${this.dropped} more errors`,
        file: this.name,
        line: 0,
        column: 0,
        length: 0,
      });
    return {
      module: { name: this.name, text: this.text, version, target, addressSize, items },
      diagnostics: this.diagnostics,
    };
  }

  // ------------------------------------------------------------------------------------------ errors

  private here(): Span {
    const { lx } = this;
    return { start: lx.start, end: lx.end, line: lx.line, column: lx.column };
  }

  /** The span from where `s` starts to the end of the last consumed token. */
  private upTo(s: Span): Span {
    let end = this.lx.start;
    while (end > s.start && this.text.charCodeAt(end - 1) <= 32) end--;
    return { start: s.start, end, line: s.line, column: s.column };
  }

  private found(): string {
    const { lx } = this;
    return lx.kind === Tok.End
      ? 'the end of the file'
      : `'${this.text.slice(lx.start, Math.min(lx.end, lx.start + 40))}'`;
  }

  private error(message: string, notes: readonly string[] = []): void {
    const { lx } = this;
    this.push(message, lx.line, lx.column, Math.max(1, lx.end - lx.start), notes);
  }

  private errorAt(start: number, length: number, message: string, notes: readonly string[] = []): void {
    const before = this.text.slice(0, start);
    const line = before.split('\n').length;
    this.push(message, line, start - (before.lastIndexOf('\n') + 1) + 1, Math.max(1, length), notes);
  }

  private push(
    message: string,
    line: number,
    column: number,
    length: number,
    notes: readonly string[],
  ): void {
    if (this.diagnostics.length >= MOST_ERRORS) {
      this.dropped++;
      return;
    }
    this.diagnostics.push({
      severity: 'error',
      code: 'ptx-syntax',
      message,
      file: this.name,
      line,
      column,
      length,
      notes,
    });
  }

  private bail(message: string, notes: readonly string[] = []): never {
    this.error(message, notes);
    throw new Bail();
  }

  /** Runs one statement; after an error skips to its `;` (or before a brace, or a directive at the start of a line). */
  private recover(f: () => void, inBody: boolean): void {
    const { lx } = this;
    const from = lx.start;
    try {
      f();
    } catch (e) {
      if (e instanceof ConstantError) this.errorAt(e.start, 1, e.message);
      else if (!(e instanceof Bail)) throw e;
      if (lx.start === from && lx.kind !== Tok.End && !lx.is('}')) lx.next();
      let depth = 0;
      while (lx.kind !== Tok.End) {
        if (lx.is('{')) depth++;
        else if (lx.is('}')) {
          if (depth === 0) {
            if (!inBody) lx.next();
            return;
          }
          depth--;
          if (depth === 0 && !inBody) {
            lx.next();
            return;
          }
        } else if (lx.is(';') && depth === 0) {
          lx.next();
          return;
        }
        lx.next();
      }
    }
  }

  private expect(p: string): void {
    if (!this.lx.is(p)) this.bail(`expected '${p}', found ${this.found()}`);
    this.lx.next();
  }

  private ident(what: string): string {
    if (this.lx.kind !== Tok.Ident) this.bail(`expected ${what}, found ${this.found()}`);
    const v = this.lx.value;
    this.lx.next();
    return v;
  }

  private int(what: string): bigint {
    if (this.lx.kind !== Tok.Int) this.bail(`expected ${what}, found ${this.found()}`);
    const v = this.lx.int;
    this.lx.next();
    return v;
  }

  private string(what: string): string {
    if (this.lx.kind !== Tok.String) this.bail(`expected ${what}, found ${this.found()}`);
    const v = this.lx.value;
    this.lx.next();
    return v;
  }

  // ------------------------------------------------------------------------------------------ module level

  private section(): PtxItem {
    const { lx } = this;
    const span = this.here();
    while (lx.kind !== Tok.End && !lx.is('{')) lx.next();
    while (lx.kind !== Tok.End && !lx.is('}')) lx.next();
    if (lx.kind === Tok.End) this.bail("'.section' is not closed by '}'");
    lx.next();
    return { kind: 'verbatim', directive: 'section', span: this.upTo(span) };
  }

  private declaration(items: PtxItem[]): void {
    const { lx } = this;
    const span = this.here();
    let linkage = '';
    while (lx.kind === Tok.Dot && LINKAGE.has(lx.value)) {
      linkage = lx.value;
      lx.next();
    }
    if (lx.kind === Tok.Dot && (lx.value === 'func' || lx.value === 'entry')) {
      items.push(this.func(span, linkage as PtxFunction['linkage']));
      return;
    }
    if (lx.kind !== Tok.Dot || !SPACES.has(lx.value)) {
      const near = nearest(lx.value, MODULE_DIRECTIVES);
      this.bail(`unknown directive '.${lx.value}'`, near.length > 0 ? [`did you mean '.${near[0]}'?`] : []);
    }
    items.push(...this.variables(span, linkage as VarDecl['linkage']));
  }

  private func(span: Span, linkage: PtxFunction['linkage']): PtxFunction {
    const { lx } = this;
    const entry = lx.value === 'entry';
    lx.next();
    const directives: string[] = [];
    // `.func .attribute(...) (ret) name (params)`
    while (lx.kind === Tok.Dot && lx.value === 'attribute') directives.push(this.attribute());
    const returns = lx.is('(') ? this.params() : [];
    const name = this.ident('a function name');
    const params = lx.is('(') ? this.params() : [];
    while (lx.kind === Tok.Dot && PERFORMANCE.has(lx.value)) directives.push(this.performance());
    let body: PtxStatement[] | null = null;
    if (lx.is(';')) lx.next();
    else if (lx.is('{')) {
      lx.next();
      body = [];
      while (lx.kind === Tok.Dot && PERFORMANCE.has(lx.value) && lx.value !== 'pragma') {
        directives.push(this.performance());
        if (lx.is(';')) lx.next();
      }
      this.body(body, 0);
    } else this.bail(`expected the body of '${name}' or ';', found ${this.found()}`);
    return {
      kind: 'function',
      span: this.upTo(span),
      linkage,
      entry,
      name,
      returns,
      params,
      directives,
      body,
    };
  }

  private attribute(): string {
    const { lx } = this;
    const start = lx.start;
    lx.next();
    this.expect('(');
    let depth = 1;
    while (lx.kind !== Tok.End && depth > 0) {
      if (lx.is('(')) depth++;
      else if (lx.is(')')) depth--;
      lx.next();
    }
    return this.text.slice(start, lx.start).trim();
  }

  private performance(): string {
    const { lx } = this;
    const start = lx.start;
    lx.next();
    while (lx.kind === Tok.Int || lx.is(',') || lx.kind === Tok.String || lx.is('(') || lx.is(')')) lx.next();
    return this.text.slice(start, lx.start).replace(/\s+/g, ' ').trim();
  }

  private params(): VarDecl[] {
    const { lx } = this;
    this.expect('(');
    const out: VarDecl[] = [];
    while (!lx.is(')')) {
      if (lx.kind === Tok.End) this.bail("parameter list is not closed by ')'");
      out.push(this.variable(this.here(), ''));
      if (lx.is(',')) lx.next();
      else if (!lx.is(')')) this.bail(`expected ',' or ')', found ${this.found()}`);
    }
    lx.next();
    return out;
  }

  // ------------------------------------------------------------------------------------------ variables

  /** `.global .align 4 .u32 a, b[4] = {...};` */
  private variables(span: Span, linkage: VarDecl['linkage']): VarDecl[] {
    const { lx } = this;
    const out = [this.variable(span, linkage)];
    while (lx.is(',')) {
      lx.next();
      out.push(this.declarator(this.here(), out[0]));
    }
    this.expect(';');
    return out;
  }

  private variable(span: Span, linkage: VarDecl['linkage']): VarDecl {
    const { lx } = this;
    let space: PtxSpace | '' = '';
    let type = '';
    let vector = 1;
    let align = 0;
    const attributes: string[] = [];
    let ptr: VarDecl['ptr'] = null;
    while (lx.kind === Tok.Dot) {
      const d = lx.value;
      if (d === 'attribute') {
        attributes.push(this.attribute());
        continue;
      }
      if (ptr !== null && SPACES.has(d)) ptr = { space: d, align: ptr.align };
      else if (space === '' && SPACES.has(d)) space = d as PtxSpace;
      else if (d === 'v2' || d === 'v4' || d === 'v8') vector = Number(d.slice(1));
      else if (d === 'ptr') ptr = { space: '', align: 0 };
      else if (d === 'align') {
        lx.next();
        const a = Number(constantExpression(lx).value);
        if (ptr !== null) ptr = { space: ptr.space, align: a };
        else align = a;
        continue;
      } else if (TYPES.has(d)) type = d;
      else {
        const near = nearest(d, [...TYPES, ...SPACES]);
        this.bail(`'.${d}' is no type`, near.length > 0 ? [`did you mean '.${near[0]}'?`] : []);
      }
      lx.next();
    }
    if (space === '') this.bail(`expected a state space such as .reg or .param, found ${this.found()}`);
    if (type === '') this.bail(`expected a type such as .u32, found ${this.found()}`);
    return this.declarator(span, {
      kind: 'variable',
      span,
      linkage,
      space,
      type,
      vector,
      align,
      name: '',
      dims: [],
      init: null,
      attributes,
      ptr,
      count: 0,
    });
  }

  private declarator(span: Span, base: VarDecl): VarDecl {
    const { lx } = this;
    const name = this.ident('a name');
    let count = 0;
    const dims: number[] = [];
    if (lx.is('<')) {
      lx.next();
      count = Number(this.int('a count'));
      if (count > 1 << 24) this.bail(`${count} registers are more than a function can have`);
      this.expect('>');
    }
    while (lx.is('[')) {
      lx.next();
      dims.push(lx.is(']') ? 0 : Number(constantExpression(lx).value));
      this.expect(']');
    }
    let init: Init | null = null;
    if (lx.is('=')) {
      lx.next();
      init = this.init(0);
    }
    return { ...base, span: this.upTo(span), name, dims, init, count };
  }

  private init(depth: number): Init {
    const { lx } = this;
    if (depth > 32) this.bail('initialiser is nested deeper than 32');
    if (lx.is('{')) {
      lx.next();
      const items: Init[] = [];
      while (!lx.is('}')) {
        if (lx.kind === Tok.End) this.bail("initialiser is not closed by '}'");
        items.push(this.init(depth + 1));
        if (lx.is(',')) lx.next();
        else if (!lx.is('}')) this.bail(`expected ',' or '}', found ${this.found()}`);
      }
      lx.next();
      return { kind: 'list', items };
    }
    const negative = lx.is('-') && this.peekFloat();
    if (negative) lx.next();
    if (lx.kind === Tok.Float) {
      const width = lx.floatWidth;
      const bits = negative ? lx.floatBits ^ (1n << BigInt(width - 1)) : lx.floatBits;
      lx.next();
      return { kind: 'float', bits, width };
    }
    if (lx.kind === Tok.Ident && lx.value !== 'WARP_SZ') return this.addressInit();
    let byte = -1;
    if (lx.kind === Tok.Int && this.text.charAt(lx.end) === '(') {
      // `0xFF00(symbol)`: the byte of the address that the mask selects.
      const mask = lx.int;
      while (byte < 7 && mask >> BigInt(8 * (byte + 1)) !== 0n) byte++;
      lx.next();
      this.expect('(');
      const a = this.addressInit();
      this.expect(')');
      return a.kind === 'address' ? { ...a, byte } : a;
    }
    return { kind: 'int', value: constantExpression(lx).value };
  }

  private addressInit(): Init {
    const { lx } = this;
    let symbol = this.ident('a symbol');
    const generic = symbol === 'generic' && lx.is('(');
    let addend = 0n;
    const offset = () => {
      while (lx.is('+') || lx.is('-')) {
        const minus = lx.is('-');
        lx.next();
        const v = this.int('an offset');
        addend += minus ? -v : v;
      }
    };
    if (generic) {
      lx.next();
      symbol = this.ident('a symbol');
      offset();
      this.expect(')');
    }
    offset();
    return { kind: 'address', symbol, addend, generic, byte: -1 };
  }

  private peekFloat(): boolean {
    return /^\s*(0[fFdD][0-9a-fA-F]{8}|\d+\.\d|\d+[eE])/.test(this.text.slice(this.lx.end, this.lx.end + 40));
  }

  // ------------------------------------------------------------------------------------------ bodies

  /** Statements up to the closing brace. Scopes are kept on a stack of our own. */
  private body(into: PtxStatement[], _depth: number): void {
    const { lx } = this;
    const stack: { list: PtxStatement[]; span: Span }[] = [{ list: into, span: this.here() }];
    for (;;) {
      if (lx.kind === Tok.End) {
        this.error("the function is not closed by '}'");
        return;
      }
      const top = stack[stack.length - 1];
      if (lx.is('}')) {
        lx.next();
        stack.pop();
        if (stack.length === 0) return;
        stack[stack.length - 1].list.push({ kind: 'scope', body: top.list, span: this.upTo(top.span) });
        continue;
      }
      if (lx.is('{')) {
        stack.push({ list: [], span: this.here() });
        lx.next();
        continue;
      }
      if (lx.is(';')) {
        lx.next();
        continue;
      }
      this.recover(() => this.statement(top.list), true);
    }
  }

  private statement(list: PtxStatement[]): void {
    const { lx } = this;
    const span = this.here();
    if (lx.kind === Tok.Dot) {
      switch (lx.value) {
        case 'loc':
          list.push(this.loc(span));
          return;
        case 'pragma': {
          lx.next();
          let text = this.string('a quoted pragma');
          while (lx.is(',')) {
            lx.next();
            text += `", "${this.string('a quoted pragma')}`;
          }
          this.expect(';');
          list.push({ kind: 'pragma', text, span: this.upTo(span) });
          return;
        }
        case 'branchtargets':
        case 'calltargets':
        case 'callprototype':
          this.bail(`'.${lx.value}' needs a label before it`);
      }
      if (PERFORMANCE.has(lx.value) || lx.value === 'file' || lx.value === 'section')
        this.bail(`'.${lx.value}' does not stand in a function body`);
      let linkage: VarDecl['linkage'] = '';
      if (LINKAGE.has(lx.value)) {
        linkage = lx.value as VarDecl['linkage'];
        lx.next();
      }
      if (!SPACES.has(lx.value)) {
        const near = nearest(lx.value, ['loc', 'pragma', ...SPACES]);
        this.bail(`unknown directive '.${lx.value}'`, near.length > 0 ? [`did you mean '.${near[0]}'?`] : []);
      }
      list.push(...this.variables(span, linkage));
      return;
    }
    let guard: PtxInstr['guard'] = null;
    if (lx.is('@')) {
      lx.next();
      const not = lx.is('!');
      if (not) lx.next();
      guard = { name: this.ident('a predicate register'), not };
    }
    const opcode = this.ident('an instruction, a label or a directive');
    if (guard === null && lx.is(':')) {
      lx.next();
      this.label(opcode, span, list);
      return;
    }
    if (!PTX_OPCODES.has(opcode)) {
      const near = nearest(opcode, PTX_OPCODES);
      this.push(
        `unknown instruction '${opcode}'`,
        span.line,
        span.column,
        opcode.length,
        near.length > 0 ? [`did you mean '${near[0]}'?`] : [],
      );
      throw new Bail();
    }
    list.push(this.instruction(opcode, guard, span));
  }

  private label(name: string, span: Span, list: PtxStatement[]): void {
    const { lx } = this;
    if (lx.kind === Tok.Dot && lx.value === 'branchtargets') {
      lx.next();
      const labels = this.names();
      list.push({ kind: 'branchtargets', name, labels, span: this.upTo(span) });
    } else if (lx.kind === Tok.Dot && lx.value === 'calltargets') {
      lx.next();
      const functions = this.names();
      list.push({ kind: 'calltargets', name, functions, span: this.upTo(span) });
    } else if (lx.kind === Tok.Dot && lx.value === 'callprototype') {
      lx.next();
      const returns = lx.is('(') ? this.params() : [];
      this.ident("'_'");
      const params = lx.is('(') ? this.params() : [];
      let noreturn = false;
      while (lx.kind === Tok.Dot) {
        noreturn ||= (lx.value as string) === 'noreturn';
        this.performance();
      }
      this.expect(';');
      list.push({ kind: 'callprototype', name, returns, params, noreturn, span: this.upTo(span) });
    } else list.push({ kind: 'label', name, span: this.upTo(span) });
  }

  private names(): string[] {
    const out = [this.ident('a name')];
    while (this.lx.is(',')) {
      this.lx.next();
      out.push(this.ident('a name'));
    }
    this.expect(';');
    return out;
  }

  private loc(span: Span): PtxStatement {
    const { lx } = this;
    lx.next();
    const file = Number(this.int('a file number'));
    const line = Number(this.int('a line'));
    const column = lx.kind === Tok.Int ? Number(this.int('a column')) : 0;
    const start = lx.start;
    let end = start;
    // `, function_name label, inlined_at file line column`: no semicolon ends it, so take what belongs to it.
    while (lx.is(',')) {
      lx.next();
      const word = this.ident("'function_name' or 'inlined_at'");
      if (word === 'function_name') {
        this.ident('a label');
        if (lx.is('+')) {
          lx.next();
          this.int('an offset');
        }
      } else for (let i = 0; i < 3; i++) this.int('a number');
      end = lx.start;
    }
    return {
      kind: 'loc',
      file,
      line,
      column,
      rest: this.text.slice(start, end).trim(),
      span: this.upTo(span),
    };
  }

  private instruction(opcode: string, guard: PtxInstr['guard'], span: Span): PtxInstr {
    const { lx } = this;
    const mods: string[] = [];
    while (lx.kind === Tok.Dot) {
      mods.push(lx.value);
      lx.next();
    }
    const operands: PtxOperand[] = [];
    if (!lx.is(';')) {
      operands.push(this.operand());
      // `mad.lo.cc` and friends separate by commas; some tensor forms leave them out before a bracket.
      while (lx.is(',')) {
        lx.next();
        operands.push(this.operand());
      }
    }
    if (!lx.is(';')) {
      this.error(`expected ',' or ';' after an operand of '${opcode}', found ${this.found()}`);
      throw new Bail();
    }
    lx.next();
    return {
      kind: 'instr',
      span: { start: span.start, end: this.lx.start, line: span.line, column: span.column },
      opcode,
      mods,
      guard,
      operands,
    };
  }

  private operand(): PtxOperand {
    const { lx } = this;
    const first = this.single();
    if (!lx.is('|')) return first;
    lx.next();
    const second = this.single();
    return { kind: 'pair', first, second, span: this.upTo(first.span) };
  }

  private list(close: string): PtxOperand[] {
    const { lx } = this;
    const items: PtxOperand[] = [];
    while (!lx.is(close)) {
      if (lx.kind === Tok.End || lx.is(';')) this.bail(`expected '${close}', found ${this.found()}`);
      items.push(this.operand());
      if (lx.is(',')) lx.next();
      else if (!lx.is(close)) this.bail(`expected ',' or '${close}', found ${this.found()}`);
    }
    lx.next();
    return items;
  }

  private depth = 0;

  private single(): PtxOperand {
    const { lx } = this;
    const span = this.here();
    if (lx.kind === Tok.Ident) {
      const name = lx.value;
      if (name === '_') {
        lx.next();
        return { kind: 'sink', span };
      }
      if (name !== 'WARP_SZ') return this.named(false, false);
    }
    if (lx.kind === Tok.Float) return this.float(false);
    if (lx.kind === Tok.Punct) {
      switch (lx.value) {
        case '[':
          return this.address();
        case '{':
        case '(': {
          if (lx.value === '(' && /^\(\s*[-+~!(]*\s*\d/.test(this.text.slice(lx.start, lx.start + 24))) break;
          const vector = lx.value === '{';
          if (++this.depth > 16) this.bail('operands are nested deeper than 16');
          lx.next();
          const items = this.list(vector ? '}' : ')');
          this.depth--;
          return { kind: vector ? 'vector' : 'list', items, span: this.upTo(span) };
        }
        case '!':
          if (/^!\s*[%$A-Za-z_]/.test(this.text.slice(lx.start, lx.start + 16))) {
            lx.next();
            return this.named(false, true);
          }
          break;
        case '-':
          if (this.peekFloat()) {
            lx.next();
            return this.float(true);
          }
          if (/^-\s*[%$A-Za-z_]/.test(this.text.slice(lx.start, lx.start + 16))) {
            lx.next();
            return this.named(true, false);
          }
      }
    }
    if (
      lx.kind === Tok.Int ||
      lx.kind === Tok.Ident ||
      (lx.kind === Tok.Punct && '+-~!('.includes(lx.value))
    ) {
      const c = constantExpression(lx);
      return { kind: 'int', value: c.value, unsigned: c.unsigned, span: this.upTo(span) };
    }
    return this.bail(`expected an operand, found ${this.found()}`);
  }

  private float(negative: boolean): PtxOperand {
    const { lx } = this;
    const span = this.here();
    const width = lx.floatWidth;
    const bits = negative ? lx.floatBits ^ (1n << BigInt(width - 1)) : lx.floatBits;
    lx.next();
    return { kind: 'float', bits, width, span };
  }

  /** A register (`%...`, `%tid.x`, `%r1.b0`) or a symbol with an offset. */
  private named(neg: boolean, not: boolean): PtxOperand {
    const { lx } = this;
    const span = this.here();
    let name = this.ident('a name');
    let part = '';
    while (lx.kind === Tok.Dot && lx.glued) {
      if (
        name.charCodeAt(0) === 37 &&
        /^(tid|ntid|ctaid|nctaid|clusterid|nclusterid|cluster_ctaid|cluster_nctaid)$/.test(name.slice(1))
      )
        name = `${name}.${lx.value}`;
      else part = lx.value;
      lx.next();
    }
    if (name.charCodeAt(0) === 37 || neg || not || part !== '')
      return { kind: 'reg', name, neg, not, part, span: this.upTo(span) };
    let offset = 0n;
    while (lx.is('+') || lx.is('-')) {
      const minus = lx.is('-');
      lx.next();
      const v = this.int('an offset');
      offset += minus ? -v : v;
    }
    return { kind: 'sym', name, offset, span: this.upTo(span) };
  }

  /** `[%rd1+8]`, `[sym]`, `[16]`, `[tex, sampler, {x, y}]`, `[map, {c0, c1}]`. */
  private address(): PtxOperand {
    const { lx } = this;
    const span = this.here();
    lx.next();
    let base = '';
    let offset = 0n;
    if (lx.kind === Tok.Ident) {
      base = lx.value;
      lx.next();
      while (lx.is('+') || lx.is('-')) {
        const minus = lx.is('-');
        lx.next();
        const at = lx.start;
        const negative = lx.is('-');
        if (negative) lx.next();
        if ((lx.kind as number) !== Tok.Int && !lx.is('(')) throw new ConstantError('expected an offset', at);
        const v = lx.is('(') ? constantExpression(lx).value : this.int('an offset');
        offset += minus !== negative ? -v : v;
      }
    } else if (!lx.is(']')) offset = constantExpression(lx).value;
    const extra: PtxOperand[] = [];
    while (lx.is(',')) {
      lx.next();
      extra.push(this.operand());
    }
    this.expect(']');
    return { kind: 'addr', base, offset, extra, span: this.upTo(span) };
  }
}
