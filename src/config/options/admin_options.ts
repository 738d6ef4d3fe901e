/**
 * Options of the admin server.
 *
 * @module
 */
import { isHostName } from "../checks.ts";
import { boolean, fileMode, list } from "../codecs.ts";
import { adminSecret } from "../secret.ts";
import { time } from "../units.ts";
import { option } from "./option.ts";
import { host, port, socketPath } from "./shared_codecs.ts";

export const adminOptions = {
  "admin-allowed-hosts": option({
    codec: list({
      expected: "host names in quotes, separated by commas",
      empty: "unset",
      check: isHostName,
    }),
    default: null,
    reloadable: true,
    inDatabase: false,
    doc:
      "Host names, besides `localhost` and IP addresses, that requests for the protected paths of " +
      "the admin server may have.",
    example: '"admin.example.com"',
    extension: true,
  }),
  "admin-console-enabled": option({
    codec: boolean,
    default: true,
    reloadable: false,
    inDatabase: false,
    doc: "Serves the console at `/` of the admin server.",
    example: "false",
    extension: true,
  }),
  "admin-server-host": option({
    codec: host,
    default: { sameAs: "server-host" },
    reloadable: false,
    inDatabase: false,
    doc: "Host that the admin server binds to.",
    example: '"127.0.0.1"',
  }),
  "admin-server-port": option({
    codec: port,
    default: null,
    reloadable: false,
    inDatabase: false,
    doc: "Port of the admin server, which runs only if it is set; must differ from `server-port`.",
    example: "3001",
  }),
  "admin-server-unix-socket": option({
    codec: socketPath,
    default: null,
    reloadable: false,
    inDatabase: false,
    doc: "Unix socket of the admin server, instead of `admin-server-port`.",
    example: '"/run/svc/admin.sock"',
  }),
  "admin-server-unix-socket-mode": option({
    codec: fileMode("admin-server-unix-socket-mode"),
    default: 0o660,
    reloadable: false,
    inDatabase: false,
    doc: "File mode of the admin server's Unix socket.",
    example: '"660"',
  }),
  "admin-slow-request": option({
    codec: time(),
    default: 1,
    reloadable: true,
    inDatabase: false,
    doc: "Duration from which the console lists a request as slow.",
    example: '"500ms"',
    extension: true,
  }),
  "admin-token": option({
    codec: adminSecret,
    default: null,
    reloadable: true,
    inDatabase: false,
    doc:
      "Secret that requests for the protected paths of the admin server send as `Admin-Token`, also " +
      "from this machine; `@` and a path names a file that holds it.",
    example: '"@/run/secrets/admin_token"',
    extension: true,
  }),
} as const;
