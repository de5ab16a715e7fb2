import { type MachineData, MachineSpecs } from '../../codegen/machine-specs.ts';
import { grouped } from '../../ir/counts.ts';
import { fileWord } from '../../ir/quote.ts';
import { targetOf } from '../../read.ts';
import { machineOf } from '../../web/engine/machine.ts';
import { Session } from '../../web/engine/session.ts';
import type { EngineData } from '../../web/protocol.ts';
import type { Recording } from '../../web/recording.ts';
import { sourcesOf } from '../explore/gallery.ts';
import { recordingPage, webFile } from '../explore/page.ts';
import { STANDARD_INPUT, STANDARD_OUTPUT, writeWhole } from '../input/files.ts';
import { planFor, programFor, readText } from '../input/input.ts';
import type { PlanOptions } from '../input/options.ts';
import { webRequest } from '../input/web-source.ts';
import { err, failWith, outExactly } from '../terminal/ui.ts';

/** `orrery trace FILE`: writes a self-contained page that shows what each phase did. */
export async function trace(
  file: string,
  o: PlanOptions & { readonly output?: string; readonly site?: string; readonly json?: boolean },
): Promise<void> {
  const site = o.site === undefined ? undefined : siteOf(o.site);
  if (o.output === undefined && o.json !== true)
    failWith('trace writes a file', `\`orrery trace ${fileWord(file)} -o trace.html\``);
  const text = readText(file);
  const plan = await planFor(o, targetOf(text));
  // Faults of the input are reported as by every command; the session then finds none.
  programFor(file, text, plan);
  const session = new Session(JSON.parse(webFile('specs.json')) as EngineData);
  const name = file === STANDARD_INPUT ? (/^\.program /m.test(text) ? 'stdin.ori' : 'stdin.ptx') : file;
  session.machine = new MachineSpecs(JSON.parse(webFile('machine.json')) as MachineData);
  const source = { file: name, text, ...(await webRequest(o, plan)) };
  const recording: Recording = {
    ...session.recording(source),
    machine: machineOf(session, source),
    sources: file === STANDARD_INPUT ? {} : sourcesOf(file, text),
    ...(site !== undefined && { site }),
  };
  const written = o.json === true ? `${JSON.stringify(recording)}\n` : recordingPage(recording);
  if (o.output === undefined || o.output === STANDARD_OUTPUT) return outExactly(written);
  writeWhole(o.output, written);
  const changed = recording.run.phases.filter((p) => p.program !== null).length;
  err(
    `${o.output}: ${changed} of ${recording.run.phases.length} phases changed something, ${grouped(Math.ceil(written.length / 1024))} KB`,
  );
}

/** The address of a site of the explorer, without what follows a `#`. */
function siteOf(text: string): string {
  const url = URL.canParse(text) ? new URL(text) : null;
  if (url === null || !/^https?:$/.test(url.protocol))
    failWith(`--site ${text} is not the address of a site`, 'for example --site https://example.org/orrery/');
  return url.href.replace(/#.*/s, '');
}
