//! Conformance cases of tokens and of the audit trail.

use noetl_model::{
    Actor, Digest, Role, RoleGrant, Timestamp, TrailEntry, TrailFact, TrailOutcome, TrailPlace,
};

use super::Subject;
use super::given::at;
use crate::{PAGE_MAX, StoredToken, TrailSpan};

const SAYS: &str = "the store answers";

fn token(id: i64, name: &str) -> StoredToken {
    StoredToken {
        id,
        name: Actor::new(name).expect("a name"),
        owner: Some("Team A".into()),
        digest: Digest::of(name.as_bytes()),
        grants: vec![
            RoleGrant::everywhere(Role::Viewer),
            "author:team-a/*".parse().expect("a grant"),
        ],
        created_by: Actor::new("ada").ok(),
        created_at: at(1),
        expires_at: Some(at(9)),
        used_at: None,
    }
}

async fn add(subject: &Subject, token: &StoredToken) -> bool {
    subject.records.add_token(token).await.expect(SAYS)
}

async fn listed(subject: &Subject) -> Vec<StoredToken> {
    subject.records.tokens("", PAGE_MAX).await.expect(SAYS)
}

pub async fn a_token_is_listed_by_name_until_it_is_removed(subject: Subject) {
    let plain = StoredToken { owner: None, created_by: None, expires_at: None, ..token(1, "ci") };
    let plain = StoredToken { grants: vec![], ..plain };
    assert!(add(&subject, &plain).await);
    assert!(add(&subject, &token(2, "backup")).await);
    assert_eq!(listed(&subject).await, [token(2, "backup"), plain.clone()]);
    assert!(subject.records.remove_token("backup").await.expect(SAYS));
    assert!(!subject.records.remove_token("backup").await.expect(SAYS));
    assert_eq!(listed(&subject).await, [plain]);
}

pub async fn tokens_are_read_page_by_page(subject: Subject) {
    for (id, name) in [(1, "b"), (2, "ä"), (3, "a"), (4, "B")] {
        assert!(add(&subject, &token(id, name)).await);
    }
    let page = async |after: &str, limit| {
        let page = subject.records.tokens(after, limit).await.expect(SAYS);
        page.iter().map(|it| it.name.to_string()).collect::<Vec<String>>().join(" ")
    };
    assert_eq!(page("", 2).await, "B a");
    assert_eq!(page("a", 2).await, "b ä");
    assert_eq!(page("ä", 2).await, "");
    assert_eq!(page("", PAGE_MAX + 1).await, "B a b ä");
}

pub async fn a_name_and_a_digest_belong_to_one_token(subject: Subject) {
    assert!(add(&subject, &token(1, "ci")).await);
    assert!(!add(&subject, &StoredToken { digest: Digest::of(b"x"), ..token(2, "ci") }).await);
    assert!(!add(&subject, &StoredToken { digest: token(1, "ci").digest, ..token(2, "cd") }).await);
    assert_eq!(listed(&subject).await, [token(1, "ci")]);
}

pub async fn the_last_use_of_a_token_never_goes_back(subject: Subject) {
    assert!(add(&subject, &token(1, "ci")).await);
    for (second, expected) in [(5, 5), (3, 5), (7, 7)] {
        subject.records.touch_token(1, at(second)).await.expect(SAYS);
        assert_eq!(listed(&subject).await[0].used_at, Some(at(expected)));
    }
    subject.records.touch_token(9, at(1)).await.expect(SAYS);
}

fn fact(action: &str, second: u64) -> TrailFact {
    TrailFact {
        at: Timestamp::from_micros(at(second).as_micros() + 1),
        actor: Some("ada".into()),
        action: action.into(),
        subject: Some("ü/\"x\"".into()),
        source: None,
        outcome: TrailOutcome::Refused,
        detail: None,
    }
}

async fn append(subject: &Subject, facts: &[TrailFact]) {
    subject.records.append_trail(facts).await.expect(SAYS);
}

async fn trail(subject: &Subject, after: u64, limit: usize) -> Vec<TrailEntry> {
    subject.records.trail(after, limit).await.expect(SAYS)
}

async fn span(subject: &Subject) -> TrailSpan {
    subject.records.trail_span().await.expect(SAYS)
}

/// Checks the chain from its stored beginning to its stored end. Returns the number of entries.
#[track_caller]
fn checked(entries: &[TrailEntry], span: TrailSpan) -> usize {
    let end = entries.iter().try_fold(span.before, |place, entry| entry.check_after(&place));
    assert_eq!(end, Ok(span.last));
    entries.len()
}

pub async fn the_trail_is_a_chain_in_order(subject: Subject) {
    assert_eq!(
        span(&subject).await,
        TrailSpan { before: TrailPlace::START, last: TrailPlace::START }
    );
    append(&subject, &[]).await;
    append(&subject, &[fact("a", 1), fact("b", 2)]).await;
    append(&subject, &[fact("c", 3)]).await;
    let whole = trail(&subject, 0, 10).await;
    let facts: Vec<TrailFact> = whole.iter().map(|entry| entry.fact.clone()).collect();
    assert_eq!(facts, [fact("a", 1), fact("b", 2), fact("c", 3)]);
    assert_eq!(checked(&whole, span(&subject).await), 3);
    assert_eq!(trail(&subject, 1, 1).await, whole[1..2]);
    assert_eq!(trail(&subject, 3, PAGE_MAX + 1).await, []);
}

pub async fn no_fact_of_a_long_append_is_lost(subject: Subject) {
    let facts: Vec<TrailFact> = (0..2 * PAGE_MAX as u64 + 1).map(|it| fact("a", it)).collect();
    append(&subject, &facts).await;
    let mut whole = Vec::new();
    loop {
        let page = trail(&subject, whole.len() as u64, PAGE_MAX).await;
        if page.is_empty() {
            break;
        }
        whole.extend(page);
    }
    assert_eq!(checked(&whole, span(&subject).await), facts.len());
    assert!(whole.iter().map(|entry| &entry.fact).eq(&facts));
}

pub async fn concurrent_appends_to_the_trail_follow_each_other(subject: Subject) {
    for round in 0..5 {
        let facts = [fact("a", round), fact("b", round)];
        tokio::join!(append(&subject, &facts), append(&subject, &facts), append(&subject, &facts));
    }
    let whole = trail(&subject, 0, PAGE_MAX).await;
    assert_eq!(checked(&whole, span(&subject).await), 30);
}

pub async fn old_entries_are_forgotten_from_the_beginning_and_the_rest_is_sound(subject: Subject) {
    append(&subject, &[fact("a", 1), fact("b", 2), fact("c", 9), fact("d", 3)]).await;
    let forget =
        async |second, limit| subject.records.forget_trail(at(second), limit).await.expect(SAYS);
    assert_eq!(forget(1, 10).await, 0);
    assert_eq!(forget(5, 1).await, 1);
    assert_eq!(forget(5, 10).await, 1, "an entry behind a newer one is kept");
    let rest = trail(&subject, 0, 10).await;
    assert_eq!((rest[0].number, checked(&rest, span(&subject).await)), (3, 2));
    append(&subject, &[fact("e", 10)]).await;
    assert_eq!(forget(20, 10).await, 3);
    assert_eq!(span(&subject).await.before, span(&subject).await.last);
    append(&subject, &[fact("f", 11)]).await;
    let rest = trail(&subject, 0, 10).await;
    assert_eq!((rest[0].number, checked(&rest, span(&subject).await)), (6, 1));
}
