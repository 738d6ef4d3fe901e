/**
 * Reads the parse trees of views, which contain the table column that each view column shows.
 *
 * @module
 */

/**
 * Parameters: exposed and extra schemas as `regnamespace[]`. The result is the input of
 * `readViewRules`, not JSON: the oid and the tree of each view, separated by spaces. Trees are
 * large, and escaping them as JSON would double the memory.
 */
export const viewRulesQuery = `
select coalesce(string_agg(c.oid::text || ' ' || r.ev_action::text, ' '), '')
from pg_class c join pg_rewrite r on r.ev_class = c.oid and r.rulename = '_RETURN'
where c.relnamespace = any ($1::regnamespace[]) and c.relkind in ('v', 'm')`;
