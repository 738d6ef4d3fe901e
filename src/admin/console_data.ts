/** The data that the console's paths send as JSON. @module */
import type { ShownOption } from "../config/print.ts";
import type { Finding } from "../diagnosis/finding.ts";
import type { RelationshipKind } from "./console_schema.ts";
import type { SecondFigures } from "./live_figures.ts";
import type { RecentRequest, SchemaCacheState } from "./recorder.ts";
import type { Numbered } from "./ring.ts";

/** Answer of `/console/state`. */
export interface ConsoleState {
  readonly version: string;
  /** `svc` or `pgrst`. */
  readonly dialect: string;
  /** Name of the service in its dialect. */
  readonly name: string;
  readonly api: {
    /** Base URL for other programs. */
    readonly url: string;
    readonly schemas: readonly string[];
    readonly live: boolean;
    /** Role of requests without a token; null if they are refused. */
    readonly anonRole: string | null;
  };
  readonly database: {
    readonly ready: boolean;
    /** Number of PostgreSQL's version; null before it is known. */
    readonly version: string | null;
    /** Null while the database cannot be reached. */
    readonly standby: boolean | null;
  };
  /** Null before the first load. */
  readonly schemaCache: SchemaCacheState | null;
  /** Seconds since the start. */
  readonly uptime: number;
  /** Resident memory in bytes; null where the runtime does not show it. */
  readonly rss: number | null;
  readonly features: ConsoleFeatures;
}

/** Options that decide which controls the console shows. */
export interface ConsoleFeatures {
  /** Media type of plans; null if `db-plan-enabled` is off. */
  readonly planType: string | null;
  /** Whether requests may ask for a rollback. */
  readonly rollback: boolean;
  /** `db-read-only`: the console offers no changes of rows. */
  readonly readOnly: boolean;
  readonly aggregates: boolean;
  /** Whether the console makes tokens for roles: `admin-sign-in`. */
  readonly signIn: boolean;
  /** `etag-mode`: whether changes of rows carry the tag of the row. */
  readonly tags: "off" | "on" | "required";
  readonly openapiMode: string;
  readonly maxRows: number | null;
  readonly logQuery: boolean;
  /** Milliseconds from which requests are slow. */
  readonly slowMs: number;
}

/** Answer of `/console/requests`. */
export interface ConsoleRequests {
  readonly newest: readonly Numbered<RecentRequest>[];
  readonly slow: readonly Numbered<RecentRequest>[];
}

/** Answer of `/console/stats`: the seconds after the given one. */
export type ConsoleStats = readonly Numbered<SecondFigures>[];

/** Answer of `/console/log`. */
export type ConsoleLog = readonly { readonly id: number; readonly line: string }[];

/** Answer of `/console/roles`: those that requests may have. */
export interface ConsoleRoles {
  readonly roles: readonly string[];
}

/** Answer of `/console/findings`. */
export type ConsoleFindings = readonly (Finding & { readonly caution: string | null })[];

/** Answer of `/console/config`. */
export type ConsoleConfig = readonly ShownOption[];

/** Answer of `/console/schema`. */
export interface ConsoleSchema {
  readonly relations: readonly ConsoleRelation[];
  readonly relationships: readonly ConsoleRelationship[];
  readonly functions: readonly ConsoleFunction[];
}

/** A table or view. */
export interface ConsoleRelation {
  readonly schema: string;
  readonly name: string;
  readonly comment: string | null;
  readonly isView: boolean;
  readonly insertable: boolean;
  readonly updatable: boolean;
  readonly deletable: boolean;
  readonly primaryKey: readonly string[];
  /** Column that names rows, as the comment's tag `@label` says; null without the tag. */
  readonly label: string | null;
  readonly columns: readonly ConsoleColumn[];
}

/** A column of a relation. */
export interface ConsoleColumn {
  readonly name: string;
  readonly comment: string | null;
  readonly nullable: boolean;
  readonly type: string;
  /** Type below domains. */
  readonly baseType: string;
  readonly maxLength: number | null;
  readonly default: string | null;
  readonly generated: boolean;
  readonly enumLabels: readonly string[];
}

/** A relationship between relations of exposed schemas. */
export interface ConsoleRelationship {
  readonly kind: RelationshipKind;
  readonly origin: readonly [schema: string, name: string];
  readonly foreign: readonly [schema: string, name: string];
  /** Whether the origin has the columns of the foreign key. */
  readonly isForward: boolean;
  /** Name that `select` takes to choose among several; the constraint, junction or function. */
  readonly hint: string;
  /** Pairs of columns of a foreign key; empty for others. */
  readonly pairs: readonly (readonly [origin: string, foreign: string])[];
  readonly junction: readonly [schema: string, name: string] | null;
}

/** A function of `/rpc`. */
export interface ConsoleFunction {
  readonly schema: string;
  readonly name: string;
  readonly comment: string | null;
  readonly volatility: "immutable" | "stable" | "volatile";
  readonly parameters: readonly {
    readonly name: string;
    readonly type: string;
    readonly required: boolean;
    readonly variadic: boolean;
  }[];
  /** Text such as `setof film` or `integer`. */
  readonly returns: string;
  /** Whether the result is a list of rows. */
  readonly isSet: boolean;
}
