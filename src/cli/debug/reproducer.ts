import { existsSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { isAbsolute, join, relative, resolve } from 'node:path';
import { faultOf } from '../../debug/attempt.ts';
import { whereOf } from '../../engine/where.ts';
import { hashText } from '../../ir/hash.ts';
import { namedFiles, readRegular } from '../../spec/node-files.ts';
import { makeFolders, writeReplacing } from '../../spec/node-write.ts';
import { situation } from '../input/situation.ts';
import { ORRERY_VERSION } from '../version.ts';

/** Everything that is needed to run a command again that failed because of an internal error (schemas/output/reproducer.schema.json). */
export interface Reproducer {
  readonly kind: 'reproducer';
  /** Version of this format. */
  readonly version: 1;
  readonly orrery: string;
  readonly node: string;
  /** Words after `orrery`; paths are relative to the folder in which it ran. */
  readonly command: readonly string[];
  readonly failure: {
    /** Equal for failures that are considered the same. */
    readonly kind: string;
    readonly text: string;
    readonly phase: string | null;
    readonly function: string | null;
    readonly stack: readonly string[];
  };
  /** The plan that was run; null if none had been made. */
  readonly plan: {
    readonly hash: string;
    readonly level: number;
    readonly sm: string;
    readonly order: string;
    readonly recipe: string | null;
    readonly options: object;
    /** Knobs with a value from the user or the specs, not the catalog. */
    readonly knobs: Readonly<Record<string, unknown>>;
    /** Phases that may run, in order. */
    readonly phases: readonly string[];
  } | null;
  /** Value of `--seed`; seeds of checks that cannot be set are constants. null: the command takes none. */
  readonly seed: number | null;
  readonly stdin: string | null;
  /** Files that the command read, except those that ship with orrery. */
  readonly files: readonly {
    /** Relative to the folder in which the command ran. */
    readonly path: string;
    readonly encoding: 'utf8' | 'base64';
    readonly content: string;
  }[];
}

/** Maximum total bytes of files in a reproducer; of more, only those that fit are included. */
const MOST_BYTES = 1 << 26;

/** Makes the reproducer of an error. */
export function reproducerOf(e: unknown): Reproducer {
  const fault = faultOf(e);
  const where = whereOf(e);
  const { plan, options, stdin } = situation;
  const argv = process.argv.slice(2);
  const seed = argv.indexOf('--seed');
  return {
    kind: 'reproducer',
    version: 1,
    orrery: ORRERY_VERSION,
    node: process.version,
    command: argv.map(asRelative),
    failure: {
      kind: fault.kind,
      text: fault.text,
      phase: where?.phase ?? null,
      function: where?.fn ?? null,
      stack: e instanceof Error ? (e.stack ?? '').split('\n').map((l) => l.trim()) : [],
    },
    plan:
      plan === null
        ? null
        : {
            hash: plan.hash,
            level: plan.level,
            sm: plan.sm,
            order: plan.order,
            recipe: plan.recipe,
            options,
            knobs: Object.fromEntries(
              [...plan.knobs.values()]
                .filter((k) => k.origin.source !== 'catalog' && k.value !== null)
                .map((k) => [k.name, k.value]),
            ),
            phases: plan.phases.filter((p) => p.disabled === null && p.steps.length > 0).map((p) => p.id),
          },
    seed: seed >= 0 ? Number(argv[seed + 1]) : null,
    stdin,
    files: filesRead(),
  };
}

function filesRead(): Reproducer['files'] {
  const out: Reproducer['files'][number][] = [];
  let bytes = 0;
  // The last files are those on which the command failed.
  for (const path of [...namedFiles()].reverse()) {
    let content: Buffer;
    try {
      content = readRegular(path, 'input');
    } catch {
      continue;
    }
    bytes += content.length;
    if (bytes > MOST_BYTES) break;
    const text = content.toString('utf8');
    const isText = Buffer.from(text, 'utf8').equals(content);
    out.unshift({
      path: asRelative(path),
      encoding: isText ? 'utf8' : 'base64',
      content: isText ? text : content.toString('base64'),
    });
  }
  return out;
}

/** An existing path relative to the working folder; any other word unchanged. */
function asRelative(word: string): string {
  if (!isAbsolute(word) || !existsSync(word)) return word;
  return relative(process.cwd(), resolve(word)) || '.';
}

/**
 * Writes the reproducer of an error, completely or not at all: into the folder that ORRERY_REPRO names, else into the working folder, else
 * into the folder for temporary files. Errors of one kind in one command share a file.
 *
 * @returns its path; null if it cannot be written anywhere, or ORRERY_REPRO is empty
 */
export function writeReproducer(e: unknown): string | null {
  const configured = process.env.ORRERY_REPRO;
  if (configured === '') return null;
  const r = reproducerOf(e);
  const text = `${JSON.stringify(r, null, 2)}\n`;
  const name = `orrery-repro-${hashText(JSON.stringify([r.failure.kind, r.command, r.files])).slice(0, 8)}.json`;
  for (const folder of configured === undefined ? ['.', tmpdir()] : [configured]) {
    const path = join(folder, name);
    try {
      makeFolders(folder);
      writeReplacing(path, text);
      return path;
    } catch {
      // Try the next folder, if there is one.
    }
  }
  return null;
}
