/// <reference lib="dom" />
/**
 * The entry of the console.
 *
 * @module
 */
import "./theme.css";
import { render } from "preact";
import { Shell } from "./shell.ts";
import { html } from "./view.ts";

const root = document.getElementById("app")!;
root.textContent = "";
render(html`<${Shell} />` as never, root);
