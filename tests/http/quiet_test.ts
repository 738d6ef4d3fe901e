/**
 * Quiet requests, which are not told to the database, beside everything that may change behind the
 * schema cache's back, and beside code that changes the connection.
 */
import { deepStrictEqual, strictEqual } from "node:assert/strict";
import { delay } from "../support/delay.ts";
import { type OneConnection, testOneConnection } from "../support/one_connection.ts";

const sql = `
  create table api.notes (id int primary key, owner text default current_user, body text);
  insert into api.notes values (1, 'ann', 'of ann'), (2, 'bob', 'of bob');
  create table api.log (id int generated always as identity primary key, claims text);
  grant all on api.notes, api.log to anon, writer;
  create function api.become(role text) returns text language plpgsql as $$
    begin
      perform set_config('role', role, false), set_config('search_path', 'nowhere', false),
        set_config('response.headers', '[{"X-Left": "behind"}]', false);
      return current_user;
    end $$;
  create function api.forget() returns void language sql as 'deallocate all';
  create table api.most (rows text);
  create function api.most_rows() returns void language sql security definer as
    $$ select set_config('svc.db_max_rows', rows, true) from api.most $$;
  create function api.who() returns text stable language sql
    as $$ select current_user || ' ' || current_setting('search_path') $$;
`;

type Setup = OneConnection;

/** No news of changes but those of the configuration. */
function quietTest(name: string, run: (setup: Setup) => Promise<void>): void {
  testOneConnection(name, { sql, dbPreConfig: { schema: "api", name: "most_rows" } }, run);
}

const bodies = "GET /notes?select=body&order=id";
const both = [{ body: "of ann" }, { body: "of bob" }];

/** Makes the connection, and the shape of the request, known. */
async function warmUp({ ask }: Setup, line = bodies): Promise<void> {
  for (let time = 0; time < 4; time++) await ask(line);
}

quietTest("settings of a role are made by who logs in, whoever asked before", async (setup) => {
  const { ask, admin, handler } = setup;
  const role = `clerk_${crypto.randomUUID().slice(0, 8)}`;
  const may = (verb: string) =>
    `${verb} set on parameter temp_file_limit ${verb === "grant" ? "to" : "from"} authenticator`;
  const { rows } = await admin.query("show server_version_num");
  if (Number(rows[0]!["server_version_num"]) < 150000) return;
  await admin.query(`create role ${role}; grant ${role} to authenticator; ${may("grant")};
    alter role ${role} set temp_file_limit = '1GB'; grant usage on schema api to ${role};
    grant select, insert, delete on api.notes to ${role}`);
  try {
    await handler.reloadConfig();
    for (let turn = 0; turn < 3; turn++) {
      await warmUp(setup);
      deepStrictEqual(await ask(bodies, { as: role }), [200, both]);
      await warmUp(setup);
      strictEqual((await ask("POST /notes", { as: role, body: { id: 60 } }))[0], 201);
      await warmUp(setup);
      strictEqual((await ask("GET /", { as: role }))[0], 200);
      strictEqual((await ask("DELETE /notes?id=eq.60", { as: role }))[0], 204);
    }
  } finally {
    await admin.query(`${may("revoke")}; drop owned by ${role}; drop role ${role}`);
  }
});

quietTest("requests of several roles take turns on one connection", async ({ ask }) => {
  await ask(bodies);
  for (let turn = 0; turn < 12; turn++) {
    const as = turn % 3 === 0 ? {} : { as: "writer" };
    const role = turn % 3 === 0 ? "anon" : "writer";
    deepStrictEqual(await ask(bodies, as), [200, both]);
    deepStrictEqual(
      await ask("POST /notes?select=owner", {
        ...as,
        body: { id: 10 + turn },
        headers: { Prefer: "return=representation" },
      }),
      [201, [{ owner: role }]],
    );
    deepStrictEqual(await ask("DELETE /notes?id=gt.2", as), [204, ""]);
    deepStrictEqual(await ask("GET /rpc/who", as), [200, `"${role} \\"api\\", \\"public\\""`]);
  }
});

quietTest("privileges are looked at with every request", async (setup) => {
  const { ask, admin } = setup;
  await warmUp(setup);
  await admin.query("revoke select on api.notes from anon");
  strictEqual((await ask(bodies))[0], 401);
  deepStrictEqual(await ask(bodies, { as: "writer" }), [200, both]);
  strictEqual((await ask(bodies))[0], 401);
  await admin.query("grant select (id) on api.notes to anon");
  strictEqual((await ask(bodies))[0], 401);
  deepStrictEqual(await ask("GET /notes?select=id&id=eq.1"), [200, [{ id: 1 }]]);
});

quietTest("a role that may not be taken any more is not taken after a second", async (setup) => {
  const { ask, admin } = setup;
  // Roles belong to the server, which other tests use as well.
  const role = `guest_${crypto.randomUUID().slice(0, 8)}`;
  await admin.query(`create role ${role}; grant ${role} to authenticator`);
  await admin.query(`grant usage on schema api to ${role}; grant select on api.notes to ${role}`);
  try {
    for (let time = 0; time < 4; time++) {
      deepStrictEqual(await ask(bodies, { as: role }), [200, both]);
    }
    await admin.query(`revoke ${role} from authenticator`);
    await delay(1050);
    const [status, body] = await ask(bodies, { as: role });
    deepStrictEqual([status, (body as { code: string }).code], [403, "42501"]);
  } finally {
    await admin.query(`drop owned by ${role}; drop role ${role}`);
  }
});

const ofOwner = `create policy own on api.notes
  using (owner = current_setting('request.jwt.claims', true)::json->>'sub')`;

for (
  const [name, policy] of [
    ["", ofOwner],
    [" which fails without claims", ofOwner.replace(", true)", ")").replace("own on", "other on")],
    [
      " which lets in who has no claims",
      `create policy open on api.notes using (coalesce(current_setting('request.jwt.claims', true), '') = ''
        or owner = current_setting('request.jwt.claims', true)::json->>'sub')`,
    ],
  ] as const
) {
  quietTest(`a policy that the schema cache does not know holds${name}`, async (setup) => {
    const { ask, admin } = setup;
    await warmUp(setup);
    await admin.query(`${policy}; alter table api.notes enable row level security`);
    for (let time = 0; time < 3; time++) {
      deepStrictEqual(await ask(bodies), [200, []]);
      deepStrictEqual(await ask(bodies, { as: { role: "writer", sub: "bob" } }), [200, [both[1]]]);
      const other = { as: { role: "writer", sub: "bob" }, body: { id: 9, owner: "ann" } };
      strictEqual((await ask("POST /notes", other))[0], 403);
    }
  });
}

quietTest("a view in the place of a table is told what the request said", async (setup) => {
  const { ask, admin } = setup;
  await warmUp(setup);
  await admin.query(`
    alter table api.notes rename to kept;
    create view api.notes as
      select id, current_setting('request.path', true) || current_setting('request.method', true) as body
      from api.kept;
    grant select on api.notes to anon`);
  for (let time = 0; time < 3; time++) {
    deepStrictEqual(await ask(bodies), [200, [{ body: "/notesGET" }, { body: "/notesGET" }]]);
  }
});

quietTest(
  "a trigger that the schema cache does not know is told what the request said",
  async (setup) => {
    const { ask, admin } = setup;
    for (let id = 20; id < 24; id++) await ask("POST /notes", { body: { id } });
    await admin.query(`
    create function api.note_down() returns trigger language plpgsql as $$
      begin
        insert into api.log (claims) values (current_setting('request.jwt.claims')
          || (current_setting('request.headers')::json->>'x-mark') || current_user);
        return new;
      end $$;
    create trigger down before insert or update or delete on api.notes
      for each row execute function api.note_down()`);
    const parts = { as: { role: "writer", sub: "bob" }, headers: { "X-Mark": "m" } };
    strictEqual((await ask("POST /notes", { ...parts, body: { id: 30 } }))[0], 201);
    strictEqual((await ask("PATCH /notes?id=eq.30", { ...parts, body: { body: "x" } }))[0], 204);
    const { rows } = await admin.query("select claims from api.log");
    const claims = '{"role":"writer","sub":"bob"}mwriter';
    deepStrictEqual(rows, [{ claims }, { claims }]);
  },
);

quietTest("code that takes another role for the connection takes it from nobody", async (setup) => {
  const { ask } = setup;
  await warmUp(setup);
  await warmUp(setup, "GET /rpc/who");
  for (const role of ["writer", "none"]) {
    await ask("POST /rpc/become", { as: "writer", body: { role } });
    deepStrictEqual(await ask(bodies), [200, both]);
    await ask("POST /rpc/become", { as: "writer", body: { role } });
    deepStrictEqual(
      await ask("POST /notes?select=owner", {
        body: { id: 40 },
        headers: { Prefer: "return=representation" },
      }),
      [201, [{ owner: "anon" }]],
    );
    deepStrictEqual(await ask("GET /rpc/who"), [200, '"anon \\"api\\", \\"public\\""']);
    await ask("DELETE /notes?id=eq.40");
  }
});

quietTest("a connection that has lost everything begins anew", async (setup) => {
  const { ask } = setup;
  await warmUp(setup);
  for (let time = 0; time < 3; time++) {
    await ask("POST /rpc/forget");
    deepStrictEqual(await ask(bodies), [200, both]);
    deepStrictEqual(await ask("POST /notes", { body: { id: 50 + time } }), [201, ""]);
    await ask(`DELETE /notes?id=eq.${50 + time}`);
  }
});

quietTest(
  "a trigger that the schema cache does not know cannot keep a role for itself",
  async (setup) => {
    const { ask, admin } = setup;
    for (let id = 20; id < 24; id++) await ask("POST /notes", { body: { id } });
    await admin.query(`
    create function api.steal() returns trigger language plpgsql as $$
      begin
        perform set_config('role', 'writer', false);
        return null;
      end $$;
    create trigger steal after insert on api.notes for each row execute function api.steal()`);
    for (let id = 30; id < 34; id++) {
      strictEqual(
        (await ask("POST /notes", { body: { id } }))[0],
        201,
      );
    }
    const { rows } = await admin.query("select distinct owner from api.notes where id > 2");
    deepStrictEqual(rows, [{ owner: "anon" }]);
  },
);

quietTest("what is asked for the service itself is asked as who logs in", async (setup) => {
  const { ask, admin, handler } = setup;
  // Nobody but who logs in may call it.
  await admin.query(`
    revoke execute on function api.most_rows() from public;
    grant usage on schema api to authenticator;
    grant execute on function api.most_rows() to authenticator;
    insert into api.most values ('1')`);
  await warmUp(setup);
  deepStrictEqual(await ask(bodies), [200, both]);
  await handler.reloadConfig();
  deepStrictEqual(await ask(bodies), [200, both.slice(0, 1)]);
  await warmUp(setup);
  await handler.reloadConfig();
  deepStrictEqual(await ask(bodies), [200, both.slice(0, 1)]);
});

quietTest("the schema cache is read as who logs in, whoever asked before", async (setup) => {
  const { ask, admin, handler } = setup;
  await warmUp(setup);
  await admin.query("create table api.later (id int); grant select on api.later to anon");
  await handler.reloadSchema();
  deepStrictEqual(await ask("GET /later"), [200, []]);
  deepStrictEqual(await ask(bodies), [200, both]);
});

quietTest("what is asked of a single inserted row is looked at", async ({ ask }) => {
  const prefer = (what: string) => ({ headers: { Prefer: `return=${what}` } });
  for (let id = 70; id < 73; id++) {
    const failed = await ask("POST /notes?select=nope", {
      body: { id },
      ...prefer("headers-only"),
    });
    strictEqual(failed[0], 400);
    deepStrictEqual(await ask(`GET /notes?id=eq.${id}`), [200, []]);
    strictEqual((await ask("POST /notes", { body: { id }, ...prefer("headers-only") }))[0], 201);
    strictEqual(
      (await ask("POST /notes", { body: { id: id + 10 }, ...prefer("minimal") }))[0],
      201,
    );
  }
});

quietTest("a role whose name PostgreSQL cuts is taken as ever", async ({ ask, admin }) => {
  const role = `r${crypto.randomUUID().replaceAll("-", "")}`.padEnd(63, "x");
  await admin.query(`create role ${role}; grant ${role} to authenticator;
    grant usage on schema api to ${role}; grant select on api.notes to ${role}`);
  try {
    for (const name of [role, `${role}yz`]) {
      for (let time = 0; time < 4; time++) {
        deepStrictEqual(await ask(bodies, { as: name }), [200, both]);
      }
    }
  } finally {
    await admin.query(`drop owned by ${role}; drop role ${role}`);
  }
});

quietTest("failures are those that loud requests have", async (setup) => {
  const { ask } = setup;
  await ask("GET /notes?id=eq.1");
  for (let time = 0; time < 3; time++) {
    const [status, body] = await ask("GET /notes?id=eq.x");
    strictEqual(status, 400);
    strictEqual((body as { code: string }).code, "22P02");
    const [conflict] = await ask("POST /notes", { body: { id: 1 } });
    strictEqual(conflict, 409);
    const [unknown] = await ask(bodies, { as: "nobody_knows" });
    strictEqual(unknown, 400);
    deepStrictEqual(await ask(bodies), [200, both]);
  }
});
