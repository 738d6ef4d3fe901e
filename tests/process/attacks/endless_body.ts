/** Bodies that never end. */
import { delay } from "../../support/timing/delay.ts";
import { memoryOf, resetPeak } from "../../support/server/process_memory.ts";
import { RawClient } from "../../support/clients/raw_client.ts";
import { type Attack, attackers, Counter } from "./attack.ts";

const head = "POST /marks HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n" +
  "Transfer-Encoding: chunked\r\n\r\n";
const pieceBytes = 64 * 1024;
const piece = `${pieceBytes.toString(16)}\r\n${" ".repeat(pieceBytes)}\r\n`;
const pauseMs = 10;

export const endlessBody: Attack = {
  name: "endless body",
  guards: { "server-max-body-size": "1m", "server-body-timeout": "5s" },
  start: async ({ port, service: { pid } }) => {
    const answers = new Counter();
    let sent = 0;
    let isStopping = false;
    const memory = await memoryOf(pid, "VmRSS");
    await resetPeak(pid);
    const running = attackers(5, async () => {
      using client = await RawClient.connect(port);
      let answer: string | null = null;
      void client.read("}").then((text) => answer = text);
      await client.send(head);
      while (!isStopping && answer === null) {
        await client.send(piece).catch(() => answer ??= "");
        sent += pieceBytes;
        await delay(pauseMs);
      }
      if (!isStopping) answers.add(String(answer).slice("HTTP/1.1 ".length, 12) || "closed");
    });
    return {
      underway: Promise.resolve(),
      stop: async () => {
        const grown = await memoryOf(pid, "VmHWM") - memory;
        isStopping = true;
        await running.stop();
        const megabytes = (bytes: number) => `${Math.round(bytes / 1e6)} MB`;
        return `${megabytes(sent)} sent, answers: ${answers.text()}; memory +${megabytes(grown)}`;
      },
    };
  },
};
