import { deepStrictEqual, throws } from "node:assert/strict";
import type { ServiceError } from "../../../src/errors/service_error.ts";
import { findRelationship, isToOne } from "../../../src/plan/find_relationship.ts";
import { api, cache } from "../../support/reading.ts";

function find(origin: string, embed: string) {
  const [target, hint = null] = embed.split("!") as [string, string?];
  return findRelationship(
    {
      origin: api(origin),
      originIsRelation: true,
      target,
      hint,
      schema: "api",
    },
    cache,
  );
}

function describe(origin: string, embed: string): string {
  const found = find(origin, embed);
  const through = found.kind === "computed"
    ? found.function.name
    : found.kind === "many-to-many"
    ? found.junction.name
    : found.constraint;
  return `${found.kind} ${found.foreign.name} by ${through}${isToOne(found) ? ", one" : ""}`;
}

const rows: readonly [origin: string, embed: string, found: string][] = [
  ["tools", "makers", "many-to-one makers by tools_maker_id_fkey, one"],
  ["tools", "tools_maker_id_fkey", "many-to-one makers by tools_maker_id_fkey, one"],
  ["tools", "maker_id", "many-to-one makers by tools_maker_id_fkey, one"],
  ["tools", "makers!tools_maker_id_fkey", "many-to-one makers by tools_maker_id_fkey, one"],
  ["tools", "makers!maker_id", "many-to-one makers by tools_maker_id_fkey, one"],
  ["tools", "makers!id", "many-to-one makers by tools_maker_id_fkey, one"],
  ["tools", "manuals", "one-to-one manuals by manuals_tool_id_fkey, one"],
  ["manuals", "tools", "one-to-one tools by manuals_tool_id_fkey, one"],
  ["makers", "tools", "one-to-many tools by tools_maker_id_fkey"],
  ["makers", "tools!maker_id", "one-to-many tools by tools_maker_id_fkey"],
  ["makers", "paints!id", "one-to-many paints by paints_maker"],
  ["tools", "sheds", "many-to-many sheds by tool_sheds"],
  ["tools", "sheds!tool_sheds", "many-to-many sheds by tool_sheds"],
  ["makers", "latest", "computed tools by latest, one"],
  ["makers", "latest!whatever", "computed tools by latest, one"],
  ["shop", "shop_maker", "many-to-one makers by shop_maker, one"],
  ["makers", "shop", "one-to-many shop by shop_maker"],
  ["makers", "shop!shop_maker", "one-to-many shop by shop_maker"],
  ["people", "people", "one-to-many people by people_boss"],
  ["people", "boss_id", "many-to-one people by people_boss, one"],
  ["people", "people!boss_id", "one-to-many people by people_boss"],
  ["visits", "people!visits_guide", "many-to-one people by visits_guide, one"],
  ["visits", "guest_id", "many-to-one people by visits_guest, one"],
];

for (const [origin, embed, found] of rows) {
  Deno.test(`findRelationship() resolves ${embed} of ${origin}`, () => {
    deepStrictEqual(describe(origin, embed), found);
  });
}

const missing: readonly [origin: string, embed: string, using: string, hint: string | null][] = [
  ["tools", "maker", "", "Perhaps you meant 'makers' instead of 'maker'."],
  ["tools", "xyz", "", null],
  ["tools", "makers!nope", " using the hint 'nope'", null],
  [
    "tools",
    "maker!nope",
    " using the hint 'nope'",
    "Perhaps you meant 'makers' instead of 'maker'.",
  ],
  ["tools", "sheds!shed_id", " using the hint 'shed_id'", null],
  [
    "tools",
    "tool_sheds_shed_id_fkey",
    "",
    "Perhaps you meant 'tool_sheds' instead of 'tool_sheds_shed_id_fkey'.",
  ],
  ["makers", "shop_maker", "", "Perhaps you meant 'shop' instead of 'shop_maker'."],
  ["people", "people_boss", "", "Perhaps you meant 'people' instead of 'people_boss'."],
  ["people", "people!people_boss", " using the hint 'people_boss'", null],
  ["tool", "makers", "", "Perhaps you meant 'tools' instead of 'tool'."],
];

for (const [origin, embed, using, hint] of missing) {
  Deno.test(`findRelationship() finds no ${embed} of ${origin}`, () => {
    const target = embed.split("!")[0];
    throws(() => find(origin, embed), (error: ServiceError) => {
      deepStrictEqual(error.fields, {
        code: "200",
        own: true,
        status: 400,
        message:
          `Could not find a relationship between '${origin}' and '${target}' in the schema cache`,
        details:
          `Searched for a foreign key relationship between '${origin}' and '${target}'${using}` +
          " in the schema 'api', but no matches were found.",
        hint,
      });
      return true;
    });
  });
}

Deno.test("findRelationship() throws for a function without a relation, whatever its name", () => {
  const embed = {
    origin: api("tools"),
    target: "makers",
    hint: null,
    schema: "api",
  };
  throws(() => findRelationship({ ...embed, originIsRelation: false }, cache), /relationship/);
});

Deno.test("findRelationship() rejects an ambiguous target with its candidates", () => {
  throws(() => find("visits", "people"), (error: ServiceError) => {
    deepStrictEqual(error.fields, {
      code: "201",
      own: true,
      status: 300,
      message:
        "Could not embed because more than one relationship was found for 'visits' and 'people'",
      details: [
        {
          cardinality: "many-to-one",
          embedding: "visits with people",
          relationship: "visits_guide using visits(guide_id) and people(id)",
        },
        {
          cardinality: "many-to-one",
          embedding: "visits with people",
          relationship: "visits_guest using visits(guest_id) and people(id)",
        },
      ],
      hint: "Try changing 'people' to one of the following: 'people!visits_guide', " +
        "'people!visits_guest'. Find the desired relationship in the 'details' key.",
    });
    return true;
  });
});
