/** The error of a message whose parameters are wrong: `-32602` of JSON-RPC. @module */

/** The client sees its message. */
export class InvalidParams extends Error {}
