import { enableMapSet, Immer } from 'immer';

enableMapSet();

/**
 * Makes the next state from a draft of the current one. Unmodified parts stay shared; without a modification the result is the same
 * object. Nothing is frozen: the state refers to whole documents, and walking those would be slow.
 */
export const produce: Immer['produce'] = new Immer({ autoFreeze: false }).produce;
