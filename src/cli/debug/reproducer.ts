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

/** All that it takes to run a command again that failed by a mistake of ours (schemas/output/reproducer.schema.json). */
export interface Reproducer {
  readonly kind: 'reproducer';
  /** Of this form. */
  readonly version: 1;
  readonly orrery: string;
  readonly node: string;
  /** Words behind `orrery`; paths are relative to the folder it ran in. */
  readonly command: readonly string[];
  readonly failure: {
    /** Equal for failures that are taken for the same. */
    readonly kind: string;
    readonly text: string;
    readonly phase: string | null;
    readonly function: string | null;
    readonly stack: readonly string[];
  };
  /** The plan that was run; null where none had been made. */
  readonly plan: {
    readonly hash: string;
    readonly level: number;
    readonly sm: string;
    readonly order: string;
    readonly recipe: string | null;
    readonly options: object;
    /** Knobs that something set. */
    readonly knobs: Readonly<Record<string, unknown>>;
    /** Phases that may run, in order. */
    readonly phases: readonly string[];
  } | null;
  /** Of `--seed`; seeds of checks that nobody can set are fixed. null: the command takes none. */
  readonly seed: number | null;
  readonly stdin: string | null;
  /** Files that the command read, those that ship with orrery aside. */
  readonly files: readonly {
    /** Relative to the folder that the command ran in. */
    readonly path: string;
    readonly encoding: 'utf8' | 'base64';
    readonly content: string;
  }[];
}

/** Bytes of files that a reproducer may hold; a command that reads more names only what fits. */
const MOST_BYTES = 1 << 26;

/** The reproducer of an error. */
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
  // The last ones are those that it failed on.
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

/** A path that is there, relative to where the command runs; any other word as it is. */
function asRelative(word: string): string {
  if (!isAbsolute(word) || !existsSync(word)) return word;
  return relative(process.cwd(), resolve(word)) || '.';
}

/**
 * Writes the reproducer of an error, whole or not at all: into the folder that ORRERY_REPRO names, else where the command runs, else
 * where temporary files are. Errors of one kind in one command share a file.
 * @returns its path; null where it cannot be written anywhere, or ORRERY_REPRO is empty
 */
export function writeReproducer(e: unknown): string | null {
  const asked = process.env.ORRERY_REPRO;
  if (asked === '') return null;
  const r = reproducerOf(e);
  const text = `${JSON.stringify(r, null, 2)}\n`;
  const name = `orrery-repro-${hashText(JSON.stringify([r.failure.kind, r.command, r.files])).slice(0, 8)}.json`;
  for (const folder of asked === undefined ? ['.', tmpdir()] : [asked]) {
    const path = join(folder, name);
    try {
      makeFolders(folder);
      writeReplacing(path, text);
      return path;
    } catch {
      // The next one, or none.
    }
  }
  return null;
}
