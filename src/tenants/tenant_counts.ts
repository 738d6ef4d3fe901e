/** Counts requests by tenant, with a label for the busiest ones only. @module */
import { decimal, headText, labelText, otherLabel } from "../observe/metric_registry.ts";

/** Tenants with a label of their own. */
const maxLabelled = 50;

/** Tenants whose requests are compared. */
const maxCompared = 10_000;

/** Requests and their time; the time is in seconds. */
interface Series {
  readonly label: string;
  requests: number;
  failures: number;
  seconds: number;
}

interface Compared {
  /** Requests since the last comparison, and half of those before. */
  recent: number;
  series: Series | null;
}

/**
 * Counts the requests of tenants. Each reading of the metrics compares the tenants. A series counts from
 * the moment on at which its tenant is among the busiest, so that no count ever falls.
 */
export class TenantCounts {
  readonly #tenants = new Map<string, Compared>();
  readonly #others = newSeries(otherLabel);

  /** Counts a response. */
  record(
    tenant: string,
    { status, seconds }: { readonly status: number; readonly seconds: number },
  ) {
    const series = this.#seriesOf(tenant);
    series.requests++;
    series.seconds += seconds;
    if (status >= 500) series.failures++;
  }

  #seriesOf(tenant: string): Series {
    const known = this.#tenants.get(tenant);
    if (known !== undefined) {
      known.recent++;
      return known.series ?? this.#others;
    }
    if (this.#tenants.size >= maxCompared) return this.#others;
    const series = this.#tenants.size < maxLabelled ? newSeries(tenant) : null;
    this.#tenants.set(tenant, { recent: 1, series });
    return series ?? this.#others;
  }

  /** Returns the metrics; their names begin with `prefix` and an underscore. */
  text(prefix: string): string {
    this.#compare();
    const labelled = Array.from(this.#tenants.values(), ({ series }) => series)
      .filter((series) => series !== null);
    const all = [...labelled, this.#others];
    const counter = (name: string, help: string, read: (series: Series) => number) =>
      headText({ name: `${prefix}_${name}`, help }, "counter") +
      all.map((series) =>
        `${prefix}_${name}${labelText(["tenant"], [series.label])} ${decimal(read(series))}\n`
      ).join("");
    return counter("tenant_requests_total", "Requests by tenant", ({ requests }) => requests) +
      counter(
        "tenant_failed_requests_total",
        "Responses by tenant with a status of 500 or above",
        ({ failures }) => failures,
      ) +
      counter(
        "tenant_request_seconds_total",
        "Time to the head of the responses by tenant",
        ({ seconds }) => seconds,
      );
  }

  /** Gives the busiest tenants a label, and forgets those without requests. */
  #compare(): void {
    const sorted = [...this.#tenants].toSorted(([, a], [, b]) => b.recent - a.recent);
    for (const [position, [tenant, compared]] of sorted.entries()) {
      if (position >= maxLabelled) compared.series = null;
      else compared.series ??= newSeries(tenant);
      compared.recent /= 2;
      if (position >= maxLabelled && compared.recent < 0.5) this.#tenants.delete(tenant);
    }
  }
}

function newSeries(label: string): Series {
  return { label, requests: 0, failures: 0, seconds: 0 };
}
