//! The conformance suite that every store passes: one case for each rule.
//!
//! The tests of a store call [`conformance!`](crate::conformance!) with a function that makes an
//! empty store on a given clock; each case becomes one test. The function also serves
//! `differential`, which runs random operations against two stores.

pub mod access;
pub mod bulk;
pub mod catalog;
pub mod chain;
#[cfg(feature = "conformance")]
pub mod differential;
pub mod events;
pub mod executions;
pub mod feed;
pub mod given;
pub mod index;
pub mod intake;
pub mod keys;
pub mod layout;
pub mod limits;
pub mod log;
pub mod outbox;
pub mod outbox_delivery;
pub mod projected;
pub mod queue;
pub mod records;
pub mod retention;
pub mod schedule;
pub mod secrets;
pub mod sent_signals;
pub mod step_logs;
pub mod subscription;
pub mod text_search;
pub mod timers;

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;

use noetl_model::{ExecutionId, Pool, Recorded, Seq, Timestamp};

use crate::{
    Append, AppendError, Clock, ExecutionFilter, Held, HeldAnswer, OutboxConsumer, OutboxRow, Page,
    Records, Store, Take,
};

/// Turns every case of the suite into a test. `$fresh` is an async function from a [`TestClock`] to
/// an empty store and a guard that has to live as long as the store.
#[macro_export]
macro_rules! conformance {
    ($fresh:path) => {
        $crate::conformance! { @each $fresh;
            log::append_then_read_gives_the_same_events,
            log::second_writer_at_the_same_seq_is_refused,
            log::a_gap_is_refused,
            log::a_used_event_id_is_refused,
            log::batch_is_all_or_nothing_per_execution,
            log::one_batch_may_continue_what_it_starts,
            log::reads_page_by_seq,
            log::a_page_ends_with_the_event_that_fills_it,
            log::an_event_is_found_by_its_id_in_its_execution,
            log::concurrent_appends_to_one_execution_admit_exactly_one,
            log::payloads_are_found_by_digest_and_stored_once,
            chain::digests_are_kept_with_events_and_with_the_summary,
            chain::an_event_that_does_not_follow_the_last_one_is_refused,
            chain::a_log_without_digests_goes_on_with_them,
            chain::a_fork_is_read_after_the_past_it_shares,
            chain::a_past_that_fills_a_page_is_read_whole_before_the_fork,
            chain::a_fork_of_a_fork_may_leave_before_the_first_one_did,
            chain::a_fork_begins_after_the_event_it_leaves_at,
            chain::a_fork_whose_origin_lacks_the_event_conflicts,
            chain::a_fork_of_another_history_conflicts,
            chain::a_long_shared_past_is_read_in_pages,
            chain::the_open_work_of_an_execution_is_its_own,
            queue::a_command_is_ready_once_added,
            queue::a_leased_command_is_not_ready,
            queue::a_command_whose_lease_ran_out_is_ready_again,
            queue::expired_lease_can_be_taken_over_with_the_next_attempt,
            queue::a_live_lease_refuses_a_second_claim,
            queue::heartbeat_prolongs,
            queue::the_leases_of_a_worker_that_is_alive_are_renewed_and_no_others,
            queue::the_leases_of_a_worker_that_is_gone_are_released_and_no_others,
            queue::heartbeat_after_the_lease_ran_out_is_welcome_until_taken_over,
            queue::heartbeat_of_a_superseded_attempt_says_so,
            queue::heartbeat_of_a_finished_command_says_gone,
            queue::a_command_is_given_up_only_once_its_latest_lease_has_run_out,
            queue::parked_commands_are_never_ready,
            queue::changes_to_a_command_that_is_not_there_are_refused,
            queue::a_removed_command_is_gone_and_removing_it_again_is_fine,
            queue::exhausted_lists_only_expired_leases_with_enough_attempts,
            queue::a_command_added_parked_is_ready_once_it_is_unparked,
            queue::a_higher_priority_is_ready_first_and_rounds_are_within_one,
            queue::ready_goes_round_the_executions_of_a_pool,
            limits::slots_are_granted_by_the_rule_and_free_again_when_they_are_released,
            limits::the_newest_playbook_version_says_how_many_slots_there_are,
            limits::a_grant_is_unanswered_until_it_is_acknowledged,
            limits::a_request_that_does_not_wait_is_dropped,
            limits::a_rate_is_due_again_by_the_clock_of_the_store,
            limits::an_idle_limit_of_a_playbook_is_forgotten_and_a_named_one_is_listed,
            limits::many_changes_of_a_limit_are_one,
            limits::concurrent_requests_are_never_granted_more_than_there_is,
            limits::a_pause_is_kept_with_its_caller_until_it_is_removed,
            limits::a_pause_is_settled_once_and_only_as_it_was_read,
            queue::an_execution_with_many_commands_does_not_keep_others_waiting,
            queue::executions_that_wait_are_counted_up_to_a_limit,
            queue::the_pools_with_a_command_to_lease_are_listed_once,
            queue::leases_and_the_oldest_command_of_a_pool_are_listed,
            queue::ready_commands_are_counted_by_priority,
            queue::a_fresh_command_is_ready_even_if_the_clock_goes_back,
            timers::the_time_is_that_of_the_stores_clock,
            timers::timers_come_due_in_order,
            timers::a_timer_set_again_moves,
            timers::removed_timer_never_fires,
            outbox::outbox_row_exists_exactly_when_its_event_does,
            outbox::messages_are_taken_oldest_first_as_they_were_written,
            outbox::taken_outbox_rows_are_invisible_until_the_visibility_runs_out,
            outbox::sent_rows_are_gone_and_sent_twice_is_fine,
            outbox_delivery::fresh_messages_do_not_wait_behind_failing_ones,
            outbox_delivery::failing_messages_do_not_wait_for_ever_behind_fresh_ones,
            outbox_delivery::a_failed_message_waits_longer_each_time_and_is_dead_in_the_end,
            outbox_delivery::a_message_whose_consumers_all_die_is_dead_in_the_end,
            outbox_delivery::a_message_that_was_sent_or_dropped_never_comes_back,
            outbox_delivery::ids_that_no_message_had_are_named,
            outbox_delivery::a_postponed_try_does_not_count,
            outbox_delivery::messages_are_listed_by_state_a_page_at_a_time,
            outbox_delivery::dead_messages_are_tried_again_or_dropped_on_request_only,
            outbox_delivery::publishers_are_given_notifications_in_the_order_of_each_execution,
            outbox_delivery::an_internal_relay_leaves_notifications_to_publishers,
            outbox_delivery::only_the_notifier_takes_notifications_about_executions,
            outbox_delivery::a_message_that_no_attempt_can_deliver_is_dead_at_once,
            outbox_delivery::a_reminder_is_added_unless_a_notification_of_its_command_is_pending,
            outbox_delivery::consumers_at_the_same_time_never_share_a_message,
            feed::a_feed_shows_every_event_once_in_the_order_of_its_execution,
            feed::a_feed_goes_on_after_any_event_that_it_has_shown,
            feed::a_page_of_a_feed_ends_with_the_event_that_fills_it,
            feed::a_feed_begins_at_the_start_at_the_end_or_at_an_instant,
            feed::a_reader_misses_nothing_while_many_write,
            feed::a_named_feed_keeps_its_cursor_and_is_moved_by_one_at_a_time,
            feed::a_named_feed_keeps_why_it_is_not_delivered,
            subscription::a_subscription_is_what_happened_to_it_last,
            subscription::of_two_that_move_a_subscription_at_once_one_comes_too_late,
            subscription::a_path_has_one_live_subscription,
            subscription::registering_at_once_makes_one_subscription,
            schedule::a_schedule_is_what_happened_to_it_last,
            schedule::of_two_that_move_a_schedule_at_once_one_comes_too_late,
            schedule::schedules_come_due_in_order_and_the_first_is_known,
            schedule::schedules_are_listed_by_path_and_those_that_wait_apart,
            catalog::catalog_versions_count_up_and_identical_content_is_not_registered_again,
            catalog::a_playbook_is_found_by_id_by_path_and_by_version,
            catalog::paths_are_listed_at_their_newest_version_without_contents,
            catalog::an_archived_path_is_hidden_and_kept_until_it_is_restored,
            catalog::registering_at_an_archived_path_restores_it,
            catalog::documents_are_listed_by_their_kind,
            catalog::paths_are_selected_by_a_text_of_their_newest_content,
            catalog::snapshots_never_go_back,
            catalog::the_furthest_replay_within_a_bound_is_found,
            catalog::saved_replays_are_listed,
            executions::a_summary_is_what_was_written_last,
            executions::summaries_list_newest_first_with_filters_and_cursor,
            executions::a_part_is_found_in_few_paths_and_in_many,
            executions::a_version_is_listed_with_its_path_and_with_no_other,
            executions::executions_are_counted_by_time_and_status,
            executions::executions_are_listed_and_counted_by_labels_and_actor,
            executions::a_status_moves_the_index_entries_of_labels,
            text_search::executions_are_listed_and_counted_by_words,
            text_search::words_are_found_at_the_status_of_their_execution,
            executions::a_histogram_counts_up_to_a_limit_and_within_its_span,
            executions::stalled_finds_only_executions_with_nothing_under_way,
            executions::one_child_per_parent_command,
            executions::any_number_of_executions_may_name_one_above_them,
            index::an_entry_is_found_by_its_kind_and_key_until_it_is_removed,
            index::entries_of_a_key_are_listed_in_both_directions_a_page_at_a_time,
            index::open_entries_of_a_kind_are_listed_oldest_first,
            index::executions_that_wait_for_their_own_slot_are_open_entries,
            index::changes_of_one_batch_follow_each_other,
            index::a_refused_append_changes_no_entry,
            keys::a_key_starts_one_execution,
            keys::a_taken_start_key_has_the_digest_of_its_request,
            keys::a_key_is_free_once_it_is_no_longer_kept,
            keys::a_start_that_is_refused_leaves_its_key_free,
            keys::one_batch_takes_a_key_once,
            keys::concurrent_starts_under_one_key_admit_exactly_one,
            keys::a_key_starts_one_fork,
            sent_signals::signals_of_a_key_are_kept_in_the_order_in_which_they_were_stored,
            sent_signals::a_deduplication_key_stores_one_signal,
            sent_signals::a_signal_is_assigned_once_and_settled_or_released,
            sent_signals::a_signal_is_numbered_although_others_have_the_next_numbers,
            sent_signals::a_signal_is_dropped_only_while_it_is_kept,
            sent_signals::expired_signals_are_forgotten_unless_they_are_being_delivered,
            bulk::a_job_is_what_was_recorded_last,
            bulk::of_two_that_change_a_job_at_once_one_comes_too_late,
            bulk::a_key_creates_one_job,
            bulk::results_are_listed_by_execution_and_by_outcome,
            bulk::jobs_that_ended_long_ago_are_forgotten_with_their_results,
            step_logs::chunks_are_read_in_the_order_of_their_arrival,
            step_logs::a_repeated_delivery_of_chunks_changes_nothing,
            step_logs::logs_of_a_superseded_or_ended_attempt_are_kept_and_marked,
            step_logs::logs_have_limits_by_command_and_by_execution,
            step_logs::logs_are_read_by_page_and_by_filter,
            step_logs::logs_are_forgotten_by_age,
            step_logs::positions_of_concurrent_writers_become_visible_in_order,
            layout::executions_are_counted_by_status_up_to_a_limit,
            layout::no_table_is_missing_and_connections_add_up,
            layout::a_store_with_room_can_be_written,
            access::a_token_is_listed_by_name_until_it_is_removed,
            access::tokens_are_read_page_by_page,
            access::a_name_and_a_digest_belong_to_one_token,
            access::the_last_use_of_a_token_never_goes_back,
            access::the_trail_is_a_chain_in_order,
            access::no_fact_of_a_long_append_is_lost,
            access::concurrent_appends_to_the_trail_follow_each_other,
            access::old_entries_are_forgotten_from_the_beginning_and_the_rest_is_sound,
            secrets::a_credential_is_found_by_id_and_by_name_and_keeps_its_beginning,
            secrets::a_name_that_is_another_ids_is_not_written_over,
            secrets::credentials_are_listed_newest_first_by_type_and_by_text,
            secrets::a_removed_credential_is_gone,
            secrets::a_key_is_wrapped_anew_unless_the_record_has_changed,
            secrets::rows_under_other_keys_are_listed_in_order_from_any_place,
            secrets::a_keychain_entry_is_counted_when_it_is_asked_for,
            secrets::keychain_entries_are_listed_by_playbook_version,
            secrets::accesses_are_listed_newest_first_by_what_they_are_about,
            retention::an_ended_execution_is_deleted_and_its_tombstone_remains,
            retention::an_execution_that_is_still_needed_is_kept,
            retention::a_payload_goes_with_the_last_execution_that_refers_to_it,
            retention::a_marked_execution_is_kept_until_the_mark_is_removed,
            retention::a_late_write_for_a_deleted_execution_is_not_stored,
            retention::a_relative_with_a_smaller_id_keeps_an_execution,
            retention::rows_of_deleted_executions_go_in_batches,
            retention::old_histories_and_places_of_the_feed_are_collected,
            records::variables_are_set_anew_listed_by_name_and_counted,
            records::variables_of_other_executions_are_left_alone,
            records::a_runtime_registers_beats_and_leaves,
            records::a_runtime_that_registers_again_keeps_its_id,
            records::a_result_is_found_by_its_reference_until_it_expires,
            records::the_same_value_under_the_same_name_is_stored_once,
            records::an_object_is_replaced_and_expires,
            records::plugins_and_objects_never_meet,
            records::a_value_goes_with_its_last_name_unless_a_log_refers_to_it,
            records::expired_records_are_collected_and_no_others,
            intake::a_failed_message_is_kept_whole_until_it_is_removed,
            intake::failed_messages_are_listed_a_page_at_a_time,
            intake::messages_waiting_under_a_key_are_found_and_failed_ones_are_not,
            projected::a_projected_event_is_kept_once_and_whole,
            projected::projected_events_are_read_by_execution_a_page_at_a_time,
            projected::old_projected_events_are_forgotten_and_no_others,
            projected::an_imported_execution_is_the_fold_of_its_events_in_any_order,
            projected::imported_executions_are_listed_newest_first_and_filtered,
            projected::an_event_onto_an_existing_execution_imports_nothing,
            projected::projected_events_are_read_by_position_and_by_time,
            projected::an_imported_execution_is_forgotten_with_its_last_event,
            intake::a_lock_has_one_holder_until_it_is_released_or_expires,
        }
    };
    (@each $fresh:path; $($file:ident::$case:ident,)*) => {
        $(
            #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
            async fn $case() {
                let clock = $crate::conformance::TestClock::default();
                let (store, _keep) = $fresh(clock.clone()).await;
                let subject = $crate::conformance::Subject::new(store, clock);
                $crate::conformance::$file::$case(subject).await;
            }
        )*
    };
}

/// A clock that stands still until it is set.
#[derive(Debug, Clone)]
pub struct TestClock(Arc<AtomicI64>);

impl Default for TestClock {
    fn default() -> Self {
        Self(Arc::new(AtomicI64::new(given::T0.as_micros())))
    }
}

impl TestClock {
    /// Sets the clock to an instant, which may be in the past.
    pub fn set(&self, now: Timestamp) {
        self.0.store(now.as_micros(), Ordering::SeqCst);
    }
}

impl Clock for TestClock {
    fn now(&self) -> Timestamp {
        Timestamp::from_micros(self.0.load(Ordering::SeqCst))
    }
}

/// A store under test with its clock. The methods fail the test if the store returns an error.
#[derive(Clone)]
pub struct Subject {
    pub store: Arc<dyn Store>,
    /// The store under test, through the records trait.
    pub records: Arc<dyn Records>,
    pub clock: TestClock,
}

impl Subject {
    pub fn new(store: impl Store + Records + 'static, clock: TestClock) -> Self {
        let store = Arc::new(store);
        Self { store: store.clone(), records: store, clock }
    }

    /// Sets the clock to some seconds after the start of the test.
    pub fn at(&self, seconds: u64) {
        self.clock.set(given::at(seconds));
    }

    pub async fn append(&self, append: Append) -> Result<(), AppendError> {
        let mut answers = self.append_all(&[append]).await;
        assert_eq!(answers.len(), 1, "one answer for each append");
        answers.remove(0)
    }

    pub async fn append_all(&self, batch: &[Append]) -> Vec<Result<(), AppendError>> {
        self.store.append(batch).await.expect("the store appends")
    }

    pub async fn read(&self, execution: ExecutionId) -> Vec<Recorded> {
        self.store.read(execution, Seq::ZERO, usize::MAX).await.expect("the store reads")
    }

    /// Returns the ready commands of the shared pool, as (execution, command, attempt).
    pub async fn ready(&self) -> Vec<(i64, u64, u32)> {
        self.ready_in(&Pool::shared()).await
    }

    pub async fn ready_in(&self, pool: &Pool) -> Vec<(i64, u64, u32)> {
        let ready =
            self.store.ready(pool, None, usize::MAX).await.expect("the store lists commands");
        let count = self.store.ready_count(pool).await.expect("the store counts commands");
        assert_eq!(usize::try_from(count), Ok(ready.len()), "the count agrees with the list");
        let by_priority = self.store.ready_by_priority(pool).await.expect("the store counts");
        let sum: u64 = by_priority.iter().map(|it| it.count).sum();
        assert_eq!(sum, count, "the counts of the priorities add up");
        let oldest = self.store.oldest_ready(pool).await.expect("the store answers");
        assert_eq!(by_priority.iter().filter_map(|it| it.oldest).min(), oldest);
        ready.iter().map(|row| (row.execution.0, row.command.0, row.attempt.0)).collect()
    }

    pub async fn extend(&self, held: Held, lease: Duration) -> HeldAnswer {
        let answers = self.store.extend(&[held], lease).await.expect("the store prolongs");
        assert_eq!(answers.len(), 1, "one answer for each lease");
        answers[0]
    }

    pub async fn take(&self, visibility: Duration) -> Vec<OutboxRow> {
        let take = Take { consumer: OutboxConsumer::Relay, limit: usize::MAX, hold: visibility };
        self.store.take(take).await.expect("the store hands out messages")
    }

    pub async fn owed(&self) -> u64 {
        self.store.owed().await.expect("the store counts messages")
    }

    /// Returns the ids of the executions in a listing.
    pub async fn list(
        &self,
        filter: ExecutionFilter,
        before: Option<ExecutionId>,
        limit: usize,
    ) -> Vec<i64> {
        let page = Page { before, limit };
        let summaries = self.store.list(&filter, page).await.expect("the store lists executions");
        summaries.iter().map(|summary| summary.execution.0).collect()
    }
}
