#!/usr/bin/env node
// The program `svc`. Node before 20.16 can parse this file, but not the program.

const [major, minor] = process.versions.node.split(".").map(Number);
if (typeof Deno !== "undefined") {
  await import("../dist/main.deno.js");
} else if (major > 20 || (major === 20 && minor >= 16)) {
  await import("../dist/main.node.js");
} else {
  console.error(`svc: needs Node 20.16 or later; this is ${process.versions.node}`);
  process.exitCode = 1;
}
