/** Reads the Markdown of the documentation: code blocks, links, headings, sentences. @module */
import { dirname, fromFileUrl, join, walkMarkdown } from "./files.ts";

/** The project's root, with a slash at its end. */
export const root: string = fromFileUrl(new URL("../../../", import.meta.url));

/** A page of the documentation. */
export interface Page {
  /** Relative to the project's root. */
  readonly path: string;
  readonly text: string;
}

/** A fenced code block. */
export interface CodeBlock {
  /** `docs/tutorials/first-requests.md:12`, for messages. */
  readonly place: string;
  /** First word of the info string, such as `sh`. */
  readonly language: string;
  /** Other words of the info string. */
  readonly flags: readonly string[];
  readonly text: string;
}

/** Pages at the project's root. */
const rootPages = ["README.md", "CONTRIBUTING.md", "SECURITY.md", "CHANGELOG.md"] as const;

/** Reads all pages. */
export async function readPages(): Promise<readonly Page[]> {
  const paths = [...rootPages, ...await walkMarkdown(root, "docs")];
  return await Promise.all(paths.map(async (path) => ({
    path,
    text: await Deno.readTextFile(join(root, path)),
  })));
}

/** Returns the code blocks of a page, in order. */
export function codeBlocks({ path, text }: Page): readonly CodeBlock[] {
  const fence = /^( *)```([^\n]*)\n([^]*?)^ *```$/gm;
  return Array.from(text.matchAll(fence), ({ index, 2: info = "", 3: block = "" }) => {
    const [language = "", ...flags] = info.trim().split(/\s+/);
    return { place: `${path}:${lineAt(text, index)}`, language, flags, text: block };
  });
}

/** A link, relative or absolute. */
export interface Link {
  readonly place: string;
  readonly target: string;
}

/** Returns the links of a page. */
export function links(page: Page): readonly Link[] {
  const { path } = page;
  const text = withoutCode(page.text);
  return Array.from(text.matchAll(/\]\(([^)\s]+)\)/g), ({ index, 1: target = "" }) => ({
    place: `${path}:${lineAt(text, index)}`,
    target,
  }));
}

/** Returns the path of a link's target relative to the project's root, and its anchor. */
export function resolveLink(
  { path }: Page,
  target: string,
): { readonly path: string; readonly anchor: string | null } {
  const [file = "", anchor = null] = target.split("#");
  return { path: file === "" ? path : join(dirname(path), file), anchor };
}

/** Returns the anchors that a page's headings have where it is shown. */
export function anchors({ text }: Page): ReadonlySet<string> {
  const headings = withoutCode(text).matchAll(/^#{1,6} (.+)$/gm);
  return new Set(
    Array.from(
      headings,
      ([, heading = ""]) =>
        heading.toLowerCase().replace(/[^\p{L}\p{N}\s_-]/gu, "").trim().replace(/\s/g, "-"),
    ),
  );
}

/** A sentence of prose. */
export interface Sentence {
  readonly place: string;
  readonly words: readonly string[];
}

/** Returns the sentences of a page's prose: neither tables nor code blocks nor headings. */
export function sentences({ path, text }: Page): readonly Sentence[] {
  const prose = withoutCode(text).replace(/<!--[^]*?-->/g, "").replace(/^(\||#).*$/gm, "");
  const blocks = prose.split(/\n\s*\n|\n(?=\s*(?:[-*]|\d+\.) )/);
  return blocks.flatMap((block) => {
    const start = block.trim();
    if (start === "") return [];
    const place = `${path}: ${start.slice(0, 40).replaceAll("\n", " ")}`;
    const plain = start.replace(/`[^`]*`/g, "code").replace(/\]\([^)]*\)/g, "]");
    return plain.split(/(?<=[.:;?!])\s+/).map((sentence) => ({
      place,
      words: sentence.split(/\s+/).filter((word) => /[\p{L}\p{N}]/u.test(word)),
    }));
  });
}

/** Blanks code blocks out; lines keep their numbers. */
function withoutCode(text: string): string {
  return text.replace(/^ *```[^]*?^ *```$/gm, (block) => block.replace(/[^\n]/g, ""));
}

function lineAt(text: string, index: number): number {
  return text.slice(0, index).split("\n").length;
}
