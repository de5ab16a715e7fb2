import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto';
import { linkSync, lstatSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { HashKey } from '../ir/keyed-hash.ts';
import { cacheFolder, isOwn } from './node-cache.ts';
import { discard } from './node-discard.ts';
import { tried } from './node-evict.ts';
import { asideOf, makeFolders, PRIVATE, writeNew } from './node-write.ts';

/*
 * Seals: what this user has written is known by them again, wherever it lies. A checksum tells damage, and anybody can compute it; a seal
 * needs a secret, which is in the user's cache folder.
 */

const SECRET_BYTES = 32;
const SEAL_BYTES = 32;

/** Secrets by their files: a server runs commands with the environments of its clients. */
const secrets = new Map<string, Buffer>();
/** Where no secret can be kept, this process knows what it wrote itself, and nothing else. */
const passing = randomBytes(SECRET_BYTES);

/** The secret in a file; undefined where there is none, or others can read or write it. */
function secretIn(folder: string, file: string): Buffer | undefined {
  if (!isOwn(folder)) return undefined;
  const seen = tried(() => lstatSync(file));
  if (seen?.isFile() !== true || seen.size !== SECRET_BYTES) return undefined;
  const isMine = process.getuid === undefined || (seen.uid === process.getuid() && (seen.mode & 0o077) === 0);
  return isMine ? tried(() => readFileSync(file)) : undefined;
}

/** Makes a secret. Of several processes that do so at the same time, the first one's stays. */
function makeSecret(folder: string, file: string): void {
  makeFolders(folder, 0o700);
  if (!isOwn(folder)) return;
  const aside = asideOf(file);
  try {
    writeNew(aside, randomBytes(SECRET_BYTES), PRIVATE);
    linkSync(aside, file);
  } finally {
    discard(aside);
  }
}

function secret(): Buffer {
  const folder = cacheFolder();
  if (folder === null) return passing;
  const file = join(folder, 'secret');
  let known = secrets.get(file);
  if (known === undefined) {
    known = secretIn(folder, file);
    if (known === undefined) {
      tried(() => makeSecret(folder, file));
      known = secretIn(folder, file) ?? passing;
    }
    secrets.set(file, known);
  }
  return known;
}

const sealOf = (content: Uint8Array, about: string): Buffer =>
  createHmac('sha256', secret()).update(`${about}\0`).update(content).digest();

/**
 * A content behind its seal.
 * @param about what it is about, which the seal covers too
 */
export const sealed = (content: Uint8Array, about: string): Uint8Array =>
  Buffer.concat([sealOf(content, about), content]);

/** What `sealed` was given; undefined where this user has not sealed it, or it was about something else. */
export function unsealed(bytes: Uint8Array, about: string): Uint8Array | undefined {
  if (bytes.length < SEAL_BYTES) return undefined;
  const content = bytes.subarray(SEAL_BYTES);
  return timingSafeEqual(bytes.subarray(0, SEAL_BYTES), sealOf(content, about)) ? content : undefined;
}

/** The key with which this user hashes programs: of the secret, which it does not tell. */
export function hashKey(): HashKey {
  const bytes = createHmac('sha256', secret()).update('hashes of programs').digest();
  return [bytes.readInt32LE(0), bytes.readInt32LE(4)];
}
