//! The contract: a table of test cases that hold on every kind of store.
//!
//! In memory each case is a test of its own, with simulated time and no network. On the other
//! stores one test runs all cases, one after another, against a server on a real socket;
//! `NOETL_CONTRACT_CASES=outbox` runs only the cases whose name contains `outbox`.

use std::panic::AssertUnwindSafe;

use futures::FutureExt as _;
use futures::future::BoxFuture;

use super::stores::Backing;
use super::*;

type Case = (&'static str, fn(Server) -> BoxFuture<'static, ()>);

macro_rules! contract {
    ($($file:ident::$case:ident,)*) => {
        const CASES: &[Case] = &[
            $((concat!(stringify!($file), "::", stringify!($case)), |server| {
                Box::pin($file::$case(server))
            }),)*
        ];

        $(
            #[tokio::test(start_paused = true)]
            async fn $case() {
                Box::pin($file::$case(Server::new())).await;
            }
        )*
    };
}

contract! {
    schedules::a_schedule_is_shown_paused_and_resumed,
    schedules::instants_of_a_schedule_are_listed_and_backfilled_once,
    schedules::an_unknown_schedule_and_an_invalid_time_are_refused,
    schedules::a_schedule_that_gives_a_secret_input_is_refused,
    abuse::each_abuse_of_a_webhook_gets_its_answer_and_leaves_nothing,
    catalog::a_valid_playbook_is_registered_once,
    catalog::a_playbook_in_base64_is_the_same_playbook,
    catalog::the_catalog_is_listed_whatever_the_case_of_the_kind,
    catalog::a_resource_is_found_by_path_version_or_id,
    catalog::the_form_of_a_playbook_is_read_off_its_workload,
    catalog::an_archived_playbook_is_hidden_and_starts_nothing_until_it_is_restored,
    catalog::registering_an_archived_playbook_restores_it,
    catalog::a_step_that_calls_an_archived_playbook_says_how_to_restore_it,
    catalog::a_schedule_of_an_archived_playbook_says_how_to_restore_it,
    catalog::credentials_are_listed_and_shown_without_their_secrets,
    editor::a_document_that_is_no_playbook_is_never_quoted,
    system::the_contract_of_the_runtime_is_its_version,
    system::reads_of_another_event_database_are_answered_from_the_log,
    catalog::a_playbook_is_found_by_its_id_or_its_only_name,
    editor::an_editor_opens_checks_and_saves_a_playbook,
    editor::a_playbook_is_checked_without_being_kept,
    editor::an_editor_is_helped_with_tokens_findings_and_completions,
    editor::agents_are_listed_apart,
    editor::tests_of_a_playbook_are_kept_and_forgotten,
    editor::an_unsupported_endpoint_names_the_way_out,
    postgres::sql_by_hand_is_off_unless_an_operator_names_a_database,
    execute::an_execution_is_started_by_path,
    execute::a_catalog_id_is_text_or_number_and_wins_over_the_path,
    execute::the_version_that_is_asked_for_is_the_one_that_runs,
    execute::payload_and_workload_are_two_words_for_one_thing,
    execute::an_impossible_start_has_a_problem_code,
    execute::a_batch_answers_for_each_in_order,
    execute::a_refused_start_leaves_no_execution,
    waited::a_start_that_waits_is_answered_with_the_output,
    waited::a_start_that_waits_is_answered_with_the_error,
    waited::a_start_whose_execution_goes_on_is_accepted,
    waited::a_repeated_start_waits_for_the_same_execution,
    inputs::all_problems_of_a_start_are_answered_at_once,
    inputs::values_have_the_declared_types_and_defaults,
    inputs::a_rerun_and_a_fork_check_changed_values,
    inputs::a_step_whose_values_do_not_fit_its_child_fails,
    inputs::a_schedule_whose_payload_does_not_fit_says_so,
    inputs::a_schedule_starts_a_playbook_with_declared_inputs,
    ingress::a_posted_message_gives_labels_and_its_inputs_are_checked,
    inputs::a_secret_input_is_sealed_in_the_log_and_opened_for_a_worker,
    inputs::a_condition_cannot_read_a_secret_input,
    executions::executions_are_listed_newest_first,
    executions::executions_are_found_by_all_of_their_labels,
    executions::executions_are_counted_by_time_and_status,
    bulk::a_job_cancels_what_matches_and_nothing_else,
    bulk::two_servers_retry_each_execution_of_a_job_once,
    bulk::a_job_is_created_once_per_key_and_can_be_stopped,
    bulk::an_invalid_bulk_job_is_refused,
    executions::a_detail_has_the_workload_and_the_events,
    executions::a_detail_shows_the_page_of_events_that_is_asked_for,
    executions::existing_clients_find_the_fields_they_read,
    executions::events_come_in_pages,
    executions::the_status_counts_steps,
    executions::a_cancelled_execution_stays_cancelled,
    executions::a_cancellation_needs_no_body_and_an_execution,
    executions::child_executions_are_cancelled_with_their_parent,
    executions::an_execution_may_be_placed_below_another_that_does_not_wait,
    executions::a_cancellation_without_cascade_leaves_what_is_below_alone,
    executions::finalizing_adds_one_terminal_event_and_never_a_second,
    executions::a_rerun_has_the_same_workload_unless_it_is_given_another,
    executions::variables_are_what_the_execution_has_set,
    existing_worker::the_existing_worker_runs_a_playbook_to_its_end,
    existing_worker::a_tool_status_of_error_fails_the_step,
    existing_worker::a_tool_status_that_is_not_known_is_refused_and_ends_nothing,
    existing_worker::a_worker_that_gives_up_fails_the_step,
    existing_worker::an_event_posted_twice_is_answered_twice_and_counts_once,
    existing_worker::the_same_worker_may_claim_again_and_another_may_not,
    existing_worker::a_finished_command_cannot_be_claimed_again,
    existing_worker::a_command_of_a_cancelled_execution_cannot_be_claimed,
    existing_worker::a_fact_of_another_program_is_recorded_once_and_changes_nothing,
    existing_worker::an_invalid_event_of_a_worker_is_refused_with_a_problem_code,
    existing_worker::a_batch_of_events_is_taken_in_order_failures_included,
    native_worker::a_worker_leases_reports_and_the_execution_completes,
    native_worker::a_large_output_is_fetched_by_its_digest,
    native_worker::a_worker_enrols_with_a_token_only,
    native_worker::output_is_stored_once_and_read_while_the_command_runs,
    stream::a_stream_has_every_event_and_ends_with_the_execution,
    stream::a_stream_resumes_after_the_last_received_event,
    stream::a_listener_with_all_events_is_told_not_to_reconnect,
    everything::a_stream_of_everything_shows_all_executions_and_resumes,
    everything::a_stream_of_everything_shows_what_is_asked_for,
    everything::an_invalid_cursor_of_the_stream_is_refused,
    access::unknown_paths_and_methods_are_problems_too,
    access::bodies_paths_and_queries_that_cannot_be_read_are_problems_too,
    access::every_answer_carries_the_id_of_its_request,
    callback::a_callback_lets_the_execution_go_on_and_telling_it_again_changes_nothing,
    callback::a_job_that_failed_fails_its_step,
    callback::a_parked_command_is_given_to_nobody_and_says_what_it_waits_for,
    callback::a_worker_may_wait_for_the_callback_of_any_tool,
    callback::a_callback_that_is_faster_than_its_worker_is_not_lost,
    callback::a_callback_that_does_not_come_in_time_fails_the_task,
    callback::the_repeated_callback_of_one_job_does_not_end_the_next,
    callback::a_callback_may_name_its_command,
    callback::a_late_callback_that_names_its_command_does_not_end_the_next,
    approvals::an_approval_is_listed_and_decided_once,
    approvals::decisions_that_cannot_be_made_say_why,
    approvals::approvals_are_listed_page_by_page,
    approvals::a_link_is_made_only_for_an_approval_that_waits,
    holds::an_execution_is_paused_and_resumed_by_its_caller,
    holds::a_playbook_and_a_pool_are_paused_and_listed,
    holds::a_limit_shows_its_holders_and_its_queue,
    notifications::a_notification_is_listed_paused_and_resumed,
    notifications::a_playbook_that_is_not_a_notification_is_refused,
    signals::a_wait_for_a_time_ends_without_a_worker,
    signals::a_signal_ends_a_wait_and_a_repeated_one_changes_nothing,
    signals::signals_before_their_waits_are_kept_in_order,
    signals::signals_that_cannot_be_delivered_say_why,
    signals::a_signal_by_key_goes_to_the_oldest_wait_and_only_once,
    signals::signals_by_key_before_the_wait_are_kept_in_order,
    signals::signals_by_key_that_cannot_be_sent_say_why,
    signals::a_signal_that_no_step_has_taken_is_listed_and_dropped,
    signals::an_idempotency_key_with_another_body_is_refused,
    catalog::an_invalid_playbook_is_answered_with_the_place_of_each_finding,
    catalog::each_item_of_a_batch_is_answered_for_itself,
    catalog::a_catalog_longer_than_a_page_is_read_page_by_page,
    credential_policies::an_execution_that_may_not_use_its_credentials_is_not_started,
    credentials::a_credential_is_shown_without_its_secret_unless_that_is_asked_for,
    credentials::a_credential_of_the_same_name_takes_its_place_and_keeps_its_id,
    credentials::an_invalid_credential_is_refused_with_a_problem_code,
    credentials::only_the_worker_that_asks_can_read_what_is_delivered_sealed,
    credentials::an_alias_of_the_playbooks_keychain_is_resolved,
    credentials::a_worker_gets_only_the_credentials_that_its_playbook_names,
    credentials::every_look_at_a_secret_is_in_the_audit,
    credentials::the_key_is_rotated_and_its_use_is_counted,
    credentials::no_secret_leaves_for_another_region,
    executions::pages_follow_each_other_by_cursor_while_new_executions_start,
    executions::events_come_in_both_orders_and_by_type_and_step,
    existing_worker::a_result_that_was_stored_first_is_taken_by_its_reference,
    existing_worker::a_result_that_is_not_stored_fails_its_step,
    existing_worker::a_command_is_rendered_for_pipelines_and_loops,
    existing_worker::a_command_that_cannot_be_rendered_fails,
    existing_worker::a_worker_that_was_forgotten_is_listed_again_once_it_beats,
    existing_worker::a_command_that_it_has_started_is_a_step_that_runs,
    feeds::unacknowledged_events_are_delivered_again,
    feeds::a_feed_shows_what_its_filter_asks_for,
    feeds::feeds_are_made_once_listed_and_forgotten,
    feeds::an_invalid_feed_or_cursor_is_refused,
    keychain::scopes_do_not_meet,
    keychain::a_secret_without_an_end_gets_one_and_an_unknown_scope_is_refused,
    native_worker::without_work_the_answer_comes_after_the_wait,
    native_worker::a_report_about_nothing_we_know_is_unknown,
    objects::an_object_is_put_replaced_and_fetched_with_its_digest,
    objects::a_plugin_is_known_by_path_and_version_and_its_digest_can_be_asked_for,
    replay::an_execution_is_replayed_up_to_a_cutoff,
    replay::truncation_is_said,
    replay::the_published_log_gives_the_published_answer,
    replay::another_tenant_and_an_unknown_execution_show_nothing,
    replay::questions_that_cannot_be_meant_are_refused,
    replay::two_moments_are_compared,
    replay::posted_events_are_folded_and_found_by_their_business_object,
    results::a_value_is_stored_and_fetched_by_its_reference,
    results::the_same_value_under_the_same_name_has_one_reference,
    results::an_invalid_or_unknown_result_has_a_problem_code,
    start_keys::a_request_that_fails_leaves_its_key_free,
    start_keys::an_idempotency_key_repeats_the_answer_to_the_same_request_and_refuses_another,
    start_keys::a_hundred_requests_at_once_under_one_key_are_one_execution,
    start_keys::a_batch_counts_its_duplicates,
    stored::a_start_keeps_the_error_mode_of_its_request,
    stored::a_reader_waits_for_the_next_event_and_not_beyond_the_end,
    stored::summaries_are_paged_from_the_newest_on,
    stored::an_unknown_execution_is_a_problem,
    subscriptions::registering_a_path_again_gives_the_same_subscription,
    subscriptions::a_deactivated_path_gets_a_new_subscription,
    subscriptions::a_subscription_moves_as_it_may_and_its_events_tell,
    subscriptions::only_what_is_a_subscription_can_be_subscribed_to,
    subscriptions::a_subscription_with_mistakes_is_not_kept_and_all_are_named,
    system::a_schema_that_lacks_nothing_is_valid,
    system::the_process_is_measured,
    tokens::tokens_are_created_listed_and_revoked_and_the_audit_log_says_so,
    system::profiler_and_analysis_endpoints_answer_that_there_is_none,
    vars::variables_are_set_typed_or_as_a_bare_map_and_read_back,
    vars::variables_of_the_playbook_and_of_clients_are_shown_together,
    vars::variables_are_removed_one_by_one_or_all_at_once,
    vars::an_invalid_variable_is_refused_with_a_problem_code,
    feeds::a_listener_resumes_after_its_last_event,
    health::every_probe_answers,
    system::figures_of_the_store_are_exported,
    keychain::a_secret_is_kept_and_forgotten,
    native_worker::a_worker_beats_and_gives_back_what_it_has,
    native_worker::a_cancellation_reaches_the_worker_at_once,
    executions::executions_that_run_for_long_are_found_and_cancelled,
    ingress::a_message_of_a_known_sender_starts_an_execution,
    ingress::a_message_for_an_archived_playbook_says_how_to_restore_it,
    existing_worker::a_worker_comes_and_goes_by_either_method,
    callback::a_callback_that_nothing_waits_for_is_accepted_all_the_same,
    callback::an_end_that_is_not_known_is_refused,
    dashboard::the_dashboard_counts_what_there_is,
    imported::the_golden_log_over_http_gives_the_published_answer,
    imported::an_imported_execution_is_listed_and_shown,
    imported::an_imported_execution_is_replayed_compared_and_verified,
    imported::an_imported_execution_is_not_continued,
    imported::the_life_of_a_subscription_is_an_execution,
    imported::an_event_about_an_execution_of_the_engine_is_a_reported_fact,
    projector::events_of_others_are_kept_once_and_whole,
    projector::an_event_that_cannot_be_read_is_named_and_nothing_is_kept,
    projector::posted_events_are_kept_and_nothing_follows,
    projector::folds_are_saved_on_request_and_what_cannot_be_is_named,
    projector::old_events_are_purged_on_request_and_no_others,
    retention::a_deleted_execution_answers_410_and_its_tombstone_remains,
    intake::a_message_starts_one_execution_however_often_it_is_handed_in,
    intake::a_message_is_a_signal_once_however_often_it_is_handed_in,
    intake::a_key_is_known_within_its_window_where_that_is_asked_for,
    intake::a_message_that_fails_is_dead_in_the_end_and_is_sent_again_or_dropped,
    intake::a_message_waits_before_it_is_tried_again,
    intake::a_message_does_not_overtake_one_of_its_line,
    intake::a_runtime_gets_its_assignment_and_the_state_of_the_subscription,
    dashboard::the_widgets_show_the_newest_executions_by_name_and_by_the_hour,
    replay::executions_of_chance_are_replayed_alike_on_every_store,
    replay::a_replay_goes_on_from_where_an_earlier_one_was_saved,
    replay::a_damaged_saved_replay_is_not_used,
    status::list_detail_and_status_agree_at_every_moment,
    status::an_execution_runs_as_long_as_anything_is_under_way,
    status::a_failed_command_fails_the_execution_unless_its_failure_is_handled,
    proof::an_execution_is_verified_and_compared_with_what_was_kept,
    proof::a_fork_goes_on_from_any_event_and_names_its_origin,
    proof::a_fork_may_have_other_values,
    proof::a_retry_uses_the_repaired_playbook,
    proof::an_impossible_fork_is_refused_with_its_reason,
    proof::the_commands_of_a_fork_are_its_own,
    positions::a_position_shows_steps_arcs_and_open_work,
    positions::a_position_counts_the_items_of_a_loop,
    positions::a_skipped_step_and_the_arc_to_it_are_shown,
    positions::a_large_value_is_loaded_by_its_name,
    positions::an_invalid_position_has_a_problem_code,
    positions::a_change_shows_what_an_event_made_different,
    positions::two_positions_are_compared_in_either_order,
    positions::an_event_has_a_cause_and_effects,
    positions::a_template_is_evaluated_at_a_position,
    positions::guards_tell_why_an_arc_was_taken_and_a_step_skipped,
    positions::an_invalid_request_for_an_explanation_has_a_problem_code,
    comparison::two_executions_part_at_the_first_other_output,
    comparison::an_execution_is_the_same_as_itself_and_differs_from_its_past,
    comparison::a_fork_shares_the_past_of_its_origin,
    windows::the_density_of_events_is_counted_by_seq_and_by_time,
    windows::a_timeline_distinguishes_waiting_from_running,
    windows::live_updates_tell_what_has_changed_and_end,
    windows::live_updates_resume_after_a_position,
    windows::an_invalid_part_of_a_log_has_a_problem_code,
    seed_differences::cancelling_what_has_ended_is_400,
    seed_differences::finalizing_again_alike_is_200_and_otherwise_409,
    seed_differences::more_than_a_thousand_events_and_ids_are_taken_at_once,
    seed_differences::a_list_of_no_rows_is_empty_and_an_unknown_status_is_refused,
    seed_differences::a_body_that_is_no_json_cancels_nothing,
    seed_differences::a_replaced_subscription_stays_replaced,
    seed_differences::a_replay_keeps_tenants_apart_and_counts_places_in_the_log,
    seed_differences::a_step_that_waits_for_a_worker_counts_as_running,
    seed_differences::internal_routes_are_open_where_everything_is,
    seed_differences::times_of_a_subscription_spell_out_their_offset,
    seed_differences::names_of_old_logs_are_read_where_they_forge_nothing,
    access::pages_of_other_sites_are_answered_only_if_an_operator_names_them,
    postgres::a_table_has_rows_as_lists_and_the_names_of_its_columns,
    existing_clients::a_list_without_a_limit_has_two_hundred_rows,
    existing_clients::an_execution_of_a_list_is_viewed_and_stopped_by_its_id,
    existing_clients::account_endpoints_name_the_setting_of_tokens,
    existing_worker_tools::every_template_of_a_command_is_rendered_for_it,
    existing_worker_tools::a_template_with_a_secret_stays_a_template,
    existing_worker_tools::results_of_its_tools_are_read_like_those_of_ours,
    existing_worker_tools::rules_see_the_status_and_the_error_of_its_results,
    existing_worker_tools::a_reference_of_a_large_result_has_the_keys_it_knows,
    existing_worker_tools::a_tool_that_fails_in_it_is_shown_with_its_message,
    existing_worker_tools::a_status_in_an_output_is_not_the_status_of_the_tool,
    existing_worker_tools::newer_workers_go_on_without_the_calls_that_are_not_served,
}

macro_rules! idle_contract {
    ($($file:ident::$case:ident,)*) => {
        /// Cases for a server whose loops do not run.
        const IDLE_CASES: &[Case] = &[
            $((concat!(stringify!($file), "::", stringify!($case)), |server| {
                Box::pin($file::$case(server))
            }),)*
        ];

        $(
            #[tokio::test(start_paused = true)]
            async fn $case() {
                $file::$case(Server::without_loops()).await;
            }
        )*
    };
}

idle_contract! {
    outbox::another_program_can_send_the_messages_of_the_outbox,
    outbox::marks_may_be_repeated_and_may_name_what_never_was,
    outbox::a_failure_without_a_count_waits_longer_each_time,
    outbox::a_claim_says_the_codec_of_its_payload,
    outbox::a_message_that_fails_again_and_again_is_dead,
    outbox::a_relay_leaves_notifications_to_another_program_on_request,
}

/// Runs every case on one kind of store; fails with the cases that do not hold and the operations
/// that no case has called.
async fn run(backing: Backing) {
    let chosen = std::env::var("NOETL_CONTRACT_CASES").ok();
    let is_chosen = |name: &str| chosen.as_ref().is_none_or(|part| name.contains(part));
    let calls = Calls::default();
    let mut broken = Vec::new();
    for (name, case) in CASES.iter().filter(|(name, _)| is_chosen(name)) {
        let server = Server { calls: calls.clone(), ..backing.server().await };
        if AssertUnwindSafe(case(server)).catch_unwind().await.is_err() {
            broken.push(*name);
        }
    }
    for (name, case) in IDLE_CASES.iter().filter(|(name, _)| is_chosen(name)) {
        let server = Server { calls: calls.clone(), ..backing.idle_server().await };
        if AssertUnwindSafe(case(server)).catch_unwind().await.is_err() {
            broken.push(*name);
        }
    }
    assert!(broken.is_empty(), "these do not hold: {broken:#?}");
    if chosen.is_none() {
        assert_eq!(uncalled(&calls).await, [""; 0], "no case calls these");
    }
}

/// Returns the operations of the OpenAPI document that were not called.
async fn uncalled(calls: &Calls) -> Vec<String> {
    let operations = openapi::operations(&Server::new()).await;
    let calls = calls.lock().expect("nobody panics while it notes").clone();
    let called: BTreeSet<(String, String)> = calls
        .into_iter()
        .filter_map(|(method, path)| {
            let of_method = operations.iter().filter(|(it, _)| it.as_str() == method);
            let fits = of_method.filter(|(_, template)| fits(template, &path));
            // A literal segment takes precedence over a parameter.
            let best = fits.min_by_key(|(_, template)| template.matches('{').count())?;
            Some((method.clone(), best.1.clone()))
        })
        .collect();
    let mut missing = Vec::new();
    for (method, path) in operations {
        if !called.contains(&(method.to_string(), path.clone())) {
            missing.push(format!("{method} {path}"));
        }
    }
    missing
}

/// True if a path matches a template; only wildcard parameters match slashes.
fn fits(template: &str, path: &str) -> bool {
    let (wanted, given): (Vec<&str>, Vec<&str>) =
        (template.split('/').collect(), path.split('/').collect());
    let is_long = |part: &&str| {
        part.starts_with("{*") || template.ends_with("{path}/ui_schema") && *part == "{path}"
    };
    let Some(at) = wanted.iter().position(is_long) else {
        return wanted.len() == given.len()
            && wanted
                .iter()
                .zip(&given)
                .all(|(wanted, given)| wanted.starts_with('{') || wanted == given);
    };
    let after = wanted.len() - at - 1;
    given.len() >= wanted.len()
        && given[..at] == wanted[..at]
        && given[given.len() - after..] == wanted[at + 1..]
}

#[test]
fn a_path_fits_its_template() {
    for (template, path, expected) in [
        ("/api/executions/{id}", "/api/executions/7", true),
        ("/api/executions/{id}", "/api/executions/7/events", false),
        ("/api/internal/objects/{*key}", "/api/internal/objects/a/b", true),
        ("/api/catalog/{path}/ui_schema", "/api/catalog/a/b/ui_schema", true),
        ("/api/catalog/{path}/ui_schema", "/api/catalog/list/Playbook", false),
    ] {
        assert_eq!(fits(template, path), expected, "{template} {path}");
    }
}

/// Runs all cases in memory, the fastest way to find an operation without a case.
#[tokio::test(start_paused = true)]
async fn every_operation_is_called_by_some_case() {
    let calls = Calls::default();
    for (_, case) in CASES {
        case(Server { calls: calls.clone(), ..Server::new() }).await;
    }
    for (_, case) in IDLE_CASES {
        case(Server { calls: calls.clone(), ..Server::without_loops() }).await;
    }
    assert_eq!(uncalled(&calls).await, [""; 0], "no case calls these");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_contract_holds_on_sqlite() {
    run(Backing::sqlite()).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_contract_holds_on_postgresql() {
    run(Backing::postgres(1).await).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_contract_holds_on_three_shards_of_postgresql_and_nats() {
    run(Backing::postgres(3).await.with_nats()).await;
}
