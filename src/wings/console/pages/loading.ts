/// <reference lib="dom" />
/** Hooks that load data of the admin server, and responses of the API. @module */
import { useEffect, useRef, useState } from "preact/hooks";
import { type ApiAnswer, type ApiError, callApi, errorOf, readConsole } from "./api.ts";
import type { ApiCall } from "./code.ts";
import { guarded } from "./model.ts";
import { token } from "./session.ts";

/** Returns data of the admin server; null until it arrives. */
export function useConsole<Data>(path: string): Data | null {
  const [data, setData] = useState<Data | null>(null);
  useEffect(() => void guarded(async () => setData(await readConsole<Data>(path))), [path]);
  return data;
}

/** Runs a function now and then periodically (period in ms), until the component is removed. */
export function usePolling(run: () => void, periodMs: number, deps: readonly unknown[] = []): void {
  useEffect(() => {
    run();
    const timer = setInterval(() => document.hidden || run(), periodMs);
    return () => clearInterval(timer);
  }, deps as unknown[]);
}

/** Returns the newest entries of a list on the admin server, and adds later ones. */
export function useEntries<Entry extends { readonly id: number }>(
  path: "log" | "stats",
  { max, isPaused = false }: { readonly max: number; readonly isPaused?: boolean },
): readonly Entry[] {
  const [entries, setEntries] = useState<readonly Entry[]>([]);
  const last = useRef(0);
  const read = async () => {
    const next = await readConsole<readonly Entry[]>(`${path}?after=${last.current}`);
    if (next.length === 0) return;
    last.current = next.at(-1)!.id;
    setEntries((previous) => [...previous, ...next].slice(-max));
  };
  usePolling(() => isPaused || void guarded(read), 2000, [isPaused]);
  return entries;
}

/** The response to a request, or its error. */
export interface LoadedAnswer {
  /** Text of the request to which the response belongs. */
  readonly key: string;
  /** Null if the request failed. */
  readonly answer: ApiAnswer | null;
  readonly error: ApiError | null;
}

/** Sends each new request, and cancels the previous one. Sends nothing while `call` is null. */
export function useAnswer(
  call: ApiCall | null,
  deps: readonly unknown[] = [],
): { readonly loaded: LoadedAnswer | null; readonly isBusy: boolean } {
  const [loaded, setLoaded] = useState<LoadedAnswer | null>(null);
  const [isBusy, setBusy] = useState(true);
  const key = JSON.stringify(call);
  useEffect(() => {
    if (call === null) return;
    const controller = new AbortController();
    setBusy(true);
    void guarded(async () => {
      try {
        const answer = await callApi(call, controller.signal);
        const error = errorOf(answer);
        setLoaded({ key, error, answer: error === null ? answer : null });
        setBusy(false);
      } catch (thrown) {
        if (!controller.signal.aborted) throw thrown;
      }
    });
    return () => controller.abort();
  }, [key, token.value, ...deps]);
  return { loaded, isBusy };
}
