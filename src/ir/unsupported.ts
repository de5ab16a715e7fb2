/**
 * Thrown for code that the work at hand does not cover: it has no form in the other language, or the model leaves it out. The message is
 * the reason, '' if there is none to tell. Who catches it keeps that code as it is, or leaves it out and reports it.
 */
export class Unsupported extends Error {}
