/** Makes the pages of the site from the files of the repository. @module */
import { dirname, join, posix } from "node:path";

/** Data of the project that the pages contain. */
export interface SiteFacts {
  readonly version: string;
  /** Address of the repository, without a slash at its end. */
  readonly repository: string;
}

/** Returns the path on the site of a page in the repository. `docs/README.md` is the overview. */
export function sitePath(path: string): string {
  if (path === "docs/README.md") return "overview.md";
  return path.replace(/^docs\//, "").replace(/README\.md$/, "index.md");
}

/**
 * Returns a page of `docs/` for the site. Its links to examples lead to pages of the site. Its links to
 * other files lead to the repository.
 */
export function sitePage(path: string, text: string, facts: SiteFacts): string {
  const siteTarget = (target: string) => {
    const [, name = "", anchor = ""] = /^([^#]*)(.*)$/.exec(target)!;
    if (name === "" || /^[a-z]+:/.test(name)) return target;
    const file = posix.normalize(posix.join(dirname(path), name));
    return `${targetOf(file, dirname(sitePath(path)), facts)}${anchor}`;
  };
  return text.replace(/\]\(([^)\s]+)\)/g, (_, target) => `](${siteTarget(target)})`)
    .replace(/^(\[[^\]]+\]: )(\S+)$/gm, (_, label, target) => label + siteTarget(target));
}

function targetOf(file: string, from: string, { repository }: SiteFacts): string {
  const isPage = file.startsWith("docs/") || file.startsWith("examples");
  if (!isPage) return `${repository}/blob/main/${file}`;
  const target = posix.relative(from, sitePath(file.startsWith("docs/") ? file : exampleOf(file)));
  return target.startsWith(".") ? target : `./${target}`;
}

/** Returns the path of the page of a file or a folder of `examples/`. */
export function exampleOf(path: string): string {
  const name = path.replace(/\/$/, "");
  return /\.\w+$|(?:^|\/)(?:Containerfile|Caddyfile)$/.test(name)
    ? `${name}.md`
    : `${name}/index.md`;
}

const languages: Readonly<Record<string, string>> = {
  conf: "toml",
  contract: "text",
  cases: "text",
  css: "css",
  cfg: "text",
  html: "html",
  js: "js",
  json: "json",
  mjs: "js",
  service: "ini",
  sql: "sql",
  ts: "ts",
  yaml: "yaml",
  yml: "yaml",
};

/** Head of the pages of examples. They have no links to the next page, because the sidebar omits them. */
const exampleHead = "---\nsearch: false\nprev: false\nnext: false\n---\n\n";

/** Returns the page of a file of `examples/`. The search of the site leaves it out. */
export function examplePage(path: string, text: string, { repository }: SiteFacts): string {
  const language = languages[path.split(".").at(-1)!] ?? "text";
  const fence = text.includes("```") ? "````" : "```";
  return `${exampleHead}# ${path.split("/").at(-1)}

[${path}](${repository}/blob/main/${path}) of the repository:

${fence}${language}
${text.trimEnd()}
${fence}
`;
}

/** Returns the page of a folder of `examples/`, with its files. */
export function folderPage(path: string, files: readonly string[]): string {
  const items = files.map((file) => `- [${file}](./${exampleOf(file)})`);
  return `${exampleHead}# ${path}\n\n${items.join("\n")}\n`;
}

/** Fills the landing page. */
export function landingPage(template: string, { version, repository }: SiteFacts): string {
  return template.replaceAll("%VERSION%", version).replaceAll("%REPOSITORY%", repository);
}

/** Returns the path to which a page is written, below the folder of the site's pages. */
export function pagePath(folder: string, path: string): string {
  return join(folder, sitePath(path));
}
