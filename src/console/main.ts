/// <reference lib="dom" />
/** The entry of the console: the frame of all pages, with navigation, search and identity. @module */
import "./theme.css";
import { signal } from "@preact/signals";
import { type FunctionComponent, render } from "preact";
import { useEffect } from "preact/hooks";
import { removeView, savedViews } from "./history.ts";
import { AdminTokenForm, Identity } from "./identity.ts";
import {
  access,
  connectionError,
  functionsOf,
  keepSchema,
  loadAccess,
  loadModel,
  may,
  needsAdminToken,
  refreshState,
  relationsOf,
  schema,
  schemaName,
  serviceState,
} from "./model.ts";
import { hrefOf, navigate, type PageRoute, route } from "./route.ts";
import { adminToken, token } from "./session.ts";
import { StartPage } from "./start_page.ts";
import { TablePage } from "./table_page.ts";
import { html, Icon, type IconName, lazy, Select, usePolling, type View } from "./view.ts";

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
    if (serviceState.value === null) return;
    keepSchema(name);
    void loadAccess(name);
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
            <p class="banner" role="alert">
              The service cannot be reached: ${connectionError.value}
              <button type="button" class="small-button" onClick=${() => loadModel()}>Retry</button>
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
  const key = "name" in current ? `${current.schema}.${current.name}` : current.page;
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
  const name = "name" in current && current.name !== null ? current.name : current.page;
  return `${name} – ${serviceState.value?.name ?? "svc"} console`;
}

function TopBar(): View {
  const schemas = serviceState.value?.api.schemas ?? [];
  const theme = isDark() ? "light" : "dark";
  return html`
    <header class="topbar">
      <button type="button" class="icon-button menu-button" aria-label="Menu"
        aria-expanded=${String(menuOpen.value)} onClick=${() => menuOpen.value = true}>
        <${Icon} name="menu" />
      </button>
      ${schemas.length > 1 && html`
        <label class="field-inline"><span class="hide-narrow">Schema</span>
          <${Select} label="Schema" value=${schemaName.value} options=${schemas}
            onValue=${(schema: string) => navigate({ page: "start", schema })} />
        </label>
      `}
      <span class="spacer"></span>
      <${Status} />
      <${Identity} />
      <button type="button" class="icon-button" aria-label=${`Use the ${theme} theme`}
        onClick=${switchTheme}><${Icon} name=${isDark() ? "sun" : "moon"} /></button>
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
    <a class=${`button is-quiet status is-${level}`} href=${hrefOf({ page: "health" })}>
      <span class="dot" aria-hidden="true"></span><span role="status">${text}</span>
    </a>
  `;
}

function Sidebar(): View {
  const name = schemaName.value;
  const links: readonly (readonly [icon: IconName, label: string, to: PageRoute])[] = [
    ["diagram", "Diagram", { page: "diagram", schema: name, name: null }],
    ["book", "Reference", { page: "reference", schema: name, name: null }],
    ["pulse", "Requests", { page: "requests" }],
    ["key", "Access", { page: "access" }],
    ["heart", "Health", { page: "health" }],
  ];
  return html`
    <nav class=${`sidebar ${menuOpen.value ? "is-open" : ""}`} aria-label="Console">
      <a class="brand" href=${hrefOf({ page: "start", schema: name })}>
        <svg width="26" viewBox="0 0 32 32" aria-hidden="true">
          <rect width="32" height="32" rx="7" fill="#0b7a6d" />
          <path d="M8 10h16M8 16h16M8 22h10" stroke="#fff" stroke-width="3" />
        </svg>
        <span>${serviceState.value?.name ?? "svc"}</span>
        <small>${serviceState.value?.version ?? ""}</small>
      </a>
      <button type="button" class="search-button" onClick=${() => searchOpen.value = true}>
        <${Icon} name="search" /><span>Search</span><kbd>Ctrl K</kbd>
      </button>
      <ul class="nav-list">
        ${links.map(([icon, label, to]) =>
          html`<${NavLink} key=${label} ...${{ icon, label, to }} />`
        )}
      </ul>
      <${SavedViews} />
      <${NavList} title="Tables" links=${relationLinks(name)} />
      <${NavList} title="Functions" links=${functionLinks(name)} />
    </nav>
  `;
}

/** Pages that the reader has saved by name. */
function SavedViews(): View {
  if (savedViews.value.length === 0) return null;
  return html`
    <h2 class="nav-head">Saved views</h2>
    <ul class="nav-list">
      ${savedViews.value.map(({ name, href }) =>
        html`
          <li class="saved" key=${name}><a class="nav-link" href=${href}>
              <${Icon} name="star" /><span>${name}</span></a>
            <button type="button" class="icon-button" aria-label=${`Remove the view ${name}`}
              onClick=${() => removeView(name)}><${Icon} name="close" /></button></li>
        `
      )}
    </ul>
  `;
}

function relationLinks(schema: string): readonly NavLinkProps[] {
  return relationsOf(schema).map(({ name, isView }) => ({
    icon: isView ? "view" : "table",
    label: name,
    isDim: !may("get", `/${name}`),
    to: { page: "table", schema, name, view: "rows", query: "" },
  }));
}

function functionLinks(schema: string): readonly NavLinkProps[] {
  return [...new Set(functionsOf(schema).map(({ name }) => name))].map((name) => ({
    icon: "function",
    label: name,
    isDim: !may("post", `/rpc/${name}`),
    to: { page: "function", schema, name, query: "" },
  }));
}

/** A list of pages; none if it is empty. */
function NavList({ title, links }: NavListProps): View {
  return links.length > 0 && html`
    <h2 class="nav-head">${title} <span>${links.length}</span></h2>
    <ul class="nav-list">${links.map((link) =>
      html`<${NavLink} key=${link.label} ...${link} />`
    )}</ul>
  `;
}

interface NavListProps {
  readonly title: string;
  readonly links: readonly NavLinkProps[];
}

interface NavLinkProps {
  readonly icon: IconName;
  readonly label: string;
  readonly to: PageRoute;
  readonly isDim?: boolean;
}

function NavLink({ icon, label, to, isDim = false }: NavLinkProps): View {
  const current = route.value;
  const isNamed = to.page === "table" || to.page === "function";
  const isCurrent = to.page === current.page &&
    (!isNamed || ("name" in current && current.name === to.name));
  const hint = isDim && access.value !== null ? "The role has no access" : null;
  return html`
    <li><a href=${hrefOf(to)} class=${`nav-link ${isDim ? "is-dim" : ""}`} title=${hint}
      aria-current=${isCurrent ? "page" : null}>
      <${Icon} name=${icon} /><span>${label}</span>
      ${isDim && html`<span class="sr-only">(no access)</span>`}
    </a></li>
  `;
}

const themeKey = "svc-theme";

function isDarkPreferred(): boolean {
  return matchMedia("(prefers-color-scheme: dark)").matches;
}

/** The chosen theme; null for that of the system. */
const chosenTheme = signal<string | null>(localStorage.getItem(themeKey));

function applyTheme(): void {
  const { dataset } = document.documentElement;
  if (chosenTheme.value === null) delete dataset.theme;
  else dataset.theme = chosenTheme.value;
}

function isDark(): boolean {
  return chosenTheme.value === null ? isDarkPreferred() : chosenTheme.value === "dark";
}

/** Changes to the other theme, and remembers it unless it is the system's. */
function switchTheme(): void {
  const next = isDark() ? "light" : "dark";
  const isSystem = (next === "dark") === isDarkPreferred();
  chosenTheme.value = isSystem ? null : next;
  if (isSystem) localStorage.removeItem(themeKey);
  else localStorage.setItem(themeKey, next);
  applyTheme();
}

applyTheme();
const root = document.getElementById("app")!;
root.textContent = "";
render(html`<${Shell} />` as never, root);
