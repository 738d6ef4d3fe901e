/** Builds by hand what plans of reading are made of: query strings already read, and the schema
 * cache of tools, makers, manuals, sheds and a few more. @module */
import type { SimpleOperator } from "../../../src/api/request/url/operators.ts";
import {
  planRead,
  type ReadConfig,
  type ReadInput,
  type ReadPlan,
} from "../../../src/api/plan/read/read_plan.ts";
import type {
  Filter,
  LogicGroup,
  LogicTree,
  Operation,
  OrderTerm,
  QueryParams,
  SelectAll,
  SelectField,
  SelectItem,
  SelectRelation,
  SelectValue,
} from "../../../src/api/request/url/query_types.ts";
import type { Preferences } from "../../../src/api/request/api_request.ts";
import { svcDialect } from "../../../src/base/dialect.ts";
import { indexSchemaCache } from "../../../src/state/schema_cache/lookups.ts";
import type {
  KeyRelationship,
  QualifiedName,
  Relation,
  Relationship,
  SchemaCache,
  SchemaCacheData,
} from "../../../src/state/schema_cache/schema_cache.ts";
import type { Field, PathStep } from "../../../src/api/request/url/value_types.ts";

/** Preferences of a request without the header `Prefer`. */
export const noPreferences: Preferences = {
  resolution: null,
  return: null,
  count: null,
  tx: null,
  missing: null,
  handling: null,
  timezone: null,
  maxAffected: null,
  unmatched: null,
  read: null,
  maxRows: null,
  invalid: [],
};

/** A query string with only the given parts. */
export function query(parts: Partial<QueryParams> = {}): QueryParams {
  return {
    select: [],
    defaultSelect: parts.select === undefined,
    filters: [],
    filterNames: [],
    logic: [],
    order: [],
    limits: [],
    limit: null,
    offset: null,
    hasLimits: false,
    lock: null,
    columns: null,
    columnTree: null,
    levelConflicts: [],
    onConflict: null,
    conflictIndex: null,
    conflictColumns: null,
    conflictWhere: null,
    on: null,
    clauses: [],
    texts: new Map(),
    callArguments: [],
    unused: [],
    canonical: "",
    ...parts,
  };
}

/** `name->key->>0`: arrows and operands in turn; numbers are indexes. */
export function place(name: string, ...steps: readonly (string | number)[]): Field {
  const path: PathStep[] = [];
  for (let index = 0; index < steps.length; index += 2) {
    const operand = steps[index + 1]!;
    path.push({
      arrow: steps[index] as PathStep["arrow"],
      operand: typeof operand === "number"
        ? { kind: "index", index: String(operand) }
        : { kind: "key", key: operand },
    });
  }
  return { name, path };
}

/** A selected column. */
export function column(
  field: string | Field,
  parts: Partial<Omit<SelectField, "kind" | "field">> = {},
): SelectField {
  return {
    kind: "field",
    field: typeof field === "string" ? place(field) : field,
    alias: null,
    cast: null,
    ...parts,
  };
}

/** `*` */
export const all: SelectAll = { kind: "all" };

/** `count()` */
export const count: SelectValue = {
  kind: "value",
  value: { field: null, steps: [] },
  alias: null,
};

type EmbedParts = Partial<Pick<SelectRelation, "alias" | "hint" | "join">>;

/** `target(…)` */
export function embed(
  target: string,
  select: readonly SelectItem[] = [],
  parts: EmbedParts = {},
): SelectRelation {
  return { kind: "relation", target, select, alias: null, hint: null, join: null, ...parts };
}

/** `field=op.value`, or any other operation. */
export function filter(
  field: string | Field,
  operation: Operation | readonly [SimpleOperator, string],
  negated = false,
): Filter {
  return {
    kind: "filter",
    field: typeof field === "string" ? place(field) : field,
    negated,
    operation: "kind" in operation
      ? operation
      : { kind: "compare", operator: operation[0], quantifier: null, value: operation[1] },
  };
}

/** `field=is.null` */
export function isNull(field: string): Filter {
  return filter(field, { kind: "is", word: "null" });
}

/** `field=not.is.null` */
export function isNotNull(field: string): Filter {
  return filter(field, { kind: "is", word: "null" }, true);
}

/** `and(…)`, `or(…)` */
export function group(
  operator: "and" | "or",
  children: readonly LogicTree[],
  negated = false,
): LogicGroup {
  return { kind: "group", negated, operator, children };
}

/** A term of `order`. */
export function by(
  field: string | Field,
  parts: Partial<Omit<OrderTerm, "field">> = {},
): OrderTerm {
  return {
    relation: null,
    field: typeof field === "string" ? place(field) : field,
    direction: null,
    nulls: null,
    ...parts,
  };
}

/** At the root, or at the level that a dotted path names. */
export function at<T>(
  path: string,
  value: T,
): { readonly path: readonly string[]; readonly value: T } {
  return { path: path === "" ? [] : path.split("."), value };
}

/** A relation whose columns are `name` or `name:type`. */
export function relation(name: string, columns: string, parts: Partial<Relation> = {}): Relation {
  return {
    schema: "api",
    name,
    comment: null,
    isView: false,
    insertable: true,
    updatable: true,
    deletable: true,
    volatile: false,
    primaryKey: ["id"],
    columns: columns.split(" ").map((text) => {
      const [name, type = "text"] = text.split(":") as [string, string?];
      return {
        name,
        comment: null,
        nullable: true,
        declaredType: type,
        baseType: type === "api.doc" ? "tsvector" : type,
        maxLength: null,
        default: null,
        generated: false,
        enumLabels: [],
      };
    }),
    ...parts,
  };
}

/** A name in the schema that everything is in. */
export function api(name: string): QualifiedName {
  return { schema: "api", name };
}

/** Both directions of a foreign key `child(column)` to `parent(id)`. */
function foreignKey(
  constraint: string,
  [child, column]: readonly [string, string],
  parent: string,
  parts: Partial<KeyRelationship> = {},
): readonly Relationship[] {
  const base = { self: child === parent, constraint, originIsView: false, foreignIsView: false };
  const oneToOne = parts.kind === "one-to-one";
  return [
    {
      ...base,
      kind: "many-to-one",
      origin: api(child),
      foreign: api(parent),
      originIsParent: false,
      pairs: [[column, "id"]],
      ...parts,
    },
    {
      ...base,
      kind: oneToOne ? "one-to-one" : "one-to-many",
      origin: api(parent),
      foreign: api(child),
      originIsParent: oneToOne,
      pairs: [["id", column]],
    },
  ];
}

const relations = [
  relation("makers", "id:integer name city"),
  relation("manuals", "tool_id:integer pages:integer", { primaryKey: ["tool_id"] }),
  relation("paints", "id:integer shade:api.color maker_id:integer"),
  relation("people", "id:integer name boss_id:integer"),
  relation("sheds", "id:integer title"),
  relation("tool_sheds", "tool_id:integer shed_id:integer qty:integer"),
  relation(
    "tools",
    "id:integer name maker_id:integer price:numeric spec:jsonb tags:text[] bought:date",
  ),
  relation("shop", "id:integer maker_id:integer manuals", { isView: true }),
];

const shedsOfTools: Relationship = {
  kind: "many-to-many",
  origin: api("tools"),
  foreign: api("sheds"),
  self: false,
  junction: api("tool_sheds"),
  originConstraint: "tool_sheds_tool_id_fkey",
  originPairs: [["id", "tool_id"]],
  foreignConstraint: "tool_sheds_shed_id_fkey",
  foreignPairs: [["shed_id", "id"]],
  originIsView: false,
  foreignIsView: false,
};

const data: SchemaCacheData = {
  relations,
  relationships: [
    ...foreignKey("tools_maker_id_fkey", ["tools", "maker_id"], "makers"),
    ...foreignKey("manuals_tool_id_fkey", ["manuals", "tool_id"], "tools", { kind: "one-to-one" }),
    ...foreignKey("tool_sheds_tool_id_fkey", ["tool_sheds", "tool_id"], "tools"),
    ...foreignKey("tool_sheds_shed_id_fkey", ["tool_sheds", "shed_id"], "sheds"),
    ...foreignKey("paints_maker", ["paints", "maker_id"], "makers"),
    ...foreignKey("people_boss", ["people", "boss_id"], "people"),
    shedsOfTools,
    {
      kind: "computed",
      origin: api("makers"),
      foreign: api("tools"),
      self: false,
      function: api("latest"),
      toOne: true,
    },
  ],
  routines: [],
  representations: [
    { source: "api.color", target: "json", function: api("json") },
    { source: "text", target: "api.color", function: api("color") },
  ],
  mediaHandlers: [],
  volatileFunctions: [],
};

/** The schema cache of the relations above. */
export const cache: SchemaCache = indexSchemaCache(data);

/** Defaults of the options. */
export const config: ReadConfig = {
  dbMaxRows: null,
  dbSchemas: ["api"],
  dbUrlFunctions: ["*"],
  dbAggregatesEnabled: true,
  dialect: svcDialect,
  urlUseLegacyTargetNames: true,
};

/** Plans reading a relation, unless `input` requests otherwise. */
export function planOf(
  name: string,
  parts: Partial<QueryParams> = {},
  input: Partial<ReadInput> = {},
  options: Partial<ReadConfig> = {},
): ReadPlan {
  const source = { kind: "relation", relation: cache.relation(api(name))! } as const;
  const bounds = { first: 0n, last: null };
  return planRead(
    { query: query(parts), bounds, schema: "api", source, ...input },
    cache,
    { ...config, ...options },
  );
}
