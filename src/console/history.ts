/// <reference lib="dom" />
/** Views that the reader has saved, and the last requests of this browser. @module */
import { signal } from "@preact/signals";
import { type ApiAnswer, callApi, isRecord } from "./api.ts";
import { type ApiCall, targetOf } from "./code.ts";

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
