/** The client disconnected before its request was complete, so there is no answer. */
export class RequestAbortedError extends Error {}
