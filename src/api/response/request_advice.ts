/** Hints that correct a request by the schema cache: names, keys, labels, embeds. @module */
import { locationOf } from "./address_headers.ts";
import { pathSegment } from "../../base/http/percent.ts";
import { nearest } from "../../base/lib/nearest.ts";
import type { ErrorFields } from "../../base/errors/service_error.ts";
import type { Relation } from "../../state/schema_cache/schema_cache.ts";
import { bearerToken } from "../../state/auth/credential.ts";
import type { AdviceContext } from "./advice_context.ts";
import { decoded, paramsOf, targetRelation } from "./request_parts.ts";
import { valueAdvice } from "./value_advice.ts";

/** Returns the corrected part of a request; null if no correction is known. */
export function requestAdvice(fields: ErrorFields, context: AdviceContext): string | null {
  const correct = (fields.own ? ownCorrections : databaseCorrections).get(fields.code);
  return correct?.(fields, context) ?? null;
}

/** Returns whether a correction replaces the hint of an error. */
export function replacesHint({ own, code }: ErrorFields): boolean {
  return own ? ["108", "200", "202", "205"].includes(code) : code === "22008";
}

type Correction = (fields: ErrorFields, context: AdviceContext) => string | null;

/** Corrections for errors of the service, by code without prefix. */
const ownCorrections: ReadonlyMap<string, Correction> = new Map<string, Correction>([
  [
    "100",
    (fields, context) =>
      functionPath(context) ?? clauseCorrection(context) ?? otherParameter(fields, context),
  ],
  ["108", jsonFilter],
  ["125", (_, context) => pathCorrection(context)],
  ["196", (_, context) => clauseCorrection(context)],
  ["200", embedPath],
  ["202", functionName],
  [
    "204",
    (fields, context) =>
      formBody(fields, context) ?? similarColumn(fields.subject?.column, context),
  ],
  ["205", tableName],
]);

/** Corrections for errors of PostgreSQL, by SQLSTATE. */
const databaseCorrections: ReadonlyMap<string, Correction> = new Map<string, Correction>([
  ...["22001", "22003", "22007", "22008", "22P02"].map((code) => [code, valueAdvice] as const),
  ["42501", (_, { raw, role }) => schemeCorrection(raw.headers["authorization"], role)],
  ["42703", columnCorrection],
  ["42704", typeName],
  ["42P10", (_, context) => uniqueKeys(context)],
]);

/** Returns the path of a relation for paths like `/products/`, `/products/1` and `/api/products`. */
function pathCorrection({ raw, cache, config }: AdviceContext): string | null {
  const [, withoutSlash] = /^\/*(\/(?:rpc\/)?[^/]+)\/*$/.exec(raw.path) ?? [];
  if (withoutSlash !== undefined && withoutSlash !== raw.path) return `Write ${withoutSlash}`;
  const [, ofSupabase] = /^\/rest\/v1(\/.+)$/.exec(raw.path) ?? [];
  if (ofSupabase !== undefined) return `Write ${ofSupabase}, or set server-path-prefix`;
  const [, part] = /^\/(auth|storage|realtime|functions|graphql)\/v1\b/.exec(raw.path) ?? [];
  if (part !== undefined) return `docs/how-to/move-from-supabase.md names what replaces ${part}`;
  const [first = "", second = "", ...rest] = raw.path.split("/").slice(1).map(decoded);
  if (rest.length > 0 || second === "") return null;
  const isRelation = cache?.relations.some(({ name }) => name === second) === true;
  if (isRelation || config.dbSchemas.includes(first)) return `Write /${second}`;
  const relation = relationNamed(first, cache?.relations);
  const [key, ...others] = relation?.primaryKey ?? [];
  if (relation === null || key === undefined || others.length > 0) return null;
  return `Write ${locationOf(relation, JSON.stringify({ [key]: second }))}`;
}

/** Corrects a path like `/search?words=oak` that names a function and lacks `/rpc`. */
function functionPath({ raw, cache }: AdviceContext): string | null {
  const name = decoded(raw.path.slice(1));
  if (cache?.relations.some((relation) => relation.name === name) !== false) return null;
  if (!cache.routines.some((routine) => routine.name === name)) return null;
  return `Write /rpc/${pathSegment(name)}?${raw.query}`;
}

/** Corrects `select`, `order`, `or` and `and` that cannot be parsed, and filters in SQL syntax. */
function clauseCorrection(context: AdviceContext): string | null {
  for (const { name, value } of paramsOf(context.raw.query)) {
    const corrected = name === "order"
      ? correctedOrder(value)
      : name === "select"
      ? correctedSelect(value, context)
      : /^(not\.)?(or|and)$/.test(name)
      ? correctedTree(value)
      : undefined;
    // A group that is open at the end of the value cannot be completed.
    if (value.endsWith("(")) continue;
    if (typeof corrected === "string" && corrected !== value) return `Write ${name}=${corrected}`;
    if (corrected === undefined) {
      const text = value === "" ? name : `${name}=${value}`;
      const [, column = name, compared = value] = /^(\w+) *([<>!].*)$/s.exec(text) ?? [];
      const filter = sqlFilter(column, compared);
      if (filter !== null) return `Write ${filter}`;
    }
  }
  return null;
}

function correctedOrder(value: string): string {
  return value.split(",").map((term) =>
    term.trim().replace(/^-(.+)$/, "$1.desc").replace(/^\+/, "")
      .replace(/[. :](asc|desc)(ending)?$/i, (_, word) => `.${word.toLowerCase()}`)
  ).join(",");
}

function correctedSelect(value: string, { cache }: AdviceContext): string {
  const relations = new Set(cache?.relations.map(({ name }) => name));
  const text = value.replaceAll("count(*)", "count()").replace(/,{2,}/g, ",").replace(/^,|,$/g, "")
    .replace(
      /(?<=^|,)(\w+)\.(\w+)(?=,|$)/g,
      (path, name, column) => relations.has(name) ? `${name}(${column})` : path,
    );
  return text + ")".repeat(Math.max(0, openParentheses(text)));
}

function correctedTree(value: string): string {
  const text = value.startsWith("(") ? value : `(${value}`;
  const closed = text + ")".repeat(Math.max(0, openParentheses(text)));
  return closed.replace(/(?<=[(,])(\w+)(?=[,)])/g, "$1.is.true")
    .replace(/(?<=[(,]\w+) *([<>=!]{1,2}) */g, (_, sign) => `.${comparisons.get(sign) ?? "eq"}.`);
}

function openParentheses(text: string): number {
  return text.split("(").length - text.split(")").length;
}

/** SQL comparisons and the equivalent operators. */
const comparisons: ReadonlyMap<string, string> = new Map([
  [">=", "gte"],
  ["<=", "lte"],
  ["!=", "neq"],
  ["<>", "neq"],
  ["==", "eq"],
  [">", "gt"],
  ["<", "lt"],
  ["=", "eq"],
]);

/** Returns the correct form of a filter like `gte5`, `>5`, `!eq.5` or `between.1,2`. */
function sqlFilter(name: string, value: string): string | null {
  const [, between] = /^between\.(.*)$/.exec(value) ?? [];
  const [from, to] = between?.split(",") ?? [];
  if (to !== undefined) return `and=(${name}.gte.${from},${name}.lte.${to})`;
  const [, sign, compared] = /^([<>=!]{1,2})\.?(.*)$/.exec(value) ?? [];
  const operator = sign === undefined ? undefined : comparisons.get(sign);
  if (operator !== undefined) return `${name}=${operator}.${compared}`;
  if (value.startsWith("!")) return `${name}=not.${value.slice(1)}`;
  const [, word, rest] = /^(n?eq|[gl]te?|i?like|i?match)([^a-z.(].*)$/.exec(value) ?? [];
  return word === undefined ? null : `${name}=${word}.${rest}`;
}

/** Parameters of other interfaces by name, and the equivalent clause. */
const otherClauses: readonly (readonly [names: string[], clause: (value: string) => string])[] = [
  [["sort", "sort_by", "orderby", "order_by"], (value) => `order=${correctedOrder(value)}`],
  [["fields"], (value) => `select=${value}`],
  [["page", "per_page", "size"], () => "limit=20&offset=20"],
];

/** Corrects `sort=price`, `where=price>5`, `price[gt]=5`, `price__gt=5`, `price.gt=5` and `filter[price]=5` of other interfaces. */
function otherParameter({ subject }: ErrorFields, context: AdviceContext): string | null {
  const { name = "", value = "" } = paramsOf(context.raw.query)
    .find((param) => param.value === subject?.filter && param.name !== "select") ?? {};
  const relation = targetRelation(context);
  const columns = relation?.columns.map((column) => column.name) ?? [];
  if (relation === null || columns.includes(name)) return null;
  const [, clauseOf] = otherClauses.find(([names]) => names.includes(name)) ?? [];
  if (clauseOf !== undefined) return `Write ${clauseOf(value)}`;
  const parts = name.replace(/\]$/, "").split(/\[|__|\.(?=(?:n?eq|[gl]te?|i?like|in|is)$)/);
  const isName = (part: string) => /^\w+$/.test(part);
  if (parts.length === 2 && parts.every(isName)) {
    const [first, second] = parts;
    return `Write ${columns.includes(second!) ? `${second}=eq` : `${first}=${second}`}.${value}`;
  }
  const [, compared = "", sign, operand] = /^(\w+) *([<>=!]{1,2}) *(.*)$/s.exec(value) ?? [];
  const filter = columns.includes(compared) ? sqlFilter(compared, `${sign}${operand}`) : null;
  if (filter !== null) return `Write ${filter}`;
  const isUnlike = isName(name) && nearest(name, columns) === null;
  return isUnlike ? `${relation.name} has no column ${name}` : null;
}

/** Corrects an embed: by its schema, or by a relation in between. Corrects `max(price)` to `price.max()`. */
function embedPath({ subject }: ErrorFields, context: AdviceContext): string | null {
  const { cache, config, raw } = context;
  const { relation: from = "", embed: to = "" } = subject ?? {};
  const [, call, operand] = /\b(sum|avg|min|max)\((\w+)\)/.exec(decoded(raw.query)) ?? [];
  if (call !== undefined && call === to) return `Write ${operand}.${call}()`;
  const ends = cache?.relationships ?? [];
  const target = relationNamed(to, cache?.relations);
  if (target === null) return null;
  const near = ends.filter(({ origin, foreign }) => origin.schema === foreign.schema);
  const linked = (a: string, b: string) => ({ origin, foreign }: (typeof ends)[number]) =>
    origin.name === a && foreign.name === b;
  const far = near.some(linked(from, to)) ? undefined : ends.find(linked(from, to))?.foreign.schema;
  const middle = near.find(({ origin, foreign: { name } }) =>
    origin.name === from && name !== to && near.some(linked(name, target.name))
  )?.foreign.name;
  const after = decoded(raw.query).split(`${to}(`)[1] ?? "";
  const items = /^[^()]*(?=\))/.exec(after)?.[0] ?? "*";
  const embed = `${target.name}(${items})`;
  if (far !== undefined && config.dbSchemas.includes(far)) return `Write ${far}/${embed}`;
  return middle === undefined ? null : `Write ${middle}(${embed})`;
}

/** Corrects the name of a table, and names the header that selects another schema. The exact name wins. */
function tableName({ subject, hint }: ErrorFields, context: AdviceContext): string | null {
  const { cache, config, raw } = context;
  const { schema, relation: name = "" } = subject ?? {};
  const served = cache?.relations.filter((relation) => config.dbSchemas.includes(relation.schema));
  const table = relationNamed(name.replace(/\.(json|csv)$/, ""), served);
  if (table === null || (hint && table.name !== name)) return null;
  const header = /^P|^DELETE$/.test(raw.method) ? "Content-Profile" : "Accept-Profile";
  const profile = table.schema === schema ? "" : `: send ${header}: ${table.schema}`;
  return `Perhaps you meant the table '${table.schema}.${table.name}'${profile}`;
}

function functionName(fields: ErrorFields, context: AdviceContext): string | null {
  const form = formBody(fields, context);
  if (form !== null || fields.hint) return form;
  const { subject } = fields;
  const { raw, cache } = context;
  const path = raw.path.replace("/rpc/", "/");
  if (targetRelation({ ...context, raw: { ...raw, path } }) !== null) return `Write ${path}`;
  const routines = cache?.routines ?? [];
  const similarName = nearest(subject?.function ?? "", routines.map((routine) => routine.name));
  const routine = routines.find((each) => each.name === similarName);
  if (routine === undefined) return null;
  const names = routine.parameters.map(({ name }) => name).join(", ");
  return `Perhaps you meant /rpc/${pathSegment(routine.name)}${names && ` with ${names}`}`;
}

/** Returns the hint for JSON that was read as the name of a form's field. curl sends forms by default. */
export function formBody({ subject }: ErrorFields, { raw }: AdviceContext): string | null {
  const isForm = raw.headers["content-type"]?.startsWith("application/x-www-form-urlencoded");
  return isForm && /^\s*[{[]/.test(subject?.column ?? subject?.names?.[0] ?? "")
    ? "The body was read as a form: send Content-Type: application/json"
    : null;
}

function similarColumn(name: string | undefined, context: AdviceContext): string | null {
  const columns = targetRelation(context)?.columns.map((column) => column.name) ?? [];
  const match = name === undefined ? null : nearest(name, columns);
  return match === null ? null : `Perhaps you meant '${match}'`;
}

/** Corrects `select=name price`, `order=price desc`, and `select=categories` for a related relation. */
function columnCorrection({ subject }: ErrorFields, context: AdviceContext): string | null {
  const name = subject?.names?.at(-1);
  if (name === undefined) return null;
  const params = paramsOf(context.raw.query);
  const order = params.find((param) => param.name === "order")?.value;
  if (order !== undefined && / (asc|desc)/i.test(order)) {
    return `Write order=${correctedOrder(order)}`;
  }
  const select = params.find((param) => param.name === "select")?.value ?? "";
  if (name.includes(" ") && select.includes(name)) {
    const names = name.trim().replace(/^(\S+) as (\S+)$/i, "$2:$1").split(/ +/).join(",");
    return `Write select=${select.replace(name, names)}`;
  }
  const target = targetRelation(context);
  const isRelated = context.cache?.relationships.some(({ origin, foreign }) =>
    origin.name === target?.name && foreign.name === name
  );
  if (isRelated === true) return `Write ${name}(*)`;
  return similarColumn(name, context);
}

/** Corrects `details.size=eq.1` if `details` is a JSON column. */
function jsonFilter(_fields: ErrorFields, context: AdviceContext): string | null {
  const json = targetRelation(context)?.columns.filter(({ baseType }) => /^jsonb?$/.test(baseType));
  const filter = paramsOf(context.raw.query)
    .find((param) => json?.some(({ name }) => param.name.startsWith(`${name}.`)));
  return filter === undefined ? null : `Write ${filter.name.replace(".", "->>")}=${filter.value}`;
}

/** Types that requests cast to. */
const types = "text date integer bigint numeric timestamptz timestamp boolean".split(" ");

function typeName({ subject }: ErrorFields): string | null {
  const match = nearest(subject?.names?.at(-1) ?? "", types);
  return match === null ? null : `Perhaps you meant ::${match}`;
}

function uniqueKeys(context: AdviceContext): string | null {
  const relation = targetRelation(context);
  const keys = relation?.uniqueIndexes?.map(({ columns }) => columns ?? []) ?? [];
  const names = new Set([relation?.primaryKey ?? [], ...keys].map((key) => key.join(",")));
  const choices = Array.from(names).filter(Boolean).map((key) => `on_conflict=${key}`);
  return choices.length === 0 ? null : `Write ${choices.join(" or ")}`;
}

/** Corrects `Authorization` without `Bearer`: the header has no effect, and the request is anonymous. */
function schemeCorrection(header: string | undefined, role: string | null): string | null {
  if (header === undefined || bearerToken(header) !== null) return null;
  return `Write Authorization: Bearer and the token: the request ran as ${role}`;
}

function relationNamed(name: string, relations: readonly Relation[] = []): Relation | null {
  const match = nearest(name, relations.map((relation) => relation.name));
  return relations.find((relation) => relation.name === match) ?? null;
}
