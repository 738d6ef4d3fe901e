/** Which rows were sent, what the service said of each, and whether it told the truth. @module */
import type { PostgresClient } from "../../support/database/postgres_client.ts";
import type { WriteCounts } from "./report.ts";

/** What the answer to an insert says of its row. */
export type Verdict = "acknowledged" | "refused" | "uncertain";

/** Numbers rows and remembers what was said of them. */
export class Ledger {
  readonly #verdicts = new Map<number, Verdict>();
  #last = 0;

  /** A number for a row to be sent; nothing is known of it until {@linkcode note}. */
  next(): number {
    this.#verdicts.set(++this.#last, "uncertain");
    return this.#last;
  }

  note(mark: number, verdict: Verdict): void {
    this.#verdicts.set(mark, verdict);
  }

  /** Compares with the rows of `api.marks`. No insert may be under way. */
  async compare(client: PostgresClient): Promise<WriteCounts> {
    const { rows } = await client.query(
      "select mark, count(*)::int as n from api.marks group by 1",
    );
    const found = new Map(rows.map(({ mark, n }) => [Number(mark), Number(n)]));
    const marked = (verdict: Verdict) =>
      [...this.#verdicts].filter(([, own]) => own === verdict).map(([mark]) => mark);
    const [acknowledged, refused, uncertain] = [
      marked("acknowledged"),
      marked("refused"),
      marked("uncertain"),
    ];
    const isThere = (mark: number) => found.has(mark);
    return {
      acknowledged: acknowledged.length,
      lost: acknowledged.filter((mark) => !isThere(mark)).length,
      doubled: [...found.values()].filter((count) => count > 1).length,
      refused: refused.length,
      undead: refused.filter(isThere).length,
      uncertain: uncertain.length,
      uncertainFound: uncertain.filter(isThere).length,
    };
  }
}
