/*
 * Ori text: line oriented, one instruction per line; `parseProgram(printProgram(p))` equals `p`.
 *
 *     .program "saxpy.ptx" version 9.0 target sm_80 address 64
 *     .entry saxpy
 *       .param u32 n size 4 align 4 at 0
 *     {
 *     BB0:
 *           LDC R1, c[0x0][0x160]            ; 1
 *           ISETP.GE P2, R1, 0x40            ; 2
 *       @P2 BRA BB3                          ; 3
 *     ...
 *     }
 *
 * `; n` names entry n of the location table. Optional trailing operands with their default values are omitted.
 */

export { parseFn, parseProgram } from './parse.ts';
export {
  defaultOperand,
  type PrintOptions,
  printFn,
  printGuarded,
  printInstr,
  printMnemonic,
  printOperand,
  printProgram,
} from './print.ts';
