/** Receives traces as OTLP over HTTP in JSON. @module */

/** A span as it came. */
export interface Span {
  readonly name: string;
  readonly traceId: string;
  readonly spanId: string;
  /** Empty for the first of a trace. */
  readonly parentSpanId: string;
  /** 1 for internal ones, 2 for spans of a server. */
  readonly kind: number;
  readonly startTimeUnixNano: string;
  readonly endTimeUnixNano: string;
}

/** Listens until it is disposed of. */
export interface SpanReceiver extends AsyncDisposable {
  /** The environment of a process that is to send here. */
  readonly env: Readonly<Record<string, string>>;
  readonly spans: readonly Span[];
  /** All that came, as text. */
  readonly texts: readonly string[];
  /** Resolves with the spans as soon as they are what is waited for. */
  waitFor(isThere: (spans: readonly Span[]) => boolean): Promise<void>;
}

interface TracesRequest {
  readonly resourceSpans: readonly {
    readonly scopeSpans: readonly { readonly spans: readonly Span[] }[];
  }[];
}

/** Starts one on a free port. */
export function receiveSpans(): SpanReceiver {
  const spans: Span[] = [];
  const texts: string[] = [];
  const came = new EventTarget();
  const server = Deno.serve({ hostname: "127.0.0.1", port: 0, onListen() {} }, async (request) => {
    const text = await request.text();
    texts.push(text);
    if (new URL(request.url).pathname === "/v1/traces") {
      const { resourceSpans }: TracesRequest = JSON.parse(text);
      for (const { scopeSpans } of resourceSpans) {
        for (const scope of scopeSpans) spans.push(...scope.spans);
      }
      came.dispatchEvent(new Event("spans"));
    }
    return new Response("{}", { headers: { "Content-Type": "application/json" } });
  });
  return {
    env: {
      OTEL_DENO: "true",
      OTEL_EXPORTER_OTLP_PROTOCOL: "http/json",
      OTEL_EXPORTER_OTLP_ENDPOINT: `http://127.0.0.1:${server.addr.port}`,
      OTEL_BSP_SCHEDULE_DELAY: "100",
      OTEL_DENO_CONSOLE: "ignore",
    },
    spans,
    texts,
    waitFor: async (isThere) => {
      while (!isThere(spans)) {
        await new Promise((resolve) => came.addEventListener("spans", resolve, { once: true }));
      }
    },
    [Symbol.asyncDispose]: () => server.shutdown(),
  };
}
