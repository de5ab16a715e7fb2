/** Prints syntax trees as PTX text, which parses to an equal tree. */
import type {
  Init,
  PtxFunction,
  PtxInstr,
  PtxItem,
  PtxModule,
  PtxOperand,
  PtxStatement,
  VarDecl,
} from './ast.ts';

/** Prints a module. Items that the tree keeps verbatim are copied from the source text. */
export function printPtxModule(module: PtxModule): string {
  const out = [
    `.version ${module.version}`,
    `.target ${module.target.join(', ')}`,
    `.address_size ${module.addressSize}`,
    '',
  ];
  for (const item of module.items) printItem(item, module.text, out);
  return `${out.join('\n')}\n`;
}

function printItem(item: PtxItem, text: string, out: string[]): void {
  switch (item.kind) {
    case 'variable':
      out.push(`${printPtxVariable(item)};`);
      return;
    case 'function':
      printFunction(item, out);
      return;
    case 'file':
      out.push(`.file ${item.index} "${item.name}"`);
      return;
    case 'alias':
    case 'verbatim':
      out.push(text.slice(item.span.start, item.span.end));
  }
}

/** Prints the header of a function, without body or `;`: linkage, results, name, parameters, directives. */
export function printPtxHeader(fn: PtxFunction): string {
  const early = fn.directives.filter((d) => d.startsWith('.attribute'));
  const late = fn.directives.filter((d) => !d.startsWith('.attribute'));
  const words = [fn.linkage === '' ? '' : `.${fn.linkage}`, fn.entry ? '.entry' : '.func', ...early];
  if (fn.returns.length > 0) words.push(parameters(fn.returns));
  words.push(fn.name, parameters(fn.params), ...late.map((d) => (d.startsWith('.pragma') ? `${d};` : d)));
  return words.filter((w) => w !== '').join(' ');
}

function printFunction(fn: PtxFunction, out: string[]): void {
  if (fn.body === null) {
    out.push(`${printPtxHeader(fn)};`);
    return;
  }
  out.push(printPtxHeader(fn), '{');
  printPtxStatements(fn.body, '  ', out);
  out.push('}');
}

/** Appends statements to `out`, one per line, indented by `indent`; labels are not indented. */
export function printPtxStatements(body: readonly PtxStatement[], indent: string, out: string[]): void {
  for (const s of body) {
    switch (s.kind) {
      case 'instr':
        out.push(indent + printPtxInstr(s));
        break;
      case 'variable':
        out.push(`${indent}${printPtxVariable(s)};`);
        break;
      case 'label':
        out.push(`${s.name}:`);
        break;
      case 'loc':
        out.push(`${indent}.loc ${s.file} ${s.line} ${s.column}${s.rest}`);
        break;
      case 'pragma':
        out.push(`${indent}.pragma "${s.text}";`);
        break;
      case 'scope':
        out.push(`${indent}{`);
        printPtxStatements(s.body, `${indent}  `, out);
        out.push(`${indent}}`);
        break;
      case 'branchtargets':
        out.push(`${s.name}: .branchtargets ${s.labels.join(', ')};`);
        break;
      case 'calltargets':
        out.push(`${s.name}: .calltargets ${s.functions.join(', ')};`);
        break;
      case 'callprototype': {
        const returns = s.returns.length > 0 ? `${parameters(s.returns)} ` : '';
        const rest = s.directives.map((d) => ` ${d}`).join('');
        out.push(`${s.name}: .callprototype ${returns}_ ${parameters(s.params)}${rest};`);
        break;
      }
      default:
        s satisfies never;
    }
  }
}

/** Prints an instruction: `@!%p1 add.s32 %r1, %r2, 5;`. */
export function printPtxInstr(i: PtxInstr): string {
  const guard = i.guard === null ? '' : `@${i.guard.not ? '!' : ''}${i.guard.name} `;
  const mods = i.mods.length === 0 ? '' : `.${i.mods.join('.')}`;
  const operands = i.operands.length === 0 ? '' : ` ${i.operands.map(printPtxOperand).join(', ')}`;
  return `${guard}${i.opcode}${mods}${operands};`;
}

/** Prints an operand. */
export function printPtxOperand(o: PtxOperand): string {
  switch (o.kind) {
    case 'reg':
      return `${o.neg ? '-' : o.not ? '!' : ''}${o.name}${o.part === '' ? '' : `.${o.part}`}`;
    case 'int':
      return o.unsigned ? `${o.value}U` : printInteger(o.value);
    case 'float':
      return printFloat(o.bits, o.width);
    case 'sym':
      return o.offset === 0n ? o.name : `${o.name}+${printInteger(o.offset)}`;
    case 'addr': {
      const base = o.base === '' ? printInteger(o.offset) : o.base;
      const offset = o.base === '' || o.offset === 0n ? '' : `+${printInteger(o.offset)}`;
      const extra = o.extra.map((x) => `, ${printPtxOperand(x)}`).join('');
      return `[${base}${offset}${extra}]${o.unified === true ? '.unified' : ''}`;
    }
    case 'vector':
      return `{${o.items.map(printPtxOperand).join(', ')}}`;
    case 'pair':
      return `${printPtxOperand(o.first)}|${printPtxOperand(o.second)}`;
    case 'list':
      return `(${o.items.map(printPtxOperand).join(', ')})`;
    case 'sink':
      return '_';
  }
}

/** The smallest signed integer has no literal: -2^63 is the negation of an unsigned one. */
const SMALLEST = -(1n << 63n);

function printInteger(v: bigint): string {
  return v === SMALLEST ? '(.s64)0x8000000000000000' : String(v);
}

function printFloat(bits: bigint, width: 32 | 64): string {
  const hex = bits
    .toString(16)
    .toUpperCase()
    .padStart(width / 4, '0');
  return `${width === 32 ? '0f' : '0d'}${hex}`;
}

/** Prints the declaration of a variable, without its `;`. */
export function printPtxVariable(v: VarDecl): string {
  const words = [
    v.linkage === '' ? '' : `.${v.linkage}`,
    `.${v.space}`,
    v.align === 0 ? '' : `.align ${v.align}`,
    ...v.attributes.filter((a) => a.startsWith('.attribute')),
    v.vector === 1 ? '' : `.v${v.vector}`,
    `.${v.type}`,
  ];
  if (v.ptr !== null) {
    words.push('.ptr', v.ptr.space === '' ? '' : `.${v.ptr.space}`);
    if (v.ptr.align !== 0) words.push(`.align ${v.ptr.align}`);
  }
  const dims = v.dims.map((d) => (d === 0 ? '[]' : `[${d}]`)).join('');
  words.push(`${v.name}${v.count > 0 ? `<${v.count}>` : ''}${dims}`);
  const fields = v.attributes.filter((a) => !a.startsWith('.attribute'));
  if (v.init !== null) words.push('=', printInit(v.init));
  else if (fields.length > 0) words.push(`= {${fields.join(', ')}}`);
  return words.filter((w) => w !== '').join(' ');
}

function printInit(init: Init): string {
  switch (init.kind) {
    case 'int':
      return printInteger(init.value);
    case 'float':
      return printFloat(init.bits, init.width);
    case 'list':
      return `{${init.items.map(printInit).join(', ')}}`;
    case 'address': {
      const symbol = init.generic ? `generic(${init.symbol})` : init.symbol;
      const at = init.addend === 0n ? symbol : `${symbol}+${printInteger(init.addend)}`;
      return init.byte < 0 ? at : `${0xffn << BigInt(8 * init.byte)}(${at})`;
    }
  }
}

function parameters(list: readonly VarDecl[]): string {
  return `(${list.map(printPtxVariable).join(', ')})`;
}
