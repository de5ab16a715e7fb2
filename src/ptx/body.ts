/** Parser for the statements of a function's body (PTX ISA 9.0, 4.3). */
import type { PtxInstr, PtxOperand, PtxStatement, Span, VarDecl } from './ast.ts';
import { parameters, SPACES, variables } from './declarations.ts';
import {
  BODY_DIRECTIVES,
  headerDirectives,
  itemStarts,
  LINKAGE,
  loc,
  names,
  recover,
  strings,
  targetInBody,
  unknownDirective,
} from './directives.ts';
import { PTX_OPCODES } from './opcodes.ts';
import { operands } from './operands.ts';
import type { Form, Reader } from './reader.ts';
import * as t from './tokens.ts';

/** Maximum nesting of scopes. Real code has a handful; the limit lets later code recurse over the tree. */
const DEEPEST_SCOPE = 256;

/** An open scope. */
interface Open {
  readonly list: PtxStatement[];
  readonly span: Span;
}

/**
 * Parses statements, from after the opening brace of a function up to its closing brace. After an error, parsing resumes at the next
 * statement; a function that is never closed ends where the next item of the module begins.
 *
 * @param name name of the function, for messages
 */
export function body(r: Reader, name: string, into: PtxStatement[]): void {
  const stack: Open[] = [{ list: into, span: r.here() }];
  const starts = () => statementStarts(r);
  r.arrays.push(null);
  for (;;) {
    try {
      statements(r, name, stack);
      break;
    } catch (e) {
      r.shared.top = 0;
      recover(r, e, starts, true);
    }
  }
  r.arrays.length = 1;
}

function statements(r: Reader, name: string, stack: Open[]): void {
  const { lx } = r;
  for (;;) {
    const top = stack[stack.length - 1];
    r.begin = lx.start;
    switch (lx.kind) {
      case t.IDENT:
        instruction(r, top.list, lx.start, lx.line, lx.column, null);
        break;
      case t.AT:
        guarded(r, top.list);
        break;
      case t.DOT:
        if (lx.first && endsBody(r)) {
          r.reportAt(lx.start, lx.end - lx.start, `'${name}' is not closed by '}' before the next item`);
          closeAll(r, stack);
          return;
        }
        directive(r, top.list);
        break;
      case t.LBRACE:
        if (stack.length > DEEPEST_SCOPE) r.fail(`scopes are nested deeper than ${DEEPEST_SCOPE}`);
        stack.push({ list: [], span: r.here() });
        r.arrays.push(null);
        lx.next();
        break;
      case t.RBRACE:
        lx.next();
        r.arrays.pop();
        if (stack.length === 1) return;
        close(r, stack);
        break;
      case t.END:
        r.report(`'${name}' is not closed by '}'`);
        closeAll(r, stack);
        return;
      case t.SEMICOLON:
        r.report("there is no statement before ';'");
        lx.next();
        break;
      default:
        r.fail(`expected an instruction, a label or a directive, found ${r.found()}`);
    }
  }
}

/** Ends the innermost scope. */
function close(r: Reader, stack: Open[]): void {
  const { list, span } = stack.pop()!;
  stack[stack.length - 1].list.push({ kind: 'scope', body: list, span: r.upTo(span) });
}

/** Ends every scope that is still open. */
function closeAll(r: Reader, stack: Open[]): void {
  while (stack.length > 1) close(r, stack);
}

/** Opcodes that may have no modifiers, and so look like any name. */
const BARE: ReadonlySet<string> = new Set(['ret', 'exit', 'trap', 'brkpt', 'bra', 'call']);

/** Can a statement begin at the current token, which is the first of its line? */
function statementStarts(r: Reader): boolean {
  const { lx } = r;
  if (lx.kind === t.AT) return true;
  if (lx.kind === t.DOT) return BODY_DIRECTIVES.has(lx.value) || itemStarts(r);
  if (lx.kind !== t.IDENT) return false;
  if (lx.after === t.COLON || lx.dotted) return true;
  // A function may be named `add`, and a line of a call may begin with its name.
  return isOpcode(r, lx.value) && (lx.after === 46 || (BARE.has(lx.value) && lx.after !== t.COMMA));
}

/** Does the directive at the current token belong to the module, so that the body before it was not closed? */
function endsBody(r: Reader): boolean {
  const { lx } = r;
  if (!itemStarts(r) || lx.value === 'pragma' || lx.value === 'target') return false;
  if (!LINKAGE.has(lx.value)) return true;
  return /^\.\w+\s+\.(entry|func)\b/.test(r.text.slice(lx.start, lx.start + 80));
}

function guarded(r: Reader, list: PtxStatement[]): void {
  const { lx } = r;
  const { start, line, column } = lx;
  lx.next();
  const not = lx.kind === t.BANG;
  if (not) lx.next();
  const { id, value } = lx;
  if (lx.kind !== t.IDENT) r.fail(`expected a predicate register, found ${r.found()}`);
  lx.next(true);
  if (lx.kind !== t.IDENT) r.fail(`expected an instruction after the guard, found ${r.found()}`);
  instruction(r, list, start, line, column, r.shared.guard(id, value, not));
}

/** Parses an instruction, or a label and the list or prototype after it. The statement begins at `start`, `line`, `column`. */
function instruction(
  r: Reader,
  list: PtxStatement[],
  start: number,
  line: number,
  column: number,
  guard: PtxInstr['guard'],
): void {
  const { lx } = r;
  if (!lx.dotted && lx.after === 46) lx.widen();
  const { id, value, dotted } = lx;
  const at = lx.start;
  lx.next();
  if (lx.kind === t.COLON && !dotted && guard === null) {
    lx.next(true);
    label(r, value, { start, end: lx.last, line, column }, list);
    return;
  }
  let form = r.forms[id];
  if (form === undefined) {
    form = makeForm(r, value);
    // Filled without gaps, because V8 stores an array with large holes as a hash table.
    while (r.forms.length < id) r.forms.push(undefined);
    r.forms[id] = form;
  }
  if (!form.known && !(r.newer && form.mods.length > 0)) unknownOpcode(r, form.opcode, at);
  let { mods } = form;
  if (lx.kind === t.DOT) mods = spacedModifiers(r, mods);
  r.opcode = form.opcode;
  const none = lx.kind === t.SEMICOLON || (lx.first && statementStarts(r));
  const given = none ? NO_OPERANDS : operands(r);
  if (lx.kind === t.SEMICOLON) lx.next(true);
  else unfinished(r, form.opcode);
  list.push({
    kind: 'instr',
    span: { start, end: lx.last, line, column },
    opcode: form.opcode,
    mods,
    guard,
    operands: given,
  });
}

const NO_OPERANDS: readonly PtxOperand[] = [];

const isOpcode = (r: Reader, word: string): boolean => PTX_OPCODES.has(word) || r.declared.has(word);

function makeForm(r: Reader, spelling: string): Form {
  const [opcode, ...mods] = spelling.split('.');
  return { opcode, mods, known: isOpcode(r, opcode) };
}

/** Parses modifiers that are separated from the opcode by blanks, as in `add .rn .f32`. */
function spacedModifiers(r: Reader, first: readonly string[]): string[] {
  const mods = [...first];
  while (r.lx.kind === t.DOT) {
    mods.push(r.lx.value);
    r.lx.next();
  }
  return mods;
}

/** Reports a missing `;`. At the end of a line or scope, only the `;` is missing; elsewhere the statement is abandoned. */
function unfinished(r: Reader, opcode: string): void {
  const { lx } = r;
  const message = `expected ',' or ';' after an operand of '${opcode}', found ${r.found()}`;
  if ((lx.first && statementStarts(r)) || lx.kind === t.RBRACE || lx.kind === t.END)
    r.reportAt(Math.max(0, lx.last - 1), 1, `expected ';' at the end of '${opcode}'`);
  else r.fail(message);
}

const DECLARE: readonly string[] = [
  'a file of kind isa declares instructions that PTX does not have: --isa mine.yaml, see pipelines/isa/README.md',
];

function unknownOpcode(r: Reader, opcode: string, at: number): never {
  if (BODY_DIRECTIVES.has(opcode))
    r.failAt(at, opcode.length, `unknown instruction '${opcode}'`, [`did you mean '.${opcode}'?`]);
  const meant = r.suggest(opcode, [...PTX_OPCODES, ...r.declared]);
  r.failAt(at, opcode.length, `unknown instruction '${opcode}'`, meant.length > 0 ? meant : DECLARE);
}

function directive(r: Reader, list: PtxStatement[]): void {
  const { lx } = r;
  if (lx.value === 'loc') {
    list.push(loc(r));
    return;
  }
  if (lx.value === 'target') {
    targetInBody(r);
    return;
  }
  const span = r.here();
  if (lx.value === 'pragma') {
    lx.next();
    const texts = strings(r);
    r.expect(t.SEMICOLON);
    for (const text of texts) list.push({ kind: 'pragma', text, span: r.upTo(span) });
    return;
  }
  let linkage: VarDecl['linkage'] = '';
  if (LINKAGE.has(lx.value)) {
    linkage = lx.value as VarDecl['linkage'];
    lx.next();
  }
  // `.align` and `.attribute` may come before the space.
  if (lx.kind === t.DOT && (SPACES.has(lx.value) || lx.value === 'align' || lx.value === 'attribute'))
    variables(r, span, linkage, list);
  else if (lx.kind === t.DOT) unknownDirective(r, BODY_DIRECTIVES, 'in the body of a function');
  else r.fail(`expected a state space, found ${r.found()}`);
}

/** Parses the rest of a statement after `name:`. */
function label(r: Reader, name: string, span: Span, list: PtxStatement[]): void {
  const { lx } = r;
  switch (lx.kind === t.DOT ? lx.value : '') {
    case 'branchtargets': {
      lx.next();
      const labels = names(r, 'a label', true);
      list.push({ kind: 'branchtargets', name, labels, span: r.upTo(span) });
      return;
    }
    case 'calltargets': {
      lx.next();
      const functions = names(r, 'a function', true);
      list.push({ kind: 'calltargets', name, functions, span: r.upTo(span) });
      return;
    }
    case 'callprototype':
      lx.next();
      prototype(r, name, span, list);
      return;
    default:
      list.push({ kind: 'label', name, span });
  }
}

/** `(ret) _ (params) .noreturn;` */
function prototype(r: Reader, name: string, span: Span, list: PtxStatement[]): void {
  const { lx } = r;
  const returns = lx.kind === t.LPAREN ? parameters(r) : [];
  const placeholder = r.ident("'_'");
  if (placeholder !== '_')
    r.reportAt(lx.last - placeholder.length, placeholder.length, `expected '_', found '${placeholder}'`);
  const params = lx.kind === t.LPAREN ? parameters(r) : [];
  const directives: string[] = [];
  headerDirectives(r, directives, null);
  r.expect(t.SEMICOLON);
  list.push({
    kind: 'callprototype',
    name,
    returns,
    params,
    noreturn: directives.includes('.noreturn'),
    directives,
    span: r.upTo(span),
  });
}
