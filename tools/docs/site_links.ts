/** Follows the links of the built site. Each link must lead to a file of the site. A link with `#` must
 * also lead to an element of the file. @module */
import { join } from "node:path";

/** Files by their path below the site's folder. The value is the text of a page, and null otherwise. */
export type SiteFiles = ReadonlyMap<string, string | null>;

export interface LinkReport {
  readonly count: number;
  /** Links that lead nowhere, each as `page.html: /target#anchor`. */
  readonly broken: readonly string[];
}

/** Reads the files of a folder. Only pages are read with their text. */
export async function readSite(folder: string): Promise<SiteFiles> {
  const files = new Map<string, string | null>();
  const read = async (path: string) => {
    for await (const { name, isDirectory } of Deno.readDir(join(folder, path))) {
      const inner = `${path}/${name}`;
      if (isDirectory) await read(inner);
      else {
        files.set(
          inner,
          name.endsWith(".html") ? await Deno.readTextFile(join(folder, inner)) : null,
        );
      }
    }
  };
  await read("");
  return files;
}

/** Follows the links and pictures of all pages, except links to other sites. */
export function followLinks(files: SiteFiles): LinkReport {
  const anchors = new Map<string, ReadonlySet<string>>();
  for (const [path, text] of files) if (text !== null) anchors.set(path, idsOf(text));
  const broken = new Set<string>();
  let count = 0;
  for (const [path, text] of files) {
    for (const target of targetsOf(text ?? "")) {
      const url = new URL(target, `http://site${path}`);
      if (url.host !== "site" || url.protocol !== "http:") continue;
      count++;
      const found = [url.pathname, `${url.pathname}.html`, `${url.pathname}index.html`]
        .map(decodeURIComponent).find((each) => files.has(each));
      const anchor = decodeURIComponent(url.hash.slice(1));
      const isBroken = found === undefined ||
        anchor !== "" && anchors.has(found) && !anchors.get(found)!.has(anchor);
      if (isBroken) broken.add(`${path}: ${target}`);
    }
  }
  return { count, broken: [...broken] };
}

function targetsOf(html: string): readonly string[] {
  return Array.from(
    html.matchAll(/<(?:a|link|img|script)\s[^>]*?\b(?:href|src)="([^"]*)"/g),
    ([, target]) => target!.replaceAll("&amp;", "&"),
  );
}

function idsOf(html: string): ReadonlySet<string> {
  return new Set(Array.from(html.matchAll(/\sid="([^"]*)"/g), ([, id]) => id!));
}
