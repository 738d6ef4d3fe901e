import { strictEqual } from "node:assert/strict";
import { ServiceError } from "../../../../src/base/errors/service_error.ts";
import { parseQuery } from "../../../../src/api/request/url/query_params.ts";

const rows: readonly (readonly [query: string, words: string | undefined])[] = [
  ["price=5", "price lacks an operator"],
  ["price=", "price lacks an operator"],
  ["price=not.", "price lacks an operator"],
  ["categories.name=5", "categories.name lacks an operator"],
  ["price=gte5", "a . is missing behind gte"],
  ["price=ne.5", "ne is not an operator"],
  ["price=not.EQ.5", "EQ is not an operator"],
  ["price=not", "a . is missing at the end"],
  ["id=in.1,2", "a ( is missing before 1,2"],
  ["id=in.(1,2", "a ) is missing"],
  ["name=is.nothing", "is takes null, not_null, true, false or unknown"],
  ["or=(price.lt.5,stock.0)", "stock lacks an operator"],
  ["or=(price.not.5)", "price lacks an operator"],
  ["or=(price.ne.5)", "ne is not an operator"],
  ["or=(details->size.5)", "details->size lacks an operator"],
  ["or=(price.lt.5", "a ) is missing"],
  ["or=price.lt.5", "a ( is missing before price.lt.5"],
  ["or=()", "a name is missing before )"],
  ["select=name,categories(name", "a ) is missing"],
  ["select=name,,price", "a name is missing before ,price"],
  ["select=name,", "a name is missing at the end"],
  ["select=count(*)", undefined],
  ["order=price.dsc", "order takes asc, desc, nullsfirst and nullslast"],
  ["order=price.desc.first", "order takes asc, desc, nullsfirst and nullslast"],
  ["columns=a,,b", "a name is missing before ,b"],
];

for (const [query, words] of rows) {
  Deno.test(`problemInWords() says ${words} for ${query}`, () => {
    try {
      parseQuery(query, "relation");
    } catch (error) {
      if (!(error instanceof ServiceError)) throw error;
      return strictEqual(error.fields.inWords, words);
    }
    throw new Error("The query can be parsed");
  });
}
