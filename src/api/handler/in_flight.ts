/** The requests that are in progress. @module */
import { errors } from "../../base/errors/catalogue.ts";

/** Counts requests from their arrival to the end of their response. */
export class RequestsInFlight {
  #count = 0;

  /** Adds a request. Throws `135` if `max` requests are in progress; 0 sets no limit. */
  enter(max: number): void {
    if (max > 0 && this.#count >= max) throw errors.tooManyRequests();
    this.#count++;
  }

  /** Removes a request that was added. */
  leave(): void {
    this.#count--;
  }
}
