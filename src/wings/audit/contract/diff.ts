/** Compares two contracts: changes that break clients, that may break them, and safe changes. @module */
import { type Contract, quoted } from "./contract.ts";

/** A changed property of the API, and how it affects clients. */
export interface ContractChange {
  readonly level: "breaking" | "maybe" | "safe";
  /** `embed api.doc note: was note_doc_id_fkey, is ambiguous: …` */
  readonly text: string;
  /** Statement that reverts the change, or null. */
  readonly sql: string | null;
}

/** The contracts to compare, and the anonymous role, if there is one. */
export interface Comparison {
  readonly old: Contract;
  readonly now: Contract;
  readonly anonymous: string | null;
}

/** Lists the changes, breaking ones first. */
export function contractChanges(contracts: Comparison): readonly ContractChange[] {
  const { old, now } = contracts;
  const isComparable = (subject: string) => old.major === now.major || kindOf(subject) !== "policy";
  const subjects = [...new Set([...old.facts.keys(), ...now.facts.keys()])].filter(isComparable);
  const changes = subjects.sort().flatMap((subject): readonly ContractChange[] => {
    const [was, is] = [old.facts.get(subject) ?? null, now.facts.get(subject) ?? null];
    if (was === is) return [];
    const change = { subject, was, is };
    if (kindOf(subject) === "function") return [functionChange(change, contracts)];
    if (kindOf(subject) === "grant") return grantChanges(change, contracts);
    return [{ level: levelOf(change, old), text: textOf(change), sql: null }];
  });
  return levels.flatMap((level) => changes.filter((change) => change.level === level));
}

const levels = ["breaking", "maybe", "safe"] as const;

/** The properties of a subject in both contracts; null where the subject does not exist. */
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

/** Returns the level of a change to a relation, column, embed or policy. */
function levelOf({ subject, was, is }: FactChange, old: Contract): ContractChange["level"] {
  const kind = kindOf(subject);
  if (kind === "policy") return is === null ? "breaking" : "maybe";
  if (is === null) return "breaking";
  if (kind === "operation") return was === null || isWider(was, is) ? "safe" : "breaking";
  if (was === null) {
    const relation = subject.split(dot).slice(0, -1).join(".").replace("column", "relation");
    return is.endsWith(", required") && old.facts.has(relation) ? "breaking" : "safe";
  }
  if (kind === "embed") {
    const isAmbiguous = is.startsWith("ambiguous: ");
    if (was.startsWith("ambiguous: ")) return isAmbiguous ? "maybe" : "safe";
    const isCardinality = subject.replace(/"[^"]*"/g, "").includes("!") ||
      [was, is].some((each) => each.startsWith("function to "));
    return isAmbiguous || isCardinality ? "breaking" : "maybe";
  }
  return kind === "relation" ? relationLevel(was, is) : columnLevel(was, is);
}

/** Returns whether a role gets more access, and responses are otherwise the same. */
function isWider(was: string, is: string): boolean {
  const parts = new Set(was.split("; "));
  return is.split("; ").every((part) => parts.has(part));
}

/** Separators outside of quoted names. */
const [comma, space, dot] = [", ", " ", "[.]"].map((text) =>
  new RegExp(`${text}(?=(?:[^"]*"[^"]*")*[^"]*$)`)
) as [RegExp, RegExp, RegExp];

/** Returns whether a list has a word that another list lacks. */
function lacks(list = "", others = ""): boolean {
  const words = new Set(others.split(space));
  return list !== "" && list.split(space).some((word) => !words.has(word));
}

/** `Relation = Methods [ ", key " Columns ]` */
const relationPattern = /^([^,]*)(?:, key (.*))?$/;

function relationLevel(was: string, is: string): ContractChange["level"] {
  const [, oldVerbs, oldKey] = relationPattern.exec(was) ?? [];
  const [, verbs, key] = relationPattern.exec(is) ?? [];
  return lacks(oldVerbs, verbs) || (oldKey !== undefined && oldKey !== key) ? "breaking" : "safe";
}

/** `Column = Type [ ", enum " Labels ] [ ", required" / ", nullable" ]` */
const columnPattern =
  /^((?:"[^"]*"|[^"])*?)(?:, enum ((?:"[^"]*"|[^"])*?))?(?:, (required|nullable))?$/;

function columnLevel(was: string, is: string): ContractChange["level"] {
  const [, oldType, oldLabels, oldMode] = columnPattern.exec(was) ?? [];
  const [, type, labels, mode] = columnPattern.exec(is) ?? [];
  const isNew = (word: string) => mode === word && oldMode !== word;
  if (oldType !== type || lacks(oldLabels, labels) || isNew("required")) return "breaking";
  return lacks(labels, oldLabels) || isNew("nullable") ? "maybe" : "safe";
}

/** Compares a function with the overloads of the same name in the other contract. */
function functionChange(change: FactChange, { old, now }: Comparison): ContractChange {
  const { subject, was, is } = change;
  const base = { text: textOf(change), sql: null };
  if (was !== null && is !== null) return { level: resultLevel(was, is), ...base };
  const others = overloadsOf(subject, was === null ? old : now);
  if (was === null) {
    const isMaybe = others.every(([other]) => !accepts(subject, other)) &&
      others.some(([other]) => namesOf(other) === namesOf(subject) && now.facts.has(other));
    return { level: isMaybe ? "maybe" : "safe", ...base };
  }
  const [successor, fact = ""] = others.find(([other]) => accepts(other, subject)) ?? [];
  if (successor === undefined) return { level: "breaking", ...base };
  const text = `${subject}: is ${successor}: ${fact}`;
  return { level: resultLevel(was, fact), text, sql: null };
}

/** Returns the level of a changed result. A function that becomes volatile is breaking, too,
 * because GET is no longer possible. */
function resultLevel(was: string, is: string): ContractChange["level"] {
  const cut = (fact: string) => fact.lastIndexOf(", ");
  if (was.slice(0, cut(was)) !== is.slice(0, cut(is))) return "breaking";
  return was !== is && is.endsWith(", volatile") ? "breaking" : "safe";
}

const signaturePattern = /^((?:"[^"]*"|[^"(])*)\((.*)\)$/;

function overloadsOf(subject: string, { facts }: Contract): readonly (readonly [string, string])[] {
  const nameOf = (each: string) => signaturePattern.exec(each)?.[1] ?? each;
  return [...facts].filter(([other]) => nameOf(other) === nameOf(subject));
}

function parametersOf(subject: string): readonly string[] {
  const [, , list = ""] = signaturePattern.exec(subject) ?? [];
  return list === "" ? [] : list.split(comma);
}

function namesOf(subject: string): string {
  return parametersOf(subject).map((each) => each.split(space)[0]).sort().join();
}

/** Returns whether each call of an older signature is possible with a newer signature. */
function accepts(newer: string, older: string): boolean {
  const [own, others] = [new Set(parametersOf(newer)), new Set(parametersOf(older))];
  const required = (each: string) => each.replace(/ = default$/, "");
  return [...others].every((each) => own.has(each) || own.has(`${required(each)} = default`)) &&
    [...own].every((each) => each !== required(each) || others.has(each));
}

/** Lists what a role has lost or gained. A lost column is a separate change. */
function grantChanges(
  { subject, was, is }: FactChange,
  { now, anonymous }: Comparison,
): readonly ContractChange[] {
  const [, role, object, action] = grantPattern.exec(subject) ?? [];
  const [before, after] = [was?.split(comma) ?? [], is?.split(comma) ?? []];
  const isThere = (name: string) =>
    action === "execute" ||
    now.facts.has(name === "all" ? `relation ${object}` : `column ${object}.${name}`);
  const lost = before.filter((each) => !after.includes(each) && isThere(each)).join(", ");
  const gained = after.filter((each) => !before.includes(each)).join(", ");
  const columns = lost === "all" ? "" : ` (${lost})`;
  const sql = `grant ${action}${columns} on ${action === "execute" ? "function " : ""}${object}`;
  const [level, verb] = anonymous !== null && role === quoted(anonymous)
    ? ["breaking", "wider"] as const
    : ["safe", "gained"] as const;
  const changes: readonly ContractChange[] = [
    { level: "breaking", text: `${subject}: lost ${lost}`, sql: `${sql} to ${role};` },
    { level, text: `${subject}: ${verb}: ${gained}`, sql: null },
  ];
  return changes.filter((_, at) => [lost, gained][at] !== "");
}

const grantPattern = /^grant ((?:"[^"]*"|[^" ])+) (.*) (\w+)$/;
