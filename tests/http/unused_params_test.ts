/** Parameters of writes that no statement applies are refused, and parameters of embeds are applied. */
import { serviceSuite } from "../support/handler/api.ts";
import { answers, type ErrorBody, type Row } from "../support/handler/rows.ts";

const config = { dbSchemas: ["api"], dbAnonRole: "anon" };
const svc = serviceSuite("unused_params", config, { title: "unused parameters" });
const pgrst = serviceSuite("unused_params", { ...config, dialect: "pgrst" }, {
  title: "unused parameters, pgrst",
});

/** The body of a write by its method. */
const bodies: Readonly<Record<string, unknown>> = {
  PATCH: { name: "x" },
  POST: { id: 9 },
  PUT: { id: 9 },
};

function bodyOf(line: string): { readonly body?: unknown } {
  const body = line.includes("/rpc/")
    ? { below: 9 }
    : line.includes("/words") && line.startsWith("PATCH")
    ? { and: "x" }
    : bodies[line.split(" ")[0]!];
  return body === undefined ? {} : { body };
}

const unused = (name: string, why: string): ErrorBody => ({
  code: "SVC196",
  message: `Parameter '${name}' cannot be applied`,
  details: `It ${why}`,
  hint: /no value$|a filter$/.test(why)
    ? `To filter a column of this name, write ${name.replace(/[^.]*$/, '"$&"')}=eq.<value>`
    : null,
});
const reading = (name: string): ErrorBody => ({
  code: "SVC160",
  message: `'${name}' can only be used to read`,
  details: null,
  hint: null,
});

function inPgrst({ code, ...error }: ErrorBody): ErrorBody {
  return { ...error, code: code.replace("SVC", "PGRST") };
}

/** Requests that both dialects refuse: rows would be changed that the URL seems to exclude. */
const restricting: readonly (readonly [line: string, error: ErrorBody])[] = [
  // An inner join in each form. Only the answer could show it.
  ...[
    "visit!inner(id)",
    "visit!inner(id)&visit.ok=is.true",
    "visit!inner(id)&visit.ok=is.true&id=gt.0",
    "v:visit!inner(id)&v.ok=is.true",
    "visit!visit_place_id_fkey!inner(id)",
    "visit!inner()",
    "visit(id),other:visit!inner(id)",
  ].flatMap((items): [string, ErrorBody][] =>
    ["DELETE", "PATCH"].map((method) => [
      `${method} /place?select=id,${items}`,
      reading("visit!inner"),
    ])
  ),
  ["DELETE /visit?select=id,...place!inner(name)", reading("place!inner")],
  ["PATCH /visit?select=id,...place!inner(name)&place.name=eq.p1&id=lt.9", reading("place!inner")],
  // Conditions on an embed that no answer shows.
  ["DELETE /place?select=id,visit(id)&visit.ok=is.true", reading("visit")],
  ["DELETE /place?select=id,visit(id)&visit.or=(ok.is.true,id.eq.1)", reading("visit")],
  ["PATCH /place?select=id,v:visit(id)&v.ok=is.true", reading("v")],
  // Names without a value.
  ["DELETE /place?id", unused("id", "has no value")],
  ["PATCH /place?name", unused("name", "has no value")],
  ["DELETE /place?name=eq.p1&id", unused("id", "has no value")],
  ["DELETE /place?limit", unused("limit", "has no value")],
  ["DELETE /place?or", unused("or", "has no value")],
  ["DELETE /words?columns", unused("columns", "has no value")],
  ["PATCH /words?select", unused("select", "has no value")],
  ["DELETE /place?id%3Eeq.5", { ...unused("id>eq.5", "has no value"), hint: null }],
  // Columns with names of parameters.
  ["DELETE /words?columns=eq.c1", unused("columns", "is a filter")],
  ["DELETE /words?columns=not.eq.c1", unused("columns", "is a filter")],
  ["DELETE /words?on_conflict=eq.oc1", unused("on_conflict", "is a filter")],
  ["PATCH /words?on_conflict=in.(oc1,oc2)", unused("on_conflict", "is a filter")],
  ["PATCH /words?columns=is.null", unused("columns", "is a filter")],
  ["DELETE /words?order=eq.asc", unused("order", "is a filter")],
  ["DELETE /words?limit=eq.l&order=id", unused("limit", "is a filter")],
  ["DELETE /words?offset=neq.of&order=id", unused("offset", "is a filter")],
];

/** Requests that `svc` refuses; PostgREST ignores the parameter. */
const ignored: readonly (readonly [line: string, error: ErrorBody, pgrstStatus: number])[] = [
  ["POST /place?id=eq.7", unused("id", "has no effect"), 201],
  ["POST /place?%22id%22=eq.7", unused('"id"', "has no effect"), 201],
  ["POST /place?and=(id.eq.7)", unused("and", "has no effect"), 201],
  ["POST /place?not.or=(id.eq.7)", unused("not.or", "has no effect"), 201],
  ["POST /place?limit=1", unused("limit", "has no effect"), 201],
  ["POST /place?offset=0", unused("offset", "has no effect"), 201],
  ["POST /place?id", unused("id", "has no value"), 201],
  ["POST /visit?select=id,place!inner(id)", reading("place!inner"), 201],
  ["POST /place?on_conflict=kind", {
    code: "SVC157",
    message: "Invalid conflict handling",
    details: "'on_conflict' needs a resolution",
    hint: null,
  }, 201],
  [
    "PATCH /place?id=eq.1&on_conflict=id",
    unused("on_conflict", "has no effect"),
    204,
  ],
  [
    "DELETE /place?id=eq.1&on_conflict=id",
    unused("on_conflict", "has no effect"),
    204,
  ],
  ["DELETE /place?id=eq.1&columns=id", unused("columns", "has no effect"), 204],
  ["PUT /place?id=eq.9&columns=id", unused("columns", "has no effect"), 204],
  ["PUT /place?id=eq.9&on_conflict=id", unused("on_conflict", "has no effect"), 204],
  ["PUT /place?id=eq.9&name", unused("name", "has no value"), 204],
  ["DELETE /place?id=lt.3&order=id&limit=1&limit=2", unused("limit", "occurs twice"), 204],
  ["DELETE /place?id=lt.3&order=id&order=id.desc&limit=1", unused("order", "occurs twice"), 204],
  ["PATCH /place?id=eq.1&columns=name&columns=id", unused("columns", "occurs twice"), 204],
  ["POST /place?columns=id&columns=name", unused("columns", "occurs twice"), 201],
  ["PATCH /place?id=eq.1&select=id&select=name", unused("select", "occurs twice"), 204],
  ["DELETE /place?id=eq.1&order=id&limit=abc", unused("limit", "is no integer"), 204],
  ["DELETE /place?id=eq.1&order=id&limit=1e2", unused("limit", "is no integer"), 204],
  ["DELETE /place?id=eq.1&order=id&offset=-1x", unused("offset", "is no integer"), 204],
  ["DELETE /place?id=eq.1&order=id&limit=", unused("limit", "is no integer"), 204],
  ["DELETE /words?id=eq.1&@q=eq.q", unused("@q", "has no effect"), 204],
  ["PATCH /place?id=eq.1&@x=1", unused("@x", "has no effect"), 204],
  ["POST /rpc/close_places?id", unused("id", "has no value"), 200],
  ["POST /rpc/close_places?limit=1&limit=2", unused("limit", "occurs twice"), 200],
  ["POST /rpc/close_places?limit=x", unused("limit", "is no integer"), 200],
  [
    "POST /rpc/close_places?on_conflict=id",
    unused("on_conflict", "has no effect"),
    200,
  ],
  ["GET /place?limit=abc&id=eq.1", unused("limit", "is no integer"), 200],
  ["GET /place?limit=1e2&id=eq.1", unused("limit", "is no integer"), 200],
  ["GET /place?offset=-1x&id=eq.1", unused("offset", "is no integer"), 200],
  ["GET /words?limit=eq.l", unused("limit", "is a filter"), 200],
  [
    "GET /place?select=id,visit(id)&visit.limit=all&id=eq.1",
    unused("visit.limit", "is no integer"),
    200,
  ],
];

svc.rows(
  "refused, since rows would be changed that the URL seems to exclude",
  restricting.map(([line, error]): Row => [line, bodyOf(line), 400, error]),
);
pgrst.rows(
  "refused, since rows would be changed that the URL seems to exclude",
  restricting.map(([line, error]): Row => [line, bodyOf(line), 400, inPgrst(error)]),
);
svc.rows(
  "refused, since the parameter would be ignored",
  ignored.map(([line, error]): Row => [line, bodyOf(line), 400, error]),
);
for (const [line, , status] of ignored) {
  pgrst.test(`ignored: ${line}`, async (api) => {
    const answer = await api(line, bodyOf(line));
    await answer.body?.cancel();
    if (answer.status !== status) throw new Error(`${answer.status} instead of ${status}`);
  });
}

svc.rows(
  "the answer decides nothing about what is written",
  restricting.slice(0, 3).map(([line, error]): Row => [
    line,
    { ...bodyOf(line), headers: { Prefer: "return=representation" } },
    400,
    error,
  ]),
);

const representation = { headers: { Prefer: "return=representation" } };
for (const suite of [svc, pgrst]) {
  suite.rows("quotes address columns with names of parameters", [
    ...answers(representation)`
      DELETE /words?%22columns%22=eq.c1&select=id | 200 [{"id":1}]
      DELETE /words?%22on_conflict%22=eq.oc2&select=id | 200 [{"id":2}]
      DELETE /words?%22select%22=neq.s&select=id | 200 []
      DELETE /words?%22limit%22=neq.l&select=id | 200 []
      DELETE /words?%22order%22=neq.o&select=id | 200 []
      DELETE /words?%22%40q%22=neq.q&select=id | 200 []
      PATCH /words?and=(columns.eq.c3)&select=id with {"limit":"x"} | 200 [{"id":3}]
    `,
  ]);
  suite.rows("parameters of embeds shape the answer", [
    ...answers(representation)`
      POST /place?select=id,visit(id)&visit.limit=1&visit.order=id.desc with {"id":7}
        201 [{"id":7,"visit":[]}]
      POST /visit?select=id,place(id,visit(id))&place.visit.order=id.desc&place.visit.limit=1
        with {"id":8,"place_id":1}
        201 [{"id":8,"place":{"id":1,"visit":[{"id":2}]}}]
      PATCH /place?id=eq.1&order=id&select=id,visit(id)&visit.order=id&visit.offset=1 with {"name":"x"}
        200 [{"id":1,"visit":[{"id":2}]}]
      PATCH /place?id=eq.1&order=id&select=id,v:visit(id)&v.order=id.desc&v.limit=1 with {"name":"x"}
        200 [{"id":1,"v":[{"id":2}]}]
      PATCH /place?id=eq.1&select=id,visit(id)&visit.ok=is.true with {"name":"x"}
        200 [{"id":1,"visit":[{"id":1}]}]
      DELETE /place?id=lt.3&order=id&select=id,visit(id)&visit.or=(id.eq.1,id.eq.9)
        200 [{"id":1,"visit":[{"id":1}]},{"id":2,"visit":[]}]
      PATCH /place?id=eq.1&select=id,visit(id,place!inner(id)) with {"name":"x"}
        200 [{"id":1,"visit":[{"id":1,"place":{"id":1}},{"id":2,"place":{"id":1}}]}]
    `,
    ...answers()`
      DELETE /place?id=eq.1&order=id | 204
      DELETE /place?id=eq.1&select=name | 204
      DELETE /place?id=eq.1& | 204
      PUT /place?id=eq.1&select=id&order=id with {"id":1} | 204
      POST /place?on_conflict=kind&columns=id,kind {Prefer: resolution=merge-duplicates} with {"id":9,"kind":"k9"} | 201
    `,
  ]);
}

pgrst.answers("refused by the parser, or by the plan")`
  DELETE /place?id=in.(1,2)x
    400 PGRST100 | "failed to parse filter (in.(1,2)x)" (line 1, column 9) | unexpected 'x' expecting end of input
  DELETE /place?id=not.in.(1),2)
    400 PGRST100 | "failed to parse filter (not.in.(1),2))" (line 1, column 11) | unexpected ',' expecting end of input
  DELETE /place?name=is.null.or
    400 PGRST100 | "failed to parse filter (is.null.or)" (line 1, column 8) | unexpected '.' expecting end of input
  DELETE /place?id::int=eq.1
    400 PGRST100 | "failed to parse tree path (id::int)" (line 1, column 3) | unexpected ':' expecting end of input
  DELETE /place?id,name=eq.1
    400 PGRST100 | "failed to parse tree path (id,name)" (line 1, column 3) | unexpected ',' expecting end of input
  DELETE /place?or=(id.eq.1)x
    400 PGRST100 | "failed to parse logic tree ((id.eq.1)x)" (line 1, column 12) | unexpected 'x' expecting end of input
  DELETE /place?and=(id.lt.9),(id.lt.2)
    400 PGRST100 | "failed to parse logic tree ((id.lt.9),(id.lt.2))" (line 1, column 13) | unexpected ',' expecting end of input
  DELETE /place?and=()
    400 PGRST100 | "failed to parse logic tree (())" (line 1, column 5) | unexpected ")" expecting field name (* or [a..z0..9_$]), negation operator (not) or logic operator (and, or)
  DELETE /place?or=
    400 PGRST100 | "failed to parse logic tree ()" (line 1, column 3) | unexpected end of input expecting "("
  DELETE /words?and=eq.a
    400 PGRST100 | "failed to parse logic tree (eq.a)" (line 1, column 4) | unexpected "e" expecting "("
  DELETE /place?id=
    400 PGRST100 | "failed to parse filter ()" (line 1, column 1) | unexpected end of input expecting "not" or operator (eq, gt, ...)
  DELETE /place?on=id
    400 PGRST100 | "failed to parse filter (id)" (line 1, column 1) | unexpected "i" expecting "not" or operator (eq, gt, ...)
  DELETE /words?select=eq.s
    400 PGRST100 | "failed to parse select parameter (eq.s)" (line 1, column 4) | unexpected end of input expecting "sum", "avg", "count", "max" or "min"
  DELETE /words?select=is.null
    400 PGRST100 | "failed to parse select parameter (is.null)" (line 1, column 4) | unexpected "n" expecting "sum", "avg", "count", "max" or "min"
  PATCH /place?columns=name.x,id with {"name":"x"}
    400 PGRST100 | "failed to parse columns parameter (name.x,id)" (line 1, column 5) | unexpected '.' expecting end of input
  PATCH /place?on=id)x with {"name":"x"}
    400 PGRST100 | "failed to parse on parameter (id)x)" (line 1, column 3) | unexpected ')' expecting end of input
  POST /place?on_conflict=id)x with {"name":"x"}
    400 PGRST100 | "failed to parse on_conflict parameter (id)x)" (line 1, column 3) | unexpected ')' expecting end of input
  PATCH /place?visit.on_conflict=id with {"name":"x"}
    400 PGRST100 | "failed to parse filter (id)" (line 1, column 1) | unexpected "i" expecting "not" or operator (eq, gt, ...)
  POST /place?select=%20 with {"id":9}
    400 PGRST100 | "failed to parse select parameter ( )" (line 1, column 2) | unexpected end of input expecting "...", field name (* or [a..z0..9_$]), "*" or "count()"
  GET /place?select=%20
    400 PGRST100 | "failed to parse select parameter ( )" (line 1, column 2) | unexpected end of input expecting "...", field name (* or [a..z0..9_$]), "*" or "count()"
  DELETE /place?visit=not.is.null&select=id,visit(id) | 400 42703 | column place.visit does not exist
  DELETE /place?or=(visit.is.null,id.eq.1)&select=id,visit(id)
    400 42703 | column place.visit does not exist
  DELETE /place?visit.any=(ok.is.true)&select=id,visit(id)
    400 PGRST160 | 'any' can only be used to read
  DELETE /place?having=(id.gt.1) | 400 PGRST160 | 'having' can only be used to read
  DELETE /place?after= | 400 PGRST160 | 'after' can only be used to read
  PATCH /place?distinct=id with {"name":"x"} | 400 PGRST160 | 'distinct' can only be used to read
  POST /place?columns=id,visit(id)&visit.on_conflict=id with {"id":9}
    400 PGRST157 | Invalid conflict handling | 'visit.on_conflict' needs 'visit.resolution'
`;
