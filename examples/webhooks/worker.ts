/**
 * Sends the events of `webhooks` to their receivers, signed as Standard Webhooks describes:
 *
 *     API=https://api.example.com TOKEN=… WEBHOOK_SECRET=whsec_… deno run -A worker.ts
 *
 * @module
 */
import { Webhook } from "standardwebhooks";

type Claim = Readonly<{ id: string; url: string; event: unknown }>;

/** Sends the events that are due. Returns how many the receivers have accepted. */
export async function sendDue(api: string, token: string, secret: string): Promise<number> {
  const headers = { Authorization: `Bearer ${token}`, Prefer: "return=representation" };
  // An event whose worker stops is due again after a minute.
  const later = new Date(Date.now() + 60_000).toISOString();
  const query = "due=lt.now&attempts=lt.20&order=due,id&limit=20&lock=skip&select=id,url,event";
  const claim = await fetch(`${api}/webhooks?${query}`, {
    method: "PATCH",
    headers: { ...headers, "Content-Type": "application/vnd.svc.patch+json" },
    body: JSON.stringify([
      { op: "set", path: "/due", value: later },
      { op: "incr", path: "/attempts", value: 1 },
    ]),
  });
  if (!claim.ok) throw new Error(await claim.text());
  const claims: readonly Claim[] = await claim.json();
  const accepted = await Promise.all(claims.map(async (each) => {
    if (!await isAccepted(each, secret)) return false;
    const gone = await fetch(`${api}/webhooks?id=eq.${each.id}`, { method: "DELETE", headers });
    await gone.body?.cancel();
    return true;
  }));
  return accepted.filter(Boolean).length;
}

async function isAccepted({ id, url, event }: Claim, secret: string): Promise<boolean> {
  const body = JSON.stringify(event);
  const at = new Date();
  const headers = {
    "Content-Type": "application/json",
    "webhook-id": id,
    "webhook-timestamp": String(Math.floor(at.getTime() / 1000)),
    "webhook-signature": new Webhook(secret).sign(id, at, body),
  };
  const signal = AbortSignal.timeout(30_000);
  const answer = await fetch(url, { method: "POST", headers, body, signal, redirect: "error" })
    .catch(() => null);
  await answer?.body?.cancel();
  return answer?.ok === true;
}

if (import.meta.main) {
  const { API = "", TOKEN = "", WEBHOOK_SECRET = "" } = Deno.env.toObject();
  for (;;) {
    const sent = await sendDue(API, TOKEN, WEBHOOK_SECRET);
    if (sent === 0) await new Promise((resolve) => setTimeout(resolve, 1000));
  }
}
