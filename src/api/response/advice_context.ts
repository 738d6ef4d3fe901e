/** The request and the state that hints depend on. @module */
import type { Config } from "../../state/config/options.ts";
import type { SchemaCacheData } from "../../state/schema_cache/schema_cache.ts";
import type { DataPlan } from "../transaction/data_plan.ts";
import type { RawRequest } from "../request/raw_request.ts";

export interface AdviceContext {
  readonly raw: RawRequest;
  /** Null when authentication failed. */
  readonly role: string | null;
  /** Null before the first load. Default: null. */
  readonly cache?: SchemaCacheData | null;
  /** Null before planning, and for a batch. The plan may be shared: its values may belong to another
   * request with the same query shape. Default: null. */
  readonly plan?: DataPlan | null;
  readonly config: Pick<
    Config,
    "dbReadOnly" | "dbSchemas" | "dbSchemaWatch" | "dbUri" | "dbPlanEnabled"
  >;
}
