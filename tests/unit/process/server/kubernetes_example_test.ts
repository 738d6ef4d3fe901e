/** The values of `examples/deploy/kubernetes.yaml` that depend on each other. */
import { deepStrictEqual, ok, strictEqual } from "node:assert/strict";
import { loadAll } from "js-yaml";
import { noValues } from "../../../../src/state/config/load.ts";
import { configSource } from "../../../../src/state/config/source.ts";
import { adminListenAddress, apiListenAddress } from "../../../../src/process/listen_address.ts";
import { testSecret } from "../../../support/handler/token.ts";
import { wingOptions } from "../../../../src/process/wings.ts";

/** Any value of a YAML document. */
// deno-lint-ignore no-explicit-any
type Document = any;

const file = new URL("../../../../examples/deploy/kubernetes.yaml", import.meta.url);
const documents = loadAll(Deno.readTextFileSync(file)) as readonly Document[];

function find(kind: string): Document {
  return documents.find((document) => document.kind === kind);
}

const deployment = find("Deployment").spec;
const pod = deployment.template.spec;
const [container] = pod.containers;

const secrets: Readonly<Record<string, string>> = {
  "db-uri": "postgres://authenticator:secret@db:5432/app",
  "jwt-secret": testSecret,
};

const config = configSource({
  wingOptions,
  file: null,
  environment: Object.fromEntries(
    container.env.map(({ name, value, valueFrom }: Document) => [
      name,
      value ?? secrets[valueFrom.secretKeyRef.key],
    ]),
  ),
  readFile: () => {
    throw new Error("no file is named");
  },
}).configure(noValues);

Deno.test("kubernetes.yaml has one object of each kind, all for the same pods", () => {
  deepStrictEqual(documents.map(({ apiVersion, kind }) => `${apiVersion} ${kind}`), [
    "v1 Service",
    "apps/v1 Deployment",
    "policy/v1 PodDisruptionBudget",
    "autoscaling/v2 HorizontalPodAutoscaler",
  ]);
  const labels = { app: "svc" };
  deepStrictEqual(deployment.template.metadata.labels, labels);
  deepStrictEqual(find("Service").spec.selector, labels);
  deepStrictEqual(deployment.selector.matchLabels, labels);
  deepStrictEqual(find("PodDisruptionBudget").spec.selector.matchLabels, labels);
  strictEqual(find("HorizontalPodAutoscaler").spec.scaleTargetRef.name, "svc");
});

Deno.test("kubernetes.yaml probes the ports that the configuration opens to the node", () => {
  const ports = new Map(
    container.ports.map(({ name, containerPort }: Document) => [name, containerPort]),
  );
  deepStrictEqual(apiListenAddress(config), {
    kind: "tcp",
    host: "0.0.0.0",
    port: ports.get("http"),
    reusePort: false,
  });
  deepStrictEqual(adminListenAddress(config), {
    kind: "tcp",
    host: "0.0.0.0",
    port: ports.get("admin"),
    reusePort: false,
  });
  strictEqual(find("Service").spec.ports[0].targetPort, "http");
  deepStrictEqual(container.readinessProbe.httpGet, { path: "/ready", port: "admin" });
  deepStrictEqual(container.livenessProbe.httpGet, { path: "/live", port: "admin" });
});

Deno.test("kubernetes.yaml replaces pods without a failed request", () => {
  deepStrictEqual(deployment.strategy.rollingUpdate, { maxSurge: 1, maxUnavailable: 0 });
  strictEqual(find("PodDisruptionBudget").spec.maxUnavailable, 1);
  const { periodSeconds, failureThreshold } = container.readinessProbe;
  ok(config.serverShutdownWaitPeriod / 2 > periodSeconds * failureThreshold);
  const longestRequestSeconds = 30;
  ok(pod.terminationGracePeriodSeconds >= config.serverShutdownWaitPeriod + longestRequestSeconds);
});

/** PostgreSQL's default, without those of superusers and of other programs. */
const maxConnections = 100 - 10;

Deno.test("kubernetes.yaml scales within the connections of PostgreSQL", () => {
  const { minReplicas, maxReplicas, metrics } = find("HorizontalPodAutoscaler").spec;
  ok(minReplicas >= 2);
  const pods = maxReplicas + deployment.strategy.rollingUpdate.maxSurge;
  ok(pods * (config.dbPool + 1) <= maxConnections);
  const [{ pods: { metric, target } }] = metrics;
  strictEqual(metric.name, "http_server_active_requests");
  strictEqual(Number(target.averageValue), 0.7 * config.dbPool);
});
