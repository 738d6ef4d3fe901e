/// <reference lib="dom" />
/** Views that the reader has saved, and the last requests of this browser. @module */
import { signal } from "@preact/signals";
import { useEffect, useState } from "preact/hooks";
import { type ApiAnswer, type ApiError, callApi, errorOf, isRecord } from "./api.ts";
import { type ApiCall, targetOf } from "./code.ts";
import { guarded } from "./model.ts";
import { token } from "./session.ts";

/** A page under a name. */
export interface SavedView {
  readonly name: string;
  /** Fragment of the page. */
  readonly href: string;
}

/** A request that this browser has sent. Its body is not kept. */
export interface SentRequest {
  readonly method: string;
  readonly target: string;
  readonly status: number;
  readonly ms: number;
  /** Epoch milliseconds. */
  readonly time: number;
  /** Page that sent it. */
  readonly href: string;
}

/** Makes a list that this browser keeps. */
function kept<Entry>(key: string) {
  const read = (): readonly Entry[] => {
    try {
      const value = JSON.parse(localStorage.getItem(key) ?? "[]");
      return Array.isArray(value) ? value.filter(isPage) : [];
    } catch {
      return [];
    }
  };
  const list = signal(read());
  const write = (entries: readonly Entry[]) => {
    list.value = entries;
    localStorage.setItem(key, JSON.stringify(entries));
  };
  return { list, write };
}

/** Whether an entry is a page of the console: other programs may have had this origin before. */
function isPage(entry: unknown): boolean {
  if (!isRecord(entry)) return false;
  const values = [entry["href"], entry["name"] ?? entry["target"]];
  return values.every((value) => typeof value === "string") && /^#\//.test(String(values[0]));
}

const views = kept<SavedView>("svc-views");
const requests = kept<SentRequest>("svc-requests");

export const savedViews = views.list;
export const sentRequests = requests.list;

/** Saves the current page. A view of the same name is replaced. */
export function saveView(name: string): void {
  const others = savedViews.value.filter((view) => view.name !== name);
  views.write([...others, { name, href: location.hash }]);
}

export function removeView(name: string): void {
  views.write(savedViews.value.filter((view) => view.name !== name));
}

const maxRequests = 20;

/** Sends a request for the reader, and remembers it. */
export async function sendCall(call: ApiCall, signal?: AbortSignal): Promise<ApiAnswer> {
  const answer = await callApi(call, signal);
  const entry: SentRequest = {
    method: call.method,
    target: targetOf(call),
    status: answer.status,
    ms: answer.ms,
    time: Date.now(),
    href: location.hash,
  };
  const isSame = ({ method, target }: SentRequest) =>
    method === entry.method && target === entry.target;
  requests.write(
    [entry, ...sentRequests.value.filter((each) => !isSame(each))].slice(0, maxRequests),
  );
  return answer;
}

/** The answer to a request; the error of one that failed. */
export interface LoadedAnswer {
  /** Text of the request that the answer belongs to. */
  readonly key: string;
  /** Null beside an error. */
  readonly answer: ApiAnswer | null;
  readonly error: ApiError | null;
}

/** Sends a request after each change, and cancels the one before. Null sends none. */
export function useAnswer(
  call: ApiCall | null,
  send: typeof sendCall,
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
        const answer = await send(call, controller.signal);
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
