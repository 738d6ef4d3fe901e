/// <reference lib="dom" />
/** A drawing of Observable Plot, in the size of its container. @module */
import * as Plot from "@observablehq/plot";
import { useEffect, useRef } from "preact/hooks";
import { html, type View } from "./view.ts";

interface DrawingProps {
  /** Label of the whole image. */
  readonly label: string;
  /** Returns the drawing for a width in px. */
  readonly options: (width: number) => Plot.PlotOptions;
  /** Values on which the drawing depends. */
  readonly deps: readonly unknown[];
}

/** Draws now, and when the size of the container changes. */
export function Drawing({ label, options, deps }: DrawingProps): View {
  const box = useRef<HTMLDivElement>(null);
  useEffect(() => {
    const element = box.current!;
    const observer = new ResizeObserver(() => {
      const width = Math.max(240, element.clientWidth);
      element.replaceChildren(drawn({ ...options(width), width }));
    });
    observer.observe(element);
    return () => observer.disconnect();
  }, deps as unknown[]);
  return html`<div ref=${box} role="img" aria-label=${label}></div>`;
}

/** Draws without the package's `style` element, which the page's security policy forbids. */
function drawn(options: Plot.PlotOptions): Element {
  const figure = Plot.plot({ className: "drawn", ...options });
  figure.querySelectorAll("style").forEach((style) => style.remove());
  // Removes the labels of parts, because the container has the label of the whole image.
  figure.querySelectorAll("[aria-label]").forEach((each) => each.removeAttribute("aria-label"));
  return figure;
}
