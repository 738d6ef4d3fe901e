/** Requests of the chaos run that write. @module */
import type { Operation } from "./effects.ts";
import {
  type ChaosRequest,
  encode,
  equals,
  type Expected,
  forbidden,
  type RequestContext,
  seenBy,
  stampOf,
} from "./request.ts";
import { slotsPerSubject } from "./schema.ts";

type MakeRequest = (context: RequestContext) => ChaosRequest;

const representation = { Prefer: "return=representation" };
const singular = { Accept: "application/vnd.svc.object+json" };

/** The anonymous user may not write. */
function unlessAnonymous(context: RequestContext, expected: Expected): Expected {
  return context.user.token === null ? forbidden(context) : expected;
}

/** Registers the change of the row that has the request's own mark. */
function change(context: RequestContext, ...operations: readonly Operation[]) {
  return [context.effects.expect({ ...context, stamp: stampOf(context), operations })];
}

function entryOf(context: RequestContext, mark = context.mark) {
  const { role, sub } = context.user;
  return { mark, owner: sub, role, stamp: stampOf(context) };
}

const insertWithRows: MakeRequest = (context) => ({
  name: "insert with representation",
  ...encode(context, "POST /entries", { headers: representation, body: { mark: context.mark } }),
  expected: unlessAnonymous(context, {
    status: 201,
    body: equals([entryOf(context)]),
    inserts: "entries",
  }),
  changes: change(context, "INSERT"),
});

const insertMinimal: MakeRequest = (context) => ({
  name: "insert",
  ...encode(context, "POST /entries", { body: { mark: context.mark } }),
  expected: unlessAnonymous(context, { status: 201, inserts: "entries" }),
  changes: change(context, "INSERT"),
});

const insertSingular: MakeRequest = (context) => ({
  name: "insert of one",
  ...encode(context, "POST /entries", {
    headers: { ...representation, ...singular },
    body: { mark: context.mark },
  }),
  expected: unlessAnonymous(context, {
    status: 201,
    body: equals(entryOf(context)),
    inserts: "entries",
  }),
  changes: change(context, "INSERT"),
});

/** Several rows; fails where one is demanded. */
function insertSeveral(name: string, headers: Record<string, string>): MakeRequest {
  return (context) => {
    const marks = [context.mark, context.effects.nextMark(), context.effects.nextMark()];
    return {
      name,
      ...encode(context, "POST /entries", { headers, body: marks.map((mark) => ({ mark })) }),
      expected: unlessAnonymous(
        context,
        "Accept" in headers ? { status: 406, code: "SVC116" } : {
          status: 201,
          body: equals(marks.map((mark) => entryOf(context, mark))),
          inserts: "entries",
        },
      ),
      changes: marks.flatMap((mark) =>
        context.effects.expect({
          mark,
          user: context.user,
          stamp: stampOf(context),
          operations: ["INSERT"],
        })
      ),
    };
  };
}

const insertRolledBack: MakeRequest = (context) => ({
  name: "insert that is rolled back",
  ...encode(context, "POST /entries", {
    headers: { Prefer: "return=representation, tx=rollback" },
    body: { mark: context.mark },
  }),
  expected: unlessAnonymous(context, {
    status: 201,
    headers: { "preference-applied": "return=representation, tx=rollback" },
    body: equals([entryOf(context)]),
    inserts: "entries",
    isRolledBack: true,
  }),
  changes: change(context, "INSERT"),
});

const insertForOther: MakeRequest = (context) => ({
  name: "insert for another owner",
  ...encode(context, "POST /entries", { body: { mark: context.mark, owner: "eve" } }),
  expected: forbidden(context),
  changes: change(context, "INSERT"),
});

const insertInvalid: MakeRequest = (context) => ({
  name: "insert of an invalid row",
  ...encode(context, "POST /entries", { body: { mark: -context.mark } }),
  expected: unlessAnonymous(context, { status: 400, code: "23514" }),
  changes: change(context, "INSERT"),
});

/** Its constraint is checked at the end of the transaction. */
function promise(name: string, docId: number, expected: Expected): MakeRequest {
  return (context) => ({
    name,
    ...encode(context, "POST /promises?select=mark,owner", {
      headers: representation,
      body: { mark: context.mark, doc_id: docId },
    }),
    expected: unlessAnonymous(context, {
      ...expected,
      ...(expected.status === 201
        ? { body: equals([{ mark: context.mark, owner: context.user.sub }]) }
        : {}),
    }),
    changes: change(context, "INSERT"),
  });
}

const updateSlot: MakeRequest = (context) => {
  const slot = context.random.below(slotsPerSubject);
  return {
    name: "update",
    ...encode(context, `PATCH /slots?slot=eq.${slot}`, {
      headers: context.random.below(2) === 0
        ? representation
        : { Prefer: "return=representation, handling=strict, max-affected=1" },
      body: { mark: context.mark },
    }),
    expected: unlessAnonymous(context, {
      status: 200,
      body: equals([{ owner: context.user.sub, slot, mark: context.mark }]),
      or: updateConflict(context),
    }),
    changes: change(context, "UPDATE"),
  };
};

/** A repeatable read cannot update what another transaction has updated since it began. */
function updateConflict({ user }: RequestContext): Expected["or"] {
  return user.role === "auditor" ? { status: 500, code: "40001" } : undefined;
}

const updateTooMany: MakeRequest = (context) => ({
  name: "update of too many rows",
  ...encode(context, "PATCH /slots?slot=gte.0", {
    headers: { Prefer: "handling=strict, max-affected=2" },
    body: { mark: context.mark },
  }),
  expected: unlessAnonymous(context, { status: 400, code: "SVC124", or: updateConflict(context) }),
  changes: change(context, "UPDATE"),
});

const upsert: MakeRequest = (context) => {
  const slot = context.random.below(slotsPerSubject);
  return {
    name: "upsert",
    ...encode(context, "POST /slots", {
      headers: { Prefer: "resolution=merge-duplicates, return=representation" },
      body: { owner: context.user.sub, slot, mark: context.mark },
    }),
    expected: unlessAnonymous(context, {
      status: 200,
      body: equals([{ owner: context.user.sub, slot, mark: context.mark }]),
      or: updateConflict(context),
    }),
    changes: change(context, "INSERT", "UPDATE"),
  };
};

/** Deletes a row that the same client has inserted; else inserts one. */
const deleteOwn: MakeRequest = (context) => {
  const row = context.rows.shift();
  if (row === undefined) return insertWithRows(context);
  const { mark, user } = row;
  const own: RequestContext = { ...context, user };
  return {
    name: "delete",
    ...encode(own, `DELETE /entries?mark=eq.${mark}&select=mark,owner`, {
      headers: representation,
    }),
    expected: { status: 200, body: equals([{ mark, owner: user.sub }]) },
    changes: [
      context.effects.expect({ mark, user, stamp: stampOf(context), operations: ["DELETE"] }),
    ],
  };
};

/** Calls a function that inserts an entry and does something more. */
function call(
  name: string,
  line: string,
  { body, expected }: {
    readonly body?: (context: RequestContext) => Readonly<Record<string, string>>;
    readonly expected: (context: RequestContext) => Expected;
  },
): MakeRequest {
  return (context) => ({
    name,
    ...encode(context, line, { body: { mark: context.mark, ...body?.(context) } }),
    expected: unlessAnonymous(context, expected(context)),
    changes: change(context, "INSERT"),
  });
}

const record = call("writing function", "POST /rpc/record", {
  expected: (context) => ({
    status: 200,
    body: equals(seenBy(context, { method: "POST", path: "/rpc/record", access: "read write" })),
    inserts: "entries",
  }),
});

const recordAndFail = call("writing function that fails", "POST /rpc/record_and_fail", {
  body: () => ({ name: "request.jwt.claims", value: '{"sub":"eve","role":"writer"}' }),
  expected: () => ({ status: 400, code: "P0001" }),
});

/** Errors that PostgreSQL raises too, of statements that it has not begun. */
const raisedErrors = [
  ["26000", "prepared statement does not exist", 400],
  ["0A000", "cached plan must not change result type", 400],
  ["25001", "SET TRANSACTION ISOLATION LEVEL must be called before any query", 500],
] as const;

/** It is called once: a sequence counts, whatever becomes of the transaction. */
const callAndFail: MakeRequest = (context) => {
  const [state, message, status] = context.random.pick(raisedErrors);
  return {
    name: `function that raises ${state}`,
    ...encode(context, "POST /rpc/call_and_fail", { body: { state, message } }),
    expected: { status, code: state },
    changes: [context.effects.expectCall()],
  };
};

/** Only the clerk has a statement timeout. */
const recordSlowly: MakeRequest = (context) =>
  context.user.role === "clerk" ? recordUntilTimeout(context) : record(context);

const recordUntilTimeout = call("writing function that takes long", "POST /rpc/record_slowly", {
  expected: () => ({ status: 500, code: "57014" }),
});

/** Requests that write, as often as they are listed. */
export const writes: readonly MakeRequest[] = [
  insertWithRows,
  insertWithRows,
  insertMinimal,
  insertSingular,
  insertSeveral("insert of several", representation),
  insertSeveral("insert of several where one is demanded", { ...representation, ...singular }),
  insertRolledBack,
  insertForOther,
  insertInvalid,
  promise("insert that is checked late", 1, { status: 201 }),
  promise("insert that fails late", -1, { status: 409, code: "23503" }),
  updateSlot,
  updateSlot,
  updateTooMany,
  upsert,
  deleteOwn,
  record,
  recordAndFail,
  callAndFail,
];

/** Writes of few kinds that soon prove to be short. */
export const shortWrites: readonly MakeRequest[] = [
  insertWithRows,
  insertMinimal,
  insertInvalid,
  updateSlot,
  record,
];

/** Requests that take until a timeout. */
export const slowWrites: readonly MakeRequest[] = [recordSlowly];
