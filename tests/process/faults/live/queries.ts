/** The queries of subscribers. `{sub}` is their subject. @module */

const common = "id,realm,viewer";

/** Path and query below the prefix, and below the API. */
export const queries: readonly string[] = [
  `/items?select=${common},hidden,status,amount`,
  `/items?select=${common},amount&owner=eq.{sub}`,
  `/items?select=${common},amount&status=eq.open`,
  `/items?select=${common}&amount=gt.50`,
  `/items?select=${common},amount&order=amount.desc,id&limit=5`,
  `/items?select=${common},team:teams(title,realm,viewer)`,
  `/items?select=${common},notes(id,text,realm,hidden,viewer)`,
  `/items?select=${common},notes!inner(${common})&notes.text=like.*7*`,
  "/items?select=status,realm,id.count()",
  "/items?select=realm,amount.sum()",
  `/notes?select=${common},hidden,text`,
  `/notes?select=${common},items(${common},hidden)`,
  `/accounts?select=${common},balance`,
  `/teams?select=${common},title,items(${common},status)`,
  `/open_items?select=${common},amount`,
  `/items?select=${common}&or=(status.eq.open,amount.lt.10)`,
  `/items?select=${common}&team=in.(1,2)`,
  `/items?select=${common},status&owner=eq.{sub}&status=neq.draft`,
  "/items?select=status,viewer,realm",
  `/items?select=${common},notes_count`,
];

/** Transfers between accounts leave their sum as it is. */
export const accountsQuery = queries[12]!;
