/**
 * Reads the serialised parse trees of view rules (`pg_rewrite.ev_action`, of type `pg_node_tree`).
 * It finds the relation and column that each view column shows.
 *
 * PostgreSQL's `outfuncs.c` writes the text: nodes `{TYPE :field value …}`, lists `( … )`, null
 * `<>`. A backslash escapes special characters in names, so that a name holds no space. Sub-selects
 * and common table expressions have target lists of their own, deeper than that of the outermost
 * query.
 *
 * @module
 */

/** A view column that shows a column of a relation unchanged. */
export interface TargetColumn {
  /** Attribute number of the view column. Junk entries have numbers beyond the view's columns. */
  readonly position: number;
  /** Oid of the relation that the query names, which may be a view. */
  readonly relation: number;
  readonly column: number;
}

const tokens = /\\.|[()]|[{}]|:(?:targetList (?=\()|resno \d+|resorigtbl \d+|resorigcol \d+)/gs;

/** Depths of brackets in `({QUERY … :targetList ({TARGETENTRY …} …) …})`. */
const queryDepth = 2;
const entryDepth = 4;

/**
 * Returns the plain columns of a view, with the view's oid.
 *
 * `Rule = oid SP "(" Query ")"`
 */
export function readViewRule(rule: string): readonly [view: number, readonly TargetColumn[]] {
  const columns: TargetColumn[] = [];
  let depth = 0;
  let isInList = false;
  let position = 0;
  let relation = 0;
  for (const [token] of rule.matchAll(tokens)) {
    if (token === "{" || token === "(") depth++;
    else if (token === "}" || token === ")") {
      depth--;
      if (depth === queryDepth) isInList = false;
    } else if (token === ":targetList ") isInList ||= depth === queryDepth;
    else if (isInList && depth === entryDepth && token[0] === ":") {
      const number = Number(token.slice(token.indexOf(" ")));
      // PostgreSQL writes the fields of an entry in this order.
      if (token.startsWith(":resno")) position = number;
      else if (token.startsWith(":resorigtbl")) relation = number;
      else if (relation > 0 && number > 0) columns.push({ position, relation, column: number });
    }
  }
  return [Number.parseInt(rule, 10), columns];
}
