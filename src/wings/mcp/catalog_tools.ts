/** The tools that show what the role may use. @module */
import { queryName } from "../../api/request/url/filter_param.ts";
import { filterExample } from "../../api/response/openapi/v3_parameters.ts";
import type {
  Column,
  Relation,
  Relationship,
  Routine,
  SchemaCache,
} from "../../state/schema_cache/schema_cache.ts";
import { type RoleView, roleView } from "./privileges.ts";
import { InvalidParams, type Session } from "./session.ts";
import { queryOf, relationPath } from "./target.ts";
import { dataResult, errorOf, errorResult, type ToolResult } from "./tool_result.ts";

interface ListArguments {
  readonly schema?: string;
  readonly search?: string;
  readonly cursor?: string;
}

interface DescribeArguments {
  readonly relation: string;
  readonly schema?: string;
}

/** Number of relations and functions on one page. */
const pageSize = 100;

/** Maximum characters of a comment for agents. The author of a comment may be untrusted, and the
 * model's context has limited room. */
const maxCommentLength = 500;

/** Lists relations, then functions. The cursor is the index of the next entry. */
export async function listRelations(
  { schema: schemaName, search, cursor = "0" }: ListArguments,
  session: Session,
): Promise<ToolResult> {
  if (!/^[0-9]{1,9}$/.test(cursor)) throw new InvalidParams("cursor: expected a nextCursor");
  const schema = session.schemaOf(schemaName);
  const view = await roleView(schema, session);
  const entries = entriesOf(view).filter((entry) => search === undefined || isFound(entry, search));
  const start = Number(cursor);
  const page = entries.slice(start, start + pageSize)
    .map((entry) => ({ ...entry, comment: shortComment(entry.comment) }));
  const next = start + pageSize;
  const more = next < entries.length ? { nextCursor: String(next) } : {};
  const content = { schema, relations: page, ...more };
  const summary = `${page.length} of ${entries.length} relations of ${schema}.`;
  return dataResult(summary, content, content);
}

interface Entry {
  readonly name: string;
  readonly kind: "table" | "view" | "function";
  readonly comment: string | null;
  readonly verbs: readonly string[];
}

function entriesOf(view: RoleView): readonly Entry[] {
  return [
    ...view.relations.map((relation): Entry => ({
      name: relation.name,
      kind: relation.isView ? "view" : "table",
      comment: relation.comment,
      verbs: view.methods(relation),
    })),
    ...view.routines.map((routine): Entry => ({
      name: routine.name,
      kind: "function",
      comment: routine.comment,
      verbs: verbsOf(routine),
    })),
  ];
}

function verbsOf({ volatility }: Routine): readonly string[] {
  return volatility === "volatile" ? ["post"] : ["get", "post"];
}

function isFound({ name, comment }: Entry, search: string): boolean {
  const text = search.toLowerCase();
  return name.toLowerCase().includes(text) || (comment ?? "").toLowerCase().includes(text);
}

/** Returns a comment for agents, cut so that it has little room for instructions to a model. */
export function shortComment(comment: string | null): string | null {
  if (comment === null || comment.length <= maxCommentLength) return comment;
  return `${comment.slice(0, maxCommentLength).toWellFormed()}…`;
}

/** Describes a relation or function. If the role may not use it, returns the error of an API request. */
export async function describeRelation(
  { relation: name, schema: schemaName }: DescribeArguments,
  session: Session,
): Promise<ToolResult> {
  const schema = session.schemaOf(schemaName);
  const view = await roleView(schema, session);
  const description = descriptionOf(name, view, session.cache!);
  if (description !== null) return dataResult(`${schema}.${name}.`, description, description);
  const query = queryOf([["limit", "0"]]);
  const reply = await session.call({ method: "GET", path: relationPath(name), query, schema });
  if (reply.status >= 400) return await errorOf(reply);
  return errorResult(`${schema}.${name} has no description`);
}

/** Returns the description of a relation or a function; null if the role may not use it. */
function descriptionOf(name: string, view: RoleView, cache: SchemaCache) {
  const { schema } = view;
  const relation = cache.relation({ schema, name });
  const verbs = relation === undefined ? [] : view.methods(relation);
  if (relation !== undefined && verbs.length > 0) {
    return describe({ ...relation, schema }, {
      verbs,
      embeds: cache.relationships(relation, schema),
    });
  }
  const routine = view.overloads(name).at(-1);
  return routine === undefined ? null : describeRoutine({ ...routine, schema });
}

function describe(
  relation: Relation,
  { verbs, embeds }: {
    readonly verbs: readonly string[];
    readonly embeds: readonly Relationship[];
  },
) {
  const { name, schema, isView, comment, primaryKey, columns } = relation;
  return {
    name,
    schema,
    kind: isView ? "view" : "table",
    comment: shortComment(comment),
    verbs,
    columns: columns.map(describeColumn),
    primaryKey,
    embeds: embeds.map(describeEmbed),
    examples: examplesOf(relation),
  };
}

function describeColumn(column: Column) {
  const { name, declaredType, nullable, enumLabels, comment, generated } = column;
  return {
    name,
    type: declaredType,
    nullable,
    ...(column.default === null ? {} : { default: column.default }),
    ...(generated ? { generated } : {}),
    ...(enumLabels.length === 0 ? {} : { enum: enumLabels }),
    ...(comment === null ? {} : { comment: shortComment(comment) }),
  };
}

/** Returns an embed for `select`. If several relationships lead to one relation, `hint` names the
 * constraint: `film!fk(*)`. */
function describeEmbed(relationship: Relationship) {
  const { foreign, kind } = relationship;
  const toOne = kind === "computed" ? relationship.toOne : kind === "many-to-one" ||
    kind === "one-to-one";
  return {
    relation: kind === "computed" ? relationship.function.name : foreign.name,
    many: !toOne,
    ...("constraint" in relationship ? { hint: relationship.constraint } : {}),
    ...(kind === "many-to-many" ? { hint: relationship.junction.name } : {}),
  };
}

function examplesOf({ name, columns, primaryKey }: Relation): readonly unknown[] {
  const names = columns.slice(0, 3).map((column) => queryName(column.name));
  const filtered = columns.find((column) => column.name === primaryKey[0]) ?? columns[0];
  return [
    { relation: name, select: names.join(","), limit: 5 },
    ...(filtered === undefined
      ? []
      : [{ relation: name, where: { [queryName(filtered.name)]: filterExample(filtered) } }]),
  ];
}

function describeRoutine({ name, schema, comment, parameters, returns, volatility }: Routine) {
  return {
    name,
    schema,
    kind: "function",
    comment: shortComment(comment),
    volatility,
    parameters: parameters.map(({ name: parameter, type, required }) => ({
      name: parameter,
      type,
      required,
    })),
    returns: {
      type: `${returns.typeSchema}.${returns.typeName}`,
      set: returns.set,
    },
  };
}
