import { sha256 } from './sha256.ts';

/** 128 bits of SHA-256: who chooses both texts needs 2^64 attempts to make two of one hash. */
const DIGITS = 32;

/**
 * The name of a text wherever it is kept or compared with what others wrote: of plans, recipes, documents and inputs. SHA-256, cut to 32
 * hexadecimal digits.
 *
 * @param seed what else the hash is of: no text with one seed has the hash of any text with another
 */
export const hashText = (text: string, seed = ''): string =>
  // As JSON, the two cannot be cut elsewhere, and half a surrogate pair stays what it is: UTF-8 has none.
  sha256(JSON.stringify([seed, text])).slice(0, DIGITS);

/** Hash of the JSON of plain data. It depends on the order of keys. */
export const dataHash = (data: unknown): string => hashText(JSON.stringify(data));
