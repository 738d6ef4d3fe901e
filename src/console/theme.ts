/// <reference lib="dom" />
/**
 * The choice between the light and the dark theme.
 *
 * @module
 */
import { signal } from "@preact/signals";

const key = "svc-theme";

function isDarkPreferred(): boolean {
  return matchMedia("(prefers-color-scheme: dark)").matches;
}

/** The chosen theme; null for that of the system. */
const chosen = signal<string | null>(localStorage.getItem(key));

function apply(): void {
  const { dataset } = document.documentElement;
  if (chosen.value === null) delete dataset.theme;
  else dataset.theme = chosen.value;
}

apply();

/** Whether the page is dark. */
export function isDark(): boolean {
  return chosen.value === null ? isDarkPreferred() : chosen.value === "dark";
}

/** Changes to the other theme, and remembers it unless it is the system's. */
export function switchTheme(): void {
  const next = isDark() ? "light" : "dark";
  const isSystem = (next === "dark") === isDarkPreferred();
  chosen.value = isSystem ? null : next;
  if (isSystem) localStorage.removeItem(key);
  else localStorage.setItem(key, next);
  apply();
}
