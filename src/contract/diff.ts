/** Compares two contracts: changes that break clients, that may break them, and that are safe. @module */
import type { Contract } from "./contract.ts";

/** A change of a fact. */
export interface ContractChange {
  readonly level: "breaking" | "maybe" | "safe";
  /** `embed api.doc note: was note_doc_id_fkey, is ambiguous: …` */
  readonly text: string;
  /** Statement that takes it back; null without one. */
  readonly sql: string | null;
}

/** Lists the changes, breaking ones first. `anonymous` is the anonymous role; null without one. */
export function contractChanges(
  old: Contract,
  now: Contract,
  anonymous: string | null,
): readonly ContractChange[] {
  const isComparable = (subject: string) => old.major === now.major || kindOf(subject) !== "policy";
  const subjects = [...new Set([...old.facts.keys(), ...now.facts.keys()])].filter(isComparable);
  const changes = subjects.sort().flatMap((subject): readonly ContractChange[] => {
    const [was, is] = [old.facts.get(subject) ?? null, now.facts.get(subject) ?? null];
    if (was === is) return [];
    const change = { subject, was, is };
    if (kindOf(subject) === "function") return [functionChange(change, { old, now })];
    return kindOf(subject) === "grant"
      ? grantChanges(change, anonymous)
      : [{ level: levelOf(change), text: textOf(change), sql: null }];
  });
  return levels.flatMap((level) => changes.filter((change) => change.level === level));
}

const levels = ["breaking", "maybe", "safe"] as const;

/** A subject with its facts; null where it does not exist. */
interface FactChange {
  readonly subject: string;
  readonly was: string | null;
  readonly is: string | null;
}

function kindOf(subject: string): string {
  return subject.slice(0, subject.indexOf(" "));
}

function textOf({ subject, was, is }: FactChange): string {
  if (was === null) return `${subject}: new: ${is}`;
  return is === null ? `${subject}: lost: ${was}` : `${subject}: was ${was}, is ${is}`;
}

/** Returns the level of a change of a relation, a column, an embed or a policy. */
function levelOf({ subject, was, is }: FactChange): ContractChange["level"] {
  const kind = kindOf(subject);
  if (was === null) {
    const isRequired = kind === "column" && is!.endsWith(", required");
    return kind === "policy" ? "maybe" : isRequired ? "breaking" : "safe";
  }
  if (is === null) return "breaking";
  if (kind === "policy") return "maybe";
  if (kind === "embed") {
    if (was.startsWith("ambiguous")) return is.startsWith("ambiguous") ? "maybe" : "safe";
    return is.startsWith("ambiguous") || subject.includes("!") ? "breaking" : "maybe";
  }
  return kind === "relation" ? relationLevel(was, is) : columnLevel(was, is);
}

/** Whether words of a list are missing in another. */
function lacks(list: string | undefined, others: string | undefined): boolean {
  const words = new Set(others?.split(" "));
  return (list ?? "").split(" ").some((word) => word !== "" && !words.has(word));
}

function relationLevel(was: string, is: string): ContractChange["level"] {
  const [[oldVerbs, oldKey], [verbs, key]] = [was.split(", key "), is.split(", key ")];
  return lacks(oldVerbs, verbs) || (oldKey !== undefined && oldKey !== key) ? "breaking" : "safe";
}

/** `Column = Type [ ", enum " Labels ] [ ", required" / ", nullable" ]` */
const columnPattern = /^(.*?)(?:, enum (.*?))?(?:, (required|nullable))?$/;

function columnLevel(was: string, is: string): ContractChange["level"] {
  const [, oldType, oldLabels, oldMode] = columnPattern.exec(was)!;
  const [, type, labels, mode] = columnPattern.exec(is)!;
  if (oldType !== type || lacks(oldLabels, labels)) return "breaking";
  if (mode === "required" && oldMode !== "required") return "breaking";
  return lacks(labels, oldLabels) || (mode === "nullable" && oldMode !== "nullable")
    ? "maybe"
    : "safe";
}

interface ContractPair {
  readonly old: Contract;
  readonly now: Contract;
}

/** Compares a function with the overloads of its name on the other side. */
function functionChange(change: FactChange, { old, now }: ContractPair): ContractChange {
  const { subject, was, is } = change;
  const text = textOf(change);
  if (was !== null && is !== null) {
    return { level: resultLevel(was, is), text, sql: null };
  }
  const others = overloadsOf(subject, was === null ? old : now);
  const successor = others.find(([other]) =>
    was === null ? accepts(subject, other) : accepts(other, subject)
  );
  if (successor !== undefined) {
    const [other, fact] = successor;
    const level = was === null ? "safe" : resultLevel(was, fact);
    return { level, text: was === null ? text : `${subject}: is ${other}: ${fact}`, sql: null };
  }
  if (was !== null) return { level: "breaking", text, sql: null };
  const hasSameNames = others.some(([other]) =>
    namesOf(other) === namesOf(subject) && now.facts.has(other)
  );
  return { level: hasSameNames ? "maybe" : "safe", text, sql: null };
}

/** A result that changed, or a function that became volatile, which ends GET, is breaking. */
function resultLevel(was: string, is: string): ContractChange["level"] {
  const cut = (fact: string) => fact.lastIndexOf(", ");
  if (was.slice(0, cut(was)) !== is.slice(0, cut(is))) return "breaking";
  return was !== is && is.endsWith(", volatile") ? "breaking" : "safe";
}

const signaturePattern = /^((?:"(?:[^"]|"")*"|[^"(])*)\((.*)\)$/;

function overloadsOf(subject: string, { facts }: Contract): readonly (readonly [string, string])[] {
  const [, name] = signaturePattern.exec(subject)!;
  return [...facts].filter(([other]) => signaturePattern.exec(other)?.[1] === name);
}

function parametersOf(subject: string): readonly string[] {
  const [, , list = ""] = signaturePattern.exec(subject)!;
  return list === "" ? [] : list.split(", ");
}

function namesOf(subject: string): string {
  return parametersOf(subject).map((each) => each.split(" ")[0]).sort().join();
}

/** Whether each call of an older signature fits a newer one. */
function accepts(newer: string, older: string): boolean {
  const [own, others] = [newer, older].map(parametersOf) as [readonly string[], readonly string[]];
  const required = (each: string) => each.replace(/ = default$/, "");
  return others.every((each) =>
    own.includes(each) || own.includes(`${required(each)} = default`)
  ) &&
    own.every((each) => each !== required(each) || others.includes(each));
}

function grantChanges(
  { subject, was, is }: FactChange,
  anonymous: string | null,
): readonly ContractChange[] {
  const [, role = "", object = "", action = ""] = grantPattern.exec(subject) ?? [];
  const split = (list: string | null) => list?.split(", ") ?? [];
  const lost = split(was).filter((each) => !split(is).includes(each)).join(", ");
  const gained = split(is).filter((each) => !split(was).includes(each)).join(", ");
  const columns = lost === "all" ? "" : ` (${lost})`;
  const target = action === "execute" ? `all functions named ${object}` : object;
  const sql = action === "execute" ? null : `grant ${action}${columns} on ${target} to ${role};`;
  const isWider = role === anonymous;
  return [
    ...(lost === "" ? [] : [{ level: "breaking", text: `${subject}: lost ${lost}`, sql } as const]),
    ...(gained === "" ? [] : [
      {
        level: isWider ? "breaking" : "safe",
        text: `${subject}: ${isWider ? "wider" : "gained"}: ${gained}`,
        sql: null,
      } as const,
    ]),
  ];
}

const grantPattern = /^grant ((?:"(?:[^"]|"")*"|[^" ])+) (.*) (\w+)$/;
