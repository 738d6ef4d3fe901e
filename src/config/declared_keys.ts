/**
 * The grammar of declared keys: in `db-relationships`, and in comments of relations after `@`.
 *
 * ```abnf
 * declarations = [ declaration *( ";" declaration ) ]
 * declaration  = relation key
 * key          = "primaryKey" columns / "unique" columns
 *              / "foreignKey" columns "references" relation columns [ "as" name ]
 * relation     = [ name "." ] name
 * columns      = "(" list ")" / list
 * list         = name *( "," name )
 * name         = 1*( letter / DIGIT / "_" / "$" ) / DQUOTE text DQUOTE
 * ```
 *
 * White space separates words, and may surround `.`, `,`, `;` and parentheses. A name means what
 * it says: letters keep their case.
 *
 * @module
 */
import { type GrammarFailure, GrammarReader, problemOr } from "./grammar_reader.ts";

/** A relation by its name. */
export interface RelationReference {
  /** Null if the text names no schema. */
  readonly schema: string | null;
  readonly name: string;
}

/** A key of a relation that PostgreSQL does not know. */
export type DeclaredKey =
  | { readonly kind: "primary" | "unique"; readonly columns: readonly string[] }
  | {
    readonly kind: "foreign";
    readonly columns: readonly string[];
    readonly references: RelationReference;
    readonly foreignColumns: readonly string[];
    /** Name of the constraint; null for the default. */
    readonly name: string | null;
  };

/** A key and the relation that it belongs to. */
export interface KeyDeclaration {
  readonly relation: RelationReference;
  readonly key: DeclaredKey;
}

/** Reads the text of `db-relationships`. */
export function readKeyDeclarations(
  text: string,
): { readonly kind: "keys"; readonly keys: readonly KeyDeclaration[] } | GrammarFailure {
  return problemOr(() => ({ kind: "keys", keys: new KeyReader(text).declarations() }));
}

/** Reads one key, as it stands after the `@` of a comment. */
export function readKey(
  text: string,
): { readonly kind: "key"; readonly key: DeclaredKey } | GrammarFailure {
  return problemOr(() => ({ kind: "key", key: new KeyReader(text).onlyKey() }));
}

class KeyReader extends GrammarReader {
  declarations(): readonly KeyDeclaration[] {
    const keys: KeyDeclaration[] = [];
    do {
      this.skipSpace();
      if (this.isAtEnd) break;
      keys.push({ relation: this.#relation(), key: this.#key() });
    } while (this.takes(";"));
    if (!this.isAtEnd) throw this.problem('";"');
    return keys;
  }

  onlyKey(): DeclaredKey {
    const key = this.#key();
    this.skipSpace();
    if (!this.isAtEnd) throw this.problem("the end of the line");
    return key;
  }

  #key(): DeclaredKey {
    const word = this.match(/(primaryKey|unique|foreignKey)(?=[\s(])/y, keyExpected);
    const columns = this.#columns();
    if (word === "primaryKey") return { kind: "primary", columns };
    if (word === "unique") return { kind: "unique", columns };
    if (!this.takesWord("references")) throw this.problem('"references"');
    const references = this.#relation();
    const start = this.startOf(this.at);
    const foreignColumns = this.#columns();
    if (foreignColumns.length !== columns.length) {
      this.at = start;
      throw this.problem(`as many columns as before "references": ${columns.length}`);
    }
    const name = this.takesWord("as") ? this.#name("a constraint") : null;
    return { kind: "foreign", columns, references, foreignColumns, name };
  }

  #relation(): RelationReference {
    const first = this.#name("a relation");
    if (!this.takes(".")) return { schema: null, name: first };
    return { schema: first, name: this.#name("a relation") };
  }

  #columns(): readonly string[] {
    const isInParentheses = this.takes("(");
    const columns: string[] = [];
    do columns.push(this.#name("a column")); while (this.takes(","));
    if (isInParentheses) this.take(")");
    return columns;
  }

  #name(expected: string): string {
    const read = this.match(/"(?:[^"]|"")+"|[\p{L}\p{N}_$]+/uy, expected);
    return read.startsWith('"') ? read.slice(1, -1).replaceAll('""', '"') : read;
  }
}

const keyExpected = '"primaryKey", "unique" or "foreignKey"';
