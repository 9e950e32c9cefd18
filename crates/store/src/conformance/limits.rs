//! Conformance cases of pauses and limits.

use noetl_model::{
    CatalogId, CommandId, ExecutionId, LimitAmount, LimitDecision, LimitDefinition, LimitName,
    LimitState, OnConflict, Priority, SlotDecision, Timestamp,
};

use super::Subject;
use super::given::{A, B, C, at};
use crate::{
    LIMIT_QUEUE_MAX, LimitChange, LimitChanges, LimitOutcome, PauseProgress, PauseRow, PausedKind,
    SlotKey, SlotRequest,
};

const SAYS: &str = "the store answers";

fn crm() -> LimitName {
    "crm".parse().expect("a name")
}

/// A rule for tests: a free slot for each request in order; a rate grants one each second.
fn rule(state: &LimitState) -> LimitDecision {
    let free = match state.amount {
        LimitAmount::Slots { max } => u64::from(max).saturating_sub(state.holders),
        LimitAmount::Rate { .. } => u64::from(state.full_at <= state.now),
    };
    let waits = |on_conflict: &OnConflict| match on_conflict {
        OnConflict::Skip | OnConflict::Fail => SlotDecision::Denied,
        OnConflict::Queue | OnConflict::CancelRunning => SlotDecision::Waits,
    };
    let requests: Vec<SlotDecision> = (0..)
        .zip(&state.queue)
        .map(|(place, it): (u64, _)| if place < free { SlotDecision::Granted } else { waits(it) })
        .collect();
    let is_left = requests.contains(&SlotDecision::Waits);
    let is_rate = matches!(state.amount, LimitAmount::Rate { .. });
    let granted = requests.contains(&SlotDecision::Granted);
    let next = state.now.after(std::time::Duration::from_secs(1));
    let full_at = if is_rate && granted { next } else { state.full_at };
    let ending = (0..)
        .zip(&state.queue)
        .filter(|(place, it): &(u64, _)| *place >= free && **it == OnConflict::CancelRunning);
    let end = u64::try_from(ending.count()).expect("few").saturating_sub(state.ending);
    LimitDecision { requests, end, full_at, next_at: (is_rate && is_left).then_some(full_at) }
}

fn request(execution: ExecutionId, command: u64, max: u32) -> SlotRequest {
    SlotRequest {
        limit: LimitDefinition { name: crm(), amount: LimitAmount::Slots { max } },
        defined_by: CatalogId(7),
        execution,
        command: Some(CommandId(command)),
        priority: Priority::default(),
        on_conflict: OnConflict::Queue,
        asked_at: at(command),
    }
}

fn key(execution: ExecutionId, command: u64) -> SlotKey {
    SlotKey { limit: crm(), execution, command: Some(CommandId(command)) }
}

async fn ask(subject: &Subject, request: SlotRequest) -> LimitOutcome {
    let change = LimitChange::Request(request);
    subject.store.change_limit(&change.into(), rule).await.expect(SAYS)
}

async fn release(subject: &Subject, key: SlotKey) -> LimitOutcome {
    subject.store.change_limit(&LimitChange::Release(key).into(), rule).await.expect(SAYS)
}

pub async fn slots_are_granted_by_the_rule_and_free_again_when_they_are_released(subject: Subject) {
    assert_eq!(ask(&subject, request(A, 1, 1)).await.granted, [key(A, 1)]);
    assert_eq!(ask(&subject, request(A, 1, 1)).await.granted, [], "it has its slot");
    assert_eq!(
        ask(&subject, request(B, 2, 1)).await,
        LimitOutcome { holders: 1, ..<_>::default() }
    );
    let mut urgent = request(C, 3, 1);
    urgent.priority = Priority::HIGHEST;
    assert_eq!(ask(&subject, urgent).await.granted, []);
    assert_eq!(ask(&subject, request(A, 0, 1)).await.granted, []);
    // The queue: by priority, then by the time of the request.
    let queue = subject.store.slot_queue(&crm(), 10).await.expect(SAYS);
    let queue: Vec<SlotKey> = queue.into_iter().map(|row| row.key).collect();
    assert_eq!(queue, [key(C, 3), key(A, 0), key(B, 2)]);
    for (place, key) in (1..).zip(&queue) {
        assert_eq!(subject.store.slot_place(key).await.expect(SAYS), Some(place));
    }
    assert_eq!(subject.store.slot_place(&key(A, 1)).await.expect(SAYS), None);
    let unknown = SlotKey { limit: "other".parse().expect("a name"), ..key(A, 1) };
    let mut asked = vec![key(A, 1), unknown, key(A, 99)];
    asked.extend(queue.iter().cloned());
    let mut known = subject.store.known_slots(&asked).await.expect(SAYS);
    known.sort();
    asked.retain(|key| key.limit == crm() && key.command != Some(CommandId(99)));
    asked.sort();
    assert_eq!(known, asked, "held and waiting ones");
    assert_eq!(subject.store.known_slots(&[]).await.expect(SAYS), []);
    let figures = subject.store.limit(&crm()).await.expect(SAYS).expect("it is there");
    assert_eq!((figures.holders, figures.queued, figures.oldest_at), (1, 3, Some(at(0))));
    assert_eq!(release(&subject, key(A, 1)).await.granted, [key(C, 3)]);
    assert_eq!(release(&subject, key(A, 1)).await.granted, [], "a second release frees nothing");
    assert_eq!(release(&subject, key(A, 0)).await.granted, [], "a request is withdrawn");
    assert_eq!(release(&subject, key(C, 3)).await.granted, [key(B, 2)]);
    let holders = subject.store.slot_holders(&crm(), 10).await.expect(SAYS);
    assert_eq!(holders.iter().map(|row| row.key.clone()).collect::<Vec<_>>(), [key(B, 2)]);
    let none = LimitChanges::none("no".parse().expect("a name"));
    let none = subject.store.change_limit(&none, rule).await;
    assert_eq!(none.expect(SAYS), LimitOutcome::default());
}

pub async fn the_newest_playbook_version_says_how_many_slots_there_are(subject: Subject) {
    ask(&subject, request(A, 1, 1)).await;
    let newer = |version, max| SlotRequest { defined_by: CatalogId(version), ..request(B, 2, max) };
    assert_eq!(ask(&subject, newer(6, 9)).await.granted, [], "an older version says nothing");
    assert_eq!(ask(&subject, newer(8, 2)).await.granted, [key(B, 2)]);
    let lower = SlotRequest { defined_by: CatalogId(9), ..request(C, 3, 1) };
    assert_eq!(ask(&subject, lower).await.granted, [], "two hold the only slot");
    assert_eq!(release(&subject, key(A, 1)).await.granted, []);
    assert_eq!(release(&subject, key(B, 2)).await.granted, [key(C, 3)]);
}

pub async fn a_grant_is_unanswered_until_it_is_acknowledged(subject: Subject) {
    ask(&subject, request(A, 1, 2)).await;
    ask(&subject, request(B, 2, 2)).await;
    let unanswered = async |before: Timestamp| {
        let rows = subject.store.unanswered_slots(before, 10).await.expect(SAYS);
        rows.into_iter().map(|row| row.key).collect::<Vec<_>>()
    };
    assert_eq!(unanswered(at(0)).await, []);
    assert_eq!(unanswered(at(1)).await.len(), 2);
    subject.store.acknowledge_slots(&[key(A, 1), key(C, 9)]).await.expect(SAYS);
    subject.store.acknowledge_slots(&[]).await.expect(SAYS);
    assert_eq!(unanswered(at(1)).await, [key(B, 2)]);
    let held = async |after: Option<&SlotKey>, limit| {
        let rows = subject.store.held_slots(after, limit).await.expect(SAYS);
        rows.into_iter().map(|row| row.key).collect::<Vec<_>>()
    };
    assert_eq!(held(None, 10).await, [key(A, 1), key(B, 2)]);
    assert_eq!(held(None, 1).await, [key(A, 1)]);
    assert_eq!(held(Some(&key(A, 1)), 10).await, [key(B, 2)]);
    // A holder that has to end is unanswered again.
    let on_conflict = OnConflict::CancelRunning;
    let outcome = ask(&subject, SlotRequest { on_conflict, ..request(C, 3, 2) }).await;
    assert_eq!((outcome.ending, outcome.holders), (vec![key(A, 1)], 2));
    assert_eq!(unanswered(at(1)).await.len(), 2);
    let again = LimitChanges::none(crm());
    let again = subject.store.change_limit(&again, rule).await.expect(SAYS);
    assert_eq!(again.ending, [], "it was told");
}

pub async fn a_request_that_does_not_wait_is_dropped(subject: Subject) {
    ask(&subject, request(A, 1, 1)).await;
    let mut own = request(B, 2, 1);
    (own.command, own.on_conflict) = (None, OnConflict::Skip);
    let outcome = ask(&subject, own).await;
    let denied = SlotKey { limit: crm(), execution: B, command: None };
    assert_eq!((outcome.denied, outcome.holders), (vec![denied], 1));
    assert_eq!(subject.store.slot_queue(&crm(), 10).await.expect(SAYS), []);
}

pub async fn a_rate_is_due_again_by_the_clock_of_the_store(subject: Subject) {
    let rate = |execution, command| SlotRequest {
        limit: LimitDefinition {
            name: crm(),
            amount: LimitAmount::Rate { count: 1, per_ms: 1000, burst: 1 },
        },
        ..request(execution, command, 1)
    };
    assert_eq!(subject.store.next_limit().await.expect(SAYS), None);
    assert_eq!(ask(&subject, rate(A, 1)).await.granted, [key(A, 1)]);
    let waits = ask(&subject, rate(B, 2)).await;
    assert_eq!((waits.granted.len(), waits.next_at, waits.holders), (0, Some(at(1)), 1));
    assert_eq!(subject.store.next_limit().await.expect(SAYS), Some(at(1)));
    assert_eq!(subject.store.due_limits(10).await.expect(SAYS), []);
    subject.at(1);
    assert_eq!(subject.store.due_limits(10).await.expect(SAYS), [crm()]);
    // The rule sees the grants that are not released, and the time for which the first waits.
    let looks = LimitChanges::none(crm());
    let seen = |state: &LimitState| {
        assert_eq!((state.holders, state.due_at), (1, Some(at(1))));
        rule(state)
    };
    let looked = subject.store.change_limit(&looks, seen).await.expect(SAYS);
    assert_eq!(looked.granted, [key(B, 2)]);
    assert_eq!(subject.store.due_limits(10).await.expect(SAYS), []);
    subject.store.acknowledge_slots(&[key(A, 1), key(B, 2)]).await.expect(SAYS);
    let figures = subject.store.limit(&crm()).await.expect(SAYS).expect("it is there");
    assert_eq!(figures.holders, 2, "a grant is held until it is released");
    release(&subject, key(A, 1)).await;
    let held = subject.store.held_slots(None, 10).await.expect(SAYS);
    assert_eq!(held.into_iter().map(|row| row.key).collect::<Vec<_>>(), [key(B, 2)]);
}

pub async fn an_idle_limit_of_a_playbook_is_forgotten_and_a_named_one_is_listed(subject: Subject) {
    let name = LimitName::of_playbook("jobs/a", Some("acme"));
    let mut own = request(A, 1, 1);
    own.limit.name = name.clone();
    own.command = None;
    ask(&subject, own).await;
    ask(&subject, request(A, 1, 1)).await;
    let names = async || {
        let limits = subject.store.limits(None, 10).await.expect(SAYS);
        limits.into_iter().map(|limit| limit.name).collect::<Vec<_>>()
    };
    assert_eq!(names().await, [crm(), name.clone()]);
    let rest = subject.store.limits(Some(&crm()), 10).await.expect(SAYS);
    assert_eq!(rest.len(), 1);
    release(&subject, key(A, 1)).await;
    release(&subject, SlotKey { limit: name, execution: A, command: None }).await;
    assert_eq!(names().await, [crm()]);
}

pub async fn concurrent_requests_are_never_granted_more_than_there_is(subject: Subject) {
    let mut granted = 0;
    for command in (0..20).step_by(4) {
        let asked = |command| ask(&subject, request(A, command, 3));
        let (a, b, c, d) = tokio::join!(
            asked(command),
            asked(command + 1),
            asked(command + 2),
            asked(command + 3)
        );
        granted += [a, b, c, d].iter().map(|outcome| outcome.granted.len()).sum::<usize>();
    }
    assert_eq!(granted, 3);
    let figures = subject.store.limit(&crm()).await.expect(SAYS).expect("it is there");
    assert_eq!((figures.holders, figures.queued), (3, 17));
}

pub async fn many_changes_of_a_limit_are_one(subject: Subject) {
    let changes = (0..=LIMIT_QUEUE_MAX).map(|number| {
        let number = u64::try_from(number).expect("few");
        LimitChange::Request(request(A, number, 500))
    });
    let newer = SlotRequest { defined_by: CatalogId(9), ..request(B, 500, 150) };
    let gone = LimitChange::Release(key(A, 3));
    let others = [gone, LimitChange::Request(newer), LimitChange::Release(key(C, 1))];
    let grouped = LimitChanges::grouped(changes.chain(others));
    let [all] = grouped.try_into().expect("one limit");
    let outcome = subject.store.change_limit(&all, rule).await.expect(SAYS);
    assert_eq!((outcome.granted.len(), outcome.is_cut), (LIMIT_QUEUE_MAX, true));
    assert!(!outcome.granted.contains(&key(A, 3)), "it was withdrawn");
    let rest = LimitChanges::none(crm());
    let outcome = subject.store.change_limit(&rest, rule).await.expect(SAYS);
    assert_eq!((outcome.granted, outcome.is_cut), (vec![key(B, 500)], false));
    let figures = subject.store.limit(&crm()).await.expect(SAYS).expect("it is there");
    assert_eq!(figures.amount, LimitAmount::Slots { max: 150 }, "the newest version counts");
}

pub async fn a_pause_is_kept_with_its_caller_until_it_is_removed(subject: Subject) {
    let pause = |name: &str, progress, actor: &str, second| PauseRow {
        kind: PausedKind::Pool,
        name: name.to_owned(),
        progress,
        actor: Some(actor.to_owned()),
        reason: None,
        since: at(second),
        resumed_by: None,
        resume_reason: None,
    };
    let (paused, resuming) = (PauseProgress::Paused, PauseProgress::Resuming);
    let put = async |row: PauseRow| subject.store.put_pause(&row).await.expect(SAYS);
    let first = pause("gpu", paused, "ada", 1);
    assert_eq!(put(first.clone()).await, first);
    assert_eq!(put(pause("gpu", paused, "eve", 2)).await, first, "the first caller counts");
    let resumed = Some("eve".to_owned());
    let ending = PauseRow { resumed_by: resumed.clone(), ..pause("gpu", resuming, "eve", 3) };
    let ending = put(ending).await;
    assert_eq!(ending, PauseRow { progress: resuming, resumed_by: resumed, ..first });
    let again = pause("gpu", paused, "eve", 4);
    assert_eq!(put(again.clone()).await, again);
    let playbook = PauseRow { kind: PausedKind::Playbook, actor: None, ..again.clone() };
    put(playbook.clone()).await;
    assert_eq!(
        subject.store.pauses(None, 10).await.expect(SAYS),
        [playbook.clone(), again.clone()]
    );
    let page = subject.store.pauses(None, 1).await.expect(SAYS);
    assert_eq!(page, [playbook]);
    assert_eq!(subject.store.pauses(page.last(), 1).await.expect(SAYS), [again]);
    let remove = async |kind| subject.store.remove_pause(kind, "gpu").await.expect(SAYS);
    assert!(remove(PausedKind::Pool).await);
    assert!(!remove(PausedKind::Pool).await);
    assert_eq!(subject.store.pauses(None, 10).await.expect(SAYS).len(), 1);
}

pub async fn a_pause_is_settled_once_and_only_as_it_was_read(subject: Subject) {
    let pause = |progress, second| PauseRow {
        kind: PausedKind::Playbook,
        name: "p".to_owned(),
        progress,
        actor: None,
        reason: None,
        since: at(second),
        resumed_by: None,
        resume_reason: None,
    };
    let put = async |row: &PauseRow| subject.store.put_pause(row).await.expect(SAYS);
    let settle = async |row: &PauseRow| subject.store.settle_pause(row).await.expect(SAYS);
    let pauses = async || subject.store.pauses(None, 10).await.expect(SAYS);
    let begun = pause(PauseProgress::Pausing, 1);
    assert!(!settle(&begun).await, "there is none");
    put(&begun).await;
    assert!(!settle(&pause(PauseProgress::Pausing, 2)).await, "it is another pause");
    assert!(!settle(&pause(PauseProgress::Resuming, 1)).await, "it does not end");
    assert!(settle(&begun).await);
    assert!(!settle(&begun).await, "it is settled");
    assert_eq!(pauses().await, [pause(PauseProgress::Paused, 1)]);
    assert!(!settle(&pause(PauseProgress::Paused, 1)).await);
    let ending = put(&pause(PauseProgress::Resuming, 3)).await;
    assert_eq!(ending.since, at(1));
    let again = put(&pause(PauseProgress::Pausing, 4)).await;
    assert!(!settle(&ending).await, "it was paused again meanwhile");
    assert_eq!(pauses().await, [again]);
    let ending = put(&pause(PauseProgress::Resuming, 5)).await;
    assert!(settle(&ending).await);
    assert_eq!(pauses().await, []);
}
