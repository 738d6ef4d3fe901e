/** `Location` and PUT of keys whose names are reserved in the query string, or no plain names. */
import { deepStrictEqual, strictEqual } from "node:assert/strict";
import { serviceSuite } from "../support/handler/api.ts";

/** Names of keys, each with its parameter in `Location`. */
const keys: readonly (readonly [name: string, parameter: string])[] = [
  ["select", "%22select%22"],
  ["columns", "%22columns%22"],
  ["order", "%22order%22"],
  ["limit", "%22limit%22"],
  ["offset", "%22offset%22"],
  ["and", "%22and%22"],
  ["or", "%22or%22"],
  ["not", "%22not%22"],
  ["on", "%22on%22"],
  ["having", "%22having%22"],
  ["distinct", "%22distinct%22"],
  ["after", "%22after%22"],
  ["on_conflict", "%22on_conflict%22"],
  ["a.b", "%22a.b%22"],
  ["a.limit", "%22a.limit%22"],
  ['q"r', "%22q%5C%22r%22"],
  ["back\\slash", "%22back%5C%5Cslash%22"],
  ["a->b", "%22a-%3Eb%22"],
  ["a::b", "%22a%3A%3Ab%22"],
  ["a,b", "%22a%2Cb%22"],
  ["a b", "a%20b"],
  [" a", "%22%20a%22"],
  ["a%b", "%22a%25b%22"],
  ["a&b=c", "%22a%26b%3Dc%22"],
  ["a(b)", "%22a%28b%29%22"],
  ["größe", "gr%C3%B6%C3%9Fe"],
  ["日本", "%E6%97%A5%E6%9C%AC"],
  ["1", "1"],
  ["a-b", "a-b"],
  ["@a", "%22%40a%22"],
];

/** Values of keys, which need no quotes: a filter takes the rest of the text. */
const values = ["x", 'a"b', "a,b(c)", "(col).note", "%20+&=#", "", "null"];

for (const dialect of ["svc", "pgrst"] as const) {
  const suite = serviceSuite("key_names", {
    dbSchemas: ["api"],
    dbAnonRole: "anon",
    dbTxEnd: "commit",
    dialect,
  }, { title: `names of keys, dialect ${dialect}` });

  suite.test("Location and PUT find the row of a key by each name", async (api) => {
    for (const [index, [name, parameter]] of keys.entries()) {
      const path = `/k${index}`;
      for (const value of values) {
        const posted = await api(`POST ${path}`, {
          headers: { Prefer: "return=headers-only" },
          body: { [name]: value, note: "first" },
        });
        strictEqual(posted.status, 201, await posted.text());
        const location = posted.headers.get("Location")!;
        const encoded = encodeURIComponent(value).replace(
          /[()*!']/g,
          (sign) => `%${sign.charCodeAt(0).toString(16).toUpperCase()}`,
        );
        strictEqual(location, `${path}?${parameter}=eq.${encoded}`);
        const put = await api(`PUT ${location}`, { body: { [name]: value, note: "second" } });
        strictEqual(put.ok, true, await put.text());
        const read = await api(`GET ${location}`);
        deepStrictEqual(await read.json(), [{ [name]: value, note: "second" }]);
        strictEqual((await api(`DELETE ${location}`)).status, 204);
      }
      const rest = await api(`GET ${path}`);
      deepStrictEqual(await rest.json(), [{ [name]: "other", note: null }]);
    }
  });

  suite.answers("a key of several columns")`
    PUT /pairs?%22limit%22=eq.1&%22a.b%22=eq.x with {"limit":1,"a.b":"x","note":"n"}
      204
    PUT /pairs?%22a.b%22=eq.x&%22limit%22=eq.1 {Prefer: return=representation}
      with {"limit":1,"a.b":"x","note":"m"}
      200 [{"limit":1,"a.b":"x","note":"m"}]
    GET /pairs?limit=1&select=note&%22limit%22=eq.1 | 200 [{"note":"m"}]
    GET /pairs?limit=1&select=note&%22limit%22=eq.2 | 200 []
  `;
}
