"""What the later steps make of the tables; migrations runs them, and they are never changed."""

# Between two events vectors may come late; the generation tells whether a recall of that time had seen them.
M005 = """
alter table vec_memories add column generation integer not null default 0;

alter table memory_versions add column embedding_generation integer;

alter table recalls add column vector_generation integer;

create table vector_switches (
    scope integer not null references scopes,
    generation integer not null,              -- with seq: since when another embedder serves
    seq integer not null,
    was text,                                 -- the one that served until then; null = none
    primary key (scope, generation)
) without rowid;

create index idx_events_erased on events (scope) where payload is null
"""

M006 = """
create table erasures (
    rowid integer primary key autoincrement,
    scope integer not null references scopes,
    id text not null,                         -- of the memory
    at integer not null,
    actor text not null,
    receipt text,                             -- what was erased, without content; null until the text is gone
    done_at integer                           -- null while start-up must come back to it
);

create index idx_erasures_id on erasures (scope, id);

create table rewritten_commits (
    scope integer not null references scopes,
    old text not null,
    new text not null,
    state blob,                               -- the new one's hash of the state, where that has changed
    erasure integer not null references erasures,
    primary key (scope, old)
) without rowid;

create index idx_rewritten_commits_new on rewritten_commits (scope, new);

create index idx_rewritten_commits_erasure on rewritten_commits (erasure)
"""

M007 = """
alter table recalls add column asked_by text not null default 'agent'
    check (asked_by in ('human', 'agent', 'cron', 'dream', 'replay'));

alter table recalls add column day integer not null default 0;

alter table recalls add column question integer not null default 0;

alter table recalls add column best real not null default 0;

update recalls set day = at / 86400000, asked_by = case when ingress = 'cli' then 'human' else 'agent' end,
    best = coalesce((select max(coverage) from recall_events e
        where e.scope = recalls.scope and e.recall_id = recalls.id), 0);

create index idx_recalls_day on recalls (scope, day);

-- What is counted is in one index, in the order in which it is counted: 1 of each memory, day and question.
alter table recall_events add column organic integer not null default 1;

alter table recall_events add column day integer not null default 0;

alter table recall_events add column question integer not null default 0;

drop index idx_recall_events_memory;

create index idx_recall_events_memory on recall_events
    (scope, memory_id, organic, day, question, ts_ms, rank, coverage);

create table recall_uses (
    scope integer not null references scopes,
    recall_id text not null,
    memory_id text not null,
    verdict text not null check (verdict in ('used', 'wrong')),
    actor text not null,
    at integer not null,
    primary key (scope, recall_id, memory_id, verdict)
);

-- What recalls that are pruned had said; those of the days before rolled_day are in it.
create table recall_sums (
    scope integer not null references scopes,
    memory_id text not null,
    exposures integer not null,
    weight real not null,
    uses integer not null,
    wrongs integer not null,
    last_at integer not null,
    primary key (scope, memory_id)
);

alter table scopes add column rolled_day integer not null default 0
"""

M008 = """
alter table scopes add column last_recall integer not null default 0;

-- Among those of its scope, and never used again.
alter table recalls add column number integer;

-- Of one that came from git without its words.
alter table recalls add column query_hash text;

update recalls set number = n.number
from (select rowid as recall, row_number() over (partition by scope order by rowid) as number from recalls) n
where n.recall = recalls.rowid;

update scopes set last_recall =
    (select coalesce(max(r.number), 0) from recalls r where r.scope = scopes.scope);

create unique index idx_recalls_number on recalls (scope, number);

-- The last one that is in git.
alter table watermarks add column recall integer not null default 0;

insert into store_meta values ('recall_salt', lower(hex(randomblob(32))));

create table remotes (
    scope integer primary key references scopes,
    url text not null,
    commit_id text,                           -- the last one that the remote is known to have
    pushed_at integer,
    tried_at integer not null,
    failures integer not null,                -- since the last success
    error text,
    diverged integer not null
)
"""

M009 = """
create table jobs (
    rowid integer primary key autoincrement,  -- the order in which they came
    id text not null unique,
    kind text not null,
    scope integer not null references scopes,
    key text not null,                        -- tells it from others of its kind
    payload text not null,
    state text not null check (state in ('queued', 'running', 'done', 'dead')),
    due_at integer not null,
    lease_until integer,                      -- by a clock of the process that has it
    fence integer not null default 0,         -- grows with every claim
    attempts integer not null default 0,
    last_error text,
    created_at integer not null,
    finished_at integer
);

create unique index idx_jobs_key on jobs (kind, scope, key) where state in ('queued', 'running');

create index idx_jobs_slot on jobs (scope, kind, key);

create index idx_jobs_due on jobs (state, due_at);

create index idx_jobs_finished on jobs (finished_at) where state = 'done';

create table schedules (
    scope integer not null references scopes,
    kind text not null,
    slot integer not null,                    -- the last one that was looked at
    primary key (scope, kind)
)
"""

M010 = """
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

M011 = """
create table model_calls (
    id text primary key,
    scope integer not null references scopes,
    at integer not null,
    purpose text not null,
    template text not null,                   -- version and hash of the words around the data
    prompt_hash blob not null,                -- sha256 of all that was asked
    model text not null,
    memory_ids text not null,
    output_hash blob,                         -- sha256 of the answer; null when there was none
    input_tokens integer not null,
    output_tokens integer not null,
    millis integer not null,
    error text
);

create index idx_model_calls_at on model_calls (at);

create index idx_model_calls_scope on model_calls (scope, at)
"""

M012 = """
create table model_lines (
    scope integer not null references scopes,
    memory_id text not null,
    sources text not null,                    -- memories that it goes by, with versions: of others it is void
    line text,                                -- what its line says; null: its own words
    successor text,                           -- the memory that makes this one untrue
    model text,                               -- null when a person wanted its own words
    sweep text,
    at integer not null,
    primary key (scope, memory_id)
) without rowid
"""

# A text is kept once among what still holds: one that was superseded can come to hold again.
M013 = """
alter table memories add column superseded_by text;

drop index idx_memories_content;

create unique index idx_memories_content on memories (scope, content_hash, kind)
    where kind in ('semantic', 'fact', 'procedural', 'conversation') and superseded_by is null;

create index idx_memories_superseded on memories (scope, superseded_by) where superseded_by is not null
"""

M014 = """
insert into memories_fts (memories_fts, rank) values ('usermerge', 2);

create virtual table memories_terms using fts5vocab (memories_fts, instance)
"""

M015 = """
insert or ignore into pending_vectors (memory, tries)
select m.rowid, 0 from memories m
where not exists (select 1 from vec_memories v where v.memory = m.rowid
    and v.embedder = (select value from store_meta where key = 'embedder'))
"""

M016 = """
create table sweep_failures (
    scope integer primary key references scopes,
    at integer not null,
    error text not null,                      -- why the last try came to nothing; never a text of memories
    hint text
)
"""

M017 = """
alter table jobs add column first_due_at integer not null default 0;

update jobs set first_due_at = min(due_at, created_at)
"""
