/** Reports the number of findings of a service: after its start, and after each reload with new
 * findings. @module */
import type { Config } from "../../../state/config/options.ts";
import { isLogged, type Observation } from "../../../base/observe/observation.ts";
import { type Finding, findingLine } from "./finding.ts";

export interface DiagnosedState {
  /** Reads the findings. Rejections are ignored, because the service reports a lost database itself. */
  readonly diagnose: () => Promise<readonly Finding[]>;
  readonly config: () => Pick<Config, "logLevel" | "logFindings" | "dialect">;
}

/** SQLSTATE of a load that fails because a schema is missing. A finding explains this failure. */
const missingSchema = "3F000";

/** Runs diagnoses one after the other. */
export class DiagnosisLog {
  /** Null before the start and after {@linkcode DiagnosisLog.stop}. */
  #appState: DiagnosedState | null = null;
  /** Lines of the findings of the previous diagnosis. */
  #lines: ReadonlySet<string> = new Set();
  #running: Promise<void> | null = null;
  #isRequested = false;
  /** Whether the last load of the schema cache has reached the catalogue. */
  #isReachable = false;

  constructor(private readonly observe: (event: Observation) => void) {}

  /** Runs a diagnosis now, and after each reload that {@linkcode take} receives. */
  start(appState: DiagnosedState): void {
    this.#appState = appState;
    this.#request();
  }

  /** Stops. A diagnosis in progress reports nothing. */
  stop(): void {
    this.#appState = null;
  }

  take(event: Observation): void {
    if (event.kind === "schema-cache-loaded") this.#isReachable = true;
    else if (event.kind === "schema-cache-failed") {
      this.#isReachable = event.error.code === missingSchema;
    } else if (event.kind !== "config-reloaded") return;
    this.#request();
  }

  /** Resolves when no diagnosis is in progress. */
  async settled(): Promise<void> {
    await this.#running;
  }

  /** Starts a diagnosis. If one is in progress, another one follows it. */
  #request(): void {
    if (this.#appState === null || !this.#isReachable) return;
    this.#isRequested = true;
    this.#running ??= this.#runAll().finally(() => this.#running = null);
  }

  async #runAll(): Promise<void> {
    while (this.#isRequested && this.#appState !== null) {
      this.#isRequested = false;
      try {
        if (isReported(this.#appState.config())) this.#report(await this.#appState.diagnose());
      } catch {
        // A failed diagnosis is not reported. The next reload diagnoses again.
      }
    }
  }

  #report(findings: readonly Finding[]): void {
    if (this.#appState === null) return;
    const lines = new Set(
      findings.filter(({ level }) => level !== "info").map(findingLine),
    );
    const hasNews = [...lines].some((line) => !this.#lines.has(line));
    if (hasNews) this.observe({ kind: "findings", count: lines.size });
    this.#lines = lines;
  }
}

function isReported({ logLevel, logFindings, dialect }: ReturnType<DiagnosedState["config"]>) {
  return logFindings && isLogged(dialect.findingsLevel, logLevel);
}
