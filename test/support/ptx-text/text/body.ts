import { Unsupported } from '../table/case.ts';
import type { Type } from '../values/types.ts';
import { declaration, startsDeclaration } from './declarations.ts';
import { callOperand, operand } from './operands.ts';
import type { Reader } from './reader.ts';
import {
  type Body,
  type Entity,
  type Guard,
  type Instruction,
  type Register,
  Scope,
  type Variable,
} from './syntax.ts';

/*
 * Function bodies: PTX ISA, 4.3 and 9.2; blocks: 9.7.12.1.
 */

/** Directives of a body that do not affect execution. */
const IGNORED_TO_SEMICOLON = new Set(['.pragma', '.abi_preserve', '.abi_preserve_control']);

/** Reads the body of one function; its registers are numbered consecutively, across nested blocks. */
export class BodyReader {
  readonly #r: Reader;
  readonly registers: Register[] = [];
  readonly #instructions: Instruction[] = [];
  readonly #variables: Variable[] = [];

  constructor(r: Reader) {
    this.#r = r;
  }

  /** Declares a register of the function. */
  readonly register = (name: string, type: Type): Register => {
    const made: Register = { kind: 'register', name, type, slot: this.registers.length };
    this.registers.push(made);
    return made;
  };

  /** Reads the body; its scope is nested in that of the parameters. */
  read(outer: Scope): Body {
    this.#block(outer);
    return { instructions: this.#instructions, registers: this.registers, variables: this.#variables };
  }

  #block(outer: Scope): void {
    const r = this.#r;
    const scope = new Scope(outer);
    r.expect('{');
    while (!r.take('}')) this.#statement(scope);
  }

  #declare(scope: Scope, name: string, entity: Entity): void {
    if (!scope.declare(name, entity)) this.#r.fail(`'${name}' is declared twice`);
  }

  #statement(scope: Scope): void {
    const r = this.#r;
    const t = r.peek();
    if (r.is('{')) this.#block(scope);
    else if (r.take(';')) return;
    else if (t.text === '.loc' || t.text === '.file') {
      r.next();
      r.restOfLine();
    } else if (IGNORED_TO_SEMICOLON.has(t.text)) {
      while (!r.take(';')) r.next();
    } else if (startsDeclaration(r)) {
      for (const d of declaration(r, false, this.register)) {
        this.#declare(scope, d.name, d);
        if (d.kind === 'variable') this.#variables.push(d);
      }
    } else if (t.kind === 'word' && r.peek(1).text === ':') this.#label(scope);
    else if (t.kind === 'dot') throw new Unsupported(`${t.text} in a body`);
    else this.#instructions.push(this.#instruction(scope));
  }

  #label(scope: Scope): void {
    const r = this.#r;
    const name = r.word();
    r.expect(':');
    if (r.take('.branchtargets')) {
      const labels = this.#labels();
      this.#declare(scope, name, { kind: 'targets', labels, scope });
    } else if (r.take('.calltargets') || r.take('.callprototype')) {
      while (!r.take(';')) r.next();
      this.#declare(scope, name, { kind: 'prototype' });
    } else this.#declare(scope, name, { kind: 'label', at: this.#instructions.length });
  }

  /** The labels of a list; `L<3>` is short for L0, L1 and L2. */
  #labels(): string[] {
    const r = this.#r;
    return r
      .list(';', () => {
        const name = r.word();
        if (!r.take('<')) return [name];
        const t = r.next();
        r.expect('>');
        return Array.from({ length: Number(t.text) }, (_, k) => `${name}${k}`);
      })
      .flat();
  }

  #guard(): Guard | null {
    const r = this.#r;
    if (!r.take('@')) return null;
    const negated = r.take('!');
    return { name: r.word(), negated };
  }

  #instruction(scope: Scope): Instruction {
    const r = this.#r;
    const line = r.peek().line;
    const guard = this.#guard();
    if (r.is('{')) throw new Unsupported('a guard in front of a block');
    const opcode = r.word();
    const modifiers: string[] = [];
    while (r.peek().kind === 'dot') modifiers.push(r.next().text.slice(1));
    const operands = r.list(';', () => (opcode === 'call' ? callOperand(r) : operand(r)));
    return { guard, opcode, modifiers, operands, line, scope };
  }
}
