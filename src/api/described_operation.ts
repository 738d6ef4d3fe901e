/** Permitted requests, as wings describe them to each other. @module */
import type { Schema } from "./response/openapi/v3_schemas.ts";
import type { DataPlan } from "./transaction/data_plan.ts";

/** A value of an operation that a client chooses. */
export interface OperationParameter {
  readonly name: string;
  readonly schema: Schema;
  /** Whether it is in a list or a group, where some characters need quotes. Default: it is not. */
  readonly isQuoted?: boolean;
  /** Value of a parameter that may be left out. Default: it is required. */
  readonly fallback?: number;
}

/** A permitted request. */
export interface DescribedOperation {
  readonly name: string;
  readonly roles: readonly string[];
  readonly method: string;
  /** Encoded. */
  readonly path: string;
  /** Query string with `{name}` for each parameter. */
  readonly template: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly parameters: readonly OperationParameter[];
  /** Null without a body. */
  readonly body: Schema | null;
  /** Null without a body, or if it is not JSON. */
  readonly result: Schema | null;
  /** With a value of each parameter. */
  readonly plan: DataPlan;
  /** Line of its file. */
  readonly line: number;
}

/** An operation without a plan, and the reason. */
export interface BrokenOperation extends Pick<DescribedOperation, "line" | "name" | "roles"> {
  readonly problem: string;
}

/** Returns the query string of an operation with values, by the names of its parameters. */
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
