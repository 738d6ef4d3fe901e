import { deepStrictEqual, match, ok, strictEqual } from "node:assert/strict";
import { configSource, noValues } from "../../src/config/source.ts";
import { adminListenAddress, apiListenAddress } from "../../src/server/listen_address.ts";

const deploy = new URL("../../examples/deploy/", import.meta.url);

function read(name: string): string {
  return Deno.readTextFileSync(new URL(name, deploy));
}

Deno.test("the compose file configures a service that can be asked whether it is ready", () => {
  const text = read("compose.yaml");
  ok(!text.includes("\t"));
  const given = text.matchAll(/^ {6}(SVC_\w+): "?([^"\n]*)"?$/gm);
  const environment = Object.fromEntries(Array.from(given, ([, name, value]) => [name!, value!]));
  const source = configSource({
    file: null,
    environment,
    readFile: () => {
      throw new Error("no file is named");
    },
  });
  const config = source.configure(noValues);
  deepStrictEqual(apiListenAddress(config), {
    kind: "tcp",
    host: "0.0.0.0",
    port: 3000,
    reusePort: false,
  });
  deepStrictEqual(adminListenAddress(config), {
    kind: "tcp",
    host: "127.0.0.1",
    port: 3001,
    reusePort: false,
  });
  const uri = new URL(config.dbUri);
  deepStrictEqual([uri.hostname, uri.username], ["db", "authenticator"]);
  const roles = read("init/roles.sql");
  match(roles, new RegExp(`role ${uri.username} login noinherit password '${uri.password}'`));
  match(roles, new RegExp(`create role ${config.dbAnonRole} `));
  match(roles, new RegExp(`create schema ${config.dbSchemas[0]}`));
  for (const name of ["svc", "db", "data"]) match(text, new RegExp(`^ *${name}:$`, "m"));
});

Deno.test("the image runs as a user of its own and names its port", () => {
  const stages = read("Containerfile").split(/^FROM /m);
  const last = stages.at(-1)!;
  match(last, /^USER 1000:1000$/m);
  match(last, /^EXPOSE 3000\/tcp$/m);
  match(last, /^CMD \["\/bin\/svc"\]$/m);
  match(stages.at(-2)!, /^RUN deno task compile$/m);
});

Deno.test("the unit starts, reloads and limits the service as it should", () => {
  const text = read("svc.service");
  const sections: Record<string, Record<string, string>> = {};
  let section: Record<string, string> = {};
  for (const line of text.split("\n").filter((line) => !/^(#.*)?$/.test(line))) {
    const head = /^\[(\w+)\]$/.exec(line)?.[1];
    const pair = /^(\w+)=(.*)$/.exec(line);
    ok(head !== undefined || pair !== null, line);
    if (head !== undefined) sections[head] = section = {};
    else section[pair![1]!] = pair![2]!;
  }
  deepStrictEqual(Object.keys(sections), ["Unit", "Service", "Install"]);
  const { User, Group, ExecStart, ExecReload, LimitNOFILE } = sections["Service"]!;
  deepStrictEqual({ User, Group, ExecStart, ExecReload, LimitNOFILE }, {
    User: "svc",
    Group: "svc",
    ExecStart: "/bin/svc /etc/svc/config",
    ExecReload: "/bin/kill -SIGUSR1 $MAINPID",
    LimitNOFILE: "10000",
  });
  strictEqual(sections["Install"]!["WantedBy"], "multi-user.target");
});

/** Where a program is; null when it is not installed. */
async function found(program: string): Promise<string | null> {
  const args = ["-c", `PATH=$PATH:/usr/sbin command -v ${program}`];
  const { stdout, success } = await new Deno.Command("sh", { args }).output();
  return success ? new TextDecoder().decode(stdout).trim() : null;
}

const [nginx, openssl] = await Promise.all([found("nginx"), found("openssl")]);

Deno.test({
  name: "nginx understands its example",
  ignore: nginx === null || openssl === null,
  fn: async () => {
    const folder = await Deno.makeTempDir({ prefix: "svc_nginx_" });
    try {
      await run(openssl!, [
        ..."req -x509 -newkey rsa:2048 -nodes -days 1 -subj /CN=example.com".split(" "),
        ...["-keyout", `${folder}/key`, "-out", `${folder}/certificate`],
      ]);
      const site = read("nginx.conf")
        .replace("/etc/ssl/certs/example.com.pem", `${folder}/certificate`)
        .replace("/etc/ssl/private/example.com.key", `${folder}/key`)
        .replace("/var/cache/nginx/svc", `${folder}/cache`);
      const whole = `pid ${folder}/pid; error_log stderr; events {} http { ${site} }`;
      await Deno.writeTextFile(`${folder}/nginx.conf`, whole);
      await run(nginx!, ["-t", "-p", folder, "-c", `${folder}/nginx.conf`]);
    } finally {
      await Deno.remove(folder, { recursive: true });
    }
  },
});

async function run(program: string, args: readonly string[]): Promise<void> {
  const { success, stderr } = await new Deno.Command(program, { args: [...args] }).output();
  ok(success, new TextDecoder().decode(stderr));
}
