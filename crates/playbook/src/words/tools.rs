//! The settings of each tool: every key it reads, the type of its value, which keys are required,
//! and which exclude or override each other.
//!
//! Invariant: every key that a built-in tool reads is listed here, so an unlisted key is a mistake.

use std::time::Duration;

use noetl_model::ToolKind;

/// A key of a tool.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ToolKey {
    pub(crate) name: &'static str,
    pub(crate) form: Form,
}

/// The type of a key's value, unless the value is a template.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Form {
    Any,
    /// Text, or a number or boolean taken as text.
    Text,
    Truth,
    /// A whole number up to this maximum.
    Whole(u32),
    /// Seconds, or text such as `500ms`, `30s`, `5m`, up to this maximum.
    Duration(Duration),
    /// A time such as `2026-01-31T09:30:00Z`, or seconds since 1970.
    Time,
    Map,
    /// A JSON Schema of the values that a decision gives.
    DecisionSchema,
    /// A map of texts.
    Texts,
    TextOrMap,
    TextOrList,
    TextListOrMap,
    ListOrMap,
    /// One of these words, in upper or lower case.
    Word(&'static [&'static str]),
    /// One of these words, or a boolean.
    WordOrTruth(&'static [&'static str]),
    /// A map with these settings.
    Nested(&'static ToolKeys),
}

/// The settings of a tool, or of a map below one.
#[derive(Debug)]
pub(crate) struct ToolKeys {
    /// The name of the tool or map in messages.
    pub(crate) title: &'static str,
    pub(crate) list: &'static [&'static [ToolKey]],
    /// Groups of keys of which one is required each; `a.b` is the key `b` in the map `a`.
    pub(crate) needs: &'static [&'static [&'static str]],
    /// Groups of keys of which the first one present takes effect.
    pub(crate) rivals: &'static [&'static [&'static str]],
    /// Groups of keys of which only one may be present.
    pub(crate) exclusive: &'static [&'static [&'static str]],
    /// Keys that are required if another key has a certain value.
    pub(crate) cases: &'static [Case],
}

/// The keys required by one value of a key.
#[derive(Debug)]
pub(crate) struct Case {
    /// The alternative spellings of the key.
    pub(crate) key: &'static [&'static str],
    pub(crate) value: &'static str,
    /// True if this value is the default of the key.
    pub(crate) is_default: bool,
    /// Groups of keys of which one is required each.
    pub(crate) needs: &'static [&'static [&'static str]],
}

/// Settings without any rule.
const PLAIN: ToolKeys =
    ToolKeys { title: "", list: &[], needs: &[], rivals: &[], exclusive: &[], cases: &[] };

impl ToolKeys {
    pub(crate) fn all(&self) -> impl Iterator<Item = &'static ToolKey> {
        self.list.iter().flat_map(|part| part.iter())
    }

    pub(crate) fn setting(&self, name: &str) -> Option<&'static ToolKey> {
        self.all().find(|setting| setting.name == name)
    }
}

/// Returns the settings of a built-in tool; `None` for other tools.
pub(crate) const fn settings_of(tool: ToolKind) -> Option<&'static ToolKeys> {
    match tool {
        ToolKind::Approval => Some(APPROVAL),
        ToolKind::Artifact | ToolKind::ResultFetch => Some(ARTIFACT),
        ToolKind::Duckdb => Some(DUCKDB),
        ToolKind::Http => Some(HTTP),
        ToolKind::Nats => Some(NATS),
        ToolKind::Noop => Some(NOOP),
        ToolKind::Playbook => Some(PLAYBOOK),
        ToolKind::Postgres => Some(POSTGRES),
        ToolKind::Python => Some(PYTHON),
        ToolKind::Rhai => Some(RHAI),
        ToolKind::Script => Some(SCRIPT),
        ToolKind::Secrets => Some(SECRETS),
        ToolKind::Shell => Some(SHELL),
        ToolKind::Sqlite => Some(SQLITE),
        ToolKind::Subscription => Some(SUBSCRIPTION),
        ToolKind::Transfer => Some(TRANSFER),
        ToolKind::Wait => Some(WAIT),
        ToolKind::Agent
        | ToolKind::Container
        | ToolKind::Ducklake
        | ToolKind::Gateway
        | ToolKind::Gcs
        | ToolKind::Mcp
        | ToolKind::Snowflake
        | ToolKind::Wasm => None,
    }
}

/// The largest number of rows, messages or connections.
const COUNT_MAX: u32 = u32::MAX;
const PORT_MAX: u32 = 65_535;
const WEEK: Duration = Duration::from_secs(7 * 86_400);
/// The longest wait for a time.
pub const WAIT_MAX: Duration = Duration::from_secs(3660 * 86_400);

const fn of(name: &'static str, form: Form) -> ToolKey {
    ToolKey { name, form }
}

/// The settings of every tool.
const COMMON: &[ToolKey] = &[
    of("input", Form::Any),
    of("args", Form::Any),
    of("auth", Form::TextOrMap),
    of("credential", Form::TextOrMap),
    of("desc", Form::Any),
    of("description", Form::Any),
    of("name", Form::Text),
    of("output", Form::Any),
    of("output_select", Form::Any),
    of("timeout", Form::Any),
    of("timeout_seconds", Form::Any),
];

const METHODS: &[&str] = &["GET", "POST", "PUT", "PATCH", "DELETE", "HEAD", "OPTIONS"];
const RESPONSES: &[&str] = &["auto", "json", "text", "binary"];

const REQUEST: &[ToolKey] = &[
    of("url", Form::Text),
    of("method", Form::Word(METHODS)),
    of("headers", Form::Texts),
    of("params", Form::Map),
    of("query_params", Form::Map),
    of("json", Form::Any),
    of("form", Form::Map),
    of("multipart", Form::Map),
    of("body", Form::Any),
    of("body_base64", Form::Text),
    of("body_file", Form::Text),
    of("data", Form::Any),
    of("payload", Form::Any),
    of("follow_redirects", Form::Truth),
    of("verify_ssl", Form::Truth),
    of("verify", Form::Truth),
];

const BODIES: &[&str] =
    &["json", "form", "multipart", "body", "body_base64", "body_file", "data", "payload"];

pub(crate) const HTTP: &ToolKeys = &ToolKeys {
    title: "http",
    list: &[
        REQUEST,
        &[
            of("endpoint", Form::Text),
            of("response_type", Form::Word(RESPONSES)),
            of("save_to", Form::Text),
            of("response_file", Form::Text),
        ],
        COMMON,
    ],
    needs: &[&["url", "endpoint"]],
    rivals: &[BODIES, &["save_to", "response_file"]],
    ..PLAIN
};

const STATEMENTS: &[ToolKey] = &[
    of("query", Form::TextOrList),
    of("command", Form::TextOrList),
    of("commands", Form::TextOrList),
    of("sql", Form::TextOrList),
    of("statement", Form::TextOrList),
    of("statements", Form::TextOrList),
    of("queries", Form::TextOrList),
    of("script", Form::TextOrMap),
    of("file", Form::TextOrMap),
    of("params", Form::ListOrMap),
    of("parameters", Form::ListOrMap),
    of("as_objects", Form::Truth),
    of("transaction", Form::Truth),
];

const STATEMENT_KEYS: &[&str] = &[
    "query",
    "command",
    "commands",
    "sql",
    "statement",
    "statements",
    "queries",
    "script",
    "file",
];

const SSL_MODES: &[&str] = &["disable", "allow", "prefer", "require", "verify-ca", "verify-full"];

/// The settings of a PostgreSQL connection.
const DATABASE: &[ToolKey] = &[
    of("connection", Form::TextOrMap),
    of("connection_string", Form::Text),
    of("dsn", Form::Text),
    of("db_url", Form::Text),
    of("database_url", Form::Text),
    of("host", Form::Text),
    of("db_host", Form::Text),
    of("hostaddr", Form::Text),
    of("hostname", Form::Text),
    of("port", Form::Whole(PORT_MAX)),
    of("db_port", Form::Whole(PORT_MAX)),
    of("dbname", Form::Text),
    of("database", Form::Text),
    of("db_name", Form::Text),
    of("db_database", Form::Text),
    of("db", Form::Text),
    of("user", Form::Text),
    of("db_user", Form::Text),
    of("username", Form::Text),
    of("db_username", Form::Text),
    of("password", Form::Text),
    of("db_password", Form::Text),
    of("sslmode", Form::Word(SSL_MODES)),
    of("ssl_mode", Form::Word(SSL_MODES)),
    of("db_sslmode", Form::Word(SSL_MODES)),
    of("sslrootcert", Form::Text),
    of("ssl_root_cert", Form::Text),
    of("application_name", Form::Text),
    of("schema", Form::Text),
    of("statement_timeout", Form::Duration(WEEK)),
    of("pool", Form::Nested(POOL)),
];

const POOL: &ToolKeys = &ToolKeys {
    title: "`pool`",
    list: &[&[
        of("max_size", Form::Whole(COUNT_MAX)),
        of("size", Form::Whole(COUNT_MAX)),
        of("min_size", Form::Any),
        of("name", Form::Any),
        of("timeout", Form::Duration(WEEK)),
    ]],
    ..PLAIN
};

pub(crate) const POSTGRES: &ToolKeys = &ToolKeys {
    title: "postgres",
    list: &[STATEMENTS, DATABASE, &[of("url", Form::Text)], COMMON],
    needs: &[STATEMENT_KEYS],
    rivals: &[STATEMENT_KEYS, &["params", "parameters"]],
    ..PLAIN
};

/// The settings of a database in a file.
const DATABASE_FILE: &[ToolKey] = &[
    of("database", Form::Text),
    of("db_path", Form::Text),
    of("path", Form::Text),
    of("db", Form::Text),
    of("read_only", Form::Truth),
];

pub(crate) const SQLITE: &ToolKeys = &ToolKeys {
    title: "sqlite",
    list: &[STATEMENTS, DATABASE_FILE, COMMON],
    needs: &[STATEMENT_KEYS],
    rivals: &[STATEMENT_KEYS, &["params", "parameters"], &["database", "db_path", "path", "db"]],
    ..PLAIN
};

pub(crate) const DUCKDB: &ToolKeys = &ToolKeys { title: "duckdb", ..*SQLITE };

const PROGRAM: &[ToolKey] = &[
    of("code", Form::Text),
    of("script", Form::TextOrMap),
    of("cwd", Form::Text),
    of("env", Form::Texts),
];

pub(crate) const PYTHON: &ToolKeys = &ToolKeys {
    title: "python",
    list: &[
        PROGRAM,
        &[
            of("libs", Form::TextListOrMap),
            of("python", Form::Text),
            of("venv", Form::Text),
            of("virtualenv", Form::Text),
        ],
        COMMON,
    ],
    needs: &[&["code", "script"]],
    rivals: &[&["code", "script"]],
    exclusive: &[&["venv", "virtualenv", "python"]],
    ..PLAIN
};

pub(crate) const SCRIPT: &ToolKeys = &ToolKeys {
    title: "script",
    list: &[
        PROGRAM,
        &[
            of("interpreter", Form::TextOrList),
            of("arguments", Form::ListOrMap),
            of("job", Form::Any),
        ],
        COMMON,
    ],
    needs: &[&["code", "script"]],
    rivals: &[&["code", "script"], &["args", "arguments"]],
    ..PLAIN
};

pub(crate) const SHELL: &ToolKeys = &ToolKeys {
    title: "shell",
    list: &[
        &[
            of("command", Form::TextOrList),
            of("cmds", Form::TextOrList),
            of("shell", Form::Text),
            of("stdin", Form::Any),
            of("cwd", Form::Text),
            of("env", Form::Texts),
            of("capture", Form::Any),
        ],
        COMMON,
    ],
    needs: &[&["command", "cmds"]],
    rivals: &[&["command", "cmds"]],
    ..PLAIN
};

pub(crate) const RHAI: &ToolKeys = &ToolKeys {
    title: "rhai",
    list: &[&[of("code", Form::Text)], COMMON],
    needs: &[&["code"]],
    ..PLAIN
};

pub(crate) const NOOP: &ToolKeys = &ToolKeys {
    title: "noop",
    list: &[&[of("result", Form::Any), of("message", Form::Any)], COMMON],
    rivals: &[&["result", "message"]],
    ..PLAIN
};

pub(crate) const WAIT: &ToolKeys = &ToolKeys {
    title: "wait",
    list: &[
        &[
            of("for", Form::Duration(WAIT_MAX)),
            of("until", Form::Time),
            of("signal", Form::Text),
            of("key", Form::Text),
            of("on_timeout", Form::Word(&["fail", "continue"])),
        ],
        COMMON,
    ],
    needs: &[&["for", "until", "signal"]],
    exclusive: &[&["for", "until", "signal"]],
    ..PLAIN
};

pub(crate) const APPROVAL: &ToolKeys = &ToolKeys {
    title: "approval",
    list: &[
        &[
            of("title", Form::Text),
            of("description", Form::Text),
            of("form", Form::DecisionSchema),
            of("approvers", Form::TextOrList),
            of("timeout", Form::Duration(WAIT_MAX)),
            of("on_timeout", Form::Word(&["fail", "approve", "reject"])),
            of("on_reject", Form::Word(&["fail", "continue"])),
        ],
        COMMON,
    ],
    needs: &[&["title"]],
    ..PLAIN
};

pub(crate) const PLAYBOOK: &ToolKeys = &ToolKeys {
    title: "playbook",
    list: &[
        &[
            of("path", Form::Text),
            of("catalog_id", Form::Any),
            of("version", Form::Any),
            of("payload", Form::Map),
            of("return_step", Form::Text),
            of("return_result", Form::Truth),
            of("result_step", Form::Text),
            of("poll_interval", Form::Any),
            of("parent_execution_id", Form::Any),
            of("wait", Form::Truth),
        ],
        COMMON,
    ],
    needs: &[&["path", "catalog_id"]],
    rivals: &[&["input", "payload"]],
    ..PLAIN
};

pub(crate) const SECRETS: &ToolKeys = &ToolKeys {
    title: "secrets",
    list: &[
        &[
            of("secret_name", Form::Text),
            of("key", Form::Text),
            of("fields", Form::TextOrList),
            of("required", Form::TextOrList),
        ],
        COMMON,
    ],
    needs: &[&["credential", "auth", "secret_name", "name", "key"]],
    ..PLAIN
};

pub(crate) const ARTIFACT: &ToolKeys = &ToolKeys {
    title: "artifact",
    list: &[
        &[
            of("action", Form::Word(&["get"])),
            of("operation", Form::Word(&["get"])),
            of("result_ref", Form::TextOrMap),
            of("ref", Form::TextOrMap),
            of("uri", Form::TextOrMap),
            of("prefer", Form::Any),
        ],
        COMMON,
    ],
    needs: &[&["result_ref", "ref", "uri", "input.result_ref", "input.ref", "input.uri"]],
    ..PLAIN
};

/// The settings of a NATS connection.
const BROKER: &[ToolKey] = &[
    of("url", Form::Text),
    of("nats_url", Form::Text),
    of("server", Form::Text),
    of("servers", Form::Text),
    of("user", Form::Text),
    of("nats_user", Form::Text),
    of("username", Form::Text),
    of("password", Form::Text),
    of("nats_password", Form::Text),
    of("token", Form::Text),
    of("nats_token", Form::Text),
];

const OPERATIONS: &[&str] = &[
    "publish",
    "request",
    "kv_get",
    "kv_put",
    "kv_delete",
    "kv_purge",
    "kv_keys",
    "object_get",
    "object_put",
    "object_delete",
    "object_list",
    "object_info",
    "js_publish",
    "js_consume",
    "js_get_msg",
    "js_stream_info",
];

const fn operation(value: &'static str, needs: &'static [&'static [&'static str]]) -> Case {
    Case { key: &["operation", "action"], value, is_default: false, needs }
}

const OBJECT: &[&str] = &["name", "object", "key"];

pub(crate) const NATS: &ToolKeys = &ToolKeys {
    title: "nats",
    list: &[
        &[
            of("operation", Form::Word(OPERATIONS)),
            of("action", Form::Word(OPERATIONS)),
            of("bucket", Form::Text),
            of("key", Form::Text),
            of("value", Form::Any),
            of("ttl", Form::Any),
            of("pattern", Form::Text),
            of("object", Form::Text),
            of("data", Form::Any),
            of("payload", Form::Any),
            of("encoding", Form::Word(&["utf-8", "utf8", "text", "base64"])),
            of("stream", Form::Text),
            of("subject", Form::Text),
            of("headers", Form::Texts),
            of("seq", Form::Whole(COUNT_MAX)),
            of("last", Form::Any),
            of("consumer", Form::Text),
            of("batch", Form::Whole(COUNT_MAX)),
            of("timeout_ms", Form::Whole(COUNT_MAX)),
            of("ack", Form::Truth),
        ],
        BROKER,
        COMMON,
    ],
    needs: &[&["operation", "action"]],
    cases: &[
        operation("publish", &[&["subject"]]),
        operation("request", &[&["subject"]]),
        operation("kv_get", &[&["bucket"], &["key"]]),
        operation("kv_put", &[&["bucket"], &["key"], &["value"]]),
        operation("kv_delete", &[&["bucket"], &["key"]]),
        operation("kv_purge", &[&["bucket"], &["key"]]),
        operation("kv_keys", &[&["bucket"]]),
        operation("object_get", &[&["bucket"], OBJECT]),
        operation("object_put", &[&["bucket"], OBJECT, &["data"]]),
        operation("object_delete", &[&["bucket"], OBJECT]),
        operation("object_info", &[&["bucket"], OBJECT]),
        operation("object_list", &[&["bucket"]]),
        operation("js_publish", &[&["subject"]]),
        operation("js_consume", &[&["stream"], &["consumer"]]),
        operation("js_get_msg", &[&["stream"], &["seq", "subject"]]),
        operation("js_stream_info", &[&["stream"]]),
    ],
    ..PLAIN
};

const DISPOSALS: &[&str] = &["poll", "ack", "nack", "nak", "term"];
const ACKS: &[&str] = &["on_success", "auto", "manual", "defer", "none"];

const fn disposal(value: &'static str, needs: &'static [&'static [&'static str]]) -> Case {
    Case { key: &["operation"], value, is_default: false, needs }
}

const ACK_IDS: &[&[&str]] = &[&["ack_ids", "ack_id"]];

pub(crate) const SUBSCRIPTION: &ToolKeys = &ToolKeys {
    title: "subscription",
    list: &[
        &[
            of("source", Form::Word(&["nats", "kafka", "pubsub"])),
            of("operation", Form::Word(DISPOSALS)),
            of("stream", Form::Text),
            of("consumer", Form::Text),
            of("subscription", Form::Text),
            of("batch", Form::Whole(1000)),
            of("timeout_ms", Form::Whole(30_000)),
            of("ack", Form::WordOrTruth(ACKS)),
            of("ack_ids", Form::TextOrList),
            of("ack_id", Form::TextOrList),
            of("nack_delay_ms", Form::Whole(COUNT_MAX)),
        ],
        BROKER,
        COMMON,
    ],
    needs: &[&["source"]],
    cases: &[
        Case {
            key: &["operation"],
            value: "poll",
            is_default: true,
            needs: &[&["stream"], &["consumer", "subscription"]],
        },
        disposal("ack", ACK_IDS),
        disposal("nack", ACK_IDS),
        disposal("nak", ACK_IDS),
        disposal("term", ACK_IDS),
    ],
    ..PLAIN
};

const MODES: &[&str] = &["append", "insert", "replace", "overwrite", "upsert", "merge"];
const ENDS: &[&str] = &["type", "tool", "kind"];
const SOURCES: &[&str] =
    &["postgres", "sqlite", "duckdb", "http", "file", "csv", "jsonl", SNOWFLAKE];
const TARGETS: &[&str] = &["postgres", "sqlite", "duckdb", "file", "csv", "jsonl", SNOWFLAKE];
/// Services that the language has and that are not built in.
pub(crate) const FOREIGN: &[&str] = &[SNOWFLAKE, "kafka", "pubsub"];
const SNOWFLAKE: &str = "snowflake";
const FORMATS: &[&str] = &["csv", "jsonl", "ndjson", "json_lines"];
const FILE: &[&str] = &["path", "file", "uri"];

const FILE_END: &[ToolKey] = &[of("uri", Form::Text), of("format", Form::Word(FORMATS))];

const fn end(value: &'static str, needs: &'static [&'static [&'static str]]) -> Case {
    Case { key: ENDS, value, is_default: false, needs }
}

const SOURCE: &ToolKeys = &ToolKeys {
    title: "`source`",
    list: &[
        &[
            of("type", Form::Word(SOURCES)),
            of("tool", Form::Word(SOURCES)),
            of("kind", Form::Word(SOURCES)),
            of("data_path", Form::Text),
        ],
        STATEMENTS,
        DATABASE,
        DATABASE_FILE,
        REQUEST,
        FILE_END,
        COMMON,
    ],
    needs: &[ENDS],
    cases: &[
        end("postgres", &[STATEMENT_KEYS]),
        end("sqlite", &[STATEMENT_KEYS]),
        end("duckdb", &[STATEMENT_KEYS]),
        end("http", &[&["url", "endpoint"]]),
        end("file", &[FILE]),
        end("csv", &[FILE]),
        end("jsonl", &[FILE]),
    ],
    ..PLAIN
};

const TARGET: &ToolKeys = &ToolKeys {
    title: "`target`",
    list: &[
        &[
            of("type", Form::Word(TARGETS)),
            of("tool", Form::Word(TARGETS)),
            of("kind", Form::Word(TARGETS)),
            of("table", Form::Text),
            of("mapping", Form::Texts),
            of("keys", Form::TextOrList),
            of("key", Form::TextOrList),
            of("key_columns", Form::TextOrList),
            of("file", Form::Text),
            of("url", Form::Text),
        ],
        DATABASE,
        DATABASE_FILE,
        FILE_END,
        COMMON,
    ],
    needs: &[ENDS],
    cases: &[
        end("postgres", &[&["table"]]),
        end("sqlite", &[&["table"]]),
        end("duckdb", &[&["table"]]),
        end("file", &[FILE]),
        end("csv", &[FILE]),
        end("jsonl", &[FILE]),
    ],
    ..PLAIN
};

const fn mode(value: &'static str) -> Case {
    let needs: &[&[&str]] =
        &[&["keys", "key", "key_columns", "target.keys", "target.key", "target.key_columns"]];
    Case { key: &["mode"], value, is_default: false, needs }
}

pub(crate) const TRANSFER: &ToolKeys = &ToolKeys {
    title: "transfer",
    list: &[
        &[
            of("source", Form::Nested(SOURCE)),
            of("target", Form::Nested(TARGET)),
            of("mode", Form::Word(MODES)),
            of("keys", Form::TextOrList),
            of("key", Form::TextOrList),
            of("key_columns", Form::TextOrList),
            of("chunk_size", Form::Whole(COUNT_MAX)),
            of("batch_size", Form::Whole(COUNT_MAX)),
        ],
        COMMON,
    ],
    needs: &[&["source"], &["target"]],
    rivals: &[&["chunk_size", "batch_size"]],
    cases: &[mode("upsert"), mode("merge")],
    ..PLAIN
};
