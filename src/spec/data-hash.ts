import { hashText } from '../ir/hash.ts';
import type { SpecFile } from './document.ts';

/** Hash of the data of a spec. Of equal data in another order of keys it is another one. */
export const dataHash = (data: unknown): string => hashText(JSON.stringify(data));

/** The same of a spec's file; the build made it where nothing has changed since. */
export const hashOfSpec = ({ data, built }: Pick<SpecFile, 'data' | 'built'>): string =>
  built?.hash !== undefined && built.data === data ? built.hash : dataHash(data);
