/**
 * Where tenants come from: the port between the registry and a folder or a relation.
 *
 * @module
 */
import type { TenantDefinition } from "./tenant_config.ts";

/** The tenants and their configurations. */
export interface TenantSource {
  /** Returns the names of all tenants. Rejects with an `Error` if they cannot be read. */
  names(): Promise<readonly string[]>;
  /** Returns the definition of a tenant; null for an unknown one. Throws an `Error` if it cannot be read. */
  read(name: string): TenantDefinition | null;
  /** Returns the version of a tenant's definition; null for an unknown one. */
  versionOf(name: string): string | null;
  /** Whether tenants can be found. */
  isReady(): boolean;
  /** Reads the tenants again. */
  reload(): Promise<void>;
  /** Calls the function whenever definitions may have changed, from now on. */
  start(onChange: () => void): void;
  close(): Promise<void>;
}
