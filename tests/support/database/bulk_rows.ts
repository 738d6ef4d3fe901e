/** Large arrays of rows to insert. @module */

/** Makes the table that the rows go into. */
export const bulkTable =
  "create table api.bulk (id int primary key, name text, price numeric, tags text[], note text)";

/** An array of rows like people send them, of at least so many bytes and about a row more. */
export function bulkRows(bytes: number): Uint8Array<ArrayBuffer> {
  const rows: string[] = [];
  for (let id = 1, length = 0; length < bytes; id++) {
    const row = JSON.stringify({
      id,
      name: `the name of row ${id}`,
      price: id / 8,
      tags: ["a", "b"],
      note: 'a longer text, with "quotes", é, and a few more words to make a line of it',
    });
    rows.push(row);
    length += row.length + 1;
  }
  return new TextEncoder().encode(`[${rows.join(",")}]`);
}
