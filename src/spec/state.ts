import { enableMapSet, Immer } from 'immer';

enableMapSet();

/**
 * The next state of a plan, an order or a set of specs, by writing to a draft of the one before: what is not written stays shared, and
 * where nothing is written it is the same object. Documents hang on such state, are large and shared by everybody, and so are
 * not frozen.
 */
export const produce: Immer['produce'] = new Immer({ autoFreeze: false }).produce;
