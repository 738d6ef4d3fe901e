/** Opens a page in the user's browser. @module */
import { spawn } from "node:child_process";
import process from "node:process";

/** Commands that open a page, by platform. */
const commands: Readonly<Record<string, readonly string[]>> = {
  darwin: ["open"],
  win32: ["cmd", "/c", "start", ""],
};

/** Opens a page. A failure is ignored, because a machine may have no browser. */
export function openBrowser(url: string): void {
  const [command = "xdg-open", ...args] = commands[process.platform] ?? ["xdg-open"];
  try {
    const child = spawn(command, [...args, url], { stdio: "ignore", detached: true });
    child.on("error", () => {});
    child.unref();
  } catch {
    // A failure is ignored: the program may have no permission to run other programs.
  }
}
