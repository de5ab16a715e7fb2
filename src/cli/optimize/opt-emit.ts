import { STANDARD_OUTPUT } from '../input/files.ts';
import { failWith } from '../terminal/ui.ts';
import { percentOf } from './max-loss.ts';
import { ENDING, type OptOptions } from './opt-options.ts';

/*
 * Output format of `orrery opt`, and checks of its option combinations.
 */

/** The format that the extension of a file name selects. */
const formOf = (file: string | undefined): string | undefined =>
  Object.keys(ENDING).find((form) => file?.endsWith(ENDING[form]));

/** Ends the command if the output name has the extension of another format. */
function checkEnding(file: string | undefined): void {
  const ending = /[^/.]\.(\w+)$/.exec(file ?? '')?.[1];
  if (ending === undefined || formOf(file) !== undefined) return;
  failWith(
    `a name that ends in .${ending} does not say what to write to ${file}`,
    'let it end in .ptx, .ori, .json or .cubin, or say it: --emit ptx, ori, json or cubin',
    ...(['sass', 'o', 'fatbin'].includes(ending)
      ? ['machine code: -o FILE.cubin, or by ptxas: `orrery ptxas FILE.ptx -o FILE.cubin`']
      : []),
  );
}

/**
 * The format that `--emit` selects, or else the extension of `-o`.
 *
 * @param several files are optimized: `-o` names a folder
 */
export function emitOf(o: OptOptions, several = false): string {
  const account = o.ptxas === true || o.why !== undefined || o.json === true;
  if (!several && o.emit === undefined) checkEnding(o.output);
  const emit = o.emit ?? (several ? undefined : formOf(o.output)) ?? (account ? 'none' : 'ori');
  if (emit === 'cubin')
    failWith('several files are not compiled to cubins at once', '`orrery asm` compiles one file');
  if (!['ori', 'ptx', 'json', 'none'].includes(emit))
    failWith(`--emit ${emit} is not known`, 'it is one of ori, ptx, json, cubin, none');
  const documents = [o.ptxas === true, o.stat === true, o.why !== undefined].filter(Boolean).length;
  if (o.json === true && documents > 1)
    failWith('--json prints one document: that of --ptxas, of --stat or of --why');
  if (o.traceEvents === STANDARD_OUTPUT) failWith('--trace-events writes a file, not standard output (-)');
  const printed = emit !== 'none' && (o.output === undefined || o.output === STANDARD_OUTPUT);
  if (o.json === true && printed)
    failWith(
      `--json and --emit ${emit} would both print on standard output`,
      'write one of them to a file with -o',
    );
  if (o.counterexample !== undefined && o.check?.includes('prove') !== true)
    failWith('--counterexample needs --check prove');
  if (o.counterexample === STANDARD_OUTPUT)
    failWith('--counterexample writes files, not standard output (-)');
  if (o.checkLimit !== undefined && o.check === undefined)
    failWith('--check-limit needs --check auto, thorough or prove');
  const writesPtx = emit === 'ptx' || o.ptxas === true || o.check !== undefined;
  for (const [asked, option] of [
    [o.retarget, '--retarget'],
    [o.lowestVersion, '--lowest-version'],
  ] as const)
    if (asked === true && !writesPtx) failWith(`${option} needs --emit ptx, --ptxas or --check`);
  if (o.maxLoss !== undefined) {
    percentOf(o.maxLoss, '--max-loss');
    if (emit !== 'ptx' && (emit !== 'none' || o.ptxas !== true))
      failWith('--max-loss needs --emit ptx or --ptxas', 'it compares the code that ptxas generates');
  }
  if (emit === 'none' && o.emit === undefined && o.output !== undefined)
    failWith(
      `nothing is written to ${o.output}`,
      '--emit says what: ori, ptx, json or cubin; or let its name end in .ori, .ptx, .json or .cubin',
    );
  return emit;
}
