/** Options of the admin server. @module */
import { isHostName } from "../checks.ts";
import { boolean, fileMode, list } from "../codecs.ts";
import { adminSecret } from "../secret.ts";
import { flag, option } from "./option.ts";
import { host, port, socketPath } from "./shared_codecs.ts";

export const adminOptions = {
  "admin-allowed-hosts": option({
    codec: list({ expected: "host names in quotes, separated by commas", check: isHostName }),
    default: null,
    doc: "Host names, besides `localhost` and IP addresses, that requests for the protected " +
      "paths of the admin server may have.",
    example: '"admin.example.com"',
    inDatabase: false,
  }),
  "admin-console-enabled": option({
    codec: boolean,
    default: true,
    doc: "Serves the console at `/` of the admin server.",
    example: "false",
    reloadable: false,
  }),
  "admin-server-host": option({
    codec: host,
    default: { sameAs: "server-host" },
    doc: "Host that the admin server binds to.",
    example: '"127.0.0.1"',
    reloadable: false,
    isOfPostgrest: true,
  }),
  "admin-server-port": option({
    codec: port,
    default: null,
    doc: "Port of the admin server, which runs only if it is set; must differ from `server-port`.",
    example: "3001",
    reloadable: false,
    isOfPostgrest: true,
  }),
  "admin-server-unix-socket": option({
    codec: socketPath,
    default: null,
    doc: "Unix socket of the admin server, instead of `admin-server-port`.",
    example: '"/run/svc/admin.sock"',
    reloadable: false,
    isOfPostgrest: true,
  }),
  "admin-server-unix-socket-mode": option({
    codec: fileMode("admin-server-unix-socket-mode"),
    default: 0o660,
    doc: "File mode of the admin server's Unix socket.",
    reloadable: false,
    isOfPostgrest: true,
  }),
  "admin-sign-in": flag({
    doc: "Makes the console sign tokens with `jwt-secret`, for roles that the login role may " +
      "take: on a machine whose users may act as each of them.",
    inDatabase: false,
  }),
  "admin-token": option({
    codec: adminSecret,
    default: null,
    doc: "Secret that requests for the protected paths of the admin server send as " +
      "`Admin-Token`, also from this machine; `@` and a path names a file that holds it.",
    example: '"@/run/secrets/admin_token"',
    inDatabase: false,
  }),
} as const;
