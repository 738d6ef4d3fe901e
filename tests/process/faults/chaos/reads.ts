/** Requests of the chaos run that read. @module */
import {
  type BodyCheck,
  type ChaosRequest,
  encode,
  equals,
  equalsVersion,
  forbidden,
  type RequestContext,
  seenBy,
  stampOf,
} from "./request.ts";
import { docsPerSubject, slotsPerSubject } from "./schema.ts";
import { versionsIn } from "./versions.ts";
import { isDeepStrictEqual } from "node:util";

type MakeRequest = (context: RequestContext) => ChaosRequest;

/** A document that a user may read. */
interface Doc {
  readonly id: number;
  readonly owner: string;
  readonly slot: number;
}

/** Lists the documents of a user; each version of the policy hides one. */
function docsOf({ user: { number, sub } }: RequestContext, policyVersion: number): readonly Doc[] {
  if (number === null || sub === null) return [];
  return Array.from({ length: docsPerSubject }, (_, slot) => slot)
    .filter((slot) => slot !== policyVersion % (docsPerSubject + 1) - 1)
    .map((slot) => ({ id: number * docsPerSubject + slot, owner: sub, slot }));
}

function equalsDocs(
  context: RequestContext,
  rowOf: (doc: Doc) => Readonly<Record<string, unknown>>,
): BodyCheck {
  return equalsVersion("policy", (version) => docsOf(context, version).map(rowOf));
}

function readerOf(context: RequestContext): string | null {
  const { role, sub } = context.user;
  return sub === null ? null : `${role}:${sub}:${stampOf(context)}`;
}

/** By a line, and what each document becomes. */
function docsRequest(
  name: string,
  select: string,
  rowOf: (doc: Doc, context: RequestContext) => Readonly<Record<string, unknown>>,
): MakeRequest {
  return (context) => ({
    name,
    ...encode(context, `GET /docs?select=${select}&order=id`),
    expected: { status: 200, body: equalsDocs(context, (doc) => rowOf(doc, context)) },
  });
}

function seen(method: "GET" | "POST", zone?: "Asia/Tokyo"): MakeRequest {
  const prefer: Record<string, string> = zone === undefined ? {} : { Prefer: `timezone=${zone}` };
  return (context) => ({
    name: `${method} seen${zone === undefined ? "" : " in a time zone"}`,
    ...encode(context, `${method} /rpc/seen`, {
      headers: prefer,
      body: method === "POST" ? {} : undefined,
    }),
    expected: {
      status: 200,
      body: equals(seenBy(context, { method, path: "/rpc/seen", access: "read only", zone })),
    },
  });
}

/** The column exists in odd versions. */
const allColumns: MakeRequest = (context) => ({
  name: "all columns",
  ...encode(context, "GET /docs?order=id"),
  expected: {
    status: 200,
    body: (body, spanOf) => {
      const columns = versionsIn(spanOf("column")).map((version) => version % 2 === 1);
      const isRight = columns.some((hasColumn) =>
        versionsIn(spanOf("policy")).some((version) => {
          const extra = hasColumn ? { extra: "added" } : {};
          return isDeepStrictEqual(
            body,
            docsOf(context, version).map((doc) => ({ ...doc, ...extra })),
          );
        })
      );
      return isRight ? null : "expected the documents of the user";
    },
  },
});

const view: MakeRequest = (context) => ({
  name: "view",
  ...encode(context, "GET /shown?select=id,owner,version&order=id"),
  expected: {
    status: 200,
    body: (body, spanOf) => {
      const isRight = versionsIn(spanOf("view")).some((version) =>
        versionsIn(spanOf("policy")).some((policy) =>
          isDeepStrictEqual(
            body,
            docsOf(context, policy).map(({ id, owner }) => ({ id, owner, version })),
          )
        )
      );
      return isRight ? null : "expected the documents of the user";
    },
  },
});

const versioned: MakeRequest = (context) => ({
  name: "replaced function",
  ...encode(context, "GET /rpc/versioned"),
  expected: {
    status: 200,
    body: equalsVersion("function", (version) => {
      const { role, sub } = context.user;
      return { version, reader: sub === null ? null : `${role}:${sub}` };
    }),
  },
});

/** Roles that may execute `api.double()` and `api.hidden()`. */
function mayExecute({ user: { role } }: RequestContext): boolean {
  return role === "writer" || role === "auditor";
}

const restrictedCall: MakeRequest = (context) => ({
  name: "restricted function",
  ...encode(context, `GET /rpc/double?n=${context.mark % 1000}`),
  expected: mayExecute(context)
    ? { status: 200, body: equals(context.mark % 1000 * 2) }
    : forbidden(context),
});

const restrictedColumn: MakeRequest = (context) => ({
  name: "restricted computed column",
  ...encode(context, "GET /docs?select=id,hidden&order=id"),
  expected: mayExecute(context)
    ? { status: 200, body: equalsDocs(context, ({ id }) => ({ id, hidden: id * 2 })) }
    : forbidden(context),
});

/** PostgreSQL checks EXECUTE when it plans the statement, which does not depend on the role otherwise. */
const restrictedInPlan: MakeRequest = (context) => ({
  name: "restricted column of a plain table",
  ...encode(context, "GET /plain?select=id,secret&order=id"),
  expected: mayExecute(context)
    ? { status: 200, body: equals([{ id: 1, secret: 3 }, { id: 2, secret: 6 }]) }
    : forbidden(context),
});

const foreignDocs: MakeRequest = (context) => ({
  name: "documents of others",
  ...encode(context, `GET /docs?owner=neq.${context.user.sub ?? "s0"}`),
  expected: { status: 200, body: equals([]) },
});

const counted: MakeRequest = (context) => ({
  name: "own slots",
  ...encode(context, "GET /slots?select=owner,slot&order=slot", {
    headers: { Prefer: "count=exact" },
  }),
  expected: context.user.sub === null ? forbidden(context) : {
    status: 200,
    headers: { "content-range": `0-${slotsPerSubject - 1}/${slotsPerSubject}` },
    body: equals(
      Array.from({ length: slotsPerSubject }, (_, slot) => ({ owner: context.user.sub, slot })),
    ),
  },
});

const head: MakeRequest = (context) => ({
  name: "HEAD",
  ...encode(context, "HEAD /parts?doc_id=eq.1"),
  expected: { status: 200 },
});

/** Longer than what the service holds before it sends the head of an answer. */
const big: MakeRequest = (context) => {
  const size = 100 + context.random.below(40_000);
  return {
    name: "big body",
    ...encode(context, `GET /rpc/big?size=${size}`),
    expected: { status: 200, body: equals(`${stampOf(context)}.`.repeat(size)) },
  };
};

/** Many texts of SQL, so that prepared statements are evicted. */
const varied: MakeRequest = (context) => {
  const columns = ["id", "slot", "owner", "reader"] as const;
  const names = Array.from({ length: 6 }, (_, index) => `c${index}`)
    .map((name) => [name, context.random.pick(columns)] as const);
  const select = names.map(([name, column]) => `${name}:${column}`);
  return {
    name: "renamed columns",
    ...encode(context, `GET /docs?select=${select}&order=id`),
    expected: {
      status: 200,
      body: equalsDocs(context, (doc) => {
        const row = { ...doc, reader: readerOf(context) };
        return Object.fromEntries(names.map(([name, column]) => [name, row[column]]));
      }),
    },
  };
};

/** States that a function raises, and the statuses they are answered with. */
const raisedStates = [
  ["22012", 400],
  ["P0001", 400],
  ["40001", 500],
  ["25001", 500],
  ["26000", 400],
  ["0A000", 400],
] as const;

const failing: MakeRequest = (context) => {
  const [code, status] = context.random.pick(raisedStates);
  return {
    name: "failing function",
    ...encode(context, `GET /rpc/fail?state=${code}`),
    expected: {
      status,
      code,
      body: (body) => {
        const { message } = body as { readonly message: string };
        return message === `failed for ${stampOf(context)}` ? null : "message of another request";
      },
    },
  };
};

const invalidFilter: MakeRequest = (context) => ({
  name: "invalid filter",
  ...encode(context, "GET /docs?id=eq.x"),
  expected: { status: 400, code: "22P02" },
});

/** Requests that only read, as often as they are listed. */
export const reads: readonly MakeRequest[] = [
  seen("GET"),
  seen("POST"),
  seen("GET", "Asia/Tokyo"),
  docsRequest("documents", "id,reader", ({ id }, context) => ({ id, reader: readerOf(context) })),
  docsRequest("documents", "id,reader", ({ id }, context) => ({ id, reader: readerOf(context) })),
  docsRequest("embedded parts", "id,parts(n)", ({ id }) => ({ id, parts: [{ n: 1 }, { n: 2 }] })),
  allColumns,
  varied,
  view,
  versioned,
  restrictedCall,
  restrictedColumn,
  restrictedInPlan,
  foreignDocs,
  counted,
  head,
  big,
  failing,
  invalidFilter,
];
