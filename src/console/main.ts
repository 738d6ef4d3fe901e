/// <reference lib="dom" />
/** The entry of the console: the frame of all pages, with navigation, search and identity. @module */
import "./theme.css";
import { signal } from "@preact/signals";
import { type FunctionComponent, render } from "preact";
import { useEffect } from "preact/hooks";
import { AdminTokenForm, Identity } from "./identity.ts";
import { usePolling } from "./loading.ts";
import { functionLinks, type PageLink, pageLinks, relationLinks } from "./links.ts";
import {
  access,
  connectionError,
  loadAccess,
  loadModel,
  needsAdminToken,
  refreshState,
  schema,
  schemaName,
  serviceState,
} from "./model.ts";
import { hrefOf, navigate, type PageRoute, route } from "./route.ts";
import { adminToken, token } from "./session.ts";
import { StartPage } from "./start_page.ts";
import { TablePage } from "./table_page.ts";
import { html, Icon, lazy, Select, type View } from "./view.ts";

const menuOpen = signal(false);
const searchOpen = signal(false);

/** Listens to keys and clicks beside menus. Returns the function that ends it. */
function listenToMenus(): () => void {
  addEventListener("keydown", onKey);
  addEventListener("pointerdown", closeMenus);
  return () => {
    removeEventListener("keydown", onKey);
    removeEventListener("pointerdown", closeMenus);
  };
}

/** The whole console. */
function Shell(): View {
  useEffect(() => void loadModel(), [adminToken.value]);
  const name = schemaName.value;
  useEffect(() => {
    if (serviceState.value !== null) void loadAccess(name);
  }, [name, token.value, serviceState.value === null]);
  usePolling(() => serviceState.value === null ? void 0 : void refreshState(), 15_000);
  useEffect(listenToMenus, []);
  useEffect(() => {
    menuOpen.value = false;
    document.title = titleOf(route.value);
  }, [route.value]);
  if (needsAdminToken.value) return html`<${AdminTokenForm} />`;
  return html`
    <a class="skip" href="#main" onClick=${focusMain}>Skip to the content</a>
    <div class="shell">
      <${Sidebar} />
      ${menuOpen.value &&
        html`<div class="scrim" onClick=${() => menuOpen.value = false}></div>`}
      <div class="body">
        <${TopBar} />
        <main id="main" tabindex="-1">
          ${connectionError.value !== null && html`
            <p class="alert" role="alert">
              The service cannot be reached: ${connectionError.value}
              <button type="button" onClick=${() => loadModel()}>Retry</button>
            </p>
          `}
          ${schema.value === null ? html`<p class="loading">Loading…</p>` : html`<${Page} />`}
        </main>
      </div>
    </div>
    ${searchOpen.value && html`<${Search} onClose=${() => searchOpen.value = false} />`}
  `;
}

type PageComponent = FunctionComponent<Record<string, never>>;

/** Pages beside the table are loaded when they are first opened. */
const lazyPages: Readonly<Partial<Record<PageRoute["page"], PageComponent>>> = {
  function: lazy(async () => (await import("./function_page.ts")).FunctionPage as PageComponent),
  reference: lazy(async () => (await import("./reference_page.ts")).ReferencePage as PageComponent),
  requests: lazy(async () => (await import("./requests_page.ts")).RequestsPage as PageComponent),
  diagram: lazy(async () => (await import("./diagram_page.ts")).DiagramPage as PageComponent),
  access: lazy(async () => (await import("./access_page.ts")).AccessPage as PageComponent),
  health: lazy(async () => (await import("./health_page.ts")).HealthPage as PageComponent),
};

const Search = lazy(async () => (await import("./search.ts")).Search as never);

/** The page of the current route. */
function Page(): View {
  const current = route.value;
  const key = [current.page, current.schema, current.name].join();
  if (current.page === "table") return html`<${TablePage} key=${key} ...${current} />`;
  const component = lazyPages[current.page];
  return component === undefined ? html`<${StartPage} />` : html`<${component} key=${key} />`;
}

function focusMain(event: Event): void {
  event.preventDefault();
  document.getElementById("main")!.focus();
}

/** Closes open menus that an event is outside of. */
function closeMenus({ target }: Event): void {
  for (const menu of document.querySelectorAll<HTMLDetailsElement>("details.menu[open]")) {
    if (!(target instanceof Node && menu.contains(target))) menu.open = false;
  }
}

/** Closes the menu with the focus, which its button gets. */
function leaveMenu(target: EventTarget | null): void {
  const menu = target instanceof Element
    ? target.closest<HTMLDetailsElement>("details.menu[open]")
    : null;
  if (menu === null) return;
  menu.open = false;
  menu.querySelector("summary")!.focus();
}

function onKey(event: KeyboardEvent): void {
  if (event.key === "Escape") {
    menuOpen.value = false;
    leaveMenu(event.target);
  }
  const isTyping = event.target instanceof HTMLElement &&
    event.target.closest("input, textarea, select, dialog") !== null;
  const isShortcut = (event.ctrlKey || event.metaKey) && event.key.toLowerCase() === "k";
  if (isShortcut || (event.key === "/" && !isTyping)) {
    event.preventDefault();
    searchOpen.value = true;
  }
}

function titleOf(current: PageRoute): string {
  return `${current.name || current.page} – ${serviceState.value?.name ?? "svc"} console`;
}

function TopBar(): View {
  const schemas = serviceState.value?.api.schemas ?? [];
  return html`
    <header class="row line topbar">
      <button type="button" class="icon-button menu-button" aria-label="Menu"
        aria-expanded=${String(menuOpen.value)} onClick=${() => menuOpen.value = true}>
        <${Icon} name="menu" />
      </button>
      ${schemas.length > 1 && html`
        <label class="row muted"><span class="hide-narrow">Schema</span>
          <${Select} label="Schema" value=${schemaName.value} options=${schemas}
            onValue=${(schema: string) => navigate({ page: "start", schema })} />
        </label>
      `}
      <span class="spacer"></span>
      <${Status} />
      <${Identity} />
      <button type="button" class="icon-button" aria-label="Light or dark theme"
        onClick=${switchTheme}><${Icon} name="moon" /></button>
    </header>
  `;
}

function Status(): View {
  const state = serviceState.value;
  if (state === null) return null;
  const [level, text] = !state.database.ready
    ? ["bad", "Database unreachable"]
    : state.api.live
    ? ["good", "Live"]
    : ["warn", "Starting"];
  return html`
    <a class="button is-quiet" href=${hrefOf({
      page: "health",
      schema: schemaName.value,
    })}>
      <span class=${level} aria-hidden="true">●</span><span role="status">${text}</span>
    </a>
  `;
}

function Sidebar(): View {
  const name = schemaName.value;
  return html`
    <nav class=${`sidebar ${menuOpen.value ? "is-open" : ""}`} aria-label="Console">
      <a class="row brand" href=${hrefOf({ page: "start", schema: name })}>
        <svg width="26" viewBox="0 0 32 32" aria-hidden="true">
          <rect width="32" height="32" rx="7" fill="#0b7a6d" />
          <path d="M8 10h16M8 16h16M8 22h10" stroke="#fff" stroke-width="3" />
        </svg>
        <strong>${serviceState.value?.name ?? "svc"}</strong>
        <small>${serviceState.value?.version ?? ""}</small>
      </a>
      <button type="button" class="muted" onClick=${() => searchOpen.value = true}>
        <${Icon} name="search" /><span>Search</span><span class="spacer"></span><kbd>Ctrl K</kbd>
      </button>
      <ul>
        ${pageLinks(name).map((link) => html`<${NavLink} key=${link.label} ...${link} />`)}
      </ul>
      <${NavList} title="Tables" links=${relationLinks(name)} />
      <${NavList} title="Functions" links=${functionLinks(name)} />
    </nav>
  `;
}

/** A list of pages; none if it is empty. */
function NavList({ title, links }: NavListProps): View {
  return links.length > 0 && html`
    <h2 class="row between muted">${title} <span>${links.length}</span></h2>
    <ul>${links.map((link) => html`<${NavLink} key=${link.label} ...${link} />`)}</ul>
  `;
}

interface NavListProps {
  readonly title: string;
  readonly links: readonly PageLink[];
}

function NavLink({ icon, label, to, isDim = false }: PageLink): View {
  const current = route.value;
  const isCurrent = to.page === current.page && (to.name ?? current.name) === current.name;
  const hint = isDim && access.value !== null ? "The role has no access" : null;
  return html`
    <li><a href=${hrefOf(to)} class=${`row line nav-link ${isDim ? "muted" : ""}`} title=${hint}
      aria-current=${isCurrent ? "page" : null}>
      <${Icon} name=${icon} /><span>${label}</span>
      ${isDim && html`<span class="sr-only">(no access)</span>`}
    </a></li>
  `;
}

const themeKey = "svc-theme";
const { dataset } = document.documentElement;

/** Changes to the other theme, and remembers it. The theme of the system is the first. */
function switchTheme(): void {
  const isDark = dataset.theme
    ? dataset.theme === "dark"
    : matchMedia("(prefers-color-scheme: dark)").matches;
  dataset.theme = isDark ? "light" : "dark";
  localStorage.setItem(themeKey, dataset.theme);
}

dataset.theme = localStorage.getItem(themeKey) ?? "";
const root = document.getElementById("app")!;
root.textContent = "";
render(html`<${Shell} />` as never, root);
