/**
 * A failure that the operator can fix. The message has one line for each thing to fix, without
 * secrets.
 */
export class OperatorError extends Error {}
