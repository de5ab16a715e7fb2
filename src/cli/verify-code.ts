import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Elf } from '../cubin/elf.ts';
import { readCubin } from '../cubin/read.ts';
import { targetOf } from '../read.ts';
import { reason } from '../spec/node-files.ts';
import { ptxasNeeded } from './compare-ptxas.ts';
import { ptxasCommand, refusal } from './ptxas-run.ts';
import { failWith } from './ui.ts';
import type { VerifyOptions } from './verify-finding.ts';

/** Machine code that is compared, and what it is called. */
export interface Code {
  readonly name: string;
  readonly elf: Elf;
}

/** Levels of ptxas. */
const LEVELS: readonly string[] = ['0', '1', '2', '3'];

/** Levels at which ptxas is to be called; options that contradict each other end the command. */
export function levelsOf(cubin: string | undefined, o: VerifyOptions): readonly string[] {
  const own = [
    o.ptxas === true && '--ptxas',
    o.levels === true && '--levels',
    o.with !== undefined && '--with',
    o.level !== undefined && '-O',
  ];
  const named = own.filter((x): x is string => typeof x === 'string');
  if (cubin !== undefined && named.length > 0)
    failWith(
      `${named[0]} is for code that ptxas makes now, and ${cubin} is there already`,
      'take one of the two',
    );
  if (cubin === undefined && named.length === 0)
    failWith(
      'the machine code is missing',
      'name a cubin, or --ptxas to have ptxas make one: orrery verify kernel.ptx --ptxas',
    );
  if (o.level !== undefined && !LEVELS.includes(o.level))
    failWith(`-O ${o.level} is no level of ptxas`, 'levels are 0 to 3');
  return o.levels === true ? LEVELS : [o.level ?? '3'];
}

/** What ptxas makes of the PTX now, at each level. */
export function madeBy(file: string, text: string, levels: readonly string[], o: VerifyOptions): Code[] {
  if (o.with === undefined) ptxasNeeded();
  const command = o.with ?? ptxasCommand();
  const arch = o.sm ?? targetOf(text);
  if (arch === null) return failWith(`${file} names no target`, '--sm says for which to assemble it');
  const dir = mkdtempSync(join(tmpdir(), 'orrery-verify-'));
  try {
    const input = join(dir, 'in.ptx');
    writeFileSync(input, text);
    return levels.map((level) => {
      const output = join(dir, `O${level}.cubin`);
      const r = spawnSync(command, [`-arch=${arch}`, `-O${level}`, '-lineinfo', input, '-o', output], {
        encoding: 'utf8',
      });
      if (r.error !== undefined) return failWith(`'${command}' cannot be run: ${reason(r.error)}`);
      if (r.status !== 0) return failWith(`ptxas refuses ${file}: ${refusal(`${r.stdout}${r.stderr}`)}`);
      return { name: `ptxas -O${level}`, elf: readCubin(new Uint8Array(readFileSync(output))) };
    });
  } finally {
    rmSync(dir, { recursive: true, force: true });
  }
}
