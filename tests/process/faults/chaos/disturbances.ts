/** What happens to the database and to the service during the chaos run. @module */
import { delay } from "../../../support/timing/delay.ts";
import type { PostgresClient } from "../../../support/database/postgres_client.ts";
import type { Random } from "../../../support/timing/random.ts";
import type { Place } from "../place.ts";
import { docsPerSubject } from "./schema.ts";
import { subjects } from "./users.ts";
import type { Versions } from "./versions.ts";

/** What a disturbance acts on. */
export interface DisturbedPlace {
  readonly place: Place;
  /** A connection of the superuser. */
  readonly client: PostgresClient;
  readonly versions: Versions;
  readonly random: Random;
}

/** Does one thing to the database or to the service. */
export type Disturbance = (disturbed: DisturbedPlace) => Promise<unknown>;

/** Milliseconds for which a row lock is held. */
const lockMs = 100;

/** Terminates one connection of the service, idle or busy. */
const terminate: Disturbance = ({ client }) =>
  client.query(`select pg_terminate_backend(pid) from pg_stat_activity
    where usename = 'authenticator' order by random() limit 1`);

const replaceView: Disturbance = ({ client, versions }) =>
  versions.replace(
    "view",
    (version) =>
      client.query(`create or replace view api.shown with (security_invoker = true) as
      select id, owner, ${version} as version from api.docs`),
  );

const replaceFunction: Disturbance = ({ client, versions }) =>
  versions.replace(
    "function",
    (version) =>
      client.query(
        `create or replace function api.versioned() returns jsonb stable language sql as $$
      select jsonb_build_object('version', ${version}, 'reader', current_user || ':' || api.sub()) $$`,
      ),
  );

/** Each version hides another document, or none. */
const replacePolicy: Disturbance = ({ client, versions }) =>
  versions.replace("policy", (version) =>
    client.query(`alter policy own on api.docs
      using (owner = api.sub() and slot <> ${version % (docsPerSubject + 1) - 1})`));

const replaceTrigger: Disturbance = ({ client, versions }) =>
  versions.replace("trigger", (version) =>
    client.query(
      version % 2 === 1
        ? `create trigger told before insert on api.entries
            for each row execute function private.tell()`
        : "drop trigger told on api.entries",
    ));

const replaceColumn: Disturbance = ({ client, versions }) =>
  versions.replace("column", (version) =>
    client.query(
      version % 2 === 1
        ? "alter table api.docs add column extra text default 'added'"
        : "alter table api.docs drop column extra",
    ));

const reloadSchema: Disturbance = ({ place }) => Promise.resolve(place.service.signal("SIGUSR1"));

const reloadConfig: Disturbance = ({ place }) => Promise.resolve(place.service.signal("SIGUSR2"));

/** Locks rows that clients update. */
const lockRows: Disturbance = async ({ client, random }) => {
  const first = random.below(subjects - 10);
  const owners = Array.from({ length: 10 }, (_, index) => `'s${first + index}'`);
  await client.query(`begin; select from api.slots where owner in (${owners}) for update`);
  await delay(lockMs);
  await client.query("commit");
};

/** All disturbances by name, with how often each is listed. */
const disturbances: readonly (readonly [name: string, disturbance: Disturbance])[] = [
  ["connections terminated", terminate],
  ["connections terminated", terminate],
  ["connections terminated", terminate],
  ["views replaced", replaceView],
  ["functions replaced", replaceFunction],
  ["policies replaced", replacePolicy],
  ["triggers added or dropped", replaceTrigger],
  ["columns added or dropped", replaceColumn],
  ["schema reloads", reloadSchema],
  ["configuration reloads", reloadConfig],
  ["rows locked", lockRows],
  ["rows locked", lockRows],
];

/** Disturbs until `mayContinue` says no, one thing at a time; gives how often each happened. */
export async function disturb(
  disturbed: DisturbedPlace,
  mayContinue: () => Promise<boolean>,
): Promise<Readonly<Record<string, number>>> {
  const counts: Record<string, number> = {};
  while (await mayContinue()) {
    const [name, disturbance] = disturbed.random.pick(disturbances);
    await disturbance(disturbed);
    counts[name] = (counts[name] ?? 0) + 1;
  }
  return counts;
}
