"""The tables of dreaming, as the step m010 makes them."""

TABLES = """
create table sweeps (
    scope integer not null references scopes,
    id text not null,
    state text not null check (state in ('running', 'applied', 'published')),
    mode text not null check (mode in ('propose', 'auto')),
    actor text not null,
    started_at integer not null,
    lease_until integer,                      -- while it runs: after this, another one may begin
    finished_at integer,
    digest text,                              -- of all that a sweep reads, as this one left it
    promoted integer not null default 0,
    demoted integer not null default 0,
    superseded integer not null default 0,
    report text not null default '{}',        -- every decision with its terms, and who almost got a line
    commit_id text,
    undone_at integer,
    primary key (scope, id)
) without rowid;

create unique index idx_sweeps_open on sweeps (scope) where state <> 'published';

create table memory_promotions (
    rowid integer primary key autoincrement,
    scope integer not null references scopes,
    memory_id text not null,
    promoted_at integer not null,
    score real,                               -- P(needed again); null for a line that a person wrote
    sweep text,                               -- null for a line that a person wrote
    reason text not null,
    demoted_at integer,                       -- null while it has its line
    demoted_by text,                          -- the sweep that took the line
    demoted_for text
);

create unique index idx_memory_promotions_active on memory_promotions (scope, memory_id)
    where demoted_at is null;

create index idx_memory_promotions_sweep on memory_promotions (scope, sweep);

create index idx_memory_promotions_demoted on memory_promotions (scope, demoted_by)
    where demoted_by is not null;

create table promotion_bars (
    scope integer not null references scopes,
    memory_id text not null,
    version integer not null,                 -- of the memory; a pin of a later one lifts the bar
    at integer not null,
    reason text not null,
    primary key (scope, memory_id)
) without rowid;

create table proposals (
    scope integer not null references scopes,
    id text not null,
    sweep text not null,
    memory_id text not null,
    version integer not null,
    verdict text not null check (verdict in ('promote', 'demote', 'supersede')),
    reason text not null,
    score real not null,
    state text not null check (state in ('open', 'accepted', 'rejected')),
    at integer not null,
    decided_at integer,
    primary key (scope, id)
) without rowid;

create index idx_proposals_memory on proposals (scope, memory_id);

create table memory_blocks (
    scope integer primary key references scopes,
    written blob not null,                    -- the block of MEMORY.md as nrem last wrote it
    intended blob not null                    -- what it was about to write; the same once that is done
);

create view promotions_readable as
select s.name as agent, m.content, p.reason, round(p.score, 3) as score,
    strftime('%Y-%m-%dT%H:%M:%fZ', p.promoted_at / 1000.0, 'unixepoch') as promoted_at,
    strftime('%Y-%m-%dT%H:%M:%fZ', p.demoted_at / 1000.0, 'unixepoch') as demoted_at,
    p.demoted_for, p.memory_id, p.sweep
from memory_promotions p
join scopes s on s.scope = p.scope
left join memories m on m.scope = p.scope and m.id = p.memory_id
"""
