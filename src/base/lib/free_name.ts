/** Makes names unique by numbers. @module */

/** Returns a name that is not taken: `name`, `name_2`, … */
export function freeName(name: string, taken: readonly string[]): string {
  let free = name;
  for (let number = 2; taken.includes(free); number++) free = `${name}_${number}`;
  return free;
}
