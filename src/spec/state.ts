import { enableMapSet, Immer } from 'immer';

enableMapSet();

/**
 * Immer's `produce` without freezing: returns the state that results from editing a draft. Unmodified parts stay shared, and without a
 * modification the result is the same object. Freezing would walk whole documents, which is slow.
 */
export const produce: Immer['produce'] = new Immer({ autoFreeze: false }).produce;
