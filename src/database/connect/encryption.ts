/** Maps libpq's SSL parameters to options of `node:tls`. @module */
import type { ConnectionParameters } from "./connection_parameters.ts";

/** Reads the file that a parameter names. Throws an `Error` if that fails. */
export type ReadFile = (path: string) => string;

/** Options of `tls.connect`; false if no connection is encrypted. */
export type Encryption = false | Readonly<Record<string, unknown>>;

/**
 * Returns the encryption that the parameters request. The runtime's certificate authorities verify the server unless `sslrootcert` names a file.
 *
 * Throws an `Error` if parameters contradict each other or a file cannot be read.
 */
export function encryptionOf(
  options: ConnectionParameters,
  readFile: ReadFile,
): Encryption {
  const mode = sslModeOf(options);
  if (options.get("sslnegotiation") === "direct" && isWeak(mode)) {
    throw new Error(
      `weak sslmode "${mode}" may not be used with sslnegotiation=direct ` +
        '(use "require", "verify-ca", or "verify-full")',
    );
  }
  if (mode === "disable") return false;
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

/** Returns the `sslmode`. If it is absent, parameters that need encryption imply `verify-full`. */
export function sslModeOf(options: ConnectionParameters): string {
  const impliesEncryption = options.has("sslcert") || options.has("sslkey") ||
    options.has("sslrootcert") || options.get("sslnegotiation") === "direct";
  return options.get("sslmode") ?? (impliesEncryption ? verifyAll : "prefer");
}

function isWeak(mode: string): boolean {
  return mode === "disable" || mode === "allow" || mode === "prefer";
}

/** Returns the certificates of the authorities; null for the list of the runtime. */
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
  // Without `sslrootcert`, public authorities apply, which certify servers of any owner.
  throw new Error('sslmode "verify-ca" needs sslrootcert');
}

/** Returns how the certificate is verified. `require` verifies it only if `sslrootcert` is present,
 * as in libpq. */
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
