/** Makes foreign texts safe for one line of a log. @module */
import { oneLine } from "./printable.ts";

/** Maximum length of a logged text, so that one event cannot fill the log. */
const maxTextChars = 8192;

/** Hides tokens, API keys, passwords, and user and password of URIs. Takes linear time. */
export function redact(source: string): string {
  const cut = source.length > maxTextChars ? `${source.slice(0, maxTextChars)}…` : source;
  return redactKeys(oneLine(cut))
    .replace(/[\w.-]+/g, (word) => (isToken(word) ? "***" : word))
    .replace(/\S+/g, hideAuthority)
    .replace(/(password\s*=\s*)('[^']*'?|[^\s'&]*)/gi, "$1***");
}

/** Hides API keys of svc and of Supabase, and the parameter `apikey` of Supabase's web sockets. */
export function redactKeys(text: string): string {
  return text.replace(
    /(?<=\bapikey=)[^&;\s]+|sb_(?:secret|publishable)_[\w-]+|svc_[\w-]{43}(?![\w-])/g,
    "***",
  );
}

/** Returns whether a word is a JWT: three parts with dots between them, of which the first is a
 * JSON object in base64. */
function isToken(word: string): boolean {
  return word.startsWith("eyJ") && word.split(".").length >= 3;
}

/** Hides user and password of a URI. A password may contain slashes, so it ends at the last `@`. */
function hideAuthority(word: string): string {
  const start = /postgres(?:ql)?:\/\//i.exec(word);
  const at = word.lastIndexOf("@");
  if (start === null || at < start.index) return word;
  return `${word.slice(0, start.index + start[0].length)}***${word.slice(at)}`;
}
