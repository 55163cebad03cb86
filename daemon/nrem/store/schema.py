"""The tables as the first steps make them; migrations runs them, and they are never changed."""

M001 = """
create table store_meta (
    key text primary key,
    value text not null
) without rowid;

create table scopes (
    scope integer primary key autoincrement,  -- autoincrement: a number is never used again
    name text not null,
    created_at integer not null,
    removed_at integer,                       -- set first, then the rows go; start-up finishes the work
    memory_count integer not null default 0,
    term_count integer not null default 0     -- with memory_count: the average length, for ranking
);

create unique index idx_scopes_name on scopes (name) where removed_at is null;

create table events (
    scope integer not null references scopes,
    seq integer not null,
    at integer not null,
    op text not null,
    subject text not null,
    actor text not null,
    cause text not null,
    payload_hash blob not null,
    chain blob not null,
    payload text,                             -- with salt: null once erased; the chain verifies without them
    salt blob,
    primary key (scope, seq)
) without rowid;

create index idx_events_subject on events (scope, subject, seq);

create table memories (
    rowid integer primary key,
    scope integer not null references scopes,
    id text not null,
    kind text not null check (kind in ('semantic', 'fact', 'episodic', 'procedural', 'conversation',
        'message', 'document', 'chunk', 'summary', 'goal', 'task', 'action')),
    kind_given text not null,
    content text not null,
    content_hash blob not null,
    category text not null,
    tags text not null default '[]',
    concept_tags text not null default '[]',
    data text,
    metadata text,
    context text,
    importance real not null check (importance between 0 and 1),
    confidence real not null check (confidence between 0 and 1),
    role text check (role in ('user', 'assistant', 'system', 'tool')),
    session_id text,
    room_id text,
    user_id text,
    pinned integer not null default 0,
    source text,
    ingress text not null,
    trust text not null check (trust in ('trusted', 'untrusted')),
    actor text not null,
    trigger_type text,
    legacy_id text,
    version integer not null,
    created_at integer not null,
    updated_at integer not null,
    expires_at integer,
    consolidated_at integer,
    seq integer not null,                     -- the event that made it; its payload_hash is the row's hash
    terms integer not null                    -- how many terms the keyword index has for it
);

create unique index idx_memories_id on memories (scope, id);

create index idx_memories_agent on memories (scope, created_at desc);

create index idx_memories_type on memories (scope, kind, created_at desc);

create index idx_memories_category on memories (scope, category, created_at desc);

create index idx_memories_session on memories (scope, session_id, created_at desc)
    where session_id is not null;

create index idx_memories_room on memories (scope, room_id, created_at desc) where room_id is not null;

create index idx_memories_user on memories (scope, user_id, created_at desc) where user_id is not null;

create unique index idx_memories_content on memories (scope, content_hash, kind)
    where kind in ('semantic', 'fact', 'procedural', 'conversation');

create unique index idx_memories_legacy on memories (scope, legacy_id) where legacy_id is not null;

create table memory_versions (
    scope integer not null references scopes,
    id text not null,
    version integer not null,
    seq integer not null,                     -- the event that made it, whose payload it is
    ended_seq integer not null,               -- the event that ended it
    embedder text,
    embedding_seq integer,
    embedding blob,
    primary key (scope, id, version, ended_seq)
);

create index idx_memory_versions_seq on memory_versions (scope, seq);

create table memory_use (
    memory integer primary key references memories on delete cascade,
    access_count integer not null,
    last_accessed_at integer not null
);

create table vec_memories (
    memory integer not null references memories on delete cascade,
    embedder text not null,
    scope integer not null references scopes,
    seq integer not null,                     -- the scope's seq when the vector came
    embedding blob not null,
    primary key (memory, embedder)
);

create virtual table memories_fts using fts5 (
    terms, content = '', contentless_delete = 1, detail = none, tokenize = 'ascii'
);

create table agent_configs (
    scope integer not null references scopes,
    version integer not null,
    config text not null,
    message text not null,
    actor text not null,
    at integer not null,
    primary key (scope, version)
);

create view memories_readable as
select s.name as agent, m.id, m.kind, m.category, m.content, m.tags, m.importance, m.confidence, m.pinned,
    m.session_id, m.room_id, m.user_id, m.version, m.trust, m.source,
    strftime('%Y-%m-%dT%H:%M:%fZ', m.created_at / 1000.0, 'unixepoch') as created_at,
    strftime('%Y-%m-%dT%H:%M:%fZ', m.updated_at / 1000.0, 'unixepoch') as updated_at,
    coalesce(u.access_count, 0) as access_count
from memories m
join scopes s on s.scope = m.scope
left join memory_use u on u.memory = m.rowid;

create view events_readable as
select s.name as agent, e.seq, strftime('%Y-%m-%dT%H:%M:%fZ', e.at / 1000.0, 'unixepoch') as at,
    e.op, e.subject, e.actor, e.cause, e.payload, lower(hex(e.chain)) as chain
from events e
join scopes s on s.scope = e.scope
"""

M002 = """
alter table scopes add column vector_generation integer not null default 0;

create table pending_vectors (
    memory integer primary key references memories on delete cascade,
    tries integer not null
);

create table recalls (
    rowid integer primary key autoincrement,
    scope integer not null references scopes,
    id text not null,
    at integer not null,
    now integer not null,                     -- the time of the question
    actor text not null,
    ingress text not null,
    query text not null,
    request text not null,                    -- mode, limit, filters: what else was asked
    seq integer not null,                     -- the scope's last event that the answer has seen
    config_hash text not null,
    ranker text not null,
    embedder text,
    degraded text not null
);

create unique index idx_recalls_id on recalls (scope, id);

create index idx_recalls_at on recalls (scope, at);

create table recall_events (
    id integer primary key autoincrement,
    scope integer not null references scopes,
    recall_id text not null,
    memory_id text not null,
    rank integer not null,
    score real not null,
    coverage real not null,                   -- share of the question's terms that it has
    ts_ms integer not null
);

create index idx_recall_events_memory on recall_events (scope, memory_id, ts_ms desc);

create index idx_recall_events_recall on recall_events (scope, recall_id, rank);

create view recalls_readable as
select s.name as agent, strftime('%Y-%m-%dT%H:%M:%fZ', r.at / 1000.0, 'unixepoch') as at, r.query, e.rank,
    round(e.score, 4) as score, m.kind, m.content, r.actor, r.id as recall_id
from recalls r
join scopes s on s.scope = r.scope
left join recall_events e on e.scope = r.scope and e.recall_id = r.id
left join memories m on m.scope = e.scope and m.id = e.memory_id
"""

M003 = """
create table tokens (
    id text primary key,
    hash blob not null,                       -- sha256 of the token, which itself is nowhere
    label text not null,
    scope integer references scopes,          -- the agent it is for
    org text,                                 -- or the organisation; with neither, the whole store
    rights text not null,
    created_at integer not null,
    expires_at integer,
    last_used_at integer
) without rowid;

create unique index idx_tokens_hash on tokens (hash);

create index idx_tokens_scope on tokens (scope) where scope is not null
"""

M004 = """
create table commits (
    rowid integer primary key autoincrement,  -- the order in which they came to be known
    scope integer not null references scopes,
    id text not null,
    parent text,
    cause text not null,
    at integer not null,
    subject text not null,
    first_seq integer,                        -- with last_seq: the events that it publishes, if any
    last_seq integer,
    chain blob,                               -- the hash of the last event in it; null for a person's commit
    state blob,
    added integer not null,
    changed integer not null,
    forgotten integer not null,
    files integer not null
);

create unique index idx_commits_id on commits (scope, id);

create table watermarks (
    scope integer primary key references scopes,
    seq integer not null,                     -- the last event that is in git
    commit_id text not null                   -- the last commit of the branch that was looked at
)
"""
