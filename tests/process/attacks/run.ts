/** Attacks a service without guards and with them, and prints a table in Markdown: the outcome for
 * the attacker, and the latency of a normal client before and during the attack. Arguments choose
 * attacks by parts of their names, and `--short` measures for less time. @module */
import type { FileConfig } from "../../support/server/process.ts";
import { openPlace } from "../faults/place.ts";
import type { Attack, Issuer } from "./attack.ts";
import { attacks } from "./attacks.ts";
import { type Latencies, measureClient } from "./normal_client.ts";

/** Milliseconds for which the normal client is measured. */
const durations = {
  short: { before: 1000, during: 3000 },
  full: { before: 3000, during: 8000 },
} as const;

/** The outcome of one attack on one service. */
interface Outcome {
  readonly attacker: string;
  readonly before: Latencies;
  readonly during: Latencies;
}

/** Runs the chosen attacks. Returns the exit code. */
async function run(args: readonly string[]): Promise<number> {
  const scale = args.includes("--short") ? "short" : "full";
  const words = args.filter((arg) => !arg.startsWith("--"));
  const chosen = attacks
    .filter(({ name }) => words.length === 0 || words.some((word) => name.includes(word)));
  if (chosen.length === 0) return 1;
  const rows: string[][] = [
    ["attack", "guards", "attacker", "p99 before", "p99 during", "failed requests"],
  ];
  for (const attack of chosen) {
    for (const guarded of [false, true]) {
      await using issuer = await attack.openIssuer?.() ?? null;
      const ofIssuer = guarded ? issuer?.guarded : issuer?.unguarded;
      const options = { ...(guarded ? attack.guards : {}), ...ofIssuer };
      const label = guarded ? guardsText(options) : "off";
      console.error(`${attack.name}, ${label}...`);
      const outcome = await attackOnce(attack, { options, issuer, scale });
      rows.push([attack.name, label, ...outcomeCells(outcome)]);
    }
  }
  console.log(markdownTable(rows));
  return 0;
}

async function attackOnce(
  attack: Attack,
  { options, issuer, scale }: {
    readonly options: FileConfig;
    readonly issuer: Issuer | null;
    readonly scale: keyof typeof durations;
  },
): Promise<Outcome> {
  const { sql = "", config = {}, descriptors } = attack;
  await using place = await openPlace({ sql, config: { ...config, ...options } });
  if (descriptors !== undefined) await limitDescriptors(place.service.pid, descriptors);
  const { port } = place;
  const before = await measureClient(port, durations[scale].before);
  const running = await attack.start(place, issuer);
  await running.underway;
  const during = await measureClient(port, durations[scale].during);
  return { attacker: await running.stop(), before, during };
}

async function limitDescriptors(pid: number, count: number): Promise<void> {
  const args = ["--pid", String(pid), `--nofile=${count}:${count}`];
  const { success, stderr } = await new Deno.Command("prlimit", { args }).output();
  if (!success) throw new Error(new TextDecoder().decode(stderr));
}

function guardsText(guards: FileConfig): string {
  return Object.entries(guards).map(([key, value]) => `\`${key} = ${value}\``).join(", ");
}

function outcomeCells({ attacker, before, during }: Outcome): string[] {
  const milliseconds = ({ p99 }: Latencies) => `${p99.toFixed(p99 < 100 ? 1 : 0)} ms`;
  return [
    attacker,
    milliseconds(before),
    milliseconds(during),
    `${during.failed} of ${during.requests}`,
  ];
}

function markdownTable([head = [], ...rows]: readonly (readonly string[])[]): string {
  const line = (cells: readonly string[]) => `| ${cells.join(" | ")} |`;
  return [line(head), line(head.map(() => "---")), ...rows.map(line)].join("\n");
}

Deno.exit(await run(Deno.args));
