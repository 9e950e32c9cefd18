//! The statements that every SQL database has, by name.

/// A statement in the words of one database.
#[derive(Debug)]
pub struct NamedStatement {
    pub kind: StatementKind,
    pub text: &'static str,
}

/// The connection and the durability that a statement needs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StatementKind {
    Read,
    /// A read that a start waits for.
    Lookup,
    Write,
    /// A write that is repeated if a power loss drops it.
    Lazy,
    /// A lazy write that only one process does at a time.
    Claim,
}

/// Calls a macro with the kind and name of every statement. The text of a statement is the file
/// `sql/<name>.sql` of each database.
#[macro_export]
macro_rules! each_statement {
    ($generate:ident) => {
        $generate! {
            Write check_writable;
            Claim claim_messages;
            Lazy collect_accesses;
            Lazy collect_failed_messages;
            Lazy collect_feed_batches;
            Lazy collect_keychain;
            Lazy collect_objects;
            Lazy collect_payloads;
            Lazy collect_results;
            Lazy collect_runtimes;
            Lazy collect_schedule_events;
            Lazy collect_subscription_events;
            Lazy collect_subscriptions;
            Read count_by_time;
            Read count_by_time_of_catalog;
            Read count_by_time_of_parent;
            Read count_by_time_of_part;
            Read count_by_time_of_path;
            Read count_by_time_of_property;
            Read count_by_time_of_text;
            Read count_credential_keys;
            Read count_executions;
            Read count_keychain_keys;
            Read count_messages;
            Read count_pending_messages;
            Read count_ready_commands;
            Read count_signals;
            Read count_signals_of;
            Read count_waiting_executions;
            Write drop_messages;
            Read due_schedules;
            Read due_timers;
            Lazy release_lock;
            Read exhausted_leases;
            Lazy extend_leases;
            Write fail_messages;
            Read find_bulk_job;
            Read find_bulk_job_by_key;
            Read find_child;
            Read find_signal;
            Read find_signal_by_key;
            Read find_credential;
            Read find_credential_by_name;
            Read find_event;
            Read find_failed_message;
            Read find_feed;
            Read find_feed_end;
            Read find_feed_instant;
            Read find_imported;
            Write find_imported_among;
            Read find_kept_payloads;
            Lazy find_keychain_entry;
            Lazy find_log_progress;
            Read find_log_sources;
            Read find_object;
            Read find_payload;
            Lookup find_playbook;
            Lookup find_playbook_version;
            Read find_replay_fold;
            Read find_result;
            Read find_runtime;
            Read find_schedule;
            Read find_snapshot;
            Read find_subscription;
            Read find_subscription_at;
            Read find_summary;
            Lazy find_variable;
            Write forget_bulk_jobs;
            Write forget_signals;
            Write forget_imported;
            Lazy forget_log_chunks;
            Lazy forget_log_sources;
            Lazy forget_log_totals;
            Write forget_projected;
            Lazy heard_runtime;
            Read last_message_id;
            Read leased_commands;
            Read list_accesses;
            Read list_bulk_items;
            Read list_bulk_items_by_outcome;
            Read list_bulk_jobs;
            Read list_open_signals;
            Read list_undelivered_signals;
            Read list_credentials;
            Read list_entries_of_kind;
            Read list_executions;
            Read list_executions_by_catalog;
            Read list_executions_by_parent;
            Read list_executions_by_part;
            Read list_executions_by_path;
            Read list_executions_by_property;
            Read list_executions_by_text;
            Read list_executions_by_status;
            Read list_failed_messages;
            Read list_feeds;
            Read list_imported;
            Read list_imported_by_catalog;
            Read list_imported_by_parent;
            Read list_imported_by_part;
            Read list_imported_by_path;
            Read list_imported_by_status;
            Read list_index_newest;
            Read list_index_oldest;
            Read list_keychain_entries;
            Read list_messages;
            Read list_open_index;
            Read list_paths;
            Read list_replay_folds;
            Read list_runtimes;
            Read list_schedules;
            Read list_subscriptions;
            Read list_tables;
            Read list_unfolded_imports;
            Read list_variables;
            Lazy lock_commands;
            Lazy lock_log_totals;
            Write lock_messages;
            Read mark_failed_messages;
            Write move_bulk_job;
            Write assign_signal;
            Write settle_signal;
            Write move_feed;
            Lazy move_log_totals;
            Lookup newest_playbook;
            Read next_schedule;
            Read next_timer;
            Read oldest_ready_command;
            Read open_bulk_jobs;
            Read open_commands;
            Read open_timers;
            Lazy postpone_messages;
            Write project_events;
            Write put_access;
            Write put_bulk_items;
            Write put_bulk_job;
            Write release_signal;
            Write drop_signal;
            Write put_signal;
            Write put_credential;
            Write put_failed_message;
            Write put_feed;
            Write put_feed_delivery;
            Write put_imported;
            Write put_keychain_entry;
            Lazy put_log_chunks;
            Lazy put_log_sources;
            Write put_object;
            Write put_playbook;
            Write put_reminder;
            Lazy put_replay_fold;
            Write put_result;
            Write put_runtime;
            Lazy put_snapshot;
            Write put_variables;
            Read read_events;
            Read read_feed;
            Read read_logs;
            Read read_logs_back;
            Read read_projected;
            Read read_projected_from;
            Read read_projected_within;
            Read read_schedule_events;
            Read read_subscription_events;
            Read ready_commands;
            Read ready_by_priority;
            Read ready_pools;
            Lazy release_leases;
            Write remove_credential;
            Write remove_failed_messages;
            Write remove_feed;
            Write remove_keychain_entry;
            Lazy remove_messages;
            Write remove_runtime;
            Write remove_unfolded_import;
            Write remove_variables;
            Lazy renew_leases;
            Write revive_messages;
            Write rewrap_credential;
            Write rewrap_keychain_entry;
            Read sealed_credentials;
            Read sealed_keychain_entries;
            Write set_archived;
            Read stalled_executions;
            Lazy take_internal_messages;
            Lazy take_messages;
            Lazy take_notifications;
            Lazy acquire_lock;
            Read waiting_schedules;
            Lazy acknowledge_slots;
            Write apply_pause;
            Write count_slots;
            Write end_pause;
            Write end_slots;
            Read find_limit;
            Read find_slot_place;
            Read find_slots;
            Write grant_slots;
            Read list_due_limits;
            Read list_held_slots;
            Read list_limits;
            Read list_pauses;
            Read list_queued_slots;
            Read list_slot_holders;
            Read list_unanswered_slots;
            Write lock_limit;
            Write move_limit;
            Read next_limit;
            Write put_limit;
            Write put_pause;
            Write put_slots;
            Write remove_idle_limit;
            Write remove_pause;
            Write remove_slots;
            Write cut_trail;
            Read find_trail_span;
            Write forget_trail;
            Read list_tokens;
            Read list_trail;
            Write lock_trail;
            Write move_trail;
            Write put_token;
            Write put_trail;
            Write remove_token;
            Lazy touch_token;
            Lazy erase_events;
            Write erase_index;
            Lazy erase_log_chunks;
            Lazy erase_log_totals;
            Lazy erase_references;
            Lazy erase_replay_folds;
            Lazy erase_results;
            Lazy erase_snapshot;
            Write erase_summary;
            Write find_erasable;
            Read find_keep_mark;
            Read find_keep_reason;
            Read find_referred_payloads;
            Read find_tombstone;
            Lazy finish_erasure;
            Read list_erased_references;
            Read list_erasures;
            Lazy loosen_payloads;
            Write note_references;
            Write put_keep_mark;
            Write put_tombstone;
            Write remove_keep_mark;
        }
    };
}

macro_rules! declared {
    ($($kind:ident $name:ident;)*) => {
        /// The statements of one database, by name.
        #[derive(Debug)]
        pub struct SqlStatements {
            $(pub $name: NamedStatement,)*
        }
    };
}

each_statement!(declared);

/// Returns the [`SqlStatements`] of the crate that calls it as `each_statement!(included)`. A
/// missing file is a compile error.
#[macro_export]
macro_rules! included {
    ($($kind:ident $name:ident;)*) => {
        $crate::sql::SqlStatements {
            $($name: $crate::sql::NamedStatement {
                kind: $crate::sql::StatementKind::$kind,
                text: include_str!(concat!(
                    env!("CARGO_MANIFEST_DIR"), "/sql/", stringify!($name), ".sql"
                )),
            },)*
        }
    };
}
