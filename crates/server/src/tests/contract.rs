//! The contract: one table of cases, each of which holds on every kind of store.
//!
//! In memory a case is a test of its own, on simulated time and without a network. On the others a
//! test runs all of them, one after another, against a server on a real socket.

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
    catalog::a_valid_playbook_is_registered_once,
    catalog::a_playbook_in_base64_is_the_same_playbook,
    catalog::the_catalog_is_listed_whatever_the_case_of_the_kind,
    catalog::a_resource_is_found_by_path_version_or_id,
    catalog::the_form_of_a_playbook_is_read_off_its_workload,
    execute::an_execution_is_started_by_path,
    execute::a_catalog_id_is_text_or_number_and_wins_over_the_path,
    execute::the_version_that_is_asked_for_is_the_one_that_runs,
    execute::payload_and_workload_are_two_words_for_one_thing,
    execute::what_cannot_be_started_says_why,
    execute::a_batch_answers_for_each_in_order,
    execute::what_cannot_be_started_is_refused_and_leaves_nothing,
    executions::executions_are_listed_newest_first,
    executions::a_detail_has_the_workload_and_the_events,
    executions::events_come_in_pages,
    executions::the_status_counts_steps,
    executions::a_cancelled_execution_stays_cancelled,
    executions::a_cancellation_needs_no_body_and_an_execution,
    executions::what_an_execution_has_started_is_cancelled_with_it,
    executions::finalizing_adds_one_terminal_event_and_never_a_second,
    executions::a_rerun_has_the_same_workload_unless_it_is_given_another,
    executions::variables_are_what_the_execution_has_set,
    existing_worker::it_runs_a_playbook_to_its_end,
    existing_worker::a_tool_status_of_error_fails_the_step,
    existing_worker::a_worker_that_gives_up_fails_the_step,
    existing_worker::an_event_posted_twice_is_answered_twice_and_counts_once,
    existing_worker::the_same_worker_may_claim_again_and_another_may_not,
    existing_worker::a_finished_command_cannot_be_claimed_again,
    existing_worker::a_command_of_a_cancelled_execution_cannot_be_claimed,
    existing_worker::a_fact_of_another_program_is_recorded_once_and_changes_nothing,
    existing_worker::what_cannot_be_taken_is_refused_and_says_why,
    existing_worker::a_batch_of_events_is_taken_in_order_failures_included,
    native_worker::a_worker_leases_reports_and_the_execution_completes,
    native_worker::a_large_output_is_fetched_by_its_digest,
    stream::a_stream_tells_every_event_and_ends_with_the_execution,
    stream::a_stream_resumes_after_the_last_event_heard,
    stream::a_listener_that_has_heard_all_is_told_not_to_come_back,
    callback::a_callback_that_nothing_waits_for_is_accepted_all_the_same,
    callback::an_end_that_is_not_known_is_refused,
    dashboard::the_dashboard_counts_what_there_is,
    dashboard::the_widgets_show_the_newest_executions_by_name_and_by_the_hour,
}

/// Runs every case on a store of this kind; says which of them do not hold.
async fn run(backing: Backing) {
    let mut broken = Vec::new();
    for (name, case) in CASES {
        let server = backing.server().await;
        if AssertUnwindSafe(case(server)).catch_unwind().await.is_err() {
            broken.push(*name);
        }
    }
    assert!(broken.is_empty(), "these do not hold: {broken:#?}");
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
