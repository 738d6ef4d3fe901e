/** HTTP headers as a list of pairs, which keeps order and repeated names. @module */

/** Header names with their values, in the order in which they are sent. */
export type HeaderList = readonly (readonly [name: string, value: string])[];
