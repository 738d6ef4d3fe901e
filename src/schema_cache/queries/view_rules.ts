/**
 * The parse trees of views, which say what table column each view column shows.
 *
 * @module
 */

/**
 * Parameters: exposed and extra schemas as `regnamespace[]`. The answer is not JSON but what
 * `readViewRules` reads: for each view its oid and the tree, all separated by spaces. (Trees are
 * large; escaping and unescaping them as JSON would double the memory.)
 */
export const viewRulesQuery = `
select coalesce(string_agg(c.oid::text || ' ' || r.ev_action::text, ' '), '')
from pg_class c join pg_rewrite r on r.ev_class = c.oid and r.rulename = '_RETURN'
where c.relnamespace = any ($1::regnamespace[]) and c.relkind in ('v', 'm')`;
