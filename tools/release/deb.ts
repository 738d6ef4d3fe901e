/** Makes Debian packages of the executables for Linux
 * (https://www.debian.org/doc/debian-policy/ch-controlfields.html). @module */
import { cp } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { wingOptions } from "../../src/process/wings.ts";
import { exampleFile } from "../../src/state/config/print.ts";

const root = fileURLToPath(new URL("../../", import.meta.url));

/** Debian's names of architectures, by target of `deno compile`. */
export const debArchitectures: ReadonlyMap<string, string> = new Map([
  ["x86_64-unknown-linux-gnu", "amd64"],
  ["aarch64-unknown-linux-gnu", "arm64"],
]);

export interface DebOptions {
  readonly executable: string;
  readonly architecture: string;
  readonly version: string;
  /** Modification time of all files, in epoch seconds. */
  readonly seconds: number;
}

const control = ({ architecture, version }: DebOptions) =>
  `Package: svc
Version: ${version}
Architecture: ${architecture}
Maintainer: svc maintainers <maintainers@users.noreply.github.com>
Section: net
Priority: optional
Depends: libc6, passwd
Description: REST API over PostgreSQL
 svc turns the tables, views and functions of a database into a REST API.
`;

/** The script after the installation. `DPKG_ROOT` is empty, or the root folder of another system. */
const postinst = `#!/bin/sh
set -e
if [ "$1" = configure ]; then
  grep -q '^svc:' "$DPKG_ROOT/etc/passwd" || useradd --prefix "$DPKG_ROOT/" --system --user-group \\
    --no-create-home --home-dir /nonexistent --shell /usr/sbin/nologin svc
  group=$(sed -n 's/^svc:[^:]*:\\([0-9]*\\).*/\\1/p' "$DPKG_ROOT/etc/group")
  chgrp "$group" "$DPKG_ROOT/etc/svc/svc.conf"
fi
if [ -z "$DPKG_ROOT" ] && [ -d /run/systemd/system ]; then
  systemctl daemon-reload
  [ -z "$2" ] || systemctl try-restart svc.service
fi
`;

const prerm = `#!/bin/sh
set -e
if [ "$1" = remove ] && [ -z "$DPKG_ROOT" ] && [ -d /run/systemd/system ]; then
  systemctl disable --now svc.service
fi
`;

/** Writes a package. Rejects if `dpkg-deb` fails. */
export async function makeDeb(options: DebOptions, path: string): Promise<void> {
  const work = await Deno.makeTempDir({ prefix: "svc_deb_" });
  const place = async (name: string, mode: number, text: string | { readonly from: string }) => {
    const target = join(work, name);
    await Deno.mkdir(join(target, ".."), { recursive: true, mode: 0o755 });
    if (typeof text === "string") await Deno.writeTextFile(target, text);
    else await cp(text.from, target);
    await Deno.chmod(target, mode);
    await Deno.utime(target, options.seconds, options.seconds);
  };
  try {
    await Deno.chmod(work, 0o755);
    await place("DEBIAN/control", 0o644, control(options));
    await place("DEBIAN/conffiles", 0o644, "/etc/svc/svc.conf\n");
    await place("DEBIAN/postinst", 0o755, postinst);
    await place("DEBIAN/prerm", 0o755, prerm);
    await place("usr/bin/svc", 0o755, { from: options.executable });
    const unit = join(root, "examples", "deploy", "svc.service");
    await place("usr/lib/systemd/system/svc.service", 0o644, { from: unit });
    await place("usr/share/doc/svc/copyright", 0o644, { from: join(root, "LICENSE") });
    await place("etc/svc/svc.conf", 0o640, exampleFile(wingOptions));
    const { success, stderr } = await new Deno.Command("dpkg-deb", {
      args: ["--root-owner-group", "-Zxz", "--build", work, path],
      env: { SOURCE_DATE_EPOCH: String(options.seconds) },
    }).output();
    if (!success) throw new Error(`dpkg-deb failed: ${new TextDecoder().decode(stderr)}`);
  } finally {
    await Deno.remove(work, { recursive: true });
  }
}
