import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto';
import { linkSync, lstatSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { HashKey } from '../ir/keyed-hash.ts';
import { cacheFolder, isOwn } from './node-cache.ts';
import { discard } from './node-discard.ts';
import { tried } from './node-evict.ts';
import { asideOf, makeFolders, PRIVATE, writeNew } from './node-write.ts';

/*
 * Seals prove that this user wrote a content, wherever it is stored. A checksum only detects damage, and anyone can compute one; a seal is
 * an HMAC with a secret from the user's cache folder.
 */

const SECRET_BYTES = 32;
const SEAL_BYTES = 32;

/** Secrets by the path of their file: a server runs commands with the environments of its clients, which may differ in the cache folder. */
const secrets = new Map<string, Buffer>();
let ofProcess: Buffer | null = null;
/** The secret where none can be stored: this process then recognizes only what it sealed itself. */
function temporary(): Buffer {
  ofProcess ??= randomBytes(SECRET_BYTES);
  return ofProcess;
}

/** The secret in a file; undefined if there is none, or others can read or write it. */
function secretIn(folder: string, file: string): Buffer | undefined {
  if (!isOwn(folder)) return undefined;
  const seen = tried(() => lstatSync(file));
  if (seen?.isFile() !== true || seen.size !== SECRET_BYTES) return undefined;
  const isMine = process.getuid === undefined || (seen.uid === process.getuid() && (seen.mode & 0o077) === 0);
  return isMine ? tried(() => readFileSync(file)) : undefined;
}

/** Creates a secret. If several processes do so at the same time, the first one wins. */
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
  if (folder === null) return temporary();
  const file = join(folder, 'secret');
  let known = secrets.get(file);
  if (known === undefined) {
    known = secretIn(folder, file);
    if (known === undefined) {
      tried(() => makeSecret(folder, file));
      known = secretIn(folder, file) ?? temporary();
    }
    secrets.set(file, known);
  }
  return known;
}

const sealOf = (content: Uint8Array, about: string): Buffer =>
  createHmac('sha256', secret()).update(`${about}\0`).update(content).digest();

/**
 * A content with its seal in front.
 * @param about the key of the content, which the seal covers too
 */
export const sealed = (content: Uint8Array, about: string): Uint8Array =>
  Buffer.concat([sealOf(content, about), content]);

/** The content that was given to `sealed`; undefined if this user has not sealed it, or under another key. */
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
