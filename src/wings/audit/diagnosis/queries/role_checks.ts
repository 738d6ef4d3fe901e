/** Checks of the login role and of the roles that it sets for requests. @module */

/** Each SELECT returns: finding, whether it concerns the anonymous role, subject, roles, objects, SQL. */
export const roleChecks: readonly string[] = [
  `select 'role-missing', true, quote_ident($3::text), '{}'::text[], '{}'::text[], array[
    format('create role %I nologin;', $3::text), format('grant %I to %s;', $3::text, l.name)
  ]
  from login l
  where $3::text is not null and not exists (select from roles r where r.anonymous)`,

  // The SQL names the options, because for an existing membership, GRANT changes only options that it names.
  `select 'role-not-granted', true, r.name, array[l.name], '{}', array[
    format('grant %s to %s%s;', r.name, l.name,
      case when v.number >= 160000 and (l.rolinherit or pg_has_role(l.oid, r.oid, 'MEMBER'))
        then ' with inherit false, set true' else '' end)
  ]
  from roles r, login l, version v
  where r.anonymous and not r.is_login and not pg_has_role(l.oid, r.oid, l.set_option)`,

  // There is no SQL for role 10, which initdb creates: it always stays a superuser.
  `select 'role-superuser', r.anonymous, r.name, '{}', '{}',
    case when r.is_login or r.oid = 10 then '{}'
      else array[format('alter role %s nosuperuser nobypassrls;', r.name)] end
  from roles r where r.rolsuper`,

  `select 'role-bypassrls', r.anonymous, r.name, '{}', '{}',
    case when r.is_login then '{}' else array[format('alter role %s nobypassrls;', r.name)] end
  from roles r where r.rolbypassrls and not r.rolsuper`,

  // The SQL grants the privileges again, because ALTER OWNER moves them from the old owner to the new one.
  `select 'role-owns', p.anonymous, p.role, '{}', array_agg(c.name order by c.name),
    case when p.is_login then '{}' else array_agg(format(E'alter %s %s owner to %s;\\n'
        'grant %s on %s to %s;',
      case c.relkind when 'v' then 'view' when 'm' then 'materialized view'
        when 'f' then 'foreign table' else 'table' end, c.name, n.name,
      case when p.anonymous then 'select' else 'select, insert, update, delete' end,
      c.name, p.role) order by c.name) end
  from privileges p
    join relations c on c.oid = p.oid and c.relowner = p.role_oid
    join schemas s on s.name = c.schema
    join new_owners n on n.role = p.role_oid and n.schema = s.oid
  where p.owns
  group by p.role, p.anonymous, p.is_login`,

  // For roles that inherit from the owner, and therefore have its rights.
  `select 'role-owns', p.anonymous, p.role, array[quote_ident(pg_get_userbyid(c.relowner))],
    array_agg(c.name order by c.name),
    case when p.is_login then '{}' else (
      select coalesce(array_agg(m.revoke order by m.revoke), '{}') from memberships m
      where m.role = p.role_oid and m.owner = c.relowner
    ) end
  from privileges p
    join relations c on c.oid = p.oid and c.relowner <> p.role_oid
  where p.owns
  group by p.role_oid, p.role, p.anonymous, p.is_login, c.relowner`,

  `select 'login-superuser', false, l.name, '{}', '{}', '{}' from login l where l.rolsuper`,

  // INHERIT is a property of the role before PostgreSQL 16, and an option of each membership from 16 on.
  `select 'login-inherits', false, l.name, array_agg(distinct r.name), '{}',
    case when v.number < 160000 then array[format('alter role %s noinherit;', l.name)]
      else coalesce(array_agg(distinct format('revoke inherit option for %s from %s granted by %I;',
        r.name, l.name, g.rolname)) filter (where g.oid is not null), '{}') end
  from login l
    cross join version v
    join roles r on not r.is_login and pg_has_role(l.oid, r.oid, 'USAGE')
    left join pg_auth_members m on m.roleid = r.oid and m.member = l.oid
    left join pg_roles g on g.oid = m.grantor
  where not l.rolsuper
  group by l.name, v.number`,
];
