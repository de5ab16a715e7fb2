import { enableMapSet, Immer } from 'immer';

enableMapSet();

/**
 * Makes the next state from a draft of the current one: unmodified parts stay shared, and without a modification the result is the
 * same object. Nothing is frozen, because such state refers to whole documents, which are large and shared.
 */
export const produce: Immer['produce'] = new Immer({ autoFreeze: false }).produce;
