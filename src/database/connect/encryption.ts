/**
 * How a connection is encrypted, in the words of `node:tls`.
 *
 * Source: PostgreSQL documentation, "SSL Support" of libpq.
 *
 * @module
 */
import type { ConnectionParameters } from "./connection_parameters.ts";

/** Reads a file whose path an option has. Throws an `Error` when that is not possible. */
export type ReadFile = (path: string) => string;

/** Options of `tls.connect`; false for none. */
export type Encryption = false | Readonly<Record<string, unknown>>;

/**
 * Returns the encryption that the options ask for; undefined when they do not mention it. A server is
 * known by the runtime's certificate authorities unless `sslrootcert` names a file.
 *
 * Throws an `Error` when options contradict each other or a file cannot be read.
 */
export function encryptionOf(
  options: ConnectionParameters,
  readFile: ReadFile,
): Encryption | undefined {
  const mode = modeOf(options);
  if (options.get("sslnegotiation") === "direct" && isWeak(mode)) {
    throw new Error(
      `weak sslmode "${mode}" may not be used with sslnegotiation=direct ` +
        '(use "require", "verify-ca", or "verify-full")',
    );
  }
  if (mode === undefined) return undefined;
  if (mode === "disable" || mode === "allow") return false;
  const root = rootOf(options, mode, readFile);
  return {
    ...certificateOf(options, readFile),
    ...(root === null ? {} : { ca: root }),
    ...(options.has("sslcrl") ? { crl: readFile(options.get("sslcrl")!) } : {}),
    ...versionsOf(options),
    ...verificationOf(mode, root !== null),
  };
}

const verifyAll = "verify-full";

/** Options that make sense with encryption only ask for it, and for a server that is known. */
function modeOf(options: ConnectionParameters): string | undefined {
  const impliesEncryption = options.has("sslcert") || options.has("sslkey") ||
    options.has("sslrootcert") || options.get("sslnegotiation") === "direct";
  return options.get("sslmode") ?? (impliesEncryption ? verifyAll : undefined);
}

function isWeak(mode: string | undefined): boolean {
  return mode === "disable" || mode === "allow" || mode === "prefer";
}

/** Returns the certificates of authorities; null for those of the runtime. */
function rootOf(options: ConnectionParameters, mode: string, readFile: ReadFile): string | null {
  const root = options.get("sslrootcert");
  if (root === "system") {
    if (mode === verifyAll) return null;
    throw new Error(
      `weak sslmode "${mode}" may not be used with sslrootcert=system (use "${verifyAll}")`,
    );
  }
  if (root !== undefined) return readFile(root);
  if (mode !== "verify-ca") return null;
  // A public authority certifies others' servers as well.
  throw new Error('sslmode "verify-ca" needs sslrootcert');
}

/** `require` looks at the certificate if it has something to compare it with, as in libpq. */
function verificationOf(mode: string, hasRoot: boolean): Readonly<Record<string, unknown>> {
  if (mode === verifyAll) return {};
  if (mode === "verify-ca" || (mode === "require" && hasRoot)) {
    return { checkServerIdentity: () => undefined };
  }
  return { rejectUnauthorized: false };
}

function certificateOf(
  options: ConnectionParameters,
  readFile: ReadFile,
): Readonly<Record<string, unknown>> {
  const [cert, key] = [options.get("sslcert"), options.get("sslkey")];
  if (options.get("sslcertmode") === "disable") return {};
  return {
    ...(cert === undefined ? {} : { cert: readFile(cert) }),
    ...(key === undefined ? {} : { key: readFile(key) }),
    ...(options.has("sslpassword") ? { passphrase: options.get("sslpassword") } : {}),
  };
}

function versionsOf(options: ConnectionParameters): Readonly<Record<string, unknown>> {
  const versionOf = (keyword: string) => options.get(keyword)?.replace(/^tls/i, "TLS");
  const [min, max] = [versionOf("ssl_min_protocol_version"), versionOf("ssl_max_protocol_version")];
  if (min !== undefined && max !== undefined && min > max) {
    throw new Error("invalid SSL protocol version range");
  }
  return {
    ...(min === undefined ? {} : { minVersion: min }),
    ...(max === undefined ? {} : { maxVersion: max }),
  };
}
