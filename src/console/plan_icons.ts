/// <reference lib="dom" />
/**
 * Keeps Font Awesome, which pev2 contains, from adding a `style` element. The style sheet has its rules.
 *
 * @module
 */

Object.assign(globalThis, { FontAwesomeConfig: { autoAddCss: false } });
