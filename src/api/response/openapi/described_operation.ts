/** Permitted requests, in the form that wings share. @module */
import type { Schema } from "./v3_schemas.ts";
import type { DataPlan } from "../../transaction/data_plan.ts";

/** A value of an operation that clients choose. */
export interface OperationParameter {
  readonly name: string;
  readonly schema: Schema;
  /** Whether the value is part of a list or a group, where some characters need quotes. Default: false. */
  readonly isQuoted?: boolean;
  /** Value if the parameter is omitted. Default: the parameter is required. */
  readonly fallback?: number;
}

/** A permitted request. */
export interface DescribedOperation {
  readonly name: string;
  readonly roles: readonly string[];
  readonly method: string;
  /** Path, percent-encoded. */
  readonly path: string;
  /** Query string with `{name}` as placeholder of each parameter. */
  readonly template: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly parameters: readonly OperationParameter[];
  /** Null without a body. */
  readonly body: Schema | null;
  /** Null if there is no body, or if it is not JSON. */
  readonly result: Schema | null;
  /** Plan of the request with a sample value for each parameter. */
  readonly plan: DataPlan;
  /** Line of the file that contains the operation. */
  readonly line: number;
}

/** An operation that cannot be planned, and the reason. */
export interface BrokenOperation extends Pick<DescribedOperation, "line" | "name" | "roles"> {
  readonly problem: string;
}

/** Returns the query string of an operation. `values` are by name of the parameter. */
export function fillTemplate(
  { template, parameters }: Pick<DescribedOperation, "parameters" | "template">,
  values: Readonly<Record<string, unknown>>,
): string {
  return template.replaceAll(/\{(\w+)\}/g, (_, name: string) => {
    const { isQuoted = false, fallback = "" } = parameters.find((each) => each.name === name) ?? {};
    const texts = [values[name] ?? fallback].flat().map((value) =>
      typeof value === "object" ? JSON.stringify(value) : String(value)
    );
    const parts = isQuoted ? texts.map((text) => `"${text.replaceAll(/["\\]/g, "\\$&")}"`) : texts;
    return encodeURIComponent(parts.join(",").toWellFormed());
  });
}
