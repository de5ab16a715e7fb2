import { Kind, NO_REG, type Operand, RegFile, regFile } from '../../ir/operand.ts';
import type { Instr, Param, Prototype } from '../../ir/program.ts';
import { Unsupported } from '../../ir/unsupported.ts';
import type { VarDecl } from '../ast.ts';
import { printPtxVariable } from '../print.ts';
import { guardOf } from './expand.ts';
import type { Writer } from './writer.ts';

/** Types of the parameters and results of a function. */
export interface Signature {
  readonly params: readonly { readonly type: string }[];
  readonly returns: readonly { readonly type: string }[];
  /** Whether calls imply the declaration; such a call always has a list of arguments. */
  readonly implied?: boolean;
}

/** Bits of a type that Ori holds in a 32-bit register and PTX in a narrower one; 0 for any other type. */
function narrowBits(type: string | undefined): number {
  const bits = Number(/^[a-z]+(\d+)$/.exec(type ?? '')?.[1] ?? 0);
  return bits === 16 ? bits : 0;
}

const bitsOf = (type: string): number => Number(/\d+$/.exec(type)?.[0] ?? 32);

/** An argument in a register of its own type, for a function without declaration, whose calls alone determine its types. */
function typedArgument(w: Writer, o: Operand, type: string): string {
  const bits = bitsOf(type);
  const isFloat = /^f(32|64)$/.test(type);
  if (o.reg !== NO_REG && !isFloat) return w.value(o, 64, 'b64', o.mods);
  const t = isFloat ? w.float(bits) : w.temp(bits > 32 ? 'w' : bits < 32 ? 'h' : 't');
  w.line(`mov.b${bits} ${t}, ${w.value(o, bits > 32 ? 64 : 32, bits > 32 ? 'b64' : 'b32', o.mods)}`);
  return t;
}

/**
 * Writes a CALL. Its sources are the target, the prototype, the arguments, and then the results in `.param` variables; its destinations are
 * the results in registers.
 *
 * @param signatureOf signature of a function, or of the prototype of an indirect call
 * @param proto name under which the current function declares a prototype
 * @param uniform whether to write `call.uni`
 * @throws Unsupported if the callee is not declared
 */
export function writeCall(
  w: Writer,
  i: Instr,
  signatureOf: (name: string) => Signature | undefined,
  proto: (name: string) => string,
  uniform: boolean,
): void {
  const [target, prototype, ...rest] = i.src;
  const direct = target.kind === Kind.Sym;
  const name = direct ? target.sym : (prototype?.sym ?? '');
  const s = signatureOf(name);
  if (s === undefined)
    throw new Unsupported(
      direct ? `'${name}' is called and not declared` : 'an indirect call without a prototype',
    );
  const guard = guardOf(w, i);
  const texts = rest.map((o, k) => {
    const pred = o.reg !== NO_REG && (regFile(o.reg) === RegFile.P || regFile(o.reg) === RegFile.UP);
    if (pred) return w.predicate(o, false, o.mods);
    if (o.reg !== NO_REG && narrowBits(s.params[k]?.type) > 0) {
      const half = w.temp('h');
      w.line(`${guard}cvt.u16.u32 ${half}, ${w.value(o, 32, 'b32', o.mods)}`);
      return half;
    }
    if (s.implied === true) return typedArgument(w, o, s.params[k]?.type ?? 'b32');
    return o.kind === Kind.Sym && o.lo === 0 ? o.sym : w.value(o, 64, 'b64', o.mods);
  });
  const after: string[] = [];
  // The lines after the call have its guard, so a result that overwrites the guard comes last.
  const last: string[] = [];
  const narrowed = i.dst.some((d, k) => d !== NO_REG && narrowBits(s.returns[k]?.type) > 0);
  const registers = i.dst.map((d, k) => {
    if (d === NO_REG) return '_';
    if (d === i.guard && narrowed) {
      const pred = w.temp('p');
      last.push(`${guard}mov.pred ${w.name(d)}, ${pred}`);
      return pred;
    }
    const type = s.returns[k]?.type;
    if (s.implied === true && /^f(32|64)$/.test(type)) {
      const float = w.float(bitsOf(type));
      after.push(`${guard}mov.b${bitsOf(type)} ${w.name(d)}, ${float}`);
      return float;
    }
    if (narrowBits(type) === 0) return w.name(d);
    const half = w.temp('h');
    after.push(`${guard}cvt.u32.u16 ${w.name(d)}, ${half}`);
    return half;
  });
  const results = [...registers, ...texts.slice(s.params.length)];
  const args = texts.slice(0, s.params.length);
  const parts = [
    ...(results.length > 0 ? [`(${results.join(', ')})`] : []),
    direct ? name : w.value(target, 64, 'reg', 0),
    ...(args.length > 0 || !direct || s.implied === true ? [`(${args.join(', ')})`] : []),
    ...(direct ? [] : [proto(name)]),
  ];
  w.line(`${guard}call${uniform ? '.uni' : ''} ${parts.join(', ')}`);
  for (const l of [...after, ...last]) w.line(l);
}

/** The declaration of a parameter under the given name. */
export function paramDecl(p: Param, name: string, space: 'param' | 'reg' = 'param'): VarDecl {
  const bytes = /^(f16x2|bf16x2|pred)$/.test(p.type)
    ? 4
    : Math.max(1, Number(/\d+$/.exec(p.type)?.[0] ?? 8) / 8);
  return {
    kind: 'variable',
    span: { start: 0, end: 0, line: 0, column: 0 },
    linkage: '',
    space,
    type: p.type,
    vector: 1,
    align: p.array ? p.align : 0,
    name,
    dims: p.array ? [p.size / bytes] : [],
    init: null,
    attributes: [],
    ptr: p.ptr === '' && p.pointeeAlign === 0 ? null : { space: p.ptr, align: p.pointeeAlign },
    count: 0,
  };
}

/** The line `name: .callprototype (...) _ (...);`. */
export function prototypeLine(name: string, p: Prototype): string {
  const list = (ps: readonly Param[]) => `(${ps.map((x) => printPtxVariable(paramDecl(x, '_'))).join(', ')})`;
  const returns = p.returns.length > 0 ? `${list(p.returns)} ` : '';
  return `\t${name}: .callprototype ${returns}_ ${list(p.params)}${p.noreturn ? ' .noreturn' : ''};`;
}
