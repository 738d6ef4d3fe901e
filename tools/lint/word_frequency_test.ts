/** Limits the frequency of words that make a sentence vague, in the documentation and in the comments
 * of `src/`. The limits are three times the frequencies in denoland/std. @module */
import { deepStrictEqual } from "node:assert/strict";
import { readPages } from "../../tests/support/docs/markdown.ts";

/** A word or a phrase, its highest frequency per 10,000 words, and advice what to write. */
interface VaguePhrase {
  readonly pattern: RegExp;
  readonly per10000: number;
  readonly advice: string;
}

/** `behind` in its usual meaning: a network position, or a lag. */
const usualBehind =
  /\b(?:lags?|falls?|further)(?: \d+ MiB)? behind\b|\bbehind (?:an? |the )?(?:\w+ )?(?:proxy|proxies|pooler|balancer|login|HAProxy)\b|"behind"/gi;

const phrases: readonly VaguePhrase[] = [
  { pattern: /\b(?:those|that) of\b/gi, per10000: 0.6, advice: "repeat the noun" },
  { pattern: /\bown\b/gi, per10000: 2.7, advice: 'write "its", or name the difference' },
  {
    pattern: /\bwithout one\b|\b(?:for|has|have|gets?) none\b/gi,
    per10000: 0.6,
    advice: "repeat the noun",
  },
  { pattern: /\bbehind\b/gi, per10000: 0, advice: 'write "after"' },
  { pattern: /\bothers\b/gi, per10000: 2.1, advice: "add the noun" },
  { pattern: /\bcounts\b/gi, per10000: 4.8, advice: 'write "applies"' },
  { pattern: /\bsays\b/gi, per10000: 0.3, advice: "name what is shown, set or required" },
  { pattern: /\bstands? for\b/gi, per10000: 0, advice: 'write "is" or "means"' },
  { pattern: /\bbeside\b/gi, per10000: 0, advice: 'write "in addition to" or "next to"' },
  { pattern: /\banew\b/gi, per10000: 0, advice: 'write "again"' },
  { pattern: /\bmend(?:s|ed|ing)?\b/gi, per10000: 0, advice: 'write "correct" or "fix"' },
];

/** Returns the comments of a source file, without code in backquotes. */
function proseOfSource(source: string): string {
  const comments = source.matchAll(/\/\*(?!\/)([^]*?)\*\/|(?<![:"'`\w/])\/\/([^\n]*)/g);
  return Array.from(comments, ([, block, line]) => block?.replace(/^\s*\*+ ?/gm, "") ?? line)
    .join("\n").replace(/```[^]*?```|`[^`]*`/g, "``");
}

/** Returns the text of a page without code, links and comments. */
function proseOfPage(text: string): string {
  return text.replace(/^ *```[^]*?^ *```$/gm, "").replace(/<!--[^]*?-->/g, "")
    .replace(/`[^`]*`/g, "``").replace(/\]\([^)]*\)/g, "]");
}

async function readSources(folder: URL, prose: string[] = []): Promise<readonly string[]> {
  for await (const { name, isDirectory } of Deno.readDir(folder)) {
    const entry = new URL(isDirectory ? `${name}/` : name, folder);
    if (isDirectory) await readSources(entry, prose);
    else if (/\.tsx?$/.test(name)) prose.push(proseOfSource(await Deno.readTextFile(entry)));
  }
  return prose;
}

/** Returns a line for each phrase that is too frequent, with the first places where it occurs. */
function tooFrequent(texts: readonly string[]): readonly string[] {
  const text = texts.join("\n").replace(/\s+/g, " ").replace(usualBehind, "");
  const words = text.match(/[A-Za-z][\w'-]*/g)?.length ?? 0;
  return phrases.flatMap(({ pattern, per10000, advice }) => {
    const places = [...text.matchAll(pattern)];
    if (places.length * 10_000 <= per10000 * words) return [];
    const quotes = places.slice(0, 20)
      .map(({ index }) => `  …${text.slice(Math.max(0, index - 60), index + 40)}…`);
    return [[`${pattern}: ${places.length}, so ${advice}`, ...quotes].join("\n")];
  });
}

Deno.test("pages and comments name what they mean", async () => {
  const pages = (await readPages()).filter(({ path }) => path !== "CHANGELOG.md");
  const comments = await readSources(new URL("../../src/", import.meta.url));
  deepStrictEqual(tooFrequent([...pages.map(({ text }) => proseOfPage(text)), ...comments]), []);
});
